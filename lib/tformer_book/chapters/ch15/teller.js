// The model in the page: type, see every head and what each half block says, and let it write.

export { chances, drawn, fit, gunzip, reader, speed, tokenizer, unpackTeller };

const TRAITS = ["text", "selected", "head", "off", "temperature", "k", "p", "m", "seed"];
const SHOWN = 8, TOLD = 2, BEAT = 90, LONGEST = 4000;
const STAGES = ["token", "attention 1", "feed-forward 1", "attention 2", "feed-forward 2"];
const CONTROLS = [["temperature", "temperature", { min: 0, max: 2, step: 0.05 }], ["k", "top-k", { min: 0, max: 50, step: 1 }],
  ["p", "top-p", { min: 0, max: 1, step: 0.01 }], ["m", "min-p", { min: 0, max: 1, step: 0.01 }]];
let loading = null;

/** The tokens that are read: from a new line on, if that can be, and as many as there are places. */
function fit(teller, text) {
  const row = teller.tokens.encode(`\n${text}`), start = row.findIndex((token, i) => token === row[0] && row.length - i <= teller.places);
  return start < 0 ? row.slice(-teller.places) : row.slice(start);
}

/** Tokens a second, writing whole contexts for so many milliseconds. */
function speed(teller, time) {
  const roll = dice(0), start = performance.now();
  let written = 0;
  while (performance.now() - start < time) {
    const one = reader(teller), row = [teller.tokens.encode("\n")[0]];
    for (one.read(row); row.length < teller.places; written++) {
      row.push(drawn(chances(one.logits()), roll()));
      one.read(row);
    }
  }
  return (1000 * written) / (performance.now() - start);
}

/** A token as it is written on buttons: spaces and lines can be seen, and bytes that are no letters. */
function label(teller, token) {
  const text = teller.tokens.decode([token]);
  if (text.includes("\ufffd")) return teller.tokens.bytesOf(token).map((byte) => `‹${byte.toString(16)}›`).join("");
  return text.replace(/\n/g, "↵").replace(/^ /, "␣").replace(/[\x00-\x1f\x7f-\xa0\xad]/g, "·");
}

