// One view of the machine: every array from a text to the next word, and how each number was made.

export const core = {
  tidied,
  refusal: (text) => refusal(machine(), text),
  arraysOf: (text, cut) => everyArray(machine(), indices(machine(), text), cut),
  madeOf: (text, part, row, column) => {
    const all = everyArray(machine(), indices(machine(), text), []), { terms, value } = made(part, all, row, column, text.split(" "));
    return { sum: terms.reduce((sum, term) => sum + term.number, 0), count: terms.length, value };
  },
};

const TRAITS = ["text", "part", "row", "column", "cut"], LARGEST = 3, DIGITS = { count: 0, weight: 3, chance: 3 };
const TONES = { weight: "weight", chance: "accent", count: "accent" };
const ONE = { scores: "score", masked: "masked score", weights: "weight", logits: "logit", probabilities: "probability", tokens: "token" };
let opened = null;
const machine = () => (opened ??= unpack(HELD));

/** Every array by its name, a row for each word; in a layer, `cut` hides words from one that asks. */
function everyArray({ E, P, blocks, U }, tokens, cut) {
  const d = E[0].length, times = (x, table) => x.map((row) => timesTable(row, table)), add = (x, y) => x.map((row, t) => plus(row, y[t]));
  const all = { tokens: tokens.map((token) => [token]), "E[x]": tokens.map((token) => E[token]), P: tokens.map((_, t) => P[t]) };
  let h = (all["h 0"] = add(all["E[x]"], all.P));
  blocks.forEach(([Q, K, V, O, A, B], layer) => {
    const put = (name, side, x) => (all[`${name} ${layer + 1}${side}`] = x);
    const hidden = (t, s) => s > t || cut.some(([at, asks, asked]) => at === layer && asks === t && asked === s);
    const x = put("norm(h)", "a", h.map(normed)), [q, k, v] = [Q, K, V].map((table, i) => put("qkv"[i], "", times(x, table)));
    const scores = put("scores", "", q.map((ask) => k.map((key) => product(ask, key) / Math.sqrt(d))));
    const masked = put("masked", "", scores.map((row, t) => row.map((score, s) => (hidden(t, s) ? -Infinity : score))));
    const weights = put("weights", "", masked.map((row) => softmax(row)));
    const mixed = put("mixed", "", times(weights, v));
    h = put("h", "a", add(h, put("change", "a", times(mixed, O))));
    const units = put("units", "", times(put("norm(h)", "b", h.map(normed)), A).map((row) => row.map((unit) => Math.max(unit, 0))));
    h = put("h", "b", add(h, put("change", "b", times(units, B))));
  });
  all.logits = times((all["norm(h) 3"] = h.map(normed)), U);
  all.p = all.logits.map((row) => softmax(row));
  return all;
}

/** A table of the machine by its name: E, P, U, or a letter and a block. */
function tableOf(name) {
  const [letter, block] = name.split(" ");
  return block ? machine().blocks[block - 1]["QKVOAB".indexOf(letter)] : machine()[letter];
}

