"""The regression in context, in a browser: its arithmetic, and how it is worked."""

import numpy as np
import pytest
from playwright.sync_api import Page, expect

from browsing import call
from tformer_book.chapters.ch18.in_context import InContext


@pytest.fixture
def widget() -> InContext:
    """What `page` and `phone` show."""
    return InContext()


def asked() -> list[InContext]:
    """Sets of points: as at first, two points, a heap at one place, and some at random."""
    rng = np.random.default_rng(0)
    sets = [None, [[-1, 2], [2, 1]], [[1, 0.5], [1, 1], [1, 1.5]]]
    sets += [rng.uniform(-3, 3, (6, 2)).tolist()]
    return [
        InContext(*([points] if points else []), layers=layers, eta=eta)
        for points in sets
        for layers, eta in ((0, 0.3), (3, 0.2), (8, 0.7))
    ]


def test_the_page_computes_what_python_computes(blank: Page) -> None:
    every = asked()
    calls = [[one.points, one.layers, one.eta, one.penalty] for one in every]
    for one, got in zip(every, call(blank, InContext, "lines", calls), strict=True):
        np.testing.assert_allclose(got, list(one.lines.values()), atol=1e-9)
    most = call(blank, InContext, "largest", [[one.points] for one in every])
    np.testing.assert_allclose(most, [one.largest_step for one in every], atol=1e-9)
    pairs = [[one.points, one.lines["layers"].tolist()] for one in every]
    errors = call(blank, InContext, "error", pairs)
    np.testing.assert_allclose(errors, [one.error(one.lines["layers"]) for one in every], atol=1e-9)


def test_layers_and_step_move_the_line(page: Page) -> None:
    said = page.locator(".tf-incontext .tf-said")
    layers, eta = page.get_by_role("slider", name="Layers"), page.get_by_label("Step size")
    expect(said).to_contain_text("After 1 layer half the mean squared residual is 0.098")
    layers.press("End")
    expect(said).to_contain_text("nearly that of least squares")
    layers.press("Home")
    expect(said).to_contain_text("No layer")
    layers.press("End")
    eta.press("End")
    expect(said).to_contain_text("The step is too large")
    page.get_by_role("button", name="reset").click()
    expect(said).to_contain_text("After 1 layer")


def test_a_point_is_moved_by_keys(page: Page) -> None:
    point = page.get_by_label("Point 5. Arrow keys move it, with Shift by 1")
    expect(point).to_have_attribute("aria-valuetext", "(2.2, 1.8)")
    point.press("ArrowUp")
    point.press("Shift+ArrowLeft")
    expect(point).to_have_attribute("aria-valuetext", "(1.2, 1.9)")


def test_a_finger_chooses_other_points(phone: Page) -> None:
    phone.get_by_role("button", name="all at one place").tap()
    expect(phone.get_by_label("Point 3. Arrow keys")).to_have_attribute(
        "aria-valuetext", "(1.0, 1.5)"
    )
    expect(phone.locator(".tf-incontext-point")).to_have_count(3)
