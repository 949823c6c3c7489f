// Cut single looks of a small trained model, and see what it then says of "it".

export { fitted, gunzip, state, unpackCircuits };

const TRAITS = ["name", "sentence", "word", "cuts"], NOUNS = [1, 6], IT = 8, LEAST = 0.05, ORDER = ["First", "Second"];
const PLACES = { first: 1, verb: 4, second: 6, trouble: 11 };
let arriving = null;

/** The models of a file that tformer_book.chapters.ch17.cutting wrote, decompressed, by name. */
function unpackCircuits(file) {
  const end = file.indexOf(10), { words, eps, models } = JSON.parse(new TextDecoder().decode(file.subarray(0, end)));
  const n = (file.length - end - 1) / 2, upper = file.subarray(end + 1, end + 1 + n), lower = file.subarray(end + 1 + n);
  let at = 0;
  const list = (m) => Array.from({ length: m }, () => half(upper[at], lower[at++]));
  const table = (m, k) => Array.from({ length: m }, () => list(k));
  const unpacked = models.map(({ name, asked, layers, heads, d, dK }) => {
    const E = table(words.length, d), P = table(12, d);
    const each = (m, k) => Array.from({ length: heads }, () => table(m, k));
    const blocks = Array.from({ length: layers }, () => ({ gain: list(d), q: each(d, dK), k: each(d, dK), v: each(d, dK), o: each(dK, d) }));
    const last = asked === "noun" ? { gain: list(d), U: table(d, words.length) } : null;
    return [name, { asked, heads, E, P, blocks, last }];
  });
  return { words, eps, models: Object.fromEntries(unpacked) };
}

/** A row times a table. */
function through(x, table) {
  const y = new Array(table[0].length).fill(0);
  x.forEach((v, i) => { table[i].forEach((w, j) => { y[j] += v * w; }); });
  return y;
}

const scaled = (x, gain, eps) => {
  const by = 1 / Math.sqrt(x.reduce((sum, v) => sum + v * v, 0) / x.length + eps);
  return x.map((v, i) => v * by * gain[i]);
};

/** The weights of every head, and the numbers of the two nouns, with some weights put to 0. */
function state({ words, eps, models }, name, sentence, cuts) {
  const { asked, E, P, blocks, last } = models[name], tokens = sentence.split(" ").map((word) => words.indexOf(word));
  let x = tokens.map((token, t) => E[token].map((v, i) => v + P[t][i]));
  const weights = blocks.map(({ gain, q, k, v, o }, l) => {
    const given = x.map((one) => scaled(one, gain, eps)), added = x.map((one) => one.map(() => 0));
    const tables = q.map((_, head) => {
      const [ask, keys, values] = [q, k, v].map((part) => given.map((one) => through(one, part[head])));
      return ask.map((one, t) => {
        const scores = keys.map((key) => key.reduce((sum, w, i) => sum + w * one[i], 0) / Math.sqrt(one.length));
        const looks = softmax(scores).map((p, s) => (has(cuts, [l, head, t, s]) ? 0 : p)), mixed = one.map(() => 0);
        looks.forEach((p, s) => values[s].forEach((w, i) => { mixed[i] += p * w; }));
        through(mixed, o[head]).forEach((w, i) => { added[t][i] += w; });
        return looks;
      });
    });
    x = x.map((one, t) => one.map((w, i) => w + added[t][i]));
    return tables;
  });
  if (asked === "noun") {
    const p = softmax(through(scaled(x[IT], last.gain, eps), last.U));
    return { weights, nouns: NOUNS.map((t) => p[tokens[t]]), likeliest: words[p.indexOf(Math.max(...p))] };
  }
  const on = NOUNS.map((s) => weights.at(-1).reduce((sum, table) => sum + table[IT][s], 0)), sum = on[0] + on[1];
  return { weights, nouns: on.map((p) => p / (sum || 1)), likeliest: "" };
}

const has = (cuts, look) => cuts.some((cut) => cut.every((i, at) => i === look[at]));

/** The mean weight of "it" on both nouns together, in words. */
function onNouns(tables) {
  const p = tables.reduce((sum, table) => sum + NOUNS.reduce((all, s) => all + table[IT][s], 0), 0) / tables.length;
  return p > 0 && p < 0.001 ? "less than 0.001" : fmt(p, 3);
}

/** A story of such a verb: nouns and the trouble stay where they can, and are otherwise the first of their kind. */
function fitted({ verbs, nouns, troubles }, { verb, first, second, trouble }) {
  const [one, two] = verbs[verb], stay = (list, ...wanted) => wanted.find((word) => list.includes(word)) ?? list[0];
  return { verb, first: stay(nouns[one], first, second), second: stay(nouns[two], second, first), trouble: stay([...troubles[one], ...troubles[two]], trouble) };
}