/** How a number was made: terms that are added up, and in words what is done with their sum. */
function made({ how, of, id }, all, t, j, words) {
  const x = all[of[0]], y = all[of[1]], value = all[id][t][j];
  const done = (said, terms = []) => ({ said, terms, value });
  const products = (row, column, name) => row.map((a, i) => ({ name: name(i), a, b: column[i], number: a * column[i] }));
  const number = (i) => `number ${i}`, total = (terms) => fmt(terms.reduce((sum, term) => sum + term.number, 0));
  if (how === "token") return done(`“${words[t]}” stands at place ${value} in the list of ${machine().words.length} words, counted from 0.`);
  if (how === "row") return done(`Number ${j} in row ${all.tokens[t][0]} of E, a parameter. Training has set it.`);
  if (how === "place") return done(`Number ${j} in row ${t} of P, a parameter. Training has set it.`);
  if (how === "sum") return done("Two numbers are added.", [x, y].map((array, i) => ({ name: id === "h 0" ? of[i] : ["before", "change"][i], number: array[t][j] })));
  if (how === "norm") return done(`${fmt(x[t][j])} is divided by ${fmt(x[t][j] / value)}, the root mean square of its row (10⁻⁶ is added under the root).`);
  if (how === "mask") {
    if (value === -Infinity) return done(j > t ? "This word comes later, so its score becomes −∞." : "You have cut this weight, so the score becomes −∞.");
    return done("This word may be seen, so its score stays.");
  }
  if (how === "softmax") {
    if (x[t][j] === -Infinity) return done("e to the power −∞ is 0.");
    const [power, sum] = [Math.exp(x[t][j]), Math.exp(x[t][j]) / value].map((one) => fmt(one, decimals(one)));
    return done(`e to the power ${fmt(x[t][j])} is ${power}. It is divided by ${sum}, the sum of these powers over the row.`);
  }
  if (how === "dot") {
    const terms = products(x[t], y[j], number);
    return done(`${terms.length} products q × k add up to ${total(terms)}. Divided by √32: ${fmt(value)}.`, terms);
  }
  const column = (y ?? tableOf(of[1])).map((row) => row[j]), mix = how === "mix";
  const terms = products(x[t], column, mix ? (i) => `“${words[i]}”` : number);
  if (mix) return done(`Number ${j} of each value, times the weight of its word, added up.`, terms.slice(0, t + 1));
  const said = `${terms.length} products of the row with column ${j} of ${of[1].split(" ")[0]} add up to ${total(terms)}`;
  return done(how === "relu" ? `${said}. ReLU makes negative sums 0.` : `${said}.`, terms);
}

function render({ model, el }) {
  const root = frame(el, "tf-view", "One view of the machine", "Press an array, then a number in it.");
  const parts = model.get("parts"), start = traits(model, TRAITS), partOf = (id) => parts.find((part) => part.id === id);
  const live = voice(), crumbs = h("nav", { class: "tf-view-crumbs", "aria-label": "Where you are" }), stage = h("div", { class: "tf-view-stage" });
  let all = null, words = [];
  const go = (part, row = -1, column = -1) => assign(model, { row, column, part }); // the array last: it opens at its number
  const map = wholeMap(parts, model.get("groups"), (id) => {
    go(id);
    stage.querySelector("[tabindex='0']")?.focus({ preventScroll: true });
    crumbs.scrollIntoView({ block: "nearest" });
  });
  const back = () => {
    const id = model.get("part");
    go("");
    map.focus(id);
  };
  const zoom = oneArray(model, go, live);
  const read = (text) => { assign(model, { text: tidied(text), row: -1, column: -1 }); typing.show(); };
  const typing = textField(model, read, root);
  const write = () => read(`${model.get("text")} ${likeliest(machine().words, all.p.at(-1), 1)[0][0]}`);
  const next = button("write", write), cutNote = h("span", { class: "tf-view-cuts" });
  next.setAttribute("aria-label", "write the likeliest next word");
  const examples = Object.entries(model.get("examples")).map(([name, text]) => button(name, () => read(text)));
  const reset = button("reset", () => { assign(model, start); typing.show(); });
  const restore = button("restore", () => { assign(model, { cut: [] }); next.focus(); });
  const draw = () => {
    const { text, part, cut } = traits(model, TRAITS), tokens = indices(machine(), text), chosen = partOf(part);
    words = text.split(" ");
    all = everyArray(machine(), tokens, cut);
    next.disabled = words.length >= machine().P.length;
    cutNote.replaceChildren(...cut.filter(([, asks]) => asks < words.length).map(([layer, asks, asked]) => `cut in block ${layer + 1}: “${words[asks]}” → “${words[asked]}” `), ...(cut.length ? [restore] : []));
    examples.forEach((one, i) => one.setAttribute("aria-pressed", Object.values(model.get("examples"))[i] === text));
    crumbs.replaceChildren(...trail(parts, chosen, model.get("groups"), back, go));
    if (chosen) zoom.update(chosen, all, words);
    else map.update(all, words);
    const now = chosen ? zoom.el : map.el;
    typing.list.hidden = Boolean(chosen);
    if (stage.firstChild !== now) stage.replaceChildren(now);
  };
  root.addEventListener("keydown", (event) => {
    if (event.key !== "Escape" || !model.get("part")) return;
    event.preventDefault();
    back();
  });
  root.append(typing.el, h("div", { class: "tf-view-buttons", role: "group", "aria-label": "Texts" }, ...examples, next, reset, cutNote),
    crumbs, stage, typing.list, live);
  const stop = follow(model, TRAITS, draw), paint = () => map.paint();
  const watch = new MutationObserver(paint), paper = matchMedia("print");
  watch.observe(document.documentElement, { attributeFilter: ["data-theme"] });
  watch.observe(document.body, { attributeFilter: ["data-jp-theme-light"] });
  paper.addEventListener("change", paint);
  return () => { stop(); watch.disconnect(); paper.removeEventListener("change", paint); };
}

