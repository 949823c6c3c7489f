// Browse the heads of a layer that turns by veto: where each looks, what it brings, and their sum.

export const core = { browse };

/** The score of *it* with a word in a head: the keys of the word's features, added up. */
const score = (keys, features) => features.reduce((sum, one) => sum + (keys[one] ?? 0), 0);

/** Scores and weights of *it* in each head, their sum over the heads that are on, and what arrives. */
function browse(heads, words, kinds, tokens, off) {
  const share = 1 / heads.length;
  const scores = heads.map(([, keys]) => tokens.map((token) => score(keys, words[token])));
  const weights = scores.map((row) => softmax(row));
  const on = weights.filter((_, h) => !off.includes(h));
  const total = tokens.map((_, t) => share * on.reduce((sum, row) => sum + row[t], 0));
  const received = kinds.map((kind) =>
    tokens.reduce((sum, token, t) => sum + total[t] * words[token].includes(`is ${kind}`), 0));
  return { scores, weights, total, received };
}

const TRAITS = ["layer", "stem", "last", "off", "head", "word"];
const short = (p) => (p < 0.005 ? "" : fmt(p).replace(/^0/, ""));
const nouns = (words, tokens) => [...tokens.keys()].filter((t) => words[tokens[t]].includes("noun"));

function render({ model, el }) {
  const start = traits(model, TRAITS), { layers, words, kinds, stems, lasts } = traits(model, ["layers", "words", "kinds", "stems", "lasts"]);
  const root = frame(el, "tf-heads", "Head browser", "Switch one head off. What does “it” lose?"), live = voice();
  const said = h("p", { class: "tf-said" }), looking = h("p", { class: "tf-looking" }), table = h("div"), told = h("div", { class: "tf-brought" });
  const full = fold("One head and one word in full", looking, told), take = (traits) => assign(model, traits);
  const open = (traits) => { full.open = true; take(traits); };
  const pick = (label, trait, values, texts, more = () => ({})) => {
    const all = values.map((value, i) => button(texts[i], () => take({ [trait]: value, ...more() })));
    const el = h("span", { class: "tf-group", role: "group", "aria-label": label }, h("span", { class: "tf-quiet" }, label), ...all), enter = roving(el);
    return { el, update: (now) => {
      all.forEach((one, i) => one.setAttribute("aria-pressed", values[i] === now));
      enter([all], all[values.indexOf(now)]);
    } };
  };
  const names = layers.map(([name]) => name), pairs = stems.map((stem) => nouns(words, stem).map((t) => stem[t]).join(", "));
  const picks = {
    layer: pick("layer", "layer", names, names, () => ({ off: [], head: 0 })),
    stem: pick("sentence", "stem", [...stems.keys()], pairs, () => ({ word: 1 })),
    last: pick("last word", "last", lasts, lasts),
  };
  const back = h("div", { class: "tf-actions" }, button("all heads on", () => take({ off: [] })), allNumbers(root));
  const others = fold("Other layers and sentences", h("div", { class: "tf-picks" }, picks.layer.el, picks.stem.el, button("reset", () => take(start))));
  full.addEventListener("toggle", () => root.classList.toggle("tf-in-full", full.open)); // what is told is marked
  const brought = waiting(h("div", { class: "tf-arrives" }));
  root.append(picks.last.el, said, table, brought, folds(full, others, back), live);
  let drawn = "", grid;
  const stop = follow(model, TRAITS, () => {
    const now = traits(model, TRAITS), heads = layers.find(([name]) => name === now.layer)[1], tokens = [...stems[now.stem], now.last];
    now.word = Math.min(now.word, tokens.length - 1);
    const found = browse(heads, words, kinds, tokens, now.off), key = `${now.layer} ${tokens.join(" ")}`;
    for (const [name, one] of Object.entries(picks)) one.update(now[name]);
    if (drawn !== key) {
      drawn = key;
      grid = rows(model, heads.map(([name]) => name), tokens, open);
      table.replaceChildren(grid.el);
    }
    grid.update(found, now);
    told.replaceChildren(...tell(found, now, heads, words, tokens));
    brought.replaceChildren(...arrives(found, kinds));
    const looks = [...nouns(words, tokens), tokens.length - 1].map((t) => `${tokens[t]} ${fmt(found.total[t], 3)}`).join(", ") + ", which brings nothing";
    const without = now.off.length ? ` without ${now.off.map((h) => heads[h][0]).join(" and ")}` : "";
    said.replaceChildren(h("b", {}, `“… ${tokens.at(-1)}”${without}: `), verdict(found.total, nouns(words, tokens), tokens));
    looking.textContent = `Together, it looks at ${looks}.`;
    live.say(`Together${without}, it looks at ${looks}.`);
  });
  return stop;
}

/** Which noun gets most of what the heads give together, to three decimals. */
function verdict(total, places, tokens) {
  const top = Math.max(...places.map((t) => total[t])), first = places.filter((t) => total[t] > top - 0.0005).map((t) => tokens[t]);
  if (top < 0.0005) return "no noun gets more than a trace.";
  return first.length > 1 ? `${first.join(" and ")} get the same, ${fmt(top, 3)}.` : `of the nouns, ${first[0]} gets most: ${fmt(top, 3)}.`;
}

