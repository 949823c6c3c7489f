"""Positions: waves, rotations and biases; what stays the same when all move along."""

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from cases import to_numpy
from tformer import fast, reference
from tformer.parameters import HeadParameters, leaves

places = st.integers(-50, 10_000)
both = pytest.mark.parametrize("pairing", ["adjacent", "half"])
T, D = 7, 6


def rows(*shape: int) -> np.ndarray:
    return np.random.default_rng(0).standard_normal(shape)


@given(p=places, k=st.integers(-500, 500), base=st.floats(1.5, 1e6))
def test_waves_move_on_by_a_rotation_that_only_depends_on_how_far(
    p: int, k: int, base: float
) -> None:
    """Bound 1e-9: an angle of up to 1e4 is known to 1e-12, and so are its sine and cosine."""
    here, there = reference.sinusoidal(np.array([p, p + k]), D, base)
    for i in range(0, D, 2):
        angle = k * base ** (-i / D)
        turn = np.array([[np.cos(angle), np.sin(angle)], [-np.sin(angle), np.cos(angle)]])
        np.testing.assert_allclose(there[i : i + 2], turn @ here[i : i + 2], rtol=0, atol=1e-9)
    expected = np.cos(k * base ** (-np.arange(0, D, 2) / D)).sum()
    np.testing.assert_allclose(here @ there, expected, rtol=0, atol=1e-9)
    np.testing.assert_allclose(here @ here, D / 2, rtol=1e-12)


def test_waves_are_those_of_the_paper() -> None:
    """Entry by entry, 10000^(-2i/d) without a base; and the default base is that of both twins."""
    positions = np.array([0, 1, 100, 9999, 2**31 - 1])
    expected = np.empty((5, 8))
    for row, p in enumerate(positions):
        for i in range(4):
            angle = p / 10000 ** (2 * i / 8)
            expected[row, 2 * i : 2 * i + 2] = np.sin(angle), np.cos(angle)
    np.testing.assert_allclose(reference.sinusoidal(positions, 8), expected, rtol=0, atol=1e-6)
    got = fast.sinusoidal(torch.from_numpy(positions), 8)
    np.testing.assert_allclose(got, expected, rtol=0, atol=1e-6)
    np.testing.assert_allclose(reference.sinusoidal(positions[2:3], 4)[0, 2], np.sin(1), rtol=1e-12)


def test_waves_between_those_of_training_are_the_same_waves() -> None:
    positions = np.arange(10)
    near = reference.sinusoidal(4 * positions, D, interpolation=4.0)
    np.testing.assert_allclose(near, reference.sinusoidal(positions, D), rtol=0, atol=1e-12)
    assert np.abs(reference.sinusoidal(4 * positions, D) - near).max() > 0.5


def test_waves_of_far_positions_are_exact_in_float32() -> None:
    """An angle of 1,000,001 in float32 would be off by 0.03."""
    far = np.array([1_000_001, 2**31 - 1])
    got = fast.sinusoidal(torch.from_numpy(far), D)
    assert got.dtype == torch.float32
    np.testing.assert_allclose(got.numpy(), reference.sinusoidal(far, D), rtol=0, atol=1e-6)


@both
@given(m=places, n=places, k=st.integers(-500, 500))
def test_scores_of_turned_rows_only_depend_on_how_far_apart_they_are(
    pairing: str, m: int, n: int, k: int
) -> None:
    q, key = rows(2, 1, D)

    def turned(x: np.ndarray, position: int) -> np.ndarray:
        return reference.rope(x, reference.sinusoidal(np.array([position]), D), pairing)

    score, moved = (turned(q, m + by) @ turned(key, n + by).T for by in (0, k))
    np.testing.assert_allclose(moved, score, rtol=0, atol=1e-9)
    np.testing.assert_allclose(turned(q, m - n) @ key.T, score, rtol=0, atol=1e-9)
    length = np.linalg.norm(q)
    np.testing.assert_allclose(np.linalg.norm(turned(q, m)), length, rtol=1e-12)
    np.testing.assert_array_equal(turned(q, 0), q)


def test_a_pair_is_turned_from_its_first_coordinate_to_its_second() -> None:
    """By a quarter of a turn, with one frequency only: where each coordinate goes, and its sign."""
    x, waves = np.arange(1.0, 5.0)[np.newaxis], np.array([[1.0, 0.0, 1.0, 0.0]])
    assert reference.rope(x, waves).tolist() == [[-2, 1, -4, 3]]
    assert reference.rope(x, waves, "half").tolist() == [[-3, -4, 1, 2]]


