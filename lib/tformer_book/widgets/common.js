// Helpers of all widgets, put in front of each widget's own module.

const DRAWN = new Set(["svg", "g", "line", "path", "circle", "text", "tspan", "polygon", "rect"]);

/** An element with attributes (or, as functions, listeners) and children. */
function h(tag, attributes = {}, ...children) {
  const el = DRAWN.has(tag)
    ? document.createElementNS("http://www.w3.org/2000/svg", tag)
    : document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) {
    if (typeof value === "function") el.addEventListener(name, value);
    else if (value !== false && value != null) el.setAttribute(name, value === true ? "" : value);
  }
  el.append(...children);
  return el;
}

/** A number with a fixed count of decimals, a true minus sign and no negative zero. */
function fmt(x, digits = 2) {
  if (Number.isNaN(x)) return "undefined";
  if (!Number.isFinite(x)) return x > 0 ? "∞" : "−∞";
  const text = x.toFixed(digits);
  return Number(text) === 0 ? text.replace("-", "") : text.replace("-", "−");
}

/** A cell that shows a number: the text is rounded, the value attribute is exact. */
function reading(name) {
  const el = h("data", { class: `tf-number tf-${name}` });
  el.show = (value, text) => {
    el.value = String(value);
    el.textContent = text;
  };
  return el;
}

/** Such cells, by name. */
const cells = (names) => Object.fromEntries(names.map((name) => [name, reading(name)]));

/** A row of a list of facts: a term, and what is said of it. */
const row = (term, ...values) => h("div", {}, h("dt", {}, term), h("dd", {}, ...values));

/** A button of the row below a widget. */
const button = (text, click) => h("button", { type: "button", class: "tf-button", click }, text);

/** The row of examples, pairs of a name and the traits that it sets, and the way back to the start. */
const examples = (model, start, pairs) =>
  h("div", { class: "tf-actions", role: "group", "aria-label": "Examples" },
    ...[...pairs, ["reset", start]].map(([name, traits]) => button(name, () => assign(model, traits))));

/** A name that no other widget of the page has. */
const unique = (name) => `${name}${Math.random().toString(36).slice(2)}`;

/** The outer element, with a title and what to try; Jupyter's shortcuts keep out of it, so that arrow keys arrive. */
function frame(el, name, label, hint = "") {
  const root = h("div", {
    class: `tf-widget ${name}`, role: "group", "aria-label": label, "data-lm-suppress-shortcuts": "true",
  });
  if (hint) root.append(h("p", { class: "tf-figure-title" }, h("b", {}, `${label}.`), ` Try this: ${hint}`));
  el.append(root);
  return root;
}

/** A polite voice for screen readers: it says the last text, once the reader pauses. */
function voice() {
  const el = h("p", { class: "tf-voice", role: "status" });
  let timer = 0;
  el.say = (text) => {
    clearTimeout(timer);
    timer = setTimeout(() => { el.textContent = text; }, 600);
  };
  return el;
}

/** Call update now and whenever one of the traits changes; returns how to stop. */
function follow(model, names, update) {
  const events = names.map((name) => `change:${name}`);
  events.forEach((event) => model.on(event, update));
  update();
  return () => events.forEach((event) => model.off(event, update));
}

/** The values of several traits, by name. */
const traits = (model, names) => Object.fromEntries(names.map((name) => [name, model.get(name)]));

/** Set several traits and send them. */
function assign(model, traits) {
  for (const [name, value] of Object.entries(traits)) model.set(name, value);
  model.save_changes();
}

/** A slider that reports its number while it moves. */
function slider(label, range, input) {
  return h("input", { type: "range", class: "tf-slider", "aria-label": label, ...range,
    input: (event) => input(event.target.valueAsNumber) });
}

/** Move a slider that reaches from −most to most, and farther where its value does. */
function reach(el, most, value) {
  el.max = Math.max(most, Math.ceil(Math.abs(value)));
  el.min = -el.max;
  el.value = value;
}

/** A line of controls: its name, the control, and what it stands at. */
const dial = (name, control, ...values) => h("div", { class: "tf-dial" },
  h("span", { class: "tf-dial-name", "aria-hidden": "true" }, name), control, h("span", { class: "tf-dial-value" }, ...values));

/** Decimals that leave two or three digits of a positive number. */
const decimals = (x) => (x < 0.095 ? 3 : x < 9.95 ? 2 : x < 99.5 ? 1 : 0);

/** Let a part of a drawing be dragged, by pointer or finger, and moved by arrow keys.
 *
 * `drag` gets the place in the window, `step` a direction (up is +1) and whether Shift is held.
 */
function holdable(el, drag, step) {
  el.addEventListener("pointerdown", (event) => {
    if (event.button) return;
    event.preventDefault();
    el.setPointerCapture(event.pointerId);
    el.focus({ preventScroll: true, focusVisible: false });
  });
  el.addEventListener("pointermove", (event) => {
    if (el.hasPointerCapture(event.pointerId)) drag(event.clientX, event.clientY);
  });
  // A finger drags it and does not scroll the page (Chromium ignores touch-action here).
  el.addEventListener("touchstart", (event) => event.preventDefault(), { passive: false });
  el.addEventListener("keydown", (event) => {
    const by = { ArrowLeft: [-1, 0], ArrowRight: [1, 0], ArrowUp: [0, 1], ArrowDown: [0, -1] }[event.key];
    if (!by) return;
    event.preventDefault();
    step(by, event.shiftKey);
  });
}

/** Radio buttons that choose one of the values of a trait. */
function radioButtons(model, trait, values) {
  const group = unique(trait);
  const all = values.map((value) => h("input", { type: "radio", name: group, value,
    change: () => assign(model, { [trait]: value }) }));
  return { all, update: (now) => all.forEach((radio, i) => { radio.checked = values[i] === now; }) };
}

/** softmax(βx). A row that may look nowhere (all −∞) gives zeros; +∞ or NaN gives NaN. */
function softmax(x, beta = 1) {
  if (!x.length) return [];
  const top = Math.max(...x);
  if (top === -Infinity) return x.map(() => 0);
  const terms = x.map((v) => Math.exp(beta * (v - top)));
  const sum = terms.reduce((a, b) => a + b, 0);
  return terms.map((t) => t / sum);
}

/** Entropy in nats, with 0 log 0 = 0. */
function entropy(p) {
  return p.reduce((sum, x) => sum - (x === 0 ? 0 : x * Math.log(x)), 0);
}

