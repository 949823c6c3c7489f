"""The attention map in a browser: its arithmetic, and how it is worked."""

import math
import random
from collections.abc import Callable
from functools import partial

import numpy as np
import pytest
from playwright.sync_api import Locator, Page, expect

from browsing import IN_THE_HAND, call, numbers, numerals, tab_stops, value, values, violations
from tformer_book.chapters.ch03.attention_map import AttentionMap, changes, describe
from tformer_book.world import lexicon

LEXICON = AttentionMap().hand_made


@pytest.fixture
def widget() -> AttentionMap:
    """What `page` and `phone` show."""
    return AttentionMap()


# ---- numbers ----------------------------------------------------------------------------


def some_sentences() -> list[str]:
    draw = random.Random(3)
    words = [*lexicon.WORDS, *["gosh", "constructor", "valueof"] * 4, *["it"] * 20]
    lists = [" ".join(draw.choices(words, k=draw.randint(1, 24))) for _ in range(150)]
    strange = ["", "... !", "it", "gosh", "gosh zounds gosh", "toString constructor __proto__"]
    return [*lexicon.SENTENCES, *strange, *lists]


def some_maps() -> list[AttentionMap]:
    """Each sentence as it is, and with two biases in each layer, one perhaps past the end."""
    draw = random.Random(5)
    place = partial(draw.randint, 0, 9)
    biases = [[layer, place(), place(), draw.uniform(-6, 6)] for layer in (1, 1, 2, 2)]
    return [AttentionMap(one, biases=b) for one in some_sentences() for b in ([], biases)]


def test_the_map_reads_as_the_lexicon_does(blank: Page) -> None:
    maps = some_maps()
    readings = [widget.reading for widget in maps]
    calls = [[list(widget.reading.tokens), LEXICON, widget.biases] for widget in maps]
    for ours, reading in zip(call(blank, AttentionMap, "read", calls), readings, strict=True):
        shape = reading.weights.shape
        table = numbers(ours["weights"]).reshape(shape)
        np.testing.assert_allclose(table, reading.weights, rtol=0, atol=1e-12)
        vectors = numbers(ours["vectors"][-1]).reshape(reading.vectors.shape)
        np.testing.assert_allclose(vectors, reading.vectors, rtol=0, atol=1e-12)


def test_the_map_cuts_sentences_as_the_lexicon_does(blank: Page) -> None:
    draw = random.Random(4)
    letters = "aAzÉßİΣσς ' ’ ’'- ,.;_0129²½Ⅷ漢字ñé\u0301ابगनौ\n\t"
    texts = ["The Cat, sat;  on 2 mats.", "'It didn’t'", *lexicon.SENTENCES]
    texts += ["".join(draw.choices(letters, k=20)) for _ in range(300)]
    found = call(blank, AttentionMap, "tokenise", [[text] for text in texts])
    assert [tuple(tokens) for tokens in found] == [lexicon.tokenise(text) for text in texts]


def test_the_map_says_the_same_in_both_languages(blank: Page) -> None:
    calls, said, ratios, added = [], [], [], []
    for widget in (one for one in some_maps() if one.reading.tokens):
        tokens, at = list(widget.reading.tokens), widget.selected
        calls.append([tokens[at], tokens, widget.weights[1]])
        said.append(describe(*calls[-1]))
        added.append([tokens, [*widget.biases, [1, 0, 0, -0.04]]])
        ratios.append(([tokens, at, LEXICON, widget.biases], widget.ratios))
    assert call(blank, AttentionMap, "describe", calls) == said
    assert call(blank, AttentionMap, "changes", added) == [changes(*one) for one in added]
    for ours, (_, theirs) in zip(
        call(blank, AttentionMap, "ratios", [r[0] for r in ratios]), ratios, strict=True
    ):
        assert (ours is None) == (theirs is None)
        assert ours is None or ours["values"] == pytest.approx(theirs, rel=1e-12)


