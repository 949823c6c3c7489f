// A slider through training: stories, loss, shares and arcs at each stage, all of them stored outputs.

export const core = { triangle, stages: () => HELD.stages };

const TRAITS = ["step", "ending"], PAUSE = 700;
const FLOOR = Math.log(2376);
const SAID = { "": "✓ right", "no sentence": "no sentence", "wrong cure": "a sentence; wrong cure",
  "wrong patient": "right cure; wrong patient", "wrong noun": "cure and patient fit; a noun does not suit the verb" };
const NAMES = { grammar: "a sentence", cure: "… and the cure fits", right: "… and all of it is right" };
const PROMPTS = { tired: "woke", wide: "narrowed" }, ANSWERS = { tired: "animal", wide: "street" };
const promptOf = (ending) => `. the animal did not cross the street because it was too ${ending} . so they ${PROMPTS[ending]} the`.split(" ");

/** Rows of weights, each one longer, from bytes as text. */
function triangle(text) {
  const bytes = [...atob(text)].map((c) => c.charCodeAt(0) / 255), rows = [];
  for (let n = 1, at = 0; at < bytes.length; at += n, n += 1) rows.push(bytes.slice(at, at + n));
  return rows;
}

/** What the shares of a stage amount to, in a sentence. */
function summary({ grammar, cure, right }) {
  if (grammar < 0.05) return "No sentences yet.";
  if (cure < 0.4) return "It has the grammar. The cure does not fit the trouble yet.";
  if (right < 0.5) return "The cure fits the trouble. It is mostly given to the wrong one.";
  if (right < 0.85) return "Mostly it finds who needs the cure.";
  return "Grammar, cure and patient: a story.";
}

function render({ model, el }) {
  const root = frame(el, "tf-run", "A thousand steps of training", "Press train. When does the right noun come out?"), { stages, losses } = HELD;
  const live = voice(), about = h("p", { class: "tf-run-about" }), step = reading("step");
  const texts = h("div", { class: "tf-run-texts" }), shares = h("div", { class: "tf-run-shares" });
  const chart = lossChart(losses, stages), line = arcLine(), guess = guessBars(), arcs = h("p", { class: "tf-said" });
  const go = (at) => assign(model, { step: stages[Math.max(0, Math.min(stages.length - 1, at))].step });
  const place = () => stages.findIndex((stage) => stage.step === model.get("step"));
  const range = slider("Step of training", { min: 0, max: stages.length - 1, step: 1 }, (at) => { halt(); go(at); });
  let timer = 0;
  const halt = () => {
    clearInterval(timer);
    timer = 0;
    play.textContent = "▶ train";
  };
  const play = button("▶ train", () => {
    if (timer) return halt();
    go(place() === stages.length - 1 ? 0 : place() + 1);
    play.textContent = "pause";
    timer = setInterval(() => (place() === stages.length - 1 ? halt() : go(place() + 1)), PAUSE);
  });
  const ends = ["tired", "wide"].map((ending) => button(`… too ${ending}`, () => assign(model, { ending })));
  root.append(
    h("div", { class: "tf-run-top" }, play, range, h("span", { class: "tf-run-step" }, "step ", step)), about,
    h("div", { class: "tf-run-columns" },
      h("div", {}, h("p", { class: "tf-run-head" }, "What it writes, with the same random numbers at every step"), texts),
      h("div", {}, h("p", { class: "tf-run-head" }, "Loss, in nats a story"), chart.el, shares)),
    h("div", { class: "tf-actions" }, h("span", { class: "tf-run-head" }, "The same sentence inside"),
      h("span", { class: "tf-group", role: "group", "aria-label": "Sentence" }, ...ends)),
    line.el, h("div", { class: "tf-run-foot" }, arcs, guess.el), live);
  const stop = follow(model, TRAITS, () => {
    const at = place(), stage = stages[at], ending = model.get("ending");
    range.value = at;
    range.setAttribute("aria-valuetext", `step ${stage.step}`);
    step.show(stage.step, String(stage.step));
    about.textContent = summary(stage);
    texts.replaceChildren(...stage.texts.map((text, i) => story(text, stage.faults[i])));
    shares.replaceChildren(...Object.keys(NAMES).map((name) => share(name, stage[name])));
    chart.update(at);
    ends.forEach((one, i) => one.setAttribute("aria-pressed", ["tired", "wide"][i] === ending));
    const words = promptOf(ending), prompt = stage.prompts[ending], last = words.length - 1;
    const [first, second] = prompt.weights.map(triangle);
    line.update(words, last, second[last].map((p, s) => [last, s, p]),
      second[last].flatMap((p, s) => (p > 0.12 ? first[s].map((w, r) => [s, r, w * p]) : [])));
    const most = second[last].indexOf(Math.max(...second[last]));
    arcs.replaceChildren("Arcs ", ...side(2), `: where the last “the” attends in layer 2, most to “${words[most]}” (${fmt(second[last][most])}). Arcs `,
      ...side(1), `: where those words attended in layer 1. The right word is ${ANSWERS[ending]}.`);
    guess.update(prompt.top, ANSWERS[ending]);
    live.say(`Step ${stage.step}: loss ${fmt(stage.loss)}. ${summary(stage)} It writes: ${stage.texts[1]} ${SAID[stage.faults[1]]}`);
  });
  return () => {
    stop();
    clearInterval(timer);
  };
}

