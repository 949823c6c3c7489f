// Scores and a temperature; the weights that softmax gives, as bars and as a point of a triangle.

export const core = { softmax, entropy, jacobianBound, weights, place, shares, scoresFor, journey };

/** β · 2 max p(1 − p), at least the spectral norm of ∂p/∂scores. */
function jacobianBound(p, beta) {
  return beta * 2 * Math.max(...p.map((x) => x * (1 - x)));
}

/** What the bars show: the shifted scores, −∞ where masked, through softmax at β = 1/temperature. */
function weights(scores, mask, shift, temperature) {
  return softmax(scores.map((s, i) => (mask[i] ? s + shift : -Infinity)), 1 / temperature);
}

const TRAITS = ["scores", "labels", "mask", "temperature", "shift"];
const PRESETS = {
  equal: () => 0,
  "one winner": (i) => (i === 0 ? 4 : 0),
  tie: (i) => (i < 2 ? 3 : 0),
};

function render({ model, el }) {
  const start = traits(model, TRAITS), n = start.scores.length;
  const root = frame(el, "tf-softmax", "Softmax of scores at a temperature", "Add something to all scores, then double β. What changes?");
  const controls = dials(model), rows = start.scores.map((_, i) => scoreRow(model, i));
  const facts = factList(), live = voice(), map = n === 3 ? triangle(model) : null;
  const presets = Object.entries(PRESETS).map(([name, score]) => [name, {
    scores: start.scores.map((_, i) => score(i)), mask: start.scores.map(() => true), shift: 0,
  }]);
  root.append(
    h("div", { class: map ? "tf-sides" : "" },
      ...(map ? [map.el] : []),
      h("div", { class: map ? "tf-panel tf-narrow" : "" },
        h("div", { class: "tf-rows", style: `--tf-even: ${100 / n}%` },
          h("div", { class: "tf-row tf-head", "aria-hidden": "true" },
            ...[["label", ""], ["slider", "score"], ["score", ""], ["allow", "allowed"], ["bar", "weight"], ["weight", ""]]
              .map(([area, text]) => h("span", { class: `tf-area-${area}` }, text))),
          ...rows.map((row) => row.el)))),
    controls.el,
    fold("Entropy, slope and other numbers", h("p", { class: "tf-quiet" }, `Dotted line: all weights equal, 1/${n}.`), facts.el),
    examples(model, start, presets),
    live,
  );
  return follow(model, TRAITS, () => {
    const now = traits(model, TRAITS), p = weights(now.scores, now.mask, now.shift, now.temperature);
    controls.update(now);
    rows.forEach((row, i) => row.update(now, p[i]));
    map?.update(now, p);
    live.say(facts.update(now, p));
  });
}

// ---- the triangle of three weights --------------------------------------------------------

const WIDTH = 400, HEIGHT = 350, CORNERS = [[42, 312], [358, 312], [200, 38]];

/** The point of the triangle with these weights: the corners' mean, weighted. */
function place(p) {
  return [0, 1].map((axis) => p.reduce((sum, w, i) => sum + w * CORNERS[i][axis], 0));
}

/** The weights at a point of the drawing; outside the triangle some are negative. */
function shares([x, y]) {
  const [[x0, y0], [x1, y1], [x2, y2]] = CORNERS;
  const area = (x1 - x0) * (y2 - y0) - (x2 - x0) * (y1 - y0);
  const b = ((x - x0) * (y2 - y0) - (x2 - x0) * (y - y0)) / area;
  const c = ((x1 - x0) * (y - y0) - (x - x0) * (y1 - y0)) / area;
  return [1 - b - c, b, c];
}

/** Scores of this mean whose softmax at a temperature is p, pulled in from the edges. */
function scoresFor(p, temperature, mean) {
  const inside = p.map((w) => Math.max(w, 0.002)), sum = inside.reduce((a, b) => a + b);
  const logs = inside.map((w) => Math.log(w / sum)), middle = logs.reduce((a, b) => a + b) / 3;
  const digits = Math.max(2, Math.ceil(2 - Math.log10(temperature)));
  return logs.map((v) => Number((mean + temperature * (v - middle)).toFixed(digits)));
}

/** The weights at β = 0, at ever larger ones, and at β = to, which may be ∞. */
function journey(scores, mask, to = Infinity, steps = 90) {
  const allowed = scores.filter((_, i) => mask[i]), top = Math.max(...allowed);
  const even = (among) => among.map((yes) => (yes ? 1 / among.filter(Boolean).length : 0));
  const spread = top - Math.min(...allowed), gap = top - Math.max(...allowed.filter((s) => s < top));
  const at = (beta) => weights(scores, mask, 0, 1 / beta);
  if (!spread) return [even(mask)];
  const low = 0.01 / spread, high = Math.min(to, 12 / gap);
  const way = Array.from({ length: steps + 1 }, (_, i) => at(low * (high / low) ** (i / steps)));
  const last = to < Infinity ? at(to) : even(scores.map((s, i) => mask[i] && s === top));
  return [even(mask), ...(high > low ? way : []), last];
}

