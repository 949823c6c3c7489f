"""What the tests of the editions share: a small site of two pages, what a file must be."""

import io
import posixpath
import re
import xml.etree.ElementTree as ET
import zipfile
from collections.abc import Iterator
from pathlib import Path

from pypdf import PdfReader
from pypdf.generic import DictionaryObject

from browsing import FONTS, ROOT
from tformer_book.pipeline.editions.contents import Book, Line

XHTML = "{http://www.w3.org/1999/xhtml}"
KINDS = {
    "svg": "{http://www.w3.org/2000/svg}svg",
    "mathml": "{http://www.w3.org/1998/Math/MathML}math",
}
OPF = "{http://www.idpf.org/2007/opf}"
LINES = (Line(0, "index"), Line(0, caption="Sums & parts"), Line(1, "chapters/one"))
BOOK = Book("Two pages", "A. Nobody", "en-GB", "1.2", LINES, "")
MATH = (
    '<span class="katex"><span class="katex-mathml"><math xmlns="http://www.w3.org/1998/Math/MathML">'
    "<mi>x</mi><mo>=</mo><mo>−</mo><mi>y</mi><mo>−</mo><mi>z</mi></math></span>"
    '<span class="katex-html">x</span></span>'
)
QUIZ = (
    '<div class="cell_output"><div class="widget-host"><div class="tf-quiz">Predict.</div></div>'
    "<noscript><ol><li>Is it one?<ol><li>yes</li><li>no</li></ol><details><summary>Answer</summary>"
    "(a) is right. <ol><li>Since one is one.</li></ol></details></li></ol></noscript></div>"
)
TOUCH = (
    '<div class="cell_output"><div class="widget-host"><div class="tf-widget">A red box'
    "<details><summary>More</summary>folded away</details></div></div>"
    "<noscript><p>Interactive figure, needs JavaScript: a box. As drawn, red.</p></noscript></div>"
)
PAGES = {
    "index": '<h1>Two pages</h1><p>Go to <a href="chapters/one.html#thm-one">the theorem</a>, '
    '<a href="search.html">search</a> or <a href="https://example.org/">leave</a>.</p>',
    "chapters/one": '<h1>1. One<a class="headerlink" href="#one">#</a></h1>'
    + "<p>Words that fill the first sheet.</p>" * 60
    + '<section id="later"><h2>1.1. Later</h2>'
    + f'<div id="thm-one"><p>Theorem 1.1, of {MATH}.</p></div>'
    + '<p><a href="../index.html">Back</a>, <a href="#thm-one">up</a>, <a href="x.zip">x</a></p>'
    + '<div class="cell tag_hide-cell">print("hidden")</div><pre>print("shown")</pre>'
    + f"{QUIZ}{TOUCH}<details><summary>Proof</summary>By counting.</details>"
    + '<svg class="drawing" viewBox="0 0 9 9" style="display: none">'
    + '<defs><path id="a" d="M0 0H9"/></defs></svg>'
    + '<svg class="drawing" viewBox="0 0 9 9"><use href="#a" style="fill: var(--ink)"/></svg>'
    + "</section>",
}


def write_site(folder: Path) -> Path:
    """Write the two pages as the built book has them; return their folder."""
    for page, body in PAGES.items():
        path = folder / f"{page}.html"
        path.parent.mkdir(parents=True, exist_ok=True)
        style = "@page { size: A4; margin: 20mm; @bottom-center { content: counter(page); } }"
        path.write_text(
            f"<!doctype html><meta charset='utf-8'><style>{style} :root {{ --ink: #123456; }}"
            f"</style><article class='bd-article'>{body}</article>",
            encoding="utf-8",
        )
    fonts = folder / "_static" / FONTS.name
    fonts.mkdir(parents=True)
    (fonts / "roman.woff2").write_bytes((FONTS / "roman.woff2").read_bytes())
    drawing = (ROOT / "assets" / "favicon.svg").read_text(encoding="utf-8")
    (folder / "_static" / "favicon.svg").write_text(drawing, encoding="utf-8")
    return folder


