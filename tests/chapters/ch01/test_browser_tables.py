"""The table of dot products and the map with three judges in a browser: arithmetic, mouse, keys."""

from collections.abc import Callable

import numpy as np
import pytest
from playwright.sync_api import Locator, Page, expect

from browsing import (
    IN_THE_HAND,
    evaluate,
    numbers,
    numerals,
    tab_stops,
    value,
    values,
    violations,
)
from tformer import reference
from tformer_book.chapters.ch01.dot_product import DotProduct
from tformer_book.chapters.ch01.table_of_dots import TableOfDots
from tformer_book.chapters.ch01.three_judges import JUDGES, ThreeJudges


def test_the_table_agrees_with_the_library(blank: Page) -> None:
    rng = np.random.default_rng(0)
    queries, keys = rng.normal(size=(50, 6, 3)), rng.normal(size=(50, 5, 3))
    calls = [[q.tolist(), k.tolist()] for q, k in zip(queries, keys, strict=True)]
    found = numbers(evaluate(blank, TableOfDots, "product", calls))
    np.testing.assert_allclose(found, reference.pairwise_dot(queries, keys), atol=1e-12)


def test_the_judges_agree_with_the_library(blank: Page) -> None:
    rng = np.random.default_rng(0)
    queries = np.round(rng.uniform(-5, 5, size=(200, 2)), 1)
    points = np.round(rng.uniform(-5, 5, size=(200, 7, 2)), 1)
    queries[0], points[1, 3], points[2, 1] = 0, 0, 2 * points[2, 0]
    names = list("abcdefg")
    calls = [[q.tolist(), k.tolist()] for q, k in zip(queries, points, strict=True)]
    for found, (q, k) in zip(evaluate(blank, ThreeJudges, "judge", calls), calls, strict=True):
        python = ThreeJudges(names, k, q, limit=50)
        for judge in JUDGES:
            np.testing.assert_allclose(numbers(found[judge]), python.scores[judge], atol=1e-12)
            places = [int(place) for place in found["places"][judge]]
            assert (
                sorted(names, key=lambda w, p=places: p[names.index(w)]) == (python.rankings[judge])
            )


# ---- the table ----------------------------------------------------------------------------


def lit(widget: Locator, kind: str) -> list[str]:
    return widget.locator(f".tf-block.tf-{kind} .tf-lit").all_inner_texts()


def test_a_cell_lights_its_row_and_its_column(show: Callable[..., Page]) -> None:
    page = show(TableOfDots())
    widget = page.locator(".tf-product")
    widget.get_by_role("button", name="row 6, column 4: −5").hover()
    assert lit(widget, "q") == ["3", "1"]
    assert lit(widget, "k") == ["−2", "1"]
    assert value(widget, "score") == [-5]
    assert widget.locator(".tf-sum").inner_text() == "3 × (−2) + 1 × 1"


def test_the_keyboard_walks_through_the_table(show: Callable[..., Page]) -> None:
    page = show(TableOfDots(cell=[0, 0]))
    widget = page.locator(".tf-product")
    page.keyboard.press("Tab")
    for key in ["ArrowDown", "ArrowLeft", "ArrowRight", "ArrowRight", "ArrowDown"]:
        page.keyboard.press(key)
    focused = widget.locator(".tf-cell:focus")
    assert focused.get_attribute("aria-label") == "row 3, column 3: 7"
    assert focused.get_attribute("aria-pressed") == "true"
    assert value(widget, "score") == [7]
    expect(widget.get_by_role("status")).to_have_text("Row 3 times column 3: 7")


# ---- the judges ---------------------------------------------------------------------------


def order(widget: Locator, judge: str) -> list[str]:
    """The words of a list from top to bottom, as they are seen."""
    items = widget.get_by_role("list", name=f"Places by {judge}").get_by_role("listitem")
    code = """(items) => items.map((item) =>
        [item.getBoundingClientRect().y, item.querySelector(".tf-word-name").textContent])"""
    return [name for _, name in sorted(items.evaluate_all(code))]


