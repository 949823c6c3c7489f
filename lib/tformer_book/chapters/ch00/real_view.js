// The real model from stored runs: what each block adds at a token, what the lens reads, where the heads look.

export const core = { seen: (text, token, block, layers, heads) => seen(rowsOf(text), token, block, { layers, heads }) };

const TRAITS = ["text", "token", "block", "part"], BEST = 5, KEPT = 4, STEPS = 255, BAR = 10;

const rowsOf = (text) => HELD.texts[text].map((i) => HELD.rows[i]);
/** A token so that its spaces and lines can be seen. */
const shown = (token) => token.replace(/[ \u00a0]/g, "␣").replace(/\n/g, "↵");
/** How much is added, against what was there: ½ if both are as long. */
const share = (added, before) => added / (before + added);

/** What is stored of a token in a block: norms, the tokens that the lens reads after it, and a row of weights for each head. */
function seen(rows, token, block, { layers, heads }) {
  const row = rows[token], [before, attention, between, feedForward, after] = row.norms.slice(KEPT * block);
  const best = lens(row, block + 1), bytes = Uint8Array.from(atob(row.weights), (c) => c.charCodeAt(0)), n = bytes.length / (layers * heads);
  const weights = Array.from({ length: heads }, (_, head) => Array.from({ length: n }, (__, s) => bytes[(block * heads + head) * n + s] / STEPS));
  return { norms: { before, attention, between, feedForward, after }, best, end: lens(row, layers), weights,
    shares: [share(attention, before), share(feedForward, between)] };
}

/** The best tokens by the lens, before block 0 or after so many blocks, with their probabilities. */
function lens(row, depth) {
  return Array.from({ length: BEST }, (_, i) => BEST * depth + i).map((i) => [HELD.words[row.lens[i]], row.p[i] / 1000]);
}