// ---- the table: a row a head, a column a word, and the sum --------------------------------

function rows(model, names, tokens, choose) {
  const toggle = (h) => {
    const off = model.get("off");
    assign(model, { off: off.includes(h) ? off.filter((one) => one !== h) : [...off, h].sort((a, b) => a - b) });
  };
  const columns = tokens.map((token, t) => h("button", { type: "button", class: "tf-column", click: () => choose({ word: t }) }, h("span", {}, token)));
  const heads = names.map((name, i) => {
    const on = h("input", { type: "checkbox", "aria-label": `${name} is on`, change: () => toggle(i) });
    const open = h("button", { type: "button", class: "tf-open", click: () => choose({ head: i }) }, name);
    const cells = tokens.map((_, t) => share(() => choose({ head: i, word: t })));
    const el = waiting(h("div", { class: "tf-line", role: "row" }, h("span", { class: "tf-which-head", role: "rowheader" }, on, open), ...cells));
    return { on, open, cells, el };
  });
  const total = tokens.map((_, t) => share(() => choose({ word: t })));
  const el = h("div", { class: "tf-table", role: "grid", "aria-label": "Weights of it, by head and word; arrow keys lead from part to part", style: `--tf-n:${tokens.length}` },
    h("div", { class: "tf-line", role: "row" }, h("span", { class: "tf-which-head", role: "columnheader" }, "it looks at"),
      ...columns.map((one) => h("span", { role: "columnheader" }, one))),
    ...heads.map((one) => one.el),
    waiting(h("div", { class: "tf-line tf-sum", role: "row" }, h("span", { class: "tf-which-head", role: "rowheader" }, "together"), ...total)));
  roving(el)([[null, null, ...columns], ...heads.map((one) => [one.on, one.open, ...one.cells]), [null, null, ...total]], heads[0].on);
  const paint = (cell, p, chosen, name) => {
    cell.style.setProperty("--tf-share", p.toFixed(4));
    cell.firstChild.textContent = short(p);
    cell.setAttribute("aria-label", `${name}: ${fmt(p)}`);
    cell.classList.toggle("tf-chosen", chosen);
    cell.classList.toggle("tf-deep", p > 0.55);
  };
  const update = ({ weights, total: sum }, { off, head, word }) => {
    columns.forEach((one, t) => one.setAttribute("aria-pressed", t === word));
    heads.forEach((one, i) => {
      one.on.checked = !off.includes(i);
      one.el.classList.toggle("tf-off", off.includes(i));
      one.open.setAttribute("aria-pressed", i === head);
      one.cells.forEach((cell, t) => paint(cell, weights[i][t], i === head && t === word, `${names[i]} looks at ${tokens[t]}`));
    });
    total.forEach((cell, t) => paint(cell, sum[t], false, `together, it looks at ${tokens[t]}`));
  };
  return { el, update };
}

/** A cell that can be pressed; its number waits. */
const share = (click) => h("button", { type: "button", class: "tf-share", role: "gridcell", click }, waits(h("span")));

// ---- one head and one word, told in full --------------------------------------------------

function tell({ scores, weights }, { head, word, off }, heads, words, tokens) {
  const [name, keys] = heads[head], token = tokens[word], share = 1 / scores.length;
  const terms = words[token].filter((one) => one in keys).map((one) => `${one} ${fmt(keys[one], 0)}`);
  const is = words[token].filter((one) => one.startsWith("is "));
  const found = is.length ? is.join(" and ") : "nothing";
  const p = weights[head][word], gone = off.includes(head);
  return [
    h("p", { class: "tf-title" }, h("b", {}, `Head ${name.replace(/^head /, "")}, word ${token}`), gone ? " (switched off)" : ""),
    h("dl", { class: "tf-list" },
      row(h("span", {}, "looks, by ", h("i", { class: "tf-of-m" }, "M")), `${terms.length ? terms.join(", ") : "none of its features"}: score ${fmt(scores[head][word], 0)}`),
      row("weight of it on this word", h("data", { value: p, class: "tf-number" }, fmt(p, 3))),
      row(h("span", {}, "brings, by ", h("i", { class: "tf-of-u" }, "U")),
        gone ? "nothing now" : is.length ? `${found}, ${fmt(p, 3)} × 1/${scores.length} = ${fmt(p * share, 3)}` : found)),
  ];
}

function arrives({ received }, kinds) {
  const top = Math.max(0.25, ...received);
  return [h("p", { class: "tf-title" }, h("b", {}, "What arrives in the row of it")),
    ...kinds.map((kind, i) => h("div", { class: "tf-kind" }, h("span", {}, `is ${kind}`),
      h("span", { class: "tf-rail" }, h("span", { class: "tf-fill", style: `width:${(100 * received[i]) / top}%` })),
      waits(h("data", { value: received[i], class: "tf-number" }, fmt(received[i], 3)))))];
}

export default { render };
