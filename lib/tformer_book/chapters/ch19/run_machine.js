// Run a machine: its table is the embedding, its text is the run; the two layers, token by token.

export const core = { parse, generate, simulate };

const LETTERS = "ABCDEFGIJKLMNOPQRSTUVWXYZ", MOVES = { L: -1, S: 0, R: 1 }, FAR = 160;

/** A table such as "1RB 1LB; 1LA 1RH": its rules by state and symbol, or what is wrong with it. */
function parse(text) {
  const groups = text.trim().split(";").map((group) => group.trim().split(/\s+/));
  const n = groups[0].length, states = LETTERS.slice(0, groups.length);
  if (groups.length > 8 || n > 5) return { error: "At most eight states and five symbols, please." };
  const rules = [];
  for (const [q, group] of groups.entries()) {
    if (group.length !== n) return { error: `State ${LETTERS[q]} has ${group.length} rules; the first has ${n}.` };
    for (const rule of group) {
      const [written, move, next] = rule, after = next === "H" ? groups.length : states.indexOf(next);
      if (rule.length !== 3 || !(Number(written) < n) || !(move in MOVES) || after < 0) return { error: `The rule ${rule || "(none)"} is not like 1RB.` };
      rules.push({ written: Number(written), move: MOVES[move], after });
    }
  }
  return { rules, n, halt: groups.length };
}

const name = ({ halt }, q, a) => `${q === halt ? "H" : LETTERS[q]}${a}`;

/** The run by a plain program, at most so many tokens. */
function simulate(text, steps) {
  const machine = parse(text), tape = new Map(), found = [];
  let q = 0, at = 0;
  while (found.length < steps) {
    const a = tape.get(at) ?? 0;
    found.push(name(machine, q, a));
    if (q === machine.halt) break;
    const { written, move, after } = machine.rules[q * machine.n + a];
    tape.set(at, written);
    at += move;
    q = after;
  }
  return found;
}

/** The run by the two layers: for each token what it read, where the head stands then, and what the second layer fetches.
 *
 * `power`: the sink weighs 2^power; `start`: the first address; `single`: every operation is rounded to float32.
 */
function generate(text, steps, { beta, power, start, single }) {
  const machine = parse(text), { rules, n, halt } = machine, r = single ? Math.fround : Number;
  const big = 2 ** power, sink = r(power * Math.LN2), found = [];
  const row = (q, a) => {
    const { written, move, after } = q === halt ? { written: a, move: 0, after: halt } : rules[q * n + a];
    return { name: name(machine, q, a), run: 1, bos: 0, move, after, change: written - a };
  };
  const seen = [{ name: "BOS", run: 0, bos: 1, move: 0, after: 0, change: 0 }];
  const look = (scores, values) => {
    const top = Math.max(...scores), terms = scores.map((s) => r(Math.exp(r(s - top))));
    let total = 0, out = 0;
    terms.forEach((term) => { total = r(total + term); });
    const weights = terms.map((term) => r(term / total));
    weights.forEach((weight, i) => { out = r(out + r(weight * r(big * values[i]))); });
    return [out, weights];
  };
  let token = { name: "GO", run: 1, bos: 0, move: start, after: 0, change: 0 };
  while (found.length < steps) {
    seen.push(token);
    // Layer 1: BOS is the sink, all tokens of the run have score 0, and their moves add up.
    const [P] = look(seen.map((key) => (key.bos ? sink : -FAR * token.run * (1 - key.run))), seen.map((key) => key.move));
    const C = r(P - token.move);
    Object.assign(token, { P, C, PP: r(P * P), CC: r(C * C) });
    if (!seen[0].CC) Object.assign(seen[0], { P: 0, C: 0, PP: 0, CC: 0 });
    // Layer 2: the score is -β (P - C)², and the changes at this cell add up to its content.
    const [cell, weights] = look(seen.map((key) => r(r(r(r(2 * beta * P) * key.C) + r(r(beta * token.PP) * (key.bos - 1))) + r(r(-beta * key.CC) + sink * key.bos))), seen.map((key) => key.change));
    const a = Math.min(n - 1, Math.max(0, Math.round(cell)));
    found.push({ name: token.name, P, C, cell, change: token.change, shares: weights.map((weight, i) => weight * big * seen[i].change) });
    if (token.name[0] === "H") break;
    token = row(token.after, a);
  }
  return found;
}

