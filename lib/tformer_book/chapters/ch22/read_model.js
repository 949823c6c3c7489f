// Read a model's code: the lines that its block changes, common wrong lines, and its cache.

export const core = { cached, counted };

/** Bytes that a model keeps of so many tokens; null where its sizes are not known. */
function cached(kept, tokens) {
  if (!kept) return null;
  const windows = kept.per_window.map(([each, most]) => each * Math.min(tokens, most));
  return kept.per_token * tokens + kept.fixed + windows.reduce((a, b) => a + b, 0);
}

/** How many lines are added, and how many are gone. */
function counted(lines) {
  const of = (sign) => lines.filter(([one]) => one === sign).length;
  return [of("+"), of("-")];
}

const TRAITS = ["model", "guess", "length"], LEAST = 1e5, MOST = 1e12;

/** Bytes in words, three digits. */
function size(bytes) {
  const [unit, name] = [[1e12, "TB"], [1e9, "GB"], [1e6, "MB"], [1e3, "kB"]].find(([one]) => bytes >= one) ?? [1, "B"];
  return `${Number((bytes / unit).toPrecision(3))} ${name}`;
}

/** How far a bar reaches, on a logarithmic scale, in percent. */
const filled = (bytes) => 100 * Math.min(1, Math.max(0.01, Math.log(bytes / LEAST) / Math.log(MOST / LEAST)));

/** Digits of a difference: two, with a power of ten where it is small. */
function moved(x) {
  if (x < 1e-12) return "by rounding errors only";
  if (x >= 0.01) return `by ${fmt(x, 2)} of the largest`;
  const [digits, exponent] = x.toExponential(1).split("e");
  return `by ${digits} · 10 to the power ${exponent.replace("-", "−")} of the largest`;
}

const SAID = { "+": "added: ", "-": "gone: ", " ": "" };

function render({ model, el }) {
  const start = traits(model, TRAITS), models = model.get("models");
  const root = frame(el, "tf-reader", "Read a model's code", "choose a model, then one wrong guess. Which guess moves nothing?"), live = voice();
  const picks = models.map(({ name }, i) => button(name, () => assign(model, { model: i, guess: -1 })));
  const code = h("ol", { class: "tf-reader-code", "aria-label": "Lines of the block" });
  const wrong = h("div", { class: "tf-actions", role: "group", "aria-label": "Wrong guesses" });
  const said = h("p", { class: "tf-said" }), facts = cells(["added", "gone", "moved", "length"]);
  const range = slider("Length of the text, in powers of ten", { min: 1, max: 6, step: 0.05 }, (length) => assign(model, { length }));
  const bars = models.map((one) => one.kept && { fill: h("span", { class: "tf-reader-fill" }), cell: reading("cache"), name: one.name });
  const shown = bars.filter(Boolean);
  root.append(h("div", { class: "tf-actions", role: "group", "aria-label": "Model" }, ...picks, button("reset", () => assign(model, start))), code, wrong, said,
    h("p", { class: "tf-reader-facts" }, "Lines added to Llama's: ", facts.added, ", gone: ", facts.gone, "; the logits move by: ", facts.moved),
    dial("length of a text", range, facts.length),
    h("ul", { class: "tf-reader-bars", "aria-label": "Cache of each model" }, ...shown.map(({ fill, cell, name }) =>
      h("li", {}, h("span", { class: "tf-reader-name" }, name), h("span", { class: "tf-reader-bar", "aria-hidden": "true" }, fill), cell))),
    h("p", { class: "tf-about" }, "Green: added. Red: wrong. Struck out: gone. Bars: the cache of one text, on a logarithmic scale, at default sizes of the published classes."), live);
  return follow(model, TRAITS, () => {
    const now = traits(model, TRAITS), one = models[now.model], guess = one.guesses[now.guess];
    const lines = guess ? guess.lines : one.lines, [added, gone] = counted(one.lines), tokens = Math.round(10 ** now.length);
    picks.forEach((pick, i) => pick.setAttribute("aria-pressed", i === now.model));
    code.replaceChildren(...lines.map(([sign, text]) => {
      const kind = { "+": guess ? "wrong" : "added", "-": "gone", " ": "same" }[sign];
      return h("li", { class: `tf-reader-line tf-reader-${kind}` }, h("span", { class: "tf-reader-sign", "aria-hidden": "true" }, sign === "-" ? "−" : sign),
        h("span", { class: "tf-reader-said" }, guess && sign === "+" ? "wrong: " : SAID[sign]), h("code", {}, text));
    }));
    wrong.replaceChildren(...one.guesses.map(({ says }, i) => {
      const pick = button(says, () => assign(model, { guess: model.get("guess") === i ? -1 : i }));
      pick.setAttribute("aria-pressed", i === now.guess);
      return pick;
    }));
    facts.added.show(added, String(added));
    facts.gone.show(gone, String(gone));
    facts.moved.show(guess ? guess.moved : 0, guess ? moved(guess.moved).replace("by ", "") : "–");
    const text = guess ? `A wrong guess: ${guess.says}. The logits of a small model move ${moved(guess.moved)}.`
      : added + gone === 0 ? "The plain block: seven lines." : `${one.name} adds ${added} ${added === 1 ? "line" : "lines"} to Llama's seven, and takes ${gone || "none"} away.`;
    said.textContent = text;
    range.value = now.length;
    range.setAttribute("aria-valuetext", `${tokens} tokens`);
    facts.length.show(tokens, tokens.toLocaleString("en-US"));
    models.forEach(({ kept }, i) => {
      if (!bars[i]) return;
      const bytes = cached(kept, tokens);
      bars[i].fill.style.width = `${filled(bytes)}%`;
      bars[i].fill.classList.toggle("tf-reader-chosen", i === now.model);
      bars[i].cell.show(bytes, size(bytes));
    });
    live.say(text);
  });
}

export default { render };
