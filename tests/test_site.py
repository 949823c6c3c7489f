"""What is published: links and hosts, figures, what a page loads, third-party files."""

import hashlib
import importlib.util
import json
import re
from pathlib import Path
from xml.etree import ElementTree as ET

import matplotlib.pyplot as plt
import nbformat
import pytest
from docutils import nodes
from matplotlib.figure import Figure

from sphinx_fixtures import Sphinx
from tformer_book.figures.style import (
    FONTS,
    PANEL_GAP,
    WRONG,
    Fitting,
    _apart,
    label_ends,
    panel,
    svg,
)
from tformer_book.pipeline.site.check import check_site
from tformer_book.pipeline.site.page import _bind_punctuation, _description, _set_apart_message
from tformer_book.pipeline.site.svg import HREF, SVG, Letters, inline_svg

ROOT = Path(__file__).parents[1]
GOOD = '<h1 id="top">Top</h1><a href="b.html#there">b</a><a href="https://example.org/">away</a>'


def site(tmp_path: Path, planted: str = "", style: str = "") -> list[str]:
    (tmp_path / "a.html").write_text(GOOD + planted, encoding="utf-8")
    (tmp_path / "b.html").write_text('<p id="there">There</p><a href="a.html#top">a</a>')
    (tmp_path / "own.css").write_text(style)
    return check_site(tmp_path)


def test_sound_site_has_no_problem(tmp_path: Path) -> None:
    planted = '<link rel="stylesheet" href="own.css?v=1"><img src="data:image/png;base64,AA">'
    assert site(tmp_path, planted, 'a { mask: url("data:image/svg+xml,x"); }') == []


@pytest.mark.parametrize(
    "planted",
    [
        '<script src="https://cdn.example.org/x.js"></script>',
        '<script src="//cdn.example.org/x.js"></script>',
        '<link rel="stylesheet" href="https://example.org/x.css">',
        '<link rel="preconnect" href="https://example.org">',
        '<img src="http://example.org/x.png">',
        '<img srcset="https://example.org/x.png 2x">',
        '<iframe src="https://example.org"></iframe>',
        '<p style="background: url(https://example.org/x.png)">x</p>',
        '<style>@import "https://example.org/x.css";</style>',
    ],
)
def test_request_to_another_host_is_found(tmp_path: Path, planted: str) -> None:
    (problem,) = site(tmp_path, planted)
    assert problem.startswith("a.html: asks another host for")


def test_style_sheet_that_asks_another_host_is_found(tmp_path: Path) -> None:
    style = "@font-face { src: url('https://example.org/font.woff2'); }"
    (problem,) = site(tmp_path, '<link rel="stylesheet" href="own.css">', style)
    assert problem == "own.css: asks another host for https://example.org/font.woff2"


@pytest.mark.parametrize(
    ("planted", "message"),
    [
        ('<a href="c.html">c</a>', "c.html leads to no file"),
        ('<a href="b.html#here">b</a>', "link b.html#here leads to no anchor of that name"),
        ('<a href="#nowhere">n</a>', "link #nowhere leads to no anchor of that name"),
        ('<a href="/b.html">b</a>', "/b.html starts at the root of the server"),
        ('<a href="../b.html">b</a>', "../b.html leads to no file"),
        ('<a href="file:///b.html">b</a>', "odd link file:///b.html"),
        ('<img src="gone.svg">', "gone.svg leads to no file"),
    ],
)
def test_broken_link_is_found(tmp_path: Path, planted: str, message: str) -> None:
    (problem,) = site(tmp_path, planted)
    assert problem.startswith(f"a.html: {message}")


# ---- figures ----------------------------------------------------------------------------


@pytest.fixture
def drawing() -> ET.Element:
    figure, axes = plt.subplots(1, 2)
    axes[0].plot([0, 1], [0, 1], color="black", label="line")
    axes[0].set_title("A title")
    axes[0].fill_between([0, 1], [0, 1], color="white")
    axes[1].plot([0, 1], [1, 0], "#0072B2", [0, 1], [1, 1], WRONG)
    text = svg(figure)
    plt.close(figure)
    return ET.fromstring(inline_svg(text, "d7-", "Two lines."))


