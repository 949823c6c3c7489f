// All queries of a sentence at once: the table of scores and the table of weights.

const SIDE = 15, LEFT = 56, TOP = 54; // of a heat map, in its own units

function heatMaps(model) {
  const note = h("p", { class: "tf-heat-note" }), hint = "Point at a square to read it; press it, and the word of its row asks.";
  const tell = (text) => { note.textContent = text ?? hint; };
  const both = ["scores", "weights"].map((name) => heatMap(model, name, tell));
  tell(null);
  const el = h("div", {}, note, h("div", { class: "tf-maps" }, ...both.map((one) => one.el)));
  return { el, update: (found) => both.forEach((one) => one.update(found)) };
}

/** The table of all scores, or of all weights; a touch of a row lets that word ask. */
function heatMap(model, name, tell) {
  const svg = h("svg", { class: `tf-heat tf-heat-${name}`, role: "img" }), chosen = h("rect", { class: "tf-chosen", rx: 2 });
  const el = h("figure", { class: "tf-heat-figure" }, h("figcaption", {}, name === "scores" ? "scores of all words" : "weights of all words"), svg);
  let cells = [], labels = [], shown = null;
  const build = (n) => {
    const word = (turned, i) => h("text", turned ? { transform: `translate(${LEFT + (i + 0.7) * SIDE} ${TOP - 5}) rotate(-60)` }
      : { x: LEFT - 5, y: TOP + (i + 0.75) * SIDE, "text-anchor": "end" });
    labels = [0, 1].map((turned) => Array.from({ length: n }, (_, i) => word(turned, i)));
    cells = Array.from({ length: n * n }, (_, i) => {
      const t = Math.floor(i / n), s = i % n;
      return h("rect", { x: LEFT + s * SIDE, y: TOP + t * SIDE, width: SIDE - 1, height: SIDE - 1, rx: 1.5,
        click: () => assign(model, { selected: t }), pointerleave: () => tell(null),
        pointerenter: () => tell(`${name.slice(0, -1)} of “${shown.tokens[s]}” for the query of “${shown.tokens[t]}”: ${fmt(shown[name][t][s], 3)}`) });
    });
    svg.setAttribute("viewBox", `0 0 ${LEFT + n * SIDE + 26} ${TOP + n * SIDE + 2}`);
    svg.replaceChildren(...labels.flat(), ...cells, chosen);
  };
  const update = (found) => {
    const { tokens, at } = found, n = tokens.length, most = name === "scores" ? Math.max(1e-9, ...found.scores.flat()) : 1;
    shown = found;
    if (cells.length !== n * n) build(n);
    labels.forEach((line) => line.forEach((one, i) => { one.textContent = tokens[i]; }));
    labels[0].forEach((one, i) => one.classList.toggle("tf-asks", i === at));
    cells.forEach((one, i) => one.style.setProperty("--tf-share", Math.max(0, found[name][Math.floor(i / n)][i % n] / most).toFixed(3)));
    for (const [key, value] of Object.entries({ x: LEFT - 1.5, y: TOP + at * SIDE - 1.5, width: n * SIDE + 2, height: SIDE + 2 })) chosen.setAttribute(key, value);
    svg.setAttribute("aria-label", `${name} of all ${n} words as a table; row “${tokens[at]}” is outlined`);
  };
  return { el, update };
}
