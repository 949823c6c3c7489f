"""What a training may choose besides: blocks computed again, dropout, parameters in shares."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from safetensors.torch import load_file
from torch import Tensor, nn
from torch.autograd.graph import saved_tensors_hooks

from every import every
from test_loop import FIRST, GPT, asked, batch, in_two_processes, module
from tformer import fast
from tformer.configuration import Configuration
from tformer.models.sizes import Sizes, initialise
from tformer.parameters import HeadParameters, leaves, tree_map
from tformer.training import Recipe, train
from tformer.training.dropout import sample_dropout_masks
from tformer.training.loop import _Run

RECIPE = Recipe(12, 0.01, accumulate=2, smoothing=0.1)


def ran(recipe: Recipe, model: Any = None, **options: Any) -> list[float]:
    """The losses, and in the end the length of the gradients: all of both ways is in it."""
    made = [*train(model or module(), batch, recipe, **options)]
    return [one.loss for one in made] + [made[-1].norm]


@every("dropout", [0.0, 0.3])
def test_blocks_computed_again_change_no_number(dropout: float) -> None:
    again = Recipe(**{**RECIPE.__dict__, "recompute": True})
    plain, found = (ran(one, module(dropout=dropout)) for one in (RECIPE, again))
    np.testing.assert_allclose(found, plain, rtol=1e-12)


def test_one_call_for_many_tensors_changes_no_number() -> None:
    fused = Recipe(**{**RECIPE.__dict__, "fused": True})
    np.testing.assert_allclose(ran(fused), ran(RECIPE), rtol=1e-12)
    for recipe in (fused, RECIPE):
        groups = _Run(module(), recipe, sharded=False).optimiser.param_groups
        assert {bool(group["fused"]) for group in groups} == {recipe.fused}


def kept_for_backward(n_layers: int, recompute: bool) -> int:
    """Bytes that one pass keeps for the next, parameters aside, and each storage once."""
    sizes = Sizes(11, 16, n_layers, 2, 64, n_positions=8)
    drawn = initialise(sizes, GPT, np.random.default_rng(0), 0.2)
    tensors = tree_map(lambda x: torch.from_numpy(x.astype(np.float32)), drawn)
    model = fast.Module(fast.decoder, tensors, configuration=GPT)
    own = {x.untyped_storage().data_ptr() for x in model.parameters()}
    found: dict[int, Tensor] = {}

    def pack(x: Tensor) -> Tensor:
        if x.untyped_storage().data_ptr() not in own:
            found[x.untyped_storage().data_ptr()] = x
        return x

    run = _Run(model, Recipe(1, 0.01, recompute=recompute), sharded=False)
    given, wanted = batch(1)
    with saved_tensors_hooks(pack, lambda x: x):
        run._loss(1, np.arange(5), given, wanted)
    return sum(x.untyped_storage().nbytes() for x in found.values())


def test_of_a_block_that_is_computed_again_its_input_alone_is_kept() -> None:
    """5 texts of 8 words of 16 numbers of 4 bytes; otherwise more than ten times as much."""
    shallow, deep = (kept_for_backward(n, recompute=True) for n in (2, 6))
    assert deep - shallow == 4 * (5 * 8 * 16 * 4)
    shallow, deep = (kept_for_backward(n, recompute=False) for n in (2, 6))
    assert deep - shallow > 10 * 4 * (5 * 8 * 16 * 4)


def test_masks_are_those_of_their_rows() -> None:
    """Whoever draws them, in whatever company; others for another seed, step or row."""
    model = module(dropout=0.3)
    whole = sample_dropout_masks(model, 7, 3, np.arange(5), 8)
    assert whole is not None
    some = sample_dropout_masks(model, 7, 3, np.array([4, 1]), 8)
    for one, few in zip(whole, some or (), strict=True):
        assert torch.equal(one.heads[[4, 1]], few.heads)
        assert torch.equal(one.feed_forward[[4, 1]], few.feed_forward)
    drawn = [x for one in whole for x in (*one.heads, *one.feed_forward)]
    for seed, step in ((8, 3), (7, 4)):
        for one in sample_dropout_masks(model, seed, step, np.arange(5), 8) or ():
            drawn += [*one.heads, *one.feed_forward]
    assert len({x.numpy().tobytes() for x in drawn}) == len(drawn) == 3 * 2 * 2 * 5
    many = sample_dropout_masks(model, 0, 1, np.arange(400), 8) or ()
    for one in many:
        assert one.heads.double().mean().item() == pytest.approx(0.7, abs=0.01)
        assert one.feed_forward.double().mean().item() == pytest.approx(0.7, abs=0.01)
    assert all(
        len(one.heads) == 0 for one in sample_dropout_masks(model, 0, 1, np.arange(0), 8) or ()
    )


def test_the_loop_drops_what_its_masks_say() -> None:
    """The first loss is that of the decoder with these masks; with a share of 0 all is kept."""
    given, wanted = (torch.from_numpy(x) for x in batch(1))
    for share in (0.0, 0.3):
        model = module(dropout=share)
        kept = sample_dropout_masks(model, 5, 1, np.arange(5), 8)
        assert (kept is None) == (share == 0)
        logits = model(given, dropout_masks=kept).flatten(0, 1)
        loss = nn.functional.cross_entropy(logits, wanted.flatten(), ignore_index=-1).item()
        first = next(train(model, batch, Recipe(9, 0.01, seed=5)))
        assert first.loss == pytest.approx(loss, rel=1e-12)


def test_dropout_goes_on_where_it_was_left_to_the_last_bit(tmp_path: Path) -> None:
    whole, left = tmp_path / "whole", tmp_path / "left"
    found = ran(RECIPE, module(dropout=0.3), folder=whole)
    next(m for m in train(module(dropout=0.3), batch, RECIPE, left, every=4) if m.step == 6)
    assert ran(RECIPE, module(dropout=0.3), folder=left) == found[4:]
    ends = [load_file(one / "checkpoint.safetensors") for one in (whole, left)]
    assert all(torch.equal(ends[0][name], ends[1][name]) for name in ends[0])


def test_two_processes_hold_shares_and_drop_what_one_drops(tmp_path: Path) -> None:
    """Replicas with dropout; shares with all choices at once, from the start, from where one
    process stopped, and left for one process to go on with.
    """
    all_at_once = Recipe(12, 0.01, accumulate=2, clip=0.5, recompute=True, seed=1)
    folders = whole, parted, left, begun = [tmp_path / name for name in "abcd"]
    replicas = ran(RECIPE, module(dropout=0.3))[:-1]
    one = ran(all_at_once, module(dropout=0.3), folder=whole)[:-1]
    stopped = train(module(dropout=0.3), batch, all_at_once, left, every=5)
    next(metrics for metrics in stopped if metrics.step == 7)
    shares = [
        asked(all_at_once, 0.3, stop, sharded=True, folder=str(folder), every=5)
        for folder, stop in ((parted, None), (left, None), (begun, 6))
    ]
    found = in_two_processes(asked(RECIPE, 0.3), *shares)
    rights = (replicas, one, one[5:], one[:6])
    for told, right in zip(found, rights, strict=True):
        np.testing.assert_allclose(told["losses"], right, rtol=1e-12)
    n = sum(x.size for x in leaves(FIRST))
    assert [told["held"] / n for told in found] == pytest.approx([1, 0.5, 0.5, 0.5], abs=0.05)
    assert abs(np.array(ran(RECIPE, module())[:-1]) - replicas).min() > 1e-4
    rest = ran(all_at_once, module(dropout=0.3), folder=begun)[:-1]
    np.testing.assert_allclose(rest, one[5:], rtol=1e-12)
    ends = [load_file(folder / "checkpoint.safetensors") for folder in folders]
    for end in ends:  # each process has a generator of its own
        assert [end.pop(name) for name in sorted(end) if name.startswith("generator.cpu.")]
    for end in ends[1:]:
        assert end.keys() == ends[0].keys()
        for name, x in ends[0].items():
            # A bias of keys has no gradient but rounding, and Adam makes steps of that too.
            np.testing.assert_allclose(end[name], x, rtol=1e-9, atol=1e-10, err_msg=name)


def test_what_cannot_be_done_is_refused() -> None:
    with pytest.raises(ValueError, match="sharded needs several processes"):
        ran(RECIPE, sharded=True)
    again = Recipe(5, 0.1, recompute=True)
    with pytest.raises(ValueError, match=r"recompute needs a fast\.Module; got Linear"):
        ran(again, nn.Linear(3, 3))
    heads = HeadParameters(*(torch.ones(2, 6, 3) for _ in "qkv"), torch.ones(2, 3, 6))
    other = fast.Module(fast.multi_head_attention, heads, configuration=Configuration(dropout=0.1))
    with pytest.raises(ValueError, match="dropout needs the parameters of one stack of blocks"):
        ran(Recipe(5, 0.1), other)