function render({ model, el }) {
  const { sizes, parts, groups } = traits(model, ["sizes", "parts", "groups"]), start = traits(model, TRAITS), blocks = [...Array(sizes.layers).keys()];
  const root = frame(el, "tf-real", "The real model, from stored runs", "Move the slider. When is “␣Paris” named?"), live = voice();
  const picks = Object.keys(HELD.texts).map((name) => button(name, () => assign(model, { text: name, token: -1 })));
  const reset = button("reset", () => assign(model, start));
  const line = h("div", { class: "tf-real-tokens", role: "group", "aria-label": "Tokens of the text" }), rove = roving(line);
  const strips = ["attention adds", "feed-forward adds", ""].map((name, i) => strip(name, ["attention", "feed", "end"][i], sizes.layers, (block) => assign(model, { block })));
  const choose = slider("Block", { min: 0, max: sizes.layers - 1, step: 1 }, (block) => assign(model, { block })), at = h("b", {});
  const norms = cells(["before", "attention", "between", "feed", "after"]), parted = cells(["of-attention", "of-feed"]);
  const now = guessBars(), end = guessBars(), [nowTitle, endTitle] = Array.from({ length: 2 }, () => h("p", { class: "tf-real-title" }));
  const looks = headRows(sizes), map = arrayList(parts, groups, sizes, (part) => assign(model, { part }));
  let built = "", spoken = [];
  const build = (rows) => {
    const all = rows.map(({ token }, t) => h("button", { type: "button", class: "tf-word", click: () => assign(model, { token: t }) }, shown(token)));
    line.replaceChildren(...all);
    return all;
  };
  let tokens = [];
  const draw = () => {
    const { text, token, block, part } = traits(model, TRAITS), rows = rowsOf(text), t = token < 0 ? rows.length - 1 : Math.min(token, rows.length - 1);
    const here = seen(rows, t, block, sizes), name = shown(rows[t].token), answer = here.end[0][0], each = blocks.map((i) => seen(rows, t, i, sizes));
    if (built !== text) tokens = build(rows);
    rove([tokens], tokens[t]);
    built = text;
    picks.forEach((one, i) => one.setAttribute("aria-pressed", Object.keys(HELD.texts)[i] === text));
    tokens.forEach((one, s) => one.setAttribute("aria-pressed", s === t));
    strips[2].name(`lens: “${shown(answer)}”`);
    const chance = (best) => best.find(([word]) => word === answer)?.[1] ?? 0;
    [(one) => one.shares[0], (one) => one.shares[1], (one) => chance(one.best)].forEach((size, i) => strips[i].update(each.map(size), block));
    choose.value = block;
    at.textContent = `block ${block}`;
    const said = `block ${block}: attention adds ${fmt(here.shares[0])}, feed-forward ${fmt(here.shares[1])}; the lens reads “${shown(here.best[0][0])}”, ${fmt(here.best[0][1], 3)}`;
    choose.setAttribute("aria-valuetext", said);
    const long = (x) => fmt(x, x < 9.95 ? 1 : 0);
    for (const [key, cell] of Object.entries(norms)) {
      const x = here.norms[key === "feed" ? "feedForward" : key];
      cell.show(x, long(x));
    }
    Object.values(parted).forEach((cell, i) => cell.show(here.shares[i], fmt(here.shares[i])));
    nowTitle.textContent = `The lens after block ${block}`;
    endTitle.textContent = "Next token, at the end";
    [[now, here.best], [end, here.end]].forEach(([bars, best]) => bars.update(best.map(([word, p]) => [shown(word), p])));
    looks.update(`${sizes.heads} heads of block ${block}: what “${name}” attends to. Each ${sizes.heads / sizes.groups} heads share keys and values. Point at a bar to read it.`, rows.slice(0, t + 1).map((row) => shown(row.token)), here.weights);
    map.update(part, rows.length, block);
    const key = `${text} ${t}`; // the slider says by itself what it does
    if (spoken[0] !== key) live.say(`“${name}”, ${said}; at the end “${shown(answer)}”, ${fmt(here.end[0][1], 3)}`);
    else if (spoken[1] !== part) live.say(map.said());
    spoken = [key, part];
  };
  const facts = h("dl", { class: "tf-list" }, row("before", norms.before), row("attention adds", norms.attention, " (", parted["of-attention"], ")"),
    row("between", norms.between), row("feed-forward adds", norms.feed, " (", parted["of-feed"], ")"), row("after", norms.after));
  root.append(h("div", { class: "tf-real-top" }, h("div", { class: "tf-group", role: "group", "aria-label": "Texts" }, ...picks, reset), line),
    h("div", { class: "tf-real-strips" }, ...strips.flatMap(({ parts: two }) => two), h("span", { class: "tf-real-name" }, at), choose),
    h("p", { class: "tf-real-key" }, "A column is a block. Amber, purple: the share of what is added, norm added ÷ (norm added + norm before). Grey: the probability of the answer, 0 if it is not among the lens’s five best. ␣ is a space."),
    h("div", { class: "tf-real-panels" }, h("div", {}, h("p", { class: "tf-real-title" }, "Norm of its vector (share)"), facts), h("div", { class: "tf-real-now" }, nowTitle, now.el), h("div", { class: "tf-real-end" }, endTitle, end.el)),
    looks.el, map.el, live);
  return follow(model, TRAITS, draw);
}

/** A line of bars, one for each block; a press chooses the block. */
function strip(label, kind, layers, choose) {
  const name = h("span", { class: "tf-real-name" }, label), bars = h("g"), here = h("rect", { class: "tf-real-here", y: 0, width: BAR, height: 100 });
  const svg = h("svg", { class: `tf-real-strip tf-real-${kind}`, viewBox: `0 0 ${BAR * layers} 100`, preserveAspectRatio: "none", "aria-hidden": "true" }, here, bars);
  svg.addEventListener("click", ({ clientX }) => {
    const { left, width } = svg.getBoundingClientRect();
    choose(Math.min(layers - 1, Math.max(0, Math.floor((layers * (clientX - left)) / width))));
  });
  const update = (sizes, block) => {
    here.setAttribute("x", BAR * block);
    bars.replaceChildren(...sizes.map((size, i) => h("rect", { x: BAR * i + 1.5, width: BAR - 3, y: 100 * (1 - size), height: 100 * size })));
  };
  return { parts: [name, svg], name: (text) => { name.textContent = text; }, update };
}