@pytest.mark.parametrize("d_k", [0, 2, 4, 10])
def test_the_two_pairings_are_one_up_to_a_permutation(d_k: int) -> None:
    """Of the coordinates; and so of the columns of both matrices, after which no score changes."""
    x, waves = rows(2, T, d_k), reference.sinusoidal(np.arange(T), d_k)
    order = reference.rope_permutation(d_k)
    adjacent, half = reference.rope(x, waves), reference.rope(x[..., order], waves, "half")
    np.testing.assert_array_equal(half, adjacent[..., order])
    np.testing.assert_array_equal(half[..., np.argsort(order)], adjacent)
    if d_k > 2:
        assert np.abs(reference.rope(x, waves, "half") - adjacent).max() > 0.1
    w_q, w_k = rows(2, 5, d_k)
    words = rows(T, 5)

    def scores(w_q: np.ndarray, w_k: np.ndarray, pairing: str) -> np.ndarray:
        q, k = (reference.rope(words @ w, waves, pairing) for w in (w_q, w_k))
        return q @ k.T

    expected = scores(w_q, w_k, "adjacent")
    got = scores(w_q[:, order], w_k[:, order], "half")
    np.testing.assert_allclose(got, expected, rtol=0, atol=1e-12)


@both
def test_what_is_turned_back_is_what_it_was_and_the_gradient(pairing: str) -> None:
    x, waves = rows(3, 2, T, D), reference.sinusoidal(np.arange(T) + 5, D)
    turned = reference.rope(x, waves, pairing)
    np.testing.assert_allclose(reference.rope_vjp(waves, turned, pairing), x, rtol=0, atol=1e-12)
    leaf, grad = torch.from_numpy(x).requires_grad_(), np.flip(x).copy()
    fast.rope(leaf, torch.from_numpy(waves), pairing).backward(torch.from_numpy(grad))
    expected = reference.rope_vjp(waves, grad, pairing)
    np.testing.assert_allclose(to_numpy(leaf.grad), expected, rtol=0, atol=1e-12)


@both
@pytest.mark.parametrize("dtype", [torch.float64, torch.float32])
def test_rows_may_lie_anywhere_in_memory(pairing: str, dtype: torch.dtype) -> None:
    """As a projection leaves them, every other column, at an odd place, backwards, repeated."""
    store = torch.from_numpy(rows(2, T, 4 * D)).to(dtype)
    waves = fast.sinusoidal(torch.arange(T), D).to(dtype)
    laid = {
        "heads of a projection": store.unflatten(-1, (4, D)).transpose(1, 2),
        "every other column": store[..., ::4],
        "at an odd place": store[..., 1 : D + 1],
        "odd rows": store.flatten()[1 : 1 + T * (D + 1)].view(T, D + 1)[:, :D],
        "columns as rows": store[..., :D].mT.contiguous().mT,
        "repeated": store[:1, :1, :D].expand(2, T, D),
    }
    for x in laid.values():
        expected = reference.rope(x.numpy().copy(), waves.numpy(), pairing)
        np.testing.assert_allclose(fast.rope(x, waves, pairing), expected, rtol=0, atol=1e-6)


@both
def test_a_cache_of_turned_keys_gives_what_the_whole_gives(pairing: str) -> None:
    """The last queries alone, each turned at its own place; and two documents in one row."""
    q, k, v = rows(3, T, D)
    waves = reference.sinusoidal(np.arange(T), D)
    turned = [reference.rope(x, waves, pairing) for x in (q, k)]
    whole = reference.causal_attention(*turned, v)
    last = reference.rope(q[4:], reference.sinusoidal(np.arange(3) + 4, D), pairing)
    cached = reference.causal_attention(last, turned[1], v, offset=4)
    np.testing.assert_allclose(cached, whole[4:], rtol=0, atol=1e-12)
    documents, again = np.array([0] * 4 + [1] * 3), np.array([0, 1, 2, 3, 0, 1, 2])
    packed = [reference.rope(x, reference.sinusoidal(again, D), pairing) for x in (q, k)]
    mask = reference.packed_mask(documents, documents) & reference.causal_mask(T, T)
    together = reference.attention(*packed, v, mask)
    np.testing.assert_allclose(together[:4], whole[:4], rtol=0, atol=1e-12)
    second = [reference.rope(x[4:], waves[:3], pairing) for x in (q, k)]
    alone = reference.causal_attention(*second, v[4:])
    np.testing.assert_allclose(together[4:], alone, rtol=0, atol=1e-12)


