// What the pages of the book do by themselves: folds, printing, wide content, drawers.
"use strict";

/** Turn an admonition of class dropdown into a native fold with the same look. */
function fold(box) {
  const details = document.createElement("details");
  const summary = document.createElement("summary");
  const title = box.querySelector(":scope > .admonition-title");
  details.className = box.className;
  details.id = box.id;
  if (title) {
    summary.className = "admonition-title";
    summary.append(...title.childNodes);
    title.remove();
    // A link inside the handle of a fold would be a control inside a control.
    summary.querySelectorAll("a").forEach((link) => link.replaceWith(...link.childNodes));
  }
  details.append(summary, ...box.childNodes);
  box.replaceWith(details);
}

/** Open every fold around the target of the address. */
function openTarget() {
  const target = document.getElementById(decodeURIComponent(location.hash.slice(1)));
  if (!target) return;
  for (let box = target.closest("details"); box; box = box.parentElement.closest("details")) {
    box.open = true;
  }
  if (target.closest("details")) target.scrollIntoView();
}

/** Show the page as slides; the script and style that do so are loaded when first asked for. */
function lecture() {
  const button = document.querySelector("[data-lecture]");
  if (!button || document.querySelector("dialog.tf-lecture")) return;
  if (window.tfLecture) return window.tfLecture();
  const style = Object.assign(document.createElement("link"), { rel: "stylesheet", href: `${button.dataset.lecture}.css` });
  const script = Object.assign(document.createElement("script"), { src: `${button.dataset.lecture}.js` });
  style.addEventListener("load", () => document.head.append(script));
  document.head.append(style);
}

/** Load what answers while a reader types in the field beside the text, when they first come to it. */
async function answers(field) {
  const [index, program] = field.form.dataset.scripts.split(" ");
  field.form.dataset.scripts = "";
  for (const src of index ? [index, program] : []) {
    const script = Object.assign(document.createElement("script"), { src });
    document.head.append(script);
    await new Promise((loaded) => script.addEventListener("load", loaded));
  }
}

/** Let the keyboard scroll what is wider than its column, and nothing else. */
function reachWide() {
  const wide =
    "pre, div.math > span, .drawing-frame, .cell_output, .output, .pst-scrollable-table-container, .tf-cells, .tf-table";
  for (const box of document.querySelectorAll(wide)) {
    if (box.scrollWidth > box.clientWidth + 1 || box.scrollHeight > box.clientHeight + 1) {
      box.tabIndex = 0;
    } else {
      box.removeAttribute("tabindex");
    }
  }
}

/** The text of an element as it is read: each formula once, no sign of a link. */
function textOf(element) {
  const copy = element.cloneNode(true);
  copy.querySelectorAll(".katex-html, .headerlink, script, style, noscript").forEach((part) => part.remove());
  return copy.textContent.replace(/\s+/g, " ").trim();
}

/** Let the link to the form for a mistake name the section and the words that the reader has selected. */
function reportHere(link) {
  const bare = link.href, LONGEST = 500, SOON = 3000; // a click on a link lets a selection go
  let chosen = null, until = 0;
  document.addEventListener("selectionchange", () => {
    const selection = getSelection(), range = selection.rangeCount && selection.getRangeAt(0);
    const from = range && (range.startContainer.parentElement ?? range.startContainer);
    if (!selection.isCollapsed && from.closest?.("article")) {
      [chosen, until] = [{ text: textOf(range.cloneContents()), section: from.closest("[id]:is(section, .admonition, dt)")?.id }, Infinity];
    } else if (until === Infinity) until = Date.now() + SOON;
  });
  const fill = () => {
    const address = new URL(bare), { searchParams: fields } = address;
    if (chosen?.text && Date.now() < until) {
      if (chosen.section) fields.set("page", `${fields.get("page")}#${chosen.section}`);
      fields.set("sentence", chosen.text.slice(0, LONGEST));
    }
    link.href = address;
  };
  for (const event of ["pointerdown", "click"]) link.addEventListener(event, fill);
}