function render({ model, el }) {
  const root = frame(el, "tf-teller", "The storyteller", "Write a tale, then one at a lower temperature."), note = h("p", { class: "tf-teller-note", role: "status" });
  const start = traits(model, TRAITS), live = voice();
  const input = h("textarea", { rows: 2, class: "tf-input tf-teller-text", autocomplete: "off", spellcheck: "false", "aria-label": "Text that the model reads",
    input: () => take(input.value) });
  const strip = h("div", { class: "tf-teller-strip", role: "group", "aria-label": "Tokens: choose which one asks" });
  const maps = Array.from({ length: 8 }, (_, i) => headMap(i, model));
  const bars = h("ol", { class: "tf-teller-bars", "aria-label": "Likeliest next tokens" });
  const lens = h("tbody"), asked = h("b"), key = h("span", { class: "tf-teller-key" }, "with all heads");
  const dials = CONTROLS.map(([name, said, range]) => {
    const value = h("span", { class: "tf-number" }), control = slider(said, range, (x) => assign(model, { [name]: x }));
    const update = (x) => {
      control.value = x;
      value.textContent = name === "k" ? String(x || "all") : fmt(x);
      control.setAttribute("aria-valuetext", value.textContent);
    };
    return { el: dial(said, control, value), name, update };
  });
  const one = button("write a token", () => write(() => true)), tale = button("write a tale", () => write((token, line) => token === line));
  const on = button("write on", () => (timer ? stop() : play()));
  const picks = model.get("examples").map(([name, text]) => [text, button(name, () => take(text))]);
  const reset = button("reset", () => { stop(); roll = null; assign(model, start); });
  let teller = null, readers = [], known = "", roll = null, timer = 0;

  const take = (text) => assign(model, { text, selected: -1 });
  const stop = () => {
    clearInterval(timer);
    timer = 0;
    on.textContent = "write on";
  };
  const play = () => {
    on.textContent = "stop";
    timer = setInterval(() => (root.isConnected ? write(() => true) : stop()), BEAT);
  };
  /** Append tokens until one of them is the last that was wanted; half a letter becomes U+FFFD, as in Python. */
  const write = (last) => {
    if (!teller) return;
    const { text, temperature, k, p, m, seed } = traits(model, TRAITS), line = teller.tokens.encode("\n")[0];
    roll ??= dice(seed);
    const row = fit(teller, text), found = [], now = heads(model.get("off"));
    do {
      now.read(row);
      found.push(drawn(chances(now.logits(), { temperature, k, p, m }), roll()));
      row.push(found.at(-1));
      if (row.length > teller.places) row.splice(0, row.length, ...trimmed(row, line));
    } while (!last(found.at(-1), line) && found.length < teller.places);
    const told = text + teller.tokens.decode(found);
    take(told.length > LONGEST ? told.slice(told.indexOf("\n", told.length - LONGEST) + 1) : told);
    input.scrollTop = input.scrollHeight;
  };
  const trimmed = (row, line) => {
    const at = row.findIndex((token, i) => i && token === line && row.length - i < teller.places);
    return row.slice(at < 0 ? 1 : at);
  };
  /** Two readers are kept, one with all heads and one without some. */
  const heads = (off) => {
    if (!off.length) return readers[0] ??= reader(teller);
    if (known !== String(off)) readers[1] = reader(teller, off);
    known = String(off);
    return readers[1];
  };
  const draw = () => {
    const now = traits(model, TRAITS), ready = Boolean(teller);
    if (input.value !== now.text) input.value = now.text;
    dials.forEach(({ name, update }) => update(now[name]));
    picks.forEach(([text, it]) => it.setAttribute("aria-pressed", text === now.text));
    [one, tale, on].forEach((it) => { it.disabled = !ready; });
    if (ready) look(now);
  };
  const look = (now) => {
    const row = fit(teller, now.text), whole = heads([]), cut = heads(now.off), names = row.map((token) => label(teller, token));
    [whole, cut].forEach((each) => each.read(row));
    const at = now.selected < 0 ? row.length - 1 : Math.min(now.selected, row.length - 1), l = now.head >> 2, weights = cut.weights(l, now.head & 3, at);
    chips(strip, names, at, weights, (selected) => assign(model, { selected: selected === row.length - 1 ? -1 : selected }));
    maps.forEach((map) => map.update(cut, row.length, at, names, now));
    const p = chances(cut.logits(at)), before = chances(whole.logits(at)), set = chances(cut.logits(at), { ...now });
    const top = best(p, SHOWN), say = ([i, x]) => `“${label(teller, i)}” ${fmt(x, 3)}`;
    asked.textContent = names[at];
    key.style.visibility = now.off.length ? "visible" : "hidden";
    bars.replaceChildren(...top.map(([i, x]) => bar(label(teller, i), x, now.off.length ? before[i] : null, set[i])));
    lens.replaceChildren(...STAGES.map((name, stage) => h("tr", {}, h("th", { scope: "row" }, name),
      ...best(chances(cut.logits(at, stage)), TOLD).map(([i, x]) => h("td", {}, h("span", {}, label(teller, i)), number("lens", x))))));
    const all = teller.tokens.encode(`\n${now.text}`).length;
    note.textContent = all > row.length ? `${all} tokens; the last ${row.length} are read.` : `${all} tokens of ${teller.places}.`;
    live.say(`After “${names[at]}”: ${top.slice(0, TOLD).map(say).join(", ")}${now.off.length ? `; with all heads ${best(before, 1).map(say)}` : ""}`);
  };

  root.append(h("div", { class: "tf-actions tf-teller-top", role: "group", "aria-label": "Examples" }, ...picks.map(([, it]) => it), reset), input, note, strip,
    h("div", { class: "tf-teller-sides" },
      h("div", {}, h("p", { class: "tf-teller-head" }, "Where each head looks: row asks column"), ...[0, 1].map((l) => h("div", { class: "tf-teller-maps", role: "group", "aria-label": `Layer ${l + 1}` },
        ...maps.slice(4 * l, 4 * l + 4).map((map) => map.el))),
      h("p", { class: "tf-teller-head" }, "What the vector says after each half block"), h("table", { class: "tf-teller-lens" }, lens)),
      h("div", {}, h("p", { class: "tf-teller-head tf-teller-columns" }, h("span", {}, "After “", asked, "”"), key, h("span", {}, "model"), h("span", {}, "drawn")), bars, ...dials.map(({ el: line }) => line),
        h("div", { class: "tf-actions" }, one, tale, on))), live);
  const stopLoading = whenNear(root, async () => {
    note.textContent = "The model is on its way.";
    try {
      teller = await (loading ??= held(model).then(gunzip).then(unpackTeller));
      root.dataset.ready = "true";
      draw();
    } catch (error) {
      loading = null;
      note.textContent = `The model did not come: ${error.message}`;
    }
  });
  const unfollow = follow(model, TRAITS, draw);
  return () => { stop(); stopLoading(); unfollow(); };
}