def test_the_lists_follow_the_query(show: Callable[..., Page]) -> None:
    page = show(ThreeJudges(), reduced_motion="reduce")  # words do not take their time
    widget = page.locator(".tf-judges")
    assert [order(widget, judge)[0] for judge in JUDGES] == ["a", "b", "c"]
    widget.get_by_role("slider", name="Tip of q").focus()
    for key in ["Shift+ArrowRight", "Shift+ArrowRight", "Shift+ArrowUp", "ArrowUp"]:
        page.keyboard.press(key)
    python = ThreeJudges(q=[3.0, 1.1])
    for judge in JUDGES:
        assert order(widget, judge) == python.rankings[judge]
    rows = widget.get_by_role("list", name="Places by dot").get_by_role("listitem")
    expect(rows.first).to_have_text("a, place 1, 15.3")
    assert value(widget, "dot-score")[0] == pytest.approx(python.scores["dot"][0], abs=1e-12)


FEW = ThreeJudges(
    list("abcdef"), [[4, 3], [0.5, 0], [1, 0.3], [-2, 1], [3, -4], [-1, -1]], few=["a", "b", "c"]
)


@pytest.mark.parametrize("options", [{"viewport": {"width": 1440, "height": 900}}, IN_THE_HAND])
def test_three_words_and_one_number_at_first_sight(show: Callable, options: dict) -> None:
    page = show(FEW, reduced_motion="reduce", **options)
    widget = page.locator(".tf-judges")
    assert widget.bounding_box()["height"] <= 700
    assert widget.locator(".tf-place").all_text_contents() == ["a", "b", "c"]
    python = ThreeJudges(FEW.words, FEW.points, few=FEW.few)
    for judge in JUDGES:
        assert order(widget, judge) == python.rankings[judge]
    best = max(python.scores["dot"])
    assert numerals(widget) == [f"{best:.1f}"]
    # The tip, three judges, the lists, all words and reset.
    assert tab_stops(widget) == 7
    everything = widget.get_by_role("button", name="all words")
    everything.click()
    python.whole = True
    assert everything.get_attribute("aria-pressed") == "true"
    for judge in JUDGES:
        assert order(widget, judge) == python.rankings[judge]
        assert len(order(widget, judge)) == 6
        shown = values(widget, f"{judge}-score")
        assert shown == pytest.approx(python.scores[judge].tolist(), abs=1e-12)
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")
    assert violations(page) == []
    everything.click()
    assert len(order(widget, "dot")) == 3


def test_arrow_keys_walk_through_the_lists_and_show_a_words_numbers(show: Callable) -> None:
    page = show(FEW, reduced_motion="reduce")
    widget = page.locator(".tf-judges")
    widget.get_by_role("button", name="dot", exact=True).focus()
    page.keyboard.press("Tab")
    focused = widget.locator(".tf-ranked:focus .tf-word-name")
    walk = [
        ("", "a"),
        ("ArrowDown", "c"),
        ("ArrowRight", "c"),
        ("ArrowUp", "b"),
        ("ArrowRight", "c"),
    ]
    for key, word in [*walk, ("ArrowUp", "c"), ("ArrowLeft", "b")]:
        if key:
            page.keyboard.press(key)
        assert focused.text_content() == word
        scores = ThreeJudges().scores
        place = "abc".index(word)
        digits = {judge: 2 if judge == "cosine" else 1 for judge in JUDGES}
        # A page rounds halves away from 0, Python to even: the distance of b is 0.25.
        told = [f"{scores[j][place] + 1e-9:.{digits[j]}f}" for j in JUDGES]
        assert numerals(widget) == told
    assert tab_stops(widget) == 7


