"""Choosing a word: what is kept at the edges, and which word a uniform number draws."""

from collections.abc import Iterator
from types import ModuleType
from typing import Any

import numpy as np
import pytest
import torch

from every import every
from tformer import fast, reference

INF, NAN = np.inf, np.nan
LIBRARIES = pytest.mark.parametrize("module", [reference, fast], ids=["reference", "fast"])
LOG = [float(np.log(x)) for x in (0.5, 0.25, 0.125, 0.125)]


def of(module: ModuleType, x: Any, dtype: str = "float64") -> Any:
    array = np.array(x, dtype=dtype)
    return array if module is reference else torch.from_numpy(array)


def stays(row: Any) -> list[int]:
    """The numbers of the words that may come."""
    return [i for i, x in enumerate(row.tolist()) if x != -INF]


KEPT: list[tuple[str, dict[str, float], list[float], list[int]]] = [
    ("top_k", {"k": 1}, [0, 3, 1], [1]),
    ("top_k", {"k": 2}, [0, 3, 1], [1, 2]),
    ("top_k", {"k": 9}, [0, 3, 1], [0, 1, 2]),
    ("top_k", {"k": 1}, [1, 1, 0], [0, 1]),
    ("top_k", {"k": 2}, [2, 1, 1, 0], [0, 1, 2]),
    ("top_k", {"k": 2}, [-INF, 1, -INF], [1]),
    ("top_k", {"k": 1}, [-INF, -INF], []),
    ("top_k", {"k": 1}, [5], [0]),
    ("top_k", {"k": 1}, [NAN, 1, 0], [0, 1, 2]),
    ("top_k", {"k": 1}, [INF, 1], [0]),
    ("top_p", {"p": 0.5}, LOG, [0]),
    ("top_p", {"p": 0.51}, LOG, [0, 1]),
    ("top_p", {"p": 0.76}, LOG, [0, 1, 2, 3]),
    ("top_p", {"p": 1e-9}, LOG, [0]),
    ("top_p", {"p": 1e-30}, [0] * 3, [0, 1, 2]),
    ("top_p", {"p": 0.75}, LOG, [0, 1]),
    ("top_p", {"p": 1.0}, [0, -800, -INF], [0, 1]),
    ("top_p", {"p": 0.3}, [1, 1, 1, 0], [0, 1, 2]),
    ("top_p", {"p": 0.5}, [-INF, -INF], []),
    ("top_p", {"p": 0.5}, [3], [0]),
    ("top_p", {"p": 0.5}, [NAN, 1, 0], [0, 1, 2]),
    ("top_p", {"p": 0.5}, [INF, 1, 0], [0, 1, 2]),
    ("min_p", {"p": 0.49}, LOG, [0, 1]),
    ("min_p", {"p": 0.51}, LOG, [0]),
    ("min_p", {"p": 0.5}, LOG, [0, 1]),
    ("min_p", {"p": 0.24}, LOG, [0, 1, 2, 3]),
    ("min_p", {"p": 1.0}, [1, 1, 0], [0, 1]),
    ("min_p", {"p": 0.1}, [-INF, -INF], []),
    ("min_p", {"p": 0.1}, [7], [0]),
    ("min_p", {"p": 0.1}, [NAN, 1, 0], [0, 1, 2]),
    ("min_p", {"p": 0.1}, [INF, 1], [0, 1]),
]


@LIBRARIES
@every("case", KEPT)
def test_what_stays(module: ModuleType, case: tuple[Any, ...]) -> None:
    name, settings, row, kept = case
    for dtype in ("float64", "float32"):
        given = of(module, row, dtype)
        result = getattr(module, name)(given, **settings)
        assert stays(result) == kept
        np.testing.assert_array_equal(result[kept], given[kept])


