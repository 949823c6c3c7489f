"""The exam questions of chapter 4, answered again by other ways than the library's."""

import itertools
import math
import re
from functools import cache

import numpy as np
import torch
from scipy.optimize import brentq
from scipy.stats import binom, chi2

from tformer_book.exams import Item

SIGNS = np.array(list(itertools.product([-0.5, 0.5], repeat=4)))
"""All columns of signs of variance 1/4."""


def two_scores(item: Item) -> dict[str, object]:
    """Every pair of columns of signs; columns are independent, so d of them add up."""
    x, y, z = item.given["rows"]
    q, k, other = np.broadcast_arrays((SIGNS @ x)[:, None], SIGNS @ y, SIGNS @ z)
    table = item.given["d"] * np.cov([(q * k).ravel(), (q * other).ravel()], ddof=0)
    spread = item.given["d"] * np.var(q * k - q * other)
    return {
        "first": table[0, 0],
        "second": table[1, 1],
        "together": table[0, 1],
        "difference": spread,
    }


def four_programs(item: Item) -> dict[str, object]:
    """Run the programs as they are printed, on every number of agreeing signs."""
    head = item.given["head"]
    programs = re.findall(r"\*\* `(.*)`", item.statement)
    spread = np.array([spread_of(program, head) for program in programs])
    total = np.array([total_of(program, head) for program in programs])
    fates = []
    for letter, program, before in zip("ABCD", programs, spread, strict=True):
        widened = re.sub(r"sqrt\((\d+)\)", r"sqrt(4 * \1)", program)
        growth = spread_of(widened, 4 * head) / before
        fate = "frozen" if growth > 1.5 else "flat" if growth < 0.67 else "neither"
        fates.append(f"{letter} {fate}")
    right = (np.abs(spread - 1) < 1e-9) & (np.abs(total - 1) < 1e-9)
    return {
        "spread": spread,
        "total": total,
        "right": "ABCD"[int(np.argmax(right))],
        "fates": ", ".join(fates),
    }


@cache
def spread_of(program: str, head: int) -> float:
    """The standard deviation of what enters the softmax of a program, for sign vectors."""
    agree = np.arange(head + 1)
    k = np.where(np.arange(head) < agree[:, None], 1.0, -1.0)
    entered = []

    def softmax(scores: np.ndarray) -> np.ndarray:
        entered.append(scores[0])
        return scores

    eval(program, {"softmax": softmax, "sqrt": math.sqrt, "q": np.ones((1, head)), "k": k})
    return math.sqrt(binom.pmf(agree, head, 0.5) @ entered[0] ** 2)


def total_of(program: str, head: int) -> float:
    """What a row of the result of a program adds up to."""

    def softmax(scores: np.ndarray) -> np.ndarray:
        return np.full(scores.shape, 1 / scores.shape[1])

    k = np.ones((5, head))
    names = {"softmax": softmax, "sqrt": math.sqrt, "q": np.ones((1, head)), "k": k}
    return float(eval(program, names).sum())


def two_wishes(item: Item) -> dict[str, object]:
    """From the exact distribution of the number of agreeing signs."""
    a, b = (int(x) for x in item.given["sd"])
    d, rho = int(item.given["d"]), item.given["correlation"]
    table = []
    for power in (0, 0.5, 1):
        for width in (d, d * int(item.given["factor"])):
            agree = np.arange(width + 1)
            score = a * b * (2 * agree - width) / width**power
            table.append(math.sqrt(binom.pmf(agree, width, 0.5) @ score**2))
            table.append(binom.pmf(agree, width, float(1 + rho) / 2) @ score)
    return {"table": np.reshape(table, (3, 4)), "ratio": table[1] / table[0]}


def entropy_lost(item: Item) -> dict[str, object]:
    """The bound as a function, averaged over the length of the query and solved for its root."""
    s_q, s_k = map(float, item.given["sd"])

    def loss(s: float, other: float, d: int = 7) -> float:
        return float(chi2.mean(d, scale=s**2)) / d * other**2 / 2

    least = brentq(lambda s: loss(s, 1) - item.given["lost"], 1e-3, 10, xtol=1e-15, rtol=1e-15)
    return {"most": loss(s_q, s_k), "least": least, "variance": item.given["third"] / 0.5}


def what_arrives(item: Item) -> dict[str, object]:
    """By automatic differentiation."""
    scores = torch.tensor(item.given["scores"], dtype=torch.float64)
    jacobian = torch.autograd.functional.jacobian
    at = [jacobian(lambda x: torch.softmax(x, 0), c * scores) for c in (1, item.given["factor"])]
    norm, without = (float(torch.linalg.matrix_norm(J, 2)) for J in at)
    arrives = torch.tensor(item.given["wish"]) @ at[0]
    return {"J": at[0].numpy(), "norm": norm, "arrives": arrives.numpy(), "without": without}


def what_the_proof_needs(item: Item) -> dict[str, object]:
    """All signs of one repeated coordinate; the blocks are independent."""
    one, both = block(item.given["times"])
    return {"one": one * item.given["independent"], "both": both * item.given["independent"]}


@cache
def block(times: int) -> tuple[float, float]:
    """Variance of a block's part of q·k: with the query's sign repeated, and with both."""
    keys = np.array(list(itertools.product([-1, 1], repeat=times)))
    return float(np.var(keys.sum(axis=1))), float(np.var([times * s * t for s, t in PAIRS]))


PAIRS = list(itertools.product([-1, 1], repeat=2))