/** Where a text is typed, what is said of one that cannot be read, and the words that can. */
function textField(model, read, root) {
  const reply = h("p", { class: "tf-view-reply", role: "status" });
  const note = (why) => {
    reply.textContent = why;
    root.classList.toggle("tf-view-unread", Boolean(why));
  };
  const input = h("textarea", { rows: 2, class: "tf-input tf-view-text", autocomplete: "off", spellcheck: "false", maxlength: 300, "aria-label": "The text",
    input: () => { const why = refusal(machine(), input.value); if (why) note(why); else read(input.value); },
    keydown: (event) => { if (event.key === "Enter") event.preventDefault(); } });
  const show = () => {
    const text = model.get("text");
    if (input !== input.getRootNode().activeElement || tidied(input.value) !== text) input.value = text;
    note("");
  };
  show();
  const list = h("details", { class: "tf-others" }, h("summary", {}, "All words that it knows"), h("p", {}, machine().words.join(", ")));
  return { el: h("div", {}, input, reply), show, list };
}

/** The way back, and the arrays before and after. */
function trail(parts, part, groups, back, go) {
  if (!part) return [h("span", { "aria-current": "true" }, "The whole machine"), h("span", { class: "tf-view-legend" },
    h("i", { class: "tf-view-above" }), " above 0 ", h("i", { class: "tf-view-below" }), " below 0 ", h("i", { class: "tf-view-amber" }), " weights")];
  const at = parts.indexOf(part), step = (side, other, text) => (other ? [h("button", { type: "button", class: `tf-view-step tf-view-${side}`, click: ({ currentTarget }) => {
    const line = currentTarget.closest("nav");
    go(other.id);
    (line.querySelector(`.tf-view-${side}`) ?? line.querySelector("button")).focus();
  } }, text(other.name))] : []);
  return [h("button", { type: "button", class: "tf-view-back", click: back }, "The whole machine"), " › ", groups[part.group], " › ", h("b", { "aria-current": "true" }, part.name),
    h("span", { class: "tf-view-steps" }, ...step("before", parts[at - 1], (name) => `← ${name}`), ...step("after", parts[at + 1], (name) => `${name} →`))];
}

