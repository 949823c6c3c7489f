"""The tags of printed pages, joined to one tree: what a screen reader is told of the book."""

from dataclasses import dataclass, field
from typing import Any

from pypdf import PageObject, PdfReader, PdfWriter
from pypdf.generic import (
    ArrayObject,
    BooleanObject,
    DictionaryObject,
    IndirectObject,
    NameObject,
    NullObject,
    NumberObject,
    TextStringObject,
)

FORMULA = "Formula: "
"""What `paper.js` writes before the words for a formula: Chromium has no tag for one."""
PASSED_OVER = {"/NonStruct", "/Form"}
"""Boxes without a meaning; buttons, which are ink here and nothing to fill in."""


@dataclass
class Mark:
    """Content of a sheet: its number there, and the drawing on the sheet that holds it, if any."""

    sheet: PageObject | None
    number: int
    drawing: DictionaryObject | None = None


@dataclass
class Element:
    """A tag: its kind, what is said of it, and what it holds, in the order of reading."""

    kind: str
    more: dict[str, Any] = field(default_factory=dict)
    inside: list[Any] = field(default_factory=list)


class Tags:
    """One tree of tags for all files that are added to a writer.

    pypdf copies sheets and leaves their tags behind. Each sheet and each drawing has a number under
    which the tree lists the tags of its content. These numbers begin again in each file, so they
    are given anew. The tree is written at the end: before it, equal objects are merged, and two
    tags that look alike must stay two.
    """

    def __init__(self, writer: PdfWriter) -> None:
        self._writer = writer
        self._root = Element("/Document")
        self._next = 0

    def add(self, reader: PdfReader, start: int) -> dict[int, Element]:
        """Read the tags of a file whose first sheet is the writer's sheet `start`, from 0.

        Returns
        -------
        dict
            The tag of each link, by the number of the link's object in the file.
        """
        tree = reader.root_object.get("/StructTreeRoot")
        if tree is None:
            return {}
        sheets = {
            sheet.indirect_reference.idnum: self._writer.pages[start + number]
            for number, sheet in enumerate(reader.pages)
            if sheet.indirect_reference
        }
        for sheet in sheets.values():
            sheet.pop("/StructParents", None)
        links: dict[int, Element] = {}
        reading = _Reading(self._writer, sheets, links)
        for top in _all(tree.get_object(), "/K"):
            document = Element("/Part")
            reading.read(top, document, None)
            self._root.inside += document.inside
        for drawing in reading.drawings:
            self.number(drawing, "/StructParents")
        for sheet in sheets.values():
            self.number(sheet, "/StructParents")
        return links

    def number(self, one: DictionaryObject, key: str) -> None:
        """Give a sheet, a drawing or a link the number under which the tree lists its tags."""
        one[NameObject(key)] = NumberObject(self._next)
        self._next += 1

    def write(self) -> None:
        """Write the tree, and say in the file that it is there."""
        writer, listed = self._writer, dict[int, Any]()
        root = DictionaryObject({NameObject("/Type"): NameObject("/StructTreeRoot")})
        reference = writer._add_object(root)
        root[NameObject("/K")] = ArrayObject([self._written(self._root, reference, listed)])
        numbers = ArrayObject()
        for number, tags in sorted(listed.items()):
            if isinstance(tags, dict):
                row = ArrayObject(tags.get(n, NullObject()) for n in range(max(tags) + 1))
                tags = writer._add_object(row)
            numbers += [NumberObject(number), tags]
        root[NameObject("/ParentTree")] = DictionaryObject({NameObject("/Nums"): numbers})
        root[NameObject("/RoleMap")] = _dictionary(Strong="/Span", Em="/Span")
        root[NameObject("/ParentTreeNextKey")] = NumberObject(self._next)
        catalogue = writer.root_object
        catalogue[NameObject("/StructTreeRoot")] = reference
        catalogue[NameObject("/MarkInfo")] = _dictionary(Marked=True)
        catalogue[NameObject("/ViewerPreferences")] = _dictionary(DisplayDocTitle=True)

    def _written(
        self, element: Element, above: IndirectObject, listed: dict[int, Any]
    ) -> IndirectObject:
        kind = element.kind
        if kind == "/Link" and not any(isinstance(one, DictionaryObject) for one in element.inside):
            kind = "/Span"  # it led to what is not in the book
        made = DictionaryObject({NameObject("/S"): NameObject(kind), **element.more})
        made[NameObject("/P")] = above
        reference = self._writer._add_object(made)
        first = next((one.sheet for one in element.inside if isinstance(one, Mark)), None)
        if first:
            made[NameObject("/Pg")] = first.indirect_reference
        inside = ArrayObject()
        for one in element.inside:
            if isinstance(one, Element):
                inside.append(self._written(one, reference, listed))
            elif isinstance(one, Mark):
                holder: Any = one.drawing or one.sheet
                listed.setdefault(holder["/StructParents"], {})[one.number] = reference
                inside.append(_mark(one, first))
            else:  # a link
                listed[one["/StructParent"]] = reference
                inside.append(_dictionary(Type="/OBJR", Obj=one.indirect_reference))
        made[NameObject("/K")] = inside[0] if len(inside) == 1 else inside
        return reference


