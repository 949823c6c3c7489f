"""One query asks, in a browser: its arithmetic, and how it is worked."""

import re
from collections.abc import Callable

import numpy as np
import pytest
from playwright.sync_api import Locator, Page, expect

from browsing import DESKTOP, IN_THE_HAND, call, numbers, numerals, tab_stops, values, violations
from tformer_book.chapters.ch03.attention_map import describe
from tformer_book.chapters.ch03.one_query import PIANO, OneQuery, Tables, tables
from tformer_book.world import lexicon

LEXICON = OneQuery().hand_made
PACE, REST = 2_200, 1_400  # milliseconds of a step that flows, and of one that jumps
STEPS = ("query", "scores", "weights", "output")
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


def frames(blank: Page, found: Tables, at: int, moments: list[float]) -> list[dict]:
    """What the figure computes for these moments of one query."""
    table = [found.q[at].tolist(), found.k.tolist(), found.v.tolist()]
    return call(blank, OneQuery, "frameAt", [[*table, moment] for moment in moments])


@pytest.mark.parametrize("layer", [1, 2])
@pytest.mark.parametrize("sentence", lexicon.SENTENCES)
def test_whole_moments_are_the_numbers_of_the_library(
    blank: Page, sentence: str, layer: int
) -> None:
    found = tables(sentence, layer)
    for at in range(len(found.q)):
        query, scores, weights, output = frames(blank, found, at, [0, 1, 2, 3])
        np.testing.assert_array_equal(numbers(query["scores"]), 0)
        for frame in (scores, weights, output):
            np.testing.assert_allclose(numbers(frame["scores"]), found.scores[at], atol=1e-12)
        for frame in (weights, output):
            np.testing.assert_allclose(numbers(frame["bars"]), found.weights[at], atol=1e-12)
        np.testing.assert_allclose(numbers(output["output"]), found.y[at], atol=1e-12)
        for frame in (query, scores):
            np.testing.assert_array_equal(numbers(frame["bars"]), 0)
        for frame in (query, scores, weights):
            np.testing.assert_array_equal(numbers(frame["output"]), 0)


def test_between_whole_moments_each_bar_is_the_formula_of_its_step(blank: Page) -> None:
    found = tables(OneQuery().sentences[0])
    q, k, scores = found.q[8], found.k, found.scores[8]
    first, exponential, divided, flowing, pouring = frames(
        blank, found, 8, [0.5, 1.25, 1.75, 2.2, 2.7]
    )
    # The query has two coordinates that are not zero; half of the way, one has been added.
    assert np.flatnonzero(np.abs(q) > 1e-9).tolist() == [0, 1]
    np.testing.assert_allclose(numbers(first["scores"]), q[0] * k[:, 0] / 7**0.5, atol=1e-12)
    e, top = np.exp(scores), np.exp(scores.max())
    np.testing.assert_allclose(numbers(exponential["bars"]), np.exp(scores / 2) / top, atol=1e-12)
    np.testing.assert_allclose(numbers(divided["bars"]), e / (top / 2 + e.sum() / 2), rtol=1e-12)
    assert (flowing["reach"], flowing["poured"]) == pytest.approx((0.5, 0))
    np.testing.assert_allclose(numbers(pouring["output"]), found.y[8] / 2, atol=1e-12)


def test_the_motion_has_no_jump(blank: Page) -> None:
    found = tables(OneQuery().sentences[0])
    way = frames(blank, found, 8, np.linspace(0, 3, 601).tolist())
    for name, size in (("scores", found.scores.max()), ("output", found.y.max())):
        steps = np.diff([numbers(frame[name]) for frame in way], axis=0)
        assert np.abs(steps).max() < 0.02 * size
    # The bars appear with their first exponential, e to 0 against e to the largest score.
    bars = np.array([numbers(frame["bars"]) for frame in way])
    assert np.abs(np.diff(bars[201:], axis=0)).max() < 0.05
    assert bars[201].max() < 0.02


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
    widget.get_by_label("first layer").check()
    agrees(widget, tables(wide, 1), 8)
    widget.locator(".tf-ask-output .tf-strip").hover()
    assert widget.locator(".tf-said").inner_text().endswith("says place 0.83, says cargo 0.83")


