"""Check built pages: links lead somewhere, files exist, and no other host is asked."""

import re
from collections.abc import Iterable
from functools import cache
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urlsplit

# Where an element names a file that the browser fetches by itself.
LOADS = {
    "audio": "src",
    "embed": "src",
    "iframe": "src",
    "image": "href",
    "img": "src",
    "input": "src",
    "link": "href",
    "object": "data",
    "script": "src",
    "source": "src",
    "track": "src",
    "video": "src",
}
# Links that a browser does not follow by itself.
PASSIVE = {"alternate", "author", "canonical", "copyright", "index", "license", "next", "prev"}
CSS_URL = re.compile(r"""(?:url\(\s*|@import\s+)["']?([^"')\s;]+)""")


class Page(HTMLParser):
    """What one page defines (`ids`), fetches (`loads`) and links to (`links`)."""

    def __init__(self, path: Path) -> None:
        super().__init__()
        self.ids: set[str] = set()
        self.loads: list[str] = []
        self.links: list[str] = []
        self._in_style = False
        self.feed(path.read_text(encoding="utf-8"))

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Take note of ids, links and files."""
        found = {name: value or "" for name, value in attrs}
        self._in_style = tag == "style"
        self.ids.update(found[name] for name in ("id", "name") if found.get(name))
        self.loads += CSS_URL.findall(found.get("style", ""))
        self.loads += [part.split()[0] for part in found.get("srcset", "").split(",") if part]
        if tag == "a" and "href" in found:
            self.links.append(found["href"])
        elif tag in LOADS and found.get(LOADS[tag]):
            passive = tag == "link" and PASSIVE.intersection(found.get("rel", "").split())
            (self.links if passive else self.loads).append(found[LOADS[tag]])

    def handle_data(self, data: str) -> None:
        """Take note of what a style element fetches."""
        if self._in_style:
            self.loads += CSS_URL.findall(data)

    def handle_endtag(self, tag: str) -> None:
        """Leave a style element."""
        self._in_style = False


def check_site(root: Path, pages: Iterable[str] | None = None) -> list[str]:
    """Problems of the built site, one sentence each; an empty list is good news.

    Parameters
    ----------
    root
        Folder of the built pages.
    pages
        Pages to check, relative to `root`; all of them if not given.
    """
    root = root.resolve()
    read = cache(Page)
    names = sorted(path.relative_to(root).as_posix() for path in root.rglob("*.html"))
    styles: set[Path] = set()
    problems = []
    for name in names if pages is None else pages:
        path = root / name
        page = read(path)
        for url in page.loads:
            problems += [f"{name}: {problem}" for problem in _check_load(root, path, url)]
            styles.update(target for target in [target_of(path, url)] if target.suffix == ".css")
        for url in page.links:
            target = target_of(path, url)
            ids = read(target).ids if target.suffix == ".html" and target.is_file() else set()
            problems += [f"{name}: {problem}" for problem in _check_link(root, path, url, ids)]
    for style in sorted(path for path in styles if path.is_file()):
        for url in CSS_URL.findall(style.read_text(encoding="utf-8")):
            name = style.relative_to(root).as_posix()
            problems += [f"{name}: {problem}" for problem in _check_load(root, style, url)]
    return problems


def target_of(path: Path, url: str) -> Path:
    """The file that a page or style at `path` means by an address."""
    name = unquote(urlsplit(url).path)
    return (path.parent / name).resolve() if name else path


def _check_load(root: Path, path: Path, url: str) -> list[str]:
    parts = urlsplit(url)
    if parts.scheme == "data" or (not parts.path and parts.fragment):
        return []
    if parts.scheme or parts.netloc:
        return [f"asks another host for {url}"]
    return _check_file(root, path, url)


def _check_link(root: Path, path: Path, url: str, ids: set[str]) -> list[str]:
    parts = urlsplit(url)
    if parts.scheme or parts.netloc:
        return [] if parts.scheme in ("http", "https", "mailto") else [f"odd link {url}"]
    problems = _check_file(root, path, url)
    anchor = unquote(parts.fragment)
    if not problems and anchor and target_of(path, url).suffix == ".html" and anchor not in ids:
        return [f"link {url} leads to no anchor of that name"]
    return problems


def _check_file(root: Path, path: Path, url: str) -> list[str]:
    target = target_of(path, url)
    if url.startswith("/"):
        return [f"{url} starts at the root of the server, which differs from host to host"]
    if not target.is_relative_to(root) or not target.is_file():
        return [f"{url} leads to no file"]
    return []
