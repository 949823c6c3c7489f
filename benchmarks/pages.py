"""What a reader meets on each page of a chapter, at a desk and on a phone.

`python benchmarks/pages.py NAME` measures the built book and writes results/pages-NAME.json and
results/pages-NAME.md; after `python benchmarks/pages.py OTHER --since NAME` the table has two
numbers in a cell wherever they differ. `--book` names another folder than _build/html.
"""

import argparse
import gzip
import json
import os
import shutil
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import machine
from playwright.sync_api import Browser, Page, Route, TimeoutError, sync_playwright

from tformer_book.pipeline import find_root

RESULTS = Path(__file__).parent / "results"
BITS, LATENCY = 1.6e6, 150
SIZES = {1440: 900, 390: 844}
NAMES = ("chromium", "chromium-browser", "google-chrome", "chrome")
TEXT = (".html", ".css", ".js", ".svg", ".json")
FLAGS = ["--no-sandbox", "--disable-gpu", "--disable-quic", "--disable-background-networking"]
COLUMNS = {
    "shift": "layout shift",
    "tallest_px": "tallest figure to touch (px)",
    "numbers": "numbers in it, those that wait too",
    "first_picture_px": "first picture (px)",
    "first_touch_px": "first figure to touch (px)",
    "pictures_share": "share of pictures",
    "longest_run_px": "longest run without (px)",
    "moved_kb": "kB, compressed",
    "paint_s": "first paint at 1.6 Mb/s (s)",
    "tab_stops": "tab stops",
}
"""What the table tells: `numbers` is of that figure which shows most of them."""


class Compressing(SimpleHTTPRequestHandler):
    """Serves a folder as a web host does: text is compressed."""

    def log_message(self, *_: Any) -> None:
        """Say nothing."""

    def do_GET(self) -> None:
        """Answer with the compressed file where that is usual."""
        path = Path(self.translate_path(self.path))
        if path.suffix not in TEXT or not path.is_file():
            return super().do_GET()
        body = gzip.compress(path.read_bytes(), 6)
        self.send_response(200)
        self.send_header("Content-Type", self.guess_type(str(path)))
        self.send_header("Content-Encoding", "gzip")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        with suppress(ConnectionError):  # a reader may leave
            self.wfile.write(body)
        return None


def measure(
    root: Path, folder: Path | None = None, only: str = "", repeats: int = 3
) -> dict[str, Any]:
    """For the landing page and each page of a chapter, at each width, all of COLUMNS and more.

    Without `only`, a part of the names of the pages, deeper pages are left out.
    """
    folder = folder or root / "_build" / "html"
    found = [folder / "index.html", *sorted(folder.glob("chapters/[0-9]*.html"))]
    found = [path for path in found if (only in str(path) if only else "deeper" not in path.name)]
    pages: dict[str, dict[str, Any]] = {}
    with serve(folder) as address, sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=chromium(), args=FLAGS)
        for name in (path.relative_to(folder).as_posix() for path in found):
            print(f"  {name}", flush=True)
            pages[name] = {
                str(width): _page(browser, f"{address}/{name}", width, repeats) for width in SIZES
            }
        shown = browser.version
        browser.close()
    return {"browser": f"Chromium {shown}", "pages": pages}


@contextmanager
def serve(folder: Path) -> Iterator[str]:
    """The address of a server for `folder`, while the block runs."""
    handler = partial(Compressing, directory=str(folder))
    with ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_port}"
        server.shutdown()


def chromium() -> str:
    """The path of a Chromium: the one that is named, or one on the path."""
    found = os.environ.get("TFORMER_CHROMIUM") or next(filter(None, map(shutil.which, NAMES)), None)
    if not found:
        raise RuntimeError(
            "no Chromium found; name one in the environment variable TFORMER_CHROMIUM"
        )
    return found


def _page(browser: Browser, address: str, width: int, repeats: int) -> dict[str, Any]:
    slow = [_slowly(browser, address, width) for _ in range(repeats)]
    slow = slow or [dict.fromkeys(("requests", "moved_kb", "paint_s"))]
    best = min(slow, key=lambda load: load["paint_s"])  # others only make it slower
    return {**_at_its_worst(browser, address, width), **best}


@contextmanager
def _fresh(browser: Browser, width: int) -> Iterator[Page]:
    """A page that has nothing in its cache."""
    context = browser.new_context(viewport={"width": width, "height": SIZES[width]})
    context.set_default_timeout(60_000)
    yield context.new_page()
    context.close()


def _slowly(browser: Browser, address: str, width: int, tries: int = 3) -> dict[str, Any]:
    """What is moved, and when something is seen, on a slow line; what hangs is begun anew."""
    try:
        return _loaded(browser, address, width)
    except TimeoutError:
        if tries == 1:
            raise
        return _slowly(browser, address, width, tries - 1)


def _loaded(browser: Browser, address: str, width: int) -> dict[str, Any]:
    moved: list[float] = []
    with _fresh(browser, width) as page:
        session = page.context.new_cdp_session(page)
        session.on(
            "Network.loadingFinished", lambda event: moved.append(event["encodedDataLength"])
        )
        session.send("Network.enable")
        limits = {"downloadThroughput": BITS / 8, "uploadThroughput": BITS / 8}
        conditions = {"offline": False, "latency": LATENCY, **limits}
        session.send("Network.emulateNetworkConditions", conditions)
        page.goto(address, wait_until="networkidle")
        paint = page.evaluate(PAINTED)
    if paint is None:
        raise RuntimeError(f"{address} painted nothing")
    return {
        "requests": len(moved),
        "moved_kb": round(sum(moved) / 1000),
        "paint_s": round(paint / 1000, 2),
    }


