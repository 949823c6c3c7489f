// The page of the reader's record: ticks, a file to take along, and what is on the device.
"use strict";
{
  const { load, keep, erase, add, sound } = bookRecord;
  const at = (name) => document.querySelector(`[data-record-${name}]`);
  const ticks = [...document.querySelectorAll("[data-record-read]")];
  const say = (text) => { at("said").textContent = text; };

  function show() {
    const { read, quizzes } = load();
    for (const tick of ticks) tick.checked = tick.value in read;
    at("count").textContent = `${ticks.filter((tick) => tick.checked).length} of ${ticks.length}`;
    for (const score of document.querySelectorAll("[data-record-quiz]")) {
      const given = Object.values(quizzes[score.dataset.recordQuiz] ?? {});
      score.textContent = given.length ? `${given.filter(Boolean).length} of ${given.length} answers right` : "";
    }
  }

  for (const tick of ticks) {
    tick.addEventListener("change", () => keep(({ read }) => {
      if (tick.checked) read[tick.value] = new Date().toISOString().slice(0, 10);
      else delete read[tick.value];
    }));
  }
  at("save").addEventListener("click", () => {
    const href = URL.createObjectURL(new Blob([JSON.stringify(load(), null, 1)], { type: "application/json" }));
    Object.assign(document.createElement("a"), { href, download: "executable-transformer-reading.json" }).click();
    setTimeout(() => URL.revokeObjectURL(href), 1000);
    say("Saved as a file.");
  });
  at("file").addEventListener("change", async ({ target }) => {
    try {
      add(sound(JSON.parse(await target.files[0].text())));
      say("Added to this record.");
    } catch {
      say("This file is not a reading record of this book. Nothing was changed.");
    }
    target.value = "";
  });
  at("add").addEventListener("click", () => at("file").click());
  at("erase").addEventListener("click", () => {
    if (!confirm("Erase the record of your reading in this browser?")) return;
    erase();
    say("The record is erased.");
  });
  addEventListener("book-record", show);
  show();

  // ---- what can be read without a network ----

  const device = at("device"), whole = at("whole"), worker = navigator.serviceWorker;
  if (!location.protocol.startsWith("http")) device.textContent = "You read from a folder: all of the book is here already.";
  else if (!worker) device.textContent = "This browser, or this address, cannot keep pages. The book as a zip file can be read anywhere.";
  else {
    worker.addEventListener("message", ({ data: { kept, files, megabytes } }) => {
      device.textContent = kept < files
        ? `${kept} of the ${files} files of the book are on this device: those of the pages that you have opened.`
        : "All of the book is on this device. A figure with a trained model fetches its weights when you first come to it.";
      whole.hidden = kept === files;
      whole.textContent = `Keep the whole book here (${megabytes} MB)`;
    });
    whole.addEventListener("click", () => { whole.disabled = true; tell({ whole: true }).finally(() => { whole.disabled = false; }); });
    tell({});
  }
  async function tell(message) {
    (await worker.ready).active.postMessage(message);
  }
}
