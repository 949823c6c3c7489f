"""The model's form: seams between projection and attention, caches, trees, and the one module."""

from typing import Any

import numpy as np
import pytest
import torch
from torch.nn.functional import linear, scaled_dot_product_attention
from torch.utils import _pytree as pytree

from attention_problems import asked_as_on_a_gpu
from cases import TOLERANCE, default_dtype
from test_heads import D_MODEL, groups, heads, in_torch
from tformer import fast, reference
from tformer.parameters import HeadParameters, KVCache, leaves, named_leaves, tree_map

D_K, T = 4, 24
PAIRINGS = ("adjacent", "half")


def rows(*shape: int, seed: int = 0) -> np.ndarray:
    return np.random.default_rng(seed).standard_normal(shape)


def turned_layer(module: Any, x: Any, p: HeadParameters, positions: Any, cache: Any = None) -> Any:
    """A causal layer with rotary positions and a cache, as the chapters will write it."""
    q, k, v = module.project(x, p)
    turn = module.sinusoidal(positions, D_K)
    q, k = module.rope(q, turn), module.rope(k, turn)
    offset = 0 if cache is None else cache.length
    cache = module.extend_cache(cache, k, v)
    y = module.grouped_attention(q, cache.k, cache.v, causal=True, offset=offset)
    return module.merge(y, p), cache


@groups
def test_the_layer_is_the_three_seams_together(n_heads: int, n_groups: int) -> None:
    x, p = rows(2, 5, D_MODEL), heads(n_heads, n_groups, biased=True)
    q, k, v = reference.project(x, p)
    y = reference.merge(reference.grouped_attention(q, k, v, causal=True), p)
    np.testing.assert_array_equal(y, reference.multi_head_attention(x, p, causal=True))
    mask = reference.causal_mask(5, 5)
    np.testing.assert_allclose(y, reference.multi_head_attention(x, p, mask=mask), atol=1e-12)
    tables = reference.multi_head_weights(x, p, causal=True)
    np.testing.assert_array_equal(tables, reference.grouped_attention_weights(q, k, mask))


@groups
def test_biases_are_those_of_a_linear_layer(n_heads: int, n_groups: int) -> None:
    x, p = rows(2, T, D_MODEL), heads(n_heads, n_groups, biased=True)
    ours = in_torch(p)
    w_q, w_k, w_v, w_o, b_q, b_k, b_v, b_o = ours.fused()
    given = torch.from_numpy(x)
    several = [(w_q, b_q, n_heads), (w_k, b_k, n_groups), (w_v, b_v, n_groups)]
    q, k, v = (linear(given, w.mT, b).unflatten(-1, (n, -1)).transpose(1, 2) for w, b, n in several)
    y = scaled_dot_product_attention(q, k, v, is_causal=True, enable_gqa=True)
    expected = linear(y.transpose(1, 2).flatten(2), w_o.mT, b_o)
    got = fast.multi_head_attention(given, ours, causal=True)
    torch.testing.assert_close(got, expected, rtol=0, atol=1e-12)
    defined = reference.multi_head_attention(x, p, causal=True)
    np.testing.assert_allclose(defined, expected.numpy(), rtol=0, atol=1e-12)


