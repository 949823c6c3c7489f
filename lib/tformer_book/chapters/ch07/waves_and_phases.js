// Waves and phases: a query and a key, turned by their positions, and their score.

export const core = { waves, parts, profile };

const PLACES = 64, WIDTH = 16, BASE = 100, HANDS = WIDTH / 2, PACE = 180;
const WISHES = ["prefers its own position", "prefers 5 positions back", "prefers nothing in particular"];
const GUESSES = ["it grows", "it shrinks", "it stays"];
const range = (n) => Array.from({ length: n }, (_, i) => i);
const frequency = (i) => BASE ** (-2 * i / WIDTH);

/** The row of waves of a place: sine and cosine of each hand in turn. */
function waves(place) {
  return range(WIDTH).map((j) => (j % 2 ? Math.cos : Math.sin)(place * frequency(j >> 1)));
}

/** Pair i of a row, turned by its place. */
function turned(row, i, place) {
  const c = Math.cos(place * frequency(i)), s = Math.sin(place * frequency(i)), [a, b] = [row[2 * i], row[2 * i + 1]];
  return [a * c - b * s, a * s + b * c];
}

/** What each hand adds to the score of a query at t and a key at s. */
function parts(q, k, t, s) {
  return range(HANDS).map((i) => {
    const [a, b] = turned(q, i, t), [c, d] = turned(k, i, s);
    return a * c + b * d;
  });
}

const total = (numbers) => numbers.reduce((sum, x) => sum + x, 0);

/** The score at each distance t − s from −63 to 63. */
function profile(q, k) {
  return range(2 * PLACES - 1).map((n) => total(parts(q, k, n - PLACES + 1, 0)));
}

const TRAITS = ["t", "s", "wish", "guess", "rows"];

function render({ model, el }) {
  const start = traits(model, ["t", "s", "wish", "guess"]), from = start, walk = { on: false };
  const root = frame(el, "tf-phases", "Waves and phases");
  const question = bet(model, from, walk), chart = strip(), dials = faces(), hill = distances(), live = voice();
  const moves = movers(model, walk), likes = choices(model);
  root.append(question.el, chart.el, moves.el, question.verdict, likes.el, dials.el,
    h("div", { class: "tf-over" }, hill.headline,
      h("div", { class: "tf-actions" }, moves.play, button("reset", () => { moves.stop(); assign(model, start); }))), hill.el,
    h("p", { class: "tf-about" }, "Above: the waves to the base 100, full for 1 and blank for −1; one column a position, two lines a hand. Clocks: the pairs of the "
      + "query and of the key, turned by their positions (first coordinate to the left), and the cosine of each angle. The score is their sum."),
    live);
  const stop = follow(model, TRAITS, () => {
    const now = traits(model, TRAITS), [q, k] = now.rows[now.wish];
    const found = parts(q, k, now.t, now.s), score = total(found);
    chart.update(now);
    moves.update(now);
    likes.update(now.wish);
    dials.update(q, k, now, found);
    hill.update(q, k, now, score);
    live.say(`Query at ${now.t}, key at ${now.s}: distance ${fmt(now.t - now.s, 0)}, score ${fmt(score)}. ${question.update(now)}`);
  });
  return () => { moves.stop(); stop(); };
}

// ---- the question, asked before the answer ----------------------------------------------