# ---- by mouse, finger and keyboard -------------------------------------------------------


def agrees(widget: Locator, sentence: str, at: int, layer: int = 2, biases: list = ()) -> None:
    """The page shows what the library says of this word of this sentence."""
    python = AttentionMap(sentence, selected=at, layer=layer, biases=biases)
    for number, weights in enumerate(python.weights, start=1):
        assert values(widget, f"weight{number}") == pytest.approx(weights, abs=1e-12)
    said = repr(python).split(f"in layer {layer}, ")[1]
    assert widget.locator(".tf-told").text_content() == f"Layer {layer}: {said}."
    row = python.weights[layer - 1]
    largest = [s for s, p in enumerate(row) if p > max(row) - 1e-9]
    told = widget.locator(".tf-said").inner_text()
    words = [f"“{python.reading.tokens[s]}”" for s in largest]
    if len(largest) == len(row):
        assert f"“{python.reading.tokens[at]}” looks alike at all words." in told
    else:
        assert f"“{python.reading.tokens[at]}” looks most at {words[0]}" in told
        assert all(one in told for one in words[:3])
    # The one number that is seen: the largest weight, below its word.
    shown = [one.inner_text() for one in widget.locator(".tf-look data").all() if one.is_visible()]
    if not widget.evaluate("map => map.classList.contains('tf-all-numbers')"):
        assert shown == [f"{max(row):.2f}"]
    if python.ratios:
        ratios = [value(widget, f"ratio{which}")[0] for which in ("1", "2", "-alone")]
        assert ratios == pytest.approx(python.ratios, rel=1e-12)
    row = widget.locator("dt").get_by_text("added to scores").locator("xpath=..")
    assert row.is_visible() == bool(biases)
    assert row.locator("span").all_inner_texts() == changes(lexicon.tokenise(sentence), biases)


def word(widget: Locator, text: str) -> Locator:
    return widget.locator(".tf-word").get_by_text(text, exact=True).first


def test_hover_previews_and_a_click_locks(page: Page) -> None:
    widget, sentence = page.locator(".tf-map"), AttentionMap().sentence
    agrees(widget, sentence, 8)
    word(widget, "animal").hover()
    agrees(widget, sentence, 1)
    assert "to stay with this word" in widget.locator(".tf-said").inner_text()
    widget.locator(".tf-said").hover()
    agrees(widget, sentence, 8)
    word(widget, "street").click()
    widget.locator(".tf-said").hover()
    agrees(widget, sentence, 6)
    assert word(widget, "street").get_attribute("aria-pressed") == "true"
    assert word(widget, "it").get_attribute("aria-pressed") == "false"
    widget.get_by_role("button", name="reset").click()
    agrees(widget, sentence, 8)


def test_a_finger_locks(phone: Page) -> None:
    widget, sentence = phone.locator(".tf-map"), AttentionMap().sentence
    word(widget, "because").tap()
    agrees(widget, sentence, 7)
    assert not widget.locator(".tf-look.tf-layer1").first.is_visible()
    widget.get_by_text("first layer: pronouns").tap()
    agrees(widget, sentence, 7, layer=1)
    assert widget.locator(".tf-look.tf-layer1").first.is_visible()
    assert not widget.locator(".tf-look.tf-layer2").first.is_visible()
    assert phone.evaluate("document.documentElement.scrollWidth") <= 360


def test_arrow_keys_move_and_enter_locks(page: Page) -> None:
    widget, sentence = page.locator(".tf-map"), AttentionMap().sentence
    widget.get_by_role("radio", name="second layer").focus()
    page.keyboard.press("Tab")
    expect(word(widget, "it")).to_be_focused()
    for key in ["ArrowLeft", "ArrowLeft", "ArrowLeft", "ArrowRight"]:
        page.keyboard.press(key)
    agrees(widget, sentence, 6)
    assert word(widget, "it").get_attribute("aria-pressed") == "true"
    page.keyboard.press("Enter")
    page.keyboard.press("End")
    agrees(widget, sentence, 11)
    page.keyboard.press("Tab")
    agrees(widget, sentence, 6)


