"""What is wider than a phone says so at its edge."""

from pathlib import Path

import pytest

from browsing import STYLE, Visit
from tformer_book.figures.strips import SIZE
from tformer_book.figures.style import PANEL_WIDTH, panel, svg
from tformer_book.pipeline.site.svg import inline_svg

PHONE = {"width": 360, "height": 800}


@pytest.mark.parametrize(("width", "stacked"), [(360, True), (1280, False)])
def test_panels_stand_side_by_side_or_stack(
    visit: Visit, tmp_path: Path, width: int, stacked: bool
) -> None:
    drawing = inline_svg(svg(panel()[0], panel()[0]), "d-", "Two panels.")
    frame = f'<div class="bd-article"><div class="drawing-frame">{drawing}</div></div>'
    style = f'<link rel="stylesheet" href="{STYLE.as_uri()}">'
    (tmp_path / "page.html").write_text(f"<!doctype html>{style}<body>{frame}", encoding="utf-8")
    page = visit((tmp_path / "page.html").as_uri(), viewport={"width": width, "height": 900})
    first, second = (box.bounding_box() or {} for box in page.locator("svg.drawing").all())
    assert (second["y"] >= first["y"] + first["height"]) is stacked
    assert (second["x"] >= first["x"] + first["width"]) is not stacked
    assert first["width"] == pytest.approx(PANEL_WIDTH * 96, abs=0.5)
    assert page.evaluate("document.documentElement.scrollWidth") <= width


def test_the_shadow_is_seen_until_the_end(visit: Visit) -> None:
    page = visit("chapters/02_softmax.html", viewport=PHONE)
    box = page.locator(".cell_input pre").first
    box.scroll_into_view_if_needed()
    place = box.bounding_box()
    assert place is not None
    # A strip at the right edge, in the padding at the top where no letter stands.
    strip = {"x": place["x"] + place["width"] - 12, "y": place["y"] + 2, "width": 10, "height": 6}
    goes_on = page.screenshot(clip=strip)
    box.evaluate("(e) => { e.scrollLeft = e.scrollWidth; }")
    assert page.screenshot(clip=strip) != goes_on


def test_a_wide_drawing_passes_over_the_contents(visit: Visit) -> None:
    """Wherever it is scrolled to, its right part lies on top, and they step back whole."""
    page = visit("chapters/00_whole_machine.html", viewport={"width": 1440, "height": 1000})
    drawings = page.locator("svg.drawing.wide")
    assert drawings.count() == 10
    contents = page.locator(".bd-sidebar-secondary").bounding_box()
    assert contents is not None
    for drawing in drawings.all():
        drawing.evaluate("(e) => e.scrollIntoView({ block: 'center' })")
        box = drawing.bounding_box()
        assert box is not None
        assert box["x"] + box["width"] > contents["x"] + 100
        top, ground = drawing.evaluate(
            """(e, x) => {
                const box = e.getBoundingClientRect(), style = getComputedStyle(e.parentElement);
                const top = document.elementFromPoint(x, box.y + box.height / 2);
                return [e.parentElement.contains(top),
                        [style.backgroundImage, style.backgroundColor]];
            }""",
            contents["x"] + 50,
        )
        assert top
        assert ground == ["none", "rgb(253, 253, 251)"]
        over = box["y"] < contents["y"] + contents["height"]
        covered = page.locator(".bd-sidebar-secondary.book-covered")
        assert not over or covered.count() == 1
    page.evaluate("scrollTo({ top: 0, behavior: 'instant' })")
    page.locator(".bd-sidebar-secondary:not(.book-covered)").wait_for()
    assert page.locator(".bd-sidebar-secondary a").first.is_visible()


def test_a_strip_is_whole_in_its_column(visit: Visit) -> None:
    """No word of the row has to be scrolled to, on a phone or a desk, nor has it to be guessed."""
    for width, shape in ((1440, "drawing"), (390, "drawing narrow")):
        page = visit("chapters/05_masking.html", viewport={"width": width, "height": 900})
        drawings = page.locator("#fig-row-5-asked svg.drawing, #fig-row-5-told svg.drawing")
        seen = [drawing for drawing in drawings.all() if drawing.is_visible()]
        assert [drawing.get_attribute("class") for drawing in seen] == [shape] * 2
        text = page.locator(".bd-article h1").bounding_box() or {}
        for drawing in seen:
            box = drawing.bounding_box() or {}
            assert box["x"] >= text["x"] - 0.5
            assert box["x"] + box["width"] <= text["x"] + text["width"] + 0.5
            scale = box["width"] / float((drawing.get_attribute("width") or "").removesuffix("pt"))
            assert scale * SIZE >= 11
