// Take runs out and put them back: the exponent that a refit of the others gives.

export const core = { fit, optimum };

const DELTA = 1e-3;

/** The objective of a fit and its gradient: Huber's loss of the differences of logarithms.
 *
 * A place is log A, log B, α, β and log E; runs are log N and log D about their means, and loss.
 */
function problem(runs) {
  return (at) => {
    const gradient = [0, 0, 0, 0, 0], floor = Math.exp(at[4]);
    let value = 0;
    for (const [x, y, loss] of runs) {
      const small = Math.exp(at[0] - at[2] * x), few = Math.exp(at[1] - at[3] * y), total = floor + small + few;
      const off = Math.log(total / loss), size = Math.abs(off);
      value += size <= DELTA ? (off * off) / 2 : DELTA * (size - DELTA / 2);
      const slope = Math.max(-DELTA, Math.min(DELTA, off)) / total;
      gradient[0] += slope * small;
      gradient[1] += slope * few;
      gradient[2] -= slope * small * x;
      gradient[3] -= slope * few * y;
      gradient[4] += slope * floor;
    }
    return { at, value, gradient };
  };
}

const dot = (a, b) => a.reduce((sum, x, i) => sum + x * b[i], 0);

/** BFGS from a place, each step far enough and not too far (Wolfe's two conditions, by halving). */
function descend(f, from) {
  const size = from.length, eye = (scale) => from.map((_, i) => from.map((_, j) => (i === j ? scale : 0)));
  let here = f(from), inverse = null;
  for (let round = 0; round < 400; round++) {
    let way = (inverse ?? eye(1)).map((row) => -dot(row, here.gradient)), fall = dot(way, here.gradient);
    if (fall > -1e-20) break;
    let [low, high, t, next] = [0, Infinity, inverse ? 1 : Math.min(1, 0.01 / Math.hypot(...way)), null];
    for (let tries = 0; tries < 50; tries++) {
      next = f(here.at.map((x, i) => x + t * way[i]));
      if (!(next.value <= here.value + 1e-4 * t * fall)) high = t;
      else if (dot(next.gradient, way) < 0.9 * fall) low = t;
      else break;
      t = high < Infinity ? (low + high) / 2 : 2 * t;
    }
    if (!(next.value < here.value)) break;
    const s = next.at.map((x, i) => x - here.at[i]), y = next.gradient.map((x, i) => x - here.gradient[i]), sy = dot(s, y);
    if (sy > 0) {
      inverse ??= eye(sy / dot(y, y));
      const hy = inverse.map((row) => dot(row, y)), more = 1 + dot(y, hy) / sy;
      inverse = inverse.map((row, i) => row.map((x, j) => x + (more * s[i] * s[j] - hy[i] * s[j] - s[i] * hy[j]) / sy));
    }
    here = next;
  }
  return here;
}

/** The law of least objective for these runs, each parameters, tokens and loss.
 *
 * The objective has valleys that hardly differ: several laws are followed down, and the best place
 * once more with β pushed to either side.
 */
function fit(runs, starts) {
  const mean = (k) => runs.reduce((sum, one) => sum + Math.log(one[k]), 0) / runs.length, middle = [mean(0), mean(1)];
  const f = problem(runs.map(([n, d, loss]) => [Math.log(n) - middle[0], Math.log(d) - middle[1], loss]));
  const found = starts.map(({ floor, a, b, alpha, beta }) =>
    descend(f, [Math.log(a) - alpha * middle[0], Math.log(b) - beta * middle[1], alpha, beta, Math.log(floor)]));
  const lowest = (all) => all.reduce((one, other) => (other.value < one.value ? other : one)), first = lowest(found);
  const pushed = [-0.05, 0.05].map((by) => descend(f, first.at.map((x, i) => (i === 3 ? x + by : x))));
  const { at } = lowest([first, ...pushed]);
  const [alpha, beta] = [at[2], at[3]];
  return { floor: Math.exp(at[4]), a: Math.exp(at[0] + alpha * middle[0]), b: Math.exp(at[1] + beta * middle[1]), alpha, beta, share: beta / (alpha + beta) };
}

/** Parameters and tokens of least loss for a budget. */
function optimum({ a, b, alpha, beta }, compute) {
  const product = compute / 6, n = ((alpha * a) / (beta * b) * product ** beta) ** (1 / (alpha + beta));
  return [n, product / n];
}