def test_drawing_follows_the_colour_of_the_text(drawing: ET.Element) -> None:
    text = ET.tostring(drawing, encoding="unicode")
    assert "#000000" not in text
    assert drawing.get("fill") == "currentColor"
    assert "stroke: currentColor" in text
    assert "#0072b2" in text
    assert "stroke: var(--book-wrong)" in text
    assert WRONG.lower() not in text.lower()


def test_drawing_loses_its_backgrounds_and_keeps_white_data(drawing: ET.Element) -> None:
    groups = {element.get("id") for element in drawing.iter()}
    assert "d7-patch_1" not in groups
    assert "d7-patch_2" not in groups
    assert "d7-axes_1" in groups
    white = [element for element in drawing.iter() if "#ffffff" in element.get("style", "")]
    assert white


def test_drawing_keeps_to_itself(drawing: ET.Element) -> None:
    ids = [element.get("id", "") for element in drawing.iter() if element.get("id")]
    assert ids
    assert all(name.startswith("d7-") for name in ids)
    text = ET.tostring(drawing, encoding="unicode")
    for name in re.findall(r'(?:href="#|url\(#)([^")]+)', text):
        assert name in ids
    assert "<style" not in text
    assert "<metadata" not in text


def test_a_page_draws_each_letter_once() -> None:
    """Every use of a letter leads to an outline; drawn alone, a figure has all of its own."""
    texts = [svg(panel()[0]) for _ in range(2)]
    letters: Letters = {}
    page = [
        ET.fromstring(inline_svg(text, f"d{i}-", "", "", letters)) for i, text in enumerate(texts)
    ]
    alone = ET.fromstring(inline_svg(texts[1], "d1-", ""))
    first, second, whole = (
        {path.get("id"): path.get("d") for path in root.iter(f"{{{SVG}}}path") if path.get("id")}
        for root in (*page, alone)
    )
    assert first
    assert not second
    assert len(whole) == len(first) == len(letters)
    used, needed = (
        [use.get(HREF, "#")[1:] for use in root.iter(f"{{{SVG}}}use")] for root in (page[1], alone)
    )
    assert [first[name] for name in used] == [whole[name] for name in needed]
    assert used


def test_white_space_of_a_drawing_says_nothing(drawing: ET.Element) -> None:
    text = ET.tostring(drawing, encoding="unicode")
    assert "> <" not in text.replace("\n", " ")
    paths = [element.get("d", "") for element in drawing.iter() if element.get("d")]
    assert all(re.fullmatch(r"([A-Za-z](-?[\d.]+( -?[\d.]+)*)?)+", path) for path in paths)


def test_drawing_has_a_name(drawing: ET.Element) -> None:
    assert drawing.get("role") == "img"
    assert drawing.get("aria-label") == "Two lines."


def two_panels() -> tuple[Figure, Figure]:
    figures = []
    for height in (1, 2):
        figure, ax = panel(width=3, height=height)
        ax.plot([0, 1], marker="o", label="βeta")
        ax.plot([1, 0.9], label="near")
        ax.set(xlabel="width √d", ylabel="$q_i$")
        label_ends(ax)
        figures.append(figure)
    return figures[0], figures[1]


def test_panels_are_drawings_of_their_own_with_one_name() -> None:
    text = svg(*two_panels())
    size = f'width="{72 * 6 + PANEL_GAP}pt" height="144pt" viewBox="0 0 {72 * 6 + PANEL_GAP} 144"'
    assert text.startswith(f'<svg xmlns="http://www.w3.org/2000/svg" {size}>')
    frame = ET.fromstring(inline_svg(text, "d7-", 'Two "panels".'))
    assert frame.attrib == {"class": "panels", "role": "img", "aria-label": 'Two "panels".'}
    assert [panel.get("width") for panel in frame] == ["216pt", "216pt"]
    assert all(panel.get("class") == "drawing" for panel in frame)
    assert not any({"x", "height"} & {*panel.keys()} for panel in frame)
    ids = [element.get("id") for element in frame.iter() if element.get("id")]
    assert len(set(ids)) == len(ids)
    assert inline_svg(text, "", "", "20rem").startswith('<div class="panels" role="img" aria-label')
    assert 'style="width: 20rem"' in inline_svg(text, "", "", "20rem")


