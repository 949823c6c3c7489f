// Multiple choice: choose, check, read why. On a page record.js keeps in this browser which answers were right; nothing is sent.

export const core = { tokens };

/** Text cut into plain pieces and the few tags that are allowed; all else stays text. */
function tokens(text) {
  return text.split(/(<\/?(?:sub|sup|i|b|code)>)/).filter(Boolean);
}

function markup(text) {
  const top = document.createDocumentFragment(), open = [top];
  for (const token of tokens(text)) {
    const tag = /^<(\/?)(sub|sup|i|b|code)>$/.exec(token);
    if (!tag) open.at(-1).append(token);
    else if (tag[1]) open.length > 1 && open.pop();
    else {
      const el = h(tag[2]);
      open.at(-1).append(el);
      open.push(el);
    }
  }
  return top;
}

const letter = (j) => String.fromCharCode(97 + j);

function render({ model, el }) {
  const questions = model.get("questions"), count = `${questions.length} question${questions.length > 1 ? "s" : ""}`;
  const single = questions.length === 1;
  const root = frame(el, single ? "tf-quiz tf-single" : "tf-quiz", `Quiz of ${count}`);
  const group = unique("quiz");
  const items = questions.map((question, i) => item(model, question, i, single ? "Predict. " : `${i + 1}. `, `${group}-${i}`));
  const score = h("p", { class: "tf-score" });
  root.append(
    h("div", { class: "tf-items" }, ...items.map((one) => one.el)),
    h("div", { class: "tf-actions" }, score, button("start again", () => {
      items.forEach((one) => one.clear());
      assign(model, { chosen: questions.map(() => null) });
    })),
  );
  return follow(model, ["chosen"], () => {
    const chosen = model.get("chosen"), done = chosen.filter((c) => c != null).length;
    const right = questions.filter((question, i) => chosen[i] === question.answer).length;
    items.forEach((one, i) => one.update(chosen[i]));
    score.textContent = single ? "" : done ? `${right} of ${questions.length} right` : count;
  });
}

/** One question: radio buttons, a button to check, the reason in words. */
function item(model, { question, options, answer, why }, i, name, group) {
  const radios = options.map((_, j) => h("input", { type: "radio", name: group, value: j, change: () => refresh() }));
  const marks = options.map(() => h("span", { class: "tf-mark", "aria-hidden": "true" }));
  const rows = options.map((text, j) => h("label", { class: "tf-option" },
    radios[j], h("span", { class: "tf-letter", "aria-hidden": "true" }, `${letter(j)})`), h("span", { class: "tf-text" }, markup(text)), marks[j]));
  const verdict = h("div", { class: "tf-verdict", role: "status" });
  const others = h("div");
  const check = button("check", () => {
    const chosen = [...model.get("chosen")];
    chosen[i] = radios.findIndex((radio) => radio.checked);
    assign(model, { chosen });
  });
  const refresh = () => { check.toggleAttribute("disabled", !radios.some((radio) => radio.checked)); };
  let shown; // only a change is drawn, so that a screen reader hears each verdict once
  const update = (chosen) => {
    if (chosen === shown) return;
    shown = chosen;
    const said = chosen != null, right = chosen === answer;
    if (said) radios[chosen].checked = true;
    rows.forEach((row, j) => {
      const state = said && j === chosen ? (right ? "right" : "wrong") : "";
      row.className = `tf-option ${state && `tf-${state}`}`;
      marks[j].textContent = { right: "✓ right", wrong: "✗ not this one", "": "" }[state];
    });
    verdict.className = `tf-verdict ${said ? (right ? "tf-right" : "tf-wrong") : ""}`;
    verdict.replaceChildren(...(said ? [h("b", {}, right ? "Right. " : "Not this one. "), markup(why[chosen])] : []));
    others.replaceChildren(...(right ? [whyNot(why, answer)] : []));
    refresh();
  };
  const el = h("fieldset", { class: "tf-item" }, h("legend", {}, h("span", { class: "tf-which" }, name), markup(question)),
    ...rows, h("div", { class: "tf-check" }, check, verdict), others);
  return { el, update, clear: () => radios.forEach((radio) => { radio.checked = false; }) };
}

function whyNot(why, answer) {
  return h("details", { class: "tf-others" }, h("summary", {}, "Why not the others?"),
    ...why.map((reason, j) => (j === answer ? "" : h("p", {}, `${letter(j)}) `, markup(reason)))));
}

export default { render };