def scrubber(widget: Locator) -> Locator:
    return widget.get_by_role("slider", name="Moment of the calculation")


def test_steps_show_one_thing_after_another(page: Page) -> None:
    widget = page.locator(".tf-ask")
    score, weight = (widget.locator(f"data.tf-{name}").nth(1) for name in ("score", "weight"))
    seen = []
    for step in STEPS:
        widget.get_by_role("button", name=step, exact=True).click()
        told = scrubber(widget).get_attribute("aria-valuetext")
        assert told == widget.locator(".tf-said").inner_text()
        assert scrubber(widget).input_value() == str(len(seen))
        seen.append((score.is_visible(), weight.is_visible(), stroke(widget, 1) > 0))
        if step == "scores":
            assert "suits “animal” most" in told
    assert seen == [
        (False, False, False),
        (True, False, False),
        (False, True, False),
        (False, True, True),
    ]


def test_keys_scrub_and_each_moment_is_said(page: Page) -> None:
    widget = page.locator(".tf-ask")
    scrub, said = scrubber(widget), widget.locator(".tf-said")
    scrub.focus()
    page.keyboard.press("Home")
    assert "Nothing has met it yet" in said.inner_text()
    for _ in range(10):
        page.keyboard.press("ArrowRight")
    found = tables(OneQuery().sentences[0])
    half = found.q[8, 0] * found.k[:, 0] / 7**0.5
    assert values(widget, "score") == pytest.approx(half.tolist(), abs=1e-12)
    assert "1.0 of 2 have met the keys" in said.inner_text()
    assert scrub.get_attribute("aria-valuetext") == said.inner_text()
    page.keyboard.press("End")
    agrees(widget, found, 8)