/** All arrays as pictures, a line for each part of the machine; Tab stops once, arrow keys lead through. */
function wholeMap(parts, groups, open) {
  const about = h("p", { class: "tf-view-about", "aria-hidden": "true" }), guess = guessBars();
  const pictures = parts.map((part) => {
    const canvas = h("canvas", { "aria-hidden": "true" });
    const tell = () => { about.replaceChildren(h("b", {}, `${part.name} = ${part.formula}`), `, ${shape}. ${part.status}: ${part.said}`);
      pictures.forEach((other) => other.el.classList.toggle("tf-view-source", part.of.includes(other.part.id))); };
    let shape = "";
    const el = h("button", { type: "button", class: `tf-view-picture tf-view-of-${part.columns} tf-view-${part.colour}`, click: () => open(part.id), focus: tell, pointerenter: tell },
      canvas, h("span", { class: "tf-view-name" }, part.caption), " ", h("span", { class: "tf-view-more" }, part.formula));
    const update = (array) => {
      shape = shapeOf(part, array);
      el.setAttribute("aria-label", `${groups[part.group]}: ${part.caption} ${part.formula}, ${shape}`);
    };
    return { part, el, canvas, update };
  });
  const lines = groups.map((_, i) => pictures.filter(({ part }) => part.group === i));
  const hint = "Each picture is an array: a row for each word of the text. Point at one to read what it is, or press it to see its numbers.";
  const table = h("div", { class: "tf-view-lines" }, ...lines.map((line, i) => h("div", { class: "tf-view-line", role: "group", "aria-label": groups[i] },
    h("span", { class: "tf-view-group", "aria-hidden": "true" }, groups[i]), h("div", { class: "tf-view-pictures" }, ...line.map(({ el }) => el)), ...(i === groups.length - 1 ? [guess.el] : []))));
  roving(table)(lines.map((line) => line.map(({ el }) => el)), pictures[0].el);
  let shown = null;
  const paint = () => { if (shown) pictures.forEach(({ part, canvas }) => drawn(canvas, shown[part.id], part.colour)); };
  const update = (all) => {
    shown = all;
    pictures.forEach((one) => one.update(all[one.part.id]));
    about.textContent = hint;
    guess.update(likeliest(machine().words, all.p.at(-1), LARGEST));
    requestAnimationFrame(paint); // the colours are known once it stands in the page
  };
  return { el: h("div", {}, table, about), update, paint, focus: (id) => pictures.find(({ part }) => part.id === id)?.el.focus() };
}

/** The number farthest from zero, infinities apart. */
const most = (array) => Math.max(1e-12, ...array.map((row) => Math.max(...row.map((x) => (Number.isFinite(x) ? Math.abs(x) : 0)))));

/** What is darkest in a picture: the largest number, or the larger ones where one would make all others pale. */
function darkest(array, colour) {
  const sizes = array.flat().map((x) => (Number.isFinite(x) ? Math.abs(x) : 0)).sort((a, b) => a - b);
  return colour in TONES ? most(array) : Math.max(1e-12, sizes[Math.floor(0.98 * sizes.length)]);
}

/** An array as a picture, a point for each number; colours are those of the page now. */
function drawn(canvas, array, colour) {
  const style = getComputedStyle(canvas), context = canvas.getContext("2d"), top = darkest(array, colour);
  const tone = (name) => style.getPropertyValue(`--tf-${name}`).trim().match(/[\da-f]{2}/gi)?.map((two) => parseInt(two, 16)) ?? [0, 0, 0];
  const [above, below] = ["blue", "vermillion"].map((name) => tone(TONES[colour] ?? name));
  [canvas.width, canvas.height] = [array[0].length, array.length];
  const image = context.createImageData(canvas.width, canvas.height);
  array.flat().forEach((x, i) => image.data.set([...(x < 0 ? below : above), x === -Infinity ? 0 : 255 * Math.abs(x) / top], 4 * i));
  context.putImageData(image, 0, 0);
}