const TRAITS = ["table", "steps", "beta", "power", "start", "single"], SHOWN = 16, MOST = 300;
const WIDE = 680, HIGH = 185, LEFT = 44;

/** An address: 2^start, or 0. */
const address = (start) => (start ? 2 ** start : 0);

/** The drawing: the latest tokens as columns, the cell of each change as a row, what the last token adds up as arcs. */
function drawing() {
  const svg = h("svg", { class: "tf-ledger-plot", viewBox: `0 0 ${WIDE} ${HIGH}`, role: "img" });
  const update = (found, said) => {
    const last = found[found.length - 1], first = Math.max(0, found.length - SHOWN), part = found.slice(first);
    const cells = part.slice(1).map((one) => Math.round(one.C)).concat(Math.round(last.P));
    const low = Math.min(...cells), high = Math.max(...cells, low + 4), tall = Math.min(26, 125 / (high - low + 1));
    const y = (cell) => 40 + (high - cell) * tall, x = (i) => LEFT + ((WIDE - LEFT - 20) * (i + 0.5)) / SHOWN;
    const here = Math.round(last.P), origin = found[0].P;
    svg.replaceChildren(h("rect", { class: "tf-ledger-line", x: LEFT, width: WIDE - LEFT, y: y(here) - tall / 2, height: tall }));
    for (let cell = low; cell <= high; cell++) {
      if ((high - cell) % Math.ceil(16 / tall) === 0) svg.append(h("text", { x: LEFT - 8, y: y(cell) + 5, "text-anchor": "end" }, fmt(cell - Math.round(origin), 0)));
    }
    part.forEach((one, i) => {
      svg.append(h("text", { class: "tf-ledger-token", x: x(i), y: HIGH - 8, "text-anchor": "middle" }, one.name));
      if (one.name === "GO") return;
      const share = last.shares[first + i + 1], mine = Math.abs(share) > 0.05, at = y(Math.round(one.C));
      if (mine) svg.append(h("path", { class: "tf-ledger-arc", d: `M${x(i)},${at}Q${(x(i) + x(part.length - 1)) / 2},${at - 34} ${x(part.length - 1)},${y(here)}`, "stroke-opacity": Math.min(1, Math.abs(share)).toFixed(2) }));
      const kind = one.change > 0 ? "up" : one.change < 0 ? "down" : "same";
      svg.append(h("text", { class: `tf-ledger-${kind}${mine ? " tf-ledger-mine" : ""}`, x: x(i), y: at + 5, "text-anchor": "middle" }, one.change ? (one.change > 0 ? "+" : "") + fmt(one.change, 0) : "·"));
    });
    svg.append(h("circle", { class: "tf-ledger-head", cx: x(part.length - 1), cy: y(here), r: 6 }));
    svg.setAttribute("aria-label", said);
  };
  return { svg, update };
}

