// Scores and a temperature; the weights that softmax gives, and what can be read off them.

export const core = { softmax, entropy, jacobianBound, weights };

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
  const root = frame(el, "tf-softmax", "Softmax of scores at a temperature");
  const controls = dials(model), rows = start.scores.map((_, i) => scoreRow(model, i));
  const facts = factList(), live = voice();
  const presets = Object.entries(PRESETS).map(([name, score]) => [name, {
    scores: start.scores.map((_, i) => score(i)), mask: start.scores.map(() => true), shift: 0,
  }]);
  root.append(
    controls.el,
    h("div", { class: "tf-rows", style: `--tf-even: ${100 / n}%` },
      h("div", { class: "tf-row tf-head", "aria-hidden": "true" },
        ...[["label", ""], ["slider", "score"], ["score", ""], ["allow", "allowed"], ["bar", "weight"], ["weight", ""]]
          .map(([area, text]) => h("span", { class: `tf-area-${area}` }, text))),
      ...rows.map((row) => row.el),
      h("p", { class: "tf-remark" }, `dotted line: all weights equal, 1/${n}`)),
    facts.el,
    examples(model, start, presets),
    live,
  );
  return follow(model, TRAITS, () => {
    const now = traits(model, TRAITS), p = weights(now.scores, now.mask, now.shift, now.temperature);
    controls.update(now);
    rows.forEach((row, i) => row.update(now, p[i]));
    live.say(facts.update(now, p));
  });
}

// ---- temperature and shift --------------------------------------------------------------

function dials(model) {
  const heat = thermometer(model), beta = reading("beta"), added = reading("shift");
  const more = slider("Constant added to every score", { min: -10, max: 10, step: 0.5 },
    (v) => assign(model, { shift: v }));
  const el = h("div", { class: "tf-dials" },
    dial("temperature", heat.el, heat.value, " (β = ", beta, ")"),
    dial("add to all scores", more, added));
  const update = ({ temperature, shift }) => {
    const sharp = fmt(1 / temperature, decimals(1 / temperature));
    heat.update(temperature, `, β = ${sharp}`);
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
    score.show(x, fmt(x, 1));
    weight.show(p, fmt(p, 3));
    fill.style.width = `${100 * p}%`;
    note.textContent = mask[i] ? "" : "masked: score −∞";
  };
  return { el, update };
}

// ---- what the weights say ---------------------------------------------------------------

function factList() {
  const cell = cells(["largest", "entropy", "jacobian-bound"]);
  const which = h("span"), most = h("span"), bound = h("span"), meter = h("span", { class: "tf-fill" });
  const el = h("dl", { class: "tf-list" },
    row("largest weight", cell.largest, which),
    row("entropy", cell.entropy, most, h("span", { class: "tf-meter" }, meter)),
    row("slope of the weights", "‖∂p/∂s‖ ≤ ", bound, cell["jacobian-bound"]));
  const update = ({ labels, mask, temperature }, p) => {
    const n = mask.filter(Boolean).length, H = entropy(p), top = Math.max(...p);
    const winners = labels.filter((_, i) => n && top - p[i] < 1e-9);
    const who = n === 0 ? "nothing is allowed, so every weight is 0" : winners.length === n && n > 1 ? "all equal" : winners.join(" and ");
    cell.largest.show(top, fmt(top, 3));
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