const line = (points) => points.map((p, i) => `${i ? "L" : "M"}${place(p).map((c) => c.toFixed(1)).join(" ")}`).join("");

/** The line on which the entropy has a value, as a path: in pieces where it leaves the triangle. */
function level(value) {
  let d = "", pen = "M";
  for (let i = 0; i <= 240; i++) {
    const a = 2 * Math.PI * i / 240, way = [Math.cos(a), Math.cos(a - 2.0944), Math.cos(a + 2.0944)];
    const at = (r) => way.map((w) => 1 / 3 + r * w);
    let low = 0, high = -1 / 3 / Math.min(...way);
    if (entropy(at(high).map((w) => Math.max(w, 0))) > value) { pen = "M"; continue; }
    for (let k = 0; k < 24; k++) {
      const r = (low + high) / 2;
      if (entropy(at(r)) > value) low = r; else high = r;
    }
    d += pen + place(at(low)).map((c) => c.toFixed(1)).join(" ");
    pen = "L";
  }
  return d;
}

/** The triangle of all weights, the way of β through it, and the point to take hold of. */
function triangle(model) {
  const names = CORNERS.map(([x, y], i) => h("text", { class: "tf-corner-name", x, y: y + (i < 2 ? 28 : -16), "text-anchor": "middle" }));
  const parts = { rest: h("path", { class: "tf-way-rest" }), done: h("path", { class: "tf-way" }), end: h("circle", { class: "tf-way-end", r: 6 }) };
  const tip = h("g", { class: "tf-tip tf-point", tabindex: "0", role: "slider", "aria-roledescription": "point in the triangle",
    "aria-label": "The weights. Arrow keys move them and set the scores", "aria-valuemin": 0, "aria-valuemax": 1 },
  h("circle", { class: "tf-hit", r: 24 }), h("circle", { class: "tf-ring", r: 17 }), h("circle", { class: "tf-halo", r: 13 }), h("circle", { class: "tf-dot", r: 6.5 }));
  const [cx, cy] = place([1 / 3, 1 / 3, 1 / 3]);
  const el = h("svg", { class: "tf-plane tf-triangle", viewBox: `0 0 ${WIDTH} ${HEIGHT}`, role: "group", "aria-label": "Triangle of all weights" },
    h("polygon", { class: "tf-all", points: CORNERS.map((c) => c.join(",")).join(" ") }),
    ...[1.06, 0.95, 0.8, 0.6, 0.35].map((value) => h("path", { class: "tf-level", d: level(value) })),
    h("circle", { class: "tf-even", cx, cy, r: 3.5 }), parts.rest, parts.done, parts.end, ...names, tip);
  const move = (point) => {
    const { scores, temperature } = traits(model, ["scores", "temperature"]);
    const mean = scores.reduce((a, b) => a + b) / 3;
    assign(model, { scores: scoresFor(shares(point), temperature, mean), mask: [true, true, true] });
  };
  holdable(tip, (left, top) => {
    const box = el.getBoundingClientRect(), pixel = WIDTH / box.width;
    move([(left - box.left) * pixel, (top - box.top) * pixel]);
  }, (by, shift) => {
    const far = shift ? 24 : 6;
    move([Number(tip.dataset.x) + far * by[0], Number(tip.dataset.y) - far * by[1]]);
  });
  return { el, update: (now, p) => drawWay(parts, names, tip, now, p) };
}

function drawWay(parts, names, tip, { scores, labels, mask, temperature }, p) {
  const somewhere = mask.some(Boolean);
  labels.forEach((label, i) => {
    names[i].textContent = label;
    names[i].setAttribute("x", Math.max(8 + 5 * label.length, Math.min(WIDTH - 8 - 5 * label.length, CORNERS[i][0])));
  });
  for (const el of [tip, ...Object.values(parts)]) el.classList.toggle("tf-off", !somewhere);
  if (!somewhere) return;
  const whole = journey(scores, mask), last = place(whole.at(-1));
  parts.rest.setAttribute("d", line(whole));
  parts.done.setAttribute("d", line(journey(scores, mask, 1 / temperature)));
  parts.end.setAttribute("cx", last[0]);
  parts.end.setAttribute("cy", last[1]);
  const [x, y] = place(p);
  Object.assign(tip.dataset, { x, y });
  tip.setAttribute("transform", `translate(${x.toFixed(2)} ${y.toFixed(2)})`);
  tip.setAttribute("aria-valuenow", Math.max(...p).toFixed(3));
  tip.setAttribute("aria-valuetext", labels.map((label, i) => `${label} ${fmt(p[i], 2)}`).join(", "));
}

