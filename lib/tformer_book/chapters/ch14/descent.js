// Four descents: a gorge and a cliff, and what a rate, a warm-up and clipping make of the way.

export const core = { loss, gradient, ways };

const STEPS = 150, LOST = 1000, REACH = [4, 2];
const SLOPE = 0.06, LOWEST = 2, WALLS = [16, 1], GORGE = [-1.6, 0.35], HEIGHT = 2, CLIFF = [-0.2, 0.05];

/** From 1 to 0 around a place, and the derivative. */
function falls(x, [at, width]) {
  const u = (x - at) / width, long = 1 + u * u;
  return [(1 - u / Math.sqrt(long)) / 2, -1 / (2 * width * long * Math.sqrt(long))];
}

/** The loss along the middle of the valley, and half of the curvature across it. */
const profile = (x) => [(SLOPE * (x - LOWEST) * (x - LOWEST)) / 2 + HEIGHT * falls(x, CLIFF)[0], (WALLS[1] + (WALLS[0] - WALLS[1]) * falls(x, GORGE)[0]) / 2];

/** The loss: a floor that slopes to the right, walls that open, and a cliff. */
function loss(x, y) {
  const [along, half] = profile(x);
  return along + half * y * y;
}

/** Its derivatives. */
function gradient(x, y) {
  const [share, change] = falls(x, GORGE);
  const byX = ((WALLS[0] - WALLS[1]) * change * y * y) / 2 + HEIGHT * falls(x, CLIFF)[1];
  return [SLOPE * (x - LOWEST) + byX, (WALLS[1] + (WALLS[0] - WALLS[1]) * share) * y];
}

/** The four rules: each makes a move, before the rate, from a gradient and the place. */
function rules(beta2, decay) {
  const adam = (off) => {
    const mean = [0, 0], square = [0, 0];
    return (grad, at, step) => grad.map((g, i) => {
      mean[i] += (1 - 0.9) * (g - mean[i]);
      square[i] += (1 - beta2) * (g * g - square[i]);
      return mean[i] / (1 - 0.9 ** step) / (Math.sqrt(square[i] / (1 - beta2 ** step)) + 1e-8) + off * at[i];
    });
  };
  const sums = [0, 0];
  return [(grad) => grad, (grad) => grad.map((g, i) => (sums[i] = 0.9 * sums[i] + g)), adam(0), adam(decay)];
}

/** Where each of the four stands after every step; whoever is far out stays there. */
function ways({ start, rate, warmup, clip, beta2, decay }) {
  return rules(beta2, decay).map((rule) => {
    let at = [...start];
    const way = [at];
    for (let step = 1; step <= STEPS; step++) {
      if (Math.max(...at.map(Math.abs)) <= LOST) {
        const grad = gradient(...at), norm = Math.sqrt(grad[0] * grad[0] + grad[1] * grad[1]);
        const share = clip === null || norm <= clip ? 1 : clip / norm, now = step < warmup ? (rate * step) / warmup : rate;
        const move = rule(grad.map((g) => share * g), at, step);
        at = at.map((x, i) => x - now * move[i]);
      }
      way.push(at);
    }
    return way;
  });
}

const TRAITS = ["start", "rate", "warmup", "clip", "beta2", "decay", "step"];
const KEYS = ["gd", "momentum", "adam", "adamw"], NAMED = ["gradient descent", "momentum", "Adam", "AdamW"];
const CHOICES = {
  rate: [0.01, 0.02, 0.03, 0.05, 0.1, 0.2, 0.3, 0.5, 1],
  clip: [0.1, 0.2, 0.5, 1, 2, 5, 10, null],
  beta2: [0.5, 0.9, 0.95, 0.99, 0.999, 0.9999],
};
const CURES = [
  ["rate 0.3", { rate: 0.3 }], ["… with warm-up", { rate: 0.3, warmup: 60 }], ["… clipped", { rate: 0.3, clip: 1 }],
  ["short memory", { beta2: 0.9 }], ["strong decay", { beta2: 0.9, decay: 1 }],
];
const UNIT = 80, WIDE = 640, HIGH = 320, LOW = 160, LEFT = 74, POWERS = [-4, 3];
const LEVELS = [0.03, 0.1, 0.3, 0.8, 1.6, 2.3, 2.6, 3.5, 5, 8, 14];
const xy = ([x, y]) => [WIDE / 2 + UNIT * x, HIGH / 2 - UNIT * y].map((v) => Math.max(-5000, Math.min(5000, v)));
const path = (points) => `M${points.map((at) => at.map((v) => v.toFixed(1)).join(",")).join("L")}`;
const outside = ([x, y]) => Math.abs(x) > REACH[0] || Math.abs(y) > REACH[1];
const small = (x) => (x < 0.00095 ? x.toFixed(5) : x < 0.0995 ? x.toFixed(4) : x < 9.95 ? x.toFixed(2) : x < 1e4 ? x.toFixed(0) : x.toExponential(0).replace("e+", " × 10^"));

