"""One view of the machine in a browser: its numbers, and how it is worked by mouse, key, finger."""

from collections.abc import Callable
from itertools import pairwise

import numpy as np
import pytest
from playwright.sync_api import Page, expect

from browsing import IN_THE_HAND, call, value, values, violations
from tformer_book.chapters.ch00.engine import trained
from tformer_book.chapters.ch00.stages import PROMPTS
from tformer_book.chapters.ch00.typed import EXAMPLES, tidy
from tformer_book.chapters.ch00.view import MachineView, arrays
from tformer_book.chapters.ch00.view_parts import PARTS

WIDE = PROMPTS["wide"]
CUT = [[0, 9, 7], [1, 17, 4]]
DESK = {"width": 1440, "height": 900}
EXACT = 1e-10

# ---- numbers ----------------------------------------------------------------------------


@pytest.mark.parametrize("cut", [[], CUT])
def test_the_page_computes_what_python_computes(blank: Page, cut: list) -> None:
    texts = [WIDE, PROMPTS["tired"]] if cut else [*EXAMPLES.values(), "the piano the"]
    for text, found in zip(
        texts, call(blank, MachineView, "arraysOf", [[text, cut] for text in texts]), strict=True
    ):
        ours = arrays(tidy(text), cut)
        assert sorted(found) == sorted(ours)
        for name, array in ours.items():
            told = np.array([[-np.inf if x is None else x for x in row] for row in found[name]])
            np.testing.assert_allclose(told, array, atol=EXACT, err_msg=name)


def test_terms_add_up_to_the_number_that_they_explain(blank: Page) -> None:
    places = [(part, row, column) for part in PARTS for row, column in ((9, 0), (9, 7), (17, 17))]
    places = [one for one in places if one[0]["columns"] != "token"]
    found = call(blank, MachineView, "madeOf", [[WIDE, *place] for place in places])
    counts = {"sum": 2, "product": 32, "relu": 32, "dot": 32}
    ours, explained = arrays(WIDE), 0
    for (part, row, column), told in zip(places, found, strict=True):
        number, how = ours[part["id"]][row, column], part["how"]
        if not told["count"]:
            continue
        total = told["sum"] / 32**0.5 if how == "dot" else told["sum"]
        total = max(total, 0) if how == "relu" else total
        assert [total, told["value"]] == pytest.approx([number, number], abs=EXACT), part["id"]
        count = 128 if part["id"] in ("change 1b", "change 2b") else counts.get(how, row + 1)
        assert told["count"] == count, part["id"]
        explained += 1
    assert explained == 3 * 22


def test_a_text_is_tidied_as_python_does_and_refused_in_words(blank: Page) -> None:
    texts = ["The animal, did", "tired.so", "", ". . the", WIDE]
    found = call(blank, MachineView, "tidied", [[text] for text in texts])
    assert found == [tidy(text) for text in texts]
    strange, long, good = call(blank, MachineView, "refusal", [["a wug"], ["the " * 19], [WIDE]])
    assert strange.startswith("It does not know “a”")
    assert long == "It has 19 positions, and these are 20 words and full stops."
    assert good == ""


# ---- how it is worked ---------------------------------------------------------------------


def lit(page: Page) -> list[int]:
    """How many points of each picture are not transparent."""
    page.wait_for_function("document.querySelector('.tf-view canvas').width < 100")
    return page.locator(".tf-view-picture canvas").evaluate_all(
        """(all) => all.map((one) => {
            const { width, height } = one;
            const { data } = one.getContext("2d").getImageData(0, 0, width, height);
            return data.filter((x, i) => i % 4 === 3 && x > 0).length;
        })"""
    )


def test_every_array_has_its_picture(show: Callable) -> None:
    page = show(MachineView(), viewport=DESK)
    shapes = [array.shape for array in arrays(WIDE).values()]
    drawn = page.locator(".tf-view-picture canvas").evaluate_all(
        "(all) => all.map((one) => [one.height, one.width])"
    )
    assert [tuple(one) for one in drawn] == shapes
    counts = dict(zip([part["id"] for part in PARTS], lit(page), strict=True))
    assert counts["q 1"] > 500
    assert 120 < counts["masked 1"] <= 18 * 19 / 2
    assert values(page.locator(".tf-view"), "guess")[0] == pytest.approx(0.9133520, abs=1e-6)


