"""The book as an app: what it needs to be installed, and reading when the network has gone."""

import json
import shutil
import threading
import time
import zipfile
from collections.abc import Callable, Iterator
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest
from playwright.sync_api import Locator, Page, expect

from browsing import Visit, settled
from tformer_book.pipeline.site import archive
from tformer_book.pipeline.site.offline import MANIFEST, WORKER

READ, OTHER = "chapters/01_dot_products.html", "chapters/02_softmax.html"
HEAVY = "chapters/17_heads.html"
NAME = "executable-transformer-"
KEPT = f"""async () => {{
    const names = (await caches.keys()).filter((name) => name.startsWith("{NAME}"));
    const urls = [];
    for (const name of names) urls.push(...await (await caches.open(name)).keys());
    return urls.map(({{ url }}) => new URL(url).pathname.slice(1));
}}"""
PATIENCE = 60
VERSIONS = f"caches.keys().then((all) => all.filter((name) => name.startsWith('{NAME}')))"


class Site:
    """A copy of the book behind a server that can be stopped, as a network goes."""

    def __init__(self, folder: Path) -> None:
        self.folder, self.asked = folder, list[str]()
        site = self

        class Handler(SimpleHTTPRequestHandler):
            def do_GET(self) -> None:
                site.asked.append(self.path)
                super().do_GET()

            def log_message(self, *args: object) -> None:
                """Keep quiet."""

        self.server = ThreadingHTTPServer(("127.0.0.1", 0), partial(Handler, directory=str(folder)))
        self.address = f"http://127.0.0.1:{self.server.server_port}"
        threading.Thread(target=self.server.serve_forever, daemon=True).start()

    def stop(self) -> None:
        """Take the network away."""
        self.server.shutdown()
        self.server.server_close()


@pytest.fixture
def site(book: Path, tmp_path: Path) -> Iterator[Site]:
    """The book at an address of its own, so that no other test has kept anything of it."""
    folder = tmp_path / "site"
    shutil.copytree(book, folder, ignore=shutil.ignore_patterns("_sources", "*.map"))
    made = Site(folder)
    yield made
    made.stop()


@pytest.fixture
def reader(stage: Callable, site: Site) -> Iterator[Page]:
    """A browser that lets workers serve."""
    page, troubles = stage(service_workers="allow")
    yield page
    troubles.clear()


def opened(page: Page, site: Site, name: str) -> Page:
    """Open a page, and wait until the worker has kept it."""
    page.goto(f"{site.address}/{name}")
    settled(page)
    until(page, f"({KEPT})().then((all) => all.includes('{name}'))")
    return page


def until(page: Page, promised: str) -> None:
    """Wait until what a promise gives is true; Playwright's own waiting never asks twice."""
    end = time.monotonic() + PATIENCE
    while not page.evaluate(promised):
        assert time.monotonic() < end, f"never true: {promised}"
        page.wait_for_timeout(50)


def device(page: Page) -> Locator:
    """What the record says of the files on the device."""
    return page.locator("[data-record-device]")


def test_what_was_opened_is_read_without_a_network(reader: Page, site: Site) -> None:
    page = opened(reader, site, READ)
    opened(page, site, "index.html")
    site.stop()
    page.goto(f"{site.address}/{READ}?q=1#projection-and-cosine")
    figure = page.locator(".tf-widget.tf-dot-product")
    before = figure.inner_text()
    figure.locator("[role=slider], circle, svg").first.focus()
    figure.locator("button").first.click()
    expect(figure).not_to_have_text(before)
    page.locator(".bd-links a", has_text="2 Softmax").first.click()
    expect(page.locator("h1")).to_have_text("This page is not on this device yet")
    page.get_by_role("link", name="first page of the book").click()
    expect(page.locator("h1")).to_contain_text("The Executable Transformer")


def test_only_what_was_opened_is_kept_until_a_reader_asks(reader: Page, site: Site) -> None:
    page = opened(reader, site, READ)
    page.wait_for_timeout(500)
    assert not [name for name in page.evaluate(KEPT) if name == OTHER or "lecture" in name]
    page = opened(page, site, "record.html")
    button = page.get_by_role("button", name="Keep the whole book here")
    expect(device(page)).to_contain_text("of the pages that you have opened")
    button.click()
    expect(device(page)).to_contain_text("All of the book is on this device")
    expect(button).to_be_hidden()
    kept = page.evaluate(KEPT)
    assert not [name for name in kept if name.endswith(".held.js")]
    assert {READ, OTHER, HEAVY, "_static/lecture.js", "_static/book-search.js"} < set(kept)
    site.stop()
    page.goto(f"{site.address}/{OTHER}")
    expect(page.locator(".tf-softmax").first).to_be_visible()
    page.goto(f"{site.address}/search.html?q=layer_norm")
    expect(page.locator("#search-results li").first).to_be_visible()


