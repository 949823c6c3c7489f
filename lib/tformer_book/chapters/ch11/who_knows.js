// Switch the architecture and choose a word: which words can it know, and what does a trained one say.

export const core = { known };

/** Which of n words the one at a place can know after some layers; all see the prefix. */
function known(n, place, layers, prefix) {
  return Array.from({ length: n }, (_, s) => (layers ? s <= place || s < prefix : s === place));
}

const TRAITS = ["form", "story", "place", "layers"];

function render({ model, el }) {
  const start = traits(model, TRAITS), { shown, names, stories } = traits(model, ["shown", "names", "stories"]);
  const root = frame(el, "tf-knows", "Who can know whom", "Choose a word, then another architecture. What can the word know now?"), live = voice();
  const group = (label, trait, values, texts) => {
    const all = values.map((value, i) => button(texts[i], () => assign(model, { [trait]: value })));
    return { el: h("div", { class: "tf-actions", role: "group", "aria-label": label }, ...all),
      update: (now) => all.forEach((one, i) => one.setAttribute("aria-pressed", values[i] === now)) };
  };
  const picks = {
    form: group("Architecture", "form", names.map(([key]) => key), names.map(([, name]) => name)),
    story: group("Sentence", "story", [...stories.keys()], stories),
    layers: group("Layers passed", "layers", [0, 1, 2], ["before layer 1", "after 1 layer", "after 2 layers"]),
  };
  const line = h("div", { class: "tf-knows-line", role: "group", "aria-label": "Words" });
  const text = h("p", { class: "tf-says" }), bars = h("div", { class: "tf-bars" });
  root.append(picks.form.el, picks.story.el, picks.layers.el, line, text, bars,
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
    const told = said.length ? "Trained, it says here:" : "Not asked here in training.";
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
