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
}