/** One array with its numbers: what it is, what is known of it, and how the chosen number was made. */
function oneArray(model, go, live) {
  const head = h("p", { class: "tf-view-head" }), shown = h("p", { class: "tf-view-shown" }), lens = h("p", { class: "tf-view-shown" });
  const table = h("table", { class: "tf-view-grid", role: "grid" }), reading = h("div", { class: "tf-view-reading" }), rove = roving(table);
  const scroll = h("div", { class: "tf-view-scroll" }, table), el = h("div", { class: "tf-view-zoom" }, head, shown, lens, scroll, reading);
  let part = null, all = null, words = [], numbers = [], built = "";
  const place = (target) => {
    const t = numbers.findIndex((line) => line.includes(target));
    return t < 0 ? null : [t, numbers[t].indexOf(target)];
  };
  const tell = (t, j) => reading.replaceChildren(...told(part, all, words, t, j, model, go));
  const chosen = () => {
    const { row, column } = traits(model, ["row", "column"]), array = all[part.id], last = array.length - 1, t = row < 0 ? last : Math.min(row, last);
    const sizes = array[t].map((x) => (Number.isFinite(x) ? Math.abs(x) : -1));
    return [t, column < 0 ? sizes.indexOf(Math.max(...sizes)) : Math.min(column, array[t].length - 1)];
  };
  table.addEventListener("focusin", ({ target }) => {
    const at = place(target);
    if (!at) return;
    assign(model, { row: at[0], column: at[1] });
    const { said, value } = made(part, all, ...at, words);
    live.say(`${nameOf(part, words, ...at)}: ${fmt(value, 3)}. ${said}`);
  });
  table.addEventListener("pointerover", ({ target, pointerType }) => {
    const at = pointerType === "mouse" && place(target);
    if (at) tell(...at);
  });
  reading.addEventListener("click", ({ target }) => { // its buttons are gone by now
    if (target.closest("button")) table.querySelector("[tabindex='0']")?.focus({ preventScroll: true });
  });
  table.addEventListener("pointerleave", () => tell(...chosen()));
  const build = () => {
    const array = all[part.id], top = most(array), { columns, colour } = part, digits = DIGITS[colour] ?? 2;
    const heads = { asked: words, words: machine().words }[columns] ?? array[0].map((_, j) => String(j));
    const cell = (x) => {
      const one = h("td", { class: `tf-view-cell ${x < 0 ? "tf-view-below" : "tf-view-above"} ${x === -Infinity ? "tf-view-hidden" : ""}`, tabindex: -1 }, x === 0 ? "0" : fmt(x, digits));
      one.style.setProperty("--tf-share", (Number.isFinite(x) ? Math.abs(x) / top : 0).toFixed(3));
      return one;
    };
    numbers = array.map((row) => row.map(cell));
    const rows = numbers.map((line, t) => h("tr", {}, h("th", { scope: "row" }, h("span", {}, words[t]), ` ${t}`), ...line));
    const corner = h("td", {}, { asked: "asks ↓ asked →", words: "after ↓ next →" }[columns] ?? "word ↓");
    table.className = `tf-view-grid tf-view-${colour} tf-view-of-${columns}`;
    table.setAttribute("aria-label", `${part.name}: ${array.length} rows, ${array[0].length} columns`);
    table.replaceChildren(h("thead", {}, h("tr", {}, corner, ...heads.map((name) => h("th", { scope: "col" }, h("span", {}, name))))), h("tbody", {}, ...rows));
    head.replaceChildren(h("b", {}, part.name), ` = ${part.formula}, ${shapeOf(part, array)}. In the forty lines: `, h("code", {}, part.code), ". ",
      link(`${part.page}.html`, `Chapter ${Number(part.page.slice(0, 2))}`), ".");
    shown.replaceChildren(h("b", {}, `${part.status}: `), part.said, ...(part.source ? [" ", link(part.source, "See where.")] : []));
    const best = part.lens && likeliest(machine().words, softmax(timesTable(normed(array.at(-1)), machine().U)), 1)[0];
    lens.replaceChildren(...(best ? [h("b", {}, "Logit lens: "), `read with U now, the last row says “${best[0]}” with probability `, measured("lens", best[1], 3), "."] : []));
  };
  /** Bring a number to the middle of what is seen of the array; the page stays where it is. */
  const bring = (one) => {
    if (!one) return;
    scroll.scrollTop = one.offsetTop - scroll.clientHeight / 2;
    scroll.scrollLeft = one.offsetLeft - scroll.clientWidth / 2;
  };
  const update = (newPart, newAll, newWords) => {
    const { text, part: id, cut } = traits(model, ["text", "part", "cut"]), key = JSON.stringify([text, id, cut]);
    [part, all, words] = [newPart, newAll, newWords];
    if (built !== key) build();
    const [t, j] = chosen(), old = table.querySelector("[aria-selected]");
    old?.removeAttribute("aria-selected");
    numbers[t][j].setAttribute("aria-selected", "true");
    if (built !== key) {
      rove(numbers, numbers[t][j]);
      requestAnimationFrame(() => bring(numbers[t]?.[j]));
    }
    built = key;
    tell(t, j);
  };
  return { el, update };
}

