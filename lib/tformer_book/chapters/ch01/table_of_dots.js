// A tall Q against a wide K transposed: a cell of the product lights one row and one column.

export const core = { product };

/** All dot products of rows of Q with rows of K. */
function product(Q, K) {
  return Q.map((q) => K.map((k) => q.reduce((sum, x, j) => sum + x * k[j], 0)));
}

const brief = (x) => fmt(x, Number.isInteger(x) ? 0 : 1);
const factor = (x) => (x < 0 ? `(${brief(x)})` : brief(x));

function render({ model, el }) {
  const Q = model.get("queries"), K = model.get("rows_of_k"), table = product(Q, K);
  const root = frame(el, "tf-product", "Table of dot products", "Touch a cell of QKᵀ. Which row and which column make it?");
  const grid = drawGrid(model, Q, K, table), panel = readings(), live = voice();
  root.append(h("div", { class: "tf-sides" }, grid.el, panel.el), live);
  return follow(model, ["cell"], () => {
    const [t, s] = model.get("cell");
    grid.update(t, s);
    panel.update(Q[t], K[s], t, s, table[t][s]);
    live.say(`Row ${t + 1} times column ${s + 1}: ${brief(table[t][s])}`);
  });
}

// ---- the three tables -------------------------------------------------------------------

function drawGrid(model, Q, K, table) {
  const width = Q[0].length, most = Math.max(1e-12, ...table.flat().map(Math.abs));
  const cells = table.map((row, t) => row.map((x, s) => productCell(model, x / most, brief(x), t, s)));
  const number = (x) => h("span", { class: "tf-entry" }, brief(x));
  const block = (kind, name, rows, columns, entries, label) => h("div", {
    class: `tf-block tf-${kind}`, style: `--tf-columns: ${columns}; --tf-rows: ${rows}`, role: "group", "aria-label": label,
  }, h("span", { class: "tf-block-name" }, ...name), ...entries);
  const q = Q.map((row) => row.map(number));
  const k = Array.from({ length: width }, (_, j) => K.map((row) => number(row[j])));
  const shape = (rows, columns) => `${rows} rows, ${columns} columns`;
  const top = ["K", h("sup", {}, "T")];
  const el = h("div", { class: "tf-product-grid", style: `--tf-all: ${width + K.length}` },
    h("p", { class: "tf-shapes" }, "(T, d)(d, S) = (T, S)", h("br"),
      `(${Q.length}, ${width})(${width}, ${K.length}) = (${Q.length}, ${K.length})`),
    block("k", [...top, ` (${width}, ${K.length})`], width, K.length, k.flat(), `K transposed, ${shape(width, K.length)}`),
    block("q", [`Q (${Q.length}, ${width})`], Q.length, width, q.flat(), `Q, ${shape(Q.length, width)}`),
    block("qk", [`Q`, ...[h("span", {}, "K", h("sup", {}, "T"))], ` (${Q.length}, ${K.length})`], Q.length, K.length,
      cells.flat(), `The product, ${shape(Q.length, K.length)}: choose a cell, arrow keys go to the next`));
  let last = null;
  const update = (t, s) => {
    q.forEach((row, i) => row.forEach((e) => e.classList.toggle("tf-lit", i === t)));
    k.forEach((row) => row.forEach((e, i) => e.classList.toggle("tf-lit", i === s)));
    cells.forEach((row, i) => row.forEach((e, j) => {
      e.classList.toggle("tf-beside", (i === t) !== (j === s));
      e.setAttribute("aria-pressed", i === t && j === s);
      e.tabIndex = i === t && j === s ? 0 : -1;
    }));
    // The keyboard takes the focus along; the pointer leaves it where it was.
    if (last && last === el.getRootNode().activeElement) cells[t][s].focus({ preventScroll: true });
    last = cells[t][s];
  };
  return { el, update };
}

function productCell(model, share, text, t, s) {
  const choose = (cell) => assign(model, { cell });
  return h("button", {
    type: "button", class: "tf-entry tf-cell", style: `--tf-share: ${Math.abs(share).toFixed(3)}`,
    "aria-label": `row ${t + 1}, column ${s + 1}: ${text}`,
    click: () => choose([t, s]), pointerenter: (event) => event.pointerType === "mouse" && choose([t, s]),
    keydown: (event) => {
      const by = { ArrowLeft: [0, -1], ArrowRight: [0, 1], ArrowUp: [-1, 0], ArrowDown: [1, 0] }[event.key];
      if (!by) return;
      event.preventDefault();
      const inside = (i, n) => Math.min(n - 1, Math.max(0, i));
      choose([inside(t + by[0], model.get("queries").length), inside(s + by[1], model.get("rows_of_k").length)]);
    },
  }, text);
}

// ---- the sum ----------------------------------------------------------------------------

function readings() {
  const value = reading("score"), sum = h("p", { class: "tf-sum" }), name = h("span", {}), mixture = h("p", { class: "tf-sentence" });
  const el = h("div", { class: "tf-panel" }, h("p", { class: "tf-headline" }, name, value), sum, mixture);
  const tint = (kind, text) => h("b", { class: `tf-${kind}` }, text);
  return {
    el,
    update(q, k, t, s, dot) {
      name.replaceChildren(tint("q", "q"), h("sub", {}, t + 1), " · ", tint("k", "k"), h("sub", {}, s + 1), " = ");
      value.show(dot, brief(dot));
      sum.replaceChildren(...q.flatMap((x, j) =>
        [j ? " + " : "", tint("q", factor(x)), " × ", tint("k", factor(k[j]))]));
      const parts = q.map((x, j) => `${factor(x)} × row ${j + 1}`).join(" + ");
      mixture.replaceChildren(`All of row ${t + 1} is a mixture of the rows of K`, h("sup", {}, "T"), `: ${parts}.`);
    },
  };
}

export default { render };
