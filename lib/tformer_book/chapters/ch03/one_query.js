// One query asks: it meets the keys, the scores become weights, and the values pour into the output.

export const core = { ask, lanes, frameAt };

const STEPS = ["query", "scores", "weights", "output"];
const TRAITS = ["sentences", "which", "selected", "layer", "moment", "compact"];
const RIVER = 22; // pixels that all weights together are wide

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

/** What the figure shows at a moment from 0 to 3, computed; at 1, 2 and 3 scores, weights and output are complete.
 *
 * First products are added, one coordinate after another of those in which the query is not zero (`asked`; `added` of
 * them by now, and of each coordinate `shares`). Then each score s becomes
 * exp(rise × s), drawn against the largest exponential, and what is drawn is divided by its way from 1 to the sum. Last the
 * values flow (`reach` is how far) and a part of each, `poured`, has come into the output.
 */
function frameAt(q, k, v, moment) {
  const part = (from, to) => Math.min(1, Math.max(0, (moment - from) / (to - from)));
  const asked = [...q.keys()].filter((j) => Math.abs(q[j]) > 1e-9), added = part(0, 1) * asked.length;
  const shares = q.map((_, j) => (asked.includes(j) ? Math.min(1, Math.max(0, added - asked.indexOf(j))) : part(0, 1)));
  const rise = part(1, 1.5), split = part(1.5, 2), reach = part(2, 2.4), poured = part(2.4, 3);
  const scores = k.map((key) => key.reduce((sum, x, j) => sum + shares[j] * q[j] * x, 0) / Math.sqrt(q.length));
  const top = Math.max(...scores), terms = scores.map((s) => Math.exp(rise * s - top));
  const whole = scores.reduce((sum, s) => sum + Math.exp(s - top), 0), by = 1 + split * (whole - 1);
  const bars = terms.map((x) => (moment > 1 ? x / by : 0));
  const output = v[0].map((_, j) => poured * bars.reduce((sum, p, s) => sum + p * v[s][j], 0));
  return { asked: asked.length, added, shares, rise, split, reach, poured, scores, bars, output, stage: Math.min(4, 1 + Math.ceil(moment)) };
}

const short = (feature) => feature.replace(/^(is|says) /, "");
const named = (names, vector) => vector.map((x, i) => (Math.abs(x) > 1e-9 ? `${names[i]} ${fmt(x)}` : ""))
  .filter(Boolean).join(", ") || "zero everywhere";
const ending = (sentence) => tokenise(sentence).at(-1);

function render({ model, el }) {
  const root = frame(el, model.get("compact") ? "tf-riddle" : "tf-ask", "One query asks", "Press play, then change the last word.");
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
  const hand = model.get("hand_made"), live = voice(), ends = endings(model), said = h("p", { class: "tf-said" }), lead = h("span", { class: "tf-quiet" });
  const formula = formulaLine(), rounds = layerChoice(model), table = tableOf(model), maps = heatMaps(model);
  let found = null, seen = null, pointed = null, passes = false; // then bars flow, and numbers wait for the end of their step
  const at = (moment) => frameAt(found.q[found.at], found.k, found.v, moment);
  const note = () => { said.textContent = pointed ?? captionOf(found, seen, passes); };
  table.onTell((about) => {
    pointed = about;
    note();
  });
  const draw = (moment, running) => {
    passes = root.classList.toggle("tf-passes", Boolean(running) && moment % 1 > 0);
    seen = at(moment);
    root.dataset.stage = seen.stage;
    table.draw(seen, passes ? at(Math.floor(moment)) : seen);
    note();
  };
  const steps = player("Moment of the calculation", STEPS, { draw,
    tell: (moment) => captionOf(found, at(moment)), keep: (moment) => assign(model, { moment }) });
  root.append(
    h("div", { class: "tf-bar" }, h("span", {}, lead, ends.el), rounds.el),
    steps.el, said, table.el,
    folds(fold("All words at once", maps.el), fold("The formula", formula.el)), live);
  const stop = follow(model, TRAITS, () => {
    const { sentences, which, selected, layer, moment } = traits(model, TRAITS), tokens = tokenise(sentences[which]);
    found = { ...ask(tokens, hand, layer), tokens, at: selected, layer };
    lead.textContent = `… ${tokens.slice(-5, -1).join(" ")} `;
    ends.update(which);
    rounds.update(layer);
    formula.update(found);
    table.update(found);
    maps.update(found);
    steps.update(moment);
    live.say(`${captionOf(found, at(moment))} ${moment < 2 ? "" : `${describe(tokens[selected], tokens, found.weights[selected])}.`}`);
  });
  return () => {
    stop();
    steps.stop();
    table.stop();
  };
}

