// Keys with equal scores: how many there are, and the weight of each.

export const core = { weight };

function weight(count) {
  return 1 / count;
}

function render({ model, el }) {
  const root = frame(el, "tf-equal-22", "Keys with equal scores", "Double the number of keys. What is left of each weight?"), facts = cells(["count", "weight"]), live = voice();
  const input = slider("Number of keys", { min: 1, max: 12, step: 1 }, (count) => assign(model, { count }));
  root.append(input, h("dl", { class: "tf-list" }, row("keys", facts.count), row("weight of each", facts.weight)), live);
  return follow(model, ["count"], () => {
    const count = model.get("count");
    input.value = count;
    facts.count.show(count, String(count));
    facts.weight.show(weight(count), fmt(weight(count), 3));
    live.say(`${count} keys, weight ${fmt(weight(count), 3)} each.`);
  });
}

export default { render };
