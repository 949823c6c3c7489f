"""Cuts in small models, in a browser: the numbers are Python's, and how it is worked."""

import base64
import json
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from playwright.sync_api import Page, expect

from browsing import IN_THE_HAND, values, violations
from tformer_book.chapters.ch17.circuits import IT, SHOWN, shown
from tformer_book.chapters.ch17.cutting import SENTENCE, Cutting, packed, read, told
from tformer_book.widgets.page import HELD, held_script
from tformer_book.world.stories import CURES, DID, WHO

NAME = "tformer_book.chapters.ch17.cutting.Cutting"
LOADED = """async ([code, text]) => {
    const url = URL.createObjectURL(new Blob([code], { type: "text/javascript" }));
    window.engine = await import(url);
    const bytes = Uint8Array.from(atob(text), (sign) => sign.charCodeAt(0));
    window.circuits = engine.unpackCircuits(await engine.gunzip(bytes));
}"""
TIRED = [0, 0, IT, 11]
"""The look of "it" at the trouble in the first layer."""


@pytest.fixture(scope="module")
def engine(browser) -> Page:
    """An empty page with the script and the models."""
    page = browser.new_page()
    page.evaluate(LOADED, [Cutting._esm, base64.b64encode(packed()).decode()])
    yield page
    page.close()


@pytest.fixture
def cutting(show: Callable[..., Page], tmp_path: Path) -> Callable[..., Page]:
    """A page with the widget, once the models are there."""
    (tmp_path / "widgets").mkdir()
    path = tmp_path / "widgets" / f"{NAME}{HELD}"
    path.write_text(held_script(NAME, packed()), encoding="utf-8")

    def opened(*widgets: Cutting, **options: object) -> Page:
        page = show(*widgets, **options)
        page.locator(".tf-cutting[data-ready]").wait_for()
        return page

    return opened


@pytest.mark.parametrize("name", SHOWN)
def test_the_page_computes_what_the_library_computes(engine: Page, name: str) -> None:
    rng, layers = np.random.default_rng(17), len(shown(name).blocks)
    texts = [SENTENCE, *rng.choice(sorted(told()), 5)]
    heads = len(shown(name).blocks[0].heads.w_q)
    calls = [[name, str(text), []] for text in texts]
    for n in (1, 2, 30):
        cuts = rng.integers((layers, heads, 12, 12), size=(n, 4)).tolist()
        calls += [[name, str(text), [*cuts, TIRED, [1, 1, IT, 0]]] for text in texts[:3]]
    code = "(calls) => JSON.stringify(calls.map((one) => engine.state(circuits, ...one)))"
    for asked, got in zip(calls, json.loads(engine.evaluate(code, calls)), strict=True):
        want = read(*asked)
        np.testing.assert_allclose(got["nouns"], want.nouns, atol=1e-10)
        assert got["likeliest"] == want.likeliest
        np.testing.assert_allclose(got["weights"], np.array(want.weights), atol=1e-10)


def test_what_is_chosen_is_always_a_story(engine: Page) -> None:
    world = Cutting().world
    parts = [
        {"verb": verb, "first": one, "second": two, "trouble": trouble}
        for verb in DID
        for one, two, trouble in [
            ("animal", "street", "wide"),
            ("street", "animal", "tired"),
            ("lift", "harp", "low"),
            ("cake", "bear", "icy"),
        ]
    ]
    code = "([world, all]) => all.map((one) => engine.fitted(world, one))"
    found = engine.evaluate(code, [world, parts])
    for one in found:
        text = f"the {one['first']} did not {one['verb']} the {one['second']}"
        assert f"{text} because it was too {one['trouble']}" in told()
    kept = {"verb": "tempt", "first": "street", "second": "animal", "trouble": "wide"}
    assert kept in found  # the nouns change places where the verb wants that
    assert set(world["nouns"]) == set(WHO) == set(CURES)


def shows(page: Page, widget: Cutting) -> None:
    """The page shows the numbers of this widget."""
    root = page.locator(".tf-cutting")
    assert values(root, "now") == pytest.approx(widget.reading.nouns, abs=1e-9)
    assert values(root, "before") == pytest.approx(widget.before.nouns, abs=1e-9)


