"""Hyper-connections, compressed attention and hash routing, by loops; and what is refused."""

from dataclasses import replace
from types import ModuleType
from typing import Any

import numpy as np
import pytest
import torch

from tformer import fast, reference
from tformer.layer_configuration import LayerConfiguration, Rotary, Routing, Streams
from tformer.layers import CompressedAttentionParameters, HyperConnectionParameters
from tformer.parameters import tree_map
from tformer.shapes import ShapeError

LIBRARIES = pytest.mark.parametrize("module", [reference, fast], ids=["reference", "fast"])
T, N_STREAMS, D_MODEL, EPS = 5, 3, 4, 0.1


def normal(*shape: int) -> np.ndarray:
    return np.random.default_rng(shape).normal(size=shape)


def of(module: ModuleType, tree: Any) -> Any:
    return tree if module is reference else tree_map(torch.from_numpy, tree)


def assert_close(found: Any, expected: Any) -> None:
    np.testing.assert_allclose(np.asarray(found), expected, atol=1e-13)


def rms(row: np.ndarray) -> np.ndarray:
    return row / np.sqrt(np.mean(row**2) + EPS)


def sigmoid(x: Any) -> Any:
    return 1 / (1 + np.exp(-x))


@LIBRARIES
def test_sinkhorn_of_two_streams_is_its_closed_form(module: ModuleType) -> None:
    """The limit keeps the cross ratio of a positive matrix, and its rows and columns sum to 1."""
    logits = normal(5, 2, 2)
    root = np.exp((logits[:, 0, 0] + logits[:, 1, 1] - logits[:, 0, 1] - logits[:, 1, 0]) / 2)
    same = root / (1 + root)
    expected = np.stack([np.stack([same, 1 - same], -1), np.stack([1 - same, same], -1)], -2)
    assert_close(module.sinkhorn(of(module, logits), n_rounds=200, eps=1e-15), expected)


@LIBRARIES
def test_columns_come_last_in_sinkhorn(module: ModuleType) -> None:
    logits = normal(3, 3)
    found = np.asarray(module.sinkhorn(of(module, logits), n_rounds=2, eps=1e-15))
    assert_close(found.sum(axis=-2), 1)
    assert np.abs(found.sum(axis=-1) - 1).max() > 1e-4
    rows = np.exp(logits) / np.exp(logits).sum(axis=-1, keepdims=True) + EPS
    once = module.sinkhorn(of(module, logits), n_rounds=1, eps=EPS)
    assert_close(once, rows / (rows.sum(axis=-2) + EPS))


def connection() -> HyperConnectionParameters:
    n = N_STREAMS
    arrays = (normal(n, D_MODEL, n), normal(n), np.array([0.7]))
    written = (normal(n, D_MODEL, n) / 2, normal(n) / 2, np.array([0.5]))
    return HyperConnectionParameters(
        *arrays, *written, normal(n, D_MODEL, n, n), normal(n, n), np.array([0.3])
    )


@LIBRARIES
def test_streams_are_weighed_read_and_written_as_loops_do_it(module: ModuleType) -> None:
    p, streams, every = connection(), Streams(3, EPS), range(N_STREAMS)
    x, y = normal(T, N_STREAMS, D_MODEL), normal(T, D_MODEL)
    x_given, y_given = of(module, (x, y))
    read, write, mix = module.stream_weights(x_given, of(module, p), streams, EPS)
    inputs = module.read_streams(x_given, read)
    after = module.write_streams(x_given, y_given, write, mix)
    for t in range(T):
        u = rms(x[t].ravel()).reshape(x[t].shape)
        reads = [0.7 * np.sum(u * p.w_read[..., i]) + p.b_read[i] for i in every]
        writes = [0.5 * np.sum(u * p.w_write[..., i]) + p.b_write[i] for i in every]
        mixes = [
            [0.3 * np.sum(u * p.w_mix[..., i, j]) + p.b_mix[i, j] for j in every] for i in every
        ]
        a, b = sigmoid(np.array(reads)) + EPS, 2 * sigmoid(np.array(writes))
        m = reference.sinkhorn(np.array(mixes), 3, EPS)
        for found, expected in ((read, a), (write, b), (mix, m)):
            assert_close(found[t], expected)
        assert_close(inputs[t], sum(a[i] * x[t, i] for i in every))
        for j in every:
            assert_close(after[t, j], b[j] * y[t] + sum(m[i, j] * x[t, i] for i in every))