const GOPHER = 5.76e23, TRAITS = ["out"], NEAR = 12;
const WIDE = 640, HIGH = 400, LEFT = 84, LOW = 346, TOP = 12, TOKENS = [8.2, 11.8], SIZES = [7.5, 10.5];
const across = (d) => LEFT + ((WIDE - 14 - LEFT) * (Math.log10(d) - TOKENS[0])) / (TOKENS[1] - TOKENS[0]);
const up = (n) => LOW - ((LOW - TOP) * (Math.log10(n) - SIZES[0])) / (SIZES[1] - SIZES[0]);
const same = (a, b) => a.length === b.length && a.every((x, i) => x === b[i]);
const large = (x) => { const [unit, name] = x >= 9.995e11 ? [1e12, "trillion"] : x >= 9.995e8 ? [1e9, "billion"] : [1e6, "million"]; return `${Number((x / unit).toPrecision(3))} ${name}`; };
const digits = (x) => (x < 100 ? String(Number(x.toPrecision(2))) : x.toFixed(0));

/** The drawing: runs, the marked ones with a ring, the line of best allocation, and a cursor for keys. */
function drawing(runs, marked, turn) {
  const svg = h("svg", { class: "tf-dragruns-plot", viewBox: `0 0 ${WIDE} ${HIGH}`, role: "group", "aria-label": "Runs" });
  [["1 B", 9], ["10 B", 10], ["100 B", 11]].forEach(([name, power]) => {
    const x = across(10 ** power);
    svg.append(h("line", { class: "tf-dragruns-grid", x1: x, x2: x, y1: TOP, y2: LOW }), h("text", { x, y: LOW + 22, "text-anchor": "middle" }, name));
  });
  [["100 M", 8], ["1 B", 9], ["10 B", 10]].forEach(([name, power]) => {
    const y = up(10 ** power);
    svg.append(h("line", { class: "tf-dragruns-grid", x1: LEFT, x2: WIDE - 14, y1: y, y2: y }), h("text", { x: LEFT - 8, y: y + 5, "text-anchor": "end" }, name));
  });
  const all = h("path", { class: "tf-dragruns-all" }), line = h("path", { class: "tf-dragruns-line" });
  svg.append(h("text", { x: WIDE - 14, y: HIGH - 4, "text-anchor": "end" }, "tokens"), h("text", { x: 2, y: TOP + 8 }, "parameters"), all, line);
  const places = runs.map(([n, d]) => [across(d), up(n)]);
  const dots = places.map(([cx, cy], i) => h("circle", { class: `tf-dragruns-run${marked.includes(i) ? " tf-dragruns-marked" : ""}`, cx, cy, r: marked.includes(i) ? 7 : 5 }));
  svg.append(...dots);
  const order = [...runs.keys()].sort((i, j) => runs[j][2] - runs[i][2]);
  const ring = h("circle", { class: "tf-dragruns-ring", r: 12 });
  const cursor = h("g", { class: "tf-dragruns-cursor", tabindex: "0", role: "checkbox", "aria-checked": "true" }, ring);
  svg.append(cursor);
  let at = 0, now = new Set(), painting = null;
  const tell = () => {
    const i = order[at], [n, d, loss] = runs[i];
    cursor.setAttribute("transform", `translate(${places[i].map((x) => x.toFixed(1)).join(" ")})`);
    cursor.setAttribute("aria-checked", !now.has(i));
    cursor.setAttribute("aria-label", `Run ${at + 1} of ${runs.length} by loss: ${large(n)} parameters, ${large(d)} tokens, loss ${fmt(loss, 3)}. Arrow keys go on, Space takes it out or puts it back`);
  };
  cursor.addEventListener("keydown", (event) => {
    const by = { ArrowRight: 1, ArrowDown: 1, ArrowLeft: -1, ArrowUp: -1, PageDown: 10, PageUp: -10 }[event.key];
    if (!by && event.key !== " " && event.key !== "Enter") return;
    event.preventDefault();
    if (by) at = Math.max(0, Math.min(runs.length - 1, at + by));
    else turn([order[at]], !now.has(order[at]));
    tell();
  });
  const near = (event) => {
    const box = svg.getBoundingClientRect(), unit = WIDE / box.width;
    const x = (event.clientX - box.left) * unit, y = (event.clientY - box.top) * unit;
    const far = (i) => Math.hypot(places[i][0] - x, places[i][1] - y);
    const best = [...runs.keys()].reduce((i, j) => (far(j) < far(i) ? j : i));
    return far(best) < NEAR * Math.max(1, unit) ? best : null;
  };
  svg.addEventListener("pointerdown", (event) => {
    const i = near(event);
    if (event.button || i === null) return;
    event.preventDefault();
    svg.setPointerCapture(event.pointerId);
    painting = !now.has(i);
    at = order.indexOf(i);
    turn([i], painting);
  });
  svg.addEventListener("pointermove", (event) => {
    if (painting === null || !svg.hasPointerCapture(event.pointerId)) return;
    const i = near(event);
    if (i !== null && now.has(i) !== painting) turn([i], painting);
  });
  for (const end of ["pointerup", "pointercancel"]) svg.addEventListener(end, () => { painting = null; });
  const best = (law) => {
    const inside = Array.from({ length: 181 }, (_, i) => optimum(law, 10 ** (16 + i / 20))).map(([n, d]) => [across(d), up(n)])
      .filter(([x, y]) => x >= LEFT && x <= WIDE - 14 && y >= TOP && y <= LOW);
    return inside.length ? `M${[inside[0], inside.at(-1)].map((at) => at.map((x) => x.toFixed(1)).join(",")).join("L")}` : "";
  };
  return { svg, whole: (law) => all.setAttribute("d", best(law)), update: (out, law) => {
    now = new Set(out);
    dots.forEach((one, i) => one.classList.toggle("tf-dragruns-out", now.has(i)));
    line.setAttribute("d", law ? best(law) : "");
    tell();
  } };
}

