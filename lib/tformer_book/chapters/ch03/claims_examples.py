"""The claims of chapter 3, queries, keys and values: worked examples in circulation."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import numpy as np

from tformer import reference as ref
from tformer_book.claims.registry import claim, require
from tformer_book.claims.tools import near, show
from tformer_book.world.sources import BUY_MILK, CPP_LISTING, THREE_TOKENS, WorkedExample, slips


def require_slips(example: WorkedExample, *expected: tuple[str, int, int]) -> None:
    """Require that exactly these entries (table, row, column, from 1) are not the right ones."""
    found = slips(example)
    for table, i, j, printed, right in found:
        numbers = f"row {i + 1}, column {j + 1} of the {table} is {right:.5f}, printed {printed}"
        require((table, i + 1, j + 1) in expected, numbers)
    require(len(found) == len(expected), f"{len(found)} slips, not {len(expected)}")


@claim(
    "exm-three-tokens",
    "numeric",
    mutants={"as printed": {"as_printed": True}, "divided by d_k": {"scale": 1 / 2}},
    scope="33 printed numbers",
)
def three_tokens(as_printed: bool = False, scale: float | None = None) -> str:
    """Beyond the statement, the slips of the whole listing, their size, and that no scale gives
    the printed row: its scores are 0, 2c and c, so the third weight squared is the product of the
    other two.
    """
    q, k, v = THREE_TOKENS.q, THREE_TOKENS.k, THREE_TOKENS.v
    weights, y = ref.attention_weights(q, k, scale=scale), ref.attention(q, k, v, scale=scale)
    want = (0.0454, 0.7679, 0.1867)
    require(near(weights[0], want, 5e-5), f"the weights are {show(weights[0])}, not {show(want)}")
    require(near(weights[1], weights[0][[1, 0, 2]]), f"the second token has {show(weights[1])}")
    require(near(y, [[0.2775, 1], [1.7225, 1], [1, 1]], 5e-5), f"outputs {show(y)} row by row")
    wrong = [("weights", i, j) for i, j in ((1, 2), (1, 3), (2, 1), (2, 3))]
    wrong += [("outputs", 1, 1), ("outputs", 2, 1)]
    require_slips(THREE_TOKENS, *wrong[: 0 if as_printed else None])
    errors = [abs(float(slip.printed) - slip.right) for slip in slips(THREE_TOKENS)]
    require(0.016 < max(errors) < 0.017, f"the largest error is {max(errors):.4f}")
    first, second, third = 0.05, 0.78, 0.17
    possible = (third + 0.005) ** 2 >= (first - 0.005) * (second - 0.005)
    require(not possible, "some scale gives 0.05, 0.78 and 0.17 after rounding")
    return (
        "to four decimals; six of the 33 printed numbers are off by more than their rounding, the "
        "largest by 0.0167; 0.175² < 0.045·0.775, so no scale gives the printed row"
    )


@claim(
    "exm-buy-milk",
    "numeric",
    mutants={"as printed": {"as_printed": True}, "mainly to milk": {"to_milk": "most"}},
    scope="33 printed numbers",
)
def buy_milk(as_printed: bool = False, to_milk: str = "least") -> str:
    """Beyond the statement, the slips of the whole listing and their size."""
    right = BUY_MILK.right()
    weights, y = right["weights"], right["outputs"]
    last, words = weights[2], ("Buy", "milk", "and")
    extreme = words[int(last.argmin() if to_milk == "least" else last.argmax())]
    require(extreme == "milk", f"{extreme} gets the {to_milk} of the weights {show(last)}")
    require(near(last, (0.3495, 0.3034, 0.3471), 5e-5), f"the weights are {show(last)}")
    require(near(y[1:], [[1.5704, 0.3148], [1.0845, 0.5925]], 5e-5), f"outputs {show(y[1:])}")
    diagonal = np.diag(right["scores"])
    require(near(diagonal, (0.7142, 0.8556, 0.5233), 5e-5), f"the diagonal is {show(diagonal)}")
    places = {
        "scores": ((1, 1), (2, 2), (2, 3), (3, 2), (3, 3)),
        "weights": ((2, 1), (2, 2), (3, 1), (3, 3)),
        "outputs": ((2, 1), (2, 2), (3, 1), (3, 2)),
    }
    wrong = [(table, i, j) for table, entries in places.items() for i, j in entries]
    require_slips(BUY_MILK, *wrong[: 0 if as_printed else None])
    errors = [abs(float(slip.printed) - slip.right) for slip in slips(BUY_MILK)]
    require(0.0007 < max(errors) < 0.0008, f"the largest error is {max(errors):.5f}")
    return (
        "to four decimals; thirteen of the 33 printed numbers are off by more than their rounding, "
        "the largest by 0.0007"
    )


@claim(
    "exm-cpp-attention",
    "numeric",
    mutants={"ε = 0.001": {"epsilon": 1e-3}, "ε = 1e-11": {"epsilon": 1e-11}},
    scope="twelve numbers; not compiled",
)
def cpp_attention(epsilon: float = 1e-12) -> str:
    """Short of the statement: it repeats the listing's arithmetic and does not compile it."""
    scores = CPP_LISTING.right()["scores"]
    terms = np.exp(scores - scores.max(axis=-1, keepdims=True))
    listed = terms / (terms.sum(axis=-1, keepdims=True) + epsilon) @ CPP_LISTING.v
    y = CPP_LISTING.right()["outputs"]
    short = (y - listed) / y
    bound = f"outputs too small by up to {short.max():.2e} of their size"
    require(short.min() > 0 and short.max() < 1e-12, bound)
    require_slips(CPP_LISTING)
    return (
        "the twelve numbers that the compiled listing printed once, to four decimals; with its "
        f"arithmetic in float64 shortfalls up to {short.max():.1e}; it is not compiled here"
    )


