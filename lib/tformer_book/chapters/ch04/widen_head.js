// Widen the head: one row of scores under three scales, from width 4 to width 4096.

export const core = { normal, columns };

const NARROWEST = 4, WIDEST = 4096, DRAWS = 32, FINE = 8; // steps of the slider to one doubling
const SCALES = { "1": (d) => 1, "1/√d": (d) => 1 / Math.sqrt(d), "1/d": (d) => 1 / d };
const NAMES = Object.keys(SCALES);
const GUESSES = [...NAMES, "1 and 1/d"];

/** Number i of a fixed stream, above 0 and below 1: T. Ettinger's Mulberry32. */
function uniform(i) {
  let t = Math.imul(i + 1, 0x6d2b79f5);
  t = Math.imul(t ^ (t >>> 15), t | 1);
  t ^= t + Math.imul(t ^ (t >>> 7), t | 61);
  return (((t ^ (t >>> 14)) >>> 0) + 0.5) / 2 ** 32;
}

/** Standard normal numbers of that stream, n from number start on, both even: Box and Muller's way. */
function normal(n, start = 0) {
  const z = new Float64Array(n);
  for (let i = 0; i < n; i += 2) {
    const radius = Math.sqrt(-2 * Math.log(uniform(start + i))), angle = 2 * Math.PI * uniform(start + i + 1);
    z[i] = radius * Math.cos(angle);
    z[i + 1] = radius * Math.sin(angle);
  }
  return z;
}

let made = { key: "" };

/** The query and the keys of one draw at the greatest width: q[j] and k[j][s] for column j of the matrices. */
function projected(rows, asks, draw) {
  const key = JSON.stringify([rows, asks, draw]);
  if (made.key !== key) {
    const width = rows[0].length, n = 2 * width * WIDEST, z = normal(n, draw * n);
    const through = (x, at) => x.reduce((sum, v, i) => sum + v * z[at + i], 0) / Math.sqrt(width);
    const each = (make) => Array.from({ length: WIDEST }, (_, j) => make(2 * width * j));
    made = { key, q: each((at) => through(rows[asks], at)), k: each((at) => rows.map((x) => through(x, at + width))) };
  }
  return made;
}

/** What each scale makes of the row: scores, weights, their entropy, and the gradient at two places. */
function columns(rows, asks, draw, d) {
  const { q, k } = projected(rows, asks, draw);
  const raw = rows.map((_, s) => { let sum = 0; for (let j = 0; j < d; j++) sum += q[j] * k[j][s]; return sum; });
  return Object.fromEntries(NAMES.map((name) => [name, column(SCALES[name](d), raw, k, d)]));
}

function column(scale, raw, k, d) {
  const scores = raw.map((score) => scale * score), weights = softmax(scores);
  const jacobian = weights.map((a, i) => weights.map((b, j) => (i === j ? a * (1 - a) : -a * b)));
  const squares = (table) => table.flat().reduce((sum, x) => sum + x * x, 0);
  let arriving = 0;
  for (let j = 0; j < d; j++) {
    for (const line of jacobian) {
      let sum = 0;
      for (let s = 0; s < line.length; s++) sum += line[s] * k[j][s];
      arriving += sum * sum;
    }
  }
  return { scores, weights, entropy: entropy(weights),
    atScores: Math.sqrt(squares(jacobian)), atQuery: scale * Math.sqrt(arriving) };
}

const TRAITS = ["d", "draw", "guess", "words", "rows", "asks"];

function render({ model, el }) {
  const start = traits(model, ["d", "draw", "guess"]);
  const root = frame(el, "tf-widen", "Widen the head", "Widen the head. Under which scale do the weights stay soft?");
  const question = bet(model), wide = dialOfWidth(model), chart = grid(model.get("words")), live = voice();
  root.append(question.el, wide.el, question.verdict, chart.el,
    folds(
      fold("How to read it", h("p", {}, "Dots: the twelve scores on an axis that is linear near 0 and logarithmic outside; the band is one "
        + "standard deviation to each side, as the theorem below predicts it. Bars: their weights. A line that is pointed at shows its numbers. Lamps: the gradient that "
        + "arrives if every weight is asked for an independent random change (root mean square length); they are brightest at 0.5 and above.")),
      h("div", { class: "tf-actions" }, allNumbers(root),
        button("other random matrices", () => assign(model, { draw: (model.get("draw") + 1) % DRAWS })),
        button("reset", () => { wide.stop(); assign(model, start); }))),
    live);
  const stop = follow(model, TRAITS, () => {
    const now = traits(model, TRAITS), found = columns(now.rows, now.asks, now.draw, now.d);
    wide.update(now.d);
    chart.update(found, now.d);
    live.say(`d = ${now.d}. ${NAMES.map((name) => said(name, found[name])).join(" ")} ${question.update(now, found)}`);
  });
  return () => { wide.stop(); stop(); };
}