/** The line around all places of at most this loss. */
function contour(level) {
  const half = [];
  for (let x = -REACH[0] - 0.1; x <= REACH[0] + 0.1; x += 0.0125) {
    const [along, curvature] = profile(x);
    if (along <= level) half.push([x, Math.sqrt((level - along) / curvature)]);
  }
  return half.length ? `${path([...half, ...half.map(([x, y]) => [x, -y]).reverse()].map(xy))}Z` : "";
}

/** A mark of its own for each way. */
const mark = (i, r) => [
  () => h("circle", { r }), () => h("rect", { x: -r, y: -r, width: 2 * r, height: 2 * r }),
  () => h("polygon", { points: `0,${-1.3 * r} ${1.2 * r},${r} ${-1.2 * r},${r}` }),
  () => h("polygon", { points: `0,${-1.4 * r} ${1.4 * r},0 0,${1.4 * r} ${-1.4 * r},0` }),
][i]();
const own = (i, kind) => `tf-descent-${kind} tf-descent-${KEYS[i]}`;

/** The surface from above, the four ways on it, and the start, which can be moved. */
function map(model) {
  const svg = h("svg", { class: "tf-descent-plot tf-descent-map", viewBox: `0 0 ${WIDE} ${HIGH}`, role: "group", "aria-label": "The loss from above" });
  svg.append(...[...LEVELS].reverse().map((level) => h("path", { class: "tf-descent-level", d: contour(level) })));
  const [x, y] = xy([LOWEST, 0]);
  svg.append(h("path", { class: "tf-descent-lowest", d: `M${x - 7},${y}H${x + 7}M${x},${y - 7}V${y + 7}` }));
  const box = h("rect", { class: "tf-descent-box" });
  svg.append(box);
  const lines = KEYS.map((_, i) => h("path", { class: own(i, "way") }));
  const ends = KEYS.map((_, i) => h("g", { class: own(i, "end") }, mark(i, 6)));
  svg.append(...lines, ...ends);
  const move = (x, y) => assign(model, { start: [x, y].map((v, i) => Math.min(REACH[i], Math.max(-REACH[i], Math.round(10 * v) / 10)) + 0) });
  const start = h("g", { class: "tf-tip tf-descent-start", tabindex: "0", role: "slider", "aria-roledescription": "point in the plane",
    "aria-label": "Start. Arrow keys move it, with Shift by 1", "aria-valuemin": -REACH[0], "aria-valuemax": REACH[0] },
  h("circle", { class: "tf-hit", r: 24 }), h("circle", { class: "tf-ring", r: 16 }), h("circle", { class: "tf-halo", r: 11 }));
  svg.append(start);
  holdable(start, (left, top) => {
    const frame = svg.getBoundingClientRect(), scale = WIDE / frame.width / UNIT;
    move((left - frame.left - frame.width / 2) * scale, (frame.top + frame.height / 2 - top) * scale);
  }, (by, shift) => {
    const at = model.get("start"), far = shift ? 1 : 0.1;
    move(at[0] + far * by[0], at[1] + far * by[1]);
  });
  return { svg, update: (found, step, now) => {
    found.forEach((way, i) => {
      lines[i].setAttribute("d", path(way.slice(0, step + 1).map(xy)));
      ends[i].setAttribute("transform", `translate(${xy(way[step]).map((v) => v.toFixed(1)).join(" ")})`);
    });
    const reach = now.decay * REACH[0] > 1 ? UNIT / now.decay : 0;
    for (const [name, v] of Object.entries({ x: WIDE / 2 - reach, y: HIGH / 2 - reach, width: 2 * reach, height: 2 * reach })) box.setAttribute(name, v);
    start.setAttribute("transform", `translate(${xy(now.start).join(" ")})`);
    start.setAttribute("aria-valuenow", now.start[0]);
    start.setAttribute("aria-valuetext", `(${fmt(now.start[0], 1)}, ${fmt(now.start[1], 1)})`);
  } };
}