/** A story, what is right in it and what is wrong, by colour, by underline and in words. */
function story(text, fault) {
  const words = text.split(" "), level = ["no sentence", "wrong cure", "wrong patient"].indexOf(fault);
  const marks = level === 0 ? {} : { 15: level === 1 ? "bad" : "good", ...(level === 1 ? {} : { 17: level === 2 ? "bad" : "good" }) };
  const parts = words.flatMap((word, i) => [i && word !== "." ? " " : "", marks[i] ? h("b", { class: `tf-run-${marks[i]}` }, word) : word]);
  return h("p", { class: `tf-run-story tf-run-level${level}` }, ...parts, " ", h("small", {}, SAID[fault]));
}

function share(name, value) {
  const number = reading(name), fill = h("span", { class: "tf-fill" });
  fill.style.width = `${100 * value}%`;
  number.show(value, `${Math.round(100 * value)} %`);
  return h("div", { class: "tf-run-share" }, h("span", {}, NAMES[name]), h("span", { class: "tf-run-bar" }, fill), number);
}

function lossChart(losses, stages) {
  const x = (step) => 30 + 230 * (Math.log10(step + 3) - Math.log10(3)) / (Math.log10(1003) - Math.log10(3)), y = (loss) => 172 - 1.6 * loss;
  const mark = h("circle", { r: 5 }), number = h("text", { class: "tf-run-now" });
  const ticks = [0, 10, 100, 1000].map((step) => h("text", { x: x(step), y: 190, "text-anchor": "middle" }, String(step)));
  const path = `M${x(0)} ${y(stages[0].loss)}` + losses.map((loss, i) => `L${x(i + 1).toFixed(1)} ${y(loss).toFixed(1)}`).join("");
  const el = h("svg", { class: "tf-run-loss", viewBox: "0 -14 290 208", role: "img" },
    h("line", { x1: 30, x2: 262, y1: y(FLOOR), y2: y(FLOOR) }), h("text", { class: "tf-run-floor", x: 32, y: y(FLOOR) - 4 }, `nobody below ${fmt(FLOOR)}`),
    h("path", { d: path }), ...ticks, h("text", { x: 24, y: y(100) + 4, "text-anchor": "end" }, "100"), h("text", { x: 24, y: y(0) + 4, "text-anchor": "end" }, "0"), mark, number);
  const update = (at) => {
    const { step, loss } = stages[at];
    for (const [key, value] of Object.entries({ cx: x(step), cy: y(loss) })) mark.setAttribute(key, value);
    for (const [key, value] of Object.entries({ x: Math.min(x(step) + 8, 250), y: y(loss) - 10 })) number.setAttribute(key, value);
    number.textContent = fmt(loss);
    el.setAttribute("aria-label", `Loss at step ${step}: ${fmt(loss)} nats a story; nobody can go below ${fmt(FLOOR)}`);
  };
  return { el, update };
}

export default { render };