def test_a_press_on_the_map_brings_the_query_and_one_on_a_word_lights_it(show: Callable) -> None:
    page = show(FEW)
    widget = page.locator(".tf-judges")
    box = widget.locator(".tf-plane").bounding_box()
    unit = box["width"] * (1 / 2 - 16 / 420) / 5
    page.mouse.click(
        box["x"] + box["width"] / 2 - 2 * unit, box["y"] + box["height"] / 2 - 3 * unit
    )
    tip = widget.get_by_role("slider", name="Tip of q")
    assert tip.get_attribute("aria-valuetext") == "q = (−2.0, 3.0)"
    widget.locator(".tf-dot-key").first.click()
    assert tip.get_attribute("aria-valuetext") == "q = (−2.0, 3.0)"
    assert widget.locator(".tf-ranking .tf-lit .tf-word-name").all_text_contents() == ["a"] * 3


def test_the_circle_of_distance_passes_through_the_winner(show: Callable[..., Page]) -> None:
    page = show(ThreeJudges())
    widget = page.locator(".tf-judges")
    widget.get_by_role("button", name="distance").click()
    assert widget.get_by_role("button", name="distance").get_attribute("aria-pressed") == "true"
    circle = widget.locator(".tf-verdict-line").evaluate(
        "(edge) => { const b = edge.getBBox();"
        " return [b.x + b.width / 2, b.y + b.height / 2, b.width / 2]; }"
    )
    unit = (420 / 2 - 16) / 5
    assert circle == pytest.approx([420 / 2 + unit, 420 / 2, 0.3 * unit], abs=0.2)


def test_a_zero_query_writes_no_nan(show: Callable[..., Page]) -> None:
    page = show(ThreeJudges(q=[0, 0]), DotProduct(q=[0, 0]), DotProduct(q=[0, 0], k=[0, 0]))
    for widget in page.locator(".tf-judges, .tf-dot-product").all():
        for drawing in widget.locator("svg").all():
            assert "NaN" not in drawing.evaluate("drawing => drawing.outerHTML")
    for name in ["cosine", "distance"]:
        page.locator(".tf-judges").get_by_role("button", name=name).click()
        assert "NaN" not in page.locator(".tf-judges").evaluate("judges => judges.outerHTML")
    assert "q is zero" in page.locator(".tf-judges .tf-sentence").inner_text()


@pytest.mark.parametrize("options", [{}, IN_THE_HAND])
def test_axe_finds_nothing_and_nothing_overflows(show: Callable, options: dict) -> None:
    page = show(TableOfDots(), ThreeJudges(), **options)
    blocks = [page.locator(f".tf-block.tf-{kind} .tf-entry").first for kind in ("q", "qk")]
    left, right = (block.bounding_box()["y"] for block in blocks)
    assert left == pytest.approx(right, abs=1)
    assert violations(page) == []
    width = page.viewport_size["width"]
    assert page.evaluate("document.documentElement.scrollWidth") <= width


# ---- in JupyterLab ------------------------------------------------------------------------


def test_keys_reach_python_and_python_chooses_cell_and_judge(notebook: Callable) -> None:
    lab = notebook(
        "from tformer_book.chapters.ch01.table_of_dots import TableOfDots\n"
        "from tformer_book.chapters.ch01.three_judges import ThreeJudges",
        "judges = ThreeJudges()\njudges",
        "print('python', judges)",
        "judges.q, judges.judge = [0.0, 0.0], 'distance'",
        "table = TableOfDots()\ntable",
        "print('python', table)",
    )
    lab.run(0)
    widget = lab.run(1).locator(".tf-judges")
    widget.get_by_role("slider", name="Tip of q").focus()
    for key in ["Shift+ArrowRight", "ArrowUp"]:
        lab.page.keyboard.press(key)
    python = ThreeJudges(q=[2.0, 0.1])
    assert value(widget, "distance-score") == pytest.approx(python.scores["distance"][:1])
    lab.says(2, f"python {python}")
    lab.run(3)
    expect(widget.locator(".tf-sentence")).to_contain_text("q is zero")
    expect(widget.get_by_role("button", name="distance")).to_have_attribute("aria-pressed", "true")
    grid = lab.run(4).locator(".tf-product")
    grid.get_by_role("button", name="row 6, column 4").click()
    expect(grid.locator("data.tf-score")).to_have_text("−5")
    lab.says(5, f"python {TableOfDots(cell=[5, 3])}")
