"""What a page weighs and when a reader first sees it, on a fast and on a slow line."""

import gzip
import os
import shutil
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from statistics import median
from typing import Any

from playwright.sync_api import Browser, sync_playwright

LINES = {"10 Mb/s, 40 ms": (10e6, 40), "1.6 Mb/s, 150 ms": (1.6e6, 150)}
REPEATS = 3
NAMES = ("chromium", "chromium-browser", "google-chrome", "chrome")
TEXT = (".html", ".css", ".js", ".svg", ".json")
FLAGS = ["--no-sandbox", "--disable-gpu", "--disable-quic", "--disable-background-networking"]


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
        self.wfile.write(body)
        return None


def measure(root: Path) -> dict[str, Any]:
    """For each chapter and the landing page: bytes, requests and seconds to the first paint."""
    folder = root / "_build" / "html"
    found = [folder / "index.html", *sorted(folder.glob("chapters/[0-9]*.html"))]
    found += sorted(folder.glob("exercises/solutions/*.html"))
    with serve(folder) as address, sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=chromium(), args=FLAGS)
        pages = {}
        for path in found:
            name = path.relative_to(folder).as_posix()
            pages[name] = _page(browser, f"{address}/{name}")
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


def _page(browser: Browser, address: str) -> dict[str, Any]:
    loads = {
        line: [_load(browser, address, *speed) for _ in range(REPEATS)]
        for line, speed in LINES.items()
    }
    one = next(iter(loads.values()))[0]
    paints = {
        line: round(median(load["paint_s"] for load in runs), 2) for line, runs in loads.items()
    }
    return {key: one[key] for key in ("requests", "raw_kb", "moved_kb")} | {"first_paint_s": paints}


def _load(browser: Browser, address: str, bits: float, latency: float) -> dict[str, Any]:
    context = browser.new_context()
    page = context.new_page()
    session = context.new_cdp_session(page)
    moved: list[float] = []
    raw: list[int] = []
    session.on("Network.loadingFinished", lambda event: moved.append(event["encodedDataLength"]))
    session.on("Network.dataReceived", lambda event: raw.append(event["dataLength"]))
    session.send("Network.enable")
    limits = {"downloadThroughput": bits / 8, "uploadThroughput": bits / 8}
    conditions = {"offline": False, "latency": latency, **limits}
    session.send("Network.emulateNetworkConditions", conditions)
    page.goto(address, wait_until="networkidle")
    paint = page.evaluate(
        "performance.getEntriesByName('first-contentful-paint')[0]?.startTime ?? null"
    )
    context.close()
    if paint is None:
        raise RuntimeError(f"{address} painted nothing")
    return {
        "requests": len(moved),
        "raw_kb": round(sum(raw) / 1000),
        "moved_kb": round(sum(moved) / 1000),
        "paint_s": paint / 1000,
    }
