// Two vectors whose tips can be dragged; the numbers that a dot product is made of.

export const core = { measure, place };

/** All that is shown of two vectors in the plane. */
function measure(q, k) {
  const dot = q[0] * k[0] + q[1] * k[1];
  const normQ = Math.hypot(...q), normK = Math.hypot(...k);
  const cosine = normQ && normK ? dot / normQ / normK : 0;
  const t = normK ? dot / normK / normK : 0;
  const projection = [t * k[0], t * k[1]];
  const remainder = [q[0] - projection[0], q[1] - projection[1]];
  const shadow = normK ? dot / normK : 0;
  const angle = normQ && normK
    ? Math.atan2(Math.hypot(...remainder), shadow) * 180 / Math.PI : NaN;
  const sign = Math.abs(dot) <= 1e-12 * normQ * normK ? 0 : Math.sign(dot);
  return { dot, normQ, normK, cosine, angle, projection, remainder, shadow, sign };
}

/** A point of the plane, rounded to the grid of the pointer and kept inside the limit. */
function place(x, y, limit) {
  const on = (v) => Math.min(limit, Math.max(-limit, Math.round(v * 10) / 10)) + 0;
  return [on(x), on(y)];
}

const SIZE = 420, MARGIN = 16;
const WORDS = {
  1: ["+", "positive", "q and k point to the same side: the shadow of q falls along k."],
  0: ["0", "zero", "q and k are at right angles: the shadow of q has no length."],
  "-1": ["−", "negative", "q and k point to opposite sides: the shadow of q falls behind k."],
};
const PRESETS = {
  parallel: [[2, 1.5], [4, 3]],
  orthogonal: [[-3, 4], [4, 3]],
  opposite: [[-4, -3], [4, 3]],
  "longer k wins": [[1, 0], [4, 3]],
};

function render({ model, el }) {
  const start = { q: model.get("q"), k: model.get("k") };
  const limit = model.get("limit");
  const root = frame(el, "tf-dot-product", "Dot product of two vectors");
  const plane = drawPlane(model, limit);
  const panel = readings(model, limit);
  const live = voice();
  const scaled = (v) => place(v[0] * limit / 5, v[1] * limit / 5, limit);
  const presets = Object.entries(PRESETS).map(([name, [q, k]]) =>
    button(name, () => assign(model, { q: scaled(q), k: scaled(k) })));
  root.append(
    h("div", { class: "tf-sides" }, plane.el, panel.el),
    h("div", { class: "tf-actions", role: "group", "aria-label": "Examples" }, ...presets,
      button("reset", () => assign(model, start))),
    live,
  );
  return follow(model, ["q", "k"], () => {
    const q = model.get("q"), k = model.get("k"), m = measure(q, k);
    plane.update(q, k, m);
    panel.update(q, k, m);
    live.say(`q·k = ${fmt(m.dot)}, ${WORDS[m.sign][1]}. Angle ${fmt(m.angle, 1)} degrees. `
      + `Shadow of q on k ${fmt(m.shadow)}.`);
  });
}

// ---- the drawing ------------------------------------------------------------------------

function drawPlane(model, limit) {
  const scale = (SIZE / 2 - MARGIN) / limit;
  const at = ([x, y]) => [SIZE / 2 + x * scale, SIZE / 2 - y * scale];
  const svg = h("svg", {
    class: "tf-plane", viewBox: `0 0 ${SIZE} ${SIZE}`, role: "group", "aria-label": "Plane with q and k",
  });
  const step = 10 ** Math.ceil(Math.log10(limit / 10)), ticks = Math.floor(limit / step);
  for (let i = -ticks; i <= ticks; i++) {
    const [x] = at([i * step, 0]), axis = i === 0 ? "tf-axis" : "tf-grid";
    svg.append(
      h("line", { class: axis, x1: x, x2: x, y1: MARGIN / 2, y2: SIZE - MARGIN / 2 }),
      h("line", { class: axis, y1: x, y2: x, x1: MARGIN / 2, x2: SIZE - MARGIN / 2 }),
    );
    if (i && i % 2 === 0) svg.append(...tick(at, i * step));
  }
  const parts = {
    track: h("line", { class: "tf-track" }),
    shadow: h("line"),
    remainder: h("line", { class: "tf-remainder" }),
    corner: h("path", { class: "tf-corner" }),
    arc: h("path", { class: "tf-arc" }),
    theta: h("text", { class: "tf-note" }),
    shade: h("text", { class: "tf-note" }),
  };
  svg.append(...Object.values(parts));
  const arrows = { k: arrow(model, "k", limit, svg, scale), q: arrow(model, "q", limit, svg, scale) };
  svg.append(arrows.k.line, arrows.q.line, arrows.k.tip, arrows.q.tip);
  return {
    el: svg,
    update(q, k, m) {
      arrows.q.move(q, at, k);
      arrows.k.move(k, at, q);
      drawShadow(parts, q, k, m, at, limit);
      drawAngle(parts, q, k, m, at);
    },
  };
}

