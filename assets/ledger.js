// The ledger: shows the claims that have all words of a query, of one kind, of one chapter.
"use strict";

(() => {
  const sections = [...document.querySelectorAll("article section section")];
  const chapters = sections.map((section) => {
    const claims = [];
    for (const part of section.querySelectorAll(":scope > dl > :is(dt, dd)")) {
      if (part.matches("dt")) claims.push({ parts: [], kind: part.textContent.split(", ").pop(), text: "" });
      const claim = claims.at(-1);
      claim.parts.push(part);
      claim.text += ` ${part.textContent.toLowerCase()}`;
    }
    return { section, claims, name: section.querySelector("h2").firstChild.textContent.trim() };
  });
  const kinds = [...new Set(chapters.flatMap(({ claims }) => claims.map(({ kind }) => kind)))];
  const all = chapters.reduce((sum, { claims }) => sum + claims.length, 0);

  const form = document.createElement("form"), count = document.createElement("output");
  const words = Object.assign(document.createElement("input"), { type: "search", placeholder: "Filter the claims" });
  const choose = (label, names) => {
    const select = document.createElement("select");
    select.ariaLabel = label;
    select.append(new Option(label, ""), ...names.map((name) => new Option(name, name)));
    return select;
  };
  const kind = choose("Every kind", kinds), chapter = choose("Every chapter", chapters.map(({ name }) => name));
  words.ariaLabel = words.placeholder;
  form.className = "book-filter";
  form.append(words, kind, chapter, count);
  form.addEventListener("submit", (event) => event.preventDefault());
  form.addEventListener("input", filter);
  sections[0].before(form);

  function filter() {
    const asked = words.value.toLowerCase().split(/\s+/).filter(Boolean);
    let shown = 0;
    for (const { section, claims, name } of chapters) {
      const here = !chapter.value || chapter.value === name;
      let kept = 0;
      for (const claim of claims) {
        const fits = here && (!kind.value || claim.kind === kind.value) && asked.every((word) => claim.text.includes(word));
        for (const part of claim.parts) part.hidden = !fits;
        kept += fits;
      }
      section.hidden = !kept;
      shown += kept;
    }
    count.value = `${shown} of ${all} claims`;
  }
  filter();
})();