/** What is seen at a moment, in a sentence; without the numbers of a moment that passes. */
function captionOf({ tokens, at, scores }, { asked, added, shares, rise, split, reach, poured, bars, stage }, passes = false) {
  const word = `“${tokens[at]}”`, most = Math.max(...scores[at]), even = Math.min(...scores[at]) === most;
  const best = even ? "no word more than another" : `“${tokens[scores[at].indexOf(most)]}” most`, percent = (x) => `${Math.round(100 * x)} %`;
  if (stage === 1) return `The vector of ${word} makes its query, the blue squares. Nothing has met it yet.`;
  if (stage === 2) {
    const way = asked ? `Of the coordinates in which the query is not zero, ${passes ? Math.floor(added) : fmt(added, 1)} of ${asked} have met the keys.` : "This query is zero, and so is every product.";
    return shares.some((x) => x < 1) ? `Scores: multiply and add. ${way}`
      : `Scores: the query of ${word} has met every key, and suits ${best}.`;
  }
  if (passes && stage === 3) return rise < 1 ? "Exponentials: a bar becomes e to the power of its score, as a part of the largest." : "Weights: all bars are divided by the same number, until they add up to 1.";
  if (passes && stage === 4) return poured ? "Output: the weighted values pour in." : "Output: each value sets out, in a stream as wide as its weight.";
  if (stage === 3) {
    if (rise < 1) return `Exponentials: a bar is e to the power ${fmt(rise)} × score, as a part of e to the power of the largest score.`;
    return split < 1 ? `Weights: all bars are divided by the same number on its way to their sum. They add up to ${fmt(bars.reduce((a, b) => a + b, 0))}, and will to 1.`
      : "Weights: exponentials divided by their sum, the amber bars add up to one.";
  }
  if (!poured) return `Output: each value sets out, in a stream as wide as its weight; ${percent(reach)} of the way.`;
  return poured < 1 ? `Output: ${percent(poured)} of every weighted value has poured in.`
    : `Output: every value has poured in by its weight, ${even ? "all alike" : `that of ${best}`}.`;
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
    ...all.map((radio, i) => h("label", { class: "tf-option" }, radio, ["first layer", "second layer"][i])));
  return { el, update };
}

// ---- query, keys, scores, weights, values, output: one table ------------------------------

/** A row of a table as coloured squares; the whole is one thing to hover or to focus. */
function strip(kind, n) {
  const squares = Array.from({ length: n }, () => h("i"));
  const el = h("button", { type: "button", class: `tf-strip tf-of-${kind}` }, ...squares);
  const update = (values, most) => squares.forEach((square, j) => {
    square.style.setProperty("--tf-share", Math.min(1, Math.abs(values[j]) / most).toFixed(3));
  });
  const meet = (met) => squares.forEach((square, j) => square.classList.toggle("tf-met", Boolean(met[j])));
  return { el, update, meet };
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
  let built = "", parts = null, found = null, seen = null, tell = () => {};
  const pour = () => seen && drawStreams(streams, parts, seen);
  const point = (r, c) => {
    parts.rows.forEach((row, s) => row.line.classList.toggle("tf-hot", s === r - 1));
    el.classList.toggle("tf-pointed", r !== null);
    tell(r === null ? null : explain(found, r, c));
  };
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
      roam(body, parts.grid, point);
    }
    fillRows(parts, now);
  };
  const draw = (now, told) => {
    seen = now;
    drawMoment(parts, found, seen, told);
    pour();
  };
  return { el, update, draw, onTell: (how) => { tell = how; }, stop: () => watch.disconnect() };
}