@pytest.mark.parametrize("name", SHOWN)
def test_a_press_cuts_and_another_restores(cutting: Callable[..., Page], name: str) -> None:
    page = cutting(Cutting(name))
    shows(page, Cutting(name))
    rows = page.locator(".tf-cutting-row:visible")
    reading = read(name, SENTENCE)
    assert rows.count() == sum(len(table) for table in reading.weights)
    cell = rows.first.get_by_role("button").nth(11)
    cell.click()
    expect(cell).to_have_attribute("aria-pressed", "true")
    expect(cell).to_contain_text("cut")
    shows(page, Cutting(name, cuts=[TIRED]))
    expect(page.get_by_role("status").last).to_contain_text("“it” is cut from “tired”")
    cell.click()
    shows(page, Cutting(name))
    cell.click()
    rows.last.get_by_role("button").nth(1).click()
    page.get_by_role("button", name="restore all").click()
    shows(page, Cutting(name))
    expect(page.get_by_role("button", name="restore all")).to_be_disabled()


def test_a_row_is_one_stop_and_arrows_move_in_it(cutting: Callable[..., Page]) -> None:
    page = cutting(Cutting("query"))
    row = page.locator(".tf-cutting-row").first
    assert row.locator("[tabindex='0']").count() == 1
    row.get_by_role("button").first.focus()
    for key in ("End", "ArrowLeft", "ArrowRight", "Enter"):
        page.keyboard.press(key)
    shows(page, Cutting("query", cuts=[TIRED]))
    page.keyboard.press("Home")
    page.keyboard.press("ArrowLeft")
    expect(row.get_by_role("button").first).to_be_focused()
    page.keyboard.press("Tab")
    expect(page.locator(".tf-cutting-row").nth(1).get_by_role("button").first).to_be_focused()


def test_of_the_first_layer_any_row_can_be_read_and_cut(cutting: Callable[..., Page]) -> None:
    page = cutting(Cutting("query"))
    page.get_by_role("combobox", name="word whose row").select_option("2 animal")
    want = read("query", SENTENCE).weights
    root = page.locator(".tf-cutting")
    assert values(root, "look") == pytest.approx([*want[0][0, 1], *want[1][0, IT]], abs=1e-9)
    page.locator(".tf-cutting-row").first.get_by_role("button").nth(4).click()
    shows(page, Cutting("query", word=1, cuts=[[0, 0, 1, 4]]))


def test_another_sentence_or_model_begins_without_cuts(cutting: Callable[..., Page]) -> None:
    page = cutting(Cutting("query", cuts=[TIRED]))
    page.get_by_role("combobox", name="trouble").select_option("wide")
    wide = SENTENCE.replace("tired", "wide")
    shows(page, Cutting("query", wide))
    expect(page.locator(".tf-cutting-noun").nth(1)).to_have_text("street meant")
    page.get_by_role("button", name="votes", exact=True).click()
    shows(page, Cutting("votes", wide))
    page.get_by_role("combobox", name="verb").select_option("eat")
    shows(page, Cutting("votes", "the animal did not eat the cake because it was too tired"))
    page.get_by_role("button", name="reset").click()
    shows(page, Cutting("query", cuts=[TIRED]))


@pytest.mark.parametrize("device", [{"viewport": {"width": 1440, "height": 900}}, IN_THE_HAND])
def test_cause_and_effect_are_on_one_screen(cutting: Callable[..., Page], device: dict) -> None:
    page = cutting(Cutting("query"), **device)
    most = 844 if "is_mobile" in device else 560
    for name in SHOWN:
        page.get_by_role("button", name=name, exact=True).click()
        assert page.locator(".tf-cutting").bounding_box()["height"] <= most
        over = ".map((e) => e.scrollWidth - e.clientWidth).filter((n) => n > 0)"
        cells = page.locator(".tf-cutting-cell:visible")
        assert cells.evaluate_all(f"(all) => all{over}") == []
    assert page.evaluate("document.documentElement.scrollWidth") <= page.viewport_size["width"]


def test_axe_finds_nothing(cutting: Callable[..., Page]) -> None:
    cuts = [TIRED, [1, 0, IT, 1]]
    for widget in (Cutting("query"), Cutting("no picture", cuts=cuts), Cutting("veto", word=0)):
        assert violations(cutting(widget)) == []


def test_models_that_are_missing_are_told(show: Callable[..., Page], stage: Callable) -> None:
    page = show(Cutting())
    expect(page.locator(".tf-cutting-row").first).to_be_hidden()
    expect(page.locator(".tf-about")).to_contain_text("did not come: its file")
    stage()[1].clear()  # the browser's own word on the missing file
