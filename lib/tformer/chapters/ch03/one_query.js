// One query asks: it meets the keys, the scores become weights, and the values pour into the output.

export const core = { ask, lanes };

const STEPS = ["query", "scores", "softmax", "mix"];
const TRAITS = ["sentences", "which", "selected", "layer", "stage", "compact"];
const PAUSE = 1400, RIVER = 22; // milliseconds of a step; pixels that all weights together are wide

/** What a layer makes of a sentence; columns of the values that are zero for every word are left out. */
function ask(tokens, hand, layer) {
  const { tables, weights } = read(tokens, hand), { q, k, v, scores } = tables[layer - 1];
  const { w_k, w_v } = hand.layers[layer - 1];
  const used = [...new Set(w_v.entries.map(([, j]) => j))].sort((i, j) => i - j);
  const values = v.map((one) => used.map((j) => one[j]));
  return { q, k, v: values, scores, weights: weights[layer - 1],
    y: weights[layer - 1].map((a) => used.map((_, j) => a.reduce((sum, p, s) => sum + p * values[s][j], 0))),
    sought: Array.from({ length: w_k.width }, (_, j) => hand.features[w_k.entries.find(([, end]) => end === j)[0]]),
    given: used.map((j) => hand.features[j]) };
}

/** Where each word's stream runs, as distance from the inner bank: the lower a word, the further in. */
function lanes(weights) {
  let bank = 0;
  return weights.toReversed().map((p) => (bank += p) - p / 2).toReversed();
}

const still = () => matchMedia("(prefers-reduced-motion: reduce)").matches;
const short = (feature) => feature.replace(/^(is|says) /, "");
const named = (names, vector) => vector.map((x, i) => (Math.abs(x) > 1e-9 ? `${names[i]} ${fmt(x)}` : ""))
  .filter(Boolean).join(", ") || "zero everywhere";
const ending = (sentence) => tokenise(sentence).at(-1);

function render({ model, el }) {
  const root = frame(el, model.get("compact") ? "tf-riddle" : "tf-ask", "One query asks");
  return (model.get("compact") ? riddle : machine)(model, root);
}

/** Two buttons that change the last word. */
function endings(model) {
  const both = model.get("sentences").map((one, i) => button(ending(one), () => assign(model, { which: i })));
  const el = h("span", { class: "tf-group", role: "group", "aria-label": "Last word" }, ...both);
  return { el, update: (which) => both.forEach((one, i) => one.setAttribute("aria-pressed", i === which)) };
}

// ---- the whole machine ------------------------------------------------------------------

function machine(model, root) {
  const hand = model.get("hand_made"), live = voice(), ends = endings(model), said = h("p", { class: "tf-said" });
  const formula = formulaLine(), rounds = layerChoice(model), steps = stepButtons(model), table = tableOf(model);
  const maps = heatMaps(model), note = (text) => { said.textContent = text; };
  const lead = h("span", { class: "tf-quiet" });
  let text = "";
  const tell = (about) => note(about ?? text);
  table.onTell(tell);
  maps.onTell(tell);
  root.append(
    h("div", { class: "tf-bar" }, h("span", {}, lead, ends.el), rounds.el),
    formula.el, steps.el, table.el, said, maps.el, live);
  const stop = follow(model, TRAITS, () => {
    const { sentences, which, selected, layer, stage } = traits(model, TRAITS), tokens = tokenise(sentences[which]);
    const found = { ...ask(tokens, hand, layer), tokens, at: selected, stage, layer };
    root.dataset.stage = stage;
    lead.textContent = `… ${tokens.slice(-5, -1).join(" ")} `;
    text = sentenceOf(found);
    ends.update(which);
    rounds.update(layer);
    formula.update(found);
    steps.update(stage);
    table.update(found);
    maps.update(found);
    note(text);
    live.say(text);
  });
  return () => {
    stop();
    steps.stop();
    table.stop();
  };
}

/** What a step does, in a sentence. */
function sentenceOf({ tokens, at, stage, layer, q, scores, weights, y, sought, given }) {
  const word = tokens[at], top = [...tokens.keys()].sort((s, t) => scores[at][t] - scores[at][s])[0];
  return [
    `1. The row of “${word}” makes its query: ${named(sought, q[at])}.`,
    `2. The query meets every key. The best score, ${fmt(scores[at][top])}, is that of “${tokens[top]}”.`,
    `3. Softmax makes weights that add up to 1: ${describe(word, tokens, weights[at])}.`,
    `4. Every value pours in by its weight. The output of layer ${layer}: ${named(given, y[at])}.`,
  ][stage - 1];
}