/** While a wide drawing lies over the contents at the right, they step back whole. */
function stepBack() {
  const contents = document.querySelector(".bd-sidebar-secondary");
  const wide = [...document.querySelectorAll("svg.drawing.wide")];
  if (!contents || !wide.length) return;
  const step = () => {
    const below = contents.getBoundingClientRect();
    contents.classList.toggle("book-covered", wide.some((drawing) => {
      const { top, bottom, right } = drawing.getBoundingClientRect();
      return right > below.left && bottom > below.top && top < below.bottom;
    }));
  };
  addEventListener("scroll", step, { passive: true });
  addEventListener("resize", step);
  step();
}

document.addEventListener("DOMContentLoaded", () => {
  document.querySelectorAll("div.admonition.dropdown").forEach(fold);
  document.querySelector("[data-print]")?.addEventListener("click", async () => {
    await window.figuresDrawn?.();
    window.print();
  });
  document.querySelector("[data-lecture]")?.addEventListener("click", lecture);
  if (/^#(slide-\d+|lecture=.+)$/.test(location.hash)) addEventListener("load", lecture);
  document.querySelectorAll("[data-report]").forEach(reportHere);
  openTarget();
  stepBack();
  const field = document.querySelector(".book-search input");
  field?.addEventListener("focus", () => answers(field), { once: true });
  if (field === document.activeElement && field) answers(field);
  for (const name of ["primary", "secondary"]) {
    const handle = document.querySelector(`.${name}-toggle`);
    const drawer = document.getElementById(`pst-${name}-sidebar-modal`);
    drawer?.addEventListener("close", () => handle?.focus()); // the theme would lose the place
  }
});
// The theme looks for wide content too, but not in formulas; this comes after it.
const look = () => setTimeout(reachWide, 400);
window.addEventListener("load", look);
window.addEventListener("resize", look);
document.addEventListener("toggle", look, true);
window.addEventListener("hashchange", openTarget);

window.addEventListener("keydown", (event) => {
  const typing = event.target.closest?.("input, textarea, .tf-widget, dialog");
  if (event.key === "l" && !event.ctrlKey && !event.metaKey && !event.altKey && !typing) lecture();
  if (event.key !== "k" || !(event.ctrlKey || event.metaKey)) return;
  event.preventDefault();
  const field = document.querySelector(".bd-search input");
  if (field?.checkVisibility()) field.focus();
  else document.querySelector(".book-search-link")?.click();
});

// On paper every fold is open, the colours are the light ones, and a widget keeps its width, for
// which its curves were drawn.
const DRAWN_ON = ".tf-words, .tf-ask-table, .tf-riddle-stage";
window.addEventListener("beforeprint", () => {
  const root = document.documentElement;
  root.dataset.screen = root.dataset.theme;
  root.dataset.theme = "light";
  for (const box of document.querySelectorAll("details:not([open])")) {
    box.open = true;
    box.dataset.shut = "";
  }
  for (const box of document.querySelectorAll(DRAWN_ON)) box.style.width = `${box.offsetWidth}px`;
});
window.addEventListener("afterprint", () => {
  const root = document.documentElement;
  root.dataset.theme = root.dataset.screen;
  for (const box of document.querySelectorAll("details[data-shut]")) {
    box.open = false;
    delete box.dataset.shut;
  }
  for (const box of document.querySelectorAll(DRAWN_ON)) box.style.width = "";
});

// From a server the book can be installed as an app, and what was opened once can be read without a network.
// (A page from a file may load neither of the two, and needs neither.)
if (location.protocol.startsWith("http") && navigator.serviceWorker) {
  const at = (name) => new URL(`../${name}`, document.currentScript.src).href;
  const worker = at("worker.js");
  document.head.append(Object.assign(document.createElement("link"), { rel: "manifest", href: at("manifest.webmanifest") }));
  const tell = async (message) => (await navigator.serviceWorker.ready).active.postMessage(message);
  addEventListener("appinstalled", () => tell({ whole: true }));
  addEventListener("load", async () => {
    try {
      await navigator.serviceWorker.register(worker);
      tell({ visited: [location.href, ...performance.getEntriesByType("resource").map(({ name }) => name)] });
    } catch {} // a browser may refuse; the book is read all the same
  });
}
