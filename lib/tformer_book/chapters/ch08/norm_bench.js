// A vector of four numbers on the bench: change them, and see what a norm lets through.

export const core = { normed };

const MOST = 10, EPS = 1e-5;
const mean = (x) => x.reduce((a, b) => a + b, 0) / x.length;

/** The vector over its size, the size, and what was taken off before. */
function normed(x, norm) {
  const shift = norm === "LayerNorm" ? mean(x) : 0, centred = x.map((one) => one - shift);
  const size = Math.sqrt(mean(centred.map((one) => one * one)) + EPS);
  return { y: centred.map((one) => one / size), size, shift };
}

const CHANGES = [
  ["add 2 to all", (x) => x.map((one) => one + 2)],
  ["double all", (x) => x.map((one) => 2 * one)],
  ["turn all signs", (x) => x.map((one) => -one)],
];
const held = (x) => x.map((one) => Math.max(-MOST, Math.min(MOST, one)));

function render({ model, el }) {
  const start = traits(model, ["x", "norm"]), norms = model.get("norms");
  const root = frame(el, "tf-bench", "A norm on the bench", "Add 2 to all, then double all. Which norm notices?"), live = voice(), told = h("p", { class: "tf-outcome" });
  const picks = norms.map((norm) => button(norm, () => assign(model, { norm })));
  const lines = start.x.map((_, i) => line(model, i));
  const facts = cells(["shift", "size", "length"]);
  let before = null, last = "";
  root.append(
    h("div", { class: "tf-group", role: "group", "aria-label": "Norm" }, ...picks),
    h("div", { class: "tf-line tf-heads-of-lines" }, h("span", {}, "in"), h("span"), h("span", { class: "tf-scale" }, h("span", {}, "−2"), h("span", {}, "0"), h("span", {}, "2")), h("span", { class: "tf-number" }, "out")),
    h("div", { class: "tf-lines" }, ...lines.map((one) => one.el)), told,
    h("dl", { class: "tf-list" }, row("taken off", facts.shift), row("divided by", facts.size), row("length of what comes out", facts.length)),
    h("div", { class: "tf-actions", role: "group", "aria-label": "Changes of the whole vector" },
      ...CHANGES.map(([name, change]) => button(name, () => { last = name; assign(model, { x: held(change(model.get("x"))) }); })),
      button("reset", () => assign(model, start))),
    live);
  return follow(model, ["x", "norm"], () => {
    const { x, norm } = traits(model, ["x", "norm"]), found = normed(x, norm);
    picks.forEach((one, i) => one.setAttribute("aria-pressed", norms[i] === norm));
    lines.forEach((one, i) => one.update(x[i], found.y[i]));
    facts.shift.show(found.shift, fmt(found.shift));
    facts.size.show(found.size, fmt(found.size));
    const length = Math.hypot(...found.y);
    facts.length.show(length, fmt(length));
    const same = before && before.norm === norm && before.x.some((one, i) => one !== x[i])
      && found.y.every((one, i) => Math.abs(one - before.y[i]) < 1e-3);
    told.textContent = !before || before.norm !== norm ? "" : same ? `Nothing after the norm has changed${last ? ` (${last})` : ""}.` : "What comes out has changed.";
    live.say(`${norm} gives ${found.y.map((one) => fmt(one)).join(", ")}. ${told.textContent}`);
    before = { x: [...x], norm, y: found.y };
    last = "";
  });
}

/** One coordinate: its slider, its number, a bar of what comes out. */
function line(model, i) {
  const input = slider(`Number ${i + 1}`, { min: -MOST, max: MOST, step: 0.1 }, (value) =>
    assign(model, { x: model.get("x").map((one, j) => (j === i ? value : one)) }));
  const given = reading("given"), made = reading("made"), bar = h("span", { class: "tf-fill" });
  const el = h("div", { class: "tf-line" }, input, given, h("span", { class: "tf-rail", "aria-hidden": "true" }, bar), made);
  const update = (x, y) => {
    input.value = x;
    given.show(x, fmt(x, 1));
    made.show(y, fmt(y));
    const half = Math.min(1, Math.abs(y) / 2) * 50;
    bar.style.left = `${y < 0 ? 50 - half : 50}%`;
    bar.style.width = `${half}%`;
  };
  return { el, update };
}

export default { render };