function formulaLine() {
  const part = (step, name, ...inner) => h("span", { class: `tf-part ${name}`, "data-step": step }, ...inner);
  const sized = (letter) => {
    const size = h("rt");
    return { size, el: h("ruby", {}, h("i", {}, letter), size) };
  };
  const [q, k, v] = ["Q", "K", "V"].map(sized);
  k.el.firstChild.after(h("sup", {}, "⊤"));
  const el = h("p", { class: "tf-formula", "aria-hidden": "true" },
    part(3, "", "softmax(", part(2, "", part(1, "tf-of-q", q.el), " ", part(2, "tf-of-k", k.el), " / √", h("i", {}, "d"), h("sub", {}, "k")), ")"),
    " ", part(4, "tf-of-v", v.el));
  const update = ({ tokens: { length: n }, sought, given }) => {
    q.size.textContent = `${n} × ${sought.length}`;
    k.size.textContent = `${sought.length} × ${n}`;
    v.size.textContent = `${n} × ${given.length}`;
  };
  return { el, update };
}

function layerChoice(model) {
  const { all, update } = radioButtons(model, "layer", [1, 2]);
  const el = h("span", { class: "tf-layers", role: "radiogroup", "aria-label": "Layer that is shown" },
    ...all.map((radio, i) => h("label", { class: "tf-option" }, radio, `layer ${i + 1}`)));
  return { el, update };
}

/** The steps one by one, and all of them in turn; with reduced motion, the end at once. */
function stepButtons(model) {
  let timer = 0;
  const halt = () => clearTimeout(timer);
  const go = (stage) => {
    assign(model, { stage });
    if (stage < STEPS.length) timer = setTimeout(() => go(stage + 1), PAUSE);
  };
  const each = STEPS.map((name, i) => button(`${i + 1} ${name}`, () => {
    halt();
    assign(model, { stage: i + 1 });
  }));
  const play = button("▶ play", () => {
    halt();
    if (still()) assign(model, { stage: STEPS.length });
    else go(1);
  });
  const el = h("div", { class: "tf-actions tf-steps", role: "group", "aria-label": "Steps" }, play, ...each);
  return { el, stop: halt, update: (stage) => each.forEach((one, i) => one.setAttribute("aria-pressed", i + 1 === stage)) };
}

// ---- query, keys, scores, weights, values, output: one table ------------------------------

/** A row of a table as coloured squares; the whole is one thing to hover or to focus. */
function strip(kind, n) {
  const squares = Array.from({ length: n }, () => h("i"));
  const el = h("button", { type: "button", class: `tf-strip tf-of-${kind}` }, ...squares);
  const update = (values, most, met = []) => squares.forEach((square, j) => {
    square.style.setProperty("--tf-share", Math.min(1, Math.abs(values[j]) / most).toFixed(3));
    square.classList.toggle("tf-met", Boolean(met[j]));
  });
  return { el, update };
}

/** A number with a bar behind it. */
function meter(name) {
  const fill = h("span", { class: "tf-fill" }), number = reading(name);
  const el = h("button", { type: "button", class: `tf-bar-cell tf-${name}-cell` }, fill, number);
  const update = (value, share, text) => {
    fill.style.width = `${100 * share}%`;
    number.show(value, text);
  };
  return { el, update };
}

function tableOf(model) {
  const body = h("div", { class: "tf-grid-table", role: "grid", "aria-label": "Query, keys, scores, weights, values, output" });
  const streams = h("svg", { class: "tf-streams", "aria-hidden": "true" });
  const el = h("div", { class: "tf-ask-table" }, body, streams);
  let built = "", parts = null, found = null, tell = () => {};
  const pour = () => parts && drawStreams(streams, parts, found);
  const watch = new ResizeObserver(pour);
  watch.observe(body);
  const update = (now) => {
    found = now;
    const key = [now.tokens.length, now.layer].join();
    if (key !== built) {
      built = key;
      parts = rowsOf(now, (s) => assign(model, { selected: s }));
      body.style.setProperty("--tf-d", now.sought.length);
      body.style.setProperty("--tf-dv", now.given.length);
      body.replaceChildren(...parts.lines);
      roam(body, parts.grid, (r, c) => tell(r === null ? null : explain(found, r, c)));
    }
    fillRows(parts, now);
    pour();
  };
  return { el, update, onTell: (how) => { tell = how; }, stop: () => watch.disconnect() };
}

