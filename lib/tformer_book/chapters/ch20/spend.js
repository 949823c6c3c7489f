// Spend a budget: parameters or tokens, and what a fitted law says of the loss.

export const core = { optimum, parts, worth };

/** Parameters and tokens of least loss for a budget. */
function optimum({ a, b, alpha, beta }, compute) {
  const product = compute / 6, ratio = (alpha * a) / (beta * b);
  const n = (ratio * product ** beta) ** (1 / (alpha + beta));
  return [n, product / n];
}

/** The floor, what too small a model adds, and what too few texts add. */
function parts({ floor, a, b, alpha, beta }, n, d) {
  return [floor, a / n ** alpha, b / d ** beta];
}

/** The share of the budget for which the best size reaches the same loss. */
function worth(law, compute, n) {
  const above = (...bought) => { const [, small, few] = parts(law, ...bought); return small + few; };
  const share = above(...optimum(law, compute)) / above(n, compute / 6 / n);
  return share ** ((law.alpha + law.beta) / (law.alpha * law.beta));
}

const TRAITS = ["budget", "size", "law"], BUDGETS = [17, 26], SIZES = [7, 13], LOSSES = [1.6, 4.4], BAR = 2.6;
const WIDE = 640, HIGH = 330, LEFT = 52, LOW = 278, TOP = 12;
const PARTS = ["floor", "small", "few"], NAMED = ["floor", "too small a model", "too few texts"];
const RAISED = "⁰¹²³⁴⁵⁶⁷⁸⁹";

/** A number as a few digits and a power of ten. */
function power(x) {
  const [digits, exponent] = x.toExponential(2).split("e");
  return `${Number(digits)} × 10${exponent.replace("-", "⁻").replace("+", "").replace(/\d/g, (i) => RAISED[i])}`;
}

/** The same for a page: raised digits as an element, since fonts draw the letters ¹, ² and ³ in another size than ⁰ and ⁴. */
const raised = (text) => text.split(/([⁻⁰¹²³⁴⁵⁶⁷⁸⁹]+)/).map((part, i) => (i % 2 ? h("sup", {}, [...part].map((x) => (x === "⁻" ? "−" : RAISED.indexOf(x))).join("")) : part));

/** A number in its cell, with raised digits. */
const put = (cell, value, text) => {
  cell.show(value, text);
  cell.replaceChildren(...raised(text));
};

/** A large number in words, three digits of it. */
function count(x) {
  if (x >= 1e15 || x < 1) return power(x);
  const [unit, name] = [[1e12, " trillion"], [1e9, " billion"], [1e6, " million"], [1, ""]].find(([one]) => x >= 0.9995 * one || one === 1);
  return `${Number((x / unit).toPrecision(3))}${name}`;
}

/** Tokens a parameter: two digits or more. */
const each = (x) => (x < 0.01 || x >= 1e5 ? power(x) : x < 100 ? String(Number(x.toPrecision(2))) : x.toFixed(0));

const across = (size) => LEFT + ((WIDE - 14 - LEFT) * (size - SIZES[0])) / (SIZES[1] - SIZES[0]);
const up = (loss) => LOW - ((LOW - TOP) * (loss - LOSSES[0])) / (LOSSES[1] - LOSSES[0]);
const sum = (x) => x.reduce((a, b) => a + b, 0);

/** The losses of all sizes for a budget, as far as they fit into the drawing. */
function curve(law, compute) {
  const found = [];
  for (let i = 0; i <= 120; i++) {
    const size = SIZES[0] + ((SIZES[1] - SIZES[0]) * i) / 120, n = 10 ** size;
    const loss = sum(parts(law, n, compute / 6 / n));
    if (loss <= LOSSES[1]) found.push(`${across(size).toFixed(1)},${up(loss).toFixed(1)}`);
  }
  return found.length ? `M${found.join("L")}` : "";
}

