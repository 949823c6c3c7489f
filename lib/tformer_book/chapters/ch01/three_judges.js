// A query to be dragged over a map of words, and three rankings of the words that follow it.

export const core = { judge };

const JUDGES = ["dot", "cosine", "distance"];
const ROW = 26;
const SIGNS = {
  dot: "A word beyond the line would score higher than the winner. There is no such word.",
  cosine: "A word inside the wedge would make a smaller angle with q than the winner. There is no such word.",
  distance: "A word inside the circle would be nearer to q than the winner. There is no such word.",
};

/** What three judges make of the keys: their scores, and the place of each key, from 0. */
function judge(q, keys) {
  const lengths = keys.map((k) => Math.hypot(...k)), normQ = Math.hypot(...q);
  const dot = keys.map((k) => q[0] * k[0] + q[1] * k[1]);
  const cosine = dot.map((x, i) => (normQ && lengths[i] ? x / normQ / lengths[i] : 0));
  const distance = keys.map((k) => (q[0] - k[0]) ** 2 + (q[1] - k[1]) ** 2);
  const scores = { dot, cosine, distance }, places = {};
  for (const name of JUDGES) {
    const sign = name === "distance" ? -1 : 1, rounded = scores[name].map((x) => Math.round(x * 1e9) / 1e9);
    const order = keys.map((_, i) => i).sort((a, b) => sign * (rounded[b] - rounded[a]) || a - b);
    places[name] = keys.map((_, i) => order.indexOf(i));
  }
  return { ...scores, places };
}

function render({ model, el }) {
  const names = model.get("words"), points = model.get("points"), few = model.get("few"), start = traits(model, ["q"]);
  const root = frame(el, "tf-judges", "Three rankings of words by a query", "Drag q until the three rankings differ.");
  const sides = h("div", { class: "tf-sides" }), sentence = h("p", { class: "tf-sentence" }), live = voice();
  const everything = button("all words", () => assign(model, { whole: !model.get("whole") }));
  const places = Object.entries(model.get("places")).map(([name, q]) => [name, { q }]);
  const row = examples(model, start, places);
  if (few.length) row.prepend(everything);
  root.append(sides, row, live);
  let built = null, words, keys, map, lists;
  return follow(model, ["q", "judge", "whole"], () => {
    const q = model.get("q"), shown = model.get("judge"), whole = model.get("whole") || !few.length;
    if (built !== whole) {
      built = whole;
      const on = names.map((_, i) => i).filter((i) => whole || few.includes(names[i])), lit = lamp(root);
      [words, keys] = [names, points].map((all) => on.map((i) => all[i]));
      [map, lists] = [drawMap(model, words, keys, lit), drawLists(model, words, lit)];
      sides.replaceChildren(map.el, h("div", { class: "tf-panel" }, lists.el, sentence));
    }
    everything.setAttribute("aria-pressed", whole);
    const found = judge(q, keys), winners = JUDGES.map((name) => found.places[name].indexOf(0));
    map.update(q, winners, shown);
    lists.update(found, shown);
    sentence.textContent = verdict(q, winners.map((i) => words[i]), shown);
    live.say(JUDGES.map((name, j) => `${name}: ${words[winners[j]]}`).join(", "));
  });
}

function verdict(q, [dot, cosine, distance], shown) {
  if (!q[0] && !q[1]) {
    return "q is zero: every dot product is 0, and so, by definition, is every cosine. "
      + "For two measures all words are equal, and keep the given order.";
  }
  const count = new Set([dot, cosine, distance]).size;
  const who = ["", "All three put the same word first.", "Two agree on the first word, one does not.",
    "Three measures, three winners."][count];
  return `${who} ${SIGNS[shown]}`;
}

/** One word at a time stands out, on the map and in all lists, with its numbers. */
function lamp(root) {
  const groups = [];
  const light = (i) => {
    groups.forEach((members, j) => members.forEach((e) => e.classList.toggle("tf-lit", i === j)));
    root.classList.toggle("tf-pointed", i >= 0);
  };
  root.onpointerleave = () => light(-1);
  return (i, el) => {
    (groups[i] ??= []).push(el);
    for (const [event, to] of [["pointerenter", i], ["click", i], ["focusin", i], ["focusout", -1]]) el.addEventListener(event, () => light(to));
    return el;
  };
}

