"""What the page says of the real model, measured again where it is installed.

Float32 sums in another order on another machine move a logit by some 1e-4; what is compared is
rounded to no more than what survives that.
"""

import re

import numpy as np
import pytest

from tformer import pretrained
from tformer.models.known import SMOL
from tformer.models.pretrained import PretrainedModel, from_checkpoint
from tformer_book.chapters.ch17 import real, real_figures, real_looks
from tformer_book.figures.style import svg

FOUND = real.stored()
INDUCED = FOUND["induction"]


@pytest.fixture(scope="module")
def model(checkpoint: pretrained.Checkpoint) -> PretrainedModel:
    return from_checkpoint(checkpoint)


def test_the_heads_are_found_again_and_cost_as_much(model: PretrainedModel) -> None:
    again = real.induced(model, draws=1, seeds=real.FRESH[:1])
    for name, rows in INDUCED["found"].items():
        layers, heads, scores = np.array(rows).T
        found = np.array(again["found"][name])
        np.testing.assert_allclose(found[:, 2], scores, atol=2e-3)
        assert found[: real.CHOSEN, :2].tolist() == np.array([layers, heads]).T[:4].tolist()
    runs = [again["whole"], again["induction"], *again["previous"], *again["others"]]
    kept = [INDUCED["whole"], INDUCED["induction"], *INDUCED["previous"], INDUCED["others"][0]]
    runs, kept = runs + again["means"], kept + INDUCED["means"]
    for run, stored in zip(runs, kept, strict=True):
        assert [list(head) for head in run["heads"]] == stored["heads"]
        for part in ("repeat", "first"):
            np.testing.assert_allclose(run[part], stored[part][:1], rtol=2e-3)
        assert run["plain"] == pytest.approx(stored["plain"], rel=2e-3)


def test_sinks_and_lens_are_as_stored(model: PretrainedModel) -> None:
    for name, rows in real.sinks(model).items():
        np.testing.assert_allclose(rows, FOUND["sinks"][name], atol=3e-3, err_msg=name)
    for name, losses in real.lens(model).items():
        np.testing.assert_allclose(losses, FOUND["lens"][name], rtol=2e-3, err_msg=name)


@pytest.mark.parametrize("ending", real_looks.ENDINGS)
def test_looks_are_as_stored(model: PretrainedModel, ending: str) -> None:
    for pair in (real_looks.ANECDOTE, real_looks.PAIRS[6]):
        found = real_looks.looked(model, pair, ending)
        for name, row in FOUND["looks"][ending][pair.name].items():
            np.testing.assert_allclose(found[name][:2], row[:2], atol=5e-3, err_msg=name)
            np.testing.assert_allclose(found[name][2:], row[2:], atol=1e-3, err_msg=name)


@pytest.mark.parametrize("ending", real_looks.ENDINGS)
def test_the_last_word_looks_as_much_as_stored(model: PretrainedModel, ending: str) -> None:
    found = real_looks.weights(model, ending)
    np.testing.assert_allclose(found, FOUND["weights"][ending], rtol=0.02)


def test_means_stand_where_the_heads_are_and_nowhere_else() -> None:
    y = np.random.default_rng(0).standard_normal((3, 4, 2))
    (change,) = real.averaged([(5, 0), (5, 2)], {"blocks.5.heads": y}).values()
    got = change(y)
    assert (got[1] == y[1]).all()
    for head in (0, 2):
        np.testing.assert_allclose(got[head], np.tile(y[head].mean(axis=0), (4, 1)))


def test_what_a_cut_changes_pair_by_pair() -> None:
    rows = FOUND["looks"]["question"]
    found = real_looks.changed(rows, "nouns")
    pair = real_looks.PAIRS[6]
    a, b = rows[pair.name]["nouns"][:2]
    c, d = rows[pair.name]["whole"][:2]
    assert found[6] == pytest.approx((a - b) - (c - d))
    told = real_looks.summary(rows)["nouns"]
    assert told["lost"][0] == pytest.approx(-found.mean())
    assert told["changed"] == pytest.approx(abs(found).mean())
    turned = [1 for one in real_looks.PAIRS if _shift(rows, one, "nouns") * _shift(rows, one) < 0]
    assert told["turned"] == len(turned)


def _shift(
    rows: dict[str, dict[str, list[float]]], pair: real_looks.Pair, cut: str = "whole"
) -> float:
    first, second = rows[pair.name][cut][:2]
    return first - second


def test_patching_is_as_stored_and_at_it_it_does_nothing(model: PretrainedModel) -> None:
    layers = range(19, 23, 3)
    for name, shares in real_looks.patched(model, layers=layers).items():
        np.testing.assert_allclose(shares, [FOUND["patched"][name][i] for i in layers], atol=4e-3)
    assert set(FOUND["patched"]["it"]) == {0.0}


