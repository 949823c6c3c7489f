"""Several residual streams and pooled windows: by loops, by closed forms, and what is refused."""

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
import torch

from every import every
from released_models import arrays_of, fixture
from tformer import fast, reference
from tformer.layer_configuration import LayerConfiguration, Loop, Routing, Streams
from tformer.layers import ExpertParameters, LayeredParameters
from tformer.models import layers_from_state_dict
from tformer.models.layered import (
    cached_layered_decoder,
    layered_decoder,
    layered_decoder_vjp,
)
from tformer.parameters import tree_map
from tformer.pretrained import PretrainedError
from tformer.reference.windows import pool, tokens_first

NAME, KEY = "deepseek_v4", "layers.0.token_experts"


def model() -> tuple[LayeredParameters, Any, np.ndarray]:
    found = fixture(NAME)
    return *layers_from_state_dict(found["config"], arrays_of(found)), np.array(found["tokens"])


@every("n_series", [1, 2, 3])
def test_windows_are_pooled_as_loops_pool_them(n_series: int) -> None:
    rng = np.random.default_rng(n_series)
    n_tokens, n_window, d = 11, 3, 4
    kv, logits = rng.normal(size=(2, n_series, n_tokens, d))
    bias = rng.normal(size=(n_series, n_window, d))
    rows = []
    for w in range(n_tokens // n_window):
        total, weights = np.zeros(d), np.zeros(d)
        for i in range(n_series):
            first = (w - (n_series - 1 - i)) * n_window
            for t in range(first, first + n_window):
                if t >= 0:
                    weight = np.exp(logits[i, t] + bias[i, t - first])
                    total, weights = total + weight * kv[i, t], weights + weight
        rows.append(total / weights)
    np.testing.assert_allclose(pool(kv, logits, bias, None).rows, rows, atol=1e-13)
    valid = np.arange(n_tokens + 2) >= 2
    padded = [np.concatenate([np.full((n_series, 2, d), 9.0), x], axis=1) for x in (kv, logits)]
    found = pool(*padded, bias, tokens_first(valid)).rows[: len(rows)]
    np.testing.assert_allclose(found, rows, atol=1e-13)


def test_no_token_sees_a_later_one() -> None:
    p, c, tokens = model()
    before = layered_decoder(tokens, p, c)
    for t in range(1, len(tokens)):
        changed = tokens.copy()
        changed[t:] = (changed[t:] + 1) % len(p.embedding)
        np.testing.assert_array_equal(layered_decoder(changed, p, c)[:t], before[:t])


def test_a_shift_of_all_positions_changes_nothing() -> None:
    """Keys serve as values, so their rotation is undone; windows have positions, too."""
    p, c, tokens = model()
    found = layered_decoder(tokens, p, c, positions=np.arange(len(tokens)) + 40)
    expected = layered_decoder(tokens, p, c)
    assert np.abs(found - expected).max() < 1e-12 * np.abs(expected).max()


def test_an_indexer_that_may_choose_all_windows_leaves_none_out() -> None:
    p, c, tokens = model()
    every_window = replace(c, layers=tuple(replace(x, index_top_k=99) for x in c.layers))
    none = {f"w_index{x}": None for x in ("", "_q", "_kv", "_pool")}
    none |= {"b_index_pool": None, "index_gain": None}
    layers = tuple(
        replace(x, compressed=replace(x.compressed, **none)) if x.compressed else x
        for x in p.layers
    )
    expected = layered_decoder(tokens, replace(p, layers=layers), c)
    np.testing.assert_array_equal(layered_decoder(tokens, p, every_window), expected)
    assert not np.allclose(layered_decoder(tokens, p, c), expected)


@every("library", [reference, fast])
def test_cached_in_parts_with_left_padding_equals_each_alone(library: Any) -> None:
    p, c, tokens = model()
    wrap = np.asarray if library is reference else torch.from_numpy
    p = tree_map(lambda x: wrap(np.ascontiguousarray(x)), p)
    n = 3
    batch = np.stack([tokens, np.concatenate([tokens[-n:], tokens[:-n]])])
    valid = np.ones(batch.shape, bool)
    valid[1, :n] = False
    positions = np.maximum(np.cumsum(valid, -1) - 1, 0)
    caches, parts, end = None, [], 0
    for part in np.split(batch, [5, 6, 9], axis=1):
        end += part.shape[1]
        given = {"valid": wrap(valid[:, :end]), "positions": wrap(positions[:, :end])}
        part = wrap(np.ascontiguousarray(part))
        logits, caches = cached_layered_decoder(part, p, c, caches, **given)
        parts.append(np.asarray(logits))
    found, expected = np.concatenate(parts, axis=1), np.array(fixture(NAME)["logits"])
    for one, other in ((found[0], expected), (found[1, n:], expected[:-n])):
        assert np.abs(one - other).max() < 1e-12 * np.abs(expected).max()


@every("library", [reference, fast])
def test_a_clipped_silu_keeps_gates_to_10_and_hidden_units_within_10(library: Any) -> None:
    gates, inner = np.array([-20.0, 3, 12]), np.array([-12.0, 11, 4])
    arrays = inner.reshape(1, 1, 3), gates.reshape(1, 1, 3), np.ones((1, 3, 1))
    p = ExpertParameters(np.zeros((1, 1)), *arrays)
    x, weights = np.ones((1, 1)), np.ones((1, 1))
    if library is fast:
        p, x, weights = tree_map(torch.from_numpy, (p, x, weights))
    kept = np.minimum(gates, 10)
    expected = np.sum(kept / (1 + np.exp(-kept)) * np.clip(inner, -10, 10))
    found = library.mixture_of_experts(x, p, weights, "clipped_silu")
    np.testing.assert_allclose(np.asarray(found), [[expected]], rtol=1e-14)


def test_experts_of_a_table_do_not_follow_scores() -> None:
    p, c, tokens = model()
    table = p.layers[0].token_experts
    first = replace(p.layers[0], token_experts=(table + 1) % 4)
    found = layered_decoder(tokens, replace(p, layers=(first, *p.layers[1:])), c)
    assert not np.allclose(found, layered_decoder(tokens, p, c))


def test_a_module_with_a_table_of_experts_has_gradients() -> None:
    p, c, tokens = model()
    tensors = tree_map(lambda x: torch.from_numpy(np.ascontiguousarray(x)), p)
    module = fast.Module(layered_decoder, tensors, configuration=c)
    module(torch.from_numpy(tokens)).square().sum().backward()
    grads = {name: x.grad is not None for name, x in module.named_parameters()}
    without = {name for name, has in grads.items() if not has}
    assert all("index" in name or "choice_bias" in name for name in without - {KEY})
    assert KEY in without


@every("dtype", ["float16", "bfloat16"])
def test_half_precision_is_computed_in_float32(dtype: str) -> None:
    """Hidden states are rounded once, then the norm and the unembedding round."""
    p, c, tokens = model()
    half = getattr(torch, dtype)
    tensors = tree_map(lambda x: torch.from_numpy(np.ascontiguousarray(x)), p)
    tensors = tree_map(lambda x: x.to(half) if x.is_floating_point() else x, tensors)
    found = layered_decoder(torch.from_numpy(tokens), tensors, c)
    wide = tree_map(lambda x: x.float() if x.is_floating_point() else x, tensors)
    expected = layered_decoder(torch.from_numpy(tokens), wide, c)
    assert found.dtype == half
    bound = 4 * torch.finfo(half).eps * float(expected.abs().max())
    assert float((found.float() - expected).abs().max()) < bound
    if dtype == "float16":
        arrays = tree_map(lambda x: x.numpy(), tensors)
        ours = layered_decoder(tokens, arrays, c)
        assert ours.dtype == np.float16
        assert np.abs(ours - expected.numpy()).max() < bound
        grads = layered_decoder_vjp(tokens, arrays, c, np.ones_like(ours))
        assert grads.embedding.dtype == np.float16


def test_scores_are_roots_of_softplus() -> None:
    logits = np.array([[-3.0, 0.5, 2.0]])
    expected = np.sqrt(np.log(1 + np.exp(logits)))
    found = reference.top_k_routing(logits, Routing(3, "sqrt_softplus"))
    np.testing.assert_allclose(found, expected, rtol=1e-14)


def test_what_does_not_fit_is_refused_by_name() -> None:
    p, c, tokens = model()

    def refused(part: str, p: Any = p, c: Any = c, kind: type[Exception] = ValueError) -> None:
        for run in (layered_decoder, cached_layered_decoder):
            with pytest.raises(kind, match=part):
                run(tokens, p, c)

    def with_last(**changes: Any) -> Any:
        return replace(p, layers=(*p.layers[:-1], replace(p.layers[-1], **changes)))

    last = p.layers[-1]
    refused(
        r"configuration\.streams must be given with parameters\.streams", c=replace(c, streams=None)
    )
    refused(r"must be given with parameters\.streams, and only then", replace(p, streams=None))
    refused(r"configuration\.loop must be None with streams", c=replace(c, loop=Loop(1)))
    refused(
        "layer 3 must have mixer_streams .* got no mixer_streams", with_last(mixer_streams=None)
    )
    refused("got scale", with_last(scale=np.ones(1)))
    chosen = (*c.layers[:-1], replace(c.layers[-1], index_top_k=None))
    refused(r"layer 3: an indexer needs configuration\.index_top_k", c=replace(c, layers=chosen))
    empty = replace(last.compressed, b_pool=last.compressed.b_pool[:, :0])
    refused("a window must have tokens", with_last(compressed=empty))
    for name in ("mixer_streams", "token_experts"):
        others = dict.fromkeys(("mixer_streams", "feed_forward_streams", "token_experts"))
        one = replace(p.layers[0], **others | {name: getattr(p.layers[0], name)})
        with pytest.raises(ValueError, match=rf"layer: parameters\.{name} is for a decoder"):
            reference.layer(p.embedding[tokens], one, c.layers[0])
    for make in (lambda: Streams(0), lambda: LayerConfiguration(index_top_k=0)):
        with pytest.raises(ValueError, match="must be finite and above 0"):
            make()


def test_a_table_of_experts_that_names_one_twice_or_none_is_refused() -> None:
    found = fixture(NAME)
    arrays = arrays_of(found)
    (key,) = found["tables"]
    for wrong in (arrays[key][:, [0, 0, 1]], arrays[key] + 4, arrays[key] - 4):
        with pytest.raises(PretrainedError, match="different experts"):
            layers_from_state_dict(found["config"], arrays | {key: wrong})
