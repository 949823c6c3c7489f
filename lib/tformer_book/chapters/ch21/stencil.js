// Life by one head: paint cells and the stencil of the mask, and let the block make generations.

export const core = { next, life };

const SIDE = 10, WIDTH = 5, REACH = 2, NEAR = [6, 7, 8, 11, 12, 13, 16, 17, 18];
const relu = (x) => Math.max(0, x);
const around = (t, down, right) =>
  ((Math.floor(t / SIDE) + down + SIDE) % SIDE) * SIDE + (((t % SIDE) + right + SIDE) % SIDE);

/** The board as numbers 0 and 1. */
function boardOf(alive) {
  const board = Array(SIDE * SIDE).fill(0);
  for (const t of alive) board[t] = 1;
  return board;
}

/** What the block makes of each cell: equal weights on the stencil, then four ReLUs of u. */
function next(alive, stencil) {
  const board = boardOf(alive);
  return board.map((own, t) => {
    const seen = stencil.map((i) => board[around(t, Math.floor(i / WIDTH) - REACH, (i % WIDTH) - REACH)]);
    const u = 18 * (seen.length ? seen.reduce((a, b) => a + b, 0) / seen.length : 0) - own;
    return 2 * (relu(u - 4.25) - relu(u - 4.75) - relu(u - 7.25) + relu(u - 7.75));
  });
}

/** The next generation of Life, by counting. */
function life(alive) {
  const board = boardOf(alive);
  return board.map((own, t) => {
    let n = -own;
    for (let i = -1; i <= 1; i++) for (let j = -1; j <= 1; j++) n += board[around(t, i, j)];
    return n === 3 || (own && n === 2) ? 1 : 0;
  });
}

const TRAITS = ["alive", "stencil", "generation"];
const living = (values) => values.flatMap((x, t) => (x > 0.5 ? [t] : []));

function render({ model, el }) {
  const root = frame(el, "tf-stencil", "Life by one head", "Close a corner of the stencil. Which cells leave the rules of Life?");
  const start = { alive: model.get("first"), stencil: NEAR, generation: 0 }, live = voice();
  const facts = cells(["generation", "living", "differ"]), told = h("p", { class: "tf-stencil-told" });
  const toggle = (name, i) => {
    const now = model.get(name), rest = now.filter((x) => x !== i);
    assign(model, { [name]: rest.length < now.length ? rest : [...now, i].sort((a, b) => a - b) });
  };
  const board = squares("Board; arrow keys lead from cell to cell", SIDE, (i) => toggle("alive", i));
  const stencil = squares("Stencil of the mask; arrow keys lead from cell to cell", WIDTH, (i) => toggle("stencil", i));
  root.append(h("div", { class: "tf-stencil-both" }, h("div", {}, board.el),
    h("div", {}, h("p", {}, "A cell sees:"), stencil.el, told)),
    h("div", { class: "tf-actions" }, button("next generation", () => assign(model, {
      alive: living(next(model.get("alive"), model.get("stencil"))), generation: model.get("generation") + 1 })),
    button("3 × 3 stencil", () => assign(model, { stencil: NEAR })),
    button("empty board", () => assign(model, { alive: [], generation: 0 })), button("reset", () => assign(model, start))),
    h("dl", { class: "tf-list" }, row("generation", facts.generation), row("living cells", facts.living),
      row("cells that will differ from Life", facts.differ)), live);
  return follow(model, TRAITS, () => {
    const now = traits(model, TRAITS), found = next(now.alive, now.stencil).map((x) => x > 0.5), right = life(now.alive);
    const differs = found.map((x, t) => x !== right[t] > 0), count = differs.filter(Boolean).length;
    board.update(boardOf(now.alive), differs, (t, on) => `row ${Math.floor(t / SIDE) + 1}, column ${(t % SIDE) + 1}: ${on ? "alive" : "dead"}${differs[t] ? ", will differ from Life" : ""}`);
    stencil.update(Array.from({ length: WIDTH * WIDTH }, (_, i) => now.stencil.includes(i)), [],
      (i, on) => `${i === 12 ? "the cell itself" : `${Math.floor(i / WIDTH) - REACH} rows down, ${(i % WIDTH) - REACH} columns right`}: ${on ? "seen" : "not seen"}`);
    told.textContent = `${now.stencil.length} cell${now.stencil.length === 1 ? "" : "s"}, equal weights`;
    facts.generation.show(now.generation, String(now.generation));
    facts.living.show(now.alive.length, String(now.alive.length));
    facts.differ.show(count, String(count));
    live.say(`Generation ${now.generation}, ${now.alive.length} living cells. In the next, ${count} cells differ from Life.`);
  });
}

/** A square grid of buttons, pressed where something is. */
function squares(label, side, press) {
  const all = Array.from({ length: side * side }, (_, i) => h("button", { type: "button", class: "tf-square", click: () => press(i) }));
  const lines = Array.from({ length: side }, (_, r) => all.slice(r * side, (r + 1) * side));
  const el = h("div", { class: "tf-squares", role: "group", "aria-label": label, style: `--tf-side: ${side}` }, ...all);
  roving(el)(lines, all[Math.floor(all.length / 2)]);
  const update = (on, marked, name) => all.forEach((one, i) => {
    one.setAttribute("aria-pressed", Boolean(on[i]));
    one.setAttribute("aria-label", name(i, on[i]));
    one.classList.toggle("tf-differs", Boolean(marked[i]));
  });
  return { el, update };
}

export default { render };
