"""Figures as part of the page, so that they take the page's colours."""

import re
import xml.etree.ElementTree as ET
from xml.sax.saxutils import quoteattr

from tformer_book.figures.style import WRONG

SVG = "http://www.w3.org/2000/svg"
XLINK = "http://www.w3.org/1999/xlink"
WIDE = 600
"""Points: a drawing that is wider may leave the column of the text."""
WRONG_HERE = re.compile(WRONG, re.IGNORECASE)
BLACK = re.compile(r"#000000\b|#000\b")
WHITE_FILL = re.compile(r"fill:\s*(#ffffff|#fff|white)\b")
HREF = f"{{{XLINK}}}href"
SHIFT = re.compile(r"translate\((-?[\d.]+) 0\)")
REFERENCE = re.compile(r"url\(#([^)]+)\)")

ET.register_namespace("", SVG)
ET.register_namespace("xlink", XLINK)


Letters = dict[tuple[str, ...], str]
"""Outlines of letters that a page has already, and their ids there."""


def inline_svg(
    text: str, prefix: str, label: str, width: str = "", letters: Letters | None = None
) -> str:
    """An SVG drawing as HTML: black follows the text colour, white backgrounds are gone.

    What is wrong has the page's colour for it.

    Panels become drawings of their own, in one element that has the label for them all. The narrow
    shape of a drawing follows the broad one; the style shows one of them, and both have the label.

    Parameters
    ----------
    text
        The SVG file. Matplotlib's layout of groups is understood: the first patch of the figure
        and of each set of axes is its background.
    prefix
        Put before every id, so that two figures on one page do not clash.
    label
        What a screen reader says in place of the drawing.
    width
        A CSS width, if the drawing is not to have its own.
    letters
        What the drawings before it on the page have drawn; it uses their letters, and adds its own.
    """
    root = ET.fromstring(text)
    letters = {} if letters is None else letters
    narrow = root.find(f"{{{SVG}}}svg[@class='narrow']")
    if narrow is not None:
        root.remove(narrow)
        del narrow.attrib["display"]
        narrow.set("width", f"{narrow.get('width')}pt")
        del narrow.attrib["height"]
        return _shape(root, prefix, label, width, letters) + _shape(
            narrow, f"{prefix}n-", label, "", letters, " narrow"
        )
    if panels := root.findall(f"{{{SVG}}}svg"):
        inside = "".join(_panel(panel, f"{prefix}{i}-", letters) for i, panel in enumerate(panels))
        style = f' style="width: {width}"' if width else ""
        named = f"aria-label={quoteattr(label)}"
        return f'<div class="panels" role="img" {named}{style}>{inside}</div>'
    return _shape(root, prefix, label, width, letters)


def _shape(
    root: ET.Element, prefix: str, label: str, width: str, letters: Letters, kind: str = ""
) -> str:
    _clean(root, prefix, letters)
    style = f"--width: {root.get('width')}" + (f"; width: {width}" if width else "")
    root.attrib.update({"role": "img", "aria-label": label, "style": style})
    root.attrib["class"] += kind
    return ET.tostring(root, encoding="unicode")


def _panel(root: ET.Element, prefix: str, letters: Letters) -> str:
    _clean(root, prefix, letters)
    for name in ("x", "height"):
        del root.attrib[name]
    width = f"{root.get('width')}pt"
    root.attrib.update({"aria-hidden": "true", "width": width, "style": f"--width: {width}"})
    return ET.tostring(root, encoding="unicode")


def _clean(root: ET.Element, prefix: str, letters: Letters) -> None:
    _drop(root, "metadata")
    _drop(root, "style")
    _drop_backgrounds(root)
    for element in root.iter():
        for name, value in element.attrib.items():
            own = WRONG_HERE.sub("var(--book-wrong)", BLACK.sub("currentColor", value))
            element.set(name, _prefixed(name, own, prefix))
    _share_letters(root, letters)
    _shorten(root)
    wide = float(root.get("width", "0").removesuffix("pt")) > WIDE
    kind = "drawing wide" if wide else "drawing"
    root.attrib.update({"class": kind, "fill": "currentColor", "stroke-linejoin": "round"})


def _drop(root: ET.Element, tag: str) -> None:
    for parent in list(root.iter()):
        for child in parent.findall(f"{{{SVG}}}{tag}"):
            parent.remove(child)


def _drop_backgrounds(root: ET.Element) -> None:
    for group in root.iter(f"{{{SVG}}}g"):
        if not group.get("id", "").startswith(("figure_", "axes_")):
            continue
        first = next(iter(group), None)
        if first is None or not first.get("id", "").startswith("patch_"):
            continue
        if any(WHITE_FILL.search(path.get("style", "")) for path in first):
            group.remove(first)


def _share_letters(root: ET.Element, letters: Letters) -> None:
    """Draw no outline twice on a page: whatever uses it says which one."""
    known = {}
    for defs in root.iter(f"{{{SVG}}}defs"):
        for path in defs.findall(f"{{{SVG}}}path"):
            name = path.get("id", "")
            outline = tuple(f"{key}={value}" for key, value in path.items() if key != "id")
            known[f"#{name}"] = f"#{letters.setdefault(outline, name)}"
            if letters[outline] != name:
                defs.remove(path)
    for use in root.iter(f"{{{SVG}}}use"):
        link = use.get(HREF, "")
        use.set(HREF, known.get(link, link))


def _shorten(root: ET.Element) -> None:
    """Say the same with fewer signs: no white space between elements or around commands."""
    for element in root.iter():
        element.text, element.tail = (
            text if text and text.strip() else None for text in (element.text, element.tail)
        )
        if path := element.get("d"):
            element.set("d", re.sub(r" ?([A-Za-z]) ?", r"\1", " ".join(path.split())))
        shifted = SHIFT.fullmatch(element.get("transform", ""))
        if shifted and element.tag == f"{{{SVG}}}use" and "x" not in element.attrib:
            element.set("x", shifted[1])
            del element.attrib["transform"]


def _prefixed(name: str, value: str, prefix: str) -> str:
    if name == "id":
        return prefix + value
    if name in ("href", HREF) and value.startswith("#"):
        return f"#{prefix}{value[1:]}"
    return REFERENCE.sub(rf"url(#{prefix}\1)", value)
