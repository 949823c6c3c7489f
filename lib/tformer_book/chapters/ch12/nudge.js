// Nudge a score of “it”: the difference quotient of the loss beside the derived gradient.

export const core = { loss, gradients };

const dot = (a, b) => a.reduce((sum, one, i) => sum + one * b[i], 0);

/** Both layers for the row of “it”, with one score moved. */
function forward(given, layer, word, by) {
  const moved = (scores, number) => scores.map((one, i) => one + (layer === number && i === word ? by : 0));
  const first = softmax(moved(given.scores, 1));
  const query = given.query.map((one, j) => one + first.reduce((sum, w, i) => sum + w * given.heard[i][j], 0));
  const scale = 1 / Math.sqrt(query.length);
  const second = softmax(moved(given.keys.map((key) => dot(key, query) * scale), 2));
  return { first, second, scale };
}

function loss(given, layer, word, by) {
  return -Math.log(forward(given, layer, word, by).second[given.noun]);
}

/** The backward pass: the gradients of all scores of “it”, layer 1 and layer 2. */
function gradients(given) {
  const { first, second, scale } = forward(given, 0, 0, 0);
  const last = second.map((weight, i) => weight - (i === given.noun ? 1 : 0));
  const dquery = given.query.map((_, j) => scale * last.reduce((sum, one, i) => sum + one * given.keys[i][j], 0));
  const dweights = given.heard.map((value) => dot(value, dquery));
  const mean = dot(first, dweights);
  return [first.map((weight, i) => weight * (dweights[i] - mean)), last];
}

const TRAITS = ["sentence", "layer", "word", "exponent"];
const power = (x) => x === 0 ? "0" : `${x < 0 ? "−" : ""}${Math.abs(x).toExponential(1).replace("-", "−")}`;

function render({ model, el }) {
  const start = traits(model, TRAITS), readings = model.get("readings");
  const root = frame(el, "tf-nudge", "Nudge a score"), live = voice();
  const picks = readings.map(({ words }, i) => button(`… ${words.at(-1)}`, () => assign(model, { sentence: i })));
  const lines = [2, 1].map((layer) => {
    const all = readings[0].words.map((_, word) => {
      const name = h("span"), number = reading(`slope-${layer}`);
      const el = h("button", { type: "button", class: "tf-button tf-nudge-score", click: () => assign(model, { layer, word }) }, name, number);
      return { el, name, number };
    });
    const label = `Gradients of the scores of “it”, layer ${layer}`;
    return { layer, all, el: h("div", {}, h("div", { class: "tf-nudge-head", "aria-hidden": "true" }, label), h("div", { class: "tf-nudge-scores", role: "group", "aria-label": label }, ...all.map((one) => one.el))) };
  });
  const facts = cells(["step", "here", "up", "down", "quotient", "derived", "error"]);
  const range = slider("Digits of the step", { min: 0, max: 15, step: 0.25 }, (exponent) => assign(model, { exponent }));
  const text = h("p", { class: "tf-said" });
  root.append(h("div", { class: "tf-actions", role: "group", "aria-label": "Sentence" }, ...picks, button("reset", () => assign(model, start))), ...lines.map((one) => one.el),
    dial("step", range, facts.step), text,
    h("dl", { class: "tf-list" }, row("loss as it is", facts.here), row("one step up", facts.up), row("one step down", facts.down),
      row("difference quotient", facts.quotient), row("derived", facts.derived), row("they differ by", facts.error)),
    live);
  return follow(model, TRAITS, () => {
    const now = traits(model, TRAITS), given = readings[now.sentence], step = 10 ** -now.exponent;
    const found = gradients(given), derived = found[now.layer - 1][now.word];
    const [here, up, down] = [0, step, -step].map((by) => loss(given, now.layer, now.word, by));
    const quotient = (up - down) / (2 * step), error = Math.abs(quotient - derived);
    picks.forEach((one, i) => one.setAttribute("aria-pressed", i === now.sentence));
    lines.forEach(({ layer, all }) => all.forEach(({ el: pick, name, number }, i) => {
      name.textContent = given.words[i];
      number.show(found[layer - 1][i], fmt(found[layer - 1][i], 3));
      pick.setAttribute("aria-pressed", layer === now.layer && i === now.word);
    }));
    range.value = now.exponent;
    facts.step.show(step, power(step));
    range.setAttribute("aria-valuetext", `step ${power(step)}`);
    for (const [name, value] of Object.entries({ here, up, down })) facts[name].show(value, fmt(value, 6));
    facts.quotient.show(quotient, fmt(quotient, 6));
    facts.derived.show(derived, fmt(derived, 6));
    facts.error.show(error, power(error));
    const way = Math.abs(derived) < 0.0005 ? "hardly matters" : derived < 0 ? "should grow" : "should fall";
    const said = `The score of “it” on ${given.words[now.word]} in layer ${now.layer} ${way}.`;
    text.textContent = said;
    live.say(`${said} Quotient ${fmt(quotient, 6)}, derived ${fmt(derived, 6)}.`);
  });
}

export default { render };
