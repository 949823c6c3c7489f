// A calculation that can be played, stopped and drawn at any moment of it.

const PACE = 2200, REST = 1400; // milliseconds of a step that flows, and of one that jumps

const still = () => matchMedia("(prefers-reduced-motion: reduce)").matches;

/** A button, a scrubber and the names of the moments 0, 1, … at which a step is done.
 *
 * `draw` shows a moment, and is told whether it passes; `tell` says in words what is seen then, `keep` gets the one at which the reader stops.
 * Where nothing may glide, only the moments with names are shown, one after another.
 */
function player(label, names, { draw, tell, keep }) {
  const end = names.length - 1;
  let now = end, kept = end, running = false, waiting = 0, last = null;
  const play = button("", () => (running ? settle(now) : start()));
  const scrub = slider(label, { min: 0, max: end, step: 0.05 }, (moment) => settle(still() ? Math.round(moment) : moment));
  const marks = names.map((name, i) => h("button", { type: "button", class: "tf-halt", tabindex: -1, click: () => settle(i) }, name));
  const el = h("div", { class: "tf-player", role: "group", "aria-label": "Steps" }, play,
    h("div", { class: "tf-scrub" }, scrub, h("div", { class: "tf-marks", style: `grid-template-columns: minmax(0, 1fr) repeat(${end - 1}, minmax(0, 2fr)) minmax(0, 1fr)` }, ...marks)));
  const show = (moment) => {
    now = moment;
    scrub.step = still() ? 1 : 0.05;
    scrub.value = moment;
    scrub.setAttribute("aria-valuetext", tell(moment));
    marks.forEach((mark, i) => mark.setAttribute("aria-pressed", moment === i));
    play.textContent = running ? "❚❚ pause" : "▶ play";
    draw(moment, running);
  };
  const halt = () => {
    cancelAnimationFrame(waiting);
    clearTimeout(waiting);
    running = false;
  };
  const settle = (moment) => {
    halt();
    kept = moment;
    show(moment);
    keep(moment);
  };
  const flow = (time) => {
    const moment = Math.min(end, now + Math.min(100, time - (last ?? time)) / PACE);
    last = time;
    if (moment === end) return settle(end);
    show(moment);
    waiting = requestAnimationFrame(flow);
  };
  const jump = () => {
    if (now + 1 >= end) return settle(end);
    show(Math.floor(now) + 1);
    waiting = setTimeout(jump, REST);
  };
  const start = () => {
    running = true;
    last = null;
    show(now === end ? 0 : now);
    waiting = still() ? setTimeout(jump, REST) : requestAnimationFrame(flow);
  };
  const update = (moment) => {
    if (moment !== kept) halt();
    show(moment === kept ? now : moment);
    kept = moment;
  };
  return { el, update, stop: halt };
}