function tick(at, value) {
  const [x, y] = at([value, value]), zero = SIZE / 2, text = fmt(value, value % 1 ? 1 : 0);
  return [
    h("text", { class: "tf-tick", x, y: zero + 15, "text-anchor": "middle" }, text),
    h("text", { class: "tf-tick", x: zero - 5, y: y + 4, "text-anchor": "end" }, text),
  ];
}

const ends = (line, [x1, y1], [x2, y2]) => {
  for (const [name, value] of Object.entries({ x1, y1, x2, y2 })) line.setAttribute(name, value.toFixed(2));
};
const put = (text, [x, y], words) => {
  text.setAttribute("x", x.toFixed(1));
  text.setAttribute("y", y.toFixed(1));
  text.textContent = words;
};
const unit = ([x, y]) => { const n = Math.hypot(x, y) || 1; return [x / n, y / n]; };
const keepIn = (v, edge = 12) => Math.min(SIZE - edge, Math.max(edge, v));

function drawShadow(parts, q, k, m, at, limit) {
  const way = unit(k), far = 1.5 * limit;
  const on = m.normK > 0;
  for (const name of ["track", "shadow", "remainder", "shade"]) parts[name].classList.toggle("tf-off", !on);
  ends(parts.track, at([-far * way[0], -far * way[1]]), at([far * way[0], far * way[1]]));
  ends(parts.shadow, at([0, 0]), at(m.projection));
  parts.shadow.setAttribute("class", on ? `tf-shadow tf-sign${m.sign}` : "tf-off");
  ends(parts.remainder, at(m.projection), at(q));
  // The unit vector off the line, on q's side; a q on the line has no side of its own.
  const turn = k[0] * q[1] - k[1] * q[0] < 0 ? -1 : 1, aside = [-turn * way[1], turn * way[0]];
  label(parts.shade, m, aside, at, limit);
  const [x, y] = at(m.projection), size = 9, back = m.sign < 0 ? size : -size;
  const a = [back * way[0], -back * way[1]], b = [size * aside[0], -size * aside[1]];
  const show = on && m.sign && Math.hypot(...m.remainder) > 0.12 * limit;
  parts.corner.setAttribute("d", show ? `M${x + a[0]} ${y + a[1]}l${b[0]} ${b[1]}l${-a[0]} ${-a[1]}` : "");
}

/** The length of the shadow in words, beside it and away from q. */
function label(text, m, aside, at, limit) {
  const [x, y] = at(m.projection.map((c) => c * 0.55));
  const off = 50 * Math.abs(aside[0]) + 8 * Math.abs(aside[1]) + 12;
  const word = `shadow ${m.shadow > 0 ? "+" : ""}${fmt(m.shadow)}`;
  put(text, [keepIn(x - off * aside[0], 50), keepIn(y + off * aside[1] + 5)],
    Math.abs(m.shadow) > 0.3 * limit ? word : "");
}