function bet(model, from, walk) {
  const radios = radioButtons(model, "guess", GUESSES), verdict = h("p", { class: "tf-outcome" });
  const el = h("div", { class: "tf-bet", role: "radiogroup", "aria-label": "Both words move on by ten positions. What does the score do?" },
    h("p", {}, h("b", {}, "Guess first. "), "Both words move on by ten positions. What does the score do?"),
    h("div", { class: "tf-guesses" }, ...radios.all.map((radio, i) => h("label", { class: "tf-option" }, radio, GUESSES[i]))));
  let last = from, since = from, alone = false; // since: where the present distance began
  const far = (now, then) => now.t - now.s === then.t - then.s && Math.abs(now.t - then.t) >= 10;
  const update = ({ t, s, guess }) => {
    radios.update(guess);
    const now = { t, s };
    if (t !== last.t || s !== last.s) {
      alone = !walk.on && t - s !== last.t - last.s;
      if (alone) since = now;
      last = now;
    }
    const text = !guess ? "" : far(now, from) || far(now, since)
      ? `${guess === "it stays" ? "As you said: it stays." : `You said ${guess}. It stays.`} Every hand has turned, and both hands of a clock by the same angle.`
      : alone ? "One word has moved alone: the angles have changed, those of the fast hands most." : "Now move both on.";
    verdict.textContent = text;
    return text;
  };
  return { el, verdict, update };
}

// ---- the table of waves, and where the two words stand ------------------------------------

function strip() {
  const lines = range(WIDTH).map((j) => {
    const stops = range(PLACES).map((place) =>
      `rgb(0 0 0 / ${((1 + waves(place)[j]) / 2).toFixed(3)}) ${percent(place)} ${percent(place + 1)}`);
    return h("div", { class: "tf-wave", style: `mask-image: linear-gradient(to right, ${stops.join(", ")})` });
  });
  const mark = (role) => h("div", { class: `tf-at ${role}`, style: `width: ${percent(1)}` });
  const marks = { t: mark("tf-q"), s: mark("tf-k") };
  const update = (now) => Object.entries(marks).forEach(([name, el]) => { el.style.left = percent(now[name]); });
  return { el: h("div", { class: "tf-line", "aria-hidden": "true" }, h("span", { class: "tf-dial-name" }, "waves"),
    h("div", { class: "tf-strip" }, ...lines, marks.t, marks.s), h("span")), update };
}

const percent = (place) => `${(100 * place / PLACES).toFixed(4)}%`;

// ---- the three sliders ----------------------------------------------------------------------

function movers(model, walk) {
  const bounds = { min: 0, max: PLACES - 1, step: 1 }, values = cells(["t", "s", "both"]);
  let timer = 0;
  const shift = (low) => {
    const by = low - Math.min(model.get("t"), model.get("s"));
    walk.on = true; // both at once, though the model tells of one after the other
    assign(model, { t: model.get("t") + by, s: model.get("s") + by });
    walk.on = false;
  };
  const room = () => PLACES - 1 - Math.abs(model.get("t") - model.get("s"));
  const stop = () => { clearInterval(timer); timer = 0; play.textContent = "walk on together"; };
  const halt = (set) => (value) => { stop(); set(value); };
  const of = {
    t: slider("Position of the query", bounds, halt((t) => assign(model, { t }))),
    s: slider("Position of the key", bounds, halt((s) => assign(model, { s }))),
    both: slider("Both words together: the position of the first", bounds, halt((low) => shift(Math.min(low, room())))),
  };
  const step = () => {
    const low = Math.min(model.get("t"), model.get("s"));
    shift(low < room() ? low + 1 : 0);
  };
  const play = button("walk on together", () => {
    if (timer) return stop();
    if (matchMedia("(prefers-reduced-motion: reduce)").matches) {
      const low = Math.min(model.get("t"), model.get("s"));
      return shift(low + 10 <= room() ? low + 10 : 0);
    }
    play.textContent = "stop";
    timer = setInterval(step, PACE);
  });
  const line = (name, text, role) => h("div", { class: `tf-line ${role}` }, h("span", { class: "tf-dial-name", "aria-hidden": "true" }, text), of[name], values[name]);
  const el = h("div", {}, line("t", "query", "tf-q"), line("s", "key", "tf-k"), line("both", "both", ""));
  const update = ({ t, s }) => {
    const low = Math.min(t, s);
    for (const [name, value] of Object.entries({ t, s, both: low })) {
      of[name].value = value;
      values[name].show(value, name === "both" ? "" : String(value));
    }
    of.both.setAttribute("aria-valuetext", `query at ${t}, key at ${s}`);
  };
  return { el, play, stop, update };
}