def test_words_of_a_text_are_ordinary_and_in_no_other_text(model: PretrainedModel) -> None:
    texts = [real.repeated(model.tokenizer, seed) for seed in (0, *real.FRESH)]
    assert len(set(np.concatenate(texts).tolist())) == len(texts) * real.PERIOD
    words = [model.tokenizer.decode([int(token)]) for token in texts[0]]
    assert all(re.fullmatch(r" [a-z]{4,}", word) for word in words)
    assert words[: real.PERIOD] == words[real.PERIOD :]


def test_sentences_that_cannot_be_compared_are_refused(model: PretrainedModel) -> None:
    pair = real_looks.ANECDOTE._replace(means_second="unpronounceable")
    with pytest.raises(ValueError, match="as many tokens twice"):
        real_looks.tokens_of(model, pair)


def test_a_cut_head_puts_out_zeros_and_no_other_does() -> None:
    changes = real.cut([(2, 1), (0, 0), (2, 3)])
    assert sorted(changes) == ["blocks.0.heads", "blocks.2.heads"]
    y = np.ones((2, 4, 3, 5))
    assert (changes["blocks.2.heads"](y).any(axis=(0, 2, 3)) == [1, 0, 1, 0]).all()
    assert y.all()


def test_other_heads_are_of_the_same_layers_and_not_those() -> None:
    chosen = [tuple(head) for head in INDUCED["induction"]["heads"]]
    assert [list(head) for head in chosen] == [row[:2] for row in INDUCED["found"]["induction"][:4]]
    assert len(INDUCED["others"]) == real.DRAWS >= 5
    for draw in INDUCED["others"]:
        heads = [tuple(head) for head in draw["heads"]]
        assert sorted(layer for layer, _ in heads) == sorted(layer for layer, _ in chosen)
        assert len(set(heads) | set(chosen)) == 2 * real.CHOSEN


def test_four_heads_carry_the_repeat_and_nothing_else_that_was_asked() -> None:
    whole, cut, others = INDUCED["whole"], INDUCED["induction"], INDUCED["others"]
    assert max(whole["repeat"]) < 6 < 10 < min(cut["repeat"])
    assert max(max(draw["repeat"]) for draw in others) < min(cut["repeat"]) - 3
    assert np.mean(INDUCED["previous"][0]["repeat"]) > 10
    assert max(np.mean(one["repeat"]) for one in INDUCED["previous"][1:]) < 5.2
    assert abs(cut["plain"] - whole["plain"]) < 0.03
    assert abs(np.mean(cut["first"]) - np.mean(whole["first"])) < 0.2


def test_the_first_place_is_looked_at_whatever_stands_there() -> None:
    first, front, no_longer = (
        np.array(FOUND["sinks"][name]) for name in ("first", "in front", "no longer first")
    )
    assert first.shape == front.shape == no_longer.shape == (3, SMOL.n_layers)
    assert first[:, 12:].min() > 0.35
    assert front[:, 12:].min() > 0.35
    assert no_longer[:, 12:].max() < 0.08


@pytest.mark.parametrize("ending", real_looks.ENDINGS)
def test_looks_at_the_nouns_name_and_looks_at_the_adjective_choose(ending: str) -> None:
    sums = real_looks.summary(FOUND["looks"][ending])
    whole = sums["whole"]["p"][0]
    assert sums["nouns"]["p"][0] < whole / 7
    assert sums["adjective"]["p"][0] > 0.85 * whole
    for name in ("nouns", "nouns, scaled", "others"):
        mean, half = sums[name]["lost"]
        assert abs(mean) < half
    mean, half = sums["adjective"]["lost"]
    assert mean - half > 0.18
    assert sums["whole"]["lost"] == [0, 0]


def test_pairs_are_as_many_as_the_page_says() -> None:
    assert len(set(real_looks.PAIRS)) == len(real_looks.PAIRS) == 32
    assert real_looks.ANECDOTE not in real_looks.PAIRS
    for rows in FOUND["looks"].values():
        assert list(rows) == [pair.name for pair in (real_looks.ANECDOTE, *real_looks.PAIRS)]


def test_the_lens_is_muddy_in_the_real_model_and_not_in_the_storyteller() -> None:
    losses, told = FOUND["lens"]["real"], FOUND["lens"]["storyteller"]
    assert len(losses) == SMOL.n_layers + 1
    assert min(losses[:26]) > np.log(49152) > max(losses[26:])
    assert told == sorted(told, reverse=True)


@pytest.mark.parametrize("draw", ["induction", "looks", "patched"])
def test_figures_are_drawn(draw: str) -> None:
    drawn = getattr(real_figures, draw)()
    assert svg(*(drawn if isinstance(drawn, tuple) else (drawn,))).startswith("<")
