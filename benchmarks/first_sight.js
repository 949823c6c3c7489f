// What a reader meets before touching a figure: how high it is, how many numbers it shows, how often Tab stops in it.
(root) => {
  const seen = (el) => el.checkVisibility({ opacityProperty: true, visibilityProperty: true });
  const words = document.createTreeWalker(root, NodeFilter.SHOW_TEXT), numbers = [];
  while (words.nextNode()) {
    const el = words.currentNode.parentElement, { color, fontSize } = getComputedStyle(el);
    if (!seen(el) || el.closest(".tf-voice, option") || color === "rgba(0, 0, 0, 0)" || fontSize === "0px") continue;
    numbers.push(...(words.currentNode.data.match(/[\d.,]*\d/g) ?? []));
  }
  const groups = new Set(), stops = [...root.querySelectorAll("a[href], button, input, select, textarea, summary, [tabindex]")]
    .filter((el) => seen(el) && el.tabIndex >= 0 && !el.disabled)
    .filter((el) => el.type !== "radio" || (!groups.has(el.name) && groups.add(el.name)));
  return { height: Math.round(root.getBoundingClientRect().height), numbers: numbers.length, stops: stops.length };
}