def test_the_last_word_turns_layer_2_and_leaves_layer_1(page: Page) -> None:
    widget = page.locator(".tf-map")
    for one, other in zip(*[iter(lexicon.SENTENCES)] * 2, strict=True):
        nouns = [w for w in lexicon.tokenise(one) if "noun" in lexicon.WORDS[w]]
        widget.get_by_role("button", name=", ".join(nouns)).click()
        for sentence in (one, other):
            last = lexicon.tokenise(sentence)[-1]
            widget.get_by_role("group", name="Last word").get_by_role("button", name=last).click()
            assert widget.get_by_label("Your own sentence").input_value() == sentence
            agrees(widget, sentence, lexicon.tokenise(sentence).index("it"))
            assert widget.locator("data.tf-ratio1").text_content() == "1.00"


def test_a_reader_types_a_sentence(page: Page) -> None:
    widget = page.locator(".tf-map")
    field = widget.get_by_label("Your own sentence")
    typed = "Gosh, the dog ate the cheese because it was tasty"
    field.fill(typed)
    agrees(widget, typed, 7)
    assert "their vectors are zero: gosh." in widget.locator(".tf-unknown-note").inner_text()
    gosh = widget.get_by_role("button", name="gosh, unknown")
    assert "dotted" in gosh.evaluate("gosh => getComputedStyle(gosh).textDecoration")
    word(widget, "dog").click()
    field.fill("Gosh, the dog was hungry")
    agrees(widget, "Gosh, the dog was hungry", 2)
    field.fill("")
    assert widget.locator(".tf-word").count() == 0
    assert "There is no word" in widget.locator(".tf-said").inner_text()
    field.fill("cat " * 30)
    assert widget.locator(".tf-word").count() == 24
    assert "the first 24 are read" in widget.locator(".tf-unknown-note").inner_text()
    field.fill("<img src=x onerror=boom()> constructor")
    assert widget.locator("img").count() == 0
    assert widget.locator(".tf-word").count() == 6


def test_the_words_it_knows_stand_by_their_features(page: Page) -> None:
    widget = page.locator(".tf-map")
    widget.get_by_text("words it knows").click()
    fold = widget.locator("details", has_text="words it knows")
    lines = fold.locator("p").all_inner_texts()
    assert lines[0].startswith("noun, is animate: animal bird")
    assert lines[-1].startswith("function: a an and")
    assert sum(len(line.split(": ")[1].split()) for line in lines) == len(lexicon.WORDS)


def test_a_curve_leads_to_each_word_that_gets_a_share(page: Page) -> None:
    widget = page.locator(".tf-map")
    code = "(paths) => paths.map((path) => Number(path.getAttribute('stroke-width')))"
    widths = widget.locator(".tf-curves path").evaluate_all(code)
    assert widths == pytest.approx(
        [1 + 6 * p for p in AttentionMap().weights[1] if p > 0.03], abs=0.01
    )


def test_a_screen_reader_hears_where_the_word_looks(page: Page) -> None:
    widget = page.locator(".tf-map")
    widget.get_by_role("group", name="Last word").get_by_role("button", name="wide").click()
    told = widget.get_by_role("status").filter(has_text="Layer 2: “it” looks 0.76 at street")
    told.wait_for(state="attached", timeout=5000)


def change(widget: Locator, key: str | None, bias: float) -> None:
    """Choose a key and drag the bias to a place."""
    if key:
        widget.get_by_label("add to the score that").select_option(key)
    widget.get_by_label("Added to the score of").fill(str(bias))