def faults(epub: bytes) -> list[str]:
    """What is wrong with the structure of an EPUB, one line each."""
    with zipfile.ZipFile(io.BytesIO(epub)) as archive:
        first = archive.infolist()[0]
        files = {name: archive.read(name) for name in archive.namelist()}
    found = []
    if first.filename != "mimetype" or first.compress_type != zipfile.ZIP_STORED:
        found.append("mimetype is not first, or compressed")
    if files.pop("mimetype") != b"application/epub+zip":
        found.append("mimetype is another")
    (rootfile,) = ET.fromstring(files.pop("META-INF/container.xml")).iter(
        "{urn:oasis:names:tc:opendocument:xmlns:container}rootfile"
    )
    package = rootfile.attrib["full-path"]
    folder, opf = posixpath.dirname(package), ET.fromstring(files.pop(package))
    items = {item.attrib["id"]: item.attrib for item in opf.iter(f"{OPF}item")}
    listed = {posixpath.join(folder, item["href"]): item for item in items.values()}
    found += [f"not in the manifest: {name}" for name in files.keys() - listed.keys()]
    found += [f"not in the archive: {name}" for name in listed.keys() - files.keys()]
    spine = [items[itemref.attrib["idref"]]["href"] for itemref in opf.iter(f"{OPF}itemref")]
    if len({*spine}) != len(spine):
        found.append("a file is twice in the spine")
    pages = {name: ET.fromstring(text) for name, text in files.items() if name.endswith("xhtml")}
    ids = {name: _values(page, "id") for name, page in pages.items()}
    for name, page in pages.items():
        found += [f"{name}: twice {one}" for one in {*ids[name]} if ids[name].count(one) > 1]
        told = {*listed[name].get("properties", "").split()} - {"nav"}
        if told != {kind for kind, tag in KINDS.items() if next(page.iter(tag), None) is not None}:
            found.append(f"{name}: not the properties that it has")
        for link in _values(page, "href") + _values(page, "src"):
            path, _, place = link.partition("#")
            full = posixpath.normpath(f"{posixpath.dirname(name)}/{path}") if path else name
            if re.match(r"[a-z]+:", link):
                continue
            if full not in files or (place and place not in ids[full]):
                found.append(f"{name}: leads nowhere: {link}")
        pictures = page.iter(f"{XHTML}img")
        found += [f"{name}: a picture without words" for one in pictures if not one.get("alt")]
    return found


def _values(page: ET.Element, attribute: str) -> list[str]:
    return [one.attrib[attribute] for one in page.iter() if attribute in one.attrib]


def elements(tag: DictionaryObject) -> Iterator[DictionaryObject]:
    """The tags below this one, in the order of reading."""
    for one in _inside(tag):
        if "/S" in one:
            yield one
            yield from elements(one)


def untagged(printed: bytes) -> list[str]:
    """What a screen reader would miss in a PDF, one line each."""
    reader = PdfReader(io.BytesIO(printed))
    root = reader.root_object
    tree = root.get("/StructTreeRoot")
    if tree is None:
        return ["no tree of tags"]
    found = []
    if not root.get("/MarkInfo", {}).get("/Marked"):
        found.append("not marked")
    if not root.get("/Lang"):
        found.append("no language")
    if not (reader.metadata and reader.metadata.title):
        found.append("no title")
    if not root.get("/ViewerPreferences", {}).get("/DisplayDocTitle"):
        found.append("the title is not shown")
    numbers = tree["/ParentTree"]["/Nums"]
    listed = dict(zip(numbers[::2], numbers[1::2], strict=True))
    above, kinds = 0, set()
    for tag in elements(tree):
        kind = tag["/S"]
        kinds.add(kind)
        if kind in {"/Figure", "/Formula"} and not tag.get("/Alt"):
            found.append(f"{kind} without words")
        if level := re.fullmatch(r"/H(\d)", kind):
            if int(level[1]) > above + 1:
                found.append(f"{kind} below /H{above}")
            above = int(level[1])
        found += [f"{kind}: {one}" for one in _strays(tag, listed)]
    if "/Table" in kinds and "/TH" not in kinds:
        found.append("a table without heads")
    if bare := [
        n for n, sheet in enumerate(reader.pages) if sheet.get("/StructParents") not in listed
    ]:
        found.append(f"sheets without tags: {bare}")
    return found


def _strays(tag: DictionaryObject, listed: dict) -> Iterator[str]:
    """Content of a tag that the tree does not lead back to it."""
    for one in _inside(tag):
        if "/S" in one:
            if one["/P"].get_object() is not tag:
                yield "another stands above a tag that it holds"
        elif one.get("/Type") == "/OBJR":
            if listed[one["/Obj"]["/StructParent"]].get_object() is not tag:
                yield "a link leads to another"
        else:
            holder = one.get("/Stm") or one.get("/Pg") or tag["/Pg"]
            row, number = listed[holder["/StructParents"]].get_object(), one["/MCID"]
            if number >= len(row) or row[number].get_object() is not tag:
                yield "content leads to another"


def _inside(tag: DictionaryObject) -> list[DictionaryObject]:
    found = tag.get("/K", [])
    found = found if isinstance(found, list) else [found]
    found = [one if isinstance(one, dict) else one.get_object() for one in found]
    return [{"/MCID": one} if isinstance(one, int) else one for one in found]
