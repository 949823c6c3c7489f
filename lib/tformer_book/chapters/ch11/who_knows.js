// Switch the architecture and choose a word: which words can it know, and what does a trained one say.

export const core = { known, moved };

/** Which of n words the one at a place can know after some layers; all see the prefix. */
function known(n, place, layers, prefix) {
  return Array.from({ length: n }, (_, s) => (layers ? s <= place || s < prefix : s === place));
}

/** Where the word at a place of one list stands in another; at “it”, if it has none there. */
function moved(words, place, others) {
  const word = words[place], nth = words.slice(0, place).filter((one) => one === word).length;
  const found = others.flatMap((one, i) => (one === word ? [i] : []));
  return found.length ? found[Math.min(nth, found.length - 1)] : others.indexOf("it");
}

const TRAITS = ["form", "story", "place", "layers"];

function render({ model, el }) {
  const start = traits(model, TRAITS), { shown, names, stories } = traits(model, ["shown", "names", "stories"]);
  const root = frame(el, "tf-knows", "Who can know whom", "Change the architecture. What can the word know now?"), live = voice();
  const group = (label, trait, values, texts, also = () => ({})) => {
    const all = values.map((value, i) => button(texts[i], () => assign(model, { ...also(value), [trait]: value })));
    return { el: h("div", { class: "tf-actions", role: "group", "aria-label": label }, ...all),
      update: (now) => all.forEach((one, i) => one.setAttribute("aria-pressed", values[i] === now)) };
  };
  /** The same word in another architecture, which may have it at another place. */
  const keep = (form) => {
    const now = traits(model, TRAITS), words = shown[now.form].words[now.story];
    return { place: moved(words, Math.min(now.place, words.length - 1), shown[form].words[now.story]) };
  };
  const sample = (kind, text) => h("span", { class: `tf-knows-sample ${kind}` }, text);
  const key = h("p", { class: "tf-knows-key" }, sample("tf-asks", "chosen"), sample("tf-seen", "can be known"),
    sample("", "cannot be known"), sample("tf-seen tf-target", "German"));
  const picks = {
    form: group("Architecture", "form", names.map(([key]) => key), names.map(([, name]) => name), keep),
    story: group("Sentence", "story", [...stories.keys()], stories),
    layers: group("Layers passed", "layers", [0, 1, 2], ["before layer 1", "after 1 layer", "after 2 layers"]),
  };
  const line = h("div", { class: "tf-knows-line", role: "group", "aria-label": "Words" });
  const text = h("p", { class: "tf-says" }), bars = h("div", { class: "tf-bars" });
  root.append(picks.form.el, picks.story.el, picks.layers.el, line, key, text, bars,
    h("div", { class: "tf-actions" }, button("reset", () => assign(model, start))), live);
  let drawn = "";
  const buttons = [];
  return follow(model, TRAITS, () => {
    const now = traits(model, TRAITS), here = shown[now.form], words = here.words[now.story];
    const at = Math.min(now.place, words.length - 1), sees = known(words.length, at, now.layers, here.prefix);
    for (const [name, one] of Object.entries(picks)) one.update(now[name]);
    if (drawn !== words.join(" ")) {
      drawn = words.join(" ");
      buttons.splice(0, buttons.length, ...words.map((word, i) => button(word, () => assign(model, { place: i }))));
      line.replaceChildren(...buttons);
    }
    buttons.forEach((one, i) => {
      one.setAttribute("aria-pressed", i === at);
      one.classList.toggle("tf-seen", sees[i]);
      one.classList.toggle("tf-target", now.form === "pair" && i >= here.prefix);
      one.setAttribute("aria-label", `${words[i]}${sees[i] ? ", can be known" : ""}`);
    });
    const count = sees.filter(Boolean).length, said = here.said[now.story][at];
    const told = said.length ? "A trained model says here:" : "Not asked here in training.";
    text.textContent = `“${words[at]}” can know ${count} of ${words.length} words. ${told}`;
    bars.replaceChildren(...said.map(([word, p]) => {
      const fill = h("span", { class: "tf-fill" }), number = reading("chance");
      fill.style.width = `${100 * p}%`;
      number.show(p, fmt(p, 3));
      return h("div", { class: "tf-knows-bar" }, h("span", {}, word), h("span", { class: "tf-rail", "aria-hidden": "true" }, fill), number);
    }));
    live.say(`${text.textContent} ${said.map(([word, p]) => `${word} ${fmt(p)}`).join(", ")}`);
  });
}

export default { render };