def test_the_narrow_shape_follows_the_broad_one_and_has_its_name() -> None:
    text = svg(Fitting(panel(width=10)[0], panel(width=3)[0]))
    shapes = ET.fromstring(f"<div>{inline_svg(text, 'd7-', 'A strip.')}</div>")
    assert [shape.get("class") for shape in shapes] == ["drawing wide", "drawing narrow"]
    assert [shape.get("width") for shape in shapes] == ["720pt", "216pt"]
    assert [(s.get("aria-label"), s.get("display")) for s in shapes] == [("A strip.", None)] * 2
    ids = [element.get("id") for element in shapes.findall(".//*[@id]")]
    assert len({*ids}) == len(ids) > 2


def test_the_same_figures_give_the_same_text_in_the_typeface_of_the_book() -> None:
    text = svg(*two_panels())
    assert text == svg(*two_panels())
    fonts = set(re.findall(r'<path id="([A-Za-z]+-[A-Za-z]+)-', text))
    assert fonts == {"BookSerif-Regular", "BookSerif-Italic"}


def test_labels_at_the_ends_of_lines_do_not_fall_on_each_other() -> None:
    figure, _ = two_panels()
    ax = figure.axes[0]
    first, second = ax.texts
    assert (first.get_text(), second.get_text()) == ("βeta", "near")
    assert first.get_color() == ax.lines[0].get_color()
    figure.draw_without_rendering()
    boxes = [note.get_window_extent() for note in ax.texts]
    assert boxes[0].y0 >= boxes[1].y0 + 12 * figure.dpi / 72 - 1
    assert boxes[0].x1 <= figure.bbox.x1


@pytest.mark.parametrize(
    ("places", "expected"),
    [
        ([0, 20], [0, 20]),
        ([5, 5], [0, 10]),
        ([6, 4], [10, 0]),
        ([0, 2, 9], [-5, 5, 15]),
        ([0, 2, 12], [-5, 5, 15]),
        ([-3, 4, 14], [-5, 5, 15]),
        ([0, 16, 17], [0, 11.5, 21.5]),
    ],
)
def test_places_move_apart_as_little_as_they_can(
    places: list[float], expected: list[float]
) -> None:
    assert _apart(places, 10, -5) == pytest.approx(expected, abs=0.01)


# ---- the extension ----------------------------------------------------------------------


def test_mark_after_a_formula_moves_into_it_alone() -> None:
    paragraph = nodes.paragraph()
    paragraph += [nodes.Text("First"), nodes.Text("."), nodes.Text(" Then ")]
    formula = nodes.math("", "x")
    paragraph += [formula, nodes.Text("."), nodes.Text(" Last.")]
    _bind_punctuation(formula)
    assert formula.astext() == r"x\text{.}"
    assert [child.astext() for child in paragraph] == [
        "First", ".", " Then ", r"x\text{.}", "", " Last.",
    ]  # fmt: skip


@pytest.mark.parametrize("strong", [True, False])
def test_the_message_of_a_caption_is_set_apart_once(strong: bool) -> None:
    caption, message = nodes.caption(), "The square of "
    caption += nodes.strong("", "A square.") if strong else nodes.Text("A square. ")
    caption += [nodes.Text("It has "), nodes.math("", "4"), nodes.Text(" sides. Or so.")]
    _set_apart_message(caption)
    assert [child.astext() for child in caption.findall(nodes.strong)] == ["A square."]
    caption = nodes.caption("", "", nodes.Text(message), nodes.math("", "x"), nodes.Text(". Then"))
    _set_apart_message(caption)
    assert [child.astext() for child in caption] == [f"{message}x.", " Then"]


