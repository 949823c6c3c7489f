// The search page: looks through the places of the book and shows each with a line of its text.
"use strict";

const MOST = 40, BEFORE = 70, LENGTH = 230;
const WORTH = { term: 30, box: 20, section: 15, page: 10 };

const plain = (text) => text.normalize("NFKD").replace(/\p{M}/gu, "").toLowerCase();
// "products" asks for "product" as well; what is found may go on after the word.
const stem = (word) => (word.length > 3 ? word.replace(/(?<=[^s])s$/, "") : word);
const wordsOf = (query) => [...new Set((plain(query).match(/[\p{L}\p{N}_]+/gu) ?? []).map(stem))];
const begins = (word) => new RegExp(`(?<![\\p{L}\\p{N}])${word}`, "gu");

/** The places that have all words, best first. */
function search(book, query) {
  const words = wordsOf(query);
  if (!words.length) return [];
  const scored = book.map(([address, kind, title, page, text]) => {
    const head = plain(title), body = plain(text);
    let score = WORTH[kind];
    for (const word of words) {
      const inTitle = (head.match(begins(word)) ?? []).length, inText = (body.match(begins(word)) ?? []).length;
      if (!inTitle && !inText) return null;
      score += (inTitle ? 40 : 0) + Math.min(inText, 10);
    }
    if (wordsOf(title.replace(/^[\d.]+ /, "")).join() === words.join()) score += 60;
    return { address, title, page, text, score };
  });
  return scored.filter(Boolean).sort((a, b) => b.score - a.score);
}

/** Part of a text around its first word that was asked for, with those words marked. */
function excerpt(text, query) {
  const p = document.createElement("p"), any = wordsOf(query).map((word) => begins(word).source).join("|");
  const low = plain(text).length === text.length ? plain(text) : text.toLowerCase();
  const first = Math.max(0, low.search(new RegExp(any, "u")) - BEFORE);
  const from = first && text.indexOf(" ", first) + 1, part = text.slice(from, from + LENGTH);
  const end = from + LENGTH < text.length ? part.lastIndexOf(" ") : part.length;
  p.className = "context";
  let at = 0;
  for (const { index, 0: found } of low.slice(from, from + end).matchAll(new RegExp(`(?:${any})[\\p{L}\\p{N}]*`, "gu"))) {
    const mark = document.createElement("mark");
    mark.textContent = part.slice(index, index + found.length);
    p.append(part.slice(at, index), mark);
    at = index + found.length;
  }
  p.append(part.slice(at, end), from + end < text.length ? " …" : "");
  if (from) p.prepend("… ");
  return p;
}

function show(found, query) {
  const results = document.getElementById("search-results");
  const status = document.createElement("p"), list = document.createElement("ul");
  list.className = "search";
  const more = found.length > MOST ? `, of which the first ${MOST} are shown` : "";
  status.textContent = found.length
    ? `${found.length} ${found.length === 1 ? "place" : "places"} in the book${more}`
    : `“${query}” did not match anything in the book.`;
  for (const { address, title, page, text } of found.slice(0, MOST)) {
    const item = document.createElement("li"), link = document.createElement("a"), where = document.createElement("span");
    link.href = address;
    link.textContent = title;
    where.className = "search-page";
    where.textContent = page === title ? "" : page;
    item.append(link, " ", where);
    if (text) item.append(excerpt(text, query));
    list.append(item);
  }
  results.replaceChildren(status, list);
}

const query = new URLSearchParams(location.search).get("q")?.trim();
if (query) {
  document.querySelector("main input[name=q]").value = query;
  show(search(globalThis.BOOK, query), query);
}