def test_a_reader_changes_scores_in_both_layers(page: Page) -> None:
    widget, sentence = page.locator(".tf-map"), AttentionMap().sentence
    dial = widget.get_by_label("Added to the score of")
    assert not dial.is_visible()
    widget.get_by_text("Change a score").click()
    widget.get_by_text("All numbers").click()
    before = value(widget, "ratio2")[0]
    change(widget, None, 2)
    agrees(widget, sentence, 8, biases=[[2, 8, 6, 2]])
    assert value(widget, "ratio2")[0] == pytest.approx(before * math.exp(-2), rel=1e-12)
    assert "In layer 2 the bias multiplies it by e−2.0 = 0.14." in widget.inner_text()
    widget.get_by_label("first layer").check()
    assert dial.input_value() == "0"
    change(widget, "tired", -3)
    agrees(widget, sentence, 8, layer=1, biases=[[1, 8, 11, -3], [2, 8, 6, 2]])
    carried = f"pronoun 1.00, says animate {values(widget, 'weight1')[11]:.2f}"
    assert f"leaves it with\n{carried}\n" in widget.inner_text()
    assert widget.inner_text().count("multiplies it") == 1
    word(widget, "animal").click()
    assert dial.input_value() == "0"
    change(widget, "the (word 6)", 0.5)
    word(widget, "it").click()
    widget.get_by_label("second layer").check()
    assert f"comes to layer 2 with\n{carried}\n" in widget.inner_text()
    agrees(widget, sentence, 8, biases=[[1, 8, 11, -3], [1, 1, 5, 0.5], [2, 8, 6, 2]])
    change(widget, "street", 0)
    agrees(widget, sentence, 8, biases=[[1, 8, 11, -3], [1, 1, 5, 0.5]])
    widget.get_by_role("button", name="reset").click()
    agrees(widget, sentence, 8)


def test_another_sentence_has_the_scores_of_its_words(page: Page) -> None:
    widget, sentence = page.locator(".tf-map"), AttentionMap().sentence
    widget.get_by_text("Change a score").click()
    change(widget, "tired", 3)
    field = widget.get_by_label("Your own sentence")
    field.fill(f"{sentence}!")
    agrees(widget, sentence, 8, biases=[[2, 8, 11, 3]])
    typed = sentence.replace("animal", "lorry").replace("street", "hole")
    field.fill(typed)
    agrees(widget, typed, 8)
    change(widget, None, 1)
    agrees(widget, typed, 8, biases=[[2, 8, 6, 1]])
    widget.get_by_role("button", name="animal, street").click()
    agrees(widget, sentence, 8)
    assert widget.locator("select").evaluate("keys => keys.selectedOptions[0].text") == "street"
    field.fill("")
    assert not widget.get_by_text("Change a score").is_visible()


def test_keys_change_a_score_and_say_so(page: Page) -> None:
    widget, sentence = page.locator(".tf-map"), AttentionMap().sentence
    widget.get_by_text("Change a score").focus()
    for key in ["Enter", "Tab", "s", "Tab", "ArrowRight", "ArrowRight"]:
        page.keyboard.press(key)
    agrees(widget, sentence, 8, biases=[[2, 8, 6, 0.2]])
    dial = widget.get_by_role("slider", name="Added to the score of street")
    assert (
        dial.get_attribute("aria-valuetext") == f"+0.2; weight {values(widget, 'weight2')[6]:.2f}"
    )


def test_a_finger_changes_a_score_and_paper_shows_it(phone: Page) -> None:
    widget, sentence = phone.locator(".tf-map"), AttentionMap().sentence
    widget.get_by_text("Change a score").tap()
    dial = widget.get_by_label("Added to the score of street")
    box = dial.bounding_box()
    dial.tap(position={"x": box["width"] - 2, "y": box["height"] / 2})
    agrees(widget, sentence, 8, biases=[[2, 8, 6, 6]])
    assert phone.evaluate("document.documentElement.scrollWidth") <= 360
    phone.emulate_media(media="print")
    assert not dial.is_visible()
    assert widget.get_by_text("“it” to “street” +6.0").is_visible()


