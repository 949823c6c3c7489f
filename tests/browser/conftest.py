"""A browser that may ask no other host, and the built book to open in it."""

import os
import shutil
import subprocess
import sys
import threading
from collections.abc import Iterator
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest
from pages import DESKTOP, ROOT, Visit
from playwright.sync_api import Browser, ConsoleMessage, Page, Route, expect, sync_playwright

BUILT = ROOT / "_build" / ".built"
SOURCES = ["_config.yml", "_toc.yml", "index.md", "references.bib", "assets", "chapters", "lib"]
SOURCES += ["exercises/solutions", "vendor"]
NAMES = ["chromium", "chromium-browser", "google-chrome", "google-chrome-stable", "chrome"]
MAC = "/Applications/Google Chrome.app/Contents/MacOS/Google Chrome"
FLAGS = ["--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run"]
FLAGS += ["--disable-background-networking", "--disable-component-update", "--disable-sync"]
# Whatever slips past the refusal below finds no address.
FLAGS += ["--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE 127.0.0.1"]


def find_browser() -> str | None:
    """The path of a Chromium: the one named in TFORMER_CHROMIUM, or one on the path."""
    found = [os.environ.get("TFORMER_CHROMIUM"), *map(shutil.which, NAMES), MAC]
    return next((path for path in found if path and Path(path).exists()), None)


@pytest.fixture(scope="session")
def browser() -> Iterator[Browser]:
    """A Chromium for all tests; without one they are skipped, but never in CI."""
    path = find_browser()
    if path is None:
        message = "no Chromium or Chrome found; install one or name it in TFORMER_CHROMIUM"
        if os.environ.get("CI"):
            pytest.fail(message)
        pytest.skip(message)
    expect.set_options(timeout=20_000)  # a busy machine takes more than the usual five seconds
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=path, args=FLAGS)
        yield browser
        browser.close()


@pytest.fixture(scope="session")
def book() -> Path:
    """The folder of the built pages, built again if a source is newer.

    TFORMER_BOOK names another folder, an unpacked copy of the book for example.
    """
    if "TFORMER_BOOK" in os.environ:
        return Path(os.environ["TFORMER_BOOK"])
    if not BUILT.exists() or _newest() > BUILT.stat().st_mtime:
        tool = Path(sys.executable).with_name("jupyter-book")
        build = [tool, "build", ROOT, "--path-output", ROOT, "--all", "-W", "--keep-going"]
        done = subprocess.run(build, capture_output=True, text=True)
        if done.returncode:  # Sphinx would not warn twice of a page that it has read
            shutil.rmtree(ROOT / "_build" / ".doctrees", ignore_errors=True)
            pytest.fail(done.stdout[-3000:] + done.stderr[-3000:])
        BUILT.touch()
    return ROOT / "_build" / "html"


def _newest() -> float:
    files = [path for name in SOURCES for path in [ROOT / name, *(ROOT / name).rglob("*")]]
    return max(
        path.stat().st_mtime
        for path in files
        if path.is_file() and "__pycache__" not in path.parts and "checkpoint" not in path.name
    )


@pytest.fixture
def visit(browser: Browser, book: Path) -> Iterator[Visit]:
    """Open pages of the book by name; the test fails if one asks another host or errs."""
    contexts, troubles = [], []

    def open_page(name: str, **options: object) -> Page:
        context = browser.new_context(**{"viewport": DESKTOP, **options})
        contexts.append(context)
        page = context.new_page()
        watch(page, troubles)
        page.goto(name if "://" in name else (book / name).as_uri())
        return page

    yield open_page
    for context in contexts:
        context.close()
    assert troubles == []


def watch(page: Page, troubles: list[str]) -> None:
    """Refuse every other host, and note that and each error."""

    def answer(route: Route) -> None:
        url = route.request.url
        if url.startswith(("file:", "data:", "blob:", "http://127.0.0.1:")):
            route.continue_()
        else:
            troubles.append(f"asked another host: {url}")
            route.abort()

    def hear(message: ConsoleMessage) -> None:
        if message.type == "error":
            troubles.append(f"console: {message.text}")

    page.route("**/*", answer)
    page.on("console", hear)
    page.on("pageerror", lambda error: troubles.append(f"error: {error}"))


@pytest.fixture(scope="session")
def server(book: Path) -> Iterator[str]:
    """The book below /some/where/ of a server that answers a wrong address with 404.html."""

    class Handler(SimpleHTTPRequestHandler):
        def translate_path(self, path: str) -> str:
            inside = path.removeprefix("/some/where/")
            return super().translate_path("/" + inside if inside != path else "/no/such/file")

        def send_error(self, code: int, *args: object, **options: object) -> None:
            body = (book / "404.html").read_bytes()
            self.send_response(code)
            self.send_header("Content-Type", "text/html")
            self.end_headers()
            if self.command != "HEAD":
                self.wfile.write(body)

        def log_message(self, *args: object) -> None:
            """Keep quiet."""

    with ThreadingHTTPServer(("127.0.0.1", 0), partial(Handler, directory=str(book))) as served:
        threading.Thread(target=served.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{served.server_port}/some/where"
        served.shutdown()
