// A sentence, and where its words look in two attention layers whose weights are made by hand.

export const core = { tokenise, read, ratios, describe, changes };

const MOST = 24, REACH = 6;

/** The places of the first two different nouns. */
const nounPlaces = (tokens, hand) =>
  [...new Set(tokens.filter((token) => has(hand, token, "noun")))].slice(0, 2).map((noun) => tokens.indexOf(noun));

/** Weight of word `at` on the first noun over that on the second: in each layer, and in the last alone. */
function ratios(tokens, at, hand, biases = []) {
  const places = nounPlaces(tokens, hand), [a, b] = places;
  if (places.length < 2) return null;
  const tables = [...read(tokens, hand, biases).weights, ...read(tokens, hand, biases, 2).weights];
  return { places, nouns: places.map((s) => tokens[s]), values: tables.map((table) => table[at][a] / table[at][b]) };
}

const signed = (b) => fmt(b, 1).replace(/^(?!−)/, "+");

/** The places of the largest weights, as far as a billionth tells. */
function tops(weights) {
  const billionths = weights.map((p) => Math.round(1e9 * p)), most = Math.max(...billionths);
  return [...weights.keys()].filter((s) => billionths[s] === most);
}

/** Where a word looks most, without a number: that stands at the word. */
function mostOf(word, tokens, weights) {
  const best = tops(weights), names = best.slice(0, NAMED).map((s) => `“${tokens[s]}”`);
  if (best.length === tokens.length) return `“${word}” looks alike at all words.`;
  if (best.length > NAMED) return `“${word}” looks most at ${names.join(", ")} and others, alike.`;
  return `“${word}” looks most at ${names.length > 1 ? `${names.slice(0, -1).join(", ")} and ${names.at(-1)}, alike` : names[0]}.`;
}

/** What is added to which score, in words. */
function changes(tokens, biases) {
  return biases.filter(([, t, s]) => Math.max(t, s) < tokens.length)
    .map(([layer, t, s, b]) => `layer ${layer}: “${tokens[t]}” to “${tokens[s]}” ${signed(b)}`);
}

const TRAITS = ["sentence", "selected", "layer", "biases"];

function render({ model, el }) {
  const start = traits(model, TRAITS);
  const hand = model.get("hand_made");
  const root = frame(el, "tf-map", "Attention map of a sentence", "Touch a word to let it ask.");
  const choice = sentences(model, hand), line = wordLine(model), facts = factList(hand), live = voice();
  const switches = layerSwitch(model), said = h("p", { class: "tf-said" }), score = scoreLine(model, hand, () => update());
  let preview = null; // the word under the mouse or the keyboard, before a click locks it
  const show = (looking) => {
    preview = looking;
    update();
  };
  line.onPreview(show);
  const told = h("p", { class: "tf-told" }), all = fold("All numbers", told, facts.el);
  all.addEventListener("toggle", () => root.classList.toggle("tf-all-numbers", all.open));
  root.append(choice.el, switches.el, line.el, said, facts.edits, folds(score.el, all, vocabulary(hand)),
    h("div", { class: "tf-actions" }, button("reset", () => assign(model, start))), live);
  function update() {
    const { sentence, selected, layer, biases } = traits(model, TRAITS), tokens = tokenise(sentence);
    const locked = Math.min(selected, tokens.length - 1);
    if (preview !== null && !(preview < tokens.length)) preview = null;
    const at = preview ?? locked, { weights, vectors } = read(tokens, hand, biases);
    const rows = weights.map((table) => table[at] ?? []);
    const text = tokens.length ? describe(tokens[at], tokens, rows[layer - 1]) : "There is no word to look";
    root.dataset.layer = layer;
    choice.update(sentence, tokens);
    switches.update(layer);
    line.update(tokens, rows, { at, locked, layer, unknown: tokens.map((token) => !known(hand, token)) });
    said.replaceChildren(h("b", {}, tokens.length ? mostOf(tokens[at], tokens, rows[layer - 1]) : `${text}.`),
      at === locked ? "" : " (Click or press Enter to stay with this word.)");
    told.textContent = `Layer ${layer}: ${text}.`;
    score.update(tokens, locked, layer, weights[layer - 1]);
    facts.update(tokens, at, vectors, layer, biases);
    live.say(`Layer ${layer}: ${text}.`);
  }
  const stop = follow(model, TRAITS, update);
  return () => {
    stop();
    line.stop();
  };
}