# ---- at first sight ----------------------------------------------------------------------


@pytest.mark.parametrize("device", ["desktop", "phone"])
def test_the_map_fits_one_screen_and_shows_one_number(show: Callable, device: str) -> None:
    options = {"viewport": {"width": 1440, "height": 900}}
    page = show(AttentionMap(), **(options if device == "desktop" else IN_THE_HAND))
    widget = page.locator(".tf-map")
    assert widget.bounding_box()["height"] <= 700
    assert numerals(widget) == [f"{max(AttentionMap().weights[1]):.2f}"]
    # Three sentences, two last words, the field, the layer, the words, three folds and reset.
    assert tab_stops(widget) == 12
    widget.get_by_text("All numbers").click()
    # A browser tells that a fold was opened after it has shown what is in it.
    for one in widget.locator(".tf-look.tf-layer2 data").all():
        expect(one).to_be_visible()
    said = describe("it", AttentionMap().reading.tokens, AttentionMap().weights[1])
    assert widget.locator(".tf-told").inner_text() == f"Layer 2: {said}."


def test_weights_of_both_layers_are_amber(page: Page) -> None:
    widget = page.locator(".tf-map")
    code = "(e) => getComputedStyle(e)"
    for theme, amber in (("light", "rgb(184, 116, 0)"), ("dark", "rgb(224, 160, 48)")):
        page.evaluate("(theme) => { document.documentElement.dataset.theme = theme }", theme)
        fill = widget.locator(".tf-look.tf-layer2 .tf-fill").nth(1)
        assert fill.evaluate(f"{code}.backgroundColor") == amber
        hatched = widget.locator(".tf-look.tf-layer1 .tf-fill").nth(11)
        assert amber in hatched.evaluate(f"{code}.backgroundImage")
        assert widget.locator(".tf-curves path").first.evaluate(f"{code}.stroke") == amber


# ---- for everyone -----------------------------------------------------------------------


@pytest.mark.parametrize("device", ["page", "phone"])
def test_axe_finds_nothing(request: pytest.FixtureRequest, device: str) -> None:
    page = request.getfixturevalue(device)
    page.get_by_label("Your own sentence").fill("Gosh, it was the cat")
    page.get_by_text("Change a score").click()
    page.get_by_label("Added to the score of").fill("2")
    assert violations(page) == []


# ---- in JupyterLab ------------------------------------------------------------------------


def test_words_reach_python_and_python_changes_the_sentence(notebook: Callable) -> None:
    lab = notebook(
        "from tformer_book.chapters.ch03.attention_map import AttentionMap",
        "words = AttentionMap()\nwords",
        "print('python', words.sentence, words.selected, words.layer, words.biases)",
        "words.biases = [[1, 1, 3, -1.5]]",
        "words.sentence, words.selected, words.layer = 'The cat sat because it was tired', 4, 2",
    )
    lab.run(0)
    widget = lab.run(1).locator(".tf-map")
    field = widget.get_by_label("Your own sentence")
    field.fill("The dog ate it")
    widget.get_by_role("button", name="dog").click()
    widget.get_by_label("first layer").check()
    widget.get_by_text("Change a score").click()
    widget.get_by_label("add to the score that").select_option("it")
    widget.get_by_label("Added to the score of it").fill("2.5")
    lab.says(2, "python The dog ate it 1 1 [[1, 1, 3, 2.5]]")
    lab.run(3)
    expect(widget.get_by_label("Added to the score of it")).to_have_value("-1.5")
    widget.get_by_label("Added to the score of it").fill("0")
    lab.says(2, "python The dog ate it 1 1 []")
    lab.run(4)
    expect(field).to_have_value("The cat sat because it was tired")
    python = AttentionMap("The cat sat because it was tired", selected=4)
    expect(widget.locator(".tf-told")).to_contain_text(repr(python).split("in layer 2, ")[1])