function drawAngle(parts, q, k, m, at) {
  const [x, y] = at([0, 0]), r = 34, u = unit(k), v = unit(q);
  const show = m.angle > 4 && m.normQ * m.normK > 0;
  const left = k[0] * q[1] - k[1] * q[0] > 0;
  parts.arc.setAttribute("d", show
    ? `M${x + r * u[0]} ${y - r * u[1]}A${r} ${r} 0 0 ${left ? 0 : 1} ${x + r * v[0]} ${y - r * v[1]}` : "");
  if (!show) return put(parts.theta, [x, y], ""); // a vector of length zero has no angle
  // Half way between k and q if the number fits there, else outside: beyond q, or k if q is short.
  const beyond = m.normQ > 0.4 * m.normK ? m.angle + 24 : -24;
  const turn = (m.angle < 40 ? beyond : m.angle / 2) * (left ? 1 : -1) * Math.PI / 180;
  const c = Math.cos(turn), s = Math.sin(turn), way = [u[0] * c - u[1] * s, u[0] * s + u[1] * c];
  put(parts.theta, [x + 56 * way[0], y - 56 * way[1] + 5], `${fmt(m.angle, 0)}°`);
}

/** One arrow with a tip to grab: pointer, or focus and arrow keys. */
function arrow(model, name, limit, svg, scale) {
  const line = h("g", { class: `tf-arrow tf-${name}` }, h("line"), h("polygon"));
  const label = h("text", { class: `tf-name tf-${name}`, "text-anchor": "middle" }, name);
  const tip = h("g", {
    class: `tf-tip tf-${name}`, tabindex: "0", role: "slider", "aria-roledescription": "point in the plane",
    "aria-label": `Tip of ${name}. Arrow keys move it, with Shift by 1`,
    "aria-valuemin": -limit, "aria-valuemax": limit,
  }, h("circle", { class: "tf-hit", r: 24 }), h("circle", { class: "tf-ring", r: 17 }),
  h("circle", { class: "tf-halo", r: 11 }), label);
  const move = (x, y) => assign(model, { [name]: place(x, y, limit) });
  const follow = (event) => {
    const box = svg.getBoundingClientRect(), pixel = SIZE / box.width / scale;
    move((event.clientX - box.left - box.width / 2) * pixel, (box.top + box.height / 2 - event.clientY) * pixel);
  };
  tip.addEventListener("pointerdown", (event) => {
    if (event.button) return;
    event.preventDefault();
    tip.setPointerCapture(event.pointerId);
    tip.focus({ preventScroll: true, focusVisible: false });
  });
  tip.addEventListener("pointermove", (event) => tip.hasPointerCapture(event.pointerId) && follow(event));
  // A finger on the tip drags it and does not scroll the page (Chromium ignores touch-action here).
  tip.addEventListener("touchstart", (event) => event.preventDefault(), { passive: false });
  tip.addEventListener("keydown", (event) => {
    const by = { ArrowLeft: [-1, 0], ArrowRight: [1, 0], ArrowUp: [0, 1], ArrowDown: [0, -1] }[event.key];
    if (!by) return;
    event.preventDefault();
    const far = event.shiftKey ? 1 : 0.1, [x, y] = model.get(name);
    move(x + far * by[0], y + far * by[1]);
  });
  return {
    line, tip,
    move(v, at, other) {
      const [x, y] = at(v), [dx, dy] = unit(v), length = Math.hypot(...v) * scale;
      const head = Math.min(14, length);
      ends(line.firstChild, at([0, 0]), [x - dx * head * 0.8, y + dy * head * 0.8]);
      line.lastChild.setAttribute("points", length < 1 ? "" : [[0, 0], [-head, 0.4 * head], [-head, -0.4 * head]]
        .map(([a, b]) => `${x + a * dx + b * dy},${y - a * dy + b * dx}`).join(" "));
      tip.setAttribute("transform", `translate(${x} ${y})`);
      const side = dx * other[1] - dy * other[0] > 0 ? 1 : -1, out = length < 1 ? [side * 0.7, 0.7] : [dx, dy];
      const reach = [24 * (out[0] + side * out[1] * 0.6), -24 * (out[1] - side * out[0] * 0.6)];
      put(label, [keepIn(x + reach[0]) - x, keepIn(y + reach[1]) - y + 6], name);
      tip.setAttribute("aria-valuenow", v[0]);
      tip.setAttribute("aria-valuetext", `${name} = (${fmt(v[0], 1)}, ${fmt(v[1], 1)})`);
    },
  };
}

