// Turn the threshold of AND: what an adjective says, what nouns there are, which units answer.

export const core = { units };

const SHAPES = {
  relu: (x) => Math.max(x, 0),
  gelu_tanh: (x) => (x / 2) * (1 + Math.tanh(Math.sqrt(2 / Math.PI) * (x + 0.044715 * x * x * x))),
  silu: (x) => x / (1 + Math.exp(-x)),
};

/** What the hidden units give, one a kind. */
function units(said, there, threshold, activation) {
  return said.map((p, i) => SHAPES[activation](p + there[i] - threshold));
}

const TRAITS = ["sentence", "threshold", "activation"];

function render({ model, el }) {
  const start = traits(model, TRAITS), { heard, names, sentences, kinds, activations } = traits(model, ["heard", "names", "sentences", "kinds", "activations"]);
  const root = frame(el, "tf-said-there", "Said and there", "Lower the threshold. When does a second kind get through?"), live = voice();
  const group = (label, trait, values, texts) => {
    const all = values.map((value, i) => button(texts[i], () => assign(model, { [trait]: value })));
    return { el: h("div", { class: "tf-actions", role: "group", "aria-label": label }, ...all),
      update: (now) => all.forEach((one, i) => one.setAttribute("aria-pressed", values[i] === now)) };
  };
  const picks = {
    sentence: group("Sentence", "sentence", [...names.keys()], names),
    activation: group("Activation", "activation", activations.map(([key]) => key), activations.map(([, name]) => name)),
  };
  const at = reading("threshold");
  const range = slider("Threshold", { min: 0, max: 2, step: 0.05 }, (value) => assign(model, { threshold: value }));
  const text = h("p", { class: "tf-said" });
  const lines = kinds.map((kind) => {
    const found = cells(["of-said", "of-there", "unit"]), fill = h("span", { class: "tf-fill" });
    const el = h("tr", {}, h("th", { scope: "row" }, kind), h("td", {}, found["of-said"]), h("td", {}, found["of-there"]),
      h("td", {}, found.unit), h("td", { class: "tf-gauge", "aria-hidden": "true" }, h("span", { class: "tf-rail" }, fill)));
    return { found, fill, el };
  });
  const head = h("tr", {}, ...["kind", "said p", "there q", "unit"].map((name) => h("th", { scope: "col" }, name)), h("td", { "aria-hidden": "true" }));
  const back = h("div", { class: "tf-actions" }, button("reset", () => assign(model, start)));
  root.append(picks.sentence.el, picks.activation.el, dial("threshold", range, at), text,
    h("table", {}, h("thead", {}, head), h("tbody", {}, ...lines.map((one) => one.el))), back, live);
  return follow(model, TRAITS, () => {
    const now = traits(model, TRAITS), [said, there] = heard[now.sentence];
    const given = units(said, there, now.threshold, now.activation);
    for (const [name, one] of Object.entries(picks)) one.update(now[name]);
    range.value = now.threshold;
    range.setAttribute("aria-valuetext", `threshold ${fmt(now.threshold)}`);
    at.show(now.threshold, fmt(now.threshold));
    lines.forEach(({ found, fill, el: line }, i) => {
      found["of-said"].show(said[i], fmt(said[i], 3));
      found["of-there"].show(there[i], fmt(there[i], 3));
      found.unit.show(given[i], fmt(given[i], 3));
      fill.style.width = `${Math.min(100, 70 * Math.max(0, given[i]))}%`;
      line.classList.toggle("tf-on", given[i] > 0.0005);
    });
    const on = kinds.filter((_, i) => given[i] > 0.0005);
    const tells = on.length ? `“it” is ${on.join(", or ")}.` : "no unit answers.";
    text.replaceChildren(h("b", {}, `${sentences[now.sentence]}: `), tells);
    live.say(tells);
  });
}

export default { render };
