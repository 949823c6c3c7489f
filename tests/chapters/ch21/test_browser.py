"""Life by one head, in a browser: its arithmetic, and how it is worked."""

import numpy as np
import pytest
from playwright.sync_api import Page, expect

from browsing import call
from tformer_book.chapters.ch21.grids import life_step
from tformer_book.chapters.ch21.stencil import NEAR, Stencil


@pytest.fixture
def widget() -> Stencil:
    """What `page` and `phone` show."""
    return Stencil()


def test_the_page_computes_what_the_library_computes(blank: Page) -> None:
    rng = np.random.default_rng(0)
    for stencil in (NEAR, NEAR[1:], [], list(range(25)), [0, 4, 12]):
        alive = [int(i) for i in np.flatnonzero(rng.random(100) < 0.4)]
        one = Stencil(alive=alive, stencil=stencil)
        (got,) = call(blank, Stencil, "next", [[alive, stencil]])
        np.testing.assert_allclose(got, one.next().ravel(), atol=1e-12)
        (life,) = call(blank, Stencil, "life", [[alive]])
        np.testing.assert_array_equal(life, life_step(one.board).ravel())


def test_a_glider_flies_and_a_wrong_stencil_is_seen(page: Page) -> None:
    root, forward = page.locator(".tf-stencil"), page.get_by_role("button", name="next generation")
    differ = page.locator(".tf-differ")
    expect(differ).to_have_text("0")
    for _ in range(4):
        forward.click()
    expect(page.locator(".tf-generation")).to_have_text("4")
    board = root.locator(".tf-squares").first.get_by_role("button")
    pressed = board.evaluate_all("all => all.map(x => x.ariaPressed === 'true')")
    want = np.roll(np.pad(np.array([[0, 1, 0], [0, 0, 1], [1, 1, 1]]), ((2, 5), (2, 5))), 0)
    np.testing.assert_array_equal(np.array(pressed).reshape(10, 10)[:6], want[:6])
    root.locator(".tf-squares").nth(1).get_by_role("button").nth(6).click()
    expect(differ).not_to_have_text("0")
    expect(root.locator(".tf-differs").first).to_be_visible()
    page.get_by_role("button", name="3 × 3 stencil").click()
    expect(differ).to_have_text("0")
    page.get_by_role("button", name="reset").click()
    expect(page.locator(".tf-generation")).to_have_text("0")


def test_keys_lead_from_cell_to_cell(page: Page) -> None:
    board = page.locator(".tf-squares").first.get_by_role("button")
    board.nth(50).focus()
    page.keyboard.press("ArrowRight")
    page.keyboard.press("Enter")
    expect(board.nth(51)).to_have_attribute("aria-pressed", "true")
    expect(page.locator(".tf-living")).to_have_text("9")


def test_a_finger_paints(phone: Page) -> None:
    board = phone.locator(".tf-squares").first.get_by_role("button")
    board.nth(0).tap()
    expect(board.nth(0)).to_have_attribute("aria-pressed", "true")