/** The drawing: axes, curves of other budgets, the curve of this one, its best size and the chosen one. */
function drawing(choose) {
  const line = (name) => h("path", { class: `tf-spend-${name}` });
  const others = [18, 20, 22, 24].map((budget) => ({ budget, path: line("other") }));
  const valley = line("valley"), own = line("own"), drop = line("drop");
  const best = h("rect", { class: "tf-spend-best", width: 14, height: 14 }), point = h("circle", { class: "tf-spend-point", r: 9 });
  const svg = h("svg", { class: "tf-spend-plot", viewBox: `0 0 ${WIDE} ${HIGH}`, role: "img" });
  ["10 M", "100 M", "1 B", "10 B", "100 B", "1 T", "10 T"].forEach((name, i) => {
    const x = across(SIZES[0] + i), at = i === 6 ? "end" : "middle";
    svg.append(h("line", { class: "tf-spend-grid", x1: x, x2: x, y1: TOP, y2: LOW }), h("text", { x: i === 6 ? WIDE : x, y: LOW + 22, "text-anchor": at }, name));
  });
  for (const loss of [2, 3, 4]) {
    svg.append(h("line", { class: "tf-spend-grid", x1: LEFT, x2: WIDE - 14, y1: up(loss), y2: up(loss) }), h("text", { x: LEFT - 10, y: up(loss) + 5, "text-anchor": "end" }, String(loss)));
  }
  svg.append(h("text", { x: LEFT, y: HIGH - 4 }, "parameters"), h("text", { x: 2, y: TOP + 8 }, "loss"),
    ...others.map((one) => one.path), valley, own, drop, best, point);
  const aim = (event) => {
    const box = svg.getBoundingClientRect(), x = ((event.clientX - box.left) * WIDE) / box.width;
    const size = SIZES[0] + ((SIZES[1] - SIZES[0]) * (x - LEFT)) / (WIDE - 14 - LEFT);
    choose(Math.min(SIZES[1], Math.max(SIZES[0], Math.round(100 * size) / 100)));
  };
  svg.addEventListener("pointerdown", (event) => { svg.setPointerCapture(event.pointerId); aim(event); });
  svg.addEventListener("pointermove", (event) => { if (svg.hasPointerCapture(event.pointerId)) aim(event); });
  const update = (law, compute, n, said) => {
    for (const one of others) one.path.setAttribute("d", curve(law, 10 ** one.budget));
    const minima = Array.from({ length: 46 }, (_, i) => optimum(law, 10 ** (BUDGETS[0] + i / 5)))
      .map(([size, d]) => [Math.log10(size), sum(parts(law, size, d))])
      .filter(([size, loss]) => loss <= LOSSES[1] && size >= SIZES[0] && size <= SIZES[1]);
    valley.setAttribute("d", `M${minima.map(([size, loss]) => `${across(size).toFixed(1)},${up(loss).toFixed(1)}`).join("L")}`);
    own.setAttribute("d", curve(law, compute));
    const [least, tokens] = optimum(law, compute), [x, y] = [across(Math.log10(least)), up(sum(parts(law, least, tokens)))];
    best.setAttribute("transform", `translate(${x} ${Math.max(TOP, y)}) rotate(45) translate(-7 -7)`);
    const loss = sum(parts(law, n, compute / 6 / n)), at = across(Math.log10(n)), high = Math.max(TOP, up(loss));
    drop.setAttribute("d", `M${at},${LOW}V${high}`);
    point.setAttribute("cx", at);
    point.setAttribute("cy", high);
    point.classList.toggle("tf-spend-beyond", loss > LOSSES[1]);
    svg.setAttribute("aria-label", said);
  };
  return { svg, update };
}