def _at_its_worst(browser: Browser, address: str, width: int) -> dict[str, Any]:
    """How far things move if scripts come after the first paint and typefaces after them, and
    what there is to see when all has come."""
    waiting: list[Route] = []
    with _fresh(browser, width) as page:
        page.add_init_script(WATCH)
        for late in ("**/*.js", "**/*.js?*", "**/*.woff2"):
            page.route(late, lambda route: waiting.append(route))
        page.goto(address, wait_until="commit")
        page.wait_for_function(f"{PAINTED} !== null")
        for kind in (".js", ""):
            for _ in range(20):
                for route in [one for one in waiting if kind in one.request.url]:
                    waiting.remove(route)
                    route.continue_()
                page.wait_for_timeout(25)
        page.unroute_all()
        page.wait_for_function("document.readyState === 'complete'")
        page.evaluate("document.fonts.ready")
        page.wait_for_timeout(600)
        shift = round(page.evaluate("window.moved"), 3)
        seen: dict[str, Any] = page.evaluate(SEEN)
    touched = seen["touched"]
    most = {
        "tallest_px": max((one["height"] for one in touched), default=None),
        "numbers": max((one["numbers"] for one in touched), default=None),
    }
    return {"shift": shift, **most, **seen}


PAINTED = "(performance.getEntriesByName('first-contentful-paint')[0]?.startTime ?? null)"
WATCH = """window.moved = 0;
new PerformanceObserver((list) => {
    for (const shift of list.getEntries()) window.moved += shift.value;
}).observe({ type: "layout-shift", buffered: true });"""
# Pictures are drawings, images and figures to touch; quizzes are none. All places are pixels from
# the top of the text. A group of radio buttons is one stop.
SEEN = r"""() => {
    const article = document.querySelector("article.bd-article");
    const { top, height } = article.getBoundingClientRect();
    const all = (what) => [...article.querySelectorAll(what)].filter((e) => e.checkVisibility());
    const touch = all(".tf-widget:not(.tf-quiz)");
    const drawn = all(".drawing-frame, svg.tf-chapters, figure > img");
    const spans = [...drawn, ...touch].map((e) => e.getBoundingClientRect())
        .map((box) => [box.top - top, box.bottom - top]).sort((a, b) => a[0] - b[0]);
    let end = 0, covered = 0, run = 0;
    for (const [from, to] of [...spans, [height, height]]) {
        run = Math.max(run, from - end);
        covered += Math.max(0, to - Math.max(from, end));
        end = Math.max(end, to);
    }
    const written = (i) => /number|text/.test(i.type) && i.checkVisibility();
    const fields = (e) => [...e.querySelectorAll("input")].filter(written);
    const said = (e) => [e.innerText, ...fields(e).map((i) => i.value)].join(" ");
    const place = (box) => (box ? Math.round(box.getBoundingClientRect().top - top) : null);
    const stops = new Set([...document.querySelectorAll(
        "a[href], button, input, select, textarea, summary, [tabindex]")]
        .filter((e) => e.checkVisibility() && e.tabIndex >= 0 && !e.disabled)
        .map((e) => (e.type === "radio" ? e.name : e)));
    return {
        height_px: Math.round(height),
        first_picture_px: spans.length ? Math.round(spans[0][0]) : null,
        first_touch_px: place(touch[0]),
        pictures_share: Math.round(100 * covered / height) / 100,
        longest_run_px: Math.round(run),
        tab_stops: stops.size,
        touched: touch.map((e) => ({
            name: e.className.replace("tf-widget", "").trim(),
            height: Math.round(e.getBoundingClientRect().height),
            numbers: (said(e).match(/\d+(?:[.,]\d+)*/g) ?? []).length,
        })),
    };
}"""


def table(found: dict[str, Any], since: dict[str, Any] | None = None) -> list[str]:
    """Lines of Markdown, a table for each width; what differs from `since` stands behind it."""
    earlier = (since or {}).get("pages", {})
    lines: list[str] = []
    for width in map(str, SIZES):
        lines += [f"### {width} px\n", f"| page | {' | '.join(COLUMNS.values())} |"]
        lines += ["|---|" + "--:|" * len(COLUMNS)]
        for name, page in found["pages"].items():
            old = earlier.get(name, page)[width]
            cells = [_cell(old[column], page[width][column]) for column in COLUMNS]
            lines.append(f"| {name.removeprefix('chapters/')} | {' | '.join(cells)} |")
        lines.append("")
    return lines


def _cell(old: Any, new: Any) -> str:
    told = ["–" if number is None else str(number) for number in (old, new)]
    return told[0] if old == new else " → ".join(told)


def main() -> None:
    """Measure, and write both files."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("name")
    parser.add_argument("--since", help="the name of an earlier measurement to compare with")
    parser.add_argument("--book", type=Path, help="the folder of the built book")
    parser.add_argument("--only", default="", help="a part of the names of the pages to measure")
    parser.add_argument("--repeats", type=int, default=3, help="loads on the slow line, or 0")
    chosen = parser.parse_args()
    since = chosen.since and json.loads((RESULTS / f"pages-{chosen.since}.json").read_text("utf-8"))
    found = {
        "machine": machine.describe(),
        **measure(find_root(RESULTS), chosen.book, chosen.only, chosen.repeats),
    }
    text = json.dumps(found, indent=1, ensure_ascii=False) + "\n"
    (RESULTS / f"pages-{chosen.name}.json").write_text(text, encoding="utf-8")
    head = f"# Pages, {chosen.name}{f', and {chosen.since} before it' if since else ''}\n"
    lines = "\n".join([head, *table(found, since or None)])
    (RESULTS / f"pages-{chosen.name}.md").write_text(lines, encoding="utf-8")


if __name__ == "__main__":
    main()
