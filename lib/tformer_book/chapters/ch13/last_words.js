// Show the last words before the patient: who may it be, and how much is left open.

export const core = { uncertainty };

/** The uncertainty of a list of chances, in nats. */
function uncertainty(list) {
  return entropy(list.map(([, p]) => p));
}

const TRAITS = ["tale", "k"];

function render({ model, el }) {
  const start = traits(model, TRAITS), { tales, means } = traits(model, ["tales", "means"]);
  const root = frame(el, "tf-lastwords", "The last words", "Show one word after the other. When is one noun left?"), live = voice();
  const picks = tales.map(({ words }, i) => button(`… ${words[11]}`, () => assign(model, { tale: i })));
  const line = h("p", { class: "tf-lastwords-line" }), nouns = h("p", { class: "tf-lastwords-nouns" });
  const facts = cells(["k", "count", "open", "mean"]);
  const range = slider("How many words are shown", { min: 0, max: means.length - 1, step: 1 }, (k) => assign(model, { k }));
  root.append(h("div", { class: "tf-actions", role: "group", "aria-label": "Story" }, ...picks, button("reset", () => assign(model, start))),
    dial("words shown", range, facts.k), line, nouns,
    h("dl", { class: "tf-list" }, row("nouns that may come", facts.count), row("open in this story, nats", facts.open),
      row("open on average over all stories", facts.mean)), live);
  return follow(model, TRAITS, () => {
    const { tale, k } = traits(model, TRAITS), { words, lists, which } = tales[tale];
    const list = lists[which[k]], left = uncertainty(list);
    picks.forEach((one, i) => one.setAttribute("aria-pressed", i === tale));
    range.value = k;
    line.replaceChildren(...words.map((word, i) => i < words.length - k
      ? h("span", { class: "tf-lastwords-hidden", "aria-label": "hidden" }, "·".repeat(word.length))
      : h("span", { class: "tf-lastwords-told" }, word)), h("span", { class: "tf-lastwords-told" }, "?"));
    nouns.replaceChildren(...list.map(([noun, p]) => {
      const one = h("span", { class: "tf-lastwords-noun" }, noun);
      one.style.setProperty("--tf-share", String(Math.min(1, 0.12 + 2 * p)));
      one.title = fmt(p, 3);
      return one;
    }));
    facts.k.show(k, String(k));
    facts.count.show(list.length, String(list.length));
    facts.open.show(left, fmt(left, 3));
    facts.mean.show(means[k], fmt(means[k], 3));
    live.say(`${k} words shown, ${list.length} nouns may come, ${fmt(left, 3)} nats open.`);
  });
}

export default { render };
