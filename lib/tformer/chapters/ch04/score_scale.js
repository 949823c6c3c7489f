// Scores of random queries and keys: their spread, and the weights that softmax makes of them.

export const core = { normal, summary };

const QUERIES = 32, KEYS = 64, WIDEST = 4096;
const SCALES = { "1": 0, "1/√d": -0.5, "1/d": -1 };

/** Number i of a fixed stream, above 0 and below 1: T. Ettinger's Mulberry32. */
function uniform(i) {
  let t = Math.imul(i + 1, 0x6d2b79f5);
  t = Math.imul(t ^ (t >>> 15), t | 1);
  t ^= t + Math.imul(t ^ (t >>> 7), t | 61);
  return (((t ^ (t >>> 14)) >>> 0) + 0.5) / 2 ** 32;
}

/** The first n of a fixed stream of standard normal numbers, n even: Box and Muller's way. */
function normal(n) {
  const z = new Float64Array(n);
  for (let i = 0; i < n; i += 2) {
    const radius = Math.sqrt(-2 * Math.log(uniform(i))), angle = 2 * Math.PI * uniform(i + 1);
    z[i] = radius * Math.cos(angle);
    z[i + 1] = radius * Math.sin(angle);
  }
  return z;
}

let vectors; // 32 queries, then 64 keys, each of the greatest width
const products = new Map();

/** For each query its dot products with all keys, over the first d coordinates. */
function dotProducts(d) {
  vectors ??= normal((QUERIES + KEYS) * WIDEST);
  if (!products.has(d)) {
    const dot = (t, s) => {
      let sum = 0;
      for (let i = 0; i < d; i++) sum += vectors[t * WIDEST + i] * vectors[(QUERIES + s) * WIDEST + i];
      return sum;
    };
    products.set(d, Array.from({ length: QUERIES }, (_, t) => Array.from({ length: KEYS }, (_, s) => dot(t, s))));
  }
  return products.get(d);
}

const mean = (x) => x.reduce((sum, v) => sum + v, 0) / x.length;

/** All that is shown: the scores that softmax gets, and for each query what it makes of them. */
function summary(d, scale, temperature, query) {
  const factor = d ** SCALES[scale] / temperature;
  const scores = dotProducts(d).map((row) => row.map((score) => score * factor));
  const all = scores.flat(), middle = mean(all);
  const tables = scores.map((row) => softmax(row));
  const facts = {
    largest: (p) => Math.max(...p),
    entropy,
    effective: (p) => 1 / p.reduce((sum, x) => sum + x * x, 0),
    slope: (p) => 2 * Math.max(...p.map((x) => x * (1 - x))) / temperature,
  };
  const both = (fact) => [fact(tables[query]), mean(tables.map((p) => fact(p)))];
  return {
    scores: all,
    deviation: Math.sqrt(mean(all.map((score) => (score - middle) ** 2))),
    predicted: d ** (SCALES[scale] + 0.5) / temperature,
    weights: [...tables[query]].sort((a, b) => b - a),
    facts: Object.fromEntries(Object.entries(facts).map(([name, fact]) => [name, both(fact)])),
  };
}

const TRAITS = ["d", "scale", "temperature", "query"];

function render({ model, el }) {
  const start = traits(model, TRAITS);
  const root = frame(el, "tf-scale", "Scores, scale and temperature");
  const controls = dials(model), spread = histogram(), bars = sortedWeights(), facts = factList(), live = voice();
  root.append(controls.el,
    h("div", { class: "tf-sides" }, spread.el, bars.el),
    h("p", { class: "tf-about" }, `${QUERIES} queries and ${KEYS} keys with independent standard normal coordinates, `
      + "drawn once. The bars count their scores; the curve is the normal distribution with mean 0 and standard deviation σ, whose shape they take on as d grows."),
    facts.el,
    h("div", { class: "tf-actions" },
      button("another query", () => assign(model, { query: (model.get("query") + 1) % QUERIES })),
      button("reset", () => assign(model, start))),
    live);
  return follow(model, TRAITS, () => {
    const now = traits(model, TRAITS), found = summary(now.d, now.scale, now.temperature, now.query);
    controls.update(now);
    spread.update(found);
    bars.update(found, now.query);
    live.say(facts.update(now, found));
  });
}

// ---- width, scale, temperature ----------------------------------------------------------

function dials(model) {
  const wide = reading("d"), heat = thermometer(model), scales = radioButtons(model, "scale", Object.keys(SCALES));
  const width = slider("Width d, on a logarithmic scale", { min: 2, max: 12, step: 0.5 },
    (v) => assign(model, { d: Math.round(2 ** v) }));
  const el = h("div", { class: "tf-dials" },
    dial("width d", width, "d = ", wide),
    dial("scale", h("div", { class: "tf-scales", role: "radiogroup", "aria-label": "Scale" },
      ...scales.all.map((radio) => h("label", { class: "tf-option" }, radio, radio.value)))),
    dial("temperature", heat.el, heat.value));
  const update = ({ d, scale, temperature }) => {
    width.value = Math.log2(d);
    width.setAttribute("aria-valuetext", `d = ${d}`);
    wide.show(d, String(d));
    scales.update(scale);
    heat.update(temperature);
  };
  return { el, update };
}

// ---- two drawings: the histogram of the scores, and the weights -------------------------

const W = 380, H = 190, LEFT = 44, BASE = H - 26, TOP = 12, REACH = 10, BIN = 0.5;
const percent = (x) => `${fmt(100 * x, x < 0.095 ? 1 : 0)} %`;

