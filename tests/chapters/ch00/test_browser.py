"""The figures to touch of the first page, in a browser: their numbers, and how they are worked."""

from collections.abc import Callable

import numpy as np
import pytest
from playwright.sync_api import Page

from browsing import IN_THE_HAND, call, value, values, violations
from tformer_book.chapters.ch00.engine import trained
from tformer_book.chapters.ch00.stages import PROMPTS, STAGES, stored
from tformer_book.chapters.ch00.training import Training
from tformer_book.chapters.ch00.typed import EXAMPLES, Typed, tidy
from tformer_book.world.stories import stories

# ---- numbers ----------------------------------------------------------------------------


def test_the_page_computes_what_python_computes(blank: Page) -> None:
    texts = [*EXAMPLES.values(), "the", f". {stories().texts[77]}".rsplit(" ", 1)[0]]
    for text, found in zip(
        texts, call(blank, Typed, "readText", [[x] for x in texts]), strict=True
    ):
        ours = trained().read(tidy(text))
        np.testing.assert_allclose(found["p"], ours.p, atol=1e-10)
        for layer, rows in enumerate(found["weights"]):
            for t, row in enumerate(rows):
                np.testing.assert_allclose(row, ours.weights[layer, t, : t + 1], atol=1e-10)


def test_a_text_is_tidied_alike_and_refused_in_words(blank: Page) -> None:
    texts = ["The animal, did", "tired.so", "", ". . the", PROMPTS["wide"]]
    assert call(blank, Typed, "tidied", [[text] for text in texts]) == [
        tidy(text) for text in texts
    ]
    strange, long = call(blank, Typed, "refusal", [["the wug"], ["the " * 19]])
    assert strange.startswith("It does not know “wug”. All 88 words")
    assert long == "It has 19 positions, and these are 20 words and full stops."


def test_stored_weights_come_back_within_a_255th(blank: Page) -> None:
    last = stored()["stages"][-1]["prompts"]["wide"]["weights"]
    for text, ours in zip(last, trained().read(PROMPTS["wide"]).weights, strict=True):
        (rows,) = call(blank, Training, "triangle", [[text]])
        for t, row in enumerate(rows):
            np.testing.assert_allclose(row, ours[t, : t + 1], atol=0.5 / 255 + 1e-4)


# ---- the slider ---------------------------------------------------------------------------


def test_the_slider_moves_through_the_stages_by_mouse_and_key(show: Callable) -> None:
    page = show(Training())
    widget = page.locator(".tf-run")
    stages = stored()["stages"]
    assert value(widget, "step") == [100]
    assert "the goose.\xa0right cure" in widget.inner_text().replace(". right", ".\xa0right")
    slider = widget.get_by_role("slider")
    slider.focus()
    for key, at in (("ArrowRight", STAGES.index(150)), ("End", 22), ("Home", 0), ("ArrowLeft", 0)):
        page.keyboard.press(key)
        assert value(widget, "step") == [STAGES[at]]
        shares = [value(widget, name)[0] for name in ("grammar", "cure", "right")]
        assert shares == [stages[at][name] for name in ("grammar", "cure", "right")]
        assert slider.get_attribute("aria-valuetext") == f"step {STAGES[at]}"
        assert f"{stages[at]['loss']:.2f}" in widget.get_by_role("img").get_attribute("aria-label")
    widget.get_by_role("button", name="tired").click()
    page.keyboard.press("Tab")
    assert values(widget, "guess") == [p for _, p in stages[0]["prompts"]["tired"]["top"]]


def test_training_plays_to_the_end_and_stops(show: Callable) -> None:
    page = show(Training(step=400))
    widget = page.locator(".tf-run")
    widget.get_by_role("button", name="train").click()
    widget.get_by_text("step 1000").wait_for(timeout=5000)
    widget.get_by_role("button", name="▶ train").wait_for(timeout=5000)
    assert widget.locator("small").all_inner_texts() == ["✓ right"] * 6
    widget.get_by_role("button", name="train").click()
    assert value(widget, "step") == [0]
    widget.get_by_role("button", name="pause").click()


# ---- type your own ------------------------------------------------------------------------


def test_any_word_asks_and_the_guess_follows(show: Callable) -> None:
    page = show(Typed(compact=True))
    widget = page.locator(".tf-typed-own")
    found = trained().read(PROMPTS["wide"])
    assert values(widget, "guess") == pytest.approx(sorted(found.p[-1])[:-6:-1], abs=1e-10)
    widget.get_by_role("button", name="it, word 9: ask it").click()
    assert "“it” attends in layer 1 (below) 0.80 to “street”" in widget.inner_text()
    widget.get_by_role("button", name="tired").click()
    widget.get_by_role("button", name="the, word 17: ask it").click()
    assert "0.93 to “not”" in widget.inner_text()
    widget.get_by_role("button", name="… too tired").focus()
    page.keyboard.press("Tab")
    page.keyboard.press("Tab")
    page.keyboard.press("Enter")
    assert widget.locator(".tf-arc-word.tf-asks").count() == 1