/** The losses over the steps, between logarithms. */
function curves() {
  const svg = h("svg", { class: "tf-descent-plot tf-descent-losses", viewBox: `0 0 ${WIDE} ${LOW + 28}`, role: "img", "aria-label": "Loss against steps" });
  const across = (step) => LEFT + ((WIDE - LEFT - 14) * step) / STEPS;
  const up = (x) => 10 + ((LOW - 20) * (POWERS[1] - Math.max(POWERS[0], Math.min(POWERS[1], Math.log10(x))))) / (POWERS[1] - POWERS[0]);
  for (const [power, name] of [[-4, "10⁻⁴"], [-2, "0.01"], [0, "1"], [2, "100"]]) {
    svg.append(h("line", { class: "tf-descent-grid", x1: LEFT, x2: WIDE - 14, y1: up(10 ** power), y2: up(10 ** power) }),
      h("text", { x: LEFT - 8, y: up(10 ** power) + 5, "text-anchor": "end" }, name));
  }
  for (const step of [0, 50, 100, STEPS]) svg.append(h("text", { x: across(step), y: LOW + 15, "text-anchor": step === STEPS ? "end" : "middle" }, step === STEPS ? `${step} steps` : String(step)));
  const lines = KEYS.map((_, i) => h("path", { class: own(i, "way") })), ends = KEYS.map((_, i) => h("g", { class: own(i, "end") }, mark(i, 5)));
  const now = h("line", { class: "tf-descent-now", y1: 10, y2: LOW - 10 });
  svg.append(now, ...lines, ...ends);
  return { svg, update: (losses, step) => {
    losses.forEach((all, i) => {
      lines[i].setAttribute("d", path(all.slice(0, step + 1).map((x, t) => [across(t), up(x)])));
      ends[i].setAttribute("transform", `translate(${across(step).toFixed(1)} ${up(all[step]).toFixed(1)})`);
    });
    for (const end of ["x1", "x2"]) now.setAttribute(end, across(step));
  } };
}

/** The choice that is nearest to a value. */
const nearest = (choices, value) => choices.reduce((best, one, i) => {
  const far = (x) => (x === value ? 0 : x === null || value === null ? Infinity : Math.abs(Math.log(x / value)));
  return far(one) < far(choices[best]) ? i : best;
}, 0);

/** What is lowest, and who has left the drawing. */
function sentence(found, losses, step) {
  const last = losses.map((all) => all[step]), best = last.indexOf(Math.min(...last));
  const gone = found.map((way) => way.slice(0, step + 1).findIndex(outside)).flatMap((at, i) => (at < 0 ? [] : [`${NAMED[i]} at step ${at}`]));
  const lowest = step === 0 ? `All four start at a loss of ${small(last[0])}.` : `After ${step} ${step === 1 ? "step" : "steps"}: lowest is ${NAMED[best]}, at a loss of ${small(last[best])}.`;
  return gone.length ? `${lowest} Out of the drawing went ${gone.join(", ")}.` : `${lowest} Nobody left the drawing.`;
}

