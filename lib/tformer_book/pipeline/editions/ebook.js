// The article as XHTML that needs no script and no style of the page: formulas as MathML, figures
// to touch as pictures, folds open, colours written out. The page itself stays as it is.
(pictures) => {
  const article = document.querySelector("article.bd-article") ?? document.body;
  for (const fold of article.querySelectorAll("details")) fold.open = true; // what is shut has no size
  const copy = article.cloneNode(true);
  const make = (tag, className, ...inside) => {
    const el = Object.assign(document.createElement(tag), { className: className.trim() });
    el.append(...inside);
    return el;
  };
  const plain = (colour) => colour.replace(/color\(srgb ([\d.e-]+) ([\d.e-]+) ([\d.e-]+)(?: \/ ([\d.e-]+))?\)/g,
    (_, r, g, b, a = "1") => `rgba(${[r, g, b].map((x) => Math.round(255 * x)).join(", ")}, ${Number(a).toFixed(3)})`);

  // Colours and sizes that the style of the page gives, from the elements that are shown.
  const DRAWN = ["fill", "stroke", "stroke-width", "stroke-dasharray", "font-size", "font-weight", "text-anchor", "opacity", "marker-end"];
  const copies = [...copy.querySelectorAll("*")];
  [...article.querySelectorAll("*")].forEach((el, i) => {
    const style = el.getAttribute("style") ?? "", seen = getComputedStyle(el), other = copies[i];
    if (el.closest(".katex, .widget-host")) return;
    if (el.matches("svg")) {
      other.setAttribute("style", seen.display === "none" ? "display: none" : `width: ${Math.round(el.getBoundingClientRect().width)}px`);
    } else if (el.closest("svg.drawing")) {
      if (style.includes("var(")) other.setAttribute("style", style.replace(/var\((--[\w-]+)\)/g, (_, name) => seen.getPropertyValue(name).trim()));
    } else if (el.closest("svg")) {
      other.setAttribute("style", DRAWN.map((name) => `${name}: ${plain(seen.getPropertyValue(name)).replaceAll('"', "'")}`).join("; "));
    } else if (style.includes("--")) {
      other.setAttribute("style", `background-color: ${plain(seen.backgroundColor)}; color: ${plain(seen.color)}`);
    }
    if (el.matches(".again, .tf-voice, .visually-hidden")) other.remove();
  });

  // Of the two shapes of a drawing one is shown; letters that it borrows from the other come along.
  const all = new Map([...copy.querySelectorAll("svg [id]")].map((el) => [el.id, el]));
  for (const svg of copy.querySelectorAll('svg[style="display: none"]')) svg.remove();
  const kept = new Set([...copy.querySelectorAll("svg [id]")].map((el) => el.id));
  for (const use of copy.querySelectorAll("svg use")) {
    const id = (use.getAttribute("href") ?? use.getAttribute("xlink:href") ?? "").slice(1);
    if (!id || kept.has(id) || !all.has(id)) continue;
    kept.add(id);
    const svg = use.ownerSVGElement;
    const defs = svg.querySelector("defs") ?? svg.insertBefore(document.createElementNS(svg.namespaceURI, "defs"), svg.firstChild);
    defs.append(all.get(id).cloneNode(true));
  }

  // A sign after a relation, a comma or an opening bracket has no term before it. A reader of MathML
  // knows that of the first in a row alone, and would set the others as a difference or a sum.
  const ends = (mo) => mo.matches("mo") && !/^[)\]}⟩⌋⌉|∣∥!′…⋯%]$/.test(mo.textContent.trim());
  const before = (el) => (el.previousElementSibling?.matches("mspace") ? before(el.previousElementSibling) : el.previousElementSibling);
  for (const sign of copy.querySelectorAll(".katex mo")) {
    const last = /^[−+±∓-]$/.test(sign.textContent) && before(sign);
    if (last && ends(last)) sign.setAttribute("form", "prefix");
  }

  for (const formula of [...copy.querySelectorAll(".katex-display, .katex")]) {
    const math = formula.querySelector("math");
    if (!math) continue;
    if (formula.matches(".katex-display")) math.setAttribute("display", "block");
    formula.replaceWith(math);
  }
  copy.querySelectorAll(".widget-host").forEach((host, i) => {
    const width = Math.round(article.querySelectorAll(".widget-host")[i].offsetWidth);
    const image = Object.assign(document.createElement("img"), { alt: host.dataset.told || "A figure to touch." });
    image.setAttribute("src", pictures[i]);
    image.setAttribute("style", `width: ${width}px`);
    host.replaceWith(make("div", "edition-picture", image));
  });
  for (const fold of [...copy.querySelectorAll("details")].reverse()) {
    const summary = fold.querySelector(":scope > summary");
    const box = make("div", `fold ${fold.className.replace("dropdown", "")}`);
    if (fold.id) box.id = fold.id;
    if (summary && !fold.matches(".hide")) box.append(make("p", `fold-title ${summary.className}`, ...summary.childNodes));
    summary?.remove();
    box.append(...fold.childNodes);
    fold.replaceWith(box);
  }
  for (const el of copy.querySelectorAll("button, input, select, output, link, style, [hidden]")) el.remove();
  for (const el of [copy, ...copy.querySelectorAll("*")]) {
    for (const { name } of [...el.attributes]) {
      if (/^(data-|on|tabindex|contenteditable|aria-live)/.test(name)) el.removeAttribute(name);
    }
    if (el.getAttribute("class") === "") el.removeAttribute("class");
  }
  return new XMLSerializer().serializeToString(copy);
}