@claim(
    "exm-torch-listing",
    "numeric",
    mutants={"the same draws again": {"seed_again": True}, "without the scale": {"power": 0.0}},
    scope="seed 0",
)
def torch_listing(seed_again: bool = False, power: float = 0.5) -> str:
    """The listing, run with its own projections and with those that the seed gives."""
    import torch

    from tformer import fast

    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(0)
        x = torch.randn(3, 8)
        before = torch.get_rng_state()
        output, weights = _listing(x, power)
        torch.set_rng_state(before)
        q, k, v = (x @ torch.randn(8, 8) for _ in range(3))
        if seed_again:
            torch.set_rng_state(before)
        _, again = _listing(x, power)
    expected = fast.attention_weights(q, k)
    row, want = (x[0].double().round(decimals=4) for x in (weights, expected))
    require(near(weights, expected, 1e-4), f"row 1 of the weights is {show(row)}, not {show(want)}")
    require(near(output, fast.attention(q, k, v), 1e-3), f"other outputs, as {show(output[0])}")
    moved = float((again - weights).abs().max())
    require(moved > 0.1, f"the second call moves no weight by more than {moved:.4f}")
    return (
        "weights within 1e-4 and outputs within 1e-3 in float32; the second call moves a weight by "
        "more than 0.1"
    )


def _listing(x: Any, power: float) -> tuple[Any, Any]:
    """Return output and weights as the listing has them: fresh projections at every call."""
    import torch

    w_q, w_k, w_v = torch.randn(8, 8), torch.randn(8, 8), torch.randn(8, 8)
    q, k, v = torch.matmul(x, w_q), torch.matmul(x, w_k), torch.matmul(x, w_v)
    scores = torch.matmul(q, k.transpose(0, 1)) / 8**power
    weights = torch.nn.functional.softmax(scores, dim=-1)
    return torch.matmul(weights, v), weights


CAT = ("0.05", "0.82", "0.03", "0.01", "0.02", "0.07")
"""Printed weights of "it" on "The cat sat on the mat"; "because it was tired" follows."""


@claim(
    "exm-cat-weights",
    "exhaustive",
    mutants={"taken as exact": {"unit": "0"}},
    scope="six printed numbers",
)
def cat_weights(unit: str = "0.01") -> str:
    """Beyond the statement, a softmax whose weights round to the six and leave almost 0.03."""
    require(sum(map(Fraction, CAT)) == 1, f"the six add up to {float(sum(map(Fraction, CAT)))}")
    room = sum(Fraction(unit) / 2 for _ in CAT)
    least = [float(Fraction(weight)) - 0.0049 for weight in CAT]
    others = [(1 - sum(least)) / 4] * 4
    weights = ref.softmax(np.log(least + others))
    rounded = tuple(f"{weight:.2f}" for weight in weights[:6])
    require(rounded == CAT, f"softmax gives {', '.join(rounded)} after rounding")
    left = 1 - weights[:6].sum()
    require(left <= room, f"weights that round to the six leave {left:.4f} > {float(room):g}")
    require(left > 0.029, f"only {left:.4f} is left")
    return "1 exactly in fractions; six roundings by up to 0.005; a softmax that leaves 0.0294"