@given(n=st.integers(0, 4), t=st.integers(0, 6), s=st.integers(0, 6), offset=st.integers(0, 6))
def test_a_relative_bias_reads_its_distance_and_passes_back_to_it(
    n: int, t: int, s: int, offset: int
) -> None:
    table, grad = rows(3, 2 * n + 1), rows(3, t, s)
    bias = reference.relative_bias(table, t, s, offset)
    wanted = np.zeros_like(table)
    for h, i, j in np.ndindex(bias.shape):
        column = min(max(j - i - offset, -n), n) + n
        assert bias[h, i, j] == table[h, column]
        wanted[h, column] += grad[h, i, j]
    got = reference.relative_bias_vjp(table, grad, offset)
    np.testing.assert_allclose(got, wanted, rtol=0, atol=1e-12)
    leaf = torch.from_numpy(table).requires_grad_()
    (fast.relative_bias(leaf, t, s, offset) * torch.from_numpy(grad)).sum().backward()
    np.testing.assert_allclose(to_numpy(leaf.grad), wanted, rtol=0, atol=1e-12)


def test_biases_of_heads_are_taken_by_many_heads_and_learn_from_them() -> None:
    """The gradient that many heads pass back to a bias goes on to its table."""
    weights = HeadParameters(*(rows(4, *shape) / 2 for shape in ((5, D), (5, D), (5, 3), (3, 5))))
    x, grad, table = rows(2, T, 5), np.flip(rows(2, T, 5)).copy(), rows(4, 5)
    given = {"mask": reference.causal_mask(T, T), "bias": reference.relative_bias(table, T, T)}
    *_, dbias = reference.multi_head_attention_vjp(x, weights, grad, **given)
    assert dbias is not None
    got = reference.relative_bias_vjp(table, dbias)
    leaf = torch.from_numpy(table).requires_grad_()
    ours = HeadParameters(*map(torch.from_numpy, leaves(weights)))
    y = fast.multi_head_attention(
        torch.from_numpy(x),
        ours,
        mask=fast.causal_mask(T, T),
        bias=fast.relative_bias(leaf, T, T),
    )
    y.backward(torch.from_numpy(grad))
    np.testing.assert_allclose(got, to_numpy(leaf.grad), rtol=0, atol=1e-10)


def test_slopes_of_heads() -> None:
    """Those the authors print for eight heads, and for twelve what their code gives."""
    eight = [2.0**-h for h in range(1, 9)]
    assert reference.alibi_slopes(8).tolist() == eight
    assert reference.alibi_slopes(1).tolist() == [2.0**-8]
    between = [2.0 ** -(h + 0.5) for h in range(4)]
    np.testing.assert_allclose(reference.alibi_slopes(12), eight + between, rtol=1e-15)
    for n in range(1, 70):
        slopes = reference.alibi_slopes(n)
        assert len(set(slopes.tolist())) == n
        assert ((slopes > 0) & (slopes < 1)).all()


def test_a_bias_by_distance_falls_on_both_sides_and_knows_its_offset() -> None:
    bias = reference.alibi_bias(2, 2, 4, offset=1)
    for table, slope in zip(bias, (2.0**-4, 2.0**-8), strict=True):
        assert (table / -slope).tolist() == [[1, 0, 1, 2], [2, 1, 0, 1]]
    whole = reference.alibi_bias(3, 6, 6)
    np.testing.assert_array_equal(reference.alibi_bias(3, 2, 6, offset=4), whole[:, 4:])


def test_rows_of_a_table_and_the_gradient_of_those_used_twice() -> None:
    table, tokens = rows(4, 3), np.array([[2, 0, 2], [2, 2, 0]], np.int8)
    np.testing.assert_array_equal(reference.embedding(tokens, table)[1, 2], table[0])
    grad = rows(2, 3, 3)
    expected = np.zeros_like(table)
    expected[2] = grad[0, 0] + grad[0, 2] + grad[1, 0] + grad[1, 1]
    expected[0] = grad[0, 1] + grad[1, 2]
    got = reference.embedding_vjp(tokens, table, grad)
    np.testing.assert_allclose(got, expected, rtol=0, atol=1e-12)
    leaf = torch.from_numpy(table).requires_grad_()
    fast.embedding(torch.from_numpy(tokens), leaf).backward(torch.from_numpy(grad))
    np.testing.assert_allclose(to_numpy(leaf.grad), expected, rtol=0, atol=1e-12)


def test_a_gradient_of_half_precision_is_summed_before_it_is_rounded() -> None:
    """In float16 a sum of ones would stop at 2048, and one of bfloat16 at 256."""
    tokens, table = torch.zeros(5000, dtype=torch.int64), torch.zeros(3, 1)
    for dtype in (torch.float16, torch.bfloat16):
        got = fast.embedding_vjp(tokens, table.to(dtype), torch.ones(5000, 1, dtype=dtype))
        assert got[0].item() == torch.tensor(5000.0, dtype=dtype).item()
        bias = fast.relative_bias_vjp(table.T.to(dtype), torch.ones(1, 1, 5000, dtype=dtype))
        assert bias[0, 2].item() == torch.tensor(4999.0, dtype=dtype).item()
