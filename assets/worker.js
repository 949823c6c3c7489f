// Answers for the book when there is no network. The build writes BOOK above this: a version made of the
// contents of all files, and each file with its checksum. What a reader opens is kept; the whole book only
// when a reader asks. Nothing is kept that the build does not name.
const PREFIX = "executable-transformer-", NAME = PREFIX + BOOK.version;
const SUMS = "of/sums", ALL = "of/all"; // notes in the cache: the checksums of its files; that all are wanted
const HEAVY = /\.held\.js$/; // weights of figures: kept once a figure has asked for them
const BASE = self.registration.scope;
const LIGHT = Object.keys(BOOK.files).filter((name) => !HEAVY.test(name));
const at = (name) => BASE + name;

/** The file of the book that an address means, if it means one. */
function fileOf(url) {
  if (!url.startsWith(BASE)) return undefined;
  const name = decodeURIComponent(url.slice(BASE.length).replace(/[?#].*$/, ""));
  return [name, `${name}.html`, `${name}index.html`].find((one) => Object.hasOwn(BOOK.files, one));
}

async function fetched(cache, name) {
  const response = await fetch(at(name), { cache: "no-cache" });
  if (response.ok) await cache.put(at(name), response);
}

async function fill(cache, names, told = () => {}) {
  const missing = [];
  for (const name of names) if (!(await cache.match(at(name)))) missing.push(name);
  while (missing.length) {
    await Promise.all(missing.splice(0, 6).map((name) => fetched(cache, name)));
    await told();
  }
}

/** Take over from the build before what is the same in this one. */
async function takeOver() {
  const cache = await caches.open(NAME);
  await cache.put(at(SUMS), new Response(JSON.stringify(BOOK.files)));
  let all = false;
  for (const name of (await caches.keys()).filter((one) => one.startsWith(PREFIX) && one !== NAME)) {
    const old = await caches.open(name), sums = await (await old.match(at(SUMS)))?.json() ?? {};
    all ||= Boolean(await old.match(at(ALL)));
    for (const file of Object.keys(BOOK.files).filter((one) => sums[one] === BOOK.files[one])) {
      const response = await old.match(at(file));
      if (response) await cache.put(at(file), response);
    }
  }
  if (!all) return;
  await cache.put(at(ALL), new Response("yes"));
  await fill(cache, LIGHT);
}

async function forgetOlder() {
  for (const name of await caches.keys()) if (name.startsWith(PREFIX) && name !== NAME) await caches.delete(name);
  await self.clients.claim();
}

async function answer(request, name, event) {
  const cache = await caches.open(NAME), kept = await cache.match(at(name));
  if (kept) return kept;
  try {
    const response = await fetch(request, { cache: "no-cache" });
    if (response.ok && !response.redirected) event.waitUntil(cache.put(at(name), response.clone()));
    return response;
  } catch (error) {
    if (request.mode !== "navigate") throw error;
    const text = `<!doctype html><html lang="en"><meta charset="utf-8"><meta name="viewport" content="width=device-width">
<meta name="color-scheme" content="light dark"><title>Not on this device</title>
<body style="max-width: 36rem; margin: 12vh auto; padding: 0 1rem; font: 1.1rem/1.6 serif"><h1>This page is not on this device yet</h1>
<p>There is no network now. The <a href="${BASE}index.html">first page of the book</a> and the pages that you have opened before can be read.</p>`;
    return new Response(text, { status: 503, headers: { "Content-Type": "text/html" } });
  }
}

async function hear({ visited = [], whole = false }, client) {
  const cache = await caches.open(NAME);
  const tell = async () => {
    const kept = new Set((await cache.keys()).map(({ url }) => fileOf(url)));
    client?.postMessage({ kept: LIGHT.filter((name) => kept.has(name)).length, files: LIGHT.length, megabytes: BOOK.megabytes });
  };
  if (whole) await cache.put(at(ALL), new Response("yes"));
  await fill(cache, whole ? LIGHT : visited.map(fileOf).filter(Boolean), tell).catch(() => {}); // the network may go
  await tell();
}

self.addEventListener("install", (event) => event.waitUntil(takeOver().then(() => self.skipWaiting())));
self.addEventListener("activate", (event) => event.waitUntil(forgetOlder()));
self.addEventListener("message", (event) => event.waitUntil(hear(event.data, event.source)));
self.addEventListener("fetch", (event) => {
  const name = event.request.method === "GET" && fileOf(event.request.url);
  if (name) event.respondWith(answer(event.request, name, event));
});
