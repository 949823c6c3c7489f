// A page as a book shows it: figures to touch at rest, quizzes as questions with their answers at
// the end, hidden cells left out. Returns the title of the page and of its sections.
({ page, address }) => {
  const article = document.querySelector("article.bd-article") ?? document.body;
  const make = (tag, className, ...inside) => {
    const el = Object.assign(document.createElement(tag), { className });
    el.append(...inside);
    return el;
  };
  const link = (href, text) => Object.assign(make("a", "", text), { href });

  const screen = ".tag_hide-cell, .headerlink, button.copybtn, form, .tf-breaks, .tf-program, template, .edition-aside";
  for (const el of article.querySelectorAll(screen)) el.remove();

  const answers = make("ol", "edition-answers");
  for (const host of [...article.querySelectorAll(".widget-host")]) {
    const told = host.parentElement.querySelector(":scope > noscript")?.textContent ?? "";
    const still = new DOMParser().parseFromString(told, "text/html").body;
    if (!host.querySelector(".tf-quiz")) {
      // What is folded at rest stays folded: the picture is the one that a reader meets.
      for (const fold of host.querySelectorAll("details:not([open])")) fold.remove();
      const place = address ? link(`${address}${page}.html`, `${address}${page}.html`) : make("code", "", `${page}.html`);
      const note = make("p", "edition-note", "Shown as it rests. To touch it, open ", place, ".");
      host.dataset.told = (still.querySelector("p")?.textContent ?? "").replace(/^Interactive figure, needs JavaScript: /, "");
      host.after(note);
      continue;
    }
    const questions = [...still.querySelectorAll(":scope > ol > li")].map((item) => {
      const n = answers.children.length + 1;
      const answer = make("li", "", ...item.querySelector("details").childNodes);
      answer.querySelector("summary").remove();
      item.querySelector("details").remove();
      answer.id = `answer-${n}`;
      answer.append(" ", link(`#question-${n}`, "Back to the question"));
      answers.append(answer);
      const asked = make("div", "edition-question", make("strong", "", `Question ${n}. `), ...item.childNodes, link(`#answer-${n}`, "Answer"));
      asked.id = `question-${n}`;
      return asked;
    });
    host.replaceWith(...questions);
  }
  for (const el of article.querySelectorAll("noscript, script")) el.remove();
  if (answers.children.length) {
    const section = make("section", "", make("h2", "", "Answers to the questions"), answers);
    section.id = "answers-to-the-questions";
    article.append(section);
  }

  const words = (heading) => heading.textContent.trim().replace(/\s+/g, " ");
  const sections = [...article.querySelectorAll("section[id] > h2")];
  return {
    title: words(article.querySelector("h1")),
    sections: sections.map((heading) => [heading.parentElement.id, words(heading)]),
  };
}
