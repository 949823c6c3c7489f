"""What an edition holds: the pages in the order of the table of contents, and what they say."""

import tomllib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import yaml


@dataclass(frozen=True)
class Line:
    """A line of the contents.

    Attributes
    ----------
    depth : int
        0 for the front page and for a part, 1 for its pages, 2 for the pages below these.
    page : str
        A page such as chapters/02_softmax; empty for a part.
    caption : str
        The name of a part; empty for a page, whose title stands on it.
    """

    depth: int
    page: str = ""
    caption: str = ""


@dataclass(frozen=True)
class Book:
    """What the editions are told of the book.

    Attributes
    ----------
    title, author, language, version : str
        As the configuration of the book has them.
    lines : tuple
        The contents, in order.
    address : str
        Where the book is published, with a slash at its end; empty if nobody has said.
    """

    title: str
    author: str
    language: str
    version: str
    lines: tuple[Line, ...]
    address: str = ""

    @property
    def pages(self) -> list[str]:
        """All pages, in order."""
        return [line.page for line in self.lines if line.page]


@dataclass(frozen=True)
class Read:
    """What was read of a page.

    Attributes
    ----------
    title : str
        Its first heading, with the number of the chapter.
    sections : list
        The id and the heading of each section below the title.
    printed : bytes
        The page as a PDF.
    xhtml : str
        Its text as elements of XHTML, MathML and SVG.
    pictures : dict
        Pictures of its figures to touch as PNG, by the name that `xhtml` gives to them.
    """

    title: str
    sections: list[tuple[str, str]]
    printed: bytes
    xhtml: str
    pictures: dict[str, bytes] = field(default_factory=dict)


@dataclass(frozen=True)
class Front:
    """What stands before the pages.

    Attributes
    ----------
    printed : bytes
        The title page and the contents as a PDF; links lead to `base` and the name of a page.
    cover : bytes
        The title page as PNG.
    starts : dict
        The number of the sheet on which each page begins; the first page begins on 1.
    base : str
        The address under which the pages were opened.
    """

    printed: bytes
    cover: bytes
    starts: dict[str, int]
    base: str


def read(root: Path) -> Book:
    """What `_config.yml`, `_toc.yml` and `pyproject.toml` in the folder `root` say of the book."""
    config = yaml.safe_load((root / "_config.yml").read_text(encoding="utf-8"))
    toc = yaml.safe_load((root / "_toc.yml").read_text(encoding="utf-8"))
    project = tomllib.loads((root / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    lines = [Line(0, toc["root"])]
    for part in toc["parts"]:
        lines.append(Line(0, caption=part["caption"]))
        for entry in part["chapters"]:
            lines += _lines(entry, 1)
    address = config.get("html", {}).get("baseurl", "").rstrip("/")
    return Book(
        title=config["title"],
        author=config["author"],
        language=config["sphinx"]["config"]["language"].replace("_", "-"),
        version=project["version"],
        lines=tuple(lines),
        address=f"{address}/" if address else "",
    )


def _lines(entry: Mapping[str, Any], depth: int) -> Iterator[Line]:
    yield Line(depth, entry["file"])
    for below in entry.get("sections", []):
        yield from _lines(below, depth + 1)