class _Reading:
    def __init__(
        self, writer: PdfWriter, sheets: dict[int, PageObject], links: dict[int, Element]
    ) -> None:
        self._writer, self._sheets, self._links = writer, sheets, links
        self._drawings: dict[int, DictionaryObject] = {}

    @property
    def drawings(self) -> list[DictionaryObject]:
        """The drawings that hold tagged content."""
        return [*self._drawings.values()]

    def read(self, tag: DictionaryObject, above: Element, sheet: PageObject | None) -> None:
        """Read what a tag of the file says into the element `above`."""
        kind = tag.get("/S")
        sheet = self._sheet(tag) or sheet
        element = above
        if kind != "/Document" and kind not in PASSED_OVER and not _is_part(kind, above):
            element = _element(tag)
            above.inside.append(element)
        for one in _all(tag, "/K"):
            if isinstance(one, int):
                element.inside.append(Mark(sheet, int(one)))
            elif one.get("/Type") == "/OBJR":
                self._links[one.raw_get("/Obj").idnum] = element
            elif one.get("/Type") == "/MCR":
                on = self._sheet(one) or sheet
                element.inside.append(Mark(on, int(one["/MCID"]), self._drawing(one)))
            else:
                self.read(one, element, sheet)

    def _sheet(self, tag: DictionaryObject) -> PageObject | None:
        return self._sheets[tag.raw_get("/Pg").idnum] if "/Pg" in tag else None

    def _drawing(self, mark: DictionaryObject) -> DictionaryObject | None:
        if "/Stm" not in mark:
            return None
        copy = mark.raw_get("/Stm").clone(self._writer)
        return self._drawings.setdefault(copy.idnum, copy.get_object())


def _is_part(kind: Any, above: Element) -> bool:
    """Whether a tag is a part of a picture or of a formula, whose words say it all."""
    return above.kind in {"/Figure", "/Formula"} and kind != "/Link"


def _element(tag: DictionaryObject) -> Element:
    kind, more = str(tag["/S"]), dict[str, Any]()
    if "/Alt" in tag:
        words = str(tag["/Alt"])
        if words.startswith(FORMULA):
            kind, words = "/Formula", words.removeprefix(FORMULA)
        more[NameObject("/Alt")] = TextStringObject(words)
    if "/A" in tag and kind in {"/TH", "/TD"}:
        # Chromium names a single row and a single column too, and heads by names of its own.
        told = [one for one in _all(tag, "/A") if _told(one)]
        if told:
            more[NameObject("/A")] = ArrayObject(DictionaryObject(one) for one in told)
    return Element(kind, more)


def _told(attribute: DictionaryObject) -> bool:
    return "/Scope" in attribute or any(
        attribute.get(key, 1) != 1 for key in ("/RowSpan", "/ColSpan")
    )


def _all(tag: DictionaryObject, key: str) -> list[Any]:
    found = tag.get(key, [])
    found = found if isinstance(found, list) else [found]
    return [one.get_object() if isinstance(one, IndirectObject) else one for one in found]


def _mark(mark: Mark, first: PageObject | None) -> Any:
    if mark.drawing is None and mark.sheet is first:
        return NumberObject(mark.number)
    made = _dictionary(
        Type="/MCR", Pg=mark.sheet and mark.sheet.indirect_reference, MCID=mark.number
    )
    if mark.drawing is not None:
        made[NameObject("/Stm")] = mark.drawing.indirect_reference
    return made


def _dictionary(**entries: Any) -> DictionaryObject:
    made = DictionaryObject()
    for key, value in entries.items():
        if isinstance(value, bool):
            value = BooleanObject(value)
        elif isinstance(value, int):
            value = NumberObject(value)
        elif isinstance(value, str):
            value = NameObject(value)
        made[NameObject(f"/{key}")] = value
    return made