// ---- the numbers ------------------------------------------------------------------------

function readings(model, limit) {
  const badge = h("span", { class: "tf-badge" });
  const names = ["dot", "by-coordinates", "by-shadow", "norm-q", "norm-k", "cosine", "angle", "projection", "remainder"];
  const cell = Object.fromEntries(names.map((name) => [name, reading(name)]));
  const row = (term, ...values) => h("div", {}, h("dt", {}, term), h("dd", {}, ...values));
  const sentence = h("p", { class: "tf-sentence" });
  const fields = { q: coordinates(model, "q", limit), k: coordinates(model, "k", limit) };
  const el = h("div", { class: "tf-panel" },
    h("p", { class: "tf-headline" }, h("span", {}, "q·k = "), cell.dot, badge),
    sentence,
    h("div", { class: "tf-fields" }, fields.q.el, fields.k.el),
    h("dl", { class: "tf-list" },
      row("q₁k₁ + q₂k₂", cell["by-coordinates"]),
      row("‖k‖ × shadow of q", cell["by-shadow"]),
      row("lengths ‖q‖, ‖k‖", cell["norm-q"], ", ", cell["norm-k"]),
      row("cosine, angle", cell.cosine, ", ", cell.angle),
      row("projection of q onto k", cell.projection),
      row("remainder", cell.remainder)));
  const pair = (v) => `(${fmt(v[0])}, ${fmt(v[1])})`, term = (x) => (x < 0 ? `(${fmt(x, 1)})` : fmt(x, 1));
  const update = (q, k, m) => {
    cell.dot.show(m.dot, fmt(m.dot));
    cell["by-coordinates"].show(m.dot, `${term(q[0])} × ${term(k[0])} + ${term(q[1])} × ${term(k[1])}`);
    cell["by-shadow"].show(m.dot, `${fmt(m.normK)} × ${m.shadow < 0 ? `(${fmt(m.shadow)})` : fmt(m.shadow)}`);
    cell["norm-q"].show(m.normQ, fmt(m.normQ));
    cell["norm-k"].show(m.normK, fmt(m.normK));
    cell.cosine.show(m.cosine, fmt(m.cosine, 3));
    cell.angle.show(m.angle, Number.isNaN(m.angle) ? "no angle" : `${fmt(m.angle, 1)}°`);
    cell.projection.show(m.projection, pair(m.projection));
    cell.remainder.show(m.remainder, pair(m.remainder));
    badge.className = `tf-badge tf-sign${m.sign}`;
    badge.textContent = `${WORDS[m.sign][0]} ${WORDS[m.sign][1]}`;
    sentence.textContent = explain(m);
    fields.q.update(q);
    fields.k.update(k);
  };
  return { el, update };
}

function explain(m) {
  if (!m.normQ || !m.normK) return "A vector of length zero points nowhere: the dot product is 0.";
  const own = m.normQ * m.normQ;
  if (m.angle > 10 && m.dot > own) {
    return `More than q·q = ${fmt(own)}, though k points ${fmt(m.angle, 0)}° away: the length of k does it.`;
  }
  return WORDS[m.sign][2];
}

/** Two number fields: the way to exact values, and to any value without dragging. */
function coordinates(model, name, limit) {
  const inputs = [0, 1].map((i) => h("input", {
    type: "number", step: "0.1", min: -limit, max: limit, class: "tf-input",
    "aria-label": `${name}, ${["first", "second"][i]} coordinate`,
    input: (event) => {
      const x = event.target.valueAsNumber;
      if (Number.isNaN(x) || Math.abs(x) > limit) return;
      const v = [...model.get(name)];
      v[i] = x;
      assign(model, { [name]: v });
    },
    blur: () => update(model.get(name), true),
  }));
  const update = (v, all = false) => inputs.forEach((input, i) => {
    if (all || input !== input.getRootNode().activeElement) input.value = Number(v[i].toFixed(4));
  });
  return { el: h("p", {}, h("b", { class: `tf-${name}` }, name), " = (", inputs[0], ", ", inputs[1], ")"), update };
}

export default { render };
