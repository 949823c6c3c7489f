"""Formulas on the built pages: there without JavaScript, and valid for a screen reader."""

import re
from pathlib import Path
from xml.etree import ElementTree as ET

import pytest

from browsing import Visit, toc_pages
from tformer_book.pipeline.site.formulas import ARITY, TOKENS

MATHML = re.compile(r"<math.*?</math>", re.DOTALL)
PAGE = "chapters/02_softmax_deeper.html"


@pytest.mark.parametrize("name", toc_pages())
def test_mathml_is_valid(book: Path, name: str) -> None:
    page = (book / name).read_text(encoding="utf-8")
    formulas = MATHML.findall(page)
    assert len(formulas) == page.count('class="katex"')
    for formula in formulas:
        for element in ET.fromstring(formula).iter():
            assert len(element) == ARITY.get(element.tag, len(element)), formula
            assert not (element.tag in TOKENS and len(element)), formula


def test_formulas_are_there_without_javascript(visit: Visit) -> None:
    page = visit(PAGE, java_script_enabled=False)
    formula = page.locator("article div.math .katex-html").first
    box = formula.bounding_box()
    assert box is not None
    assert box["height"] > 20
    text = page.locator("article").inner_text()
    assert not re.findall(r"\\[a-zA-Z(\[]{1,12}", text)


def test_pages_load_no_script_for_formulas(visit: Visit, book: Path) -> None:
    page = visit("404.html")
    asked: list[str] = []
    page.on("request", lambda request: asked.append(request.url))
    page.goto((book / PAGE).as_uri())
    page.wait_for_function("document.readyState === 'complete'")
    assert any("katex.min.css" in url for url in asked)
    assert not [url for url in asked if re.search(r"(katex|auto-?render)[^/]*\.js", url)]
