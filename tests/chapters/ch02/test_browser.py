"""Scores and softmax in a browser: the arithmetic, to 1e-12, and how they are worked."""

import math
from collections.abc import Callable

import numpy as np
import pytest
from playwright.sync_api import Page, expect

from browsing import IN_THE_HAND, evaluate, numbers, numerals, value, values, violations
from tformer import reference
from tformer_book.chapters.ch02.softmax_temperature import SoftmaxTemperature


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


# ---- the triangle -----------------------------------------------------------------------

THREE = SoftmaxTemperature([2.0, 1.0, -1.0], labels=["cat", "dog", "bird"])
CORNERS = np.array([[42.0, 312.0], [358.0, 312.0], [200.0, 38.0]])


def test_a_point_of_the_triangle_stands_for_its_weights(blank: Page) -> None:
    rows = np.random.default_rng(3).dirichlet([0.4] * 3, size=200)
    points = evaluate(blank, SoftmaxTemperature, "place", [[p.tolist()] for p in rows])
    points = np.array([numbers(point) for point in points])
    np.testing.assert_allclose(points, rows @ CORNERS, rtol=1e-12)
    back = evaluate(blank, SoftmaxTemperature, "shares", [[point.tolist()] for point in points])
    np.testing.assert_allclose([numbers(p) for p in back], rows, rtol=0, atol=1e-12)


@pytest.mark.parametrize("temperature", [0.01, 1.0, 100.0])
def test_scores_for_a_point_give_its_weights_back(blank: Page, temperature: float) -> None:
    rows = np.random.default_rng(4).dirichlet([2.0] * 3, size=50) * 0.99 + 0.01 / 3
    calls = [[p.tolist(), temperature, 7.0] for p in rows]
    scores = np.array([numbers(s) for s in evaluate(blank, SoftmaxTemperature, "scoresFor", calls)])
    weights = reference.softmax(scores, beta=1 / temperature)
    # Scores are rounded to a hundredth of the temperature or finer.
    np.testing.assert_allclose(weights, rows, rtol=0, atol=0.25 * 0.015)
    np.testing.assert_allclose(scores.mean(axis=-1), 7, rtol=0, atol=0.01 * max(1, temperature))


def test_the_way_leads_from_even_shares_past_the_weights_to_the_winners(blank: Page) -> None:
    cases = {
        (2.0, 1.0, -1.0): [1, 0, 0],
        (1.0, 1.0, -1.0): [1 / 2, 1 / 2, 0],
        (3.0, 3.0, 3.0): [1 / 3, 1 / 3, 1 / 3],
    }
    ways = evaluate(
        blank, SoftmaxTemperature, "journey", [[list(scores), [True] * 3] for scores in cases]
    )
    for way, (scores, end) in zip(ways, cases.items(), strict=True):
        points = np.array([numbers(p) for p in way])
        np.testing.assert_allclose(points[0], 1 / 3, rtol=1e-12)
        np.testing.assert_allclose(points[-1], end, rtol=0, atol=1e-12)
        entropies = reference.entropy(points)
        assert (np.diff(entropies) < 1e-12).all()
        inner = points[1:-1]
        inner = inner[inner.min(axis=-1) > 1e-9]
        # Each point is a softmax of these scores: log ratios are in the ratio of the differences.
        logs = np.log(inner)
        crossed = (logs[:, 0] - logs[:, 1]) * (scores[0] - scores[2])
        np.testing.assert_allclose(
            crossed, (logs[:, 0] - logs[:, 2]) * (scores[0] - scores[1]), atol=1e-9
        )
    (short,) = evaluate(blank, SoftmaxTemperature, "journey", [[[2, 1, -1], [True] * 3, 0.5]])
    np.testing.assert_allclose(
        numbers(short[-1]), reference.softmax(np.array([2.0, 1, -1]), beta=0.5), rtol=1e-12
    )
    (hidden,) = evaluate(blank, SoftmaxTemperature, "journey", [[[2, 1, -1], [False, True, True]]])
    assert [numbers(hidden[i]).tolist() for i in (0, -1)] == [[0, 0.5, 0.5], [0, 1, 0]]


