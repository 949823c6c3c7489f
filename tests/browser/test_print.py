"""What is on paper, read back from the printed pages."""

import io
import re
from pathlib import Path

import nbformat
import pytest
from nbformat import NotebookNode
from playwright.sync_api import Page, expect
from pypdf import PageObject, PdfReader

from browsing import ROOT, Visit
from tformer_book.pipeline.notebook.normalise import code_cells, tags

MAP = "chapters/03_attention.html"


def printed(page: Page) -> list[str]:
    """The text of each printed page, without its white space."""
    page.wait_for_function("document.readyState === 'complete'")
    page.evaluate("document.fonts.ready")
    pdf = page.pdf(format="A4", prefer_css_page_size=True)
    return [squeezed(sheet.extract_text()) for sheet in PdfReader(io.BytesIO(pdf)).pages]


def squeezed(text: str) -> str:
    """Text without white space."""
    return re.sub(r"\s", "", text)


def plain_text(output: NotebookNode) -> str:
    """What a cell printed, or the value of its last line; nothing of figures and of other marks."""
    if output.output_type == "stream":
        return str(output.text)
    data = output.get("data", {})
    return str(data["text/plain"]) if [*data] == ["text/plain"] else ""


@pytest.mark.parametrize("number", ["01_dot_products", "03_attention"])
def test_solutions_are_printed_with_their_code(visit: Visit, number: str) -> None:
    source = Path("exercises", "solutions", number)
    cells = nbformat.read(ROOT / source.with_suffix(".ipynb"), 4).cells
    functions = [name for cell in cells for name in re.findall(r"^def (\w+)\(", cell.source, re.M)]
    text = "".join(printed(visit(f"{source}.html")))
    assert len(functions) > 5
    assert [name for name in functions if f"def{name}(" not in text] == []
    assert "Hidesolution" not in text


def test_code_is_printed_with_what_it_prints_and_pages_are_numbered(visit: Visit) -> None:
    sheets = printed(visit(MAP))
    cells = code_cells(nbformat.read(ROOT / Path(MAP).with_suffix(".ipynb"), 4))
    pairs = [
        (squeezed(cell.source), squeezed(said))
        for cell in cells
        for said in map(plain_text, cell.outputs[:1])
        if said and "hide-cell" not in tags(cell) and not cell.source.startswith("verify(")
    ]
    assert len(pairs) > 3
    for code, said in pairs:
        assert [sheet for sheet in sheets if code in sheet and said in sheet], code
    for number, sheet in enumerate(sheets, start=1):
        assert sheet.startswith(str(number)) or sheet.endswith(str(number)), sheet


def test_curves_between_words_are_printed_where_the_words_are(visit: Visit) -> None:
    page = visit(MAP)
    page.locator(".tf-words .tf-curves path").first.wait_for(state="attached")
    # Measured within the widget: what is hidden on paper moves it up as a whole.
    places = """() => {
        const inside = document.querySelectorAll(".tf-words button, .tf-curves path");
        return [...inside].map((e) => {
            const box = e.getBoundingClientRect();
            const words = e.closest(".tf-words").getBoundingClientRect();
            return [box.x - words.x, box.y - words.y, box.width].map(Math.round);
        });
    }"""
    before = page.evaluate(places)
    page.evaluate("dispatchEvent(new Event('beforeprint'))")
    page.emulate_media(media="print")
    page.wait_for_timeout(300)
    assert page.evaluate(places) == before
    curve = page.locator(".tf-words .tf-curves path").first.bounding_box()
    assert curve is not None
    assert curve["width"] > 20


BODY = (22 / 25.4 * 72, 255 / 25.4 * 72)
"""Where the text of a sheet ends, from below, and how high it is: the margins of book.css."""
EMPTY = 0.45


def unused(page: Page) -> list[float]:
    """Which share of each printed sheet is empty at its foot."""
    page.wait_for_function("document.readyState === 'complete'")
    page.evaluate("document.fonts.ready")
    pdf = page.pdf(format="A4", prefer_css_page_size=True)
    return [foot(sheet) for sheet in PdfReader(io.BytesIO(pdf)).pages]


