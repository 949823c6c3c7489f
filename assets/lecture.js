// Lecture mode: a chapter as slides, made from its own page. Loaded when somebody asks for it.
//
// Each heading, statement, proof, figure, table, numbered formula with its sentence, and code with
// its output is a slide; the prose after it is what the speaker says. A slide without a title of its
// own carries that of its section. Figures to touch are moved to the stage and keep what was set;
// all else is copied. A route of the chapter's plan shows what it names, in its own order.
"use strict";
(() => {
  const [WIDE, HIGH, LARGEST, SMALLEST, LINES] = [1280, 720, 1.75, 0.95, 45];
  const STATEMENT = ".theorem, .lemma, .proposition, .corollary, .definition, .example, .algorithm, .assumption";
  const make = (tag, attributes = {}, ...children) => {
    const el = document.createElement(tag);
    for (const [name, value] of Object.entries(attributes)) {
      if (typeof value === "function") el.addEventListener(name, value);
      else el.setAttribute(name, value);
    }
    el.append(...children);
    return el;
  };
  let copies = 0;

  /** A copy that shares no id and no radio group with the page: with open folds, as it stands now. */
  function copy(node) {
    const twin = node.cloneNode(true), mark = `slide${++copies}-`;
    const all = [twin, ...twin.querySelectorAll("*")];
    const originals = [node, ...node.querySelectorAll("*")];
    const ids = new Set(all.filter((el) => el.id).map((el) => el.id));
    all.forEach((el, i) => {
      if ("value" in originals[i] && el.tagName === "INPUT") el.setAttribute("value", originals[i].value);
      if (el.checked !== undefined) el.toggleAttribute("checked", originals[i].checked);
      for (const { name, value } of [...el.attributes]) {
        if (name === "id" || name === "name" || name === "for") el.setAttribute(name, mark + value);
        else if (/^#/.test(value) && ids.has(value.slice(1))) el.setAttribute(name, `#${mark}${value.slice(1)}`);
        else if (value.includes("url(#")) el.setAttribute(name, value.replaceAll("url(#", `url(#${mark}`));
        else if (/^aria-(labelledby|describedby|controls)$/.test(name)) {
          el.setAttribute(name, value.split(" ").map((id) => (ids.has(id) ? mark + id : id)).join(" "));
        }
      }
    });
    twin.querySelectorAll(".headerlink, button.copybtn, noscript").forEach((el) => el.remove());
    [...twin.querySelectorAll(".cell_input pre")].forEach(shorten);
    return twin;
  }

  /** Which lines of a listing only import or assert; what is open at the end of a line goes on. */
  function spare(listing) {
    let open = 0;
    return listing.split("\n").map((line) => {
      if (!open && !/^(import|from|assert)\b/.test(line)) return !line.trim();
      for (const sign of line) open += { "(": 1, "[": 1, "{": 1, ")": -1, "]": -1, "}": -1 }[sign] ?? 0;
      return true;
    });
  }

  /** Take such lines from a listing, unless there are no others. */
  function shorten(pre) {
    const left = spare(pre.textContent), lines = pre.innerHTML.split("\n");
    if (left.every(Boolean) || lines.length !== left.length) return;
    const blank = pre.textContent.split("\n").map((line) => !line.trim());
    const kept = lines.filter((_, i) => !left[i] || blank[i]), closed = kept.join("\n");
    if (closed.split("<span").length === closed.split("</span").length) pre.innerHTML = closed.replace(/^(<span><\/span>)?\n+/, "$1");
  }

  const text = (el) => (el?.textContent ?? "").replace("#", "").replace(/\s+/g, " ").trim();

  /** What a proof says, step by step: all that it holds but its handle. */
  const stepsOf = (proof) => [...(proof.querySelector("section") ?? proof).children].filter((el) => !el.matches("summary, .admonition-title"));

  const json = (type, parent = document) => JSON.parse(parent.querySelector(`script[type$="widget-${type}+json"]`).textContent);

  /** The questions of a quiz, as the state of its widget has them. */
  const questions = (cell) => json("state").state[json("view", cell).model_id].state.questions;

  /** How many lines the longest listing has. */
  const longest = (node) => Math.max(0, ...[...node.querySelectorAll("pre")].map((pre) => pre.textContent.split("\n").length));

  /** Whether a cell shows nothing, and its code only imports and asserts. */
  const prepares = (node) => !node.querySelector(".cell_output") && [...node.querySelectorAll("pre")].every((pre) => spare(pre.textContent).every(Boolean));

  /** The slides of a page, in order: what each shows, its title, its steps, and what is said to it. */
  function slidesOf(article) {
    const slides = [];
    let section = text(article.querySelector("h1"));
    const add = (kind, title, node, more = {}) => slides.push({
      kind, title, node, section, head: section, home: node.closest("section")?.id, index: slides.length, nodes: [node], said: [], ...more,
    });
    /** Prose is for the speaker; the first question after a heading is for the audience. */
    function say(node) {
      const slide = slides.at(-1), goesOn = !slide.nodes[0].matches("p") || /^[a-z]/.test(text(node));
      if (slide.kind === "formula" && goesOn && node.matches("p") && slide.nodes.at(-1) === node.previousElementSibling) {
        slide.nodes.push(node);
        return;
      }
      if (slide.kind === "heading" && !node.querySelector(".math")) {
        slide.asks ??= text(node).split(/(?<=[.?!])\s+(?=[A-Z“*])/).find((sentence) => sentence.endsWith("?"));
      }
      slide.said.push(node);
    }
    function walk(parent) {
      for (const node of parent.children) visit(node);
    }
    function visit(node) {
      if (node.matches("section")) walk(node);
      else if (/^H[1-4]$/.test(node.tagName)) {
        if (node.tagName !== "H4") section = text(node);
        add("heading", text(node), node, { level: node.tagName, head: "" });
      } else if (node.matches(".proof:not(:is(" + STATEMENT + "))")) proof(node);
      else if (node.matches(STATEMENT)) add("statement", text(node.querySelector(".admonition-title")), node, { head: "" });
      else if (node.matches(".cell")) cell(node);
      else if (node.matches(".admonition")) add("note", text(node.querySelector(".admonition-title, summary")), node, { head: "" });
      else if (node.matches("figure, .pst-scrollable-table-container, table, ul, ol, dl")) add("list", section, node);
      else if (node.matches("div.math:has(.eqno)")) formula(node);
      else if (!node.matches("script, style, noscript, .toctree-wrapper, span, .tf-path")) say(node);
    }
    function proof(node) {
      const title = `Proof: ${slides.at(-1)?.title ?? ""}`;
      add("proof", title, node, { head: title, steps: Math.max(1, stepsOf(node).length) });
    }
    /** A formula stands with the sentence that leads to it, and with those that follow it at once. */
    function formula(node) {
      const { kind, nodes, said } = slides.at(-1), before = [];
      if (kind === "formula" && nodes.at(-1) === node.previousElementSibling) return nodes.push(node);
      let one = node.previousElementSibling;
      while (one?.matches("div.math") && said.at(-1) === one) {
        before.unshift(said.pop());
        one = one.previousElementSibling;
      }
      if (one?.matches("p") && said.at(-1) === one) before.unshift(said.pop());
      return add("formula", section, node, { nodes: [...before, node] });
    }
    function cell(node) {
      const quiz = node.querySelectorAll(".tf-quiz .tf-item");
      if (quiz.length) quiz.forEach((_, i) => add("quiz", "Before we go on", node, { live: true, question: i, name: questions(node)[i].id }));
      else if (node.querySelector(".widget-host")) add("touch", section, node, { live: true });
      else if (node.querySelector("figure")) add("figure", text(node.querySelector(".caption-number")), node);
      else if (longest(node) <= LINES && !prepares(node)) add("code", section, node);
      else say(node); // nobody can read it from a slide
    }
    walk(article);
    return slides;
  }

  /** The slides of a place, as a plan names it: `pipeline/site/teach.py` says how. */
  function placed(place, slides) {
    const [, name, proof, kind, nth] = /^([^/+]+)(\+)?(?:\/(\*|[a-z]+)(?:-(\d+))?)?$/.exec(place);
    const home = name === "opening" ? slides[0].home : name;
    const inside = slides.filter((slide) => slide.home === home && (kind === "*" || slide.kind === kind));
    const holds = ({ kind: of, home: its, nodes }) => (of === "heading" && its === home) ||
      nodes.some((node) => node.id === home || node.querySelector(`[id="${home}"]`));
    const one = slides.find((slide) => slide.name === name) ?? slides.find(holds), next = slides[one?.index + 1];
    const found = kind ? (nth ? inside.slice(nth - 1, nth) : inside) : one ? [one] : [];
    if (!found.length) console.error(`the plan names ${place}, which is no slide of this page`);
    return proof && next?.kind === "proof" ? [...found, next] : found;
  }

  /** The slides that a route names, in its order, each with its part of the hour. */
  function along({ parts }, slides) {
    let from = 0;
    return parts.flatMap(([minutes, how, places]) => {
      const part = { how, from, until: (from += minutes) };
      return places.flatMap((place) => placed(place, slides)).map((slide) => ({ ...slide, part }));
    });
  }

  /** What a slide shows, copied: a formula and its sentence, or one element. */
  const shown = ({ nodes, node }) => (nodes.length > 1 ? make("div", {}, ...nodes.map(copy)) : copy(node));

  /** Fill a frame with a slide, as large as it fits; a proof shows its last steps that do. */
  function fill(frame, slide, step, node) {
    const asks = slide.asks ? [make("p", { class: "tf-asks-all" }, slide.asks)] : [];
    const inner = make("div", { class: `tf-slide tf-slide-${slide.kind}` }, node, ...asks);
    frame.replaceChildren(inner);
    for (const fold of inner.querySelectorAll("details.admonition, details.hide")) fold.open = true;
    const items = [...inner.querySelectorAll(".tf-quiz .tf-item")];
    items.forEach((item, i) => { item.hidden = slide.question !== undefined && i !== slide.question; });
    const steps = slide.steps ? stepsOf(inner.querySelector(".proof")) : [];
    steps.forEach((el, i) => { el.hidden = i > step; });
    const fits = (zoom) => {
      inner.style.zoom = zoom;
      inner.style.width = `${frame.clientWidth / zoom}px`;
      const folded = (el) => el.closest("details:not([open])");
      const wide = [inner, ...inner.querySelectorAll("pre, .katex-display, .drawing-frame, table")].filter((el) => !folded(el));
      return inner.getBoundingClientRect().height <= frame.getBoundingClientRect().height + 0.5 &&
        wide.every((el) => el.scrollWidth <= el.clientWidth + 2);
    };
    /** The largest zoom that fits, not below `least`. */
    const largest = (least) => {
      let low = 0, high = Math.round((LARGEST - least) / 0.05);
      while (low < high) {
        const middle = (low + high) >> 1;
        if (fits(LARGEST - 0.05 * middle)) high = middle;
        else low = middle + 1;
      }
      return LARGEST - 0.05 * low;
    };
    const zoom = fits(LARGEST) ? LARGEST : largest(steps.length > 1 ? 1.15 : SMALLEST);
    const earlier = step === Infinity ? [] : steps.slice(0, step); // on paper a proof stands whole
    for (const el of earlier) if (!fits(zoom)) el.hidden = true;
    if (!fits(zoom)) fits(largest(0.45)); // one tall thing: shown whole, if small
  }

  class Lecture {
    constructor(article) {
      this.all = this.slides = slidesOf(article);
      const routes = [...document.querySelectorAll("[data-route]")].map((one) => JSON.parse(one.dataset.route));
      this.routes = [{ name: "all slides" }, ...routes.map((route) => ({ name: route.name, slides: along(route, this.all) }))];
      this.route = this.now = 0;
      this.step = 0;
      this.began = Date.now();
      this.frame = make("div", { class: "tf-frame bd-article", tabindex: "-1", role: "region", "aria-label": "Slide", "aria-live": "polite" });
      this.head = make("p", { class: "tf-carried" });
      this.where = make("span", { class: "tf-where" });
      this.choice = make("select", { class: "tf-act", title: "all slides, or a route of fifty minutes (r)", "aria-label": "Slides shown", change: () => this.choose(this.choice.selectedIndex) },
        ...this.routes.map(({ name }, i) => make("option", {}, i ? `route ${i}: ${name}` : name)));
      this.choice.hidden = !routes.length;
      const act = (label, key, click) => make("button", { type: "button", class: "tf-act", title: `${label} (${key})`, click }, label);
      this.bar = make("div", { class: "tf-lecture-bar" }, this.where, this.choice,
        act("back", "←", () => this.go(-1)), act("next", "→", () => this.go(1)), act("step", "↓", () => this.stepBy(1)),
        act("overview", "o", () => this.overview()), act("notes", "n", () => this.notes()),
        act("print", "p", () => this.print()), act("leave", "Esc", () => this.leave()));
      this.stage = make("div", { class: "tf-stage" }, this.head, this.frame, this.bar);
      this.list = make("ol", { class: "tf-overview", hidden: "" });
      this.root = make("dialog", { class: "tf-lecture", "aria-label": "Lecture", close: () => this.leave() }, this.stage, this.list);
      this.keys = (event) => this.key(event);
      this.resize = () => this.scale();
    }

    enter() {
      document.body.append(this.root);
      document.documentElement.classList.add("tf-lecturing");
      this.root.showModal();
      this.frame.focus();
      addEventListener("resize", this.resize);
      this.root.addEventListener("keydown", this.keys);
      const named = /^#(?:slide-|lecture=route-(\d+),?)(\d*)$/.exec(location.hash);
      this.scale();
      if (named?.[1] in this.routes) this.take(Number(named[1]));
      this.show(named ? Number(named[2] || 1) - 1 : this.first());
    }

    take(route) {
      this.route = this.choice.selectedIndex = route;
      this.slides = this.routes[route].slides ?? this.all;
    }

    /** Show all slides or those of a route; stay where that is possible. */
    choose(route) {
      const { index } = this.slides[this.now];
      this.take(route);
      this.show(Math.max(0, this.slides.findIndex((slide) => slide.index === index)));
      this.frame.focus();
    }

    /** The slide of what the reader had before the eyes. */
    first() {
      const seen = this.slides.findLastIndex(({ node }) => node.getBoundingClientRect().top < innerHeight / 3);
      return scrollY < 200 ? 0 : Math.max(0, seen);
    }

    leave() {
      if (!this.root.isConnected) return;
      this.giveBack();
      this.paper?.close();
      removeEventListener("resize", this.resize);
      document.documentElement.classList.remove("tf-lecturing");
      history.replaceState(null, "", location.pathname + location.search);
      this.root.remove();
      this.slides[this.now].node.scrollIntoView();
      document.querySelector("[data-lecture]")?.focus();
    }

    scale() {
      this.stage.style.transform = `scale(${Math.min(innerWidth / WIDE, innerHeight / HIGH)})`;
    }

    show(number, step = 0) {
      this.giveBack();
      this.now = Math.max(0, Math.min(this.slides.length - 1, number));
      const slide = this.slides[this.now];
      this.step = Math.max(0, Math.min((slide.steps ?? 1) - 1, step));
      let node;
      if (slide.live) {
        this.place = document.createComment("on stage");
        slide.node.replaceWith(this.place);
        this.onStage = node = slide.node;
      } else node = shown(slide);
      this.list.hidden = true;
      this.frame.style.visibility = this.head.style.visibility = "";
      fill(this.frame, slide, this.step, node);
      const steps = slide.steps > 1 ? ` · step ${this.step + 1} of ${slide.steps}` : "";
      const plan = slide.part ? ` · minutes ${slide.part.from} to ${slide.part.until}, ${slide.part.how}` : "";
      this.head.textContent = slide.head;
      this.where.textContent = `${this.now + 1} / ${this.slides.length}${plan} · ${slide.section}${steps}`;
      history.replaceState(null, "", this.route ? `#lecture=route-${this.route},${this.now + 1}` : `#slide-${this.now + 1}`);
      this.write();
    }

    giveBack() {
      this.onStage?.querySelectorAll(".tf-item[hidden]").forEach((item) => { item.hidden = false; });
      this.place?.replaceWith(this.onStage);
      this.place = this.onStage = null;
    }

    go(by) { this.show(this.now + by); }

    stepBy(by) {
      const steps = this.slides[this.now].steps ?? 1, step = this.step + by;
      if (step < 0) this.go(-1);
      else if (step < steps) this.show(this.now, step);
      else this.go(1);
    }

    key(event) {
      const inside = event.target.closest(".tf-frame .tf-widget, input, select, textarea, summary");
      const own = /^(Page|Escape)/.test(event.key);
      if (event.ctrlKey || event.metaKey || event.altKey || (inside && !own)) return;
      const does = {
        ArrowRight: () => this.go(1), PageDown: () => this.stepBy(1), " ": () => this.stepBy(1),
        ArrowLeft: () => this.go(-1), PageUp: () => this.stepBy(-1), ArrowDown: () => this.stepBy(1), ArrowUp: () => this.stepBy(-1),
        Home: () => this.show(0), End: () => this.show(this.slides.length - 1),
        r: () => this.choose((this.route + 1) % this.routes.length), o: () => this.overview(), n: () => this.notes(), p: () => this.print(),
        f: () => (document.fullscreenElement ? document.exitFullscreen() : this.root.requestFullscreen()),
        Escape: () => (this.list.hidden ? this.leave() : this.overview()),
      }[event.key];
      if (!does || (event.key === " " && event.target.matches("button"))) return;
      event.preventDefault();
      does();
    }

    overview() {
      const open = this.list.hidden;
      this.list.hidden = !open;
      this.frame.style.visibility = this.head.style.visibility = open ? "hidden" : "";
      if (!open) return void this.frame.focus();
      const starts = ({ part }, i) => (part && part !== this.slides[i - 1]?.part ? { "data-part": `minutes ${part.from} to ${part.until}, ${part.how}` } : {});
      this.list.replaceChildren(...this.slides.map((slide, i) => make("li", { class: `tf-overview-place tf-overview-place-${slide.level ?? slide.kind}`, ...starts(slide, i) },
        make("button", { type: "button", click: () => this.show(i), ...(i === this.now ? { "aria-current": "true" } : {}) }, `${i + 1}. ${slide.title}`))));
      this.list.querySelector("[aria-current]").focus();
    }

    /** A second window for the speaker: what is said to this slide, what comes, and the time. */
    notes() {
      this.paper = open("", "tf-notes", "width=640,height=760");
      if (!this.paper) return;
      const styles = [...document.querySelectorAll('link[rel="stylesheet"]')].map((link) => `<link rel="stylesheet" href="${link.href}">`);
      this.paper.document.write(`<!doctype html><html data-theme="light"><title>Notes</title>${styles.join("")}<body class="tf-notes"></body></html>`);
      this.paper.document.close();
      this.paper.addEventListener("keydown", (event) => this.key(event));
      clearInterval(this.ticking);
      this.ticking = setInterval(() => this.tick(), 1000);
      this.write();
    }

    write() {
      const body = this.paper?.document?.body;
      if (!body) return;
      const slide = this.slides[this.now], next = this.slides[this.now + 1];
      const clock = make("p", { class: "tf-clock" });
      body.replaceChildren(clock, make("h1", {}, slide.title),
        make("article", { class: "bd-article" }, ...slide.said.map(copy)),
        make("p", { class: "tf-next" }, next ? `Next: ${next.title}` : "The end."));
      this.tick();
    }

    tick() {
      const clock = this.paper?.document?.querySelector(".tf-clock");
      const seconds = Math.floor((Date.now() - this.began) / 1000), two = (n) => String(n).padStart(2, "0");
      const { part } = this.slides[this.now], plan = part ? ` · planned ${two(part.from)}:00 to ${two(part.until)}:00` : "";
      if (clock) clock.textContent = `${two(Math.floor(seconds / 60))}:${two(seconds % 60)}${plan} · slide ${this.now + 1} of ${this.slides.length}`;
      else clearInterval(this.ticking);
    }

    /** Every slide on a sheet of 16:9, to print or to save as PDF. */
    print() {
      this.giveBack();
      const sheets = this.slides.map(() => make("div", { class: "tf-frame bd-article" }));
      const size = make("style", {}, "@page { size: 1280px 720px; margin: 0; @bottom-center { content: none } }");
      const paper = make("div", { class: "tf-sheets" }, size, ...sheets.map((sheet, i) => make("div", { class: "tf-sheet" }, make("p", { class: "tf-carried" }, this.slides[i].head), sheet)));
      this.root.append(paper);
      sheets.forEach((sheet, i) => fill(sheet, this.slides[i], Infinity, shown(this.slides[i])));
      document.documentElement.classList.add("tf-on-paper");
      addEventListener("afterprint", () => {
        document.documentElement.classList.remove("tf-on-paper");
        paper.remove();
        this.show(this.now, this.step);
      }, { once: true });
      print();
    }
  }

  window.tfLecture = () => new Lecture(document.querySelector("article.bd-article")).enter();
  window.tfLecture();
})();