// ---- temperature and shift --------------------------------------------------------------

function dials(model) {
  const beta = reading("beta"), added = reading("shift");
  const cold = slider("Inverse temperature, on a logarithmic scale", { min: -2, max: 2, step: 0.05 },
    (v) => assign(model, { temperature: Number((10 ** -v).toPrecision(3)) }));
  const more = slider("Constant added to every score", { min: -10, max: 10, step: 0.5 },
    (v) => assign(model, { shift: v }));
  const el = h("div", { class: "tf-dials" },
    dial("inverse temperature β", cold, beta),
    dial("add to all scores", more, added));
  const update = ({ temperature, shift }) => {
    const sharp = fmt(1 / temperature, decimals(1 / temperature));
    cold.value = -Math.log10(temperature);
    cold.setAttribute("aria-valuetext", `β = ${sharp}`);
    beta.show(1 / temperature, sharp);
    reach(more, 10, shift);
    added.show(shift, (shift > 0 ? "+" : "") + fmt(shift, 1));
  };
  return { el, update };
}

// ---- one score --------------------------------------------------------------------------

function scoreRow(model, i) {
  const change = (name, value) => {
    const list = [...model.get(name)];
    list[i] = value;
    assign(model, { [name]: list });
  };
  const label = h("span", { class: "tf-area-label" });
  const control = slider("", { min: -5, max: 5, step: 0.1 }, (v) => change("scores", v));
  const allow = h("input", { type: "checkbox", change: (event) => change("mask", event.target.checked) });
  const score = reading("score"), weight = reading("weight");
  const fill = h("span", { class: "tf-fill" }), note = h("span", { class: "tf-masked-note" });
  const el = h("div", { class: "tf-row", role: "group" }, label,
    h("span", { class: "tf-area-slider" }, control), h("span", { class: "tf-area-score" }, score),
    h("label", { class: "tf-area-allow" }, allow, h("span", { class: "tf-allow-word" }, "allowed")),
    h("span", { class: "tf-area-bar" }, fill, note), h("span", { class: "tf-area-weight" }, weight));
  const update = ({ scores, labels, mask, shift }, p) => {
    const name = labels[i], raw = scores[i], x = mask[i] ? raw + shift : -Infinity;
    label.textContent = name;
    el.setAttribute("aria-label", name);
    el.classList.toggle("tf-masked", !mask[i]);
    reach(control, 5, raw);
    control.setAttribute("aria-label", `Score of ${name}`);
    control.setAttribute("aria-valuetext", `${fmt(raw, 1)}; weight ${fmt(p, 3)}`);
    allow.checked = mask[i];
    allow.setAttribute("aria-label", `${name} allowed`);
    score.show(x, fmt(x, Math.abs(10 * x - Math.round(10 * x)) > 1e-6 ? 2 : 1));
    weight.show(p, fmt(p, 3));
    fill.style.width = `${100 * p}%`;
    note.textContent = mask[i] ? "" : "masked: score −∞";
  };
  return { el, update };
}

// ---- what the weights say ---------------------------------------------------------------

function factList() {
  const cell = cells(["largest", "entropy", "jacobian-bound", "temperature"]);
  const which = h("span"), most = h("span"), bound = h("span"), meter = h("span", { class: "tf-fill" });
  const el = h("dl", { class: "tf-list" },
    row("largest weight", cell.largest, which),
    row("temperature 1/β", cell.temperature),
    row("entropy", cell.entropy, most, h("span", { class: "tf-meter" }, meter)),
    row("slope of the weights", "‖∂p/∂s‖ ≤ ", bound, cell["jacobian-bound"]));
  const update = ({ labels, mask, temperature }, p) => {
    const n = mask.filter(Boolean).length, H = entropy(p), top = Math.max(...p);
    const winners = labels.filter((_, i) => n && top - p[i] < 1e-9);
    const who = n === 0 ? "nothing is allowed, so every weight is 0" : winners.length === n && n > 1 ? "all equal" : winners.join(" and ");
    cell.largest.show(top, fmt(top, 3));
    cell.temperature.show(temperature, fmt(temperature, decimals(temperature)));
    which.textContent = ` (${who})`;
    cell.entropy.show(H, fmt(H, 3));
    most.textContent = n ? ` of at most log ${n} = ${fmt(Math.log(n), 3)} nats` : " nats";
    meter.style.width = `${n > 1 ? 100 * H / Math.log(n) : 0}%`;
    const J = jacobianBound(p, 1 / temperature);
    cell["jacobian-bound"].show(J, fmt(J, 3));
    bound.textContent = `β · 2 max p(1 − p) = ${fmt(1 / temperature, 2)} × ${fmt(J * temperature, 3)} = `;
    return `Largest weight ${fmt(top, 2)}, ${who}. Entropy ${fmt(H, 2)}${most.textContent}.`;
  };
  return { el, update };
}

export default { render };
