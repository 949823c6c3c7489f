"""The mask editor in a browser: its arithmetic, and how it is worked."""

from collections.abc import Callable

import numpy as np
import pytest
from playwright.sync_api import Locator, Page

from browsing import call, value, violations
from tformer_book.chapters.ch05.mask_editor import MaskEditor
from tformer_book.chapters.ch05.paths import reach
from tformer_book.world import lexicon

MASKS = [
    {"base": "all"},
    {"base": "causal"},
    {"base": "window", "window": 1},
    {"base": "window", "window": 4, "prefix": 5, "document": 3},
    {"base": "causal", "prefix": 7, "padding": 3, "flips": [[8, 11], [0, 0]]},
    {"base": "all", "document": 6, "padding": 12},
]


@pytest.fixture
def widget() -> MaskEditor:
    """What `page` and `phone` show."""
    return MaskEditor()


def test_masks_paths_and_leaks_agree_with_python(blank: Page) -> None:
    widgets = [MaskEditor(**parts) for parts in MASKS]
    names = ("base", "window", "prefix", "document", "padding", "flips")
    shapes = [[{name: getattr(one, name) for name in names}, 12] for one in widgets]
    masks = call(blank, MaskEditor, "maskOf", shapes)
    for ours, one in zip(masks, widgets, strict=True):
        np.testing.assert_array_equal(ours, one.mask)
        for layers in (0, 1, 3):
            (found,) = call(blank, MaskEditor, "knows", [[ours, layers]])
            np.testing.assert_array_equal(found, reach(one.mask, layers))
        assert call(blank, MaskEditor, "leaks", [[ours]]) == [one.leaks[0]]


def test_weights_agree_with_python(blank: Page) -> None:
    for parts, last in zip(MASKS, ("tired", "wide") * 3, strict=True):
        one = MaskEditor(last=last, **parts)
        given = [[lexicon.hand_made_words(), list(one.tokens), one.mask.tolist()]]
        (found,) = call(blank, MaskEditor, "weightsOf", given)
        np.testing.assert_allclose(found, one.weights, rtol=0, atol=1e-12)


CONTRASTS = """(cells) => {
    const light = (colour) => {
        const parts = colour.match(/[\\d.]+/g).slice(0, 3).map(Number);
        const of = colour.startsWith("rgb") ? 255 : 1;
        const [r, g, b] = parts.map((x) => (x / of <= 0.04045 ? x / of / 12.92
            : ((x / of + 0.055) / 1.055) ** 2.4));
        return 0.05 + 0.2126 * r + 0.7152 * g + 0.0722 * b;
    };
    const ground = light(getComputedStyle(document.body).backgroundColor);
    return cells.map((cell) => light(getComputedStyle(cell).backgroundColor) / ground);
}"""


def test_a_small_weight_is_seen_in_the_dark(page: Page) -> None:
    """What is written as more than 0 stands out from the page, and more weight stands out more."""
    page.evaluate("document.documentElement.dataset.theme = 'dark'")
    widget = page.locator(".tf-mask")
    shares = weights(widget).ravel()
    shown = np.array(widget.locator(".tf-cell").evaluate_all(CONTRASTS))
    some = (shares >= 0.005) & (shares < 0.1)
    assert some.sum() > 10
    assert shown[some].min() > 1.6
    assert shown[shares > 0.5].min() > shown[some].max()


# ---- by hand ----------------------------------------------------------------------------


def cell(widget: Locator, t: int, s: int) -> Locator:
    """The cell in which word t looks at word s."""
    return widget.locator(".tf-line").nth(t + 1).locator(".tf-cell").nth(s)


def weights(widget: Locator) -> np.ndarray:
    """The exact weights behind the table."""
    code = "(cells) => cells.map((cell) => Number(cell.dataset.weight))"
    return np.array(widget.locator(".tf-cell").evaluate_all(code)).reshape(12, 12)


def test_causal_unites_the_nouns_and_a_hole_parts_them(page: Page) -> None:
    widget = page.locator(".tf-mask")
    widget.get_by_role("radio", name="all words").check()
    np.testing.assert_allclose(weights(widget), MaskEditor(base="all").weights[1], atol=1e-12)
    assert value(widget, "leaks") == [66]
    widget.get_by_role("radio", name="causal").check()
    np.testing.assert_allclose(weights(widget), MaskEditor(base="causal").weights[1], atol=1e-12)
    assert value(widget, "leaks-through") == [0]
    widget.get_by_text("The numbers").click()
    said = "“it” looks 0.37 at animal, 0.37 at street, 0.04 at the"
    assert said in widget.locator(".tf-said").inner_text()
    cell(widget, 8, 11).click()
    assert (value(widget, "leaks"), value(widget, "leaks-through")) == ([1], [5])
    hole = MaskEditor(base="causal", flips=[[8, 11]])
    np.testing.assert_allclose(weights(widget), hole.weights[1], atol=1e-12)
    assert "tf-leak" in cell(widget, 8, 11).get_attribute("class")
    assert cell(widget, 8, 11).get_attribute("aria-label") == "it looks at tired: 0.01"
    widget.get_by_role("button", name="wide").click()
    assert weights(widget)[8, 6] > 6 * weights(widget)[8, 1]
    cell(widget, 8, 11).click()
    assert value(widget, "leaks") == [0]
    assert cell(widget, 8, 11).get_attribute("aria-label") == "it may not look at wide"


