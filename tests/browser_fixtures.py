"""A browser that may ask no other host, the built book, and pages of widgets to open in it.

A plugin that `conftest.py` loads, so that the tests of every chapter can use it. Playwright is
imported when a test first asks for the browser.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from browsing import DESKTOP, FONTS, HOST, IN_THE_HAND, ROOT, STYLE, page_of, watch

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Page

    from browsing import Visit
    from tformer_book.widgets.base import BookWidget

BUILT = ROOT / "_build" / ".built"
SOURCES = ["_config.yml", "_toc.yml", "index.md", "references.bib", "api", "assets"]
SOURCES += ["chapters", "exercises/solutions", "lib", "vendor"]
# A page may keep something when it is left; this comes after that.
FORGET = "addEventListener('pagehide', () => { localStorage.clear(); sessionStorage.clear(); })"


@pytest.fixture(scope="session")
def browser() -> Iterator[Browser]:
    """A Chromium for all tests; without one they are skipped, but never in CI."""
    from tformer_book.pipeline.editions.browser import FLAGS, find_browser

    path = find_browser()
    if path is None:
        message = "no Chromium or Chrome found; install one or name it in TFORMER_CHROMIUM"
        if os.environ.get("CI"):
            pytest.fail(message)
        pytest.skip(message)
    from playwright.sync_api import expect, sync_playwright

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


@pytest.fixture(scope="session")
def stage(browser: Browser) -> Callable[..., tuple[Page, list[str]]]:
    """One page a device, which tests use in turn, and what goes wrong on it: a new one is slow.

    Options are those of a browser context; the size of the window and what a reader prefers are set
    anew each time.
    """
    pages: dict[str, tuple[Page, list[str]]] = {}

    def enter(
        viewport: dict[str, int] = DESKTOP,
        color_scheme: str = "light",
        reduced_motion: str = "no-preference",
        service_workers: str = "block",
        **device: object,
    ) -> tuple[Page, list[str]]:
        device["service_workers"] = service_workers  # one would answer what a test holds back
        key = repr(sorted(device.items()))
        if key not in pages:
            page, troubles = browser.new_context(viewport=viewport, **device).new_page(), []
            watch(page, troubles)
            pages[key] = page, troubles
        page, _ = pages[key]
        leave(page)
        page.set_viewport_size(viewport)
        page.emulate_media(media="null", color_scheme=color_scheme, reduced_motion=reduced_motion)
        page.mouse.move(0, 0)
        return pages[key]

    return enter


def leave(page: Page) -> None:
    """Go to an empty page, shut other windows, forget what the last page kept in the browser."""
    for window in page.context.pages[1:]:
        window.close()
    if page.url != "about:blank":
        page.evaluate(FORGET)
        page.goto("about:blank")
        page.unroute_all()


@pytest.fixture
def visit(
    stage: Callable[..., tuple[Page, list[str]]], request: pytest.FixtureRequest
) -> Iterator[Visit]:
    """Open pages of the book by name, or addresses; the test fails if one errs or asks elsewhere.

    Options are those of `stage`. A page opened with the same device takes the place of the last.
    """
    used: list[tuple[Page, list[str]]] = []

    def open_page(name: str, **options: object) -> Page:
        page, troubles = stage(**options)
        used.append((page, troubles))
        if "://" not in name:
            path, mark, query = name.partition("?")
            name = (request.getfixturevalue("book") / path).as_uri() + mark + query
        page.goto(name)
        return page

    yield open_page
    met = []
    for page, troubles in used:
        leave(page)
        met += troubles
        troubles.clear()
    assert met == []


@pytest.fixture
def show(visit: Visit, tmp_path: Path) -> Callable[..., Page]:
    """Open a page with these widgets and nothing else, as the book shows them; wait for them."""

    def open_widgets(*widgets: BookWidget, **options: object) -> Page:
        for needed in (HOST, STYLE):
            shutil.copy(needed, tmp_path)
        shutil.copytree(FONTS, tmp_path / FONTS.name, dirs_exist_ok=True)
        (tmp_path / "index.html").write_text(page_of(*widgets), encoding="utf-8")
        page = visit((tmp_path / "index.html").as_uri(), **options)
        page.locator(".tf-widget").nth(len(widgets) - 1).wait_for()
        return page

    return open_widgets


@pytest.fixture
def page(show: Callable[..., Page], widget: BookWidget) -> Page:
    """The `widget` of a test module, on a desk."""
    return show(widget)


@pytest.fixture
def phone(show: Callable[..., Page], widget: BookWidget) -> Page:
    """The `widget` of a test module, on a phone."""
    return show(widget, **IN_THE_HAND)


@pytest.fixture(scope="session")
def blank(browser: Browser) -> Iterator[Page]:
    """An empty page to run JavaScript in."""
    page = browser.new_page()
    yield page
    page.close()


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
