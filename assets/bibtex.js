// Copies an entry of BibTeX by a click.
"use strict";

/** Put a text on the clipboard, also at an address that browsers do not call secure. */
async function copyText(text) {
  try {
    await navigator.clipboard.writeText(text);
    return true;
  } catch {
    const field = Object.assign(document.createElement("textarea"), { value: text, readOnly: true });
    document.body.append(field);
    field.select();
    const done = document.execCommand("copy");
    field.remove();
    return done;
  }
}

for (const button of document.querySelectorAll("[data-bibtex]")) {
  const words = button.textContent;
  button.addEventListener("click", async () => {
    button.textContent = (await copyText(button.dataset.bibtex)) ? "Copied" : "Not copied";
    button.focus();
    setTimeout(() => { button.textContent = words; }, 2000);
  });
}