function render({ model, el }) {
  const { runs, starts, marked, by_loss, by_ratio, least } = traits(model, ["runs", "starts", "marked", "by_loss", "by_ratio", "least"]);
  const root = frame(el, "tf-dragruns", "Take runs out", "Take out the five. What happens to the exponent?"), live = voice();
  const put = (out) => assign(model, { out: [...out].sort((i, j) => i - j) });
  const turn = (some, away) => {
    const out = new Set(model.get("out"));
    some.forEach((i) => (away ? out.add(i) : out.delete(i)));
    put(out);
  };
  const falling = [...runs.keys()].sort((i, j) => runs[j][2] - runs[i][2]), up_to = (few) => falling.slice(0, few).sort((i, j) => i - j);
  const group = (label, pairs) => {
    const all = pairs.map(([name, out]) => ({ out, el: button(name, () => put(out)) }));
    return { el: h("div", { class: "tf-actions", role: "group", "aria-label": label }, h("span", { class: "tf-dragruns-name", "aria-hidden": "true" }, label), ...all.map((one) => one.el)),
      update: (out) => all.forEach((one) => one.el.setAttribute("aria-pressed", same(one.out, out))) };
  };
  const groups = [
    group("Runs", [["take out the five", [...marked].sort((i, j) => i - j)], ["put all back", []]]),
    group("Out: largest losses", by_loss.map((few) => [String(few), up_to(few)])),
    group("Out: fewer tokens a parameter than", by_ratio.map((ratio) => [String(ratio), [...runs.keys()].filter((i) => runs[i][1] / runs[i][0] < ratio)])),
  ];
  const plot = drawing(runs, marked, turn), text = h("p", { class: "tf-said" });
  const facts = cells(["share", "in", "floor", "alpha", "beta", "each"]), whole = fit(runs, starts);
  plot.whole(whole);
  root.append(h("p", { class: "tf-headline" }, "exponent of N ", facts.share), plot.svg,
    h("p", { class: "tf-about" }, "Green: what is best for growing budgets, by the runs that are in; dashed: by all. Click a run, or draw over several, to take them out or put them back."),
    ...groups.map((one) => one.el), text,
    h("dl", { class: "tf-list" }, row("runs in the fit", facts.in), row("floor E", facts.floor), row("α", facts.alpha), row("β", facts.beta),
      row(h("span", {}, "best tokens a parameter for 5.76 × 10", h("sup", {}, "23"), " FLOPs"), facts.each)), live);
  return follow(model, TRAITS, () => {
    const out = model.get("out"), away = new Set(out), kept = runs.filter((_, i) => !away.has(i));
    const law = kept.length < least ? null : out.length ? fit(kept, starts) : whole;
    const [n, d] = law ? optimum(law, GOPHER) : [NaN, NaN];
    plot.update(out, law);
    groups.forEach((one) => one.update(out));
    facts.in.show(kept.length, `${kept.length} of ${runs.length}`);
    for (const name of ["share", "floor", "alpha", "beta"]) facts[name].show(law ? law[name] : NaN, law ? fmt(law[name], 3) : "–");
    facts.each.show(d / n, law ? digits(d / n) : "–");
    const by = law && law.share - whole.share;
    const said = !law ? `${kept.length} runs are too few for a law of five constants. Put some back.`
      : !out.length ? `All ${runs.length} runs: the exponent is ${fmt(law.share, 3)}. The five with a ring have the largest losses.`
        : `Without ${out.length} ${out.length === 1 ? "run" : "runs"} the exponent is ${fmt(law.share, 3)}, ${fmt(Math.abs(by), 3)} ${by < 0 ? "lower" : "higher"} than with all.`;
    text.textContent = said;
    live.say(said);
  });
}

export default { render };
