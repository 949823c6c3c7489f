// A small trained machine, and arcs above and below a line of words that say where they look.

/** The tables that tformer_book.chapters.ch00.engine has written as text: 16 bits of each number, and 4 more. */
function unpack({ words, shapes, units, high, low }) {
  const bytes = (text) => Uint8Array.from(atob(text), (c) => c.charCodeAt(0));
  const upper = new Int16Array(bytes(high).buffer), lower = bytes(low);
  let at = 0;
  const tables = shapes.map(([n, m], i) => Array.from({ length: n }, () => Array.from({ length: m }, () => {
    const four = (lower[at >> 1] >> (4 * (at & 1))) & 15;
    return units[i] * (16 * upper[at++] + four);
  })));
  const [E, P, U, ...rest] = tables;
  const blocks = Array.from({ length: rest.length / 6 }, (_, i) => rest.slice(6 * i, 6 * i + 6));
  return { words, E, P, U, blocks };
}

/** Words in lower case, parted by spaces, after a full stop. */
function tidied(text) {
  const words = text.toLowerCase().match(/[a-z]+|\./g) ?? [];
  return (words[0] === "." ? words : [".", ...words]).join(" ");
}

/** Why the machine cannot read a text; nothing if it can. */
function refusal({ words, P }, text) {
  const all = tidied(text).split(" "), strange = [...new Set(all.filter((word) => !words.includes(word)))];
  if (strange.length) return `It does not know ${strange.map((word) => `“${word}”`).join(", ")}. All ${words.length} words that it knows are listed below.`;
  return all.length > P.length ? `It has ${P.length} positions, and these are ${all.length} words and full stops.` : "";
}

/** The numbers of the words of a text. */
const indices = ({ words }, text) => tidied(text).split(" ").map((word) => words.indexOf(word));

/** A link to a page of the book; only the published book has its pages beside this one. */
const link = (href, text) => (window.widgetCode ? h("a", { href }, text) : h("span", {}, text));

const plus = (a, b) => a.map((x, i) => x + b[i]);
const product = (a, b) => a.reduce((sum, x, i) => sum + x * b[i], 0);
const normed = (x) => x.map((v) => v / Math.sqrt(product(x, x) / x.length + 1e-6));

/** A row times a table. */
function timesTable(x, table) {
  const y = new Array(table[0].length).fill(0);
  x.forEach((v, i) => { if (v) table[i].forEach((w, j) => { y[j] += v * w; }); });
  return y;
}

/** Numbers of words to the weights of each layer and the chances of every next word after each. */
function readTokens({ E, P, U, blocks }, tokens) {
  const d = E[0].length, weights = [];
  let h = tokens.map((token, t) => plus(E[token], P[t]));
  for (const [Q, K, V, O, A, B] of blocks) {
    const x = h.map(normed), [q, k, v] = [Q, K, V].map((table) => x.map((one) => timesTable(one, table)));
    const look = q.map((ask, t) => softmax(k.slice(0, t + 1).map((key) => product(ask, key) / Math.sqrt(d))));
    const seen = look.map((row) => row.reduce((sum, p, s) => plus(sum, v[s].map((c) => p * c)), new Array(d).fill(0)));
    h = h.map((one, t) => plus(one, timesTable(seen[t], O)));
    h = h.map((one) => plus(one, timesTable(timesTable(normed(one), A).map((lamp) => Math.max(lamp, 0)), B)));
    weights.push(look);
  }
  return { weights, p: h.map((one) => softmax(timesTable(normed(one), U))) };
}

/** The likeliest words, with their chances. */
const likeliest = (words, p, n) => [...p.keys()].sort((i, j) => p[j] - p[i]).slice(0, n).map((i) => [words[i], p[i]]);

/** A line of words with room for arcs: layer 2 above, layer 1 below; where it is narrow the words stand in a column. */
function arcLine(pick) {
  const sides = ["above", "below", "left", "right"].map((name) => h("svg", { class: `tf-looks-${name}`,
    viewBox: ["left", "right"].includes(name) ? "0 0 130 1000" : "0 0 1000 130", preserveAspectRatio: "none", "aria-hidden": "true" }));
  const [above, below, left, right] = sides, line = h("div", { class: "tf-arc-words" });
  const el = h("div", { class: "tf-arc-stage" }, above, left, line, right, below);
  if (!pick) Object.entries({ role: "group", "aria-label": "The sentence, with arcs" }).forEach(([k, v]) => el.setAttribute(k, v));
  let all = [], middles = [];
  const build = (tokens) => {
    all = tokens.map((_, t) => (pick ? h("button", { type: "button", class: "tf-arc-word", click: () => pick(t) })
      : h("span", { class: "tf-arc-word" })));
    line.replaceChildren(...all);
  };
  /** A long word has a wider column; arcs begin and end at the middles. */
  const measure = (tokens) => {
    const widths = tokens.map((token) => Math.max(2.8, token.length + 1.6)), sum = widths.reduce((a, b) => a + b, 0);
    let end = 0;
    middles = widths.map((width) => (1000 * ((end += width) - width / 2)) / sum);
    line.style.gridTemplateColumns = widths.map((width) => `minmax(0, ${width}fr)`).join(" ");
  };
  const curve = ([t, s, share], end, down) => {
    const [x, to] = [t, s].map((i) => (down ? (1000 * (i + 0.5)) / all.length : middles[i])), put = (a, b) => (down ? `${b} ${a}` : `${a} ${b}`);
    const rise = Math.min(150, 26 + 0.19 * Math.abs(x - to)), top = end ? end - rise : rise;
    const path = h("path", { d: `M${put(x, end)}C${put(x, top)} ${put(to, top)} ${put(to, end)}` });
    path.style.strokeWidth = `${(0.6 + 9 * share).toFixed(2)}px`;
    path.style.opacity = (0.25 + 0.7 * share).toFixed(3);
    return path;
  };
  /** Arcs are triples: from the place, to the place, how strong. */
  const update = (tokens, at, over, under, told) => {
    if (all.length !== tokens.length) build(tokens);
    measure(tokens);
    all.forEach((word, t) => {
      word.textContent = tokens[t];
      word.classList.toggle("tf-asks", t === at);
      if (pick) {
        word.setAttribute("aria-pressed", t === at);
        word.setAttribute("aria-label", told(t));
      }
    });
    for (const [svg, arcs, end, down] of [[above, over, 130, false], [below, under, 0, false], [right, over, 0, true], [left, under, 130, true]]) {
      svg.replaceChildren(...arcs.filter(([t, s, share]) => t !== s && share > 0.03).map((arc) => curve(arc, end, down)));
    }
  };
  return { el, update, words: () => all };
}

/** On which side the arcs of a layer are, in words: which of the two is said, the room decides. */
const side = (layer) => [h("span", { class: "tf-if-line" }, layer === 1 ? "below" : "above"), h("span", { class: "tf-if-column" }, layer === 1 ? "left" : "right")];

/** Bars of the likeliest words. */
function guessBars() {
  const el = h("ol", { class: "tf-guess-list", "aria-label": "Likeliest next words" });
  const update = (pairs, right) => el.replaceChildren(...pairs.map(([word, p]) => {
    const fill = h("span", { class: "tf-guess-fill" }), number = reading("guess");
    fill.style.width = `${100 * p}%`;
    number.show(p, fmt(p, 3));
    return h("li", { class: word === right ? "tf-right-guess" : "" }, h("span", {}, word), h("span", { class: "tf-guess-bar" }, fill), number);
  }));
  return { el, update };
}
