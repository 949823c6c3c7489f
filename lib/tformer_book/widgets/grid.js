// A grid that is one stop of the Tab key, and numbers that wait, for the widgets that have one.

/** Let arrow keys lead from part to part of a grid, and Tab into it and out again.
 *
 * Returns how to say what its parts are: lines of elements, null where there is none, and the one at which Tab arrives.
 */
function roving(grid) {
  let lines = [], here = null;
  const enter = (part) => {
    if (here) here.tabIndex = -1;
    here = part;
    here.tabIndex = 0;
  };
  const place = (part) => {
    const line = lines.findIndex((parts) => parts.includes(part));
    return [line, line < 0 ? -1 : lines[line].indexOf(part)];
  };
  grid.addEventListener("focusin", ({ target }) => { if (place(target)[0] >= 0) enter(target); });
  grid.addEventListener("keydown", (event) => {
    const by = { ArrowLeft: [0, -1], ArrowRight: [0, 1], ArrowUp: [-1, 0], ArrowDown: [1, 0] }[event.key];
    let [line, at] = place(event.target);
    if (!by || line < 0) return;
    event.preventDefault();
    do { line += by[0]; at += by[1]; } while (lines[line]?.[at] === null);
    lines[line]?.[at]?.focus();
  });
  return (parts, first) => {
    lines = parts;
    for (const part of parts.flat()) if (part) part.tabIndex = -1;
    enter(first);
  };
}

const classed = (name) => (el) => { el.classList.add(name); return el; };
/** A number that waits until its line is pointed at or entered, and such a line. */
const waits = classed("tf-waits"), waiting = classed("tf-waiting");

/** A button that shows all numbers that wait, for those who cannot point. */
function allNumbers(root) {
  const el = button("numbers", () => el.setAttribute("aria-pressed", root.classList.toggle("tf-all-numbers")));
  el.setAttribute("aria-pressed", "false");
  return el;
}

/** A choice among a few values of a trait, in one line of text. */
function picked(model, trait, label, values, texts) {
  const el = h("select", { class: "tf-button", "aria-label": label, change: () => assign(model, { [trait]: values[el.selectedIndex] }) },
    ...texts.map((text) => h("option", {}, text)));
  return { el, update: (now) => { el.selectedIndex = values.indexOf(now); } };
}