def test_typing_reads_refuses_and_goes_on(show: Callable) -> None:
    page = show(Typed())
    widget, field = page.locator(".tf-typed-own"), page.get_by_label("Your own text")
    field.fill("the street did not tempt the cow because it was too icy. so they salted the")
    top = widget.locator(".tf-guess-list li").first
    assert top.inner_text().startswith("street")
    write = page.get_by_role("button", name="write the likeliest word")
    for again in ("an empty page", "wide", "reset"):
        field.fill("")
        field.press_sequentially("the wug")
        assert "It does not know “wug”" in widget.inner_text()
        assert "First it must be able to read." in widget.inner_text()
        assert write.is_disabled()
        assert not any(one.is_visible() for one in (top, widget.locator(".tf-own-map").first))
        page.get_by_role("button", name=again, exact=True).click()
        assert "does not know" not in widget.inner_text()
        assert top.is_visible()
        assert field.input_value() == (EXAMPLES[again] if again in EXAMPLES else PROMPTS["wide"])
    write.click()
    assert field.input_value().endswith("the street")
    assert write.is_disabled()
    assert "All 19 places are taken." in widget.inner_text()
    page.get_by_role("button", name="an empty page").click()
    for _ in range(3):
        write.click()
    assert field.input_value().startswith(". the ")
    assert len(field.input_value().split()) == 4
    widget.get_by_text("All of its words").click()
    assert "wardrobe" in widget.inner_text()


# ---- for all ------------------------------------------------------------------------------


@pytest.mark.parametrize("make", [Training, Typed, lambda: Typed(compact=True)])
@pytest.mark.parametrize("device", ["desk", "hand"])
def test_it_fits_and_axe_finds_nothing(show: Callable, make: Callable, device: str) -> None:
    page = show(make(), **(IN_THE_HAND if device == "hand" else {}))
    width = page.viewport_size["width"]
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    assert violations(page) == []


BOXES = """(words) => words.map((word) => {
    const text = document.createRange();
    text.selectNodeContents(word);
    return [word, text].map((one) => one.getBoundingClientRect())
        .map((box) => [box.left, box.right, box.top, box.bottom]);
})"""


@pytest.mark.parametrize("width", [360, 600, 700, 1280])
def test_words_of_the_line_keep_apart_and_arcs_meet_them(show: Callable, width: int) -> None:
    """In a line or in a column, no word runs into its neighbour's box, and all are in sight."""
    page = show(Typed(compact=True), viewport={"width": width, "height": 800})
    boxes = np.array(page.locator(".tf-arc-word").evaluate_all(BOXES))
    assert boxes.shape == (18, 2, 4)
    down = bool(np.ptp(boxes[:, 0, 2]) > 0)
    assert down == (width <= 600)
    word, text = boxes[:, 0, 2 * down :][:, :2], boxes[:, 1, 2 * down :][:, :2]
    assert (text[1:, 0] >= word[:-1, 1] - 0.5).all()
    assert (text[:-1, 1] <= word[1:, 0] + 0.5).all()
    assert 0 <= boxes[:, 1, 0].min() < boxes[:, 1, 1].max() <= width
    arc = page.locator(f".tf-looks-{'right' if down else 'above'} path").first
    ends = arc.evaluate(
        """(path) => [0, path.getTotalLength()].map((at) => {
            const { x, y } = path.getPointAtLength(at).matrixTransform(path.getScreenCTM());
            return [x, y];
        })"""
    )
    middles = word.mean(axis=1)
    assert ends[0][down] == pytest.approx(middles[17], abs=2)
    assert np.abs(middles - ends[1][down]).min() < 2


def test_numbers_of_the_chart_stay_inside_and_the_floor_is_named_where_it_is(
    show: Callable,
) -> None:
    page = show(Training(step=0))
    chart, number, floor, line = (
        page.locator(f".tf-run-loss{part}").first.bounding_box()
        for part in ("", " .tf-run-now", " .tf-run-floor", " line")
    )
    assert chart is not None
    assert number is not None
    assert floor is not None
    assert line is not None
    assert chart["y"] <= number["y"]
    assert number["x"] + number["width"] <= chart["x"] + chart["width"]
    assert 0 <= line["y"] - floor["y"] - floor["height"] < 6


def test_examples_of_the_arcs_keep_the_word_that_asks(show: Callable) -> None:
    page = show(Typed(compact=True, selected=9))
    page.get_by_role("button", name="… too tired").click()
    assert page.locator(".tf-arc-word.tf-asks").inner_text() == "it"


# ---- in JupyterLab ------------------------------------------------------------------------


def test_in_the_notebook_figures_reach_python_and_the_bar_moves(notebook: Callable) -> None:
    lab = notebook(
        "import time\nfrom tformer_book.chapters.ch00.listing import progress, sample\n"
        "from tformer_book.chapters.ch00.training import Training\n"
        "from tformer_book.chapters.ch00.typed import Typed\nrun, own = Training(), Typed()",
        "run",
        "own",
        "print('python', run.step, own.text)",
        "for step in range(0, 1001, 100):\n    print(progress(step, 9.5), end='')\n"
        "    time.sleep(0.3)\nprint(sample('. the dog'))",
    )
    lab.run(0)
    slider = lab.run(1).get_by_role("slider")
    slider.focus()
    lab.page.keyboard.press("End")
    field = lab.run(2).get_by_label("Your own text")
    field.fill("the wug")
    assert not lab.output(2).locator(".tf-guess-list").is_visible()
    field.fill("the goose")
    assert lab.output(2).locator(".tf-guess-list").is_visible()
    lab.says(3, "python 1000 . the goose")
    lab.page.evaluate(
        """() => {
            jupyterapp.shell.currentWidget.content.activeCellIndex = 4;
            jupyterapp.commands.execute("notebook:run-cell"); // and do not wait for its end
        }"""
    )
    bar, seen = lab.output(4), set()
    while "the dog" not in (text := bar.inner_text()):
        seen.add(text.strip())
        lab.page.wait_for_timeout(100)
    assert len(seen) > 3
    assert all(text.count("step") <= 1 for text in seen)
    assert text.split("\n")[0].endswith("step 1000  loss  9.50")
