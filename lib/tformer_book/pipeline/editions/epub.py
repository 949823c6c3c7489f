"""The pages as an EPUB 3: XHTML, MathML, SVG, and pictures of figures to touch."""

import io
import posixpath
import re
import uuid
import zipfile
from collections.abc import Mapping
from datetime import UTC, datetime
from html import escape
from pathlib import Path
from urllib.parse import unquote

from PIL import Image

from tformer_book.pipeline.editions.contents import Book, Front, Read

HERE = Path(__file__).parent
STYLE = "style.css"
CONTAINER = """<?xml version="1.0" encoding="utf-8"?>
<container version="1.0" xmlns="urn:oasis:names:tc:opendocument:xmlns:container">
  <rootfiles>
    <rootfile full-path="EPUB/package.opf" media-type="application/oebps-package+xml"/>
  </rootfiles>
</container>
"""
ACCESS = {
    "accessMode": ["textual", "visual"],
    "accessModeSufficient": ["textual"],
    "accessibilityFeature": [
        "alternativeText",
        "MathML",
        "structuralNavigation",
        "tableOfContents",
    ],
    "accessibilityHazard": ["none"],
    "accessibilitySummary": ["Formulas are MathML. Each drawing and picture has a description."],
}
TYPES = {".xhtml": "application/xhtml+xml", ".png": "image/png", ".css": "text/css"}
LINK = re.compile(r'<a\b(?P<before>[^>]*?) href="(?P<href>[^"]*)"(?P<after>[^>]*)>')
ID = re.compile(r'\sid="([^"]*)"')
SOURCE = re.compile(r'(<img\b[^>]*? src=")')
# So that a book made twice from the same pages is the same, and a shelf knows the next version.
NAMESPACE = uuid.UUID("5d0c9a52-6b1f-4c56-9c0e-6f1f2a7d9b11")


def pack(book: Book, front: Front, read: Mapping[str, Read]) -> bytes:
    """Write the pages as one EPUB.

    A link to a page or a place that is not in the book leads to where the book is published, and
    becomes plain text if that has no address.
    """
    ids = {page: {*ID.findall(one.xhtml)} for page, one in read.items()}
    files: dict[str, bytes] = {STYLE: (HERE / STYLE).read_bytes(), "cover.png": front.cover}
    files["cover.xhtml"] = _document(book, book.title, "", _cover(book)).encode()
    files["nav.xhtml"] = _document(book, "Contents", "", _nav(book, read)).encode()
    for page in book.pages:
        one, up = read[page], "../" * page.count("/")
        body = SOURCE.sub(rf"\1{up}pictures/", _linked(one.xhtml, page, book, ids))
        files[f"{page}.xhtml"] = _document(book, one.title, up, body).encode()
        files |= {f"pictures/{name}": _small(picture) for name, picture in one.pictures.items()}
    files["package.opf"] = _package(book, files).encode()
    target = io.BytesIO()
    with zipfile.ZipFile(target, "w", zipfile.ZIP_DEFLATED, compresslevel=9) as archive:
        # A reader finds out by the first bytes what this is, so they are not compressed.
        _store(archive, "mimetype", b"application/epub+zip", zipfile.ZIP_STORED)
        _store(archive, "META-INF/container.xml", CONTAINER.encode())
        for name, content in files.items():
            _store(archive, f"EPUB/{name}", content)
    return target.getvalue()


def _store(
    archive: zipfile.ZipFile, name: str, content: bytes, way: int = zipfile.ZIP_DEFLATED
) -> None:
    archive.writestr(zipfile.ZipInfo(name), content, way)


def _small(picture: bytes) -> bytes:
    """A PNG with the colours that it needs, 256 at most."""
    target = io.BytesIO()
    with Image.open(io.BytesIO(picture)) as image:
        image.convert("RGB").quantize(256).save(target, "PNG", optimize=True)
    return target.getvalue()


