"""Scores and softmax in a browser: the arithmetic, to 1e-12, and how they are worked."""

import math
from collections.abc import Callable

import numpy as np
import pytest
from playwright.sync_api import Locator, Page, expect

from browsing import evaluate, numbers, value, violations
from tformer import reference
from tformer.chapters.ch02.softmax_temperature import SoftmaxTemperature


@pytest.fixture
def widget() -> SoftmaxTemperature:
    """What `page` and `phone` show."""
    return SoftmaxTemperature(labels=["cat", "dog", "bird", "stone"])


def softmax_calls() -> list[tuple[list[float], float]]:
    rng = np.random.default_rng(1)
    rows = [(rng.normal(size=n) * s).tolist() for n in range(1, 7) for s in (1, 30, 1e4)] * 20
    inf = math.inf
    rows += [[], [-inf], [-inf, -inf], [-inf, 0.0, 1.0], [inf, 0.0], [math.nan, 1.0], [1e4, -1e4]]
    return [(row, float(10 ** rng.uniform(-2, 2))) for row in rows]


def test_softmax_agrees_with_the_library(blank: Page) -> None:
    calls = softmax_calls()
    found = evaluate(blank, SoftmaxTemperature, "softmax", [[x, beta] for x, beta in calls])
    weights = [numbers(p) for p in found]
    for ours, (x, beta) in zip(weights, calls, strict=True):
        theirs = reference.softmax(np.array(x, dtype=float), beta=beta)
        np.testing.assert_allclose(ours, theirs, rtol=1e-12, atol=1e-300)
    entropies = evaluate(blank, SoftmaxTemperature, "entropy", [[p.tolist()] for p in weights])
    theirs = [reference.entropy(p) for p in weights]
    np.testing.assert_allclose(numbers(entropies), theirs, rtol=1e-12, atol=1e-12)


def test_masked_and_shifted_weights_agree_with_the_widget_in_python(blank: Page) -> None:
    rng = np.random.default_rng(2)
    calls = [
        [rng.normal(size=4).tolist(), (rng.random(4) < 0.7).tolist(), float(c), float(10**t)]
        for c, t in zip(rng.uniform(-9, 9, 200), rng.uniform(-2, 2, 200), strict=True)
    ]
    found = evaluate(blank, SoftmaxTemperature, "weights", calls)
    widgets = [
        SoftmaxTemperature(scores, mask=mask, shift=shift, temperature=T)
        for scores, mask, shift, T in calls
    ]
    bounds = evaluate(
        blank, SoftmaxTemperature, "jacobianBound", [[w.weights, w.beta] for w in widgets]
    )
    for ours, bound, widget in zip(found, bounds, widgets, strict=True):
        np.testing.assert_allclose(numbers(ours), widget.weights, rtol=1e-12, atol=1e-300)
        np.testing.assert_allclose(float(bound), widget.jacobian_bound, rtol=1e-12)


# ---- by hand ----------------------------------------------------------------------------


def weights(widget: Locator) -> list[float]:
    cells = widget.locator("data.tf-weight").all()
    return [float(cell.get_attribute("value")) for cell in cells]


def test_sliders_and_boxes_give_the_weights_of_the_library(page: Page) -> None:
    widget, python = page.locator(".tf-softmax"), SoftmaxTemperature()
    assert weights(widget) == pytest.approx(python.weights, rel=1e-12)
    widget.get_by_label("Score of dog").fill("3.4")
    python.scores = [2.0, 3.4, 0.0, -1.0]
    widget.get_by_label("bird allowed").uncheck()
    python.mask = [True, True, False, True]
    heat = widget.get_by_label("Temperature, on a logarithmic scale")
    heat.focus()
    page.keyboard.press("ArrowLeft")
    python.temperature = value(widget, "temperature")[0]
    assert python.temperature < 1
    assert weights(widget) == pytest.approx(python.weights, rel=1e-12)
    assert value(widget, "entropy") == pytest.approx([python.entropy], rel=1e-12)
    assert value(widget, "largest") == pytest.approx([max(python.weights)], rel=1e-12)
    assert value(widget, "jacobian-bound") == pytest.approx([python.jacobian_bound], rel=1e-12)
    assert value(widget, "beta") == pytest.approx([python.beta], rel=1e-12)


def test_adding_a_constant_changes_every_score_and_no_weight(page: Page) -> None:
    widget = page.locator(".tf-softmax")
    before = weights(widget)
    widget.get_by_label("Constant added").fill("7.5")
    assert value(widget, "score") == [9.5]
    assert weights(widget) == pytest.approx(before, rel=1e-12)


def test_a_row_with_nothing_allowed_is_all_zero(page: Page) -> None:
    widget = page.locator(".tf-softmax")
    for box in widget.get_by_role("checkbox").all():
        box.uncheck()
    assert weights(widget) == [0, 0, 0, 0]
    assert "nothing is allowed" in widget.inner_text()
    widget.get_by_role("button", name="equal").click()
    assert weights(widget) == [0.25] * 4
    widget.get_by_role("button", name="tie").click()
    first, second, *_ = weights(widget)
    assert first == second > 0.45
    widget.get_by_role("button", name="reset").click()
    assert weights(widget) == pytest.approx(SoftmaxTemperature().weights, rel=1e-12)


# ---- for everyone -----------------------------------------------------------------------


@pytest.mark.parametrize("device", ["page", "phone"])
def test_axe_finds_nothing(request: pytest.FixtureRequest, device: str) -> None:
    page = request.getfixturevalue(device)
    page.get_by_label("bird allowed").uncheck()
    assert violations(page) == []


# ---- in JupyterLab ------------------------------------------------------------------------


def test_sliders_reach_python_and_python_moves_the_bars(notebook: Callable) -> None:
    lab = notebook(
        "from tformer.chapters.ch02.softmax_temperature import SoftmaxTemperature",
        "weights = SoftmaxTemperature([2.0, 1.0, 0.0])\nweights",
        "weights.temperature = 0.5\nweights.mask = [True, True, False]",
        "print('python', weights.scores, max(weights.weights))",
    )
    lab.run(0)
    widget = lab.run(1).locator(".tf-softmax")
    widget.get_by_label("Score of c").focus()
    lab.page.keyboard.press("End")
    expect(widget.locator("data.tf-score").nth(2)).to_have_text("5.0")
    python = SoftmaxTemperature([2.0, 1.0, 5.0])
    assert value(widget, "largest")[0] == pytest.approx(max(python.weights), rel=1e-12)
    lab.run(2)
    python.temperature, python.mask = 0.5, [True, True, False]
    expect(widget.locator("data.tf-largest")).to_have_text(f"{max(python.weights):.3f}")
    assert value(widget, "largest")[0] == pytest.approx(max(python.weights), rel=1e-12)
    assert value(widget, "entropy")[0] == pytest.approx(python.entropy, rel=1e-12)
    lab.says(3, f"python [2.0, 1.0, 5.0] {max(python.weights)}")
