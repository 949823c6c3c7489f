"""Many heads: loop and batch, groups, other keys, and the module of PyTorch."""

from contextlib import nullcontext
from typing import Any

import numpy as np
import pytest
import torch

from attention_problems import asked_as_on_a_gpu
from cases import TOLERANCE, parts, to_numpy, to_torch
from test_masks import LONG, peak
from tformer import fast, reference
from tformer.parameters import HeadParameters, leaves, tree_map
from tformer.shapes import ShapeError

D_MODEL, D_K, D_V = 8, 3, 5
GROUPS = [(4, 4), (4, 2), (4, 1), (6, 2), (1, 1)]
groups = pytest.mark.parametrize(("n_heads", "n_groups"), GROUPS, ids=str)


def heads(
    n_heads: int, n_groups: int, d_k: int = D_K, d_v: int = D_V, biased: bool = False
) -> HeadParameters:
    rng = np.random.default_rng(n_heads + 10 * n_groups)
    shapes = [(n_heads, D_MODEL, d_k), (n_groups, D_MODEL, d_k), (n_groups, D_MODEL, d_v)]
    shapes.append((n_heads, d_v, D_MODEL))
    if biased:
        shapes += [(n_heads, d_k), (n_groups, d_k), (n_groups, d_v), (D_MODEL,)]
    return HeadParameters(*(rng.standard_normal(x) / 2 for x in shapes))


def in_torch(weights: HeadParameters, dtype: str = "float64", grad: bool = False) -> HeadParameters:
    return tree_map(lambda x: to_torch(x, dtype).requires_grad_(grad), weights)


def tables(n_heads: int, t: int, s: int) -> dict[str, dict[str, Any]]:
    """Masks and biases of every shape that they may have, for a batch of shape (2, 3)."""
    rng = np.random.default_rng(0)
    mask = rng.random((2, 1, t, s)) < 0.6
    mask[0, 0, 0] = False
    biases = [(1, 1, s), (n_heads, 1, 1), (n_heads, t, s), (3, 1, t, 1), (2, 3, n_heads, t, s)]
    return {
        "nothing": {},
        "a mask for each of a batch": {"mask": mask},
        "padding": {"mask": rng.random((3, 1, s)) < 0.6},
        **{f"bias {x}": {"mask": mask, "bias": rng.standard_normal(x)} for x in biases},
    }


@groups
@pytest.mark.parametrize("n_queries", [1, 4])
def test_batched_heads_are_the_loop_with_every_mask_and_bias(
    n_heads: int, n_groups: int, n_queries: int
) -> None:
    """Values, weights, and all gradients: of the words, the memory, the matrices and the bias."""
    rng = np.random.default_rng(1)
    x, grad = rng.standard_normal((2, 2, 3, n_queries, D_MODEL))
    memory = rng.standard_normal((3, 6, D_MODEL))
    weights = heads(n_heads, n_groups)
    ours = in_torch(weights)
    for seen in tables(n_heads, n_queries, 6).values():
        given = {"memory": memory, **seen}
        torch_given = {name: torch.from_numpy(value) for name, value in given.items()}
        for name in ("multi_head_attention", "multi_head_weights"):
            expected = getattr(reference, name)(x, weights, **given)
            for how in (nullcontext, asked_as_on_a_gpu):
                with how():
                    got = getattr(fast, name)(torch.from_numpy(x), ours, **torch_given)
                np.testing.assert_allclose(got.numpy(), expected, rtol=0, atol=1e-10)
        expected = parts(reference.multi_head_attention_vjp(x, weights, grad, **given))
        arrays = [torch.from_numpy(x), ours, torch.from_numpy(grad)]
        got = parts(fast.multi_head_attention_vjp(*arrays, **torch_given))
        for one, other in zip(got, expected, strict=True):
            assert one.shape == other.shape
            np.testing.assert_allclose(one.numpy(), other, rtol=0, atol=1e-10)


