"""One query asks, in a browser: its arithmetic, and how it is worked."""

from collections.abc import Callable

import numpy as np
import pytest
from playwright.sync_api import Locator, Page, expect

from browsing import DESKTOP, IN_THE_HAND, call, numbers, values, violations
from tformer.chapters.ch03.attention_map import describe
from tformer.chapters.ch03.one_query import PIANO, OneQuery, Tables, tables
from tformer.world import lexicon

LEXICON = OneQuery().hand_made
PAUSE = 1_400  # milliseconds
ARRAYS = ("q", "k", "v", "scores", "weights", "y")


@pytest.fixture
def widget() -> OneQuery:
    """What `page` and `phone` show."""
    return OneQuery()


# ---- numbers ----------------------------------------------------------------------------


def test_it_asks_as_the_library_does(blank: Page) -> None:
    asked = [(sentence, layer) for sentence in lexicon.SENTENCES for layer in (1, 2)]
    calls = [[list(lexicon.tokenise(sentence)), LEXICON, layer] for sentence, layer in asked]
    for ours, one in zip(call(blank, OneQuery, "ask", calls), asked, strict=True):
        found = tables(*one)
        for name in ARRAYS:
            np.testing.assert_allclose(numbers(ours[name]), getattr(found, name), atol=1e-12)
        assert (tuple(ours["sought"]), tuple(ours["given"])) == (found.sought, found.given)


def test_streams_lie_side_by_side_and_are_as_wide_as_their_weights(blank: Page) -> None:
    weights = [0.1, 0.6, 0.3]
    (middle,) = call(blank, OneQuery, "lanes", [[weights]])
    assert middle == pytest.approx([0.95, 0.6, 0.15])


# ---- what is shown ------------------------------------------------------------------------


def agrees(widget: Locator, found: Tables, at: int) -> None:
    assert values(widget, "score") == pytest.approx(found.scores[at].tolist(), abs=1e-12)
    assert values(widget, "weight") == pytest.approx(found.weights[at].tolist(), abs=1e-12)


def stroke(widget: Locator, s: int) -> float:
    path = widget.locator(".tf-streams path").nth(s)
    return float(path.evaluate("path => parseFloat(path.style.strokeWidth)"))


def test_the_last_word_turns_the_streams(page: Page) -> None:
    widget, (tired, wide) = page.locator(".tf-ask"), OneQuery().sentences
    agrees(widget, tables(tired), 8)
    assert stroke(widget, 1) == pytest.approx(22 * tables(tired).weights[8, 1], abs=1e-3)
    widget.get_by_role("button", name="wide").first.click()
    agrees(widget, tables(wide), 8)
    assert stroke(widget, 6) > 16 > 4 > stroke(widget, 1)
    widget.get_by_label("layer 1").check()
    agrees(widget, tables(wide, 1), 8)
    assert widget.locator(".tf-said").inner_text().endswith("says place 0.83, says cargo 0.83.")


def test_steps_show_one_thing_after_another(page: Page) -> None:
    widget = page.locator(".tf-ask")
    number = widget.locator("data.tf-weight").nth(1)
    widget.get_by_role("button", name="1 query").click()
    assert "makes its query: noun 6.00, is animate 4.99" in widget.locator(".tf-said").inner_text()
    assert not number.is_visible()
    widget.get_by_role("button", name="2 scores").click()
    assert widget.locator("data.tf-score").nth(1).is_visible()
    assert not number.is_visible()
    widget.get_by_role("button", name="3 softmax").click()
    said = describe("it", OneQuery().tokens, OneQuery().tables.weights[8].tolist())
    assert said in widget.locator(".tf-said").inner_text()
    assert number.is_visible()


def test_play_goes_through_the_steps_to_the_end(show: Callable) -> None:
    page = show(OneQuery(), timezone_id="UTC")  # in a context of its own, for its clock stops
    widget = page.locator(".tf-ask")
    page.clock.install(time=0)
    page.clock.pause_at(1_000)
    widget.get_by_role("button", name="play").click()
    stages = [widget.get_attribute("data-stage")]
    for _ in range(4):
        page.clock.run_for(PAUSE)
        stages.append(widget.get_attribute("data-stage"))
    assert stages == ["1", "2", "3", "4", "4"]


def test_with_reduced_motion_play_shows_the_end(page: Page) -> None:
    page.emulate_media(reduced_motion="reduce")
    widget = page.locator(".tf-ask")
    widget.get_by_role("button", name="1 query").click()
    widget.get_by_role("button", name="play").click()
    assert widget.get_attribute("data-stage") == "4"