def borders() -> Iterator[tuple[np.ndarray, int, int, list[bool], list[bool]]]:
    """Rows of whole numbers whose likeliest words reach a share exactly, and what stays."""
    rng = np.random.default_rng(0)
    for _ in range(300):
        n, total = rng.integers(2, 9), rng.integers(10, 101)
        parts = rng.multinomial(total, rng.dirichlet(np.full(n, 0.8)))
        parts = parts[parts > 0]
        least = int(rng.choice(parts))
        reached = int(parts[parts >= least].sum())
        if reached < total:
            nucleus = [bool(parts[parts > x].sum() < reached) for x in parts]
            yield parts, reached, least, nucleus, [bool(x >= least) for x in parts]


@LIBRARIES
@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("shift", [0.0, 3.0, -20.0, 100.0])
@pytest.mark.parametrize("rounded", [False, True], ids=["logarithms", "probabilities"])
def test_a_border_that_is_met_exactly_is_met(
    module: ModuleType, dtype: str, shift: float, rounded: bool
) -> None:
    """Fractions decide; logits are rounded logarithms of them, or of rounded probabilities."""
    for parts, reached, least, nucleus, best in borders():
        q = np.array(parts / parts.sum(), dtype=dtype if rounded else "float64")
        row = of(module, np.log(q) + q.dtype.type(shift), dtype)
        words = np.asarray(module.top_p(row, reached / parts.sum())) > -INF
        assert words.tolist() == nucleus, (parts, reached)
        words = np.asarray(module.min_p(row, least / parts.max())) > -INF
        assert words.tolist() == best, (parts, least)


@LIBRARIES
@pytest.mark.parametrize(
    ("dtype", "gap"), [("float64", 1e-14), ("float32", 3e-6), ("float16", 1e-4)]
)
def test_a_border_that_is_missed_by_more_than_rounding_is_missed(
    module: ModuleType, dtype: str, gap: float
) -> None:
    """Probabilities 1/2, 1/4, 1/4: their logarithms in float16 are off by some 1e-4."""
    row = of(module, np.log([0.5, 0.25, 0.25]), dtype)
    likeliest = float(
        np.asarray(module.softmax(row.astype("float64") if module is reference else row.double()))[
            0
        ]
    )
    assert stays(module.top_p(row, likeliest + gap)) == [0, 1, 2]
    assert stays(module.top_p(row, likeliest - gap)) == [0]
    share = float((1 - likeliest) / 2 / likeliest)
    assert stays(module.min_p(row, share * (1 + 4 * gap))) == [0]
    assert stays(module.min_p(row, share)) == [0, 1, 2]


@LIBRARIES
@pytest.mark.parametrize("name", ["top_k", "top_p", "min_p", "temperature"])
def test_no_words_stay_no_words(module: ModuleType, name: str) -> None:
    settings: dict[str, float] = {"k": 1} if name == "top_k" else {"p": 0.5}
    settings = {} if name == "temperature" else settings
    assert getattr(module, name)(of(module, np.zeros((2, 0))), **settings).shape == (2, 0)


@LIBRARIES
def test_rows_of_a_batch_are_cut_alone(module: ModuleType) -> None:
    rows = np.random.default_rng(0).standard_normal((2, 3, 7)) * 3
    for name, settings in (("top_k", {"k": 3}), ("top_p", {"p": 0.7}), ("min_p", {"p": 0.2})):
        cut = getattr(module, name)
        whole = np.asarray(cut(of(module, rows), **settings))
        for i in np.ndindex(2, 3):
            np.testing.assert_array_equal(
                whole[i], np.asarray(cut(of(module, rows[i]), **settings))
            )


@LIBRARIES
def test_the_order_of_words_does_not_matter_to_what_stays(module: ModuleType) -> None:
    rng = np.random.default_rng(1)
    for name, settings in (("top_k", {"k": 3}), ("top_p", {"p": 0.6}), ("min_p", {"p": 0.4})):
        for _ in range(50):
            row, order = np.round(rng.standard_normal(6)), rng.permutation(6)
            cut = getattr(module, name)
            one = np.asarray(cut(of(module, row[order]), **settings))
            np.testing.assert_array_equal(one, np.asarray(cut(of(module, row), **settings))[order])


