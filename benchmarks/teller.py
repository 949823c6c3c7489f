"""How fast the storyteller writes in a page: python benchmarks/teller.py

Whole contexts of 128 tokens, drawn one by one with a cache, by the script of the figure itself, in
a page of its own. Chromium as it is and with its processor slowed down six times; Firefox and
WebKit where they are found. The median of several runs goes to benchmarks/teller.md.
"""

import base64
import json
import sys
import tempfile
from pathlib import Path
from statistics import median

import machine
from pages import FLAGS, _chromium
from playwright.sync_api import sync_playwright

from tformer_book.chapters.ch15.teller import Teller
from tformer_book.storyteller.packed import packed

HERE = Path(__file__).parent
sys.path.insert(0, str(HERE.parent / "tests"))

from browser.engines import Firefox, WebKit  # noqa: E402

RUNS, MILLISECONDS, SLOWER = 9, 600, 6
GOALS = {"Chromium": 5000, f"Chromium, {SLOWER} times slower": 700}
"""Tokens a second."""
PAGE = """<!doctype html><meta charset="utf-8"><title>speed</title><script>
(async () => {
  const url = URL.createObjectURL(new Blob([CODE], { type: "text/javascript" }));
  const engine = await import(url);
  const bytes = Uint8Array.from(atob(HELD), (sign) => sign.charCodeAt(0));
  const teller = engine.unpackTeller(await engine.gunzip(bytes));
  window.speed = () => engine.speed(teller, TIME);
  window.speed();
})();
</script>"""


def page(folder: str) -> str:
    """Write the page; its address."""
    held = base64.b64encode(packed()).decode()
    code = json.dumps(Teller._esm).replace("</", "<\\/")
    text = PAGE.replace("TIME", str(MILLISECONDS)).replace("HELD", json.dumps(held))
    path = Path(folder) / "speed.html"
    path.write_text(text.replace("CODE", code), encoding="utf-8")
    return path.as_uri()


def in_chromium(address: str, slower: int) -> tuple[str, list[float]]:
    """The browser's version, and the speeds."""
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=_chromium(), args=FLAGS)
        sheet = browser.new_page()
        if slower > 1:
            session = sheet.context.new_cdp_session(sheet)
            session.send("Emulation.setCPUThrottlingRate", {"rate": slower})
        sheet.goto(address)
        sheet.wait_for_function("window.speed")
        found = [sheet.evaluate("window.speed()") for _ in range(RUNS)]
        shown = browser.version
        browser.close()
    return shown, found


def in_engine(kind: type[Firefox] | type[WebKit], address: str) -> list[float]:
    """The speeds in Firefox or WebKit."""
    engine = kind()
    with engine.stack:
        engine.open()
        engine.goto(address)
        engine.wait("!!window.speed")
        return [float(engine.value("window.speed()")) for _ in range(RUNS)]


def main() -> None:
    """Measure, and write the table."""
    with tempfile.TemporaryDirectory() as folder:
        address = page(folder)
        version, plain = in_chromium(address, 1)
        found = {"Chromium": plain, f"Chromium, {SLOWER} times slower": in_chromium(address, 6)[1]}
        for kind in (Firefox, WebKit):
            if not kind.missing:
                found[kind.__name__] = in_engine(kind, address)
    lines = ["# The storyteller in a page", "", "Written by `python benchmarks/teller.py`:"]
    lines += [f"tokens a second, median, least and most of {RUNS} runs of {MILLISECONDS} ms.", ""]
    lines += ["| engine | median | least | most | goal |", "|---|--:|--:|--:|--:|"]
    for name, speeds in found.items():
        row = [f"{x:,.0f}" for x in (median(speeds), min(speeds), max(speeds))]
        goal = f"{GOALS[name]:,}" if name in GOALS else ""
        lines.append(f"| {name} | {' | '.join(row)} | {goal} |")
    about = machine.describe()
    lines += ["", f"{about['processor']}, {about['cores']} cores; Chromium {version}."]
    (HERE / "teller.md").write_text("\n".join(lines) + "\n", encoding="utf-8")
    print("\n".join(lines))


if __name__ == "__main__":
    main()