/** The row of weights of each head; heads of a group share keys and values, and stand together. A bar that is pointed at is read above. */
function headRows({ heads, groups }) {
  const all = Array.from({ length: heads }, (_, i) => {
    const svg = h("svg", { preserveAspectRatio: "none", "aria-hidden": "true" }), most = h("span"), number = reading("head");
    return { svg, most, number, el: h("div", { class: "tf-real-head", role: "img" }, svg, h("span", {}, `head ${i}`), h("span", {}, number, " ", most)) };
  });
  const size = heads / groups, title = h("p", { class: "tf-real-title" });
  const el = h("div", {}, title, h("div", { class: "tf-real-heads" }, ...Array.from({ length: groups }, (_, g) => h("div", { class: "tf-real-group" }, ...all.slice(size * g, size * (g + 1)).map((one) => one.el)))));
  const update = (said, tokens, weights) => {
    title.textContent = said;
    weights.forEach((row, i) => {
      const { svg, most, number, el: one } = all[i], sorted = [...row.keys()].sort((a, b) => row[b] - row[a]), tell = (s) => `head ${i}: ${fmt(row[s])} to “${tokens[s]}”, token ${s}`;
      svg.setAttribute("viewBox", `0 0 ${row.length} 1`);
      svg.replaceChildren(...row.flatMap((weight, s) => [h("rect", { class: "tf-real-weight", x: s + 0.1, width: 0.8, y: 1 - weight, height: weight }),
        h("rect", { class: "tf-real-reach", x: s, width: 1, y: 0, height: 1, pointerenter: () => { title.textContent = tell(s); }, pointerleave: ({ pointerType }) => { if (pointerType === "mouse") title.textContent = said; } })]));
      number.show(row[sorted[0]], fmt(row[sorted[0]]));
      most.textContent = tokens[sorted[0]];
      one.setAttribute("aria-label", sorted.slice(0, 3).map(tell).join("; "));
    });
  };
  return { el, update };
}

/** All arrays by name, with their parameters; the chosen one with its shape and what is known of it. */
function arrayList(parts, groups, sizes, choose) {
  const about = h("div", { class: "tf-real-about" }), count = (n) => n.toLocaleString("en"), few = new Intl.NumberFormat("en", { notation: "compact" }), times = (shape) => shape.join(" × ");
  const all = parts.map((part, i) => h("button", { type: "button", class: "tf-real-part", click: () => choose(i) }, h("b", {}, part.caption), " ", h("span", {}, part.count ? few.format(part.count) : "–")));
  const lines = groups.map((name, g) => [h("span", { class: "tf-real-name" }, name), h("div", { class: "tf-real-parts", role: "group", "aria-label": `Arrays: ${name}` }, ...all.filter((_, i) => parts[i].group === g))]);
  const el = h("div", { class: "tf-real-map" }, ...lines.flat()), rove = roving(el);
  rove(groups.map((_, g) => all.filter((__, i) => parts[i].group === g)), all[0]);
  const told = ({ status, said, source }) => h("p", {}, h("b", {}, `${status}: `), said, ...(source ? [" ", link(source, "See where.")] : []));
  const update = (chosen, n, block) => {
    all.forEach((one, i) => one.setAttribute("aria-pressed", i === chosen));
    const part = parts[chosen];
    if (!part) {
      about.replaceChildren(h("p", {}, `Each name is an array, with its parameters. In all ${count(sizes.total)}: ${count(sizes.perBlock)} in each of ${sizes.layers} blocks, and the rest in E and the last norm. Press one to read its shape and what is known of it.`));
      return;
    }
    const tables = Object.entries(part.tables).map(([name, shape]) => `${name.replace("_", " ")}, ${times(shape)}`);
    const many = part.count ? `${count(part.count)} parameters${part.group === 1 ? " in each block" : ""}: ${tables.join("; ")}.` : "No parameters.";
    const now = part.said.filter(({ blocks: [first, last] }) => part.group !== 1 || (first <= block && block <= last));
    about.replaceChildren(h("p", {}, h("b", {}, part.name), `, ${times(part.shape.map((size) => (size === "T" ? n : size)))} (${part.axes}). ${many} `,
      link(`${part.page}.html`, `Chapter ${Number(part.page.slice(0, 2))}`), "."), ...now.map(told));
  };
  return { el: h("div", {}, el, about), update, said: () => [...about.children].map((one) => one.textContent).join(" ") };
}

export default { render };
