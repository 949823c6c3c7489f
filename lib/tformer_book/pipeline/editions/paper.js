// Chromium writes down the place of what a link of the page leads to. Other pages lead here too, so
// every id gets a link, which nobody sees.
() => {
  const links = document.createElement("nav");
  links.hidden = true;
  for (const el of document.querySelectorAll("article [id]")) {
    if (el.closest("svg, .katex")) continue;
    links.append(Object.assign(document.createElement("a"), { href: `#${el.id}` }));
  }
  document.body.append(links);
}
