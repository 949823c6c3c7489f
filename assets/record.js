// What a reader has read: pages, the place left, answers to quizzes. This browser keeps it, and nothing is sent.
"use strict";
{
  const KEY = "executable-transformer", FORM = 1, LONG_ENOUGH = 20_000; // milliseconds
  const PAGE = /^[\w-]+(\/[\w-]+)*$/, DAY = /^\d{4}-\d\d-\d\d/;
  const root = new URL("..", document.currentScript.src).href;

  // ---- the record ----

  const empty = () => ({ form: FORM, read: {}, left: null, quizzes: {} });
  const table = (of, fits) => Object.fromEntries(Object.entries(Object(of)).filter(([page, value]) => PAGE.test(page) && fits(value)));
  const answers = (of) => Object.values(Object(of)).every((right) => typeof right === "boolean");

  /** The parts of a record that have its form; an error if it is no record at all. */
  function sound({ form, read, left, quizzes }) {
    if (form !== FORM) throw new TypeError(`not a record of form ${FORM}`);
    const placed = left && PAGE.test(left.page) && DAY.test(left.when);
    return {
      form,
      read: table(read, (day) => DAY.test(day)),
      left: placed ? { page: left.page, section: String(left.section ?? ""), title: String(left.title).slice(0, 200), when: left.when } : null,
      quizzes: table(quizzes, answers),
    };
  }

  function load() {
    try {
      return sound(JSON.parse(localStorage.getItem(KEY)));
    } catch {
      return empty();
    }
  }

  /** Change what is kept; where a browser keeps nothing, nothing happens. */
  function keep(change) {
    const record = load();
    change(record);
    try {
      localStorage.setItem(KEY, JSON.stringify(record));
    } catch {}
    show();
  }

  function erase() {
    try {
      localStorage.removeItem(KEY);
    } catch {}
    show();
  }

  /** Add a record from elsewhere: what either has read counts, and the later place. */
  const add = (other) => keep((own) => {
    const quizzes = { ...other.quizzes };
    for (const [page, given] of Object.entries(own.quizzes)) quizzes[page] = { ...quizzes[page], ...given };
    const left = [own.left, other.left].filter(Boolean).sort((a, b) => (a.when < b.when ? 1 : -1))[0] ?? null;
    Object.assign(own, { read: { ...other.read, ...own.read }, quizzes, left });
  });

  // ---- what is noted of the page that is open ----

  const nameOf = (href) => (href.startsWith(root) ? href.slice(root.length).replace(/[?#].*$/, "").replace(/\.html$/, "") : "");
  const now = () => new Date().toISOString();
  const page = document.querySelector("[data-recorded]")?.dataset.recorded;
  let stayed = false, came = false, atEnd = false;

  function read() {
    if (stayed && came && !(page in load().read)) keep((record) => { record.read[page] = now().slice(0, 10); });
  }

  function place() {
    const next = document.querySelector(".book-turn-next");
    const of = nameOf(next?.href ?? "");
    if (atEnd && of) return { page: of, section: "", title: textOf(next).replace(/^Next /, "") };
    const heads = [...document.querySelectorAll("article section[id] > :is(h1, h2, h3)")];
    const head = heads.findLast((one) => one.getBoundingClientRect().top < innerHeight / 3) ?? heads[0];
    const within = head !== heads[0], title = textOf(heads[0]);
    if (!within) return { page, section: "", title };
    return { page, section: head.parentElement.id, title: `${title}: ${textOf(head).replace(/^[\d.]+ /, "")}` };
  }

  const leave = () => stayed && keep((record) => { record.left = { ...place(), when: now() }; });

  if (page) {
    setTimeout(() => { stayed = true; read(); }, LONG_ENOUGH);
    const watch = new IntersectionObserver((seen) => {
      atEnd = seen.at(-1).isIntersecting;
      came ||= atEnd;
      read();
    });
    document.querySelectorAll(".book-turn").forEach((end) => watch.observe(end));
    addEventListener("pagehide", leave);
    document.addEventListener("visibilitychange", () => document.hidden && leave());
    addEventListener("book-answered", ({ detail: { questions, chosen } }) => keep((record) => {
      const given = (record.quizzes[page] ??= {});
      questions.forEach((question, i) => {
        if (chosen[i] != null) given[question.id ?? question.question] = chosen[i] === question.answer;
      });
    }));
  }

  // ---- what is shown of it: the place left, and what was read in the list of chapters ----

  function show() {
    const { left, read } = load();
    for (const link of document.querySelectorAll(".bd-links li > a")) link.classList.toggle("book-read", nameOf(link.href) in read);
    for (const line of document.querySelectorAll(".book-go-on")) {
      line.hidden = !left || left.page === page;
      if (line.hidden) continue;
      const link = line.querySelector("a");
      link.href = `${root}${left.page}.html${left.section && `#${encodeURIComponent(left.section)}`}`;
      link.textContent = link.title = left.title;
    }
    dispatchEvent(new Event("book-record"));
  }

  const line = document.querySelector(".book-go-on"), title = document.querySelector("article h1");
  if (line && title && ["", "index"].includes(nameOf(location.href))) title.after(line.cloneNode(true));
  globalThis.bookRecord = { load, keep, erase, add, sound };
  addEventListener("pageshow", show);
  addEventListener("storage", show);
  show();
}