function rowsOf({ tokens, sought, given }, pick) {
  const line = (name, ...cells) => h("div", { class: `tf-ask-line ${name}`, role: "row" }, ...cells);
  const cell = (name, ...inner) => h("span", { class: `tf-ask-cell tf-at-${name}`, role: "gridcell" }, ...inner);
  const head = (name, names, ...inner) => h("span", { class: `tf-ask-cell tf-at-${name}`, role: "gridcell" },
    h("span", { class: "tf-names", "aria-hidden": "true" }, ...names.map((one) => h("i", {}, short(one)))), ...inner);
  const n = tokens.length, d = sought.length;
  const title = (letter, rows, columns, kind) => h("span", { class: `tf-title tf-of-${kind}` }, h("b", {}, letter), h("span", { class: "tf-size" }, ` ${rows} × ${columns}`));
  const query = { name: h("b"), cells: strip("q", d) };
  const output = { cells: strip("v", given.length) };
  const rows = tokens.map((_, s) => ({ word: h("button", { type: "button", class: "tf-word", click: () => pick(s) }),
    key: strip("k", d), score: meter("score"), weight: meter("weight"), value: strip("v", given.length) }));
  const lines = [
    line("tf-ask-head", cell("word", h("span", { class: "tf-voice" }, "word")), head("key", sought, title("q", 1, d, "q")),
      cell("score"), cell("weight"), head("value", given)),
    line("tf-ask-query", cell("word", h("span", { class: "tf-asks" }, query.name, h("span", { class: "tf-size" }, " asks"))), cell("key", query.cells.el), cell("score"), cell("weight"), cell("value")),
    line("tf-ask-head tf-sub", cell("word"), cell("key", title("K", n, d, "k")), cell("score", title("score", 1, n, "s")),
      cell("weight", title("weight", 1, n, "s")), cell("value", title("V", n, given.length, "v"))),
    ...rows.map((row) => line("tf-ask-entry", cell("word", row.word), cell("key", row.key.el), cell("score", row.score.el),
      cell("weight", row.weight.el), cell("value", row.value.el))),
    line("tf-ask-output", cell("word"), cell("key"), cell("score"), cell("weight", title("y", 1, given.length, "v")), cell("value", output.cells.el)),
  ];
  const grid = [[query.cells.el], ...rows.map((row) => [row.word, row.key.el, row.score.el, row.weight.el, row.value.el]), [output.cells.el]];
  return { query, rows, output, lines, grid };
}

const largest = (...tables) => Math.max(1e-9, ...tables.flat(2).map(Math.abs));

function fillRows({ query, rows, output, grid }, found) {
  const { tokens, at, q, k, v, y, scores, weights } = found, top = largest(scores), bright = largest(v);
  query.name.textContent = `“${tokens[at]}”`;
  query.cells.update(q[at], largest(q));
  output.cells.update(y[at], bright);
  rows.forEach((row, s) => {
    row.word.textContent = tokens[s];
    row.word.setAttribute("aria-pressed", s === at);
    row.key.update(k[s], largest(k), k[s].map((x, j) => x * q[at][j]));
    row.score.update(scores[at][s], Math.max(0, scores[at][s]) / top, fmt(scores[at][s]));
    row.weight.update(weights[at][s], weights[at][s], fmt(weights[at][s], 3));
    row.value.update(v[s], bright);
  });
  grid.forEach((line, r) => line.forEach((one, c) => {
    if (!one.classList.contains("tf-word")) one.setAttribute("aria-label", explain(found, r, c));
  }));
}

/** The arithmetic behind one place of the table. */
function explain({ tokens, at, q, k, v, y, scores, weights, sought, given }, r, c) {
  const s = r - 1, word = `“${tokens[s]}”`;
  if (r === 0) return `query of “${tokens[at]}”: ${named(sought, q[at])}`;
  if (r > tokens.length) {
    const most = [...tokens.keys()].sort((i, j) => weights[at][j] - weights[at][i]).slice(0, 3);
    return `output: ${most.map((i) => `${fmt(weights[at][i], 3)} × “${tokens[i]}”`).join(" + ")} + … = ${named(given, y[at])}`;
  }
  const met = q[at].flatMap((x, j) => (x * k[s][j] ? [`${fmt(x)} × ${fmt(k[s][j])}`] : []));
  const all = scores[at].reduce((sum, x) => sum + Math.exp(x), 0);
  return [
    `let ${word} ask`,
    `key of ${word}: ${named(sought, k[s])}`,
    `score of ${word}: (${met.join(" + ") || "nothing in common"}) / √${sought.length} = ${fmt(scores[at][s])}`,
    `weight of ${word}: exp ${fmt(scores[at][s])} / sum over all words = ${fmt(Math.exp(scores[at][s]))} / ${fmt(all)} = ${fmt(weights[at][s], 3)}`,
    `value of ${word}: ${named(given, v[s])}`,
  ][c];
}

