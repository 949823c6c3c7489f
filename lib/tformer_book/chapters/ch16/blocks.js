// Read the row of "it" in blocks: the running maximum and sum, and the weights so far.

export const core = { state };

/** What is known after n blocks of so many scores, and by what the last one shrank the older sums. */
function state(scores, size, n) {
  let top = -Infinity, total = 0, shrunk = 1;
  const output = scores.map(() => 0);
  for (let start = 0, block = 0; start < scores.length && block < n; start += size, block += 1) {
    const part = scores.slice(start, start + size), next = Math.max(top, ...part);
    shrunk = Math.exp(top - next);
    total *= shrunk;
    output.forEach((x, i) => { output[i] = x * shrunk; });
    part.forEach((score, i) => {
      output[start + i] = Math.exp(score - next);
      total += output[start + i];
    });
    top = next;
  }
  return { top, total, shrunk, shares: output.map((x) => (total ? x / total : 0)) };
}

const TRAITS = ["tale", "size", "n"];

function render({ model, el }) {
  const start = traits(model, TRAITS), { rows } = traits(model, ["rows"]), count = rows[0].words.length;
  const root = frame(el, "tf-blocks", "The row in blocks", "Read one block after the other. When does the largest score change?"), live = voice();
  const picks = rows.map(({ words }, i) => button(`… ${words[count - 1]}`, () => assign(model, { tale: i })));
  const line = h("div", { class: "tf-blocks-line", role: "img", tabindex: "-1" });
  const facts = cells(["size", "n", "top", "shrunk", "total", "it"]);
  const wide = slider("Words of a block", { min: 1, max: count, step: 1 }, (size) => assign(model, { size }));
  const read = slider("Blocks that are read", { min: 0, max: count, step: 1 }, (n) => assign(model, { n }));
  root.append(h("div", { class: "tf-actions", role: "group", "aria-label": "Sentence" }, ...picks, button("reset", () => assign(model, start))),
    dial("words a block", wide, facts.size), dial("blocks read", read, facts.n), line,
    h("dl", { class: "tf-list" }, row("largest score so far", facts.top), row("older sums were multiplied by", facts.shrunk),
      row("sum so far", facts.total), row("weight of “it” so far", facts.it)), live);
  return follow(model, TRAITS, () => {
    const { tale, size, n } = traits(model, TRAITS), { words, scores } = rows[tale];
    const most = Math.ceil(count / size), blocks = Math.min(n, most), found = state(scores, size, blocks);
    const it = words.indexOf("it"), done = Math.min(blocks * size, count);
    picks.forEach((one, i) => one.setAttribute("aria-pressed", i === tale));
    wide.value = size;
    read.max = most;
    read.value = blocks;
    line.replaceChildren(...words.map((word, i) => {
      const last = i >= (blocks - 1) * size && i < done;
      const one = h("span", { class: `tf-blocks-word${i < done ? " tf-blocks-read" : ""}${last ? " tf-blocks-last" : ""}` },
        h("b", {}, word), h("span", {}, i < done ? fmt(scores[i], 2) : "?"), h("i", {}, i < done ? fmt(found.shares[i], 3) : ""));
      one.style.setProperty("--tf-share", String(found.shares[i]));
      return one;
    }));
    line.setAttribute("aria-label", `${done} of ${count} words are read`);
    facts.size.show(size, String(size));
    facts.n.show(blocks, `${blocks} of ${most}`);
    facts.top.show(done ? found.top : 0, done ? fmt(found.top, 2) : "–");
    facts.shrunk.show(found.shrunk, blocks > 1 ? fmt(found.shrunk, 3) : "–");
    facts.total.show(found.total, done ? fmt(found.total, 3) : "–");
    facts.it.show(found.shares[it], fmt(found.shares[it], 3));
    live.say(`${blocks} blocks read, largest score ${done ? fmt(found.top, 2) : "none"}, sum ${fmt(found.total, 3)}.`);
  });
}

export default { render };
