// Type a sentence: every step of one block with norms after the sums, to the scores of the next word.

export const core = { steps, fits };

const TRAITS = ["text", "model", "look", "doubled"];
const times = (x, w) => x.map((one) => w[0].map((_, j) => one.reduce((sum, v, i) => sum + v * w[i][j], 0)));
const plus = (x, y) => x.map((one, t) => one.map((v, i) => v + y[t][i]));

function normed(x, eps) {
  return x.map((one) => {
    const mean = one.reduce((a, b) => a + b, 0) / one.length;
    const square = one.reduce((sum, v) => sum + (v - mean) ** 2, 0) / one.length;
    return one.map((v) => (v - mean) / Math.sqrt(square + eps));
  });
}

/** Every table on the way; `look` is "as computed", "equal shares" or "only itself". */
function steps(model, tokens, look, doubled, eps) {
  const x = tokens.map((word, t) => model.words[word].map((v, i) => v + model.places[t][i])), d = x[0].length;
  const values = doubled ? times(x, model.w_v) : x;
  const scores = x.map((one) => x.map((key) => one.reduce((sum, v, i) => sum + v * key[i], 0) / Math.sqrt(d)));
  const weights = scores.map((one, t) => {
    const seen = one.slice(0, t + 1), p = look === "equal shares" ? softmax(seen.map(() => 0)) : softmax(seen);
    return one.map((_, s) => (look === "only itself" ? Number(s === t) : (p[s] ?? 0)));
  });
  const outputs = times(weights, values), sum = plus(x, outputs), first = normed(sum, eps);
  const hidden = times(first, model.w_in).map((one) => one.map((v) => Math.max(0, v)));
  const layer = times(hidden, model.w_out), rows = normed(plus(first, layer), eps);
  return { x, weights, outputs, sum, normed: first, hidden, layer, rows, logits: times(rows, model.unembedding) };
}

/** The words of a text, or in words why they cannot be read. */
function fits(text, words, most) {
  const tokens = text.toLowerCase().match(/\p{L}+/gu) ?? [], strange = [...new Set(tokens.filter((word) => !words.includes(word)))];
  if (strange.length) return { why: `It does not know ${strange.map((word) => `“${word}”`).join(", ")}; it knows ${words.join(", ")}.` };
  if (!tokens.length || tokens.length > most) return { why: `It reads one to ${most} words.` };
  return { tokens, why: "" };
}

function render({ model, el }) {
  const start = traits(model, TRAITS), { models, looks, examples: given, most, eps } = traits(model, ["models", "looks", "examples", "most", "eps"]);
  const known = Object.keys(Object.values(models)[0].words), root = frame(el, "tf-end", "A sentence, end to end"), live = voice();
  const note = h("p", { class: "tf-end-note", role: "status" });
  const take = (text) => {
    const { tokens, why } = fits(text, known, most);
    note.textContent = why;
    if (tokens) assign(model, { text: tokens.join(" ") });
  };
  const input = h("input", { type: "text", class: "tf-input tf-end-text", autocomplete: "off", spellcheck: "false", maxlength: 60,
    "aria-label": "Your own sentence", input: (event) => take(event.target.value) });
  const group = (label, trait, values, texts) => {
    const all = values.map((value, i) => button(texts[i], () => {
      note.textContent = "";
      assign(model, { [trait]: value });
    }));
    return { el: h("div", { class: "tf-actions", role: "group", "aria-label": label }, h("span", {}, label), ...all),
      update: (now) => all.forEach((one, i) => one.setAttribute("aria-pressed", values[i] === now)) };
  };
  const picks = {
    text: group("Sentence", "text", given, given),
    model: group("Model", "model", Object.keys(models), Object.keys(models)),
    look: group("Weights", "look", looks, looks),
    doubled: group("Values", "doubled", [true, false], ["doubled", "as they are"]),
  };
  const said = h("p", { class: "tf-said" }), head = h("thead"), body = h("tbody"), scores = h("tbody");
  const back = h("div", { class: "tf-actions" }, button("reset", () => { note.textContent = ""; assign(model, start); }));
  root.append(...[picks.model, picks.text].map((one) => one.el), input, note, said, h("table", { class: "tf-end-scores" }, scores),
    h("div", { class: "tf-end-scroll", tabindex: 0, role: "group", "aria-label": "Every step" }, h("table", {}, head, body)),
    picks.look.el, picks.doubled.el, back, live);
  return follow(model, TRAITS, () => {
    const now = traits(model, TRAITS), machine = models[now.model], tokens = now.text.split(" ");
    const found = steps(machine, tokens, now.look, now.doubled, eps), z = found.logits.at(-1), last = tokens.at(-1);
    for (const [name, one] of Object.entries(picks)) one.update(now[name]);
    if (input !== input.getRootNode().activeElement) input.value = now.text;
    const columns = [["vector", "x"], ["attention adds", "outputs"], ["normed", "normed"], ["layer adds", "layer"], ["normed again", "rows"]];
    head.replaceChildren(h("tr", {}, ...["word", `“${last}” looks`, ...columns.map(([name]) => name)].map((name) => h("th", { scope: "col" }, name))));
    body.replaceChildren(...tokens.map((word, t) => h("tr", {}, h("th", { scope: "row" }, word), h("td", {}, fmt(found.weights.at(-1)[t], 3)),
      ...columns.map(([, name]) => h("td", {}, found[name][t].map((v) => fmt(v)).join("  "))))));
    const best = Math.max(...z), says = machine.answers.filter((_, i) => z[i] > best - 1e-9);
    scores.replaceChildren(...machine.answers.map((word, i) => {
      const value = reading("score"), fill = h("span", { class: "tf-fill" });
      value.show(z[i], fmt(z[i], 3));
      fill.style.width = `${Math.max(0, Math.min(100, 50 + 20 * z[i]))}%`;
      return h("tr", { class: says.includes(word) ? "tf-on" : "" }, h("th", { scope: "row" }, word), h("td", {}, value),
        h("td", { class: "tf-end-bar", "aria-hidden": "true" }, h("span", { class: "tf-rail" }, fill)));
    }));
    const tells = `${says.join(" or ")}${says.length > 1 ? ": a tie" : ""}.`;
    said.replaceChildren(h("b", {}, `${now.text} → `), tells);
    live.say(`${now.text}: ${tells}`);
  });
}

export default { render };
