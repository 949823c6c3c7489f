"""Every intermediate by name: equal to the model as a whole, and changed only from a change on."""

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
import torch

from every import every
from tformer import fast, reference
from tformer.configuration import Configuration
from tformer.models.hooks import (
    activation_names,
    mean_ablation,
    patch,
    resample_ablation,
    run_with_hooks,
    zero_ablation,
)
from tformer.models.sizes import Sizes, initialise
from tformer.parameters import BlockParameters, ModelParameters, leaves, tree_map
from tformer.shapes import ShapeError

GIVEN: Any = {"allow_unused": True, "materialize_grads": True, "retain_graph": True}
SIZES = Sizes(13, 8, 2, 4, 12, n_positions=15, d_k=4)
FORMS = [
    (SIZES, Configuration(norm=norm, order=order, activation="gelu", positions=positions))
    for norm in ("layer", "rms")
    for order in ("pre", "post")
    for positions in ("learned", "sinusoidal", "none", "relative", "alibi", "rope")
] + [
    (replace(SIZES, n_groups=2, gated=True, biased=False), Configuration(activation="silu")),
    (replace(SIZES, n_groups=1, tied=False), Configuration(positions="rope", pairing="adjacent")),
    (replace(SIZES, n_layers=0), Configuration(scale_embedding=True)),
]


def model(sizes: Sizes = SIZES, c: Configuration | None = None) -> ModelParameters:
    rng = np.random.default_rng(3)
    found = initialise(sizes, c or Configuration(), rng, std=0.7)
    return tree_map(lambda x: x + 0.1 * rng.standard_normal(x.shape), found)


def words(*shape: int) -> np.ndarray:
    return np.random.default_rng(5).integers(13, size=shape)


@every("form", FORMS)
@every("shape", [(7,), (2, 3, 5), (1,), (2, 0)])
def test_what_is_found_is_what_the_whole_model_gives(
    form: tuple[Sizes, Configuration], shape: tuple[int, ...]
) -> None:
    sizes, c = form
    p, tokens = model(sizes, c), words(*shape)
    found = run_with_hooks(tokens, p, c)
    assert tuple(found) == activation_names(p)
    np.testing.assert_allclose(found["logits"], reference.decoder(tokens, p, c), atol=1e-12)
    both = run_with_hooks(tokens, p, c, causal=False)
    np.testing.assert_allclose(both["normed"], reference.encoder(tokens, p, c), atol=1e-12)


@every("form", FORMS)
def test_both_libraries_find_the_same(form: tuple[Sizes, Configuration]) -> None:
    sizes, c = form
    p, tokens = model(sizes, c), words(2, 6)
    found = run_with_hooks(tokens, p, c)
    theirs = run_with_hooks(torch.from_numpy(tokens), in_torch(p), c, library=fast)
    assert tuple(theirs) == tuple(found)
    for name, x in found.items():
        np.testing.assert_allclose(theirs[name].numpy(), x, atol=1e-10, err_msg=name)


def in_torch(p: Any) -> Any:
    return tree_map(torch.from_numpy, p)


def test_blocks_without_a_part_and_groups_of_heads() -> None:
    c = Configuration()
    p = model(replace(SIZES, n_groups=2), c)
    bare = tuple(replace(one, feed_forward=None, feed_forward_norm=None) for one in p.blocks)
    p = replace(p, blocks=bare)
    found = run_with_hooks(words(5), p, c)
    assert "blocks.0.feed_forward" not in found
    assert found["blocks.1.v"].shape == (2, 5, 4)
    assert found["blocks.1.weights"].shape == (4, 5, 5)
    np.testing.assert_allclose(found["logits"], reference.decoder(words(5), p, c), atol=1e-12)


@pytest.mark.parametrize("name", activation_names(model()))
def test_a_change_goes_on_from_where_it_is_and_reaches_nothing_before(name: str) -> None:
    c, tokens = Configuration(), words(6)
    p = model()
    whole = run_with_hooks(tokens, p, c)
    found = run_with_hooks(tokens, p, c, {name: lambda x: x * 1.5 + 0.25})
    order = activation_names(p)
    for other in order[: order.index(name)]:
        assert (found[other] == whole[other]).all(), other
    np.testing.assert_allclose(found[name], whole[name] * 1.5 + 0.25)
    assert not np.allclose(found["logits"], whole["logits"])


def test_a_head_that_is_silent_is_a_head_without_outputs() -> None:
    c, tokens, p = Configuration(positions="rope"), words(2, 6), model()

    def silent(y: np.ndarray) -> np.ndarray:
        y = y.copy()
        y[..., 1, :, :] = 0
        return y

    def without(one: BlockParameters, number: int) -> BlockParameters:
        kept = np.array([i != 1 or number != 1 for i in range(4)], dtype=float)
        return replace(one, heads=replace(one.heads, w_o=one.heads.w_o * kept[:, None, None]))

    cut = replace(p, blocks=tuple(without(one, i) for i, one in enumerate(p.blocks)))
    got = run_with_hooks(tokens, p, c, {"blocks.1.heads": silent})["logits"]
    np.testing.assert_allclose(got, reference.decoder(tokens, cut, c), atol=1e-12)


