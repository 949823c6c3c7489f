"""Reading a model, in a browser: its arithmetic, and how it is worked."""

import pytest
from playwright.sync_api import Page, expect

from browsing import call, value, values
from tformer_book.chapters.ch22 import counting
from tformer_book.chapters.ch22.read_model import ReadModel


@pytest.fixture
def widget() -> ReadModel:
    """What `page` and `phone` show."""
    return ReadModel()


def test_the_page_computes_what_the_library_computes(blank: Page) -> None:
    known = [one for one in ReadModel().models if one["kept"]]
    lengths = (10, 100, 4095, 8191, 10**6)
    asked = [[one["kept"], n] for one in known for n in lengths]
    want = [counting.kept(family).total(n) for family in counting.DEFAULTS for n in lengths]
    order = [one["name"] for one in known]
    assert sorted(order) == sorted(ReadModel().caches())
    got = call(blank, ReadModel, "cached", asked)
    assert sorted(got) == sorted(want)
    assert call(blank, ReadModel, "cached", [[None, 10]]) == [None]
    lines = [[one["lines"]] for one in ReadModel().models]
    assert call(blank, ReadModel, "counted", lines)[:2] == [[0, 0], [1, 0]]


def test_a_model_is_chosen_and_a_wrong_line_is_tried(page: Page) -> None:
    widget = page.locator(".tf-reader")
    said = widget.locator(".tf-said")
    expect(said).to_have_text("Qwen3 adds 1 line to Llama's seven, and takes none away.")
    expect(widget.locator(".tf-reader-added")).to_have_count(1)
    widget.get_by_role("button", name="Llama 4").click()
    assert value(widget, "added") == [8]
    widget.get_by_role("button", name="QK-norm before RoPE").click()
    expect(said).to_contain_text("The logits of a small model move by rounding errors only.")
    expect(widget.locator(".tf-reader-wrong").first).to_be_visible()
    widget.get_by_role("button", name="QK-norm before RoPE").click()
    expect(widget.locator(".tf-reader-wrong")).to_have_count(0)
    widget.get_by_role("button", name="Llama", exact=True).click()
    expect(said).to_have_text("The plain block: seven lines.")
    widget.get_by_role("button", name="reset").click()
    expect(widget.locator(".tf-reader-added")).to_have_count(1)


def test_a_longer_text_needs_more_cache(page: Page) -> None:
    widget = page.locator(".tf-reader")
    slider = page.get_by_role("slider")
    assert slider.get_attribute("aria-valuetext") == "10000 tokens"
    before = values(widget, "cache")
    assert sorted(before) == sorted(ReadModel().caches().values())
    slider.focus()
    page.keyboard.press("End")
    assert value(widget, "length") == [10**6]
    assert all(a <= b for a, b in zip(before, values(widget, "cache"), strict=True))


def test_a_finger_chooses_a_model(phone: Page) -> None:
    phone.get_by_role("button", name="Mixtral").tap()
    chosen = phone.get_by_role("button", name="Mixtral")
    expect(chosen).to_have_attribute("aria-pressed", "true")
