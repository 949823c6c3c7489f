// Type your own: the trained machine reads a text in the page; any of its words can ask.

export const core = {
  tidied,
  refusal: (text) => refusal(machine(), text),
  readText: (text) => readTokens(machine(), indices(machine(), text)),
};

const TRAITS = ["text", "selected", "compact"], SHOWN = 5, SIDE = 15, EDGE = 62;
const THE_TWO = ["tired", "wide"];
let made = null;
const machine = () => (made ??= unpack(HELD));

function render({ model, el }) {
  const compact = model.get("compact"), root = frame(el, "tf-typed-own", compact ? "Arcs of any word" : "Type your own",
    compact ? "Touch a word." : "Exchange the adjective. Where do the arcs go?");
  const live = voice(), said = h("p", { class: "tf-said" }), guess = guessBars(), start = traits(model, TRAITS), places = machine().P.length;
  const line = arcLine((selected) => assign(model, { selected })), maps = [1, 2].map(weightMap);
  const drawn = h("div", {}, line.el, said, guess.el), below = h("div", { class: "tf-own-maps" }, ...maps.map((one) => one.el));
  const reason = h("span", { id: unique("reason") });
  /** What cannot be read leaves nothing standing that was read before. */
  const refuse = (why) => {
    [drawn, below].forEach((one) => one.classList.toggle("tf-own-unread", Boolean(why)));
    const full = tidied(model.get("text")).split(" ").length >= places;
    next.disabled = Boolean(why) || full;
    reason.textContent = why ? "First it must be able to read." : full ? `All ${places} places are taken.` : "";
    if (why) buttons.forEach((one) => one.setAttribute("aria-pressed", "false"));
  };
  const draw = () => {
    const { text, selected } = traits(model, TRAITS), words = tidied(text).split(" "), why = refusal(machine(), text);
    if (why) return typing.note(why);
    const { weights: [first, second], p } = readTokens(machine(), indices(machine(), text));
    const at = selected < 0 ? words.length - 1 : Math.min(selected, words.length - 1);
    const told = (t) => `${words[t]}, word ${t}: ask it`, sides = [looks(words, first[at]), looks(words, second[at])];
    line.update(words, at, second[at].map((share, s) => [at, s, share]), first[at].map((share, s) => [at, s, share]), told);
    said.replaceChildren(`“${words[at]}” attends in layer 1 (`, ...side(1), `) ${sides[0]}; in layer 2 (`, ...side(2), `) ${sides[1]}. After it the machine expects:`);
    guess.update(likeliest(machine().words, p[at], SHOWN));
    buttons.forEach((one, i) => one.setAttribute("aria-pressed", chosen[i][1] === words.join(" ")));
    typing.update(words.join(" "));
    maps.forEach((one, i) => one.update(words, [first, second][i], at));
    live.say(`“${words[at]}” attends in layer 1 ${sides[0]}; in layer 2 ${sides[1]}. After it the machine expects ${likeliest(machine().words, p[at], 1)[0][0]}`);
  };
  const typing = field((text) => {
    assign(model, { text, selected: compact ? model.get("selected") : -1 });
    draw(); // also where the text is the old one, after another that could not be read
  }, refuse);
  const chosen = Object.entries(model.get("examples")).filter(([name]) => !compact || THE_TWO.includes(name));
  const buttons = chosen.map(([name, text]) => button(compact ? `… too ${name}` : name, () => typing.take(text)));
  const next = button("write the likeliest word", () => {
    const text = model.get("text"), { p } = readTokens(machine(), indices(machine(), text));
    typing.take(`${text} ${likeliest(machine().words, p.at(-1), 1)[0][0]}`);
  });
  next.setAttribute("aria-describedby", reason.id);
  root.append(h("div", { class: "tf-actions tf-own-top", role: "group", "aria-label": "Examples" }, ...buttons));
  if (!compact) root.append(typing.el);
  root.append(drawn);
  if (!compact) root.append(h("div", { class: "tf-actions" }, next, button("reset", () => typing.take(start.text)), reason), below, vocabulary());
  root.append(live);
  return follow(model, TRAITS, draw);
}

/** The two words that get most, with their weights. */
function looks(words, weights) {
  const top = [...weights.keys()].sort((i, j) => weights[j] - weights[i]).slice(0, 2);
  return top.map((s) => `${fmt(weights[s])} to “${words[s]}”`).join(" and ");
}

/** Where a text is typed: `read` gets one that the machine can read, `refuse` hears why not, or "". */
function field(read, refuse) {
  const reply = h("p", { class: "tf-own-note", role: "status" });
  const note = (why) => {
    reply.textContent = why;
    refuse(why);
  };
  const take = (text) => {
    const why = refusal(machine(), text);
    if (why) note(why);
    else read(tidied(text));
  };
  const input = h("textarea", { rows: 2, class: "tf-input tf-own-text", autocomplete: "off", spellcheck: "false", maxlength: 300,
    "aria-label": "Your own text", input: (event) => take(event.target.value),
    keydown: (event) => { if (event.key === "Enter") event.preventDefault(); } });
  const update = (text) => {
    if (input !== input.getRootNode().activeElement || tidied(input.value) !== text) input.value = text;
    note("");
  };
  return { el: h("div", {}, input, reply), take, note, update };
}

function vocabulary() {
  return h("details", { class: "tf-others" }, h("summary", {}, "All of its words"), h("p", {}, machine().words.join(", ")));
}

/** All weights of a layer: row asks column. */
function weightMap(layer) {
  const svg = h("svg", { class: `tf-own-map tf-own-layer${layer}`, role: "img" });
  const el = h("figure", { class: "tf-own-figure" }, h("figcaption", {}, `layer ${layer}: row asks column`), svg);
  const update = (words, table, at) => {
    const n = words.length, place = (i) => EDGE + SIDE * i;
    const names = words.flatMap((word, i) => [
      h("text", { x: EDGE - 5, y: place(i) + 11, "text-anchor": "end", class: i === at ? "tf-own-asks" : "" }, word),
      h("text", { transform: `translate(${place(i) + 11} ${EDGE - 5}) rotate(-60)` }, word)]);
    const squares = table.flatMap((row, t) => row.map((share, s) => {
      const one = h("rect", { x: place(s), y: place(t), width: SIDE - 1, height: SIDE - 1 });
      one.style.setProperty("--tf-share", share.toFixed(3));
      return one;
    }));
    svg.setAttribute("viewBox", `0 0 ${place(n) + 30} ${place(n) + 2}`);
    svg.setAttribute("aria-label", `Weights of layer ${layer}; “${words[at]}” attends ${looks(words, table[at])}`);
    svg.replaceChildren(...names, ...squares);
  };
  return { el, update };
}

export default { render };
