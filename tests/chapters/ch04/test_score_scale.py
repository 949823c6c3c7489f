"""The widget of scales in Python: its numbers, what it refuses and what it says."""

import numpy as np
import pytest

from tformer import reference
from tformer.chapters.ch04.score_scale import ScoreScale, dot_products, normal


def test_the_random_coordinates_are_standard_normal_and_independent() -> None:
    vectors = normal(96 * 4096).reshape(96, 4096)
    n = vectors.size
    assert abs(vectors.mean()) < 4 / n**0.5
    assert abs(vectors.var() - 1) < 4 * (2 / n) ** 0.5
    assert abs((vectors**4).mean() - 3) < 4 * (96 / n) ** 0.5
    correlations = np.corrcoef(vectors)[np.triu_indices(96, 1)]
    assert abs(correlations).max() < 5 / 4096**0.5
    assert abs(correlations.std() * 4096**0.5 - 1) < 0.05


@pytest.mark.parametrize("scale", ["1", "1/√d", "1/d"])
@pytest.mark.parametrize("d", [4, 64, 4096])
def test_scores_spread_as_predicted_and_facts_agree_with_the_library(d: int, scale: str) -> None:
    widget = ScoreScale(d=d, scale=scale, temperature=2.0, query=5)
    assert widget.deviation == pytest.approx(widget.predicted, rel=0.2)
    factor = {"1": 1.0, "1/√d": d**-0.5, "1/d": 1 / d}[scale]
    assert widget.predicted == pytest.approx(factor * d**0.5 / 2)
    p = reference.softmax(factor * dot_products(d), beta=0.5)
    np.testing.assert_allclose(widget.weights, np.sort(p[5])[::-1], rtol=1e-12)
    facts = widget.facts
    assert facts["entropy"] == pytest.approx(
        (reference.entropy(p[5]), reference.entropy(p).mean()), rel=1e-9
    )
    assert facts["largest"][0] == pytest.approx(p[5].max())
    assert 1 <= facts["effective"][0] <= 64
    norm = np.linalg.norm(reference.softmax_jacobian(p[5], beta=0.5), 2)
    assert facts["slope"][0] / 2 <= norm * (1 + 1e-9)
    assert norm <= facts["slope"][0] * (1 + 1e-9)


def test_a_narrower_vector_is_the_front_of_a_wider_one() -> None:
    vectors = normal(96 * 4096).reshape(96, 4096)
    np.testing.assert_allclose(dot_products(4)[3, 7], vectors[3, :4] @ vectors[39, :4])


def test_score_scale_says_what_it_shows() -> None:
    assert repr(ScoreScale(d=512, scale="1")) == (
        "ScoreScale: d = 512, scale 1, temperature 1: standard deviation of the scores 22.76; on "
        "average over 32 queries and 64 keys, largest weight 0.90, entropy 0.22 of at most 4.16 "
        "nats, effective number of keys 1.2"
    )


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ({"d": 3}, "d must be 4 to 4096; got 3"),
        ({"query": 32}, "query must be 0 to 31; got 32"),
        ({"scale": "2"}, "scale must be one of 1, 1/√d, 1/d; got 2"),
        ({"temperature": 0}, "temperature must be a positive number; got 0"),
    ],
)
def test_score_scale_refuses_in_words(arguments: dict, words: str) -> None:
    with pytest.raises(ValueError, match=words):
        ScoreScale(**arguments)