def test_streams_that_are_only_read_have_no_other_weights() -> None:
    p, x, dread = connection(), normal(T, N_STREAMS, D_MODEL), normal(T, N_STREAMS)
    only = HyperConnectionParameters(p.w_read, p.b_read, p.read_scale)
    weights = reference.stream_weights(x, only, Streams())
    assert weights[1:] == (None, None)
    assert_close(weights[0], reference.stream_weights(x, p, Streams())[0])
    for module in (reference, fast):
        given = of(module, x), of(module, only), Streams(), of(module, dread)
        dx, dp = module.stream_weights_vjp(*given)
        dx_all, dp_all = module.stream_weights_vjp(given[0], of(module, p), *given[2:])
        assert_close(dx, np.asarray(dx_all))
        assert_close(dp.w_read, np.asarray(dp_all.w_read))
        assert dp.w_mix is None
        assert not dp_all.w_mix.any()


def attention(n_series: int = 2, n_window: int = 2) -> CompressedAttentionParameters:
    d_q, d, d_c, d_i, n_index = 6, 4, 3, 2, 3
    pools = (normal(n_series, D_MODEL, d), normal(n_series, D_MODEL, d) / 2)
    index = (normal(n_index, d_q, d_i), normal(D_MODEL, n_index))
    index_pools = (normal(n_series, D_MODEL, d_i), normal(n_series, D_MODEL, d_i) / 2)
    return CompressedAttentionParameters(
        *(normal(D_MODEL, d_q), 1 + normal(d_q) / 4, normal(4, d_q, d)),
        *(normal(D_MODEL, d), 1 + normal(d) / 4, normal(4, d, d_c), normal(2, d_c, D_MODEL)),
        *(normal(4), *pools, normal(n_series, n_window, d), 1 + normal(d) / 5),
        *(*index, *index_pools, normal(n_series, n_window, d_i), 1 + normal(d_i) / 4),
    )


def pooled(x: np.ndarray, w: int, w_kv: Any, w_pool: Any, bias: Any) -> np.ndarray:
    """The row of window w: its own tokens by the second series, the window before by the first."""
    terms, n_window = [], bias.shape[1]
    for i, first in ((0, (w - 1) * n_window), (1, w * n_window)):
        for place in range(n_window):
            if first + place >= 0:
                token = x[first + place]
                terms.append((token @ w_kv[i], np.exp(token @ w_pool[i] + bias[i, place])))
    return np.asarray(sum(kv * weight for kv, weight in terms) / sum(z for _, z in terms))