@pytest.mark.parametrize("hand", [{}, IN_THE_HAND])
def test_the_point_is_dragged_and_moved_by_keys(show: Callable, hand: dict) -> None:
    page = show(THREE, **hand)
    widget = page.locator(".tf-softmax")
    box = widget.locator(".tf-triangle").bounding_box()
    at = [
        np.array([box["x"], box["y"]]) + np.array(p) @ CORNERS * box["width"] / 400
        for p in (THREE.weights, [0.2, 0.2, 0.6])
    ]
    page.mouse.move(*at[0])
    page.mouse.down()
    page.mouse.move(*at[1])
    page.mouse.up()
    assert values(widget, "weight") == pytest.approx([0.2, 0.2, 0.6], abs=0.01)
    before = values(widget, "weight")
    widget.get_by_role("slider", name="The weights.").focus()
    page.keyboard.press("Shift+ArrowRight")
    assert values(widget, "weight")[1] > before[1] + 0.03
    scores = values(widget, "score")
    assert values(widget, "weight") == pytest.approx(SoftmaxTemperature(scores).weights, rel=1e-9)
    assert violations(page) == []
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")


@pytest.mark.parametrize("device", ["desktop", "phone"])
def test_scores_weights_and_triangle_are_on_one_screen(show: Callable, device: str) -> None:
    options = {"viewport": {"width": 1440, "height": 900}}
    page = show(THREE, **(options if device == "desktop" else IN_THE_HAND))
    widget = page.locator(".tf-softmax")
    assert widget.bounding_box()["height"] <= 700
    # Three scores and their weights, β and the constant; what else is known of them is folded.
    weights = [f"{p:.3f}" for p in THREE.weights]
    rows = [text for pair in zip(["2.0", "1.0", "1.0"], weights, strict=True) for text in pair]
    assert numerals(widget) == [*rows, "1.00", "0.0"]
    assert not widget.locator("data.tf-entropy").is_visible()
    widget.get_by_text("Entropy, slope").click()
    assert widget.locator("data.tf-entropy").is_visible()


def test_only_three_scores_have_a_triangle(page: Page, show: Callable) -> None:
    assert page.locator(".tf-triangle").count() == 0
    page = show(THREE)
    for box in page.get_by_role("checkbox").all():
        box.uncheck()
    assert page.locator(".tf-point").is_hidden()


# ---- by hand ----------------------------------------------------------------------------


def test_sliders_and_boxes_give_the_weights_of_the_library(page: Page) -> None:
    widget, python = page.locator(".tf-softmax"), SoftmaxTemperature()
    assert values(widget, "weight") == pytest.approx(python.weights, rel=1e-12)
    widget.get_by_label("Score of dog").fill("3.4")
    python.scores = [2.0, 3.4, 0.0, -1.0]
    widget.get_by_label("bird allowed").uncheck()
    python.mask = [True, True, False, True]
    cold = widget.get_by_label("Inverse temperature, on a logarithmic scale")
    cold.focus()
    page.keyboard.press("ArrowRight")
    python.temperature = value(widget, "temperature")[0]
    assert python.temperature < 1
    assert values(widget, "weight") == pytest.approx(python.weights, rel=1e-12)
    assert value(widget, "entropy") == pytest.approx([python.entropy], rel=1e-12)
    assert value(widget, "largest") == pytest.approx([max(python.weights)], rel=1e-12)
    assert value(widget, "jacobian-bound") == pytest.approx([python.jacobian_bound], rel=1e-12)
    assert value(widget, "beta") == pytest.approx([python.beta], rel=1e-12)


def test_adding_a_constant_changes_every_score_and_no_weight(page: Page) -> None:
    widget = page.locator(".tf-softmax")
    before = values(widget, "weight")
    widget.get_by_label("Constant added").fill("7.5")
    assert value(widget, "score") == [9.5]
    assert values(widget, "weight") == pytest.approx(before, rel=1e-12)


def test_a_row_with_nothing_allowed_is_all_zero(page: Page) -> None:
    widget = page.locator(".tf-softmax")
    for box in widget.get_by_role("checkbox").all():
        box.uncheck()
    assert values(widget, "weight") == [0, 0, 0, 0]
    assert "nothing is allowed" in widget.locator(".tf-list").text_content()
    widget.get_by_role("button", name="equal").click()
    assert values(widget, "weight") == [0.25] * 4
    widget.get_by_role("button", name="tie").click()
    first, second, *_ = values(widget, "weight")
    assert first == second > 0.45
    widget.get_by_role("button", name="reset").click()
    assert values(widget, "weight") == pytest.approx(SoftmaxTemperature().weights, rel=1e-12)


# ---- for everyone -----------------------------------------------------------------------


@pytest.mark.parametrize("device", ["page", "phone"])
def test_axe_finds_nothing(request: pytest.FixtureRequest, device: str) -> None:
    page = request.getfixturevalue(device)
    page.get_by_label("bird allowed").uncheck()
    assert violations(page) == []


# ---- in JupyterLab ------------------------------------------------------------------------


def test_sliders_reach_python_and_python_moves_the_bars(notebook: Callable) -> None:
    lab = notebook(
        "from tformer_book.chapters.ch02.softmax_temperature import SoftmaxTemperature",
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