def test_description_is_a_plain_paragraph_cut_at_a_word() -> None:
    page = nodes.document(None, None)
    page += nodes.paragraph("", "", nodes.Text("A paragraph with "), nodes.math("", "x^2" * 20))
    page += nodes.paragraph("", "Words of the page [1, CH90] " + "and more words " * 20)
    description = _description(page)
    assert description.startswith("Words of the page and more")
    assert description.endswith(" words…")
    assert len(description) <= 156


CONF = """
extensions = ["myst_nb"]
extensions += ["tformer_book.pipeline.site." + name for name in ("formulas", "page", "search")]
html_theme, project, html_math_renderer = "sphinx_book_theme", "tiny", "book"
nb_execution_mode, numfig, myst_enable_extensions = "off", True, ["dollarmath"]
html_static_path, html_extra_path = ["static"], ["404.html"]
templates_path = [{templates!r}]
"""
FIGURE = {"image": {"alt": "A square."}, "figure": {"caption": "The square.", "name": "fig-a"}}
SQUARE = '<svg xmlns="http://www.w3.org/2000/svg"><path id="p" style="stroke: #000000"/></svg>'


def build(
    sphinx: Sphinx, folder: Path, page: str, metadata: dict[str, object]
) -> tuple[int, str, str]:
    """Build a book of one notebook; its exit status, its complaints and the page."""
    output = nbformat.v4.new_output("display_data", data={"image/svg+xml": SQUARE})
    cell = nbformat.v4.new_code_cell("1", metadata={"mystnb": metadata}, outputs=[output])
    notebook = nbformat.v4.new_notebook(cells=[nbformat.v4.new_markdown_cell(page), cell])
    notebook.metadata["language_info"] = {"name": "python", "pygments_lexer": "ipython3"}
    nbformat.write(notebook, folder / "index.ipynb")
    (folder / "static" / "katex").mkdir(parents=True)
    (folder / "static" / "katex" / "katex.min.css").write_text("")
    (folder / "static" / "favicon.png").write_bytes(b"")
    (folder / "static" / "search.js").write_text("")
    templates = str(ROOT / "assets" / "templates")
    (folder / "conf.py").write_text(CONF.format(templates=templates))
    (folder / "404.html").write_text("<p>none</p>")
    status, complaints = sphinx(folder, "-W", "--keep-going")
    html = folder / "out" / "index.html"
    return status, complaints, html.read_text() if html.exists() else ""


def test_page_is_built_with_what_it_needs(sphinx: Sphinx, tmp_path: Path) -> None:
    text = "# Title\n\nThe first paragraph says what the page is about, in words.\n\nIs $\\pi$ so?"
    status, complaints, html = build(sphinx, tmp_path, text, FIGURE)
    assert (status, complaints) == (0, "")
    assert 'aria-label="A square."' in html
    assert "stroke: currentColor" in html
    assert '<span class="caption-text"><strong>The square.</strong></span>' in html
    assert 'name="description" content="The first paragraph says' in html
    scripts = re.findall(r"<script[^>]* src=[^>]*>", html)
    assert scripts
    assert all("defer" in script for script in scripts)
    assert "katex.min.css" in html
    assert "<math><mrow><mi>π</mi></mrow></math>" in html
    assert not re.search(r"\\pi|katex[^\"]*\.js", html)
    assert "fontawesome" not in html
    assert "bootstrap.js" not in html
    assert "searchindex.js" not in html


def test_page_without_mathematics_loads_none(sphinx: Sphinx, tmp_path: Path) -> None:
    _, _, html = build(sphinx, tmp_path, "# Title\n\nNothing but words here.", FIGURE)
    assert html
    assert "katex" not in html