@LIBRARIES
@pytest.mark.parametrize("dtype", ["float16", "float32"])
def test_a_small_temperature_does_not_overflow(module: ModuleType, dtype: str) -> None:
    cold = module.temperature(of(module, [300, 299, -INF], dtype), tau=1e-4)
    np.testing.assert_array_equal(np.asarray(module.softmax(cold)), [1, 0, 0])
    np.testing.assert_array_equal(
        np.asarray(module.temperature(of(module, [-INF, -INF], dtype), tau=2.0)), [-INF, -INF]
    )


DRAWN = [
    (LOG, 0.0, 0),
    (LOG, 0.4999, 0),
    (LOG, 0.5, 1),
    (LOG, 0.7499, 1),
    (LOG, 0.99, 3),
    ([-INF, 0, 0, -INF], 0.0, 1),
    ([-INF, 0, 0, -INF], 0.5, 2),
    ([-INF, 0, 0, -INF], 1 - 2.0**-53, 2),
    ([-INF, 0, 0, -INF], 1.0, 2),
    ([0.0], 0.3, 0),
    ([-INF, -INF], 0.3, -1),
    ([NAN, 0], 0.3, -1),
    ([INF, 0], 0.3, -1),
    ([], 0.3, -1),
    ([-INF, 0], NAN, -1),
    ([-INF, 0], -0.1, -1),
]


@LIBRARIES
@every("case", DRAWN)
def test_the_word_that_a_number_draws(module: ModuleType, case: tuple[Any, ...]) -> None:
    row, u, word = case
    assert module.sample(of(module, row), of(module, u)) == word


@LIBRARIES
def test_words_come_as_often_as_they_are_likely(module: ModuleType) -> None:
    """At equally spaced numbers the counts are off by one at most: no chance is in this test."""
    row = np.random.default_rng(2).standard_normal(9) * 2
    n = 100_000
    words = np.asarray(
        module.sample(of(module, np.tile(row, (n, 1))), of(module, (np.arange(n) + 0.5) / n))
    )
    counts = np.bincount(words, minlength=9)
    assert np.abs(counts - n * reference.softmax(row)).max() <= 1


@LIBRARIES
def test_a_share_is_above_0_and_at_most_1(module: ModuleType) -> None:
    for name in ("top_p", "min_p"):
        for p, message in ((0, "finite and above 0"), (1.5, "at most 1"), (NAN, "finite")):
            with pytest.raises(ValueError, match=f"^{name}: p must be {message}"):
                getattr(module, name)(of(module, [0.0]), p=p)


def test_what_is_forbidden_has_gradient_0() -> None:
    for name, settings in (("top_k", {"k": 2}), ("top_p", {"p": 0.6}), ("min_p", {"p": 0.4})):
        x = torch.tensor(LOG, dtype=torch.float64, requires_grad=True)
        cut = getattr(fast, name)(x, **settings)
        fast.softmax(cut)[0].backward()
        p = reference.softmax(cut.detach().numpy())
        assert x.grad is not None
        np.testing.assert_allclose(x.grad, reference.softmax_vjp(p, np.eye(4)[0]), atol=1e-12)
        assert (x.grad[cut == -torch.inf] == 0).all()


def test_after_an_error_halves_are_widened_again() -> None:
    """What is called inside trusts that the outermost call has widened; an error ends that."""
    large = np.full((1, 3), 300, dtype=np.float16)
    for _ in range(2):
        assert reference.dot(large, large)[0] == np.inf  # rounded once, at the end
        np.testing.assert_array_equal(reference.norm(large), np.float16([519.5]))
        with pytest.raises(ValueError, match="cross_entropy"):
            reference.cross_entropy(large, np.array([7]))
