"""The printed pages as one PDF: bookmarks, page numbers, links that lead to a sheet."""

import io
import re
from collections.abc import Mapping
from typing import Any, NamedTuple
from urllib.parse import unquote

from pypdf import PageObject, PdfReader
from pypdf.constants import PageLabelStyle
from pypdf.generic import (
    ArrayObject,
    DictionaryObject,
    Fit,
    FloatObject,
    NameObject,
    NullObject,
    NumberObject,
    StreamObject,
    TextStringObject,
)

from tformer_book.pipeline.editions.contents import Book, Front, Read
from tformer_book.pipeline.editions.packed import PackedWriter
from tformer_book.pipeline.editions.tags import Element, Tags

# A number with a long fraction, or text, which is left as it is.
NUMBER = re.compile(rb"\((?:\\.|[^\\()])*\)|<[0-9A-Fa-f\s]*>|-?\d*\.\d{3,}", re.DOTALL)


class Place(NamedTuple):
    """A sheet, from 0, and a height on it in points from below."""

    sheet: int
    top: float


class Link(NamedTuple):
    """Where a link stands, its address (`page.html#id`, or one of another site) and its tag."""

    sheet: int
    box: list[Any]
    address: str
    tag: Element | None


def count(printed: bytes) -> int:
    """How many sheets a PDF has."""
    return len(PdfReader(io.BytesIO(printed)).pages)


def bind(book: Book, front: Front, read: Mapping[str, Read]) -> bytes:
    """Join the front and the pages to one PDF.

    A link to another page of the book leads to its sheet; one to a file that is not in the book
    leads to where the book is published, and is dropped if that has no address.
    """
    binder = _Binder(front.base)
    before = binder.add("", front.printed)
    for page in book.pages:
        binder.add(page, read[page].printed)
    binder.outline(book, read)
    binder.connect(book.address)
    writer = binder.writer
    writer.set_page_label(0, before - 1, style=PageLabelStyle.LOWERCASE_ROMAN)
    writer.set_page_label(before, len(writer.pages) - 1, style=PageLabelStyle.DECIMAL, start=1)
    writer.add_metadata({"/Title": book.title, "/Author": book.author})
    writer.page_mode = "/UseOutlines"
    writer.root_object[NameObject("/Lang")] = TextStringObject(book.language)
    # Each page brought its own typefaces; what they have in common is kept once.
    writer.compress_identical_objects(remove_duplicates=True, remove_unreferenced=True)
    binder.tags.write()
    return writer.packed()


def shorten(content: bytes) -> bytes:
    """What a sheet draws, with rounded numbers: two places for hundreds, five for fractions.

    A fifth of a book is digits beyond these; 0.005 points are less than a printer's dot.
    """
    return NUMBER.sub(_rounded, content)


def _rounded(found: re.Match[bytes]) -> bytes:
    if found[0][:1] in b"(<":
        return found[0]
    value = float(found[0])
    places = 5 - sum(abs(value) >= bound for bound in (1, 10, 100))
    return f"{value:.{places}f}".rstrip("0").rstrip(".").encode()


class _Binder:
    def __init__(self, base: str) -> None:
        self.writer = PackedWriter()
        self.tags = Tags(self.writer)
        self._base = base
        self._links: list[Link] = []
        self._places: dict[str, Place] = {}

    def add(self, page: str, printed: bytes) -> int:
        """Add the sheets of a page, note its links and places; return how many sheets it has."""
        reader, start = PdfReader(io.BytesIO(printed)), len(self.writer.pages)
        if page:
            self._places[f"{page}.html"] = Place(start, float(reader.pages[0].mediabox.top))
        for name, found in reader.named_destinations.items():
            number = reader.get_destination_page_number(found)
            if number is not None and found.top is not None:
                place = Place(start + number, float(found.top))
                self._places[f"{page}.html#{unquote(name.removeprefix('/'))}"] = place
        links = [sheet.pop("/Annots", []) for sheet in reader.pages]
        for sheet in reader.pages:
            self._shorten(self.writer.add_page(sheet))
        tagged = self.tags.add(reader, start)
        for number, references in enumerate(links, start=start):
            for reference in references:
                link, tag = reference.get_object(), tagged.get(reference.idnum)
                if address := self._address(page, link):
                    self._links.append(Link(number, link["/Rect"], address, tag))
        return len(reader.pages)

    def _address(self, page: str, annotation: DictionaryObject) -> str:
        if "/Dest" in annotation:
            return f"{page}.html#{unquote(str(annotation['/Dest']).removeprefix('/'))}"
        address = str(annotation.get("/A", {}).get("/URI", ""))
        inside = address.removeprefix(self._base)
        return address if inside == address else unquote(inside)

    def _shorten(self, sheet: PageObject) -> None:
        content = sheet["/Contents"].get_object()
        if isinstance(content, StreamObject):
            content.set_data(shorten(content.get_data()))

    def outline(self, book: Book, read: Mapping[str, Read]) -> None:
        """Bookmarks: parts, their pages, the sections of each."""
        above: dict[int, Any] = {}
        for number, line in enumerate(book.lines):
            if line.page:
                title, place = read[line.page].title, self._places[f"{line.page}.html"]
            else:
                title, place = line.caption, self._places[f"{book.lines[number + 1].page}.html"]
            item = self._bookmark(title, place, above.get(line.depth - 1), not line.page)
            above[line.depth] = item
            for name, words in read[line.page].sections if line.page else []:
                if found := self._places.get(f"{line.page}.html#{name}"):
                    self._bookmark(words, found, item)

    def _bookmark(self, title: str, place: Place, above: Any, is_open: bool = False) -> Any:
        return self.writer.add_outline_item(
            title=title,
            page_number=place.sheet,
            parent=above,
            fit=Fit.xyz(top=place.top),
            is_open=is_open,
        )

    def connect(self, published: str) -> None:
        """Write the links that lead somewhere."""
        for sheet, box, address, tag in self._links:
            lead = self._lead(address, published)
            if lead is None:
                continue
            link = DictionaryObject(
                {
                    NameObject("/Type"): NameObject("/Annot"),
                    NameObject("/Subtype"): NameObject("/Link"),
                    NameObject("/Rect"): ArrayObject(FloatObject(round(x, 2)) for x in box),
                    NameObject("/Border"): ArrayObject([NumberObject(0)] * 3),
                    **lead,
                }
            )
            page = self.writer.pages[sheet]
            reference = self.writer._add_object(link)
            page.setdefault(NameObject("/Annots"), ArrayObject()).append(reference)
            if tag:
                self.tags.number(link, "/StructParent")
                tag.inside.append(link)

    def _lead(self, address: str, published: str) -> dict[NameObject, Any] | None:
        place = self._places.get(address) or self._places.get(address.partition("#")[0])
        if place:
            sheet = self.writer.pages[place.sheet].indirect_reference
            fit = [NameObject("/XYZ"), NullObject(), FloatObject(round(place.top, 2)), NullObject()]
            return {NameObject("/Dest"): ArrayObject([sheet, *fit])}
        if "://" not in address and not address.startswith("mailto:"):
            if not published:
                return None
            address = published + address
        if address.startswith("file:"):
            return None
        action = {
            NameObject("/S"): NameObject("/URI"),
            NameObject("/URI"): TextStringObject(address),
        }
        return {NameObject("/A"): DictionaryObject(action)}
