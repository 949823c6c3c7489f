"""Sphinx extension: the changes of the book as a feed, made from `CHANGELOG.md`.

A version is an entry once it has a date: what is unreleased may still change.
"""

import re
from pathlib import Path
from typing import Any
from urllib.parse import urljoin
from uuid import NAMESPACE_URL, uuid5
from xml.etree import ElementTree

from markdown_it import MarkdownIt
from sphinx.application import Sphinx

from tformer_book.pipeline.site.repository import BRANCH, repository

ATOM = "http://www.w3.org/2005/Atom"
FILE = "feed.xml"
VERSION = re.compile(r"^## \[([^\]]+)\] - (\d{4}-\d\d-\d\d)\n(.*?)(?=^## |\Z)", re.M | re.S)
INSIDE = re.compile(r'<a href="(?!https?:|mailto:)([^"]*)">(.*?)</a>', re.S)


def feed(changelog: str, title: str, author: str, source: str = "", home: str = "") -> str:
    """A feed by the Atom Syndication Format (RFC 4287), an entry a version, the newest first.

    Parameters
    ----------
    changelog : in the form of Keep a Changelog.
    title, author : of the book.
    source : where the files of the repository are shown, ending with a slash; without it, links to
        them are plain words.
    home : the address of the book, ending with a slash; without it, the feed has no links.
    """
    root = ElementTree.Element("feed", {"xmlns": ATOM, "xml:lang": "en-GB"})
    versions = VERSION.findall(changelog)
    _add(root, "id", _name(title))
    _add(root, "title", f"{title}: changes")
    _add(root, "updated", _time(max((date for _, date, _ in versions), default="1970-01-01")))
    _add(_add(root, "author"), "name", author)
    if home:
        _add(root, "link", rel="alternate", type="text/html", href=home)
        _add(root, "link", rel="self", type="application/atom+xml", href=urljoin(home, FILE))
    for version, date, text in versions:
        entry = _add(root, "entry")
        _add(entry, "id", _name(title, version))
        _add(entry, "title", f"Version {version}")
        _add(entry, "updated", _time(date))
        html = MarkdownIt("commonmark").enable("table").render(text)
        _add(entry, "content", INSIDE.sub(lambda link: _link(source, link), html), type="html")
    ElementTree.indent(root)
    return ElementTree.tostring(root, encoding="unicode", xml_declaration=False)


def _add(parent: ElementTree.Element, tag: str, text: str = "", **attributes: str) -> Any:
    element = ElementTree.SubElement(parent, tag, attributes)
    element.text = text or None
    return element


def _name(*parts: str) -> str:
    """A name that stays the same at whatever address the book is published."""
    return uuid5(NAMESPACE_URL, "/".join(parts)).urn


def _time(date: str) -> str:
    return f"{date}T00:00:00Z"


def _link(source: str, link: re.Match[str]) -> str:
    return f'<a href="{source}{link[1]}">{link[2]}</a>' if source else link[2]


def write(app: Sphinx, exception: Exception | None) -> None:
    """Write the feed beside the pages."""
    if exception is not None or app.builder.format != "html":
        return
    url = repository(app)
    text = feed(
        Path(app.srcdir, "CHANGELOG.md").read_text(encoding="utf-8"),
        app.config.html_title,
        app.config.author,
        f"{url}/blob/{BRANCH}/" if url else "",
        app.config.html_baseurl,
    )
    head = '<?xml version="1.0" encoding="utf-8"?>\n'
    Path(app.outdir, FILE).write_text(f"{head}{text}\n", encoding="utf-8")


def announce(
    app: Sphinx, pagename: str, templatename: str, context: dict[str, Any], doctree: Any
) -> None:
    """Tell programs that read feeds where it is."""
    address = context["pathto"](FILE, resource=True)
    kind = 'rel="alternate" type="application/atom+xml" title="Changes"'
    context["metatags"] = context.get("metatags", "") + f'\n<link {kind} href="{address}"/>'


def setup(app: Sphinx) -> dict[str, Any]:
    """Write it before the links of the site are checked."""
    app.connect("html-page-context", announce, priority=950)
    app.connect("build-finished", write, priority=800)
    return {"version": "1", "parallel_read_safe": True, "parallel_write_safe": True}