@LIBRARIES
@pytest.mark.parametrize("top_k", [1, 2, 9])
def test_compressed_attention_is_what_loops_compute(module: ModuleType, top_k: int) -> None:
    p, x = attention(), normal(7, D_MODEL)
    c = LayerConfiguration(eps=EPS, index_top_k=top_k)
    rows = [rms(token @ p.w_kv) * p.kv_gain for token in x]
    series = range(7 // 2)
    windows = [rms(pooled(x, w, p.w_pool_kv, p.w_pool, p.b_pool)) * p.pool_gain for w in series]
    index = (p.w_index_kv, p.w_index_pool, p.b_index_pool)
    keys = [rms(pooled(x, w, *index)) * p.index_gain for w in series]
    expected = []
    for t, token in enumerate(x):
        latent = rms(token @ p.w_q_down) * p.q_gain
        scores = [np.maximum(latent @ p.w_index_q @ key, 0) @ (token @ p.w_index) for key in keys]
        ready = [w for w in series if 2 * w + 1 <= t]
        chosen = sorted(ready, key=lambda w: -scores[w])[:top_k]
        seen = np.array([*rows[: t + 1], *(windows[w] for w in chosen)])
        groups = np.zeros((2, p.w_o.shape[1]))
        for h in range(4):
            weights = np.exp(seen @ rms(latent @ p.w_q[h]) / 2)
            y = weights @ seen / (weights.sum() + np.exp(p.sinks[h]))
            groups[h // 2] += y @ p.w_o_down[h]
        expected.append(sum(groups[g] @ p.w_o[g] for g in range(2)))
    assert_close(module.compressed_attention(of(module, x), of(module, p), c), expected)


@LIBRARIES
def test_padding_is_in_no_window_and_no_key(module: ModuleType) -> None:
    p, x = attention(n_window=3), normal(8, D_MODEL)
    c = LayerConfiguration(eps=EPS, index_top_k=1, rotary=Rotary(width=2))
    padded = np.concatenate([np.full((2, D_MODEL), 9.0), x])
    grad, valid = normal(8, D_MODEL), np.arange(10) >= 2
    given = {"valid": valid, "positions": np.maximum(np.arange(10) - 2, 0)}
    given = {name: of(module, one) for name, one in given.items()}
    for mask in ({}, {"mask": of(module, np.ones((10, 10), bool))}):
        options = given | mask
        y = module.compressed_attention(of(module, padded), of(module, p), c, **options)
        assert_close(
            y[2:], np.asarray(module.compressed_attention(of(module, x), of(module, p), c))
        )
        dy = of(module, np.concatenate([np.zeros((2, D_MODEL)), grad]))
        dx, _ = module.compressed_attention_vjp(of(module, padded), of(module, p), c, dy, **options)
        alone = module.compressed_attention_vjp(of(module, x), of(module, p), c, of(module, grad))
        assert_close(dx[:2], 0)
        assert_close(dx[2:], np.asarray(alone[0]))


@LIBRARIES
def test_hash_routing_weighs_the_experts_that_are_named(module: ModuleType) -> None:
    logits, experts = of(module, (normal(2, 4), np.array([[0, 2], [3, 3]])))
    found = np.asarray(module.hash_routing(logits, experts, Routing(1, "sqrt_softplus")))
    scores = np.sqrt(np.log(1 + np.exp(normal(2, 4))))
    assert_close(found, [[scores[0, 0], 0, scores[0, 2], 0], [0, 0, 0, scores[1, 3]]])
    choices = Routing(1, "sqrt_softplus", renormalise=True, factor=1.5)
    shares = np.asarray(module.hash_routing(logits, experts, choices))
    assert_close(shares, 1.5 * found / found.sum(axis=-1, keepdims=True))


@LIBRARIES
def test_gradients_of_a_token_with_its_best_experts_are_those_of_a_choice(
    module: ModuleType,
) -> None:
    """Where the table names what scores would choose, both routers are one function."""
    logits, grad = of(module, (normal(3, 5), normal(3, 5) + 1))
    experts = of(module, np.argsort(-normal(3, 5), axis=-1)[:, :2].copy())
    routing = Routing(2, "sqrt_softplus", renormalise=True)
    found = module.hash_routing_vjp(logits, experts, routing, grad)
    assert_close(found, np.asarray(module.top_k_routing_vjp(logits, routing, grad)))


@LIBRARIES
def test_arrays_that_belong_together_are_wanted_together(module: ModuleType) -> None:
    x, p = of(module, (normal(T, N_STREAMS, D_MODEL), connection()))
    for name in ("w_write", "b_mix"):
        with pytest.raises(ValueError, match=rf"^stream_weights: parameters .* got no {name}$"):
            module.stream_weights(x, replace(p, **{name: None}), Streams())
    x, p = of(module, (normal(T, D_MODEL), attention()))
    c = LayerConfiguration(index_top_k=1)
    for name in ("w_pool", "index_gain"):
        wanted = rf"^compressed_attention: parameters must have all of .* got no {name}$"
        with pytest.raises(ValueError, match=wanted):
            module.compressed_attention(x, replace(p, **{name: None}), c)
    with pytest.raises(ValueError, match=r"needs configuration\.index_top_k; got None"):
        module.compressed_attention(x, p, LayerConfiguration())
    without = dict.fromkeys(("w_pool_kv", "w_pool", "b_pool", "pool_gain"))
    with pytest.raises(ValueError, match=r"w_index_q needs windows; got no b_pool"):
        module.compressed_attention(x, replace(p, **without), c)
    empty = {"b_pool": p.b_pool[:, :0], "b_index_pool": p.b_index_pool[:, :0]}
    with pytest.raises(ShapeError, match="a window must have tokens"):
        module.compressed_attention(x, replace(p, **empty), c)
