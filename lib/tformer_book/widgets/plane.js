// A plane with arrows whose tips can be moved, for the widgets that draw one.

/** A point of the plane, rounded to the grid of the pointer and kept inside the limit. */
function place(x, y, limit) {
  const on = (v) => Math.min(limit, Math.max(-limit, Math.round(v * 10) / 10)) + 0;
  return [on(x), on(y)];
}

/** The vector of length one in the same direction; zero stays zero. */
const unit = ([x, y]) => { const n = Math.hypot(x, y) || 1; return [x / n, y / n]; };

/** Lay a line between two points of a drawing. */
const ends = (line, [x1, y1], [x2, y2]) => {
  for (const [name, value] of Object.entries({ x1, y1, x2, y2 })) line.setAttribute(name, value.toFixed(2));
};

/** Put a text at a point of a drawing. */
const put = (text, [x, y], words) => {
  text.setAttribute("x", x.toFixed(1));
  text.setAttribute("y", y.toFixed(1));
  text.textContent = words;
};

/** The square drawing of a plane from −limit to limit: its grid, and where a point of it lies. */
function planeOf(limit, label, size = 420, margin = 16) {
  const scale = (size / 2 - margin) / limit;
  const at = ([x, y]) => [size / 2 + x * scale, size / 2 - y * scale];
  const svg = h("svg", { class: "tf-plane", viewBox: `0 0 ${size} ${size}`, role: "group", "aria-label": label });
  const step = 10 ** Math.ceil(Math.log10(limit / 10)), ticks = Math.floor(limit / step);
  for (let i = -ticks; i <= ticks; i++) {
    const [x] = at([i * step, 0]), axis = i === 0 ? "tf-axis" : "tf-grid";
    svg.append(
      h("line", { class: axis, x1: x, x2: x, y1: margin / 2, y2: size - margin / 2 }),
      h("line", { class: axis, y1: x, y2: x, x1: margin / 2, x2: size - margin / 2 }),
    );
  }
  const point = ({ clientX, clientY }) => {
    const box = svg.getBoundingClientRect(), pixel = size / box.width / scale;
    return [(clientX - box.left - box.width / 2) * pixel, (box.top + box.height / 2 - clientY) * pixel];
  };
  return { svg, at, point, scale, size, limit, step, ticks };
}

/** The index of the tip that is nearer to a point; of two as near as each other, the first. */
function nearer(tips, [x, y]) {
  const far = tips.map(([a, b]) => Math.round(1e9 * Math.hypot(a - x, b - y)));
  return far.indexOf(Math.min(...far));
}

/** A press on the plane brings the nearer tip there, and a mouse goes on to drag it; a finger that slides scrolls the page. */
function pressable(plane, model, tips, spare = ".tf-tip") {
  let down = null;
  const bring = (event) => {
    const to = plane.point(event), tip = tips[nearer(tips.map(({ name }) => model.get(name)), to)];
    tip.move(...to);
    tip.el.focus({ preventScroll: true, focusVisible: false });
    return tip.el;
  };
  plane.svg.addEventListener("pointerdown", (event) => {
    down = null;
    if (event.button || event.target.closest(spare)) return;
    event.preventDefault();
    if (event.pointerType === "touch") down = event;
    else bring(event).setPointerCapture(event.pointerId);
  });
  plane.svg.addEventListener("pointerup", (event) => {
    if (down && Math.hypot(event.clientX - down.clientX, event.clientY - down.clientY) < 10) bring(event);
    down = null;
  });
}

/** An arrow from the origin, and how to draw it again. */
function arrowOf(plane, name) {
  const el = h("g", { class: `tf-arrow tf-${name}` }, h("line"), h("polygon"));
  const update = (v) => {
    const [x, y] = plane.at(v), [dx, dy] = unit(v), length = Math.hypot(...v) * plane.scale;
    const head = Math.min(14, length);
    ends(el.firstChild, plane.at([0, 0]), [x - dx * head * 0.8, y + dy * head * 0.8]);
    el.lastChild.setAttribute("points", length < 1 ? "" : [[0, 0], [-head, 0.4 * head], [-head, -0.4 * head]]
      .map(([a, b]) => `${x + a * dx + b * dy},${y - a * dy + b * dx}`).join(" "));
  };
  return { el, update };
}

/** The tip of an arrow, to be moved by pointer, finger and arrow keys: a trait of the model. */
function tipOf(plane, model, name) {
  const { limit } = plane;
  const el = h("g", {
    class: `tf-tip tf-${name}`, tabindex: "0", role: "slider", "aria-roledescription": "point in the plane",
    "aria-label": `Tip of ${name}. Arrow keys move it, with Shift by 1`,
    "aria-valuemin": -limit, "aria-valuemax": limit,
  }, h("circle", { class: "tf-hit", r: 24 }), h("circle", { class: "tf-ring", r: 17 }),
  h("circle", { class: "tf-halo", r: 11 }));
  const move = (x, y) => assign(model, { [name]: place(x, y, limit) });
  holdable(el, (clientX, clientY) => move(...plane.point({ clientX, clientY })), (by, shift) => {
    const far = shift ? 1 : 0.1, [x, y] = model.get(name);
    move(x + far * by[0], y + far * by[1]);
  });
  const update = (v) => {
    el.setAttribute("transform", `translate(${plane.at(v).join(" ")})`);
    el.setAttribute("aria-valuenow", v[0]);
    el.setAttribute("aria-valuetext", `${name} = (${fmt(v[0], 1)}, ${fmt(v[1], 1)})`);
  };
  return { el, name, move, update };
}