const COLUMNS = { numbers: "numbers", asked: "words", units: "hidden units", words: "words of the list", token: "token" };
/** The shape of an array, and what its axes are. */
const shapeOf = ({ columns }, array) => `${array.length} × ${array[0].length} (words × ${COLUMNS[columns]})`;

/** A number whose exact value can be read. */
function measured(name, value, digits = 2) {
  const el = reading(name);
  el.show(value, fmt(value, digits));
  return el;
}

/** How a number is called: of what, and of which word. */
function nameOf({ columns, name }, words, t, j) {
  const one = ONE[name] ?? name;
  if (columns === "asked") return `${one} of “${words[j]}” for the query of “${words[t]}”`;
  if (columns === "words") return `${one} of “${machine().words[j]}” after “${words[t]}”`;
  if (columns === "token") return `${one} of “${words[t]}”`;
  return `${columns === "units" ? `hidden unit ${j}` : `number ${j} of ${name}`} of “${words[t]}”`;
}

/** What the chosen number is and how it was made: its terms as bars, the largest in numbers, and where they come from. */
function told(part, all, words, t, j, model, go) {
  const { said, terms, value } = made(part, all, t, j, words), top = Math.max(1e-12, ...terms.map((term) => Math.abs(term.number)));
  const bars = h("svg", { class: "tf-view-bars", viewBox: `0 0 ${Math.max(1, terms.length)} 2`, preserveAspectRatio: "none", "aria-hidden": "true" },
    ...terms.map(({ number }, i) => h("rect", { class: number < 0 ? "tf-view-below" : "tf-view-above", x: i + 0.1, width: 0.8,
      y: number < 0 ? 1 : 1 - number / top, height: Math.abs(number) / top })));
  const sorted = [...terms].sort((a, b) => Math.abs(b.number) - Math.abs(a.number)), few = sorted.slice(0, LARGEST), rest = sorted.slice(LARGEST);
  const sums = few.map(({ name, a, b, number }) => `${name}: ${a === undefined ? "" : `${fmt(a)} × ${fmt(b)} = `}${fmt(number)}`);
  if (rest.length) sums.push(`the other ${rest.length} together: ${fmt(rest.reduce((sum, term) => sum + term.number, 0))}`);
  const sources = sourcesOf(part, t, j).filter(([id]) => all[id]).map(([id, ...at]) => button(`see ${model.get("parts").find((one) => one.id === id).name}`, () => go(id, ...at)));
  return [h("p", { class: "tf-view-value" }, h("b", {}, nameOf(part, words, t, j)), " = ", measured("view-number", value, DIGITS[part.colour] ?? 3)),
    h("p", {}, said), ...(terms.length > 2 ? [bars] : []), h("p", { class: "tf-view-terms" }, sums.length ? `${sums.join("; ")}.` : ""),
    h("div", { class: "tf-view-buttons" }, ...sources, ...cutting(part, all, t, j, model))];
}

/** The arrays that a number was made from, each with the place to look at. */
function sourcesOf({ how, of }, t, j) {
  if (how === "dot") return [[of[0], t, -1], [of[1], j, -1]];
  if (["product", "relu", "mix"].includes(how)) return [[of[0], t, -1], ...(how === "mix" ? [[of[1], t, j]] : [])];
  return how === "row" || how === "token" ? [[of[0], t, 0]] : of.map((id) => [id, t, j]);
}

/** A button that sets a weight to zero, or takes that back; the last word in sight stays. */
function cutting({ id, columns }, all, t, j, model) {
  const layer = Number(id.at(-1)) - 1, cut = model.get("cut"), here = (place) => place.join() === [layer, t, j].join();
  if (columns !== "asked" || id.startsWith("scores") || j > t) return [];
  if (cut.some(here)) return [button("restore this weight", () => assign(model, { cut: cut.filter((place) => !here(place)) }))];
  const seen = all[`masked ${layer + 1}`][t].filter((score) => score > -Infinity).length;
  return seen > 1 ? [button("cut this weight", () => assign(model, { cut: [...cut, [layer, t, j]] }))] : [];
}

export default { render };
