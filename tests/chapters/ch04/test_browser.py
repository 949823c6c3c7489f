"""The scale of scores in a browser: its arithmetic, and how it is worked."""

import math

import numpy as np
import pytest
from playwright.sync_api import Page

from browsing import call, evaluate, numbers, value, violations
from tformer.chapters.ch04.score_scale import SCALES, ScoreScale, normal


@pytest.fixture
def widget() -> ScoreScale:
    """What `page` and `phone` show."""
    return ScoreScale()


def test_the_random_coordinates_are_the_same_in_both_languages(blank: Page) -> None:
    (found,) = evaluate(blank, ScoreScale, "normal", [[4096]])
    np.testing.assert_allclose(numbers(list(found.values())), normal(4096), rtol=0, atol=1e-12)


def test_scores_and_facts_agree_with_the_widget_in_python(blank: Page) -> None:
    choices = [(4, "1", 1.0, 0), (64, "1/√d", 0.5, 3), (91, "1/d", 0.01, 31), (4096, "1", 100.0, 7)]
    found = call(blank, ScoreScale, "summary", [list(choice) for choice in choices])
    for ours, (d, scale, temperature, query) in zip(found, choices, strict=True):
        python = ScoreScale(d=d, scale=scale, temperature=temperature, query=query)
        size = abs(python.scores).max()
        np.testing.assert_allclose(ours["scores"], python.scores.ravel(), atol=1e-12 * size)
        assert ours["deviation"] == pytest.approx(python.deviation, rel=1e-12)
        assert ours["predicted"] == pytest.approx(python.predicted, rel=1e-12)
        np.testing.assert_allclose(ours["weights"], python.weights, rtol=1e-10, atol=1e-12)
        for name, pair in python.facts.items():
            assert ours["facts"][name] == pytest.approx(list(pair), rel=1e-9, abs=1e-12), name


# ---- by hand ----------------------------------------------------------------------------


def test_dials_of_the_scale_give_the_numbers_of_the_library(page: Page) -> None:
    widget = page.locator(".tf-scale")
    for scale in SCALES:
        for octave in (2, 7, 12):
            widget.get_by_role("radio", name=scale, exact=True).check()
            widget.get_by_label("Width d").fill(str(octave))
            python = ScoreScale(d=2**octave, scale=scale)
            assert value(widget, "deviation") == pytest.approx([python.deviation], rel=1e-12)
            assert value(widget, "predicted") == pytest.approx([python.predicted], rel=1e-12)
            for name, (one, mean) in python.facts.items():
                found = [value(widget, name)[0], value(widget, f"mean-{name}")[0]]
                assert found == pytest.approx([one, mean], rel=1e-9, abs=1e-12)
    widget.get_by_role("button", name="reset").click()
    widget.get_by_label("Temperature").focus()
    page.keyboard.press("ArrowRight")
    widget.get_by_role("button", name="another query").click()
    python = ScoreScale(temperature=value(widget, "temperature")[0], query=1)
    assert python.temperature > 1
    assert value(widget, "entropy") == pytest.approx([python.facts["entropy"][0]], rel=1e-12)
    assert "query 2 of 32" in widget.inner_text()


def test_the_histogram_counts_every_score(page: Page) -> None:
    widget = page.locator(".tf-scale")
    bars = widget.locator(".tf-chart").first.locator(".tf-bar").all()
    heights = np.array([float(bar.get_attribute("height")) for bar in bars])
    counts = np.histogram(ScoreScale().scores, bins=np.arange(-10, 10.5, 0.5))[0]
    np.testing.assert_allclose(heights / heights.sum(), counts / counts.sum(), atol=1e-12)
    assert "all scores are in the picture" in widget.inner_text()
    widget.get_by_role("radio", name="1", exact=True).check()
    scores = ScoreScale(scale="1").scores
    outside = math.floor(1000 * (scores < -10).mean() + 0.5) / 10
    assert f"{outside:.0f} % below −10" in widget.inner_text()


@pytest.mark.parametrize("device", ["page", "phone"])
def test_axe_finds_nothing(request: pytest.FixtureRequest, device: str) -> None:
    page = request.getfixturevalue(device)
    page.get_by_role("radio", name="1", exact=True).check()
    assert violations(page) == []
