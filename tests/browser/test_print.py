"""What is on paper, read back from the printed pages."""

import io
import re
from pathlib import Path

import nbformat
import pytest
from playwright.sync_api import Page
from pypdf import PdfReader

from browsing import ROOT, Visit
from tformer.book.notebook.normalise import code_cells

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
        (squeezed(cell.source), squeezed(cell.outputs[0].text))
        for cell in cells
        if cell.outputs and cell.outputs[0].output_type == "stream"
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
