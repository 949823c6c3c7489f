"""The row in blocks, in a browser: its arithmetic, and how it is worked."""

import numpy as np
import pytest
from playwright.sync_api import Page, expect

from browsing import call
from tformer_book.chapters.ch16.blocks import Blocks


@pytest.fixture
def widget() -> Blocks:
    """What `page` and `phone` show."""
    return Blocks()


def test_the_page_computes_what_the_library_computes(blank: Page) -> None:
    asked = [
        Blocks(tale, size, n) for tale in (0, 1) for size in (1, 3, 4, 5, 12) for n in (1, 2, 12)
    ]
    calls = [[one.rows[one.tale]["scores"], one.size, one.n] for one in asked]
    for one, got in zip(asked, call(blank, Blocks, "state", calls), strict=True):
        want = one.state()
        assert got["top"] == want["top"]
        assert got["total"] == pytest.approx(want["total"], abs=1e-12)
        np.testing.assert_allclose(got["shares"], want["shares"], atol=1e-12)


def test_blocks_are_read(page: Page) -> None:
    read, words = page.get_by_role("slider").nth(1), page.locator(".tf-blocks-read")
    forward = page.get_by_role("button", name="next block")
    expect(words).to_have_count(4)
    read.press("ArrowRight")
    expect(words).to_have_count(8)
    expect(read).to_have_attribute("aria-valuetext", "2 of 3 blocks")
    forward.click()
    expect(words).to_have_count(12)
    expect(forward).to_be_disabled()
    root = page.locator(".tf-blocks")
    expect(root).to_contain_text("1.169")
    expect(root).to_contain_text("0.855")
    page.get_by_role("slider").first.press("End")
    expect(words).to_have_count(12)
    expect(root).to_contain_text("0.855")
    page.get_by_role("button", name="reset").click()
    expect(words).to_have_count(4)


def test_a_finger_chooses_the_sentence(phone: Page) -> None:
    phone.get_by_role("button", name="… wide").tap()
    expect(phone.get_by_role("button", name="… wide")).to_have_attribute("aria-pressed", "true")