@groups
@pytest.mark.parametrize("n_queries", [1, 2, T])
@pytest.mark.parametrize("offset", [0, 3, T - 1, 2 * T])
def test_no_head_looks_at_what_comes_later(
    n_heads: int, n_groups: int, n_queries: int, offset: int
) -> None:
    """More keys than a kernel needs, with and without groups, masks and biases; on either path."""
    q, k = rows(2, n_heads, n_queries, D_K), rows(2, n_groups, T, D_K, seed=1)
    v, grad = rows(2, n_groups, T, 7, seed=2), rows(2, n_heads, n_queries, 7, seed=3)
    arrays = [torch.from_numpy(x) for x in (q, k, v, grad)]
    mask = np.random.default_rng(4).random((2, n_queries, T)) < 0.7
    bias = rows(n_heads, n_queries, T, seed=5)
    seen = [{}, {"mask": mask}, {"bias": bias}, {"mask": mask, "bias": bias, "scale": 0.3}]
    for given in seen:
        ours = {
            key: torch.from_numpy(x) if isinstance(x, np.ndarray) else x for key, x in given.items()
        }
        options = {"causal": True, "offset": offset}
        expected = reference.grouped_attention(q, k, v, **given, **options)
        for how in (None, asked_as_on_a_gpu):
            if how is None:
                got = fast.grouped_attention(*arrays[:3], **ours, **options)
            else:
                with how():
                    got = fast.grouped_attention(*arrays[:3], **ours, **options)
            np.testing.assert_allclose(got.numpy(), expected, rtol=0, atol=1e-10)
        one = leaves(reference.grouped_attention_vjp(q, k, v, grad, **given, **options))
        other = leaves(fast.grouped_attention_vjp(*arrays, **ours, **options))
        for mine, theirs in zip(one, other, strict=True):
            np.testing.assert_allclose(theirs.numpy(), mine, rtol=0, atol=1e-10)


@groups
@pytest.mark.parametrize("dtype", TOLERANCE)
def test_a_cached_pass_is_the_full_pass(n_heads: int, n_groups: int, dtype: str) -> None:
    """Twelve words, then three, then one by one; every earlier cache stays what it was."""
    x = rows(2, T, D_MODEL)
    p = heads(n_heads, n_groups, d_k=D_K, biased=True)
    full, _ = turned_layer(reference, x, p, np.arange(T))
    bound = TOLERANCE[dtype].bound * 20  # several roundings of results some times as large as 1
    given, ours = torch.from_numpy(x).to(getattr(torch, dtype)), in_torch(p, dtype)
    runs = [(reference, x, p, np.arange), (fast, given, ours, torch.arange)]
    for module, words, tree, arange in runs if dtype == "float64" else runs[1:]:
        found, cache, kept = [], None, []
        for start, end in [(0, 12), (12, 15), *((i, i + 1) for i in range(15, T))]:
            with default_dtype("float64"):
                y, cache = turned_layer(
                    module, words[:, start:end], tree, arange(start, end), cache
                )
            found.append(np.asarray(y.double() if module is fast else y))
            kept.append(
                (
                    cache,
                    [one.copy() if module is reference else one.clone() for one in leaves(cache)],
                )
            )
        np.testing.assert_allclose(np.concatenate(found, axis=1), full, rtol=0, atol=bound)
        for earlier, values in kept:
            assert all((a == b).all() for a, b in zip(leaves(earlier), values, strict=True))
        assert cache is not None
        assert cache.length == T


def test_a_cache_of_other_groups_is_refused() -> None:
    for module, array in ((reference, np.ones), (fast, torch.ones)):
        cache = KVCache(array((2, 3, 4)), array((2, 3, 5)))
        with pytest.raises(ValueError, match=r"extend_cache: axis G is 2 in cache\.k but 1 in k"):
            module.extend_cache(cache, array((1, 1, 4)), array((1, 1, 5)))
        with pytest.raises(TypeError, match="extend_cache: cache must be a KVCache; got tuple"):
            module.extend_cache((cache.k, cache.v), array((2, 1, 4)), array((2, 1, 5)))
        with pytest.raises(TypeError, match="causal must be True or False; got int"):
            module.grouped_attention(*[array((2, 3, 4))] * 3, causal=1)


def test_trees_are_mapped_and_named() -> None:
    p = heads(4, 2, biased=True)
    nested = (p, [heads(1, 1)])
    names = [name for name, _ in named_leaves(nested)]
    assert names[:9] == [f"0.{x}" for x in vars(p)] + ["1.0.w_q"]
    twice = tree_map(lambda a, b: a + b, nested, nested)
    assert isinstance(twice, tuple)
    assert isinstance(twice[1], list)
    assert twice[1][0].b_q is None
    for one, two in zip(leaves(nested), leaves(twice), strict=True):
        np.testing.assert_array_equal(2 * one, two)
    sizes = tree_map(lambda a: a.shape, p)
    assert sizes.w_o == (4, 5, D_MODEL)