def test_swapped_in_whole_a_run_becomes_the_other() -> None:
    c, p = Configuration(), model()
    one, other = words(6), words(6)[::-1]
    first, second = run_with_hooks(one, p, c), run_with_hooks(other, p, c)
    for name in ("embedded", "blocks.0.after", "blocks.1.between"):
        got = run_with_hooks(one, p, c, patch(second, name))["logits"]
        np.testing.assert_allclose(got, second["logits"], atol=1e-12)
    at = np.s_[..., 2, :]
    got = run_with_hooks(one, p, c, patch(second, "blocks.0.after", at))
    assert (got["blocks.0.after"][2] == second["blocks.0.after"][2]).all()
    assert (got["blocks.0.after"][3] == first["blocks.0.after"][3]).all()
    assert (run_with_hooks(one, p, c)["logits"] == first["logits"]).all(), "a run was changed"


def test_what_is_put_in_for_a_head_is_zeros_a_mean_or_another_run() -> None:
    c, p = Configuration(positions="rope"), model()
    name, at = "blocks.1.heads", np.s_[..., 2, -1, :]
    others = [run_with_hooks(words(length), p, c) for length in (3, 5, 8)]  # texts of any length
    told = np.array([other[name][2, -1] for other in others])
    for shape in ((6,), (2, 6)):
        tokens = words(*shape)
        whole = run_with_hooks(tokens, p, c)
        drawn = [
            resample_ablation(others, name, at, np.random.default_rng(seed)) for seed in range(30)
        ]
        cuts = [zero_ablation(name, at), mean_ablation(others, name, at), *drawn]
        runs = [run_with_hooks(tokens, p, c, cut) for cut in cuts]
        put = [run[name][at] for run in runs]
        np.testing.assert_array_equal(put[0], 0 * put[0])
        np.testing.assert_allclose(put[1], 0 * put[1] + told.mean(axis=0), atol=1e-15)
        picked = [np.flatnonzero((x.reshape(-1, 4)[0] == told).all(axis=1)) for x in put[2:]]
        assert {int(x[0]) for x in picked} == {0, 1, 2}, "not every run is drawn"
        for run in runs:
            kept = np.ones(whole[name].shape, dtype=bool)
            kept[at] = False
            assert (run[name][kept] == whole[name][kept]).all(), "more than that head was changed"
            assert not np.allclose(run["logits"], whole["logits"])
    same = run_with_hooks(words(3), p, c, mean_ablation(others[:1], name))["logits"]
    np.testing.assert_array_equal(same, others[0]["logits"])


def test_both_libraries_put_the_same_in() -> None:
    c, p = Configuration(), model()
    name, at = "blocks.0.heads", np.s_[..., [1, 3], -1, :]
    texts = [words(length) for length in (4, 6)]
    runs = [run_with_hooks(x, p, c) for x in texts]
    theirs = [run_with_hooks(torch.from_numpy(x), in_torch(p), c, library=fast) for x in texts]
    for make in (
        lambda others: zero_ablation(name, at),
        lambda others: mean_ablation(others, name, at),
        lambda others: resample_ablation(others, name, at, np.random.default_rng(1)),
    ):
        want = run_with_hooks(words(2, 5), p, c, make(runs))
        got = run_with_hooks(
            torch.from_numpy(words(2, 5)), in_torch(p), c, make(theirs), library=fast
        )
        for part, x in want.items():
            np.testing.assert_allclose(got[part].numpy(), x, atol=1e-10, err_msg=part)


def test_a_mean_of_tensors_keeps_gradients() -> None:
    c, p = Configuration(), in_torch(model())
    for x in leaves(p):
        x.requires_grad_()
    others = [run_with_hooks(torch.from_numpy(words(n)), p, c, library=fast) for n in (3, 4)]
    cut = mean_ablation(others, "blocks.1.after", np.s_[..., -1, :])
    got = run_with_hooks(torch.from_numpy(words(5)), p, c, cut, library=fast)["logits"][-1]
    ends = torch.stack([other["blocks.1.after"][-1] for other in others]).mean(dim=0)
    want = fast.logit_lens(ends, p, c)
    grads = (torch.autograd.grad(z.square().sum(), leaves(p), **GIVEN) for z in (got, want))
    for x, y in zip(*grads, strict=True):
        torch.testing.assert_close(x, y, atol=1e-10, rtol=1e-8)