function rowsOf({ tokens, sought, given }, pick) {
  const line = (name, ...cells) => h("div", { class: `tf-ask-line ${name}`, role: "row" }, ...cells);
  const cell = (name, ...inner) => h("span", { class: `tf-ask-cell tf-at-${name}`, role: "gridcell" }, ...inner);
  const head = (name, names, ...inner) => h("span", { class: `tf-ask-cell tf-at-${name}`, role: "gridcell" },
    h("span", { class: "tf-names", "aria-hidden": "true" }, ...names.map((one) => h("i", {}, short(one)))), ...inner);
  const d = sought.length, title = (letter, kind) => h("span", { class: `tf-title tf-of-${kind}` }, h("b", {}, letter));
  const query = { name: h("b"), cells: strip("q", d) };
  const output = { cells: strip("v", given.length) };
  const rows = tokens.map((_, s) => ({ word: h("button", { type: "button", class: "tf-word", click: () => pick(s) }),
    key: strip("k", d), score: meter("score"), weight: meter("weight"), value: strip("v", given.length) }));
  const lines = [
    line("tf-ask-head", cell("word", h("span", { class: "tf-voice" }, "word")), head("key", sought, title("q", "q")),
      cell("score"), cell("weight"), head("value", given)),
    line("tf-ask-query", cell("word", h("span", { class: "tf-asks" }, query.name, h("span", { class: "tf-size" }, " asks"))), cell("key", query.cells.el), cell("score"), cell("weight"), cell("value")),
    line("tf-ask-head tf-sub", cell("word"), cell("key", title("K", "k")), cell("score", title("score", "s")),
      cell("weight", title("weight", "s")), cell("value", title("V", "v"))),
    ...rows.map((row) => (row.line = line("tf-ask-entry", cell("word", row.word), cell("key", row.key.el), cell("score", row.score.el),
      cell("weight", row.weight.el), cell("value", row.value.el)))),
    line("tf-ask-output", cell("word"), cell("key"), cell("score"), cell("weight", title("y", "v")), cell("value", output.cells.el)),
  ];
  const grid = [[query.cells.el], ...rows.map((row) => [row.word, row.key.el, row.score.el, row.weight.el, row.value.el]), [output.cells.el]];
  return { query, rows, output, lines, grid };
}

const largest = (...tables) => Math.max(1e-9, ...tables.flat(2).map(Math.abs));

function fillRows({ query, rows, grid }, found) {
  const { tokens, at, q, k, v, scores } = found, bright = largest(v);
  const best = scores[at].indexOf(Math.max(...scores[at]));
  query.name.textContent = `“${tokens[at]}”`;
  query.cells.update(q[at], largest(q));
  rows.forEach((row, s) => {
    row.word.textContent = tokens[s];
    row.word.setAttribute("aria-pressed", s === at);
    row.line.classList.toggle("tf-top", s === best);
    row.key.update(k[s], largest(k));
    row.value.update(v[s], bright);
  });
  grid.forEach((line, r) => line.forEach((one, c) => {
    if (!one.classList.contains("tf-word")) one.setAttribute("aria-label", explain(found, r, c));
  }));
}