// ---- the sentence: chosen or typed ------------------------------------------------------

function sentences(model, hand) {
  const pairs = new Map();
  for (const sentence of model.get("examples")) {
    const stem = tokenise(sentence).slice(0, -1).join(" ");
    pairs.set(stem, [...(pairs.get(stem) ?? []), sentence]);
  }
  const take = (sentence) => assign(model, { sentence, selected: pronoun(hand, tokenise(sentence)), biases: [] });
  const name = (sentence) => tokenise(sentence).filter((token) => has(hand, token, "noun")).join(", ");
  const stems = [...pairs.values()].map((pair) => button(name(pair[0]), () => take(pair[0])));
  const endings = h("span", { class: "tf-group", role: "group", "aria-label": "Last word" });
  let pair = [...pairs.values()][0], offered;
  const field = h("textarea", { rows: 1, class: "tf-input tf-typed", autocomplete: "off", spellcheck: "false",
    "aria-label": "Your own sentence", maxlength: 300,
    keydown: (event) => { if (event.key === "Enter") event.preventDefault(); },
    input: (event) => type(event.target.value),
    blur: () => { field.value = model.get("sentence"); } });
  const note = h("p", { class: "tf-remark tf-unknown-note" }), count = h("span");
  const type = (text) => {
    const before = tokenise(model.get("sentence")), at = model.get("selected");
    const words = tokenise(text), cut = words.length > MOST;
    const after = cut ? words.slice(0, MOST) : words;
    count.textContent = cut ? `At most ${MOST} words: the first ${MOST} are read. ` : "";
    const stays = at < after.length && before[at] === after[at], same = before.join(" ") === after.join(" ");
    assign(model, { sentence: cut ? after.join(" ") : text, selected: stays ? at : pronoun(hand, after),
      biases: same ? model.get("biases") : [] });
  };
  const el = h("div", { class: "tf-choice" },
    h("div", { class: "tf-actions" },
      h("span", { class: "tf-group", role: "group", "aria-label": "Sentences" }, h("span", { class: "tf-quiet" }, "sentence"), ...stems),
      endings),
    field, note);
  note.append(count, h("span"));
  const update = (sentence, tokens) => {
    pair = [...pairs.values()].find((some) => some.includes(sentence)) ?? pair;
    if (offered !== pair) {
      offered = pair;
      const last = (one) => tokenise(one).at(-1);
      endings.replaceChildren(h("span", { class: "tf-quiet" }, "last word"),
        ...pair.map((one) => button(last(one), () => take(one))));
    }
    stems.forEach((one, i) => one.setAttribute("aria-pressed", [...pairs.values()][i].includes(sentence)));
    [...endings.querySelectorAll("button")].forEach((one, i) => one.setAttribute("aria-pressed", pair[i] === sentence));
    if (field !== field.getRootNode().activeElement) {
      field.value = sentence;
      count.textContent = "";
    }
    const strange = [...new Set(tokens.filter((token) => !known(hand, token)))];
    note.lastChild.textContent = strange.length
      ? `Not known, so their vectors are zero: ${strange.join(", ")}.` : "";
  };
  return { el, update };
}

function vocabulary(hand) {
  const lines = new Map();
  for (const [word, features] of Object.entries(hand.words)) {
    const key = features.map((i) => String.fromCharCode(97 + i)).join(""); // sorts as the features do
    if (!lines.has(key)) lines.set(key, { kind: features.map((i) => hand.features[i]).join(", "), words: [] });
    lines.get(key).words.push(word);
  }
  return fold("The words it knows, and their features", ...[...lines.keys()].sort().map((key) => h("p", {}, h("i", {}, `${lines.get(key).kind}: `), lines.get(key).words.join(" "))));
}

// ---- the layer --------------------------------------------------------------------------

function layerSwitch(model) {
  const { all, update } = radioButtons(model, "layer", [1, 2]);
  const names = ["first layer: pronouns look for adjectives", "second layer: pronouns look for nouns"];
  const el = h("div", { class: "tf-layers", role: "radiogroup", "aria-label": "Layer that is drawn" },
    ...all.map((radio, i) => h("label", { class: `tf-option tf-layer${i + 1}` }, radio, h("span", { class: "tf-swatch" }), names[i])));
  return { el, update };
}

// ---- the words, their bars, and curves between them -------------------------------------

