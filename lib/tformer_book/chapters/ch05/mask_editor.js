// Mask editor: make a mask, see what it does to the weights, what leaks, and what a word can know.

export const core = { maskOf, knows, leaks, weightsOf };

const BASES = { all: "all words", causal: "causal", window: "window" };
const GUESSES = [1, 2, 3, 5];
const NUMERALS = ["no", "one", "two", "three", "four", "five"];
const ORDINALS = ["first", "second"];
const HOLE = [8, 11];
const NUMBERS = { window: ["window of", 1, 12], prefix: ["prefix of", 0, 12], document: ["second document from word", 0, 11], padding: ["padding at the end", 0, 12] };
const SHAPE = ["base", ...Object.keys(NUMBERS), "flips"];

/** The mask that the traits make: base or prefix, and same document, and not padding; then single cells. */
function maskOf({ base, window, prefix, document: second, padding, flips }, n) {
  const sees = { all: () => true, causal: (t, s) => s <= t, window: (t, s) => s <= t && s > t - window }[base];
  const mask = Array.from({ length: n }, (_, t) => Array.from({ length: n }, (_, s) =>
    (sees(t, s) || s < prefix) && (t >= second) === (s >= second) && s < n - padding));
  for (const [t, s] of flips) mask[t][s] = !mask[t][s];
  return mask;
}

/** Which words have a part in each row after some layers; each layer keeps the row or takes a step of the mask. */
function knows(mask, layers) {
  let found = mask.map((_, t) => mask.map((_, s) => t === s));
  for (let l = 0; l < layers; l++)
    found = found.map((row) => mask.map((_, s) => row.some((open, u) => open && (u === s || mask[u][s]))));
  return found;
}

/** Pairs that are true above the diagonal: a word knows a later one. */
function leaks(pairs) {
  return pairs.flatMap((row, t) => row.filter((open, s) => open && s > t)).length;
}

/** The weights of both layers, every hidden score at −∞. */
function weightsOf(hand, tokens, mask) {
  const hidden = mask.flatMap((row, t) => row.flatMap((open, s) => (open ? [] : [[1, t, s, -Infinity], [2, t, s, -Infinity]])));
  return read(tokens, hand, hidden).weights;
}

const TRAITS = ["last", ...SHAPE, "selected", "layer", "n_layers", "guess"];

function render({ model, el }) {
  const start = traits(model, TRAITS), hand = model.get("hand_made");
  const root = frame(el, "tf-mask", "Mask editor", "Open one cell. How many pairs leak through two layers?");
  const question = bet(model), parts = controls(model), verdict = leakCount(model), told = h("p", { class: "tf-told-cell" }), grid = table(model, told), cone = paths(), facts = factList(), live = voice();
  const drawn = picked(model, "layer", "Layer whose weights are drawn", [1, 2], ORDINALS.map((name) => `${name} layer`));
  root.append(question.el, parts.el,
    h("div", { class: "tf-board" }, verdict.el, told, grid.el, question.outcome, cone.el),
    folds(
      h("label", { class: "tf-drawn" }, "weights of the ", drawn.el), facts.el,
      fold("How to read it", h("p", {}, "Table: a row asks, a column is asked; press a cell to open or hide it, a word on the left to follow its row. "
        + "The fuller a cell, the more weight, and a row that is pointed at shows its numbers; hatched cells are hidden; a red frame is a leak, a view of a later word. "
        + "Dots: the words at the bottom, a row above them for each layer; lines are all paths that lead down from the word, red where they come to a later one.")),
      h("div", { class: "tf-actions" }, button("undo single cells", () => assign(model, { flips: [] })), button("reset", () => assign(model, start)))),
    live);
  return follow(model, TRAITS, () => {
    const now = traits(model, TRAITS), tokens = tokenise(`${model.get("stem")} ${now.last}`);
    const mask = maskOf(now, tokens.length), weights = weightsOf(hand, tokens, mask)[now.layer - 1];
    parts.update(now);
    drawn.update(now.layer);
    verdict.update(leaks(knows(mask, now.n_layers)), now.n_layers);
    grid.update(tokens, mask, weights, now.selected);
    cone.update(tokens, mask, now.selected, now.n_layers);
    live.say(`${facts.update(tokens, mask, weights, now)} ${question.update(now, mask)}`);
  });
}

// ---- the question, asked before the answer ----------------------------------------------

