"""Chromium opens each built page once: it is printed, and written down as XHTML."""

import os
import shutil
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from html import escape
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tformer_book.pipeline.editions import pdf
from tformer_book.pipeline.editions.contents import Book, Front, Read

if TYPE_CHECKING:  # what looks for a browser need not load what drives it
    from playwright.sync_api import Page

HERE = Path(__file__).parent
NAMES = ["chromium", "chromium-browser", "google-chrome", "google-chrome-stable", "chrome"]
MAC = "/Applications/Google Chrome.app/Contents/MacOS/Google Chrome"
FLAGS = ["--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run"]
FLAGS += ["--disable-background-networking", "--disable-component-update", "--disable-sync"]
# Whatever a page may ask of another host finds no address.
FLAGS += ["--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE 127.0.0.1"]
WINDOW = {"width": 1280, "height": 900}
COVER = {"width": 794, "height": 1119}
SCALE = 2
"""Pixels of a picture for each pixel of the page."""


def find_browser() -> str | None:
    """The path of a Chromium: the one named in TFORMER_CHROMIUM, or one on the path."""
    found = [os.environ.get("TFORMER_CHROMIUM"), *map(shutil.which, NAMES), MAC]
    return next((path for path in found if path and Path(path).exists()), None)


class Browser:
    """Pages of the built book in one window of Chromium."""

    def __init__(self, window: "Page", built: Path, book: Book) -> None:
        self._window, self._built, self._book = window, built, book
        self._starts: dict[str, int] = {}
        self._sheets = 0

    def visit(self, page: str) -> Read:
        """Read a page; its sheets are numbered on from those of the pages read before."""
        window = self._window
        window.emulate_media(media="screen", reduced_motion="reduce")
        window.goto((self._built / f"{page}.html").as_uri())
        window.wait_for_function("document.readyState === 'complete'")
        window.evaluate("document.fonts.ready")
        window.evaluate("window.figuresDrawn?.()")
        about = window.evaluate(_code("rest.js"), {"page": page, "address": self._book.address})
        pictures = self._pictures(page)
        xhtml = window.evaluate(_code("ebook.js"), list(pictures))
        window.add_style_tag(content=_code("paper.css") + _running(about["title"], self._sheets))
        window.evaluate(_code("paper.js"))
        printed = self._print()
        self._starts[page] = self._sheets + 1
        self._sheets += pdf.count(printed)
        sections = [(name, words) for name, words in about["sections"]]
        return Read(about["title"], sections, printed, xhtml, pictures)

    def _print(self) -> bytes:
        self._window.emulate_media(media="print")
        return self._window.pdf(prefer_css_page_size=True, tagged=True)

    def _pictures(self, page: str) -> dict[str, bytes]:
        """What figures to touch look like before anybody touches them."""
        self._window.add_style_tag(content=".bd-header-article, .skip-link { display: none; }")
        figures = self._window.locator("article .widget-host").all()
        name = page.replace("/", "-")
        return {f"{name}-{n}.png": figure.screenshot() for n, figure in enumerate(figures, start=1)}

    def front(self, read: Mapping[str, Read]) -> Front:
        """The title page and the contents of the pages that have been read."""
        base = self._built.as_uri() + "/"
        fonts = (self._built / "_static" / "source-serif-4" / "roman.woff2").as_uri()
        face = f'@font-face {{ font-family: "Source Serif 4"; src: url("{fonts}"); }}'
        # A page of the book gives the right to load a file of it, which an empty page has not.
        self._window.goto((self._built / f"{self._book.pages[0]}.html").as_uri())
        self._window.set_content(
            f'<!doctype html><html lang="{self._book.language}"><meta charset="utf-8">'
            f"<title>{escape(self._book.title)}</title><style>{face}{_code('front.css')}</style>"
            f"{self._cover()}<h2>Contents</h2><ol>{self._contents(read, base)}</ol></html>"
        )
        self._window.evaluate("document.fonts.ready")
        printed = self._print()
        self._window.emulate_media(media="screen")
        cover = self._window.locator(".cover").screenshot()
        return Front(printed, cover, self._starts, base)

    def _cover(self) -> str:
        drawing = (self._built / "_static" / "favicon.svg").read_text(encoding="utf-8")
        book = self._book
        return (
            f'<section class="cover">{drawing}<h1>{escape(book.title)}</h1>'
            "<p>Every number and theorem on these pages was executed and checked.</p>"
            f'<p class="foot">{escape(book.author)} · version {escape(book.version)}</p></section>'
        )

    def _contents(self, read: Mapping[str, Read], base: str) -> str:
        lines = []
        for line in self._book.lines:
            if line.page:
                link = f'<a href="{base}{line.page}.html">{escape(read[line.page].title)}</a>'
                number = f"<i></i>{self._starts[line.page]}"
                lines.append(f'<li class="d{line.depth}">{link}{number}</li>')
            else:
                lines.append(f'<li class="part">{escape(line.caption)}</li>')
        return "".join(lines)


def _running(title: str, before: int) -> str:
    """The style that numbers sheets on, and has the title of the page above all but the first."""
    words = title.replace("\\", "\\\\").replace('"', '\\"')
    return (
        f"html {{ counter-reset: page {before}; }}"
        f'@page {{ @top-right {{ content: "{words}";'
        ' font: 8.5pt "Source Serif 4", Georgia, serif; color: #444; } }'
        "@page :first { @top-right { content: none; } }"
    )


def _code(name: str) -> str:
    return (HERE / name).read_text(encoding="utf-8")


@contextmanager
def visits(built: Path, book: Book) -> Iterator[Browser]:
    """A browser for the pages in the folder `built`, closed at the end.

    Raises
    ------
    FileNotFoundError
        If there is no Chromium.
    """
    from playwright.sync_api import sync_playwright

    path = find_browser()
    if path is None:
        raise FileNotFoundError(
            "no Chromium or Chrome found; install one or name it in TFORMER_CHROMIUM"
        )
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=path, args=FLAGS)
        options: dict[str, Any] = {"viewport": WINDOW, "device_scale_factor": SCALE}
        context = browser.new_context(color_scheme="light", **options)
        yield Browser(context.new_page(), built.resolve(), book)
        browser.close()