const said = (name, { weights, atScores, atQuery }) => `Scale ${name}: largest weight ${fmt(Math.max(...weights))}, `
  + `gradient at the scores ${small(atScores)}, at the query ${small(atQuery)}.`;
const small = (x) => (x >= 0.0995 ? fmt(x) : x >= 0.00095 ? fmt(x, 3) : x > 0 ? "< 0.001" : "0");

// ---- the question, asked before the answer ----------------------------------------------

function bet(model) {
  const radios = radioButtons(model, "guess", GUESSES), verdict = h("p", { class: "tf-outcome" });
  const labels = [...NAMES, "both 1 and 1/d"];
  const el = h("div", { class: "tf-bet", role: "radiogroup", "aria-label": "Under which scale does the lower lamp go dark?" },
    h("p", {}, h("b", {}, "Guess first. "), "All lamps are lit. Under which scale does the lower lamp go dark as the head is widened?"),
    h("div", { class: "tf-scales" }, ...radios.all.map((radio, i) => h("label", { class: "tf-option" }, radio, labels[i]))));
  const update = ({ d, guess }, found) => {
    radios.update(guess);
    const text = guess && d >= 1024 ? outcome(guess, found) : "";
    verdict.textContent = text || (guess ? "Now widen the head to 1024 and beyond." : "");
    return text;
  };
  return { el, verdict, update };
}

const dark = (found) => NAMES.filter((name) => found[name].atQuery < 0.1 * found["1/√d"].atQuery);

/** Whether the guess came true, and what is to be seen in each of the outer columns. */
function outcome(guess, found) {
  const now = dark(found).join(" and "), right = now === guess;
  const alone = Math.max(...found["1"].weights) > 0.6;
  const first = !dark(found).includes("1")
    ? "Under 1 two words happen to be nearly level, and this row is still alive: try other matrices."
    : alone ? "Under 1 one weight has nearly everything, and hardly anything gets through the softmax."
      : "Under 1 two words with one and the same key share the weight, and no query can tell them apart.";
  return `Dark at the query: ${now}. ${right ? "As you said. " : `You said ${guess}. `}${first} `
    + "Under 1/d the softmax would answer, but the factor 1/d makes little of its answer on the way to the query.";
}

// ---- the width --------------------------------------------------------------------------

function dialOfWidth(model) {
  const value = reading("d");
  const range = slider("Width d of the head, on a logarithmic scale",
    { min: Math.log2(NARROWEST), max: Math.log2(WIDEST), step: 1 / FINE }, (v) => { stop(); assign(model, { d: Math.round(2 ** v) }); });
  const go = button("widen", () => (timer ? stop() : play()));
  let timer = 0;
  const stop = () => { clearInterval(timer); timer = 0; go.textContent = "widen"; };
  const step = () => {
    const next = Math.min(WIDEST, Math.round(2 ** (Math.log2(model.get("d")) + 1 / FINE)) + (model.get("d") < 6));
    assign(model, { d: next });
    if (next === WIDEST) stop();
  };
  const play = () => {
    if (matchMedia("(prefers-reduced-motion: reduce)").matches) return assign(model, { d: WIDEST });
    if (model.get("d") === WIDEST) assign(model, { d: NARROWEST });
    go.textContent = "stop";
    timer = setInterval(step, 110);
  };
  const el = h("div", { class: "tf-width" }, h("span", { class: "tf-width-value" }, "d = ", value), range, go);
  const update = (d) => {
    range.value = Math.log2(d);
    range.setAttribute("aria-valuetext", `d = ${d}`);
    value.show(d, String(d));
  };
  return { el, update, stop };
}