// ---- the map ----------------------------------------------------------------------------

function drawMap(model, words, keys, lit) {
  const plane = planeOf(model.get("limit"), "Map with the query q and the words"), { svg, at } = plane;
  const field = h("path", { class: "tf-field" }), edge = h("path", { class: "tf-verdict-line" });
  const arrow = arrowOf(plane, "q"), tip = tipOf(plane, model, "q");
  const name = h("text", { class: "tf-name tf-q", "text-anchor": "middle" }, "q");
  const rings = JUDGES.map(() => h("circle", { class: "tf-winner", r: 9 }));
  svg.append(field, edge, ...rings, ...words.map((word, i) => lit(i, spot(plane, word, keys[i]))), arrow.el, tip.el, name);
  pressable(plane, model, [tip], ".tf-tip, .tf-spot");
  const radius = plane.size * 2 / plane.scale;  // beyond the edge of the drawing
  return {
    el: svg,
    update(q, winners, shown) {
      arrow.update(q);
      tip.update(q);
      const [x, y] = at(q), [dx, dy] = unit(q);
      put(name, [x + (dx || -0.7) * 26, y - (dy || 0.7) * 26 + 7], "q");
      winners.forEach((i, j) => {
        const [cx, cy] = at(keys[i]);
        rings[j].setAttribute("transform", `translate(${cx} ${cy})`);
        rings[j].classList.toggle("tf-shown", JUDGES[j] === shown);
      });
      const best = keys[winners[JUDGES.indexOf(shown)]];
      const shape = q[0] || q[1] || shown === "distance" ? region(shown, q, best, radius) : [];
      field.setAttribute("d", shape.length ? `M${shape.map((p) => at(p).map((c) => c.toFixed(1)).join(" ")).join("L")}Z` : "");
      edge.setAttribute("d", shape.length ? `M${shape.slice(0, shown === "dot" ? 2 : undefined)
        .map((p) => at(p).map((c) => c.toFixed(1)).join(" ")).join("L")}${shown === "distance" ? "Z" : ""}` : "");
    },
  };
}

/** A key on the map: a thin arrow's foot, its point and its name, turned away from the origin. */
function spot(plane, word, key) {
  const [x, y] = plane.at(key), [dx, dy] = unit(key);
  const anchor = dx > 0.35 ? "start" : dx < -0.35 ? "end" : "middle";
  const text = h("text", { class: "tf-place", "text-anchor": anchor });
  const wide = 9 * word.length, reach = x + 9 * dx + (anchor === "start" ? wide : anchor === "end" ? -wide : 0);
  const over = Math.max(0, reach - plane.size + 2) + Math.min(0, reach - 2);
  put(text, [x + 10 * dx - over, y - 12 * dy + 5 - (over ? 10 * Math.sign(dy || 1) : 0)], word);
  return h("g", { class: "tf-spot" }, h("line", { x1: plane.at([0, 0])[0], y1: plane.at([0, 0])[1], x2: x, y2: y }),
    h("circle", { class: "tf-dot-key", cx: x, cy: y, r: 5 }), text);
}

/** The points that one judge would put before the winner, as a polygon; its first points are the edge. */
function region(shown, q, best, far) {
  if (shown === "dot") {
    const [ux, uy] = unit(q), level = best[0] * ux + best[1] * uy;
    const foot = [level * ux, level * uy];
    const go = (a, b) => [foot[0] + a * ux - b * uy, foot[1] + a * uy + b * ux];
    return [go(0, -far), go(0, far), go(far, far), go(far, -far)];
  }
  if (shown === "cosine") {
    const middle = Math.atan2(q[1], q[0]), turn = Math.acos(Math.min(1, Math.max(-1,
      (q[0] * best[0] + q[1] * best[1]) / (Math.hypot(...q) * Math.hypot(...best) || 1))));
    const ray = (angle) => [far * Math.cos(angle), far * Math.sin(angle)];
    const arc = [...Array(13).keys()].map((i) => ray(middle - turn + i * turn / 6));
    return [[0, 0], ...arc, [0, 0]];
  }
  const r = Math.hypot(q[0] - best[0], q[1] - best[1]);
  return [...Array(72).keys()].map((i) => [q[0] + r * Math.cos(i * Math.PI / 36), q[1] + r * Math.sin(i * Math.PI / 36)]);
}