def test_weights_are_kept_when_a_figure_has_asked_for_them(reader: Page, site: Site) -> None:
    page = opened(reader, site, READ)  # the worker serves from the second page on
    opened(page, site, HEAVY)
    assert not [name for name in page.evaluate(KEPT) if name.endswith(".held.js")]
    page.locator(".tf-cutting").scroll_into_view_if_needed()
    page.locator(".tf-cutting[data-ready]").wait_for()
    until(page, f"({KEPT})().then((all) => all.some((one) => one.endsWith('.held.js')))")
    site.stop()
    page.reload()
    page.locator(".tf-cutting").scroll_into_view_if_needed()
    page.locator(".tf-cutting[data-ready]").wait_for()


def renew(site: Site, name: str, words: str) -> None:
    """Put words into a page, and the worker of a build that has them."""
    path = site.folder / name
    path.write_text(path.read_text("utf-8").replace("<h1>", f"<h1>{words} ", 1), "utf-8")
    script = (site.folder / WORKER).read_text("utf-8")
    head, code = script.split("\n};\n")
    start, known = head.split("const BOOK = ")
    told = json.loads(known + "}")
    told["version"], told["files"][name] = "another", "another"
    (site.folder / WORKER).write_text(f"{start}const BOOK = {json.dumps(told)};\n{code}", "utf-8")


def test_a_new_build_takes_the_place_of_the_old(reader: Page, site: Site) -> None:
    page = opened(reader, site, READ)
    opened(page, site, OTHER)
    (old,) = page.evaluate(VERSIONS)
    renew(site, OTHER, "Renewed")
    site.asked.clear()
    page.evaluate("navigator.serviceWorker.getRegistration().then((found) => found.update())")
    until(page, f"{VERSIONS}.then((all) => all.join() === '{NAME}another')")
    assert old != f"{NAME}another"
    assert READ in page.evaluate(KEPT)  # what is the same was taken over
    page.goto(f"{site.address}/{OTHER}")
    expect(page.locator("h1")).to_contain_text("Renewed")
    page.goto(f"{site.address}/{READ}")
    settled(page)
    assert f"/{READ}" not in site.asked


def test_the_whole_book_stays_whole_in_a_new_build(reader: Page, site: Site) -> None:
    page = opened(reader, site, "record.html")
    page.get_by_role("button", name="Keep the whole book here").click()
    expect(device(page)).to_contain_text("All of the book")
    renew(site, OTHER, "Renewed")
    page.evaluate("navigator.serviceWorker.getRegistration().then((found) => found.update())")
    until(page, f"{VERSIONS}.then((all) => all.join() === '{NAME}another')")
    site.stop()
    page.goto(f"{site.address}/{OTHER}")
    expect(page.locator("h1")).to_contain_text("Renewed")


def test_the_book_can_be_installed(reader: Page, site: Site) -> None:
    page = opened(reader, site, "index.html")
    session = page.context.new_cdp_session(page)
    told = session.send("Page.getAppManifest")
    assert told["url"] == f"{site.address}/{MANIFEST}"
    assert told["errors"] == []
    assert json.loads(told["data"])["icons"]
    errors = session.send("Page.getInstallabilityErrors")["installabilityErrors"]
    assert [one for one in errors if one["errorId"] != "in-incognito"] == []  # as every test is


def test_a_page_from_a_file_asks_for_no_worker(visit: Visit) -> None:
    page = settled(visit("record.html", service_workers="allow"))
    assert page.locator("link[rel=manifest]").count() == 0
    expect(device(page)).to_contain_text("You read from a folder")
    expect(page.locator("[data-record-whole]")).to_be_hidden()


def test_the_zip_file_is_read_without_a_server(visit: Visit, book: Path, tmp_path: Path) -> None:
    target = tmp_path / "book.zip"
    archive.write(book, target)
    with zipfile.ZipFile(target) as file:
        file.extractall(tmp_path)
    assert target.stat().st_size < 25e6
    inside = tmp_path / archive.NAME
    page = settled(visit((inside / "index.html").as_uri()))
    page.get_by_role("button", name="narrow").click()
    expect(page.locator(".tf-riddle .tf-said")).to_contain_text("at door")
    page.goto((inside / "search.html").as_uri() + "?q=layer_norm")
    page.locator("#search-results li > a").first.click()
    expect(page.locator("h1").first).to_be_visible()
    page.goto((inside / HEAVY).as_uri())
    page.locator(".tf-cutting").scroll_into_view_if_needed()
    page.locator(".tf-cutting[data-ready]").wait_for()