function wordLine(model) {
  const list = h("ol", { class: "tf-tokens" }), curves = h("svg", { class: "tf-curves", "aria-hidden": "true" });
  const el = h("div", { class: "tf-words" }, curves, list);
  let cells = [], drawn = [], state = {}, preview = () => {};
  const keep = (i) => assign(model, { selected: i });
  const step = (event, i) => {
    const to = { ArrowLeft: i - 1, ArrowRight: i + 1, ArrowUp: i - 1, ArrowDown: i + 1, Home: 0, End: cells.length - 1 }[event.key];
    if (to === undefined) return;
    event.preventDefault();
    cells[Math.min(cells.length - 1, Math.max(0, to))].button.focus();
  };
  const cell = (token, i) => {
    const one = h("button", { type: "button", class: "tf-word", click: () => keep(i),
      focus: () => preview(i), blur: () => preview(null), keydown: (event) => step(event, i),
      pointerenter: (event) => event.pointerType === "mouse" && preview(i) }, token);
    const looks = [1, 2].map((layer) => {
      const fill = h("span", { class: "tf-fill" }), number = reading(`weight${layer}`);
      return { fill, number, el: h("span", { class: `tf-look tf-layer${layer}` },
        h("span", { class: "tf-voice" }, `layer ${layer}: `), h("span", { class: "tf-stem" }, fill), number) };
    });
    return { button: one, looks, el: h("li", { class: "tf-token" }, one, ...looks.map((look) => look.el)) };
  };
  list.addEventListener("pointerleave", () => preview(null));
  const draw = () => drawCurves(curves, cells.map((one) => one.button), state);
  const watch = new ResizeObserver(draw);
  watch.observe(list);
  const update = (tokens, rows, { at, locked, layer, unknown }) => {
    if (tokens.join(" ") !== drawn.join(" ")) {
      drawn = tokens;
      cells = tokens.map(cell);
      list.replaceChildren(...cells.map((one) => one.el));
    }
    state = { at, weights: rows[layer - 1] };
    const [top] = tops(rows[layer - 1]);
    cells.forEach(({ button: one, looks, el: item }, i) => {
      item.classList.toggle("tf-most", i === top);
      looks.forEach(({ fill, number }, l) => {
        fill.style.height = `${100 * rows[l][i]}%`;
        number.show(rows[l][i], fmt(rows[l][i]));
      });
      one.style.setProperty("--tf-share", rows[layer - 1][i].toFixed(4));
      one.classList.toggle("tf-looking", i === at);
      one.classList.toggle("tf-unknown", unknown[i]);
      one.setAttribute("aria-pressed", i === locked);
      one.setAttribute("aria-label", unknown[i] ? `${tokens[i]}, unknown` : tokens[i]);
      one.tabIndex = i === at ? 0 : -1;
    });
    draw();
  };
  return { el, update, onPreview: (tell) => { preview = tell; }, stop: () => watch.disconnect() };
}

/** A curve from the looking word to each word that it looks at, the thicker the more. */
function drawCurves(svg, buttons, { at, weights = [] }) {
  const top = (button) => [button.offsetLeft + button.offsetWidth / 2, button.offsetTop];
  if (!buttons[at]) return svg.replaceChildren();
  const [x, y] = top(buttons[at]);
  svg.replaceChildren(...buttons.flatMap((button, s) => {
    const p = weights[s];
    if (p < 0.03) return [];
    const [u, v] = top(button), rise = 14 + Math.min(26, Math.abs(u - x) * 0.1), out = s === at ? 14 : 0;
    const path = `M${x} ${y}C${x - out} ${y - rise} ${u + out} ${v - rise} ${u} ${v}`;
    return [h("path", { d: path, "stroke-width": (1 + 6 * p).toFixed(2), "stroke-opacity": (v === y ? 0.35 + 0.6 * p : 0.45).toFixed(2) }),
      h("circle", { cx: u, cy: v, r: (2 + 3 * p).toFixed(2) })];
  }));
}

// ---- a score that the reader changes ----------------------------------------------------