// ---- the rankings -----------------------------------------------------------------------

function drawLists(model, words, lit) {
  const columns = JUDGES.map((name) => column(model, name, words, lit));
  const links = [0, 1].map(() => words.map((_, i) => lit(i, h("i", { class: "tf-link" }))));
  const height = `height: ${ROW * words.length}px`;
  const el = h("div", { class: "tf-rankings" }, ...columns.flatMap((one, j) => [one.el,
    ...(j < 2 ? [h("div", { class: "tf-links", style: height, "aria-hidden": "true" }, ...links[j])] : [])]));
  columns.forEach((one) => one.list.setAttribute("style", height));
  walk(el, columns);
  return {
    el,
    update(found, shown) {
      const places = JUDGES.map((name) => found.places[name]);
      const agreed = words.map((_, i) => places.every((place) => place[i] === places[0][i]));
      columns.forEach((one, j) => one.update(places[j], found[JUDGES[j]], agreed, JUDGES[j] === shown));
      links.forEach((ties, j) => ties.forEach((tie, i) => {
        const from = places[j][i], to = places[j + 1][i];
        tie.style.transform = `translateY(${ROW * (from + 0.5) - 1.5}px) skewY(${Math.atan((to - from) * ROW / (tie.offsetWidth || 30))}rad)`;
        tie.classList.toggle("tf-agreed", from === to);
      }));
    },
  };
}

/** Tab comes to one word of the lists; arrow keys go on from there, by place and by judge. */
function walk(el, columns) {
  let seat = null;
  const sit = (one) => {
    if (seat) seat.tabIndex = -1;
    seat = one;
    seat.tabIndex = 0;
  };
  sit(columns[0].rows[0].word);
  el.addEventListener("focusin", (event) => columns.some((one) => one.rows.some(({ word }) => word === event.target)) && sit(event.target));
  el.addEventListener("keydown", (event) => {
    const [down, right] = { ArrowUp: [-1, 0], ArrowDown: [1, 0], ArrowLeft: [0, -1], ArrowRight: [0, 1] }[event.key] ?? [];
    if (down === undefined || event.target !== seat) return;
    event.preventDefault();
    const j = columns.findIndex((one) => one.rows.some(({ word }) => word === seat));
    const place = columns[j].rows.find(({ word }) => word === seat).at, to = columns[Math.min(columns.length - 1, Math.max(0, j + right))];
    to.rows.find(({ at }) => at === Math.min(to.rows.length - 1, Math.max(0, place + down))).word.focus({ preventScroll: true });
  });
}

function column(model, name, words, lit) {
  const head = h("button", { type: "button", class: "tf-button tf-judge", click: () => assign(model, { judge: name }) }, name);
  const rows = words.map((word, i) => {
    const place = h("span", { class: "tf-voice" }), score = reading(`${name}-score`);
    const button = h("button", { type: "button", class: "tf-ranked", tabindex: -1 }, h("span", { class: "tf-word-name" }, word), place, score);
    return { el: lit(i, h("li", {}, button)), word: button, place, score, at: i };
  });
  const list = h("ul", { class: "tf-ranking", "aria-label": `Places by ${name}` }, ...rows.map((r) => r.el));
  return {
    el: h("div", { class: "tf-column" }, head, list), list, rows,
    update(places, scores, agreed, shown) {
      head.setAttribute("aria-pressed", shown);
      list.classList.toggle("tf-judging", shown);
      rows.forEach((row, i) => {
        const { el, place, score } = row;
        row.at = places[i];
        el.style.transform = `translateY(${ROW * places[i]}px)`;
        el.classList.toggle("tf-first", places[i] === 0);
        el.classList.toggle("tf-agreed", agreed[i]);
        place.textContent = `, place ${places[i] + 1}, `;
        score.show(scores[i], fmt(scores[i], name === "cosine" ? 2 : 1));
      });
    },
  };
}

export default { render };
