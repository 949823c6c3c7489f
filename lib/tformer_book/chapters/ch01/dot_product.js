// Two vectors whose tips can be dragged; the numbers that a dot product is made of.

export const core = { measure, place, nearer };

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

const SIZE = 420;
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
  const start = traits(model, ["q", "k"]);
  const limit = model.get("limit");
  const root = frame(el, "tf-dot-product", "Dot product of two vectors", "Drag an arrow until the dot product is 0.");
  const plane = drawPlane(model, limit);
  const panel = readings(model, limit);
  const live = voice();
  const scaled = (v) => place(v[0] * limit / 5, v[1] * limit / 5, limit);
  const presets = Object.entries(PRESETS).map(([name, [q, k]]) => [name, { q: scaled(q), k: scaled(k) }]);
  root.append(
    h("div", { class: "tf-sides" }, plane.el, panel.el),
    examples(model, start, presets),
    live,
  );
  return follow(model, ["q", "k"], () => {
    const q = model.get("q"), k = model.get("k"), m = measure(q, k);
    plane.update(q, k, m);
    panel.update(q, k, m);
    const angle = Number.isNaN(m.angle) ? "No angle." : `Angle ${fmt(m.angle, 1)} degrees.`;
    live.say(`q·k = ${fmt(m.dot)}, ${WORDS[m.sign][1]}. ${angle} Shadow of q on k ${fmt(m.shadow)}.`);
  });
}

// ---- the drawing ------------------------------------------------------------------------

function drawPlane(model, limit) {
  const plane = planeOf(limit, "Plane with q and k"), { svg, at, step, ticks } = plane;
  for (let i = -ticks; i <= ticks; i++) if (i && i % 2 === 0) svg.append(...tick(at, i * step));
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
  const arrows = { k: arrow(model, "k", plane), q: arrow(model, "q", plane) };
  svg.append(arrows.k.line, arrows.q.line, arrows.k.tip.el, arrows.q.tip.el);
  pressable(plane, model, [arrows.q.tip, arrows.k.tip]);
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
  parts.theta.textContent = "";
  if (!show) return;
  // Half way between k and q if the number fits there, else outside: beyond q, or k if q is short.
  const beyond = m.normQ > 0.4 * m.normK ? m.angle + 24 : -24;
  const turn = (m.angle < 40 ? beyond : m.angle / 2) * (left ? 1 : -1) * Math.PI / 180;
  const c = Math.cos(turn), s = Math.sin(turn), way = [u[0] * c - u[1] * s, u[0] * s + u[1] * c];
  put(parts.theta, [x + 56 * way[0], y - 56 * way[1] + 5], `${fmt(m.angle, 0)}°`);
}

/** One arrow with a tip to grab, and its name beside the tip. */
function arrow(model, name, plane) {
  const line = arrowOf(plane, name), tip = tipOf(plane, model, name);
  const label = h("text", { class: `tf-name tf-${name}`, "text-anchor": "middle" }, name);
  tip.el.append(label);
  return {
    line: line.el, tip,
    move(v, at, other) {
      line.update(v);
      tip.update(v);
      const [x, y] = at(v), [dx, dy] = unit(v), none = Math.hypot(...v) * plane.scale < 1;
      const side = dx * other[1] - dy * other[0] > 0 ? 1 : -1, out = none ? [side * 0.7, 0.7] : [dx, dy];
      const reach = [24 * (out[0] + side * out[1] * 0.6), -24 * (out[1] - side * out[0] * 0.6)];
      put(label, [keepIn(x + reach[0]) - x, keepIn(y + reach[1]) - y + 6], name);
    },
  };
}

// ---- the numbers ------------------------------------------------------------------------

function readings(model, limit) {
  const badge = h("span", { class: "tf-badge" });
  const cell = cells(["dot", "by-coordinates", "by-shadow", "norm-q", "norm-k", "cosine", "angle", "projection", "remainder"]);
  const sentence = h("p", { class: "tf-sentence" });
  const fields = { q: coordinates(model, "q", limit), k: coordinates(model, "k", limit) };
  const el = h("div", { class: "tf-panel" },
    h("p", { class: "tf-headline" }, h("span", {}, "q·k = "), cell.dot, badge),
    sentence,
    fold("The numbers behind it", h("div", { class: "tf-fields" }, fields.q.el, fields.k.el), h("dl", { class: "tf-list" },
      row("q₁k₁ + q₂k₂", cell["by-coordinates"]),
      row("‖k‖ × shadow of q", cell["by-shadow"]),
      row("lengths ‖q‖, ‖k‖", cell["norm-q"], ", ", cell["norm-k"]),
      row("cosine, angle", cell.cosine, ", ", cell.angle),
      row("projection of q onto k", cell.projection),
      row("remainder", cell.remainder))));
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
    return `More than q·q = ${fmt(own)}, though k points ${fmt(m.angle, 0)}° away, because k is long.`;
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