def test_layers_and_the_word_that_asks_are_chosen(page: Page) -> None:
    widget = page.locator(".tf-mask")
    widget.get_by_role("radio", name="window").check()
    widget.locator(".tf-asks").last.click()
    assert widget.locator(".tf-asks[aria-pressed=true]").inner_text() == "tired"
    for layers in (1, 2, 3, 4):
        widget.get_by_label("Layers that the paths").select_option(index=layers - 1)
        want = MaskEditor(base="window", selected=11, n_layers=layers)
        assert value(widget, "known") == [int(want.known.sum())]
        assert widget.locator(".tf-node").count() == 12 * (layers + 1)
        label = widget.locator(".tf-paths").get_attribute("aria-label")
        assert label.endswith(", ".join(np.array(want.tokens)[want.known]))
    widget.get_by_label("Layer whose weights").select_option("first layer")
    np.testing.assert_allclose(weights(widget), want.weights[0], atol=1e-12)


def test_sliders_shape_the_mask_and_the_formula_says_how(page: Page) -> None:
    widget = page.locator(".tf-mask")
    widget.get_by_text("Window, prefix").click()
    widget.get_by_role("radio", name="window").check()
    for name, at in (("window of", 4), ("prefix of", 2), ("second document", 6), ("padding", 1)):
        widget.get_by_label(name).fill(str(at))
    formula = "mask = (window of 4 or prefix of 2) and same document and not padding"
    assert widget.locator(".tf-formula").inner_text() == formula
    one = MaskEditor(base="window", window=4, prefix=2, document=6, padding=1)
    np.testing.assert_allclose(weights(widget), one.weights[1], atol=1e-12)
    widget.get_by_label("padding").fill("12")
    widget.get_by_text("The numbers").click()
    assert "“it” may look nowhere; its weights are zeros" in widget.locator(".tf-said").inner_text()
    widget.get_by_role("button", name="reset").click()
    assert widget.locator(".tf-formula").inner_text() == "mask = causal"


def test_cells_are_worked_by_keys(page: Page) -> None:
    widget = page.locator(".tf-mask")
    widget.get_by_role("radio", name="causal").check()
    cell(widget, 8, 11).focus()
    page.keyboard.press("ArrowUp")
    page.keyboard.press("ArrowLeft")
    page.keyboard.press("Enter")
    assert "tf-leak" in cell(widget, 7, 10).get_attribute("class")
    assert cell(widget, 7, 10).get_attribute("tabindex") == "0"
    assert widget.locator(".tf-cells [tabindex='0']").count() == 1
    for _ in range(4):
        page.keyboard.press("ArrowRight")
    page.keyboard.press("Space")
    assert "tf-leak" in cell(widget, 7, 11).get_attribute("class")
    widget.get_by_role("button", name="undo single cells").click()
    assert widget.locator(".tf-leak").count() == 0


def test_a_guess_is_answered_once_the_hole_is_open(page: Page) -> None:
    widget = page.locator(".tf-mask")
    outcome = widget.locator(".tf-outcome")
    assert outcome.inner_text() == ""
    widget.get_by_role("radio", name="one").check()
    assert "Now open one cell" in outcome.inner_text()
    cell(widget, 8, 11).click()
    assert outcome.inner_text().startswith("Through two layers five pairs leak. You said one.")
    widget.get_by_role("radio", name="five").check()
    assert "As you said." in outcome.inner_text()
    widget.get_by_label("Layers that the paths").select_option("three layers")
    assert "As you said." in outcome.inner_text()
    assert value(widget, "leaks-through") == [6]
    widget.get_by_role("radio", name="all words").check()
    assert widget.locator(".tf-formula").inner_text() == "mask = all words"


def test_red_ways_are_those_that_come_to_a_later_word(show: Callable) -> None:
    page = show(MaskEditor(base="causal", flips=[[8, 11]], selected=9))
    assert page.locator(".tf-way.tf-bad").count() == 2
    assert page.locator(".tf-node.tf-bad").count() == 1
    page = show(MaskEditor(base="causal", selected=9))
    assert page.locator(".tf-bad").count() == 0


def test_what_a_cell_says_is_told_beside_the_table(page: Page) -> None:
    widget = page.locator(".tf-mask")
    told, verdict = widget.locator(".tf-told-cell"), widget.locator(".tf-leak-count")
    assert told.inner_text() == "Press a cell to open or hide it."
    cell(widget, 8, 11).click()
    assert told.inner_text() == "it looks at tired: 0.01"
    assert "5 pairs leak" in " ".join(verdict.inner_text().split())
    cell(widget, 8, 1).hover()
    assert told.inner_text().startswith("it looks at animal: 0.")
    widget.get_by_label("Layers that the paths").select_option("one layer")
    assert "1 pair leaks" in " ".join(verdict.inner_text().split())


def test_a_finger_lets_a_word_leak(phone: Page) -> None:
    cell(phone.locator(".tf-mask"), 8, 11).tap()
    assert value(phone.locator(".tf-mask"), "leaks") == [1]


@pytest.mark.parametrize("device", ["page", "phone"])
def test_axe_finds_nothing(request: pytest.FixtureRequest, device: str) -> None:
    page = request.getfixturevalue(device)
    page.get_by_role("radio", name="causal").check()
    cell(page.locator(".tf-mask"), 8, 11).click()
    assert violations(page) == []