function bet(model) {
  const radios = radioButtons(model, "guess", GUESSES), outcome = h("p", { class: "tf-outcome" });
  const ask = "The mask is causal in both layers, but for one cell: “it” may look at the last word. In how many pairs does a word come to know a later one?";
  const el = h("div", { class: "tf-bet" }, h("div", { role: "radiogroup", "aria-label": ask }, h("p", {}, h("b", {}, "Guess first. "), ask),
    h("div", { class: "tf-layers" }, ...radios.all.map((radio, i) => h("label", { class: "tf-option" }, radio, NUMERALS[GUESSES[i]])))));
  const update = (now, mask) => {
    radios.update(now.guess);
    const there = now.base === "causal" && now.flips.length === 1 && String(now.flips[0]) === String(HOLE)
      && !now.prefix && !now.padding && !now.document;
    const count = leaks(knows(mask, 2));
    outcome.textContent = !now.guess ? "" : there ? `Through two layers ${NUMERALS[count]} pairs leak. ${now.guess === count ? "As you said." : `You said ${NUMERALS[now.guess]}.`} “It” comes to know the last word, `
      + "and through it the two words between; and those two, which look at “it”, come to know the last word."
      : "Now open one cell of the causal mask: the one in which “it” looks at the last word.";
    return there ? outcome.textContent : "";
  };
  return { el, outcome, update };
}

/** The verdict, beside the table: how many pairs leak, and through how many layers. */
function leakCount(model) {
  const count = reading("leaks-through"), pairs = h("span"), layers = [1, 2, 3, 4];
  const through = picked(model, "n_layers", "Layers that the paths lead through", layers, layers.map((l) => `${NUMERALS[l]} layer${l > 1 ? "s" : ""}`));
  const el = h("p", { class: "tf-leak-count" }, h("span", { class: "tf-headline" }, count, pairs), "through ", through.el);
  const update = (found, now) => {
    through.update(now);
    count.show(found, String(found));
    pairs.textContent = found === 1 ? "pair leaks" : "pairs leak";
    el.classList.toggle("tf-leaks", found > 0);
  };
  return { el, update };
}

// ---- the parts of a mask ----------------------------------------------------------------

function controls(model) {
  const words = ["tired", "wide"].map((word) => button(word, () => assign(model, { last: word })));
  const bases = radioButtons(model, "base", Object.keys(BASES)), formula = h("p", { class: "tf-formula" });
  bases.all.forEach((radio) => radio.addEventListener("change", () => assign(model, { flips: [] }))); // a new mask starts whole
  const lines = Object.entries(NUMBERS).map(([name, [label, min, max]]) => {
    const value = reading(name), control = slider(label, { min, max, step: 1 }, (v) => assign(model, { [name]: v, flips: [] }));
    return { name, control, value, el: dial(label, control, value) };
  });
  const el = h("div", {},
    h("div", { class: "tf-actions" }, h("span", { class: "tf-group", role: "group", "aria-label": "Last word" }, h("span", { class: "tf-quiet" }, "last word"), ...words),
      h("span", { class: "tf-layers", role: "radiogroup", "aria-label": "What a word sees" }, ...bases.all.map((radio) => h("label", { class: "tf-option" }, radio, BASES[radio.value])))),
    folds(fold("Window, prefix, documents, padding", ...lines.map((line) => line.el)), formula));
  const update = (now) => {
    words.forEach((one) => one.setAttribute("aria-pressed", one.textContent === now.last));
    bases.update(now.base);
    for (const { name, control, value } of lines) {
      control.value = now[name];
      control.setAttribute("aria-valuetext", now[name] ? String(now[name] + (name === "document")) : "none");
      value.show(now[name], now[name] ? String(now[name] + (name === "document")) : "none");
    }
    const base = now.base === "window" ? `window of ${now.window}` : BASES[now.base];
    const either = now.prefix ? `(${base} or prefix of ${now.prefix})` : base;
    const single = now.flips.length ? `, ${now.flips.length} cell${now.flips.length > 1 ? "s" : ""} changed` : "";
    formula.textContent = `mask = ${either}${now.document ? " and same document" : ""}${now.padding ? " and not padding" : ""}${single}`;
  };
  return { el, update };
}

// ---- the table --------------------------------------------------------------------------