function render({ model, el }) {
  const initial = traits(model, TRAITS), plain = { ...initial, step: STEPS };
  const root = frame(el, "tf-descent", "Four descents", "Set the rate to one half. What keeps each optimiser in the drawing?"), live = voice(), text = h("p", { class: "tf-said" });
  const facts = cells(["rate", "warmup", "clip", "beta2", "decay", "step", ...KEYS, ...KEYS.map((key) => `${key}-at`)]);
  const chosen = (label, name) => slider(label, { min: 0, max: CHOICES[name].length - 1, step: 1 }, (i) => assign(model, { [name]: CHOICES[name][i] }));
  const ranges = {
    rate: chosen("Learning rate", "rate"),
    warmup: slider("Warm-up, in steps", { min: 0, max: 100, step: 5 }, (warmup) => assign(model, { warmup })),
    clip: chosen("Largest norm of a gradient", "clip"),
    beta2: chosen("Beta 2 of Adam and AdamW", "beta2"),
    decay: slider("Weight decay of AdamW", { min: 0, max: 1, step: 0.05 }, (decay) => assign(model, { decay })),
    step: slider("Steps that are shown", { min: 0, max: STEPS, step: 1 }, (step) => { halt(); assign(model, { step }); }),
  };
  const plot = map(model), below = curves();
  let found = [], losses = [], made = "", timer = 0;
  const draw = (step, now) => {
    plot.update(found, step, now);
    below.update(losses, step);
    ranges.step.value = step;
    facts.step.show(step, String(step));
    KEYS.forEach((key, i) => {
      facts[key].show(losses[i][step], small(losses[i][step]));
      facts[`${key}-at`].show(found[i][step], outside(found[i][step]) ? "out of the drawing" : `at (${found[i][step].map((v) => fmt(v, 2)).join(", ")})`);
    });
  };
  const halt = () => { cancelAnimationFrame(timer); timer = 0; play.textContent = "play"; };
  const play = button("play", () => {
    if (timer) { const at = ranges.step.valueAsNumber; halt(); assign(model, { step: at }); return; }
    if (matchMedia("(prefers-reduced-motion: reduce)").matches) { assign(model, { step: STEPS }); return; }
    const first = model.get("step") < STEPS ? model.get("step") : 0, began = performance.now();
    play.textContent = "pause";
    const frames = (time) => {
      const step = Math.min(STEPS, first + Math.max(0, Math.floor((time - began) / 40)));
      draw(step, traits(model, TRAITS));
      if (step < STEPS) timer = requestAnimationFrame(frames);
      else { halt(); assign(model, { step }); }
    };
    timer = requestAnimationFrame(frames);
  });
  const choose = (values) => { halt(); assign(model, values); };
  const cures = CURES.map(([name, cure]) => button(name, () => choose({ ...plain, ...cure })));
  const key = (i) => h("svg", { class: "tf-descent-key", viewBox: "-10 -10 20 20", "aria-hidden": "true" }, h("g", { class: own(i, "end") }, mark(i, 7)));
  const lines = KEYS.map((name, i) => h("div", {}, h("dt", {}, key(i), NAMED[i]), h("dd", {}, facts[name], " ", h("span", { class: "tf-descent-place" }, facts[`${name}-at`]))));
  root.append(h("div", { class: "tf-actions", role: "group", "aria-label": "Examples" }, ...cures, button("reset", () => choose(initial))),
    dial("learning rate", ranges.rate, facts.rate), dial("warm-up", ranges.warmup, facts.warmup), dial("clipped at", ranges.clip, facts.clip),
    dial("β₂", ranges.beta2, facts.beta2), dial("decay", ranges.decay, facts.decay),
    h("div", { class: "tf-descent-time" }, play, ranges.step, h("span", {}, facts.step, " steps")),
    plot.svg, below.svg, text, h("dl", { class: "tf-list" }, ...lines),
    h("p", { class: "tf-about" }, "Each grey line joins places of one loss; the lowest place is inside the rings. On the left the walls are steep, in the middle there is a cliff. Drag the ring to start elsewhere. A strong decay shows a dashed square of half-side 1 / decay: outside it AdamW's decay pulls harder than any steady gradient."), live);
  const stop = follow(model, TRAITS, () => {
    const now = traits(model, TRAITS), asked = JSON.stringify({ ...now, step: 0 });
    if (asked !== made) {
      [found, made] = [ways(now), asked];
      losses = found.map((way) => way.map((at) => loss(...at)));
    }
    for (const name of Object.keys(CHOICES)) ranges[name].value = nearest(CHOICES[name], now[name]);
    ranges.warmup.value = now.warmup;
    ranges.decay.value = now.decay;
    facts.rate.show(now.rate, String(now.rate));
    facts.warmup.show(now.warmup, now.warmup ? `${now.warmup} steps` : "none");
    facts.clip.show(now.clip ?? Infinity, now.clip === null ? "never" : `norm ${now.clip}`);
    facts.beta2.show(now.beta2, String(now.beta2));
    facts.decay.show(now.decay, String(Number(now.decay.toFixed(4))));
    for (const name of ["rate", "warmup", "clip", "beta2"]) ranges[name].setAttribute("aria-valuetext", facts[name].textContent);
    if (!timer) draw(now.step, now);
    const said = sentence(found, losses, now.step);
    text.textContent = said;
    live.say(said);
  });
  return () => { cancelAnimationFrame(timer); stop(); };
}

export default { render };