@groups
def test_shared_keys_and_values_are_those_of_each_head(n_heads: int, n_groups: int) -> None:
    """A copy for each head does the same; the gradient of what is shared is the sum over copies."""
    rng = np.random.default_rng(2)
    x, grad = rng.standard_normal((2, 2, 5, D_MODEL))
    shared, mask = heads(n_heads, n_groups), np.tri(5, dtype=bool)
    size = n_heads // n_groups
    copies = (np.repeat(w, size, axis=0) for w in (shared.w_k, shared.w_v))
    apart = HeadParameters(shared.w_q, *copies, shared.w_o)
    y, other = (reference.multi_head_attention(x, w, mask=mask) for w in (shared, apart))
    np.testing.assert_allclose(y, other, rtol=0, atol=1e-12)
    for name in ("qk_circuit", "ov_circuit"):
        one, other = (getattr(reference, name)(w) for w in (shared, apart))
        np.testing.assert_allclose(one, other, rtol=0, atol=1e-12)
    found, wanted = (
        reference.multi_head_attention_vjp(x, w, grad, mask=mask)[1] for w in (shared, apart)
    )
    for name in ("w_k", "w_v"):
        summed = getattr(wanted, name).reshape(n_groups, size, D_MODEL, -1).sum(axis=1)
        np.testing.assert_allclose(getattr(found, name), summed, rtol=0, atol=1e-12)


@pytest.mark.parametrize(("n_heads", "n_groups"), [(4, 2), (4, 1), (6, 2)], ids=str)
def test_shared_heads_obey_mask_and_bias_over_many_keys(n_heads: int, n_groups: int) -> None:
    """Where the kernel would take the groups as they are, if nothing were hidden or added."""
    rng, weights = np.random.default_rng(5), heads(n_heads, n_groups, d_k=4, d_v=4)
    ours = in_torch(weights)
    for n_keys in (15, 16, 40):
        x, memory = rng.standard_normal((2, 7, D_MODEL)), rng.standard_normal((2, n_keys, D_MODEL))
        mask, bias = rng.random((7, n_keys)) < 0.5, rng.standard_normal((n_heads, 7, n_keys))
        plain = reference.multi_head_attention(x, weights, memory)
        for seen in ({}, {"mask": mask}, {"bias": bias}, {"mask": mask, "bias": bias}):
            expected = reference.multi_head_attention(x, weights, memory, **seen)
            assert bool(seen) == (np.abs(expected - plain).max() > 0.1)
            given = {"memory": memory, **seen}
            torch_given = {name: torch.from_numpy(value) for name, value in given.items()}
            got = fast.multi_head_attention(torch.from_numpy(x), ours, **torch_given)
            np.testing.assert_allclose(got.numpy(), expected, rtol=0, atol=1e-10)


@groups
def test_circuits_are_what_a_head_does(n_heads: int, n_groups: int) -> None:
    """Scores are x M yᵀ; a word that has all weight adds itself times M."""
    x, weights = np.random.default_rng(3).standard_normal((5, D_MODEL)), heads(n_heads, n_groups)
    scores = x @ reference.qk_circuit(weights) @ x.T
    expected = reference.softmax(0.7 * scores)
    got = reference.multi_head_weights(x, weights, scale=0.7)
    np.testing.assert_allclose(got, expected, rtol=0, atol=1e-12)
    y = reference.multi_head_attention(x, weights, mask=np.arange(5) == np.full((5, 1), 3))
    moved = x[3] @ reference.ov_circuit(weights).sum(axis=0)
    np.testing.assert_allclose(y, np.tile(moved, (5, 1)), rtol=0, atol=1e-12)


def test_a_row_that_may_look_nowhere_is_zero_in_every_head() -> None:
    x, weights = np.random.default_rng(4).standard_normal((2, 4, D_MODEL)), heads(4, 2)
    mask = np.tri(4, k=-1, dtype=bool)
    grad = np.zeros_like(x)
    grad[:, 0] = 1.0
    ours = [torch.from_numpy(x), in_torch(weights)]
    results = [
        reference.multi_head_attention(x, weights, mask=mask)[:, 0],
        reference.multi_head_weights(x, weights, mask=mask)[..., 0, :],
        fast.multi_head_attention(*ours, mask=torch.from_numpy(mask))[:, 0],
        fast.multi_head_weights(*ours, mask=torch.from_numpy(mask))[..., 0, :],
        *parts(reference.multi_head_attention_vjp(x, weights, grad, mask=mask)),
        *parts(
            fast.multi_head_attention_vjp(
                *ours, torch.from_numpy(grad), mask=torch.from_numpy(mask)
            )
        ),
    ]
    assert not any(result.any() for result in results)


