// What only the printer needs to know of a page.
() => {
  const LINES = 24, ROWS = 8, HIGH = 480;

  // Chromium writes down the place of what a link of the page leads to. Other pages lead here too,
  // so every id gets a link, which nobody sees.
  const links = document.createElement("nav");
  links.hidden = true;
  for (const el of document.querySelectorAll("article [id]")) {
    if (el.closest("svg, .katex")) continue;
    links.append(Object.assign(document.createElement("a"), { href: `#${el.id}` }));
  }
  document.body.append(links);

  // What is kept whole leaves a void above it, so long code and long tables are not.
  const long = [...document.querySelectorAll("article pre")].filter((el) => el.textContent.trimEnd().split("\n").length > LINES);
  long.push(...[...document.querySelectorAll("article table")].filter((el) => el.rows.length > ROWS));
  // A figure to touch becomes smaller; one that is still high is text for the most part, and may break.
  for (const host of document.querySelectorAll(".widget-host")) {
    const zoom = Math.max(0.6, Math.min(0.8, HIGH / host.offsetHeight));
    if (zoom * host.offsetHeight > HIGH) long.push(...host.querySelectorAll(".tf-widget"));
    host.style.zoom = zoom.toFixed(2);
  }
  for (const el of long) {
    for (let box = el; box && !box.matches("section, article"); box = box.parentElement) box.classList.add("edition-long");
  }

  // What the tags of the PDF say. The two looks of a formula become a picture with words; its MathML
  // is not drawn. A figure to touch is a picture, a figure with a caption is the box around its picture.
  const script = (text) => (text.length > 1 ? `(${text})` : text);
  const said = (el) => {
    if (!el.children.length) return el.textContent.replace(/\u2061/g, "").trim();
    const [a, b, c] = [...el.children].map(said);
    switch (el.localName) {
      case "annotation": case "mphantom": return "";
      case "mfrac": return `${script(a)} / ${script(b)}`;
      case "msqrt": return `√(${[...el.children].map(said).join(" ")})`;
      case "msub": case "munder": return `${a}_${script(b)}`;
      case "msup": case "mover": return `${a}^${script(b)}`;
      case "msubsup": case "munderover": return `${a}_${script(b)}^${script(c)}`;
      case "mtable": return [...el.children].map(said).join("; ");
      default: return [...el.children].map(said).filter(Boolean).join(" ");
    }
  };
  const picture = (el, words) => {
    el.setAttribute("role", "img");
    el.setAttribute("aria-label", words);
  };
  for (const formula of document.querySelectorAll("article .katex")) {
    if (formula.closest("svg, [role=img]")) continue;
    const math = formula.querySelector("math");
    picture(formula, `Formula: ${math ? said(math) : formula.textContent}`);
    formula.querySelector(".katex-mathml")?.remove();
  }
  for (const host of document.querySelectorAll("article .widget-host")) picture(host, host.dataset.told || "A figure to touch.");
  for (const box of document.querySelectorAll("article figure")) box.setAttribute("role", "group");
  for (const part of document.querySelectorAll("article [role=img] [aria-hidden]")) part.removeAttribute("aria-hidden");
}