function chart(title, label) {
  const drawing = h("g"), high = h("text", { class: "tf-tick", x: LEFT - 5, y: TOP + 5, "text-anchor": "end" });
  const el = h("figure", { class: "tf-chart" }, h("figcaption", {}, title),
    h("svg", { viewBox: `0 0 ${W} ${H}`, role: "img", "aria-label": label }, drawing,
      h("line", { class: "tf-axis", x1: LEFT, x2: W - 6, y1: BASE, y2: BASE }), high,
      h("text", { class: "tf-tick", x: LEFT - 5, y: BASE + 4, "text-anchor": "end" }, "0")));
  return { el, drawing, high, svg: el.lastChild };
}

const bar = (x, width, height) => h("rect", { class: "tf-bar", x, width, y: BASE - height, height });

function histogram() {
  const { el, drawing, high, svg } = chart("scores that softmax gets", "Histogram of the scores");
  const outside = h("p", { class: "tf-remark" });
  const across = (score) => LEFT + (W - 6 - LEFT) * (score + REACH) / (2 * REACH), bins = 2 * REACH / BIN;
  for (const score of [-10, -5, 0, 5, 10]) {
    svg.append(h("text", { class: "tf-tick", x: Math.min(across(score), W - 14), y: BASE + 17, "text-anchor": "middle" }, fmt(score, 0)));
  }
  el.append(outside);
  const update = ({ scores, predicted }) => {
    const shares = Array(bins).fill(0);
    let below = 0, above = 0;
    for (const score of scores) {
      const bin = Math.floor((score + REACH) / BIN);
      if (bin < 0) below += 1 / scores.length;
      else if (bin >= bins) above += 1 / scores.length;
      else shares[bin] += 1 / scores.length;
    }
    const highest = Math.max(0.1, ...shares), up = (share) => (BASE - TOP) * Math.min(1.05, share / highest);
    const law = (x) => BIN * Math.exp(-((x / predicted) ** 2) / 2) / predicted / Math.sqrt(2 * Math.PI);
    const grid = Array.from({ length: 401 }, (_, i) => -REACH + i * REACH / 200);
    high.textContent = percent(highest);
    drawing.replaceChildren(
      ...shares.map((share, i) => bar(across(-REACH + i * BIN) + 0.5, across(BIN) - across(0) - 1, up(share))),
      h("path", { class: "tf-law", d: `M${grid.map((x) => `${across(x).toFixed(1)} ${(BASE - up(law(x))).toFixed(1)}`).join("L")}` }));
    outside.textContent = below + above > 0
      ? `outside the picture: ${percent(below)} below −${REACH}, ${percent(above)} above ${REACH}` : "all scores are in the picture";
  };
  return { el, update };
}

function sortedWeights() {
  const { el, drawing, high, svg } = chart(`weights of one query on ${KEYS} keys, sorted`, "Weights, largest first");
  const which = h("p", { class: "tf-remark" }), even = h("line", { class: "tf-even", x1: LEFT, x2: W - 6 });
  const step = (W - 6 - LEFT) / KEYS;
  el.append(which);
  svg.append(even);
  const update = ({ weights }, query) => {
    const highest = Math.max(0.1, weights[0]), up = (p) => (BASE - TOP) * p / highest;
    high.textContent = fmt(highest, 2);
    drawing.replaceChildren(...weights.map((p, i) => bar(LEFT + i * step + 0.5, step - 1, up(p))));
    even.setAttribute("y1", BASE - up(1 / KEYS));
    even.setAttribute("y2", BASE - up(1 / KEYS));
    which.textContent = `query ${query + 1} of ${QUERIES}; dotted line: all weights equal, 1/${KEYS}`;
  };
  return { el, update };
}

// ---- the numbers ------------------------------------------------------------------------

function factList() {
  const names = ["largest", "entropy", "effective", "slope"];
  const cell = cells(["deviation", "predicted", ...names, ...names.map((name) => `mean-${name}`)]);
  const fact = (term, name, ...more) => row(term, cell[name], ...more, ` (mean of ${QUERIES}: `, cell[`mean-${name}`], ")");
  const el = h("dl", { class: "tf-list" },
    row("standard deviation of the scores", cell.deviation, " (predicted σ = scale · √d / temperature = ", cell.predicted, ")"),
    fact("largest weight", "largest"),
    fact("entropy", "entropy", ` of at most log ${KEYS} = ${fmt(Math.log(KEYS), 3)} nats`),
    fact("effective number of keys 1/Σp²", "effective", ` of ${KEYS}`),
    row("slope of the weights", "‖∂p/∂s‖ ≤ 2 max p(1 − p) / temperature = ", cell.slope, ` (mean of ${QUERIES}: `, cell["mean-slope"], ")"));
  const update = ({ d, scale, temperature }, { deviation, predicted, facts }) => {
    const show = (name, value, places) => cell[name].show(value, fmt(value, places));
    const fine = (x) => (x < 0.0995 ? 4 : x < 9.95 ? 3 : 1);
    show("deviation", deviation, fine(deviation));
    show("predicted", predicted, fine(predicted));
    for (const [name, [one, all]] of Object.entries(facts)) {
      show(name, one, name === "effective" ? 1 : fine(one));
      show(`mean-${name}`, all, name === "effective" ? 1 : fine(all));
    }
    return `d = ${d}, scale ${scale}, temperature ${fmt(temperature)}: standard deviation ${fmt(deviation)}, `
      + `largest weight ${fmt(facts.largest[0])}, entropy ${fmt(facts.entropy[0])}, effective number of keys ${fmt(facts.effective[0], 1)}.`;
  };
  return { el, update };
}

export default { render };
