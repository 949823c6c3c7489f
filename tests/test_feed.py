"""The feed of changes: Atom, made from the changelog."""

import re
from datetime import datetime
from pathlib import Path
from xml.etree import ElementTree

import pytest

from tformer_book.pipeline.site.feed import ATOM, feed

ROOT = Path(__file__).parents[1]
NAMES = {"a": ATOM}
CHANGES = """# Changelog

## [0.3.0] - Unreleased

- Not yet.

## [0.2.0] - 2027-01-02

### Added

- A table & a link ([decision 9](decisions/009-x.md), [form](https://example.org/)).

  | `old` | new |
  |---|---|
  | a | b |

## [0.1.0] - 2026-11-28

- The first < of all.
"""


def read(text: str) -> ElementTree.Element:
    return ElementTree.fromstring(text)


def told(root: ElementTree.Element, path: str) -> list[str]:
    return [found.text or "" for found in root.findall(path, NAMES)]


def test_versions_with_a_date_are_entries_the_newest_first() -> None:
    root = read(feed(CHANGES, "The Book", "Its authors"))
    assert told(root, "a:entry/a:title") == ["Version 0.2.0", "Version 0.1.0"]
    dates = ["2027-01-02T00:00:00Z", "2026-11-28T00:00:00Z"]
    assert told(root, "a:entry/a:updated") == dates
    assert told(root, "a:updated") == dates[:1]
    first, second = told(root, "a:entry/a:content")
    assert "<code>old</code>" in first
    assert "<td>b</td>" in first
    assert "The first &lt; of all." in second
    assert "Not yet" not in first + second


def test_names_of_entries_stay_and_differ() -> None:
    one, other = (read(feed(CHANGES + extra, "The Book", "X")) for extra in ("", "\n- More.\n"))
    names = told(one, ".//a:id")
    assert names == told(other, ".//a:id")
    assert len(set(names)) == 3
    assert all(re.fullmatch(r"urn:uuid:[0-9a-f-]{36}", name) for name in names)


@pytest.mark.parametrize("source", ["", "https://github.com/someone/book/blob/main/"])
def test_links_into_the_repository_lead_there_or_are_words(source: str) -> None:
    first = told(read(feed(CHANGES, "The Book", "X", source)), "a:entry/a:content")[0]
    assert 'href="https://example.org/"' in first
    links = re.findall(r'<a href="([^"]*)">decision 9</a>', first)
    assert links == ([f"{source}decisions/009-x.md"] if source else [])
    assert "decision 9" in first


def test_a_published_feed_says_where_it_is() -> None:
    root = read(feed(CHANGES, "The Book", "X", home="https://example.org/book/"))
    links = {link.get("rel"): link.get("href") for link in root.findall("a:link", NAMES)}
    home = "https://example.org/book/"
    assert links == {"alternate": home, "self": f"{home}feed.xml"}


def test_the_feed_of_the_book_has_what_the_format_asks_for() -> None:
    text = (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")
    root = read(feed(text, "The Executable Transformer", "Its authors"))
    entries = root.findall("a:entry", NAMES)
    assert len(entries) == len(re.findall(r"^## \[.*\d{4}-\d\d-\d\d$", text, re.MULTILINE)) >= 1
    for element in (root, *entries):
        for name in ("id", "title", "updated"):
            (found,) = element.findall(f"a:{name}", NAMES)
            assert found.text
        datetime.fromisoformat(element.find("a:updated", NAMES).text)
    assert told(root, "a:author/a:name") == ["Its authors"]
    assert all(entry.find("a:content", NAMES).get("type") == "html" for entry in entries)