def test_play_flows_through_all_moments_to_the_end(show: Callable) -> None:
    page = show(OneQuery(), timezone_id="UTC")  # in a context of its own, for its clock stops
    widget = page.locator(".tf-ask")
    page.clock.install(time=0)
    page.clock.pause_at(1_000)
    widget.get_by_role("button", name="play").click()
    # A moment's bar, as far as it has come, is the library's score times that part or less.
    lengths, stages, written = [], [widget.get_attribute("data-stage")], []
    numerals_of = [widget.locator(f"data.tf-{name}") for name in ("score", "weight")]
    for _ in range(30):
        page.clock.run_for(PACE // 10)
        lengths.append(values(widget, "score")[1])
        stages.append(widget.get_attribute("data-stage"))
        written.append(tuple(numeral.nth(1).inner_text() for numeral in numerals_of))
    # Numbers wait for the end of their step; nothing is written that no step ends with.
    found = tables(OneQuery().sentences[0])
    score, weight = f"{found.scores[8, 1]:.2f}", f"{found.weights[8, 1]:.3f}"
    assert {*written} <= {("", ""), (score, ""), ("", weight)}
    assert written == sorted(written, key=[("", ""), (score, ""), ("", weight)].index)
    assert sorted(set(stages)) == ["1", "2", "3", "4"]
    assert stages == sorted(stages)
    assert lengths == sorted(lengths)
    assert len(set(lengths)) > 5
    page.clock.run_for(PACE)
    assert scrubber(widget).input_value() == "3"
    agrees(widget, tables(OneQuery().sentences[0]), 8)


def test_play_can_be_paused_and_goes_on_from_there(show: Callable) -> None:
    page = show(OneQuery(), timezone_id="UTC")
    widget = page.locator(".tf-ask")
    page.clock.install(time=0)
    page.clock.pause_at(1_000)
    widget.get_by_role("button", name="play").click()
    page.clock.run_for(PACE // 2)
    widget.get_by_role("button", name="pause").click()
    there = values(widget, "score")
    assert 0 < there[1] < tables(OneQuery().sentences[0]).scores[8, 1]
    page.clock.run_for(PACE)
    assert values(widget, "score") == there
    # Another word asks, and the moment stays.
    widget.locator(".tf-word").nth(11).click()
    assert widget.get_attribute("data-stage") == "2"
    widget.get_by_role("button", name="play").click()
    page.clock.run_for(4 * PACE)
    agrees(widget, tables(OneQuery().sentences[0]), 11)


def test_with_reduced_motion_play_jumps_from_one_end_state_to_the_next(show: Callable) -> None:
    page = show(OneQuery(), timezone_id="UTC", reduced_motion="reduce")
    widget = page.locator(".tf-ask")
    page.clock.install(time=0)
    page.clock.pause_at(1_000)
    widget.get_by_role("button", name="play").click()
    moments = set()
    for _ in range(40):
        moments.add(scrubber(widget).input_value())
        page.clock.run_for(REST // 10)
    assert sorted(moments) == ["0", "1", "2", "3"]
    assert scrubber(widget).input_value() == "3"
    scrubber(widget).focus()
    page.keyboard.press("ArrowLeft")
    assert scrubber(widget).input_value() == "2"


@pytest.mark.parametrize("device", ["desktop", "phone"])
def test_the_figure_fits_one_screen_and_shows_one_number(show: Callable, device: str) -> None:
    options = {"viewport": {"width": 1440, "height": 900}}
    page = show(OneQuery(), **(options if device == "desktop" else IN_THE_HAND))
    widget = page.locator(".tf-ask")
    assert widget.bounding_box()["height"] <= 700
    weight = tables(OneQuery().sentences[0]).weights[8].max()
    assert numerals(widget) == [f"{weight:.3f}"]
    # Tab comes to the two last words, the layer, play, the scrubber, the table and two folds.
    assert tab_stops(widget) == 8


def test_the_weights_are_amber_everywhere(page: Page) -> None:
    widget = page.locator(".tf-ask")
    widget.get_by_text("All words at once").click()
    for theme, amber in (("light", (184, 116, 0)), ("dark", (224, 160, 48))):
        page.evaluate("(theme) => { document.documentElement.dataset.theme = theme }", theme)
        page.emulate_media(reduced_motion="reduce")
        bar = widget.locator(".tf-weight-cell .tf-fill").first
        code = "(e) => getComputedStyle(e).backgroundColor"
        assert bar.evaluate(code) == f"rgb{amber}"
        square = widget.locator(".tf-heat-weights rect").nth(12 * 8 + 1)
        fill = square.evaluate("(e) => getComputedStyle(e).fill")
        red, _, blue = (float(x) for x in re.findall(r"[\d.]+", fill)[:3])
        assert red > blue * 1.5


def test_every_number_tells_its_arithmetic_by_mouse_and_by_key(page: Page) -> None:
    widget = page.locator(".tf-ask")
    said = widget.locator(".tf-said")
    widget.locator(".tf-score-cell").nth(1).hover()
    assert said.inner_text().endswith("(6.00 × 1.00 + 4.99 × 1.00) / √7 = 4.16")
    assert widget.locator("data.tf-score").nth(1).is_visible()  # the result, beside the cell
    assert not widget.locator("data.tf-score").nth(6).is_visible()
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
    widget.get_by_text("All words at once").click()
    cell = widget.locator(".tf-heat").nth(1).locator("rect").nth(12 * 8 + 1)
    cell.click()
    agrees(widget, OneQuery().tables, 8)
    widget.get_by_role("button", name="play").hover()
    cell.hover()
    told = widget.locator(".tf-heat-note").inner_text()
    assert told == "weight of “animal” for the query of “it”: 0.764"


def test_a_screen_reader_hears_each_step(page: Page) -> None:
    page.locator(".tf-ask").get_by_role("button", name="weights", exact=True).click()
    said = describe("it", OneQuery().tokens, OneQuery().tables.weights[8].tolist())
    told = page.get_by_role("status").filter(has_text=f"add up to one. {said}")
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
    assert wide.index(max(wide)) == 7
    assert page.evaluate("document.documentElement.scrollWidth") <= options["viewport"]["width"]
    assert violations(page) == []


ENDS_OF_ARCS = """() => {
    const stage = document.querySelector(".tf-riddle-stage").getBoundingClientRect();
    const words = [...document.querySelectorAll(".tf-said-word")];
    return [...document.querySelectorAll(".tf-arcs path")].map((path, s) => {
        const { x, y } = path.getPointAtLength(path.getTotalLength());
        const word = words[s].getBoundingClientRect();
        return { off: Math.abs(stage.x + x - word.x - word.width / 2),
            above: stage.y + y - word.y, below: word.bottom - stage.y - y };
    });
}"""


# Words that an arc passes through on its way to another.
CROSSED = """() => {
    const stage = document.querySelector(".tf-riddle-stage").getBoundingClientRect();
    const words = [...document.querySelectorAll(".tf-said-word")];
    const asks = words.findIndex((word) => word.classList.contains("tf-asks"));
    const inside = ({ x, y }, box) => stage.x + x > box.x + 2 && stage.x + x < box.right - 2
        && stage.y + y > box.y + 8 && stage.y + y < box.bottom - 8;
    return [...document.querySelectorAll(".tf-arcs path")].flatMap((path, s) => {
        const step = path.getTotalLength() / 40;
        const way = Array.from({ length: 41 }, (_, i) => path.getPointAtLength(i * step));
        return words.filter((word, t) => t !== s && t !== asks
            && way.some((point) => inside(point, word.getBoundingClientRect())))
            .map((word) => [words[s].textContent, word.textContent]);
    });
}"""


@pytest.mark.parametrize(("width", "lines"), [(390, 3), (1440, 1)])
def test_arcs_of_the_riddle_end_at_their_words(show: Callable, width: int, lines: int) -> None:
    """On a phone, where the sentence has several lines, as well as on one line."""
    page = show(OneQuery(PIANO, compact=True), viewport={"width": width, "height": 900})
    code = "(all) => new Set(all.map((word) => Math.round(word.offsetTop / 16))).size"
    assert page.locator(".tf-said-word").evaluate_all(code) == lines
    for end in page.evaluate(ENDS_OF_ARCS):
        assert end["off"] < 1
        assert min(abs(end["above"]), abs(end["below"])) < 8
    assert page.evaluate(CROSSED) == []


@pytest.mark.parametrize("device", ["page", "phone"])
def test_axe_finds_nothing(request: pytest.FixtureRequest, device: str) -> None:
    page = request.getfixturevalue(device)
    page.emulate_media(reduced_motion="reduce")  # colours are judged at rest
    for fold in ("All words at once", "The formula"):
        page.get_by_text(fold).click()
    for step in ("scores", "output"):
        page.get_by_role("button", name=step, exact=True).click()
        assert violations(page) == []


# ---- in JupyterLab ------------------------------------------------------------------------


def test_steps_reach_python_and_python_changes_the_word(notebook: Callable) -> None:
    lab = notebook(
        "from tformer_book.chapters.ch03.one_query import OneQuery",
        "query = OneQuery()\nquery",
        "print('python', query.which, query.selected, query.layer, query.moment)",
        "query.selected, query.which, query.moment = 11, 0, 0.5",
    )
    lab.run(0)
    widget = lab.run(1).locator(".tf-ask")
    widget.get_by_role("button", name="wide").first.click()
    widget.get_by_label("first layer").check()
    widget.get_by_role("button", name="weights", exact=True).click()
    lab.says(2, "python 1 8 1 2.0")
    lab.run(3)
    expect(scrubber(widget)).to_have_value("0.5")
    expect(widget.locator(".tf-asks b")).to_have_text("“tired”")