/** What moves: the bars, the coordinates that have met, and the output as far as it has poured in; `told` has the numbers that are written. */
function drawMoment({ rows, output }, { at, q, k, v, scores: all }, { shares, scores, bars, output: y, stage }, told) {
  const top = largest(all);
  rows.forEach((row, s) => {
    row.key.meet(k[s].map((x, j) => shares[j] * x * q[at][j]));
    row.score.update(scores[s], Math.max(0, scores[s]) / top, stage === 2 && told.stage < 2 ? "" : fmt(told.scores[s]));
    row.weight.update(bars[s], bars[s], stage === 3 && told.stage < 3 ? "" : fmt(told.bars[s], 3));
  });
  output.cells.update(y, largest(v));
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
    if (!one.classList.contains("tf-word")) one.onclick = () => one.focus({ preventScroll: true }); // where a tap does not
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
function drawStreams(svg, { rows, output }, { bars, split, reach }) {
  const inward = svg.getScreenCTM()?.inverse(); // also where a slide is scaled
  if (!inward) return;
  const place = (one) => {
    const { left, right, top, bottom } = one.el.getBoundingClientRect();
    return { right: new DOMPoint(right, top).matrixTransform(inward).x, middle: new DOMPoint(left, (top + bottom) / 2).matrixTransform(inward).y };
  };
  const last = place(output.cells), foot = last.middle;
  const shares = split < 1 ? bars.map(() => 0) : bars, middle = lanes(shares);
  if (svg.childElementCount !== rows.length) svg.replaceChildren(...rows.map(() => h("path", { pathLength: 1 })));
  rows.forEach(({ value }, s) => {
    const { right, middle: y } = place(value);
    const lane = right + 4 + RIVER * middle[s], end = foot - RIVER / 2 + RIVER * middle[s];
    const bend = Math.min(8, lane - right);
    svg.children[s].setAttribute("d", `M${right} ${y}H${lane - bend}Q${lane} ${y} ${lane} ${y + bend}V${end - bend}Q${lane} ${end} ${lane - bend} ${end}H${last.right}`);
    svg.children[s].style.strokeWidth = reach ? `${Math.max(0.4, RIVER * shares[s])}px` : 0;
    svg.children[s].style.strokeDasharray = reach < 1 ? `${reach} 1` : "none";
  });
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

/** A way past the lines between, at their nearer end, so that no word is crossed out. */
function around(between, [x, y], [u, v], offset) {
  const ends = between.flatMap((one) => [one.offsetLeft - 7, one.offsetLeft + one.offsetWidth + 7]).map((end) => offset + end);
  const left = Math.min(...ends), right = Math.max(...ends), side = x + u < left + right ? left : right, half = (y + v) / 2, k = (y - v) / 3;
  return `M${x} ${y}C${x} ${y - k} ${side} ${half + k} ${side} ${half}S${u} ${v + k} ${u} ${v}`;
}

/** An arc from the word that asks to every other, as wide as its weight: above the line, or to where it faces another line. */
function drawArcs(svg, words, { at, weights }) {
  const { offsetLeft, offsetTop } = words[0].offsetParent; // the line, whose words are placed in it
  const middle = (word) => offsetLeft + word.offsetLeft + word.offsetWidth / 2, top = (word) => offsetTop + word.offsetTop + 4;
  const foot = (word) => top(word) + word.offsetHeight - 8;
  if (svg.childElementCount !== words.length) svg.replaceChildren(...words.map(() => h("path")));
  const asks = words[at], x = middle(asks);
  words.forEach((word, s) => {
    const u = middle(word), off = word.offsetTop - asks.offsetTop, below = Math.abs(off) < asks.offsetHeight / 2 ? 0 : Math.sign(off);
    const y = below > 0 ? foot(asks) : top(asks), v = below < 0 ? foot(word) : top(word);
    const rise = below ? (y - v) / 2 : 14 + Math.min(62, Math.abs(u - x) * 0.16), land = below ? -rise : rise;
    const passed = (from, to) => (from.offsetTop - to.offsetTop) * below > asks.offsetHeight / 2;
    const between = words.filter((one) => passed(one, asks) && passed(word, one));
    svg.children[s].setAttribute("d", between.length ? around(between, [x, y], [u, v], offsetLeft) : `M${x} ${y}C${x} ${y - rise} ${u} ${v - land} ${u} ${v}`);
    svg.children[s].style.strokeWidth = s === at ? 0 : `${(1 + 9 * weights[s]).toFixed(2)}px`;
    svg.children[s].style.opacity = (0.12 + 0.88 * weights[s]).toFixed(3);
  });
}

export default { render };