/** Arrow keys, hover and focus in a ragged grid of buttons; one of them takes Tab. */
function roam(body, grid, tell) {
  let [r, c] = [1, 0];
  const seat = (to, column) => {
    grid[r][c].tabIndex = -1;
    r = Math.max(0, Math.min(grid.length - 1, to));
    c = Math.max(0, Math.min(grid[r].length - 1, column));
    grid[r][c].tabIndex = 0;
  };
  grid.forEach((line, i) => line.forEach((one, j) => {
    one.tabIndex = -1;
    one.onpointerenter = () => tell(i, j);
    one.onfocus = () => {
      seat(i, j);
      tell(i, j);
    };
    one.onblur = () => tell(null);
  }));
  seat(1, 0);
  body.onpointerleave = () => tell(null);
  body.onkeydown = (event) => {
    const [down, right] = { ArrowUp: [-1, 0], ArrowDown: [1, 0], ArrowLeft: [0, -1], ArrowRight: [0, 1] }[event.key] ?? [];
    if (down === undefined) return;
    event.preventDefault();
    seat(r + down, c + right);
    grid[r][c].focus();
  };
}

/** One stream a word from its value to the output, as wide as its weight; together they are always as wide. */
function drawStreams(svg, { rows, output }, { weights, at }) {
  const inward = svg.getScreenCTM()?.inverse(); // also where a slide is scaled
  if (!inward) return;
  const place = (one) => {
    const { left, right, top, bottom } = one.el.getBoundingClientRect();
    return { right: new DOMPoint(right, top).matrixTransform(inward).x, middle: new DOMPoint(left, (top + bottom) / 2).matrixTransform(inward).y };
  };
  const last = place(output.cells), foot = last.middle;
  const shares = weights[at], middle = lanes(shares);
  if (svg.childElementCount !== rows.length) svg.replaceChildren(...rows.map(() => h("path")));
  rows.forEach(({ value }, s) => {
    const { right, middle: y } = place(value);
    const lane = right + 4 + RIVER * middle[s], end = foot - RIVER / 2 + RIVER * middle[s];
    const bend = Math.min(8, lane - right);
    svg.children[s].setAttribute("d", `M${right} ${y}H${lane - bend}Q${lane} ${y} ${lane} ${y + bend}V${end - bend}Q${lane} ${end} ${lane - bend} ${end}H${last.right}`);
    svg.children[s].style.strokeWidth = `${Math.max(0.4, RIVER * shares[s])}px`;
  });
}

// ---- all queries at once ------------------------------------------------------------------

const SIDE = 15, LEFT = 56, TOP = 54; // of a heat map, in its own units

function heatMaps(model) {
  let tell = () => {};
  const both = ["scores", "weights"].map((name) => heatMap(model, name, (text) => tell(text)));
  const el = h("div", { class: "tf-maps" }, ...both.map((one) => one.el));
  return { el, onTell: (how) => { tell = how; }, update: (found) => both.forEach((one) => one.update(found)) };
}