// ---- the table: a row a word, a column a scale ------------------------------------------

const BEND = 0.25, REACH = 400; // of the axis: linear up to about the one, as far as the other
const across = (score) => 50 + 48 * Math.asinh(score / BEND) / Math.asinh(REACH / BEND);
const cell = (role, name, ...children) => h("div", { role, class: name }, ...children);
const line = (name, head, ...cells) => waiting(cell("row", `tf-tier ${name}`, cell("rowheader", "tf-head-cell", ...head), ...cells));

function grid(words) {
  const all = Object.fromEntries(NAMES.map((name) => [name, parts(words)]));
  const of = (pick) => NAMES.map((name) => cell("cell", "tf-tier-cell", ...[pick(all[name])].flat()));
  const el = h("div", { class: "tf-wide-grid", role: "table", "aria-label": "Scores, weights and gradients under three scales" },
    waiting(cell("row", "tf-tier", cell("columnheader", "tf-head-cell", "times"), ...NAMES.map((name) =>
      cell("columnheader", "tf-tier-cell tf-factor-cell", h("b", {}, name), " ", all[name].factor)))),
    line("tf-of-scores", ["scores"], ...of((part) => part.axis)),
    ...words.map((word, i) => line("tf-of-word", [word], ...of((part) => [part.bars[i].el, part.bars[i].value]))),
    line("tf-of-entropy", ["entropy"], ...of((part) => part.entropy)),
    line("tf-of-lamp", ["gradient at the scores"], ...of((part) => part.scoreLamp.el)),
    line("tf-of-lamp", ["gradient at the query"], ...of((part) => part.queryLamp.el)));
  const update = (found, d) => {
    const top = found["1"].scores.indexOf(Math.max(...found["1"].scores));
    for (const name of NAMES) all[name].update(found[name], SCALES[name](d), d, top);
  };
  return { el, update };
}

/** All that changes in the column of one scale. */
function parts(words) {
  const factor = waits(reading("factor")), level = reading("entropy"), scoreLamp = lamp("at-scores"), queryLamp = lamp("at-query");
  const band = h("span", { class: "tf-band" }), dots = words.map((word, i) => h("span", { class: `tf-dot tf-row${i % 3}`, title: word }));
  const ticks = [-100, -10, -1, 0, 1, 10, 100].map((score) => h("span", { class: `tf-stroke tf-at${Math.abs(score)}`, style: `left:${across(score)}%` }, waits(h("span", {}, fmt(score, 0)))));
  const axis = h("div", { class: "tf-dots" }, band, ...ticks, ...dots);
  const bars = words.map(() => {
    const fill = h("span", { class: "tf-fill" });
    return { fill, el: h("span", { class: "tf-track-bar" }, fill), value: waits(reading("weight")) };
  });
  const update = ({ scores, weights, entropy: nats, atScores, atQuery }, scale, d, top) => {
    const spread = scale * Math.sqrt(d);
    factor.show(scale, scale === 1 ? "" : `= ${Number(scale.toPrecision(2))}`);
    band.style.left = `${across(-spread)}%`;
    band.style.right = `${100 - across(spread)}%`;
    dots.forEach((dot, i) => { // in three rows, so that few hide others
      dot.style.left = `${across(scores[i])}%`;
      dot.classList.toggle("tf-top", i === top);
    });
    bars.forEach(({ el, fill, value }, i) => {
      fill.style.width = `${100 * weights[i]}%`;
      el.classList.toggle("tf-top", i === top);
      value.show(weights[i], fmt(weights[i]));
    });
    level.show(nats, fmt(nats));
    scoreLamp.update(atScores);
    queryLamp.update(atQuery);
  };
  return { factor, axis, bars, entropy: level, scoreLamp, queryLamp, update };
}

/** A lamp in the dark, as bright as its number is large, and the number. */
function lamp(name) {
  const value = waits(reading(name)), bulb = h("span", { class: "tf-bulb" });
  const update = (length) => {
    bulb.style.setProperty("--tf-lit", Math.min(1, Math.sqrt(length / 0.5)).toFixed(3));
    value.show(length, small(length));
  };
  return { el: h("span", { class: "tf-lamp" }, bulb, value), update };
}

export default { render };