function render({ model, el }) {
  const start = traits(model, TRAITS), { laws, sizes } = traits(model, ["laws", "sizes"]);
  const root = frame(el, "tf-spend", "Spend a budget"), live = voice();
  const choose = (size) => assign(model, { size });
  const picks = laws.map(({ name }, i) => button(name, () => assign(model, { law: i })));
  const facts = cells(["budget", "size", "tokens", "each", "loss", ...PARTS, "best", "best-each", "best-loss", "worth"]);
  const ranges = {
    budget: slider("Budget, in powers of ten", { min: BUDGETS[0], max: BUDGETS[1], step: 0.02 }, (budget) => assign(model, { budget })),
    size: slider("Parameters, in powers of ten", { min: SIZES[0], max: SIZES[1], step: 0.01 }, choose),
  };
  const best = () => {
    const { budget, law } = traits(model, TRAITS), found = Math.log10(optimum(laws[law], 10 ** budget)[0]);
    choose(Math.min(SIZES[1], Math.max(SIZES[0], found)));
  };
  const plot = drawing(choose), text = h("p", { class: "tf-said" });
  const about = h("p", { class: "tf-about" }, ...raised("Thick: all that this budget can buy. Grey: 10¹⁸, 10²⁰, 10²² and 10²⁴ FLOPs. Dashed: the best of each budget. Try this: click the drawing to choose a number of parameters, and look for the lowest point."));
  const fills = PARTS.map((name) => h("span", { class: `tf-spend-fill tf-spend-of-${name}` }));
  const chip = (i) => h("span", { class: `tf-spend-chip tf-spend-of-${PARTS[i]}`, "aria-hidden": "true" });
  const split = PARTS.map((name, i) => h("div", {}, h("dt", {}, chip(i), NAMED[i]), h("dd", {}, facts[name])));
  root.append(h("div", { class: "tf-actions", role: "group", "aria-label": "Law" }, ...picks),
    dial("budget, FLOPs", ranges.budget, facts.budget), dial("parameters", ranges.size, facts.size),
    h("div", { class: "tf-actions", role: "group", "aria-label": "Parameters" }, ...sizes.map(([name, size]) => button(name, () => choose(size))),
      button("the best number", best), button("reset", () => assign(model, start))),
    plot.svg, about, h("div", { class: "tf-spend-bar", "aria-hidden": "true" }, ...fills), text,
    h("dl", { class: "tf-list" }, row("tokens", facts.tokens), row("tokens a parameter", facts.each), row("loss", facts.loss), ...split,
      row("best number of parameters", facts.best), row("tokens a parameter there", facts["best-each"]), row("loss there", facts["best-loss"]),
      row("share of the budget that would do", facts.worth)), live);
  return follow(model, TRAITS, () => {
    const now = traits(model, TRAITS), law = laws[now.law], compute = 10 ** now.budget, n = 10 ** now.size, d = compute / 6 / n;
    const found = parts(law, n, d), loss = sum(found), [least, tokens] = optimum(law, compute), share = worth(law, compute, n);
    picks.forEach((one, i) => one.setAttribute("aria-pressed", i === now.law));
    for (const [name, range] of Object.entries(ranges)) {
      range.value = now[name];
      range.setAttribute("aria-valuetext", name === "size" ? count(n) : `${power(compute)} FLOPs`);
    }
    put(facts.budget, compute, power(compute));
    facts.size.show(n, count(n));
    put(facts.tokens, d, count(d));
    put(facts.each, d / n, each(d / n));
    facts.loss.show(loss, fmt(loss, 3));
    PARTS.forEach((name, i) => {
      facts[name].show(found[i], fmt(found[i], 3));
      fills[i].style.width = `${(100 * found[i]) / Math.max(BAR, loss)}%`;
    });
    facts.best.show(least, count(least));
    put(facts["best-each"], tokens / least, each(tokens / least));
    const least_loss = sum(parts(law, least, tokens));
    facts["best-loss"].show(least_loss, fmt(least_loss, 3));
    facts.worth.show(share, `${fmt(100 * share, share < 0.0995 ? 1 : 0)}%`);
    const more = share > 0.995 ? "No other number of parameters does better." : n < least
      ? `The model is too small for this budget: with ${count(least)} parameters the same loss costs ${fmt(100 * share, share < 0.0995 ? 1 : 0)}% of it.`
      : `The model is too large and reads too little: with ${count(least)} parameters the same loss costs ${fmt(100 * share, share < 0.0995 ? 1 : 0)}% of the budget.`;
    const said = `${count(n)} parameters and ${count(d)} tokens: loss ${fmt(loss, 3)}, of which ${fmt(found[0], 3)} is the floor, ${fmt(found[1], 3)} too small a model and ${fmt(found[2], 3)} too few texts.`;
    text.textContent = more;
    plot.update(law, compute, n, `Loss against parameters for ${power(compute)} FLOPs. ${said}`);
    live.say(`${said} ${more}`);
  });
}

export default { render };