def _linked(xhtml: str, page: str, book: Book, ids: Mapping[str, set[str]]) -> str:
    """The page with links that lead to a file of the EPUB, to another site, or nowhere."""

    def lead(found: re.Match[str]) -> str:
        href, named = found["href"], ID.search(found["before"] + found["after"])
        nowhere = f"<a{named[0] if named else ''}>"
        if re.match(r"(https?|mailto):", href):
            return found[0]
        path, _, place = href.partition("#")
        full = posixpath.normpath(posixpath.join(posixpath.dirname(page), path)) if path else page
        target = unquote(full.removesuffix(".html"))
        if target not in ids:
            return _to(found, book.address + full) if book.address else nowhere
        place = f"#{place}" if unquote(place) in ids[target] else ""
        if target == page and not place:
            return nowhere
        near = posixpath.relpath(f"{target}.xhtml", posixpath.dirname(page) or ".")
        return _to(found, place if target == page else near + place)

    return LINK.sub(lead, xhtml)


def _to(link: re.Match[str], href: str) -> str:
    return f'<a{link["before"]} href="{href}"{link["after"]}>'


def _document(book: Book, title: str, up: str, body: str) -> str:
    return (
        '<?xml version="1.0" encoding="utf-8"?>\n<!DOCTYPE html>\n'
        '<html xmlns="http://www.w3.org/1999/xhtml" xmlns:epub="http://www.idpf.org/2007/ops"'
        f' lang="{book.language}" xml:lang="{book.language}"><head><meta charset="utf-8"/>'
        f"<title>{escape(title)}</title>"
        f'<link rel="stylesheet" type="text/css" href="{up}{STYLE}"/></head>'
        f"<body>{body}</body></html>\n"
    )


def _cover(book: Book) -> str:
    image = f'<img src="cover.png" alt="{escape(book.title)}"/>'
    return f'<section class="cover" epub:type="cover">{image}</section>'


def _nav(book: Book, read: Mapping[str, Read]) -> str:
    """The contents as nested lists; a part leads to its first page."""
    nested, depth = [], -1
    for number, line in enumerate(book.lines):
        first = line.page or book.lines[number + 1].page
        words = escape(read[line.page].title if line.page else line.caption)
        steps = "<ol>" if line.depth > depth else "</li>" + "</ol></li>" * (depth - line.depth)
        nested.append(f'{steps}<li><a href="{first}.xhtml">{words}</a>')
        depth = line.depth
    nested.append("</li></ol>" * (depth + 1))
    return f'<nav epub:type="toc" id="toc"><h1>Contents</h1>{"".join(nested)}</nav>'


def _package(book: Book, files: Mapping[str, bytes]) -> str:
    names = {name: f"f{number}" for number, name in enumerate(files)}
    items = "".join(
        f'<item id="{names[name]}" href="{name}" media-type="{TYPES[Path(name).suffix]}"'
        f"{_properties(name, content)}/>"
        for name, content in files.items()
    )
    order = ["cover.xhtml", "nav.xhtml", *(f"{page}.xhtml" for page in book.pages)]
    spine = "".join(f'<itemref idref="{names[name]}"/>' for name in order)
    access = "".join(
        f'<meta property="schema:{name}">{value}</meta>'
        for name, values in ACCESS.items()
        for value in values
    )
    identity = uuid.uuid5(NAMESPACE, f"{book.title} {book.version}")
    return (
        '<?xml version="1.0" encoding="utf-8"?>\n'
        '<package xmlns="http://www.idpf.org/2007/opf" version="3.0" unique-identifier="id"'
        f' xml:lang="{book.language}"><metadata xmlns:dc="http://purl.org/dc/elements/1.1/">'
        f'<dc:identifier id="id">urn:uuid:{identity}</dc:identifier>'
        f"<dc:title>{escape(book.title)}</dc:title><dc:creator>{escape(book.author)}</dc:creator>"
        f"<dc:language>{book.language}</dc:language>"
        f'<meta property="dcterms:modified">{datetime.now(UTC):%Y-%m-%dT%H:%M:%SZ}</meta>'
        f"{access}</metadata><manifest>{items}</manifest><spine>{spine}</spine></package>\n"
    )


def _properties(name: str, content: bytes) -> str:
    if name == "cover.png":
        return ' properties="cover-image"'
    if not name.endswith(".xhtml"):
        return ""
    marks = {"nav": b'epub:type="toc"', "mathml": b"<math", "svg": b"<svg"}
    found = " ".join(kind for kind, mark in marks.items() if mark in content)
    return f' properties="{found}"' if found else ""