function choices(model) {
  const all = WISHES.map((name) => button(name, () => assign(model, { wish: name })));
  const el = h("div", { class: "tf-group", role: "group", "aria-label": "What the query prefers" }, h("span", { class: "tf-quiet" }, "The query"), ...all);
  return { el, update: (wish) => all.forEach((one, i) => one.setAttribute("aria-pressed", String(WISHES[i] === wish))) };
}

// ---- the clocks -------------------------------------------------------------------------------

function faces() {
  const all = range(HANDS).map((i) => face(i));
  const el = h("div", { class: "tf-faces" }, ...all.map((one) => one.el));
  const update = (q, k, now, found) => all.forEach((one, i) => one.update(turned(q, i, now.t), turned(k, i, now.s), found[i]));
  return { el, update };
}

/** One clock. The first coordinate is drawn to the left, so that growing places turn clockwise. */
function face(i) {
  const value = reading("part"), arc = h("path", { class: "tf-arc" });
  const hand = (role) => h("line", { class: `tf-hand ${role}`, x1: 0, y1: 0 });
  const hands = [hand("tf-k"), hand("tf-q")];
  const drawing = h("svg", { viewBox: "-1.12 -1.12 2.24 2.24", "aria-hidden": "true" }, h("circle", { class: "tf-rim", r: 1.05 }), arc, ...hands);
  const update = (q, k, part) => {
    [k, q].forEach(([a, b], n) => { hands[n].setAttribute("x2", -a); hands[n].setAttribute("y2", -b); });
    const at = ([a, b]) => `${(-0.42 * a).toFixed(4)} ${(-0.42 * b).toFixed(4)}`;
    arc.setAttribute("d", `M 0 0 L ${at(q)} A 0.42 0.42 0 0 ${q[0] * k[1] - q[1] * k[0] > 0 ? 1 : 0} ${at(k)} Z`);
    value.show(part, fmt(part));
  };
  const name = i === 0 ? "fast" : i === HANDS - 1 ? "slow" : "";
  return { el: h("div", { class: "tf-face" }, drawing, value, h("span", { class: "tf-quiet" }, name)), update };
}

// ---- the score over the distance ------------------------------------------------------------------

function distances() {
  const score = reading("score"), apart = reading("distance"), reach = PLACES - 1;
  const curve = h("path", { class: "tf-curve" }), dot = h("circle", { class: "tf-here", r: 1.1 });
  const x = (distance) => 2 * (distance + reach) * 50 / (2 * reach), y = (value) => 10.3 - 1.15 * value;
  const axis = h("line", { class: "tf-zero", x1: 0, x2: 100, y1: y(0), y2: y(0) });
  const drawing = h("svg", { viewBox: "-1.5 0 103 14.8", "aria-hidden": "true" }, axis, curve, dot);
  const headline = h("p", { class: "tf-headline" }, "distance ", apart, h("span", { class: "tf-quiet" }, "·"), "score ", score);
  const el = h("div", { class: "tf-hill" }, drawing,
    h("p", { class: "tf-ends tf-quiet" }, h("span", {}, `key ${reach} ahead`), h("span", {}, "same position"), h("span", {}, `key ${reach} back`)));
  const update = (q, k, { t, s }, value) => {
    const points = profile(q, k).map((v, n) => `${x(n - reach).toFixed(2)} ${y(v).toFixed(2)}`);
    curve.setAttribute("d", `M ${points.join(" L ")}`);
    dot.setAttribute("cx", x(t - s));
    dot.setAttribute("cy", y(value));
    apart.show(t - s, fmt(t - s, 0));
    score.show(value, fmt(value));
  };
  return { headline, el, update };
}

export default { render };