def test_build_fails_on_a_formula_that_cannot_be_set(sphinx: Sphinx, tmp_path: Path) -> None:
    status, complaints, _ = build(sphinx, tmp_path, "# Title\n\nThe angle $\\pii$.", FIGURE)
    assert status != 0
    assert r"formula: Undefined control sequence: \pii" in complaints


def test_build_fails_on_a_planted_script(sphinx: Sphinx, tmp_path: Path) -> None:
    text = '# Title\n\n<script src="https://cdn.example.org/x.js"></script>'
    status, complaints, _ = build(sphinx, tmp_path, text, FIGURE)
    assert status != 0
    assert "index.html: asks another host for https://cdn.example.org/x.js" in complaints


def test_build_fails_on_a_figure_without_text(sphinx: Sphinx, tmp_path: Path) -> None:
    status, complaints, _ = build(sphinx, tmp_path, "# Title", {})
    assert status != 0
    assert "an image has no alt text" in complaints


# ---- third-party files ------------------------------------------------------------------


def test_third_party_files_are_the_recorded_ones() -> None:
    recorded = json.loads((ROOT / "vendor" / "checksums.json").read_text())
    folders = [ROOT / "vendor" / "web", ROOT / "tests" / "browser" / "vendor", FONTS]
    files = [path for folder in folders for path in folder.rglob("*") if path.is_file()]
    found = {
        path.relative_to(ROOT).as_posix(): hashlib.sha256(path.read_bytes()).hexdigest()
        for path in files
    }
    assert found == recorded


def test_each_package_has_a_licence_beside_it() -> None:
    for package in json.loads((ROOT / "vendor" / "vendor.json").read_text()):
        licences = [kept for name, kept in package["files"].items() if name.startswith("LICENSE")]
        assert licences, package["package"]
        assert all((ROOT / kept).is_file() for kept in licences), package["package"]


def test_refresh_keeps_only_the_font_format_in_use() -> None:
    spec = importlib.util.spec_from_file_location("refresh", ROOT / "vendor" / "refresh.py")
    assert spec is not None
    assert spec.loader is not None
    refresh = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(refresh)
    kept, rest = b'src:url(a.woff2) format("woff2")', b',url(a.ttf) format("truetype")}'
    assert refresh.only_woff2(kept + rest) == kept + b"}"


def test_a_chapter_has_the_number_of_its_file(tmp_path: Path, sphinx: Sphinx) -> None:
    """Also where chapters before it are still to come."""
    own = ["sphinx_external_toc", "sphinx_multitoc_numbering", "tformer_book.pipeline.site.numbers"]
    names = ("myst_parser", "sphinx_proof", *own)
    settings = f"extensions = {[*names]}\nnumfig = True\nmyst_enable_extensions = ['colon_fence']\n"
    settings += "use_multitoc_numbering = True\n"
    (tmp_path / "conf.py").write_text(settings)
    parts = "".join(
        f"- caption: {name}\n  numbered: true\n  chapters:\n  - file: chapters/{name}\n"
        for name in ("01_one", "20_last")
    )
    (tmp_path / "_toc.yml").write_text(f"format: jb-book\nroot: index\nparts:\n{parts}")
    (tmp_path / "index.md").write_text("# Book\n")
    (tmp_path / "chapters").mkdir()
    for name in ("01_one", "20_last"):
        box = f":::{{prf:theorem}}\n:label: thm-{name[:2]}\n\nTrue.\n:::\n"
        text = f"# Title\n\n## Part\n\n{box}\nSee {{prf:ref}}`thm-{name[:2]}`.\n"
        (tmp_path / "chapters" / f"{name}.md").write_text(text)
    assert sphinx(tmp_path) == (0, "")
    built = (tmp_path / "out/chapters/20_last.html").read_text(encoding="utf-8")
    assert re.findall(r'section-number">(.*?)<', built)[:2] == ["20. ", "20.1. "]
    assert "Theorem 20.1" in re.sub("<[^>]*>", "", built)
    assert ">20. Title<" in re.sub("<span.*?>|</span>", "", built)