/** The table of all scores, or of all weights; a touch of a row lets that word ask. */
function heatMap(model, name, tell) {
  const svg = h("svg", { class: "tf-heat", role: "img" }), chosen = h("rect", { class: "tf-chosen", rx: 2 });
  const el = h("figure", { class: "tf-heat-figure" }, h("figcaption", {}, name === "scores" ? "scores of all words" : "weights of all words"), svg);
  let cells = [], labels = [], shown = null;
  const build = (n) => {
    const word = (turned, i) => h("text", turned ? { transform: `translate(${LEFT + (i + 0.7) * SIDE} ${TOP - 5}) rotate(-60)` }
      : { x: LEFT - 5, y: TOP + (i + 0.75) * SIDE, "text-anchor": "end" });
    labels = [0, 1].map((turned) => Array.from({ length: n }, (_, i) => word(turned, i)));
    cells = Array.from({ length: n * n }, (_, i) => {
      const t = Math.floor(i / n), s = i % n;
      return h("rect", { x: LEFT + s * SIDE, y: TOP + t * SIDE, width: SIDE - 1, height: SIDE - 1, rx: 1.5,
        click: () => assign(model, { selected: t }), pointerleave: () => tell(null),
        pointerenter: () => tell(`${name.slice(0, -1)} of “${shown.tokens[s]}” for the query of “${shown.tokens[t]}”: ${fmt(shown[name][t][s], 3)}`) });
    });
    svg.setAttribute("viewBox", `0 0 ${LEFT + n * SIDE + 26} ${TOP + n * SIDE + 2}`);
    svg.replaceChildren(...labels.flat(), ...cells, chosen);
  };
  const update = (found) => {
    const { tokens, at } = found, n = tokens.length, most = name === "scores" ? largest(found.scores) : 1;
    shown = found;
    if (cells.length !== n * n) build(n);
    labels.forEach((line) => line.forEach((one, i) => { one.textContent = tokens[i]; }));
    labels[0].forEach((one, i) => one.classList.toggle("tf-asks", i === at));
    cells.forEach((one, i) => one.style.setProperty("--tf-share", Math.max(0, found[name][Math.floor(i / n)][i % n] / most).toFixed(3)));
    for (const [key, value] of Object.entries({ x: LEFT - 1.5, y: TOP + at * SIDE - 1.5, width: n * SIDE + 2, height: SIDE + 2 })) chosen.setAttribute(key, value);
    svg.setAttribute("aria-label", `${name} of all ${n} words as a table; row “${tokens[at]}” is outlined`);
  };
  return { el, update };
}

// ---- the sentence alone --------------------------------------------------------------------

function riddle(model, root) {
  const hand = model.get("hand_made"), ends = endings(model), live = voice(), said = h("p", { class: "tf-said" });
  const line = h("p", { class: "tf-riddle-line" }), arcs = h("svg", { class: "tf-arcs", "aria-hidden": "true" });
  const stage = h("div", { class: "tf-riddle-stage" }, arcs, line);
  root.append(stage, h("div", { class: "tf-actions" }, ends.el), said, live);
  let words = [], now = null;
  const draw = () => now && drawArcs(arcs, words, now);
  const watch = new ResizeObserver(draw);
  watch.observe(line);
  const stop = follow(model, TRAITS, () => {
    const { sentences, which, selected, layer } = traits(model, TRAITS), tokens = tokenise(sentences[which]);
    const weights = ask(tokens, hand, layer).weights[selected], written = sentences[which].split(" ");
    now = { at: selected, weights };
    if (words.length !== tokens.length) {
      words = tokens.map(() => h("span", { class: "tf-said-word" }));
      line.replaceChildren(...words.flatMap((word) => [word, " "]));
    }
    words.forEach((word, s) => {
      word.textContent = written[s] + (s === words.length - 1 ? "." : "");
      word.style.setProperty("--tf-share", weights[s].toFixed(3));
      word.classList.toggle("tf-asks", s === selected);
    });
    ends.update(which);
    said.textContent = `${describe(tokens[selected], tokens, weights)}.`;
    live.say(said.textContent);
    draw();
  });
  return () => {
    stop();
    watch.disconnect();
  };
}

/** An arc from the word that asks to every other, as wide as its weight. */
function drawArcs(svg, words, { at, weights }) {
  const top = (word) => [word.offsetLeft + word.offsetWidth / 2, word.offsetTop + 4], [x, y] = top(words[at]);
  const broken = words[0].offsetTop !== words.at(-1).offsetTop; // arcs between lines would strike out words
  if (broken) return svg.replaceChildren();
  if (svg.childElementCount !== words.length) svg.replaceChildren(...words.map(() => h("path")));
  words.forEach((word, s) => {
    const [u, v] = top(word), rise = 14 + Math.min(62, Math.abs(u - x) * 0.16);
    svg.children[s].setAttribute("d", `M${x} ${y}C${x} ${y - rise} ${u} ${v - rise} ${u} ${v}`);
    svg.children[s].style.strokeWidth = s === at ? 0 : `${(1 + 9 * weights[s]).toFixed(2)}px`;
    svg.children[s].style.opacity = (0.12 + 0.88 * weights[s]).toFixed(3);
  });
}

export default { render };