def test_by_keyboard_from_the_map_to_a_number_and_back(show: Callable) -> None:
    page = show(MachineView(), viewport=DESK)
    widget, keyboard = page.locator(".tf-view"), page.keyboard
    widget.get_by_role("button", name="Text: tokens").focus()
    for key in ("ArrowDown", *["ArrowRight"] * 6):
        keyboard.press(key)
    expect(widget.locator(".tf-view-about")).to_contain_text("weights = softmax of each row")
    keyboard.press("Enter")
    expect(widget.locator(".tf-view-value")).to_contain_text("for the query of “the”")
    for _ in range(8):
        keyboard.press("ArrowUp")
    focused = page.evaluate("document.activeElement.closest('tr').innerText.split('\\t')[0]")
    assert focused == "it 9"
    at = page.evaluate("document.activeElement.cellIndex - 1")
    for _ in range(abs(at - 7)):
        keyboard.press("ArrowLeft" if at > 7 else "ArrowRight")
    expect(widget.locator(".tf-view-value")).to_contain_text("“street” for the query of “it”")
    number = arrays(WIDE)["weights 1"][9, 7]
    assert value(widget, "view-number") == [pytest.approx(number, abs=EXACT)]
    keyboard.press("Escape")
    expect(widget.get_by_role("button", name="Block 1, attention: weights")).to_be_focused()


def test_the_keyboard_keeps_its_place_when_what_was_pressed_goes(show: Callable) -> None:
    page = show(MachineView(part="weights 1", row=9, column=7), viewport=DESK)
    widget, keyboard = page.locator(".tf-view"), page.keyboard
    for name, after in (("cut this weight", "it 9"), ("see masked", "it 9")):
        widget.get_by_role("button", name=name).focus()
        keyboard.press("Enter")
        row = page.evaluate("document.activeElement.closest('tr')?.innerText.split('\\t')[0]")
        assert row == after, name
    widget.get_by_role("button", name="← scores").focus()
    for name in ("← v", "← k", "← q"):
        keyboard.press("Enter")
        expect(widget.get_by_role("button", name=name, exact=True)).to_be_focused()
    widget.get_by_role("button", name="restore", exact=True).click()
    expect(widget.get_by_role("button", name="write the likeliest next word")).to_be_focused()


def test_a_number_leads_to_those_that_it_came_from(show: Callable) -> None:
    page = show(MachineView(part="p"), viewport=DESK)
    widget, ours = page.locator(".tf-view"), arrays(WIDE)
    street = trained().words.index("street")
    assert value(widget, "view-number") == [pytest.approx(ours["p"][17, street], abs=EXACT)]
    widget.get_by_role("button", name="see logits").click()
    assert value(widget, "view-number") == [pytest.approx(ours["logits"][17, street], abs=EXACT)]
    expect(widget.locator(".tf-view-bars rect")).to_have_count(32)
    widget.get_by_role("button", name="see norm(h)").click()
    widget.get_by_role("button", name="see h", exact=True).click()
    expect(widget.locator(".tf-view-crumbs")).to_contain_text("Block 2, feed-forward › h")
    lens = trained().lens(WIDE)["feed-forward 2"].max()
    assert value(widget, "lens") == [pytest.approx(lens, abs=EXACT)]
    widget.get_by_role("button", name="The whole machine").click()
    assert widget.locator(".tf-view-picture").count() == len(PARTS)


def test_a_score_leads_to_the_query_of_its_row_and_the_key_of_its_column(show: Callable) -> None:
    page, ours = show(MachineView(part="scores 2", row=17, column=9), viewport=DESK), arrays(WIDE)
    widget = page.locator(".tf-view")
    for name, row in (("q", 17), ("k", 9)):
        widget.get_by_role("button", name=f"see {name}", exact=True).click()
        numbers = ours[f"{name} 2"][row]
        largest = numbers[np.abs(numbers).argmax()]
        assert value(widget, "view-number") == [pytest.approx(largest, abs=EXACT)]
        widget.get_by_role("button", name="The whole machine").click()
        widget.get_by_role("button", name="Block 2, attention: scores").click()
        page.locator("tbody tr").nth(17).locator("td").nth(9).click()


def test_pointing_at_a_number_reads_it_and_going_away_returns(show: Callable) -> None:
    page, ours = show(MachineView(part="v 1", row=3, column=4), viewport=DESK), arrays(WIDE)["v 1"]
    widget = page.locator(".tf-view")
    widget.locator("tbody tr").nth(4).locator("td").nth(5).hover()
    assert value(widget, "view-number") == [pytest.approx(ours[4, 5], abs=EXACT)]
    page.mouse.move(5, 5)
    assert value(widget, "view-number") == [pytest.approx(ours[3, 4], abs=EXACT)]