def foot(sheet: PageObject) -> float:
    """The share of a sheet below the lowest text or line; a ground as high as the sheet is none."""
    marks: list[float] = []
    path: list[float] = []

    def draw(operator: bytes, operands: list, at: list[float], text: list[float]) -> None:
        def up(x: float, y: float) -> float:
            return at[1] * float(x) + at[3] * float(y) + at[5]

        if operator in (b"m", b"l", b"c"):
            path.append(up(*operands[-2:]))
        elif operator == b"re":
            x, y, _, height = map(float, operands)
            path.extend([up(x, y), up(x, y + height)])
        elif operator in (b"f", b"f*", b"S", b"B"):
            if path and max(path) - min(path) < 0.7 * BODY[1]:
                marks.extend(path)
            path.clear()
        elif operator == b"n":
            path.clear()
        elif operator in (b"Tj", b"TJ"):
            marks.append(up(*text[4:]))

    sheet.extract_text(visitor_operand_before=draw)
    inside = [mark for mark in marks if mark > BODY[0] - 2]  # below is the number of the page
    return (min(inside, default=sum(BODY)) - BODY[0]) / BODY[1]


@pytest.mark.parametrize("name", ["04_why_sqrt_d", "13_language_modelling"])
def test_no_sheet_but_the_last_is_half_empty(visit: Visit, name: str) -> None:
    page = visit(f"chapters/{name}.html")
    page.locator(".tf-widget").first.wait_for()
    shares = unused(page)
    assert len(shares) > 10
    assert [share for share in shares[:-1] if share > EMPTY] == []


def test_a_half_empty_sheet_is_found(visit: Visit) -> None:
    page = visit(MAP)
    page.evaluate("""document.querySelectorAll("article h2")[2].parentElement.insertAdjacentHTML(
        "beforebegin", '<p style="break-before: page; break-after: page">One line.</p>')""")
    assert max(unused(page)[:-1]) > 0.9


def test_a_figure_whose_file_has_not_come_is_printed_as_it_rests(visit: Visit) -> None:
    page = visit("chapters/15_generation.html", viewport={"width": 1440, "height": 900})
    figure, resting = page.locator(".tf-teller"), page.locator(".widget-resting")
    figure.wait_for()
    page.evaluate("dispatchEvent(new Event('beforeprint'))")
    expect(resting).to_contain_text("and let the model write. As drawn, ")
    expect(resting).to_be_visible()
    expect(figure).to_be_hidden()
    page.evaluate("dispatchEvent(new Event('afterprint'))")
    expect(figure).to_be_visible()
    assert resting.count() == 0


def test_the_button_prints_when_every_figure_is_drawn(visit: Visit) -> None:
    page = visit("chapters/15_generation.html", viewport={"width": 1440, "height": 900})
    page.locator(".tf-teller").wait_for()
    # Playwright calls what an expression leaves, so the new function stands inside another.
    page.evaluate("""() => { window.print = () => {
        const teller = document.querySelector(".tf-teller");
        const chips = teller.querySelectorAll(".tf-teller-chip").length;
        window.printed = [teller.querySelector("[role=status]").textContent, chips];
    }; }""")
    assert page.evaluate("window.printed") is None
    page.locator("[data-print]").click()
    page.wait_for_function("window.printed")
    said, chips = page.evaluate("window.printed")
    assert re.fullmatch(r"\d+ tokens of 128\.", said)
    assert chips > 10


def test_nothing_has_the_shadow_of_what_scrolls_on_paper(visit: Visit) -> None:
    page = visit("chapters/13_language_modelling.html")
    shadows = """[...document.querySelectorAll("article *")]
        .filter((e) => getComputedStyle(e).backgroundAttachment.startsWith("local")).length"""
    assert page.evaluate(shadows)
    page.emulate_media(media="print")
    assert page.evaluate(shadows) == 0
