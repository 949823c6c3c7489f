"""The experiment on longer texts: its tasks, what its layers can know, and that it repeats."""

import numpy as np
import pytest
import torch

from tformer import fast
from tformer_book.chapters.ch07 import extrapolation as ex
from tformer_book.chapters.ch07.scores import BASE, TRAINED, changed_base


def drawn(seed: int = 0) -> torch.Generator:
    return torch.Generator().manual_seed(seed)


def test_tasks_ask_for_what_they_say() -> None:
    tokens, right = ex.five_back(drawn(), 3, 20)
    assert (right[:, : ex.BACK] == -1).all()
    assert torch.equal(right[:, ex.BACK :], tokens[:, : -ex.BACK])
    tokens, right = ex.latest_capital(drawn(), 40, 50)
    capitals = tokens >= ex.N_LETTERS
    assert capitals[:, 0].all()
    assert abs(capitals[:, 1:].double().mean() - ex.CAPITALS) < 4 * (5 / 36 / 1960) ** 0.5
    for text, answers in zip(tokens.tolist(), right.tolist(), strict=True):
        latest = None
        for letter, answer in zip(text, answers, strict=True):
            latest = letter - ex.N_LETTERS if letter >= ex.N_LETTERS else latest
            assert answer == latest


@pytest.mark.parametrize("scheme", ex.POSITION_ENCODINGS)
def test_what_knows_distances_only_reads_the_window_and_nothing_else(scheme: str) -> None:
    p = ex._start(scheme, drawn())
    tokens, _ = ex.latest_capital(drawn(1), 2, 80)
    whole = ex._logits(scheme, p, tokens, window=TRAINED)[..., -1, :]
    late = ex._logits(scheme, p, tokens[:, -TRAINED:], window=TRAINED)[..., -1, :]
    by_place = scheme in ("learned", "sinusoidal")
    assert torch.allclose(whole, late, atol=1e-5) != by_place
    assert not torch.allclose(ex._logits(scheme, p, tokens)[..., -1, :], whole, atol=1e-3)


@pytest.mark.parametrize("scheme", ex.POSITION_ENCODINGS)
def test_no_layer_looks_ahead(scheme: str) -> None:
    p = ex._start(scheme, drawn())
    tokens, _ = ex.five_back(drawn(1), 2, 40)
    changed = tokens.clone()
    changed[:, 30:] = (changed[:, 30:] + 1) % ex.N_LETTERS
    before, after = ex._logits(scheme, p, tokens), ex._logits(scheme, p, changed)
    assert torch.allclose(before[:, :, :30], after[:, :, :30], atol=1e-10)
    assert not torch.allclose(before[:, :, 30:], after[:, :, 30:])


def test_all_schemes_start_alike_and_training_repeats(monkeypatch: pytest.MonkeyPatch) -> None:
    plain = ex._start("none", drawn())
    for scheme in ex.POSITION_ENCODINGS:
        started = ex._start(scheme, drawn())
        assert all(torch.equal(started[name], plain[name]) for name in plain)
    monkeypatch.setattr(ex, "STEPS", 4)
    one, two = (ex.train("learned", "five back").parameters for _ in range(2))
    assert all(torch.equal(one[name], two[name]) for name in one)
    start = ex._start("learned", drawn())["places"]
    assert torch.equal(one["places"][:, TRAINED:], start[:, TRAINED:])
    assert not torch.equal(one["places"][:, :TRAINED], start[:, :TRAINED])


def test_training_teaches_what_a_scheme_can_say(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ex, "STEPS", 60)
    able, unable = (ex.train(scheme, "five back").right(TRAINED) for scheme in ("RoPE", "none"))
    assert able.min() > 0.9
    assert unable.max() < 0.3


def test_changes_are_made_to_the_waves_alone() -> None:
    assert changed_base(1.0, 16) == BASE
    slow = fast.sinusoidal(torch.tensor([80]), 16, base=changed_base(8.0, 16))[0, -2:]
    assert torch.allclose(slow, fast.sinusoidal(torch.tensor([10]), 16)[0, -2:], atol=1e-6)
    p = ex._start("RoPE", drawn())
    tokens, _ = ex.five_back(drawn(1), 1, TRAINED)
    plain = ex._logits("RoPE", p, tokens)
    as_it_is, *changes = ex.CHANGES.values()
    assert not as_it_is(64)
    for change in changes:
        assert torch.allclose(ex._logits("RoPE", p, tokens, **change(TRAINED)), plain, atol=1e-9)
        longer, _ = ex.five_back(drawn(1), 1, 64)
        before, after = (ex._logits("RoPE", p, longer, **x) for x in ({}, change(64)))
        assert not np.allclose(before, after, atol=1e-3)


def test_hills_are_the_mean_scores_of_letters_at_a_distance() -> None:
    p = ex._start("RoPE", drawn())
    reach, seed, head = 40, 2, 1
    found = ex.hills(ex.Trained("RoPE", "five back", p), reach)
    assert found.shape == (ex.SEEDS, ex.N_HEADS, reach)
    x = p["letters"][seed, : ex.N_LETTERS]
    q, k = (x @ p[f"w_{name}"][seed, head] + p[f"b_{name}"][seed, head] for name in "qk")
    for distance in (0, 5, 39):
        at = (torch.full((ex.N_LETTERS,), place) for place in (distance, 0))
        one, two = (
            fast.rope(y, fast.sinusoidal(t, ex.D_K).to(y)) for y, t in zip((q, k), at, strict=True)
        )
        mean = (one @ two.T / ex.D_K**0.5).mean().item()
        assert found[seed, head, distance] == pytest.approx(mean, abs=1e-6)
