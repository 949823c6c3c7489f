"""The seals of the built pages: each shows the program of its claim, as the file has it now."""

import ast
import re
from pathlib import Path

from bs4 import BeautifulSoup, SoupStrainer
from playwright.sync_api import expect

from browser.faults import SLIDES
from browsing import ROOT, Visit, toc_pages
from tformer_book.claims import claims
from tformer_book.pipeline.site.seals import CALL

SEALS = SoupStrainer(class_=re.compile(r"\btf-seal\b"))
PAGE = "chapters/01_dot_products.html"


def programs() -> dict[str, tuple[str, str]]:
    """The file and the source under each label, read from the files, without importing them."""
    found = {}
    for path in ROOT.glob("lib/tformer_book/chapters/ch*/claims*.py"):
        text = path.read_text(encoding="utf-8")
        lines = text.splitlines(keepends=True)
        for node in ast.parse(text).body:
            first = node.decorator_list[0] if getattr(node, "decorator_list", []) else None
            if isinstance(first, ast.Call) and getattr(first.func, "id", "") == "claim":
                label = ast.literal_eval(first.args[0])
                source = "".join(lines[first.lineno - 1 : node.end_lineno])
                found[label] = (path.relative_to(ROOT).as_posix(), source)
    return found


def test_every_seal_shows_the_program_of_its_claim(book: Path) -> None:
    wanted, shown = programs(), set()
    for name in toc_pages():
        html = (book / name).read_text(encoding="utf-8")
        for seal in BeautifulSoup(html, "html.parser", parse_only=SEALS).select(".tf-seal"):
            (program,) = seal.select("details.tf-program")
            call, file = program.select("summary code")
            found = CALL.fullmatch(call.get_text())
            assert found, call
            shown.add(found[1])
            pre = program.select_one(".highlight pre")
            assert pre is not None
            assert (file.get_text(), pre.get_text()) == wanted[found[1]], found[1]
    assert shown == set(wanted) == {claim.label for claim in claims()}


def test_a_program_unfolds_without_a_script_and_stays_off_paper(visit: Visit) -> None:
    page = visit(PAGE, java_script_enabled=False)
    seal = page.locator(".tf-seal").first
    seal.locator(":scope > summary").click()
    code = seal.locator(".tf-program pre")
    expect(code).to_be_hidden()
    seal.locator(".tf-program > summary").click()
    expect(code).to_be_visible()
    page.emulate_media(media="print")
    expect(seal.locator(".tf-verified")).to_be_visible()
    expect(seal.locator(".tf-program")).to_be_hidden()


def test_a_long_line_of_a_folded_program_makes_no_slide_smaller(visit: Visit) -> None:
    page = visit(PAGE, viewport={"width": 1280, "height": 720})
    zooms = []
    for _ in range(2):
        page.keyboard.press("l")
        page.locator("dialog.tf-lecture .tf-slide").wait_for()
        zooms.append([slide["zoom"] for slide in page.evaluate(SLIDES)])
        page.keyboard.press("Home")
        page.keyboard.press("Escape")
        page.evaluate("document.querySelectorAll('.tf-program').forEach((e) => e.remove())")
    assert zooms[0] == zooms[1]