def test_a_swap_of_tensors_keeps_gradients() -> None:
    c, p = Configuration(), in_torch(model())
    for x in leaves(p):
        x.requires_grad_()
    one, other = (torch.from_numpy(x.copy()) for x in (words(6), words(6)[::-1]))
    second = run_with_hooks(other, p, c, library=fast)
    cut = patch(second, "blocks.0.q", np.s_[..., 2, :])
    run_with_hooks(one, p, c, cut, library=fast)["logits"].sum().backward()
    wanted = torch.autograd.grad(fast.decoder(one, p, c).sum(), leaves(p))
    assert all(torch.isfinite(x.grad).all() for x in leaves(p))
    assert not torch.allclose(wanted[0], p.embedding.grad)


def test_gradients_are_those_of_the_model() -> None:
    c = Configuration(norm="rms", positions="rope")
    p = in_torch(model(replace(SIZES, n_groups=2)))
    for x in leaves(p):
        x.requires_grad_()
    tokens = torch.from_numpy(words(2, 6))
    weights = torch.from_numpy(np.random.default_rng(0).standard_normal((2, 6, 13)))
    runs = run_with_hooks(tokens, p, c, library=fast)["logits"], fast.decoder(tokens, p, c)
    ours, theirs = (torch.autograd.grad((y * weights).sum(), leaves(p), **GIVEN) for y in runs)
    for x, y in zip(ours, theirs, strict=True):
        torch.testing.assert_close(x, y, atol=1e-10, rtol=1e-8)


def test_what_is_refused() -> None:
    c, p = Configuration(), model()
    with pytest.raises(ValueError, match=r"^run_with_hooks: there is no activation 'blocks.2.q'"):
        run_with_hooks(words(3), p, c, {"blocks.2.q": lambda x: x})
    with pytest.raises(ShapeError, match=r"^run_with_hooks: the hook of blocks.0.q must keep"):
        run_with_hooks(words(3), p, c, {"blocks.0.q": lambda x: x[..., :2, :]})
    with pytest.raises(ValueError, match=r"^run_with_hooks: parameters must have no cross"):
        run_with_hooks(words(3), model(replace(SIZES, has_cross_attention=True)), c)
    with pytest.raises(ValueError, match=r"^run_with_hooks: tokens"):
        run_with_hooks(words(3) + 13, p, c)


def test_runs_that_do_not_fit_are_refused() -> None:
    c, p = Configuration(), model()
    one, other = run_with_hooks(words(1), p, c), run_with_hooks(words(4), p, c)
    name, rng = "blocks.0.after", np.random.default_rng(0)
    for cut in (
        patch(one, name),
        mean_ablation([one], name),
        resample_ablation([one], name, ..., rng),
    ):
        with pytest.raises(
            ShapeError, match=r": blocks.0.after has the shape \(4, 8\) there; the repl"
        ):
            run_with_hooks(words(4), p, c, cut)
    with pytest.raises(
        ShapeError, match=r"^mean_ablation: blocks.0.after must have one shape in all"
    ):
        mean_ablation([one, other], name)
    wrong: list[Any] = [[], one]
    for others in wrong:
        with pytest.raises(
            ValueError, match=r"^mean_ablation: others must be a sequence of one run or more"
        ):
            mean_ablation(others, name)
        with pytest.raises(ValueError, match=r"^resample_ablation: others must be a sequence"):
            resample_ablation(others, name, ..., rng)
    with pytest.raises(ValueError, match=r"^patch: the other run has no 'blocks.2.q'; it has"):
        patch(one, "blocks.2.q")


def test_scores_of_heads_by_hand() -> None:
    weights = np.zeros((2, 6, 6))
    weights[0, [1, 2, 3, 4, 5], [0, 1, 2, 3, 4]] = [1, 0.5, 0, 1, 1]
    weights[1, [3, 4, 5], [1, 2, 3]] = [0.2, 0.4, 0.9]
    for wrap, module in ((np.asarray, reference), (torch.from_numpy, fast)):
        np.testing.assert_allclose(module.previous_token_scores(wrap(weights)), [0.7, 0])
        np.testing.assert_allclose(module.induction_scores(wrap(weights), 3), [0, 0.5])
        for period in (6, 7, 1000):
            assert (module.induction_scores(wrap(weights), period) == 0).all()
        for size in (0, 1):
            small = wrap(np.ones((3, size, size)))
            assert module.previous_token_scores(small).tolist() == [0, 0, 0]
            assert module.induction_scores(small, 1).tolist() == [size * 0.0] * 3


def test_the_lens_on_the_last_block_is_the_model_and_heads_add_up() -> None:
    c, p, tokens = Configuration(), model(), words(2, 6)
    found = run_with_hooks(tokens, p, c)
    lens = reference.logit_lens(found["blocks.1.after"], p, c)
    np.testing.assert_allclose(lens, found["logits"], atol=1e-12)
    heads = p.blocks[1].heads
    summed = reference.head_outputs(found["blocks.1.heads"], heads).sum(axis=-3) + heads.b_o
    np.testing.assert_allclose(summed, found["blocks.1.attention"], atol=1e-12)