const best = (p, n) => Array.from(p.keys()).sort((i, j) => p[j] - p[i] || i - j).slice(0, n).map((i) => [i, p[i]]);

function number(name, x) {
  const el = reading(name);
  el.show(x, fmt(x, 3));
  return el;
}

/** A token with its probability, with all heads where some are off, and its chance to be drawn. */
function bar(name, p, before, chance) {
  const fill = h("span", { class: "tf-teller-fill" }), ghost = h("span", { class: "tf-teller-ghost" });
  fill.style.width = `${100 * p}%`;
  ghost.style.width = `${100 * (before ?? 0)}%`;
  return h("li", { class: chance > 0 ? "" : "tf-teller-out" }, h("span", { class: "tf-teller-name" }, name), h("span", { class: "tf-teller-bar" }, fill, ghost),
    number("p", p), number("chance", chance));
}

/** The tokens as buttons: one is in the order of Tab, arrows move between them. */
function chips(strip, names, at, weights, choose) {
  const there = [...strip.children];
  names.forEach((name, t) => {
    const chip = there[t] ?? strip.appendChild(h("button", { type: "button", class: "tf-teller-chip", click: () => strip.choose(t), keydown: (event) => {
      const to = { ArrowLeft: t - 1, ArrowRight: t + 1, Home: 0, End: strip.children.length - 1 }[event.key];
      if (to === undefined || !strip.children[to]) return;
      event.preventDefault();
      strip.choose(to);
      strip.children[to].focus();
    } }));
    if (chip.textContent !== name) chip.textContent = name;
    chip.style.setProperty("--tf-share", t <= at ? weights[t].toFixed(3) : "0");
    chip.classList.toggle("tf-teller-later", t > at);
    chip.setAttribute("aria-pressed", t === at);
    chip.tabIndex = t === at ? 0 : -1;
  });
  there.slice(names.length).forEach((chip) => chip.remove());
  strip.choose = choose;
  const chosen = strip.children[at];
  strip.scrollTop = chosen.offsetTop - strip.clientHeight + chosen.offsetHeight + 4;
}

/** The weights of a head as a square, whether it colours the text, and whether it is on. */
function headMap(i, model) {
  const layer = (i >> 2) + 1, name = `head ${layer}.${(i & 3) + 1}`, canvas = h("canvas", { "aria-hidden": "true", class: "tf-teller-map" });
  const look = h("button", { type: "button", class: "tf-teller-look", "aria-label": name, click: () => assign(model, { head: i }) }, canvas);
  const box = h("input", { type: "checkbox", "aria-label": `${name} is on`, change: () => {
    const off = model.get("off");
    assign(model, { off: box.checked ? off.filter((one) => one !== i) : [...off, i].sort() });
  } });
  const el = h("div", { class: `tf-teller-one tf-teller-layer${layer}` }, look, h("label", {}, box, name));
  const update = (now, n, at, names, { head, off }) => {
    box.checked = !off.includes(i);
    el.classList.toggle("tf-teller-off", !box.checked);
    look.setAttribute("aria-pressed", head === i);
    const weights = now.weights(layer - 1, i & 3, at), s = weights.indexOf(Math.max(...weights));
    look.setAttribute("aria-label", `${name}: “${names[at]}” looks ${fmt(weights[s])} at “${names[s]}”`);
    paint(canvas, n, at, (t) => now.weights(layer - 1, i & 3, t));
  };
  return { el, update };
}

/** A square of n by n weights, the darker the more; the row that asks is marked at its edge. */
function paint(canvas, n, at, row) {
  canvas.width = canvas.height = n;
  const pen = canvas.getContext("2d"), image = pen.createImageData(n, n), ink = getComputedStyle(canvas).color.match(/[\d.]+/g).map(Number);
  for (let t = 0; t < n; t++) {
    row(t).forEach((share, s) => {
      const shown = t === at ? Math.max(share, 0.12) : share;
      image.data.set([ink[0], ink[1], ink[2], 255 * shown ** 0.75], 4 * (t * n + s));
    });
  }
  pen.putImageData(image, 0, 0);
}

export default { render };
