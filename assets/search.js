// Looks through the places of the book while a reader types: on the search page each is shown with a
// line of its text, under the field of another page the first few by name. What no text has is looked
// for among the names in the code that is shown.
"use strict";

const MOST = 40, FEW = 7, BEFORE = 70, LENGTH = 230;
const WORTH = { term: 30, box: 20, function: 20, section: 15, page: 10 };

const plain = (text) => text.normalize("NFKD").replace(/\p{M}/gu, "").toLowerCase();
// "products" asks for "product" as well; what is found may go on after the word.
const stem = (word) => (word.length > 3 ? word.replace(/(?<=[^s])s$/, "") : word);
const wordsOf = (query) => [...new Set((plain(query).match(/√?[\p{L}\p{N}_]+/gu) ?? []).map(stem))];
const begins = (word) => new RegExp(`(?<![\\p{L}\\p{N}])${word}`, "gu");
const names = (word) => new RegExp(`(?<![\\p{L}\\p{N}_])${word}`, "u");

// Whoever asks for LayerNorm means layer_norm too.
const joined = (title) => plain(title).replaceAll("_", "");
const headOf = (kind, title) => (kind === "function" ? `${plain(title)} ${joined(title)}` : plain(title));
const PLACES = globalThis.BOOK.map(([address, kind, title, page, text, code]) =>
  ({ address, kind, title, page, text, head: headOf(kind, title), body: plain(text), code: plain(code) }));
// A word of the glossary, or a box of the text that defines something.
const defines = ({ kind, title }) => kind === "term" || (kind === "box" && title.startsWith("Definition"));

/** The places that have all words, best first: what defines them, then where they stand in a title. */
function search(query) {
  const words = wordsOf(query);
  if (!words.length) return [];
  const said = found(words, false);
  return said.length && !/_/.test(query) ? said : found(words, true);
}

function found(words, inCode) {
  const scored = PLACES.map((place) => {
    let score = WORTH[place.kind], titled = 0, coded = false;
    for (const word of words) {
      const inTitle = (place.head.match(begins(word)) ?? []).length, inText = (place.body.match(begins(word)) ?? []).length;
      if (!inTitle && !inText && !(inCode && names(word).test(place.code))) return null;
      coded ||= !inTitle && !inText;
      titled += inTitle > 0;
      score += (inTitle ? 40 : 0) + Math.min(inText, 10);
    }
    const name = wordsOf(place.title.replace(/^[\d.]+ /, ""));
    if (name[0]?.startsWith(words[0])) score += 30; // of "softm", softmax before log-softmax
    if (name.join() === words.join() || (place.kind === "function" && joined(place.title) === words.join())) score += 60;
    if (titled === words.length && defines(place)) score += 100;
    return { ...place, score, coded };
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

/** Show what was found, `most` of it, with a line of its text if there is room. */
function show(query, results, root, most, roomy) {
  if (!query) return results.replaceChildren();
  const places = search(query), status = document.createElement("p"), list = document.createElement("ul");
  list.className = "search";
  const more = places.length > most ? `, of which the first ${most} are shown` : "";
  status.textContent = places.length
    ? `${places.length} ${places.length === 1 ? "place" : "places"} in the book${more}`
    : `“${query}” did not match anything in the text of the book, nor a name in its code.`;
  for (const { address, kind, title, page, text, coded } of places.slice(0, most)) {
    const item = document.createElement("li"), link = document.createElement("a"), where = document.createElement("span");
    link.setAttribute("href", root + address);
    link.textContent = title;
    where.className = "search-page";
    where.textContent = [page === title ? "" : page, kind === "function" ? "Library" : "", coded ? "in its code" : ""].filter(Boolean).join(" · ");
    item.append(link, " ", where);
    if (roomy && text && !coded) item.append(excerpt(text, query));
    list.append(item);
  }
  results.replaceChildren(status, list);
}

for (const field of document.querySelectorAll("form.bd-search input[name=q]")) {
  const root = field.form.getAttribute("action").replace(/search\.html$|#$/, "");
  const page = document.getElementById("search-results"), results = page ?? document.createElement("div");
  const answer = () => show(field.value.trim(), results, root, page ? MOST : FEW, Boolean(page));
  if (page) field.value = new URLSearchParams(location.search).get("q")?.trim() ?? "";
  else {
    results.className = "book-answers";
    results.ariaLive = "polite";
    field.form.after(results);
  }
  field.addEventListener("input", answer);
  answer();
}