function render({ model, el }) {
  const begin = traits(model, TRAITS), presets = model.get("presets");
  const root = frame(el, "tf-ledger", "Run a machine", "step on, and watch which changes the last token adds up. Then choose float32 and a first address of 4,096."), live = voice();
  const field = h("input", { type: "text", class: "tf-input tf-ledger-table", autocomplete: "off", spellcheck: "false", maxlength: 200, "aria-label": "Table of the machine",
    input: () => { if (!parse(field.value).error) assign(model, { table: field.value }); else fault.textContent = parse(field.value).error; } });
  const fault = h("p", { class: "tf-ledger-fault", role: "status" });
  const facts = cells(["steps", "beta", "power", "start", "head", "cell", "right"]), text = h("p", { class: "tf-said" });
  const ranges = {
    steps: slider("Step", { min: 1, max: MOST, step: 1 }, (steps) => assign(model, { steps })),
    beta: slider("Sharpness β", { min: 0.5, max: 32, step: 0.5 }, (beta) => assign(model, { beta })),
    power: slider("Sink, power of two", { min: 2, max: 80, step: 1 }, (power) => assign(model, { power })),
    start: slider("First address, power of two", { min: 0, max: 30, step: 1 }, (start) => assign(model, { start })),
  };
  const precise = [false, true].map((single) => button(single ? "float32" : "float64", () => assign(model, { single })));
  const move = (by) => assign(model, { steps: Math.min(MOST, Math.max(1, model.get("steps") + by)) });
  const plot = drawing();
  root.append(h("div", { class: "tf-actions", role: "group", "aria-label": "Machines" }, ...presets.map(([label, table]) => button(label, () => assign(model, { table, steps: 12 })))),
    field, fault, plot.svg, text,
    h("div", { class: "tf-actions", role: "group", "aria-label": "Steps" }, button("step back", () => move(-1)), button("step", () => move(1)), button("20 steps", () => move(20)), ...precise, button("reset", () => assign(model, begin))),
    dial("step", ranges.steps, facts.steps), dial("sharpness β", ranges.beta, facts.beta), dial("sink", ranges.power, facts.power), dial("first address", ranges.start, facts.start),
    h("dl", { class: "tf-list" }, row("layer 1: head at address", facts.head), row("layer 2: cell holds", facts.cell), row("by a plain program", facts.right)), live);
  return follow(model, TRAITS, () => {
    const now = traits(model, TRAITS);
    if (document.activeElement !== field || parse(field.value).error === undefined) { field.value = now.table; fault.textContent = ""; }
    const found = generate(now.table, now.steps, { ...now, start: address(now.start) }), truth = simulate(now.table, now.steps + 1);
    const last = found[found.length - 1], wrong = found.slice(1).findIndex((one, i) => one.name !== truth[i]);
    for (const [key, range] of Object.entries(ranges)) range.value = now[key];
    precise.forEach((one, i) => one.setAttribute("aria-pressed", Boolean(i) === now.single));
    ranges.start.setAttribute("aria-valuetext", `address ${address(now.start)}`);
    ranges.power.setAttribute("aria-valuetext", `2 to the ${now.power}`);
    facts.steps.show(found.length, String(found.length));
    facts.beta.show(now.beta, fmt(now.beta, 1));
    facts.power.show(2 ** now.power, `2^${now.power}`);
    facts.start.show(address(now.start), address(now.start).toLocaleString("en"));
    facts.head.show(last.P, fmt(last.P, 3));
    facts.cell.show(last.cell, Math.abs(last.cell) > 1e6 ? last.cell.toExponential(2) : fmt(last.cell, 4));
    const next = truth[found.length - 1];
    facts.right.show(next ? next.slice(1) : "", next && wrong < 0 ? next.slice(1) : "—");
    const said = wrong >= 0 ? `Token ${wrong + 1} is wrong: the machine reads ${truth[wrong]}, the layers wrote ${found[wrong + 1].name}.`
      : last.name[0] === "H" ? `The machine halted after ${found.length - 2} steps, and every token is right.`
      : `${found.length - 1 || "No"} token${found.length === 2 ? "" : "s"} written so far, all right. The next is ${next}.`;
    text.textContent = said;
    text.classList.toggle("tf-ledger-wrong", wrong >= 0);
    plot.update(found, `The last ${Math.min(SHOWN, found.length)} tokens of a run and what each changes. ${said}`);
    live.say(said);
  });
}

export default { render };
