// A regression in context: points to drag, layers of linear attention, and the line they give.

export const core = { lines, error, largest };

/** Sums of the examples: the mean of xᵀx for x = (1, a), and that of xᵀy. */
function sums(points) {
  const n = points.length, mean = (f) => points.reduce((sum, p) => sum + f(p), 0) / n;
  const a = mean(([x]) => x);
  return { a, aa: mean(([x]) => x * x), y: mean(([, y]) => y), ay: mean(([x, y]) => x * y), n };
}

/** Height and slope after k layers, by least squares (the shortest), and by ridge regression. */
function lines(points, layers, eta, penalty) {
  const { a, aa, y, ay, n } = sums(points);
  let w = [0, 0];
  for (let k = 0; k < layers; k++) {
    const gap = [w[0] + a * w[1] - y, a * w[0] + aa * w[1] - ay];
    w = w.map((x, i) => x - eta * gap[i]);
  }
  const solve = (more) => {
    const det = (1 + more) * (aa + more) - a * a;
    if (det < 1e-12) return [y / (1 + a * a), (a * y) / (1 + a * a)];
    return [((aa + more) * y - a * ay) / det, ((1 + more) * ay - a * y) / det];
  };
  return [w, solve(0), solve(penalty / n)];
}

/** Half the mean squared residual of a line. */
function error(points, [height, slope]) {
  return points.reduce((sum, [x, y]) => sum + (height + slope * x - y) ** 2, 0) / points.length / 2;
}

/** Below this step size more layers come to the line of least squares. */
function largest(points) {
  const { a, aa } = sums(points);
  return 4 / (1 + aa + Math.hypot(1 - aa, 2 * a));
}

const LIMIT = 3, TRAITS = ["points", "layers", "eta"], NAMES = ["layers", "least", "ridge"];
const START = [[-2, -1.2], [-1, -0.6], [0.2, 0.5], [1.2, 0.3], [2.2, 1.8]];
const SETS = [
  ["two points far out", { points: [[-2.8, -1], [-2.4, 0.6], [2.6, 1.6], [2.8, 2.4]] }],
  ["all at one place", { points: [[1, 0.5], [1, 1], [1, 1.5]] }],
];

/** The plane: residuals, three lines, and points that can be moved. */
function drawing(model) {
  const plane = planeOf(LIMIT, "Points and lines"), { svg, at } = plane;
  const drawn = NAMES.map((name) => h("line", { class: `tf-incontext-line tf-incontext-${name}` }));
  const gaps = h("path", { class: "tf-incontext-gaps" });
  svg.append(gaps, ...[...drawn].reverse());
  let tips = [];
  const move = (i, x, y) => assign(model, { points: model.get("points").map((p, j) => (j === i ? place(x, y, LIMIT) : p)) });
  const tip = (i) => {
    const el = h("g", { class: "tf-tip tf-incontext-point", tabindex: "0", role: "slider", "aria-roledescription": "point in the plane",
      "aria-label": `Point ${i + 1}. Arrow keys move it, with Shift by 1`, "aria-valuemin": -LIMIT, "aria-valuemax": LIMIT },
    h("circle", { class: "tf-hit", r: 22 }), h("circle", { class: "tf-ring", r: 15 }), h("circle", { class: "tf-halo", r: 9 }));
    holdable(el, (clientX, clientY) => move(i, ...plane.point({ clientX, clientY })), (by, shift) => {
      const far = shift ? 1 : 0.1, [x, y] = model.get("points")[i];
      move(i, x + far * by[0], y + far * by[1]);
    });
    return el;
  };
  return { svg, update: (points, found) => {
    if (tips.length !== points.length) {
      tips.forEach((el) => el.remove());
      tips = points.map((_, i) => tip(i));
      svg.append(...tips);
    }
    points.forEach(([x, y], i) => {
      tips[i].setAttribute("transform", `translate(${at([x, y]).map((v) => v.toFixed(1)).join(" ")})`);
      tips[i].setAttribute("aria-valuenow", x);
      tips[i].setAttribute("aria-valuetext", `(${fmt(x, 1)}, ${fmt(y, 1)})`);
    });
    const near = (v) => Math.max(-60, Math.min(60, v));
    found.forEach(([height, slope], i) => ends(drawn[i], ...[-LIMIT, LIMIT].map((x) => at([x, near(height + slope * x)]))));
    const [height, slope] = found[0];
    gaps.setAttribute("d", points.map(([x, y]) => `M${at([x, y]).map((v) => v.toFixed(1)).join(",")}L${at([x, near(height + slope * x)]).map((v) => v.toFixed(1)).join(",")}`).join(""));
  } };
}

function render({ model, el }) {
  const start = traits(model, TRAITS), penalty = model.get("penalty");
  const root = frame(el, "tf-incontext", "A regression in context", "Add layers until the line fits. Then raise η until it does not.");
  const plot = drawing(model), text = h("p", { class: "tf-said" }), live = voice();
  const facts = cells(["layers", "eta", "w", "error", "least", "largest"]);
  const depth = slider("Layers", { min: 0, max: 8, step: 1 }, (layers) => assign(model, { layers }));
  const size = slider("Step size", { min: 0, max: 2, step: 0.05 }, (eta) => assign(model, { eta: Math.round(eta * 100) / 100 }));
  const key = (name, words) => h("span", { class: "tf-incontext-key" }, h("i", { class: `tf-incontext-chip tf-incontext-${name}` }), words);
  root.append(dial("layers", depth, facts.layers), dial("step size η", size, facts.eta), plot.svg,
    h("p", { class: "tf-about" }, key("layers", "after the layers"), key("least", "least squares"), key("ridge", `ridge, λ = ${penalty}`)), text,
    h("dl", { class: "tf-list" }, row("height and slope after the layers", facts.w), row("half the mean squared residual", facts.error),
      row("the same, least squares", facts.least), row("layers converge below η =", facts.largest)),
    examples(model, { ...start, points: start.points.length ? start.points : START }, SETS), live);
  return follow(model, TRAITS, () => {
    const { points, layers, eta } = traits(model, TRAITS), found = lines(points, layers, eta, penalty), most = largest(points);
    depth.value = layers;
    size.value = eta;
    depth.setAttribute("aria-valuetext", `${layers} layers`);
    plot.update(points, found);
    facts.layers.show(layers, String(layers));
    facts.eta.show(eta, fmt(eta, 2));
    const [now, least] = [error(points, found[0]), error(points, found[1])];
    facts.w.show(found[0][1], `${fmt(found[0][0], 2)}, ${fmt(found[0][1], 2)}`);
    facts.error.show(now, now < 1e4 ? fmt(now, 3) : now.toExponential(1));
    facts.least.show(least, fmt(least, 3));
    facts.largest.show(most, fmt(most, 3));
    const said = layers === 0 ? "No layer: the line is 0, and each residual is the target itself."
      : eta > most && error(points, lines(points, 60, eta, penalty)[0]) > 100 * now ? "The step is too large: with more layers the residuals grow."
        : now - least < 0.005 ? `After ${layers} ${layers === 1 ? "layer" : "layers"} the line is nearly that of least squares.`
          : `After ${layers} ${layers === 1 ? "layer" : "layers"} half the mean squared residual is ${fmt(now, 3)}; least squares has ${fmt(least, 3)}.`;
    text.textContent = said;
    live.say(said);
  });
}

export default { render };
