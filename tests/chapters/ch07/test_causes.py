"""The experiment that tells apart what is new in a longer text."""

import numpy as np
import pytest
import torch

from tformer import fast
from tformer_book.chapters.ch07 import causes
from tformer_book.chapters.ch07 import extrapolation as ex
from tformer_book.chapters.ch07.scores import NEW, TRAINED

FAR = ex.LENGTHS[-1]
LATE = slice(FAR // 2, FAR)
BY_DISTANCE = [scheme for scheme in ex.POSITION_ENCODINGS if scheme not in causes.BY_PLACE]
EACH = pytest.mark.parametrize("scheme", BY_DISTANCE)


def untrained(scheme: str, task: str = "five back") -> ex.Trained:
    return ex.Trained(scheme, task, ex._start(scheme, torch.Generator().manual_seed(0)))


def distances() -> torch.Tensor:
    return torch.arange(FAR)[:, None] - torch.arange(FAR)


@EACH
@pytest.mark.parametrize("window", [TRAINED, FAR])
def test_told_the_truth_a_layer_says_what_it_says(scheme: str, window: int) -> None:
    layer = untrained(scheme)
    tokens = layer.texts(FAR)[0][:1]
    want = ex._logits(scheme, layer.parameters, tokens, window=window)[..., LATE, :]
    got = causes.logits(layer, tokens, LATE, causes.counts(window), distances())
    assert got.shape == want.shape
    assert torch.allclose(got, want, atol=1e-4)
    share = causes.right(layer, causes.counts(window))
    assert torch.allclose(share, layer.right(FAR, window=window), atol=2e-3)


def test_counts_hide_what_is_ahead_or_outside_and_repeat_what_is_far() -> None:
    counts = causes.counts(TRAINED, times=8.0)
    assert (counts.sum(dim=-1)[TRAINED:] == TRAINED / 2 + 8 * TRAINED / 2).all()
    for back, want in {-1: 0, 0: 1, 15: 1, 16: 8, 31: 8, 32: 0}.items():
        assert counts[100, 100 - back] == want
    assert torch.equal(causes.counts(FAR), torch.ones(FAR, FAR).tril().double())


def test_a_key_that_counts_thrice_is_three_keys() -> None:
    layer = untrained("none")
    tokens = layer.texts(FAR)[0][:1]
    counts = causes.counts(FAR, times=3.0)
    at = slice(200, 201)
    far = torch.arange(FAR) <= 200 - causes.NEAR
    repeated = torch.cat([tokens[:, far], tokens[:, far], tokens[:, :201]], dim=1)
    many = ex._logits("none", layer.parameters, repeated, window=repeated.shape[1])[..., -1:, :]
    got = causes.logits(layer, tokens, at, counts, distances())
    assert torch.allclose(got, many, atol=1e-9)


def test_only_distances_that_are_not_near_are_told_otherwise() -> None:
    true = distances()
    for low, high in ((TRAINED, FAR), (causes.NEAR, TRAINED)):
        told = causes.told(low, high)
        near = true < causes.NEAR
        assert torch.equal(told[near], true[near])
        assert (told[~near].min(), told[~near].max()) == (low, high - 1)


@EACH
def test_a_score_belongs_to_the_distance_that_is_told(scheme: str) -> None:
    layer = untrained(scheme)
    draw = torch.Generator().manual_seed(1)
    q, k = torch.randn(2, 6, 1, ex.N_HEADS, 1, ex.D_K, generator=draw, dtype=torch.float64)
    for distance in (0, 7, 15, 16, 40, 200):
        one, bias = q, ex._bias(scheme, layer.parameters, FAR)
        if scheme == "RoPE":
            turn = fast.sinusoidal(torch.tensor([distance]), ex.D_K).to(q)
            one = fast.rope(q, turn)
        want = one @ k.mT / ex.D_K**0.5
        if bias is not None:
            want = want + bias[..., -1:, FAR - 1 - distance, None]
        got = causes.scores(layer, q, k, torch.tensor([[distance]]))
        assert torch.allclose(got, want, atol=1e-5)


def test_scores_spread_from_the_smallest_to_the_largest() -> None:
    layer = untrained("none")
    tokens, _ = layer.texts(TRAINED)
    x, seed, head = layer.parameters["letters"][2, tokens], 2, 1
    q, k = (
        x @ layer.parameters[f"w_{name}"][seed, head] + layer.parameters[f"b_{name}"][seed, head]
        for name in "qk"
    )
    scores = (q[:, -1:] @ k.mT)[:, 0] / ex.D_K**0.5
    want = (scores.amax(dim=-1) - scores.amin(dim=-1)).mean().item()
    found = causes.spread(layer)
    assert found.shape == (ex.SEEDS, ex.N_HEADS)
    assert found[seed, head] == pytest.approx(want, abs=1e-9)


def test_what_is_measured_is_one_trial_for_each_that_is_new(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(ex, "STEPS", 2)
    monkeypatch.setattr(causes, "POSITION_ENCODINGS", ("learned", "relative", "RoPE"))
    found = causes.measured("five back")
    asked = ({"length": TRAINED}, {"length": FAR, "window": TRAINED}, {"length": FAR})
    for scheme, shares in found.items():
        layer = ex.train(scheme, "five back")
        want = np.stack([layer.right(**how).numpy() for how in asked])
        assert shares.shape == (len(NEW), ex.SEEDS)
        np.testing.assert_array_equal(shares[[0, 1, 4]], want)
    assert np.isnan(found["learned"][2:4]).all()
    rope = ex.train("RoPE", "five back")
    new = causes.right(rope, causes.counts(TRAINED), causes.told(TRAINED, FAR))
    old = causes.right(rope, causes.counts(FAR), causes.told(TRAINED // 2, TRAINED))
    np.testing.assert_array_equal(found["RoPE"][2:4], torch.stack([new, old]))
    # a clipped table has one number for all that is far: nothing is new to it but how many
    np.testing.assert_allclose(found["relative"][2:4], found["relative"][[1, 4]], atol=2e-3)
    changes = ex.changed(rope)
    np.testing.assert_array_equal(changes["as it is"][-1], found["RoPE"][4])
    np.testing.assert_array_equal(changes["window"][-1], found["RoPE"][1])


@pytest.mark.parametrize("scheme", ["RoPE", "relative"])
def test_sharpened_scores_are_a_multiple(scheme: str) -> None:
    layer = untrained(scheme)
    assert np.allclose(causes.spread(causes.sharpened(layer, 3.0)), 3 * causes.spread(layer))


def test_nobody_guesses_better_from_a_bag_than_the_commonest() -> None:
    letters, right = ex.latest_capital(torch.Generator().manual_seed(1), 2000, TRAINED)
    told = []
    for text, wanted in zip(letters.tolist(), right.tolist(), strict=True):
        for t in range(TRAINED // 2, TRAINED):
            capitals = [x - ex.N_LETTERS for x in text[: t + 1] if x >= ex.N_LETTERS]
            often = max(capitals.count(x) for x in capitals)
            best = [x for x in sorted(set(capitals)) if capitals.count(x) == often]
            guess = text[t] - ex.N_LETTERS if text[t] >= ex.N_LETTERS else best[0]
            told.append(guess == wanted[t])
    assert causes.best_from_a_bag(TRAINED) == pytest.approx(np.mean(told), abs=0.02)
    assert causes.best_from_a_bag(1) == 1