def test_pytorch_maps_over_them_as_we_do() -> None:
    p = in_torch(heads(4, 2))
    values, spec = pytree.tree_flatten((p, KVCache(p.w_k, p.w_v)))
    assert [x.shape for x in values] == [x.shape for x in (*leaves(p), p.w_k, p.w_v)]
    again, cache = pytree.tree_unflatten(values, spec)
    assert isinstance(again, HeadParameters)
    assert again.b_o is None
    assert cache.k is p.w_k
    norms = pytree.tree_map(torch.linalg.vector_norm, p)
    assert isinstance(norms, HeadParameters)
    assert norms.w_q.ndim == 0
    keys = [pytree.keystr(path) for path, _ in pytree.tree_flatten_with_path(p)[0]]
    assert keys == [".w_q", ".w_k", ".w_v", ".w_o"]


@groups
def test_a_gradient_with_respect_to_a_tree_is_the_vjp(n_heads: int, n_groups: int) -> None:
    x, p = rows(3, D_MODEL), heads(n_heads, n_groups, biased=True)
    grad = rows(3, D_MODEL, seed=1)
    _, expected, _, _ = reference.multi_head_attention_vjp(x, p, grad)

    def loss(tree: HeadParameters) -> torch.Tensor:
        y = fast.multi_head_attention(torch.from_numpy(x), tree)
        return (y * torch.from_numpy(grad)).sum()

    got = torch.func.grad(loss)(in_torch(p))
    assert isinstance(got, HeadParameters)
    for one, other in zip(leaves(got), leaves(expected), strict=True):
        np.testing.assert_allclose(one.numpy(), other, rtol=0, atol=1e-10)


def layer(x: torch.Tensor, parameters: tuple[HeadParameters, ...]) -> torch.Tensor:
    """Two layers of the form in which chapters will write them."""
    for p in parameters:
        x = x + turned_layer(fast, x, p, torch.arange(x.shape[-2]))[0]
    return x


def two_layers(dtype: str = "float32") -> tuple[HeadParameters, ...]:
    return tuple(in_torch(heads(4, n, d_k=D_K, biased=n == 2), dtype) for n in (4, 2))


def test_one_module_holds_the_leaves_under_their_names() -> None:
    p = two_layers()
    module = fast.Module(layer, p)
    assert [*module.state_dict()] == [name for name, _ in named_leaves(p)]
    x = torch.randn(2, T, D_MODEL)
    torch.testing.assert_close(module(x), layer(x, p), rtol=0, atol=0)
    state = {name: value + 1 for name, value in module.state_dict().items()}
    moved = layer(x, tree_map(lambda a: a + 1, p))
    module.load_state_dict(state)
    torch.testing.assert_close(module(x), moved, rtol=0, atol=0)
    assert module.tree[1].b_q is not None
    assert module.tree[0].b_q is None
    with pytest.raises(RuntimeError, match="Missing key"):
        module.load_state_dict({"0.w_q": p[0].w_q})


def test_an_optimiser_trains_the_module() -> None:
    torch.manual_seed(0)
    module = fast.Module(layer, two_layers())
    x = torch.randn(4, T, D_MODEL)
    target, optimiser = x.roll(1, dims=1), torch.optim.AdamW(module.parameters(), lr=0.02)
    losses = []
    for _ in range(40):
        loss = (module(x) - target).square().mean()
        optimiser.zero_grad()
        loss.backward()
        optimiser.step()
        losses.append(loss.item())
    assert losses[-1] < 0.3 * losses[0]
    assert all(p.grad is not None and p.grad.abs().sum() > 0 for p in module.parameters())


def test_pytorch_replicates_the_module() -> None:
    """In a group of one process; to average over more of them is PyTorch's own affair."""
    torch.distributed.init_process_group(
        "gloo", store=torch.distributed.HashStore(), rank=0, world_size=1
    )
    try:
        module, x = fast.Module(layer, two_layers()), torch.randn(2, T, D_MODEL)
        replica = torch.nn.parallel.DistributedDataParallel(module)
        replica(x).square().mean().backward()
        found = [p.grad for p in module.parameters()]
        expected = torch.autograd.grad(module(x).square().mean(), [*module.parameters()])
        for one, other in zip(found, expected, strict=True):
            torch.testing.assert_close(one, other)
        assert all(name.startswith("module.") for name in replica.state_dict())
    finally:
        torch.distributed.destroy_process_group()