/** Buttons in a row, of which one is in the order of Tab; arrows move between them. */
function lookRow(press) {
  let focus = 0;
  const move = (to) => {
    focus = to;
    all.forEach(({ el }, i) => { el.tabIndex = i === focus ? 0 : -1; });
  };
  const all = Array.from({ length: 12 }, (_, s) => {
    const word = h("b"), value = reading("look");
    const el = h("button", { type: "button", class: "tf-cutting-cell", click: () => { move(s); press(s); }, keydown: (event) => {
      const to = { ArrowLeft: s - 1, ArrowRight: s + 1, Home: 0, End: 11 }[event.key];
      if (to === undefined || !all[to]) return;
      event.preventDefault();
      move(to);
      all[to].el.focus();
    } }, word, " ", value);
    return { el, word, value };
  });
  move(0);
  return { all: all.map(({ el }) => el), show: (words, weights, isCut) => all.forEach(({ el, word, value }, s) => {
    const cut = isCut(s);
    word.textContent = words[s];
    value.show(weights[s], cut ? "cut" : weights[s] < LEAST ? "" : fmt(weights[s]));
    el.style.setProperty("--tf-share", weights[s].toFixed(3));
    el.setAttribute("aria-pressed", cut);
  }) };
}

function render({ model, el }) {
  const start = traits(model, TRAITS), { world, names } = traits(model, ["world", "names"]);
  const root = frame(el, "tf-cutting", "Cut what “it” looks at"), live = voice(), about = h("p", { class: "tf-about", role: "status" });
  let circuits = null, done = "";
  const act = (told, change) => {
    done = told;
    assign(model, change);
  };
  const picks = names.map((name) => button(name, () => act(`Model ${name}.`, { name, cuts: [] })));
  const restore = button("restore all", () => act("All looks are restored.", { cuts: [] }));
  const choose = Object.fromEntries(Object.keys(PLACES).map((part) => [part, h("select", { class: "tf-button", "aria-label": part === "first" ? "first noun" : part === "second" ? "second noun" : part,
    change: (event) => {
      const { first, verb, second, trouble } = fitted(world, { ...parts(), [part]: event.target.value });
      act(`${event.target.value}.`, { sentence: `the ${first} did not ${verb} the ${second} because it was too ${trouble}`, cuts: [] });
    } })]));
  const parts = () => Object.fromEntries(Object.entries(PLACES).map(([part, t]) => [part, model.get("sentence").split(" ")[t]]));
  const rows = [0, 1].map((i) => {
    const name = h("span"), whose = h("select", { class: "tf-button", "aria-label": "word whose row is shown", change: () => assign(model, { word: whose.selectedIndex }) });
    const it = lookRow((s) => toggle(rows[i].at, s)), group = h("div", { class: "tf-cutting-row", role: "group" }, ...it.all);
    return { ...it, name, whose, group, at: null, el: h("div", { class: "tf-cutting-none" }, h("p", { class: "tf-cutting-head tf-cutting-looks" }, name, whose, " looks"), group) };
  });
  const toggle = ([l, head, t], s) => {
    const { cuts, sentence } = traits(model, TRAITS), look = [l, head, t, s], words = sentence.split(" "), cut = has(cuts, look);
    const kept = cuts.filter((one) => !has([one], look));
    act(`${ORDER[l]} layer, head ${head}: “${words[t]}” ${cut ? "looks at" : "is cut from"} “${words[s]}”${cut ? " again" : ""}.`, { cuts: cut ? kept : [...kept, look] });
  };
  const heading = h("span"), given = h("span", { class: "tf-quiet tf-cutting-given" }), bars = NOUNS.map(() => {
    const name = h("span", { class: "tf-cutting-noun" }), fill = h("span", { class: "tf-cutting-fill" }), mark = h("span", { class: "tf-cutting-mark" }), now = reading("now"), before = reading("before");
    return { name, fill, mark, now, before, el: h("li", {}, name, h("span", { class: "tf-cutting-bar" }, fill, mark), now, before) };
  });
  root.append(h("div", { class: "tf-actions tf-cutting-top", role: "group", "aria-label": "Model" }, ...picks), about,
    h("p", { class: "tf-cutting-text" }, "the ", choose.first, " did not ", choose.verb, " the ", choose.second, " because it was too ", choose.trouble),
    h("p", { class: "tf-cutting-head tf-cutting-columns" }, h("span", {}, heading, given), h("span", {}, "now"), h("span", {}, "uncut")), h("ul", { class: "tf-cutting-bars" }, ...bars.map((one) => one.el)),
    h("div", { class: "tf-actions tf-cutting-back" }, restore, button("reset", () => act("As at the start.", start)), h("span", { class: "tf-quiet tf-cutting-hint" }, `Press a word in a row to cut that look, again to restore it. Weights below ${fmt(LEAST)} have no number.`)),
    ...rows.map((one) => one.el), live);

  const draw = () => {
    const { name, sentence, word, cuts } = traits(model, TRAITS), words = sentence.split(" "), now = parts();
    const kinds = world.verbs[now.verb], troubles = kinds.map((kind) => world.troubles[kind]), meant = troubles[0].includes(now.trouble) ? 0 : 1;
    picks.forEach((one, i) => one.setAttribute("aria-pressed", names[i] === name));
    offer(choose.verb, Object.keys(world.verbs), now.verb);
    offer(choose.first, world.nouns[kinds[0]], now.first);
    offer(choose.second, world.nouns[kinds[1]], now.second);
    offer(choose.trouble, troubles.flat(), now.trouble);
    restore.disabled = !cuts.length;
    if (!circuits) return;
    const { asked, heads, blocks } = circuits.models[name], found = state(circuits, name, sentence, cuts), whole = state(circuits, name, sentence, []);
    const many = (n, one) => `${["no", "one", "two"][n]} ${one}${n === 1 ? "" : "s"}`;
    about.textContent = `${many(blocks.length, "layer")}, ${heads > 1 ? `${many(heads, "head")} in it` : "one head in each"}; `.replace("one layer, one head in each", "one layer, one head")
      + (asked === "noun" ? "trained so that the vector of “it” names the noun that is meant." : "trained so that the weights of “it” prefer the noun that is meant.");
    heading.textContent = asked === "noun" ? "Probability of the nouns at “it”" : "Shares of the nouns in what “it” gives both";
    const other = asked === "noun" && NOUNS.every((t) => words[t] !== found.likeliest) ? `likeliest is ${found.likeliest}` : "";
    given.textContent = asked === "noun" ? other && ` (${other})` : ` (${onNouns(found.weights.at(-1))} of its weight)`;
    bars.forEach((one, i) => {
      one.name.replaceChildren(words[NOUNS[i]], h("span", { class: "tf-quiet" }, i === meant ? " meant" : ""));
      one.fill.style.width = `${100 * found.nouns[i]}%`;
      one.mark.style.left = `${100 * whole.nouns[i]}%`;
      one.now.show(found.nouns[i], fmt(found.nouns[i]));
      one.before.show(whole.nouns[i], fmt(whole.nouns[i]));
    });
    const shown = blocks.flatMap((_, l) => Array.from({ length: heads }, (_, head) => [l, head, l === blocks.length - 1 ? IT : word]));
    rows.forEach((one, i) => {
      one.el.classList.toggle("tf-cutting-none", i >= shown.length);
      if (i >= shown.length) return;
      const [l, head, t] = one.at = shown[i], free = l < blocks.length - 1, label = `${blocks.length > 1 ? `${ORDER[l]} layer` : heads > 1 ? `Head ${head}` : "The head"}: where `;
      one.name.textContent = free ? label : `${label}“${words[t]}”`;
      one.whose.hidden = !free;
      offer(one.whose, words.map((each, place) => `${place + 1} ${each}`), `${t + 1} ${words[t]}`);
      one.group.setAttribute("aria-label", `${label}“${words[t]}” looks`);
      one.show(words, found.weights[l][head][t], (s) => has(cuts, [l, head, t, s]));
    });
    const says = bars.map((one, i) => `${words[NOUNS[i]]} ${fmt(found.nouns[i])}, uncut ${fmt(whole.nouns[i])}`);
    live.say(`${done} ${says.join("; ")}${other && `; ${other}`}.`.trim());
  };
  const stopLoading = whenNear(root, async () => {
    about.textContent = "The models are on their way.";
    try {
      circuits = await (arriving ??= held(model).then(gunzip).then(unpackCircuits));
      root.dataset.ready = "true";
      draw();
    } catch (error) {
      arriving = null;
      about.textContent = `The models did not come: ${error.message}`;
    }
  });
  const unfollow = follow(model, TRAITS, draw);
  return () => { stopLoading(); unfollow(); };
}

/** What can be chosen, and what is. */
function offer(select, texts, chosen) {
  if ([...select.options].map((one) => one.text).join() !== texts.join()) select.replaceChildren(...texts.map((text) => h("option", { value: text }, text)));
  select.value = chosen;
}

export default { render };