def test_a_weight_is_cut_and_restored(show: Callable) -> None:
    page = show(MachineView(part="weights 1", row=9, column=7), viewport=DESK)
    widget = page.locator(".tf-view")
    widget.get_by_role("button", name="cut this weight").click()
    assert value(widget, "view-number") == [0]
    expect(widget.locator(".tf-view-cuts")).to_contain_text("cut in block 1: “it” → “street”")
    widget.get_by_role("button", name="The whole machine").click()
    ours = arrays(WIDE, [(0, 9, 7)])["p"][-1]
    assert values(widget, "guess") == pytest.approx(sorted(ours)[:-4:-1], abs=EXACT)
    widget.get_by_role("button", name="restore").click()
    assert values(widget, "guess")[0] == pytest.approx(0.9133520, abs=1e-6)
    # the only word that the first one sees cannot be cut, and none that comes later
    for row, column in ((0, 0), (3, 9)):
        other = show(MachineView(part="weights 1", row=row, column=column)).locator(".tf-view")
        expect(other.locator(".tf-view-value")).to_be_visible()
        assert other.get_by_role("button", name="cut this weight").count() == 0


def test_it_reads_what_is_typed_refuses_and_writes(show: Callable) -> None:
    page = show(MachineView(), viewport=DESK)
    widget, field = page.locator(".tf-view"), page.get_by_label("The text")
    field.fill("the wug")
    expect(widget.locator(".tf-view-reply")).to_contain_text("It does not know “wug”")
    assert not widget.locator(".tf-view-stage").is_visible()
    field.fill("The river did")
    expect(widget.locator(".tf-view-reply")).to_be_empty()
    ours = arrays(". the river did")["p"][-1]
    assert values(widget, "guess") == pytest.approx(sorted(ours)[:-4:-1], abs=EXACT)
    write = widget.get_by_role("button", name="write the likeliest next word")
    write.click()
    assert field.input_value() == ". the river did not"
    widget.get_by_role("button", name="wide", exact=True).click()
    write.click()
    assert field.input_value().endswith("narrowed the street")
    assert write.is_disabled()


def test_pictures_take_the_colours_of_the_theme(show: Callable) -> None:
    page = show(MachineView(), viewport=DESK)
    lit(page)
    code = """() => {
        const one = document.querySelector(".tf-view-amber canvas, .tf-view-weight canvas");
        return one.toDataURL();
    }"""
    light = page.evaluate(code)
    page.evaluate("document.documentElement.dataset.theme = 'dark'")
    page.wait_for_function(f"({code})() !== {light!r}")


# ---- for all ------------------------------------------------------------------------------


@pytest.mark.parametrize("device", ["desk", "hand"])
@pytest.mark.parametrize("part", ["", "weights 2", "units 1", "logits", "tokens"])
def test_it_fits_and_axe_finds_nothing(show: Callable, part: str, device: str) -> None:
    widget = MachineView(part=part)
    page = show(widget, **(IN_THE_HAND if device == "hand" else {"viewport": DESK}))
    assert page.evaluate("document.documentElement.scrollWidth") <= page.viewport_size["width"]
    assert violations(page) == []


def test_no_opened_array_is_higher_than_a_screen(show: Callable) -> None:
    page = show(MachineView(), viewport=DESK)
    page.evaluate("document.body.style.width = 'var(--book-measure)'")
    widget, high = page.locator(".tf-view"), {}
    for at, part in enumerate(PARTS):
        widget.locator(".tf-view-picture").nth(at).click()
        high[part["id"]] = (widget.bounding_box() or {})["height"]
        page.keyboard.press("Escape")
    assert len(high) == len(PARTS)
    assert {name: height for name, height in high.items() if not 300 < height <= 700} == {}


def test_on_a_phone_the_map_is_a_list_and_a_tap_opens(show: Callable) -> None:
    page = show(MachineView(), **IN_THE_HAND)
    pictures = page.locator(".tf-view-picture")
    boxes = [pictures.nth(i).bounding_box() or {} for i in range(6)]
    assert all(one["y"] + one["height"] <= two["y"] for one, two in pairwise(boxes))
    pictures.nth(10).tap()
    page.locator(".tf-view-cell").nth(3).tap()
    expect(page.locator(".tf-view-value")).to_contain_text("for the query of “.”")


def test_in_the_notebook_what_is_opened_and_cut_reaches_python(notebook: Callable) -> None:
    lab = notebook(
        "from tformer_book.chapters.ch00.view import MachineView\n"
        "view = MachineView(part='weights 1', row=9, column=7)",
        "view",
        "print('python', view.part, view.row, view.column, view.cut)",
    )
    lab.run(0)
    widget = lab.run(1).locator(".tf-view")
    widget.get_by_role("button", name="cut this weight").click()
    widget.get_by_role("button", name="see masked").click()
    widget.locator("tbody tr").nth(4).locator("td").nth(2).click()
    lab.page.keyboard.press("ArrowDown")
    assert widget.locator("a").count() == 0
    lab.says(2, "python masked 1 5 2 [[0, 9, 7]]")