def module_and_weights(n_heads: int) -> tuple[torch.nn.MultiheadAttention, HeadParameters]:
    """PyTorch's module, and its matrices as ours: it stores their transposes."""
    torch.manual_seed(0)
    options: Any = {"bias": False, "batch_first": True, "dtype": torch.float64}
    module = torch.nn.MultiheadAttention(12, n_heads, **options)
    matrices = (*module.in_proj_weight.chunk(3), module.out_proj.weight)
    return module, HeadParameters.from_fused(*(w.mT for w in matrices), n_heads=n_heads)


@pytest.mark.parametrize("n_heads", [1, 3, 4])
@pytest.mark.parametrize("masked", [False, True], ids=["", "masked"])
@pytest.mark.parametrize("crossed", [False, True], ids=["", "other keys"])
def test_equal_to_the_module_of_pytorch(n_heads: int, masked: bool, crossed: bool) -> None:
    """Forward, weights, and the gradients of words and matrices. Its masks are True at "hide"."""
    module, weights = module_and_weights(n_heads)
    x = torch.randn(2, 5, 12, dtype=torch.float64, requires_grad=True)
    memory = torch.randn(2, 7, 12, dtype=torch.float64, requires_grad=True) if crossed else None
    source, causal, padding = x if memory is None else memory, None, None
    n_keys = source.shape[1]
    if masked:
        causal = fast.causal_mask(5, n_keys, offset=n_keys - 5)
        padding = fast.padding_mask(torch.tensor([n_keys, 2]), n_keys)
    expected, expected_weights = module(
        x,
        source,
        source,
        attn_mask=None if causal is None else ~causal,
        key_padding_mask=None if padding is None else ~padding[:, 0],
        average_attn_weights=False,
    )
    mask = None if causal is None or padding is None else causal & padding
    y = fast.multi_head_attention(x, weights, memory, mask)
    torch.testing.assert_close(y, expected, rtol=0, atol=1e-10)
    ours = fast.multi_head_weights(x, weights, memory, mask)
    torch.testing.assert_close(ours, expected_weights, rtol=0, atol=1e-10)
    inputs = [x, *module.parameters(), *([] if memory is None else [memory])]
    one, other = (torch.autograd.grad(out.square().sum(), inputs) for out in (y, expected))
    for mine, theirs in zip(one, other, strict=True):
        torch.testing.assert_close(mine, theirs, rtol=0, atol=1e-10)
    arrays = [None if z is None else z.detach().numpy() for z in (x, memory, mask)]
    plain = tree_map(lambda w: w.detach().numpy(), weights)
    defined = reference.multi_head_attention(arrays[0], plain, *arrays[1:])
    np.testing.assert_allclose(defined, to_numpy(expected), rtol=0, atol=1e-10)


@groups
@pytest.mark.parametrize("library", ["numpy", "torch"])
@pytest.mark.parametrize("biased", [False, True], ids=["", "biased"])
def test_matrices_for_all_heads_are_cut_and_laid_together(
    n_heads: int, n_groups: int, library: str, biased: bool
) -> None:
    weights = heads(n_heads, n_groups, biased=biased)
    weights = weights if library == "numpy" else in_torch(weights)
    together = weights.fused()
    assert [None if w is None else tuple(w.shape) for w in together] == [
        (D_MODEL, n_heads * D_K),
        (D_MODEL, n_groups * D_K),
        (D_MODEL, n_groups * D_V),
        (n_heads * D_V, D_MODEL),
        *([(n_heads * D_K,), (n_groups * D_K,), (n_groups * D_V,), (D_MODEL,)] * biased),
        *([None] * 4 * (not biased)),
    ]
    for h in range(n_heads):
        np.testing.assert_array_equal(together[0][:, h * D_K : (h + 1) * D_K], weights.w_q[h])
        np.testing.assert_array_equal(together[3][h * D_V : (h + 1) * D_V], weights.w_o[h])
    again = HeadParameters.from_fused(*together, n_heads=n_heads, n_groups=n_groups)
    for one, other in zip(leaves(again), leaves(weights), strict=True):
        np.testing.assert_array_equal(one, other)