def test_every_number_tells_its_arithmetic_by_mouse_and_by_key(page: Page) -> None:
    widget = page.locator(".tf-ask")
    said = widget.locator(".tf-said")
    widget.locator(".tf-score-cell").nth(1).hover()
    assert said.inner_text().endswith("(6.00 × 1.00 + 4.99 × 1.00) / √7 = 4.16")
    widget.get_by_role("button", name="the").first.focus()
    for key in ["ArrowDown", "ArrowRight", "ArrowRight", "ArrowRight"]:
        page.keyboard.press(key)
    assert said.inner_text().startswith("weight of “animal”: exp 4.16 / sum over all words = 63.7")
    page.keyboard.press("ArrowRight")
    assert said.inner_text() == "value of “animal”: is animate 1.00"
    for _ in range(12):
        page.keyboard.press("ArrowDown")
    assert said.inner_text().startswith("output: 0.764 × “animal” + 0.116 × “street”")


def test_another_word_asks_from_the_table_and_from_the_map(page: Page) -> None:
    widget = page.locator(".tf-ask")
    widget.locator(".tf-word").nth(11).click()
    agrees(widget, OneQuery().tables, 11)
    cell = widget.locator(".tf-heat").nth(1).locator("rect").nth(12 * 8 + 1)
    cell.click()
    agrees(widget, OneQuery().tables, 8)
    widget.get_by_role("button", name="play").hover()
    cell.hover()
    assert "“animal” for the query of “it”: 0.764" in widget.locator(".tf-said").inner_text()


def test_a_screen_reader_hears_each_step(page: Page) -> None:
    page.locator(".tf-ask").get_by_role("button", name="3 softmax").click()
    told = page.get_by_role("status").filter(has_text="3. Softmax makes weights")
    told.wait_for(state="attached", timeout=5000)


def test_a_finger_changes_the_last_word(phone: Page) -> None:
    widget = phone.locator(".tf-ask")
    widget.get_by_role("button", name="wide").first.tap()
    agrees(widget, tables(OneQuery().sentences[1]), 8)


@pytest.mark.parametrize("device", ["desktop", "phone"])
def test_the_riddle_turns_with_its_buttons(show: Callable, device: str) -> None:
    options = {"viewport": DESKTOP} if device == "desktop" else IN_THE_HAND
    page = show(OneQuery(PIANO, compact=True), **options)
    widget = page.locator(".tf-riddle")
    assert "0.75 at piano" in widget.locator(".tf-said").inner_text()
    widget.get_by_role("button", name="narrow").click()
    assert widget.locator(".tf-riddle-line").inner_text().endswith("too narrow.")
    assert "0.75 at door" in widget.locator(".tf-said").inner_text()
    code = "(all) => all.map((word) => parseFloat(word.style.getPropertyValue('--tf-share')))"
    shares = widget.locator(".tf-said-word").evaluate_all(code)
    assert shares.index(max(shares)) == 7
    code = "(all) => all.map((path) => parseFloat(path.style.strokeWidth))"
    wide = widget.locator("path").evaluate_all(code)
    # Between two lines an arc would strike words out.
    assert (wide == []) if device == "phone" else (wide.index(max(wide)) == 7)
    assert page.evaluate("document.documentElement.scrollWidth") <= options["viewport"]["width"]
    assert violations(page) == []


@pytest.mark.parametrize("device", ["page", "phone"])
def test_axe_finds_nothing(request: pytest.FixtureRequest, device: str) -> None:
    page = request.getfixturevalue(device)
    page.emulate_media(reduced_motion="reduce")  # colours are judged at rest
    page.get_by_role("button", name="2 scores").click()
    assert violations(page) == []
    page.get_by_role("button", name="4 mix").click()
    assert violations(page) == []


# ---- in JupyterLab ------------------------------------------------------------------------


def test_steps_reach_python_and_python_changes_the_word(notebook: Callable) -> None:
    lab = notebook(
        "from tformer.chapters.ch03.one_query import OneQuery",
        "query = OneQuery()\nquery",
        "print('python', query.which, query.selected, query.layer, query.stage)",
        "query.selected, query.which = 11, 0",
    )
    lab.run(0)
    widget = lab.run(1).locator(".tf-ask")
    widget.get_by_role("button", name="wide").first.click()
    widget.get_by_label("layer 1").check()
    widget.get_by_role("button", name="3 softmax").click()
    lab.says(2, "python 1 8 1 3")
    lab.run(3)
    expect(widget.locator(".tf-asks b")).to_have_text("“tired”")