function table(model, told) {
  const el = h("div", { class: "tf-cells", role: "group", "aria-label": "Who looks at whom; arrow keys lead from cell to cell" });
  const enter = roving(el), tell = (cell) => { told.textContent = cell?.ariaLabel ?? "Press a cell to open or hide it."; };
  for (const event of ["pointerover", "focusin"]) el.addEventListener(event, ({ target }) => tell(target.closest(".tf-cell")));
  let drawn = "", names = [], heads = [], cells = [];
  const flip = (t, s) => {
    const flips = model.get("flips"), rest = flips.filter(([a, b]) => a !== t || b !== s);
    assign(model, { flips: rest.length < flips.length ? rest : [...flips, [t, s]] });
  };
  const build = (tokens) => {
    names = tokens.map((token, t) => h("button", { type: "button", class: "tf-asks", click: () => assign(model, { selected: t }) }, token));
    heads = tokens.map((token) => h("span", { class: "tf-asked", "aria-hidden": "true" }, h("span", {}, token)));
    cells = tokens.map((_, t) => tokens.map((_, s) =>
      h("button", { type: "button", class: "tf-cell", click: () => flip(t, s) }, waits(h("span")))));
    el.replaceChildren(h("div", { class: "tf-line" }, h("span"), ...heads),
      ...cells.map((row, t) => waiting(h("div", { class: "tf-line" }, names[t], ...row))));
    enter(cells.map((row, t) => [names[t], ...row]), cells[HOLE[0]][HOLE[1]]);
  };
  const update = (tokens, mask, weights, selected) => {
    if (tokens.join(" ") !== drawn) build(tokens);
    drawn = tokens.join(" ");
    names.forEach((name, t) => name.setAttribute("aria-pressed", t === selected));
    cells.forEach((row, t) => row.forEach((cell, s) => {
      const open = mask[t][s], p = weights[t][s];
      cell.className = `tf-cell${open ? "" : " tf-hidden"}${open && s > t ? " tf-leak" : ""}${t === selected ? " tf-chosen" : ""}`;
      cell.style.setProperty("--tf-share", p.toFixed(4));
      cell.dataset.weight = p;
      cell.firstChild.textContent = p >= 0.995 ? "1" : p >= 0.005 ? fmt(p).slice(1) : "";
      cell.setAttribute("aria-label", `${tokens[t]} ${open ? `looks at ${tokens[s]}: ${fmt(p)}` : `may not look at ${tokens[s]}`}`);
      cell.setAttribute("aria-pressed", open);
    }));
    tell(cells.flat().find((cell) => cell === document.activeElement));
  };
  return { el, update };
}

// ---- the paths --------------------------------------------------------------------------

const WIDE = 210, UP = 46; // drawn about as large as shown, so that its words are as large as the table's

function paths() {
  const el = h("svg", { class: "tf-paths", role: "img" });
  const update = (tokens, mask, asks, layers) => {
    const n = tokens.length, x = (s) => 6 + (s * (WIDE - 12)) / (n - 1), y = (level) => 14 + UP * (layers - level);
    const later = mask.map((_, s) => s > asks), parts = [];
    for (let level = layers; level >= 1; level--) {
      const here = knows(mask, layers - level)[asks], below = knows(mask, level - 1);
      for (let t = 0; t < n; t++) for (let s = 0; s < n; s++) {
        if (!here[t] || !(mask[t][s] || t === s)) continue;
        const bad = below[s].some((open, u) => open && later[u]);
        parts.push(h("line", { x1: x(t), y1: y(level), x2: x(s), y2: y(level - 1), class: bad ? "tf-way tf-bad" : "tf-way" }));
      }
    }
    for (let level = 0; level <= layers; level++) {
      const known = knows(mask, layers - level)[asks];
      for (let s = 0; s < n; s++) parts.push(h("circle", { cx: x(s), cy: y(level), r: 4.6,
        class: `tf-node${known[s] ? " tf-known" : ""}${known[s] && level === 0 && later[s] ? " tf-bad" : ""}` }));
    }
    tokens.forEach((token, s) => parts.push(h("text", { x: x(s), y: y(0) + 16, transform: `rotate(50 ${x(s)} ${y(0) + 16})` }, token)));
    el.setAttribute("viewBox", `0 0 ${WIDE + 20} ${y(0) + 66}`);
    const known = knows(mask, layers)[asks];
    el.setAttribute("aria-label", `Paths from ${tokens[asks]} through ${layers} layers lead to: ${tokens.filter((_, s) => known[s]).join(", ")}`);
    el.replaceChildren(...parts);
  };
  return { el, update };
}

// ---- what is said -----------------------------------------------------------------------

function factList() {
  const looks = h("p", { class: "tf-said" }), who = h("dt"), known = reading("known"), one = reading("leaks");
  const el = fold("The numbers", looks, h("dl", { class: "tf-list" }, row("leaks in one layer", one), h("div", {}, who, h("dd", {}, known))));
  const update = (tokens, mask, weights, now) => {
    const word = tokens[now.selected], mine = weights[now.selected], pairs = knows(mask, now.n_layers);
    const blind = !mask[now.selected].some(Boolean), count = pairs[now.selected].filter(Boolean).length;
    looks.textContent = `Layer ${now.layer}: ${blind ? `“${word}” may look nowhere; its weights are zeros` : describe(word, tokens, mine)}.`;
    const layers = now.n_layers === 1 ? "1 layer" : `${now.n_layers} layers`;
    who.textContent = `words that “${word}” can know through ${layers}`;
    known.show(count, `${count} of ${tokens.length}`);
    one.show(leaks(mask), String(leaks(mask)));
    return `${looks.textContent} It can know ${count} word${count === 1 ? "" : "s"} through ${layers}. Leaks: ${leaks(mask)} in one layer, ${leaks(pairs)} through ${layers}.`;
  };
  return { el, update };
}

export default { render };