function scoreLine(model, hand, refresh) {
  const id = unique("zero"), name = h("span", { "aria-hidden": "true" }), value = reading("bias");
  let drawn = "", query = 0, key = 0;
  const keys = h("select", { class: "tf-button", change: () => {
    key = keys.selectedIndex;
    refresh();
  } });
  const bias = slider("", { min: -REACH, max: REACH, step: 0.1, list: id }, (b) => {
    const layer = model.get("layer"), others = model.get("biases").filter(([l, t, s]) => l !== layer || t !== query || s !== key);
    assign(model, { biases: b ? [...others, [layer, query, key, b]].sort(([l], [m]) => l - m) : others });
  });
  const el = fold("Change a score", h("div", { class: "tf-fields" }, h("span", {}, name, " ", keys, " ", value), bias,
    h("datalist", { id }, h("option", { value: 0 }))));
  const update = (tokens, locked, layer, weights) => {
    if (tokens.join(" ") !== drawn) {
      drawn = tokens.join(" ");
      key = nounPlaces(tokens, hand).at(-1) ?? 0;
      const twice = (token) => tokens.indexOf(token) !== tokens.lastIndexOf(token);
      keys.replaceChildren(...tokens.map((token, s) => h("option", {}, twice(token) ? `${token} (word ${s + 1})` : token)));
    }
    el.hidden = !tokens.length;
    if (el.hidden) return;
    query = locked;
    keys.selectedIndex = key;
    const b = added(model.get("biases"), layer, query, key);
    name.textContent = `Layer ${layer}: add to the score that “${tokens[query]}” gives`;
    keys.setAttribute("aria-label", name.textContent);
    reach(bias, REACH, b);
    bias.setAttribute("aria-label", `Added to the score of ${tokens[key]}`);
    bias.setAttribute("aria-valuetext", `${signed(b)}; weight ${fmt(weights[query][key])}`);
    value.show(b, signed(b));
  };
  return { el, update };
}

// ---- what it brings, and what one layer cannot change -----------------------------------

const PLACES = ["layer 1: ", "layer 2: ", "layer 2 without layer 1: "];

/** Different words, quoted: “a”, “b” and “c”. */
function listed(words) {
  const quoted = [...new Set(words)].map((word) => `“${word}”`);
  return `${quoted.slice(0, -1).join(", ")} and ${quoted.at(-1)}`;
}

function factList(hand) {
  const brings = h("dt"), brought = h("dd"), leaves = h("dt"), taken = h("dd"), which = h("dt"), ratio = h("dd");
  const list = h("dd"), edits = h("dl", { class: "tf-list" }, h("div", {}, h("dt", {}, "added to scores"), list)), remark = h("p", { class: "tf-remark" });
  const cells = ["ratio1", "ratio2", "ratio-alone"].map(reading);
  const el = h("div", {}, h("dl", { class: "tf-list" }, h("div", {}, brings, brought), h("div", {}, leaves, taken),
    h("div", {}, which, ratio)), remark);
  const named = (vector) => vector.map((value, i) => (Math.abs(value) > 1e-9 ? `${hand.features[i]} ${fmt(value)}` : ""))
    .filter(Boolean).join(", ") || "nothing: its vector is zero";
  const factors = ([a, b], at, biases) => [1, 2].flatMap((layer) => {
    const more = added(biases, layer, at, a) - added(biases, layer, at, b);
    return more ? [h("br"), `In layer ${layer} the bias multiplies it by `, h("i", {}, "e"), h("sup", {}, signed(more)), ` = ${fmt(Math.exp(more))}.`] : [];
  });
  const update = (tokens, at, vectors, layer, biases) => {
    const word = tokens[at] ?? "", said = changes(tokens, biases);
    brings.textContent = tokens.length ? `“${word}” comes to layer ${layer} with` : "no word comes";
    leaves.textContent = tokens.length ? "and leaves it with" : "and none leaves";
    brought.textContent = tokens.length ? named(vectors[layer - 1][at]) : "";
    taken.textContent = tokens.length ? named(vectors[layer][at]) : "";
    edits.style.display = said.length ? "" : "none";
    list.replaceChildren(...said.map((text) => h("span", { class: "tf-ratio" }, text)));
    const found = tokens.length ? ratios(tokens, at, hand, biases) : null;
    which.textContent = found ? `ratio ${found.nouns.join(" : ")}` : "ratio of two nouns";
    if (!found) ratio.textContent = "there are no two nouns to compare";
    else {
      found.values.forEach((value, i) => cells[i].show(value, fmt(value)));
      ratio.replaceChildren(...cells.map((cell, i) => h("span", { class: "tf-ratio" }, PLACES[i], cell)));
    }
    remark.textContent = found
      ? `In a single head this ratio depends on the rows of ${listed([word, ...found.nouns])} alone, as they enter the layer; in layer 1 no other word can change it.` : "";
    if (found) remark.append(...factors(found.places, at, biases));
  };
  return { el, edits, update };
}

export default { render };