def test_the_module_compiles_to_one_graph() -> None:
    graphs: list[Any] = []

    def keep(graph: torch.fx.GraphModule, _: Any) -> Any:
        graphs.append(graph)
        return graph.forward

    tokens = torch.arange(2 * T).view(2, T) % 5

    def model(tokens: torch.Tensor, parameters: Any) -> torch.Tensor:
        table, blocks = parameters
        return layer(fast.embedding(tokens, table), blocks) @ table.mT

    module = fast.Module(model, (torch.randn(5, D_MODEL).double(), two_layers("float64")))
    compiled = torch.compile(module, backend=keep, fullgraph=True)
    torch.testing.assert_close(compiled(tokens), module(tokens), rtol=0, atol=1e-9)
    assert len(graphs) == 1


def test_autocast_computes_in_half_precision_with_parameters_in_single() -> None:
    torch.manual_seed(0)
    module, x = fast.Module(layer, two_layers()), torch.randn(2, T, D_MODEL)
    exact = module(x)
    with torch.autocast("cpu", dtype=torch.bfloat16):
        q, k, v = fast.project(x, module.tree[0])
        assert {a.dtype for a in (q, k, v)} == {torch.bfloat16}
        turned = fast.rope(q, fast.sinusoidal(torch.arange(T), D_K))
        assert turned.dtype == torch.bfloat16
        assert fast.grouped_attention(turned, k, v, causal=True).dtype == torch.bfloat16
        got = module(x)
        got.sum().backward()
    error = (got - exact).abs().max() / exact.abs().max()
    assert 0 < error < 0.05
    assert all(p.grad is not None and p.grad.dtype == torch.float32 for p in module.parameters())


@pytest.mark.parametrize("pairing", PAIRINGS)
def test_words_in_half_precision_are_turned_by_sinusoids_in_single(pairing: str) -> None:
    x, turn = rows(2, T, 8), reference.sinusoidal(np.arange(T), 8)
    exact = reference.rope(x, turn, pairing)
    for dtype in ("float32", "float16"):
        got = reference.rope(x.astype(dtype), turn, pairing)
        assert got.dtype == dtype
        np.testing.assert_allclose(got, exact, rtol=0, atol=8 * TOLERANCE[dtype].bound)
    for dtype in ("float32", "float16", "bfloat16"):
        for of_turn in (torch.float64, torch.float32, torch.float16):
            words = torch.from_numpy(x).to(getattr(torch, dtype))
            ours = fast.rope(words, torch.from_numpy(turn).to(of_turn), pairing)
            back = fast.rope_vjp(torch.from_numpy(turn).to(of_turn), ours, pairing)
            assert ours.dtype == back.dtype == words.dtype
            bound = 16 * max(TOLERANCE[dtype].bound, torch.finfo(of_turn).eps)
            np.testing.assert_allclose(ours.double(), exact, rtol=0, atol=bound)
            np.testing.assert_allclose(back.double(), x, rtol=0, atol=2 * bound)


def test_an_error_names_what_was_called_and_not_what_that_calls() -> None:
    x, p = np.ones((3, D_MODEL)), heads(4, 2)
    for module, convert in ((reference, lambda a: a), (fast, torch.from_numpy)):
        tree, words = tree_map(convert, p), convert(x)
        with pytest.raises(TypeError, match=r"^multi_head_attention_vjp: mask must hold booleans"):
            module.multi_head_attention_vjp(words, tree, words, mask=words)
        mask = convert(np.ones((3, 4), dtype=bool))
        with pytest.raises(ValueError, match=r"^multi_head_attention_vjp: axis S is 3 in x, as"):
            module.multi_head_attention_vjp(words, tree, words, mask=mask)
        assert np.isfinite(np.asarray(module.softmax(words))).all()
        with pytest.raises(TypeError, match=r"^softmax: x must be"):
            module.softmax(1)  # the next call is an outer one again
