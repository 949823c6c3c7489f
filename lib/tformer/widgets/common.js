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

/** A button of the row below a widget. */
const button = (text, click) => h("button", { type: "button", class: "tf-button", click }, text);

/** The outer element; Jupyter's shortcuts keep out of it, so that arrow keys arrive. */
function frame(el, name, label) {
  const root = h("div", {
    class: `tf-widget ${name}`, role: "group", "aria-label": label, "data-lm-suppress-shortcuts": "true",
  });
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