def test_matrices_that_do_not_belong_together_are_refused_by_the_function() -> None:
    """Not by the dataclass, which may hold anything; and under the name of what was called."""
    q, k, v, o = leaves(heads(4, 2))
    x = np.ones((3, D_MODEL))
    for wrong, message in (
        ((q[:3], k, v, o[:3]), "G must divide H; got 2 key/value heads for 3 heads"),
        ((q, k[:0], v[:0], o), "G must divide H; got 0 key/value heads for 4 heads"),
        ((q[:0], k, v, o[:0]), "G must divide H; got 2 key/value heads for 0 heads"),
        ((q, k[:1], v, o), "axis G is 1 in parameters.w_k but 2 in parameters.w_v"),
        ((q, k, v, o[:2]), "axis H is 4 in parameters.w_q but 2 in parameters.w_o"),
        ((q, k, v[..., :2], o), "axis d_v is 2 in parameters.w_v but 5 in parameters.w_o"),
        ((q[..., :2], k, v, o), "axis d_k is 2 in parameters.w_q but 3 in parameters.w_k"),
        ((q, k, v, o, q[:, 0, :2]), "axis d_k is 3 in parameters.w_q but 2 in parameters.b_q"),
    ):
        for name in ("multi_head_attention", "project", "multi_head_weights"):
            with pytest.raises(ShapeError, match=f"^{name}: {message}"):
                getattr(reference, name)(x, HeadParameters(*wrong))
    for odd in ([q.tolist(), k, v, o], [q, None, v, o], [q, torch.from_numpy(k), v, o]):
        with pytest.raises(
            TypeError, match=r"^ov_circuit: parameters.w_[qk] must be a numpy.ndarr"
        ):
            reference.ov_circuit(HeadParameters(*odd))


def test_what_cannot_be_cut_is_refused() -> None:
    fused = heads(4, 2).fused()
    for n_heads, n_groups, name in ((5, 2, "w_q"), (4, 4, "w_k")):
        with pytest.raises(ShapeError, match=f"from_fused: {name} of width"):
            HeadParameters.from_fused(*fused, n_heads=n_heads, n_groups=n_groups)
    with pytest.raises(ValueError, match="from_fused: n_groups must be at least 1; got 0"):
        HeadParameters.from_fused(*fused, n_heads=4, n_groups=0)
    for number in (1.0, True, "1", None, np.ones(1)):
        with pytest.raises(TypeError, match="from_fused: n_heads must be an integer"):
            HeadParameters.from_fused(*fused, n_heads=number)  # type: ignore[arg-type]
    for place, wrong in enumerate(([[1.0]], None, "w", 1.0)):
        given = [*fused[:place], wrong, *fused[place + 1 :]]
        with pytest.raises(TypeError, match=f"w_{'qkvo'[place]} must be an array; got"):
            HeadParameters.from_fused(*given, n_heads=4, n_groups=2)
    for wrong in (np.ones(12), np.ones((2, 8, 12)), np.ones(())):
        with pytest.raises(ShapeError, match="w_q needs 2 axes; got shape"):
            HeadParameters.from_fused(wrong, *fused[1:], n_heads=4, n_groups=2)
    with pytest.raises(ShapeError, match="b_k of width 7 cannot be split into 2 heads"):
        HeadParameters.from_fused(*fused[:4], b_k=np.ones(7), n_heads=4, n_groups=2)


@pytest.mark.parametrize("dtype", TOLERANCE)
@pytest.mark.parametrize("n_queries", [1, 64])
def test_shared_keys_and_values_are_not_repeated(dtype: str, n_queries: int) -> None:
    """Sixteen heads share two sets of keys and values of 2048 words, with eight copies of none."""
    x = torch.randn(1, n_queries, D_MODEL).to(getattr(torch, dtype))
    memory = torch.randn(2, 2048, D_MODEL).to(x.dtype)
    weights = in_torch(heads(16, 2, d_k=32, d_v=32), dtype)
    held = peak(lambda: fast.multi_head_attention(x, weights, memory)) * LONG**2
    size = max(x.itemsize, 4)
    of_queries, of_keys = size * 2 * 16 * n_queries * 32, size * 2 * 2 * 2048 * 32
    assert held < 5 * of_queries + 5 * of_keys + 100_000
