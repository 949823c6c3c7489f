"""The claims of chapter 19 on the Turing machine: every step is right, and how far addresses go."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from tformer_book.chapters.ch19.machines import TABLES, machine, random_machine
from tformer_book.chapters.ch19.small import words
from tformer_book.chapters.ch19.stream import FAR, K, apply, cast, run
from tformer_book.chapters.ch19.turing import STREAM, Machine, layers, table
from tformer_book.claims.registry import claim, require

HOLE = "1RB 0SH; 0RC 0SH; 1LD 0SH; 0SH 0SH"
"""It writes 1 on both sides of a blank cell, and then reads that cell."""


def leak(n_symbols: int, beta: float) -> float:
    """2 (S - 1) times the sum of e^(-β k²) over k = 1, 2, …"""
    return 2 * (n_symbols - 1) * float(np.exp(-beta * np.arange(1, 40) ** 2).sum())


def bound(n_symbols: int, beta: float, n_tokens: int, k: int = K) -> float:
    """ε of the theorem: the leak, and what a finite sink adds."""
    sink = 3 * beta**0.5 * (n_symbols - 1) * n_tokens**3 / 2.0**k
    return leak(n_symbols, beta) + sink


def cell_errors(one: Machine, word: Sequence[int], steps: int, **settings: Any) -> np.ndarray:
    """How far what the second layer fetches is from the content of the cell, at each step."""
    truth = one.simulate(word, steps)[0]
    prompt = one.prompt(word)
    x = one.embedding[[*prompt, *(one.names.index(name) for name in truth[:-1])]]
    cells = run(x, layers(**settings))[len(prompt) - 1 :, STREAM.at("cell")]
    return np.abs(cells - [int(name[1:]) for name in truth])


@claim(
    "thm-turing",
    "numeric",
    mutants={
        "half the leak": {"part": 0.5},
        "the size of the sink does not matter": {"sink": False},
        "moves of the input count": {"far": 0.0},
        "the value is what is written, not the change": {"ledger": False},
        "the lead is 1": {"lead": 0.0},
    },
    scope="9 machines, all words to 5 letters, 300 random machines",
)
def turing(
    part: float = 1.0,
    sink: bool = True,
    far: float = FAR,
    ledger: bool = True,
    lead: float = 2.0,
) -> str:
    """The true run stands before each token that is asked for; if all are right, so is writing."""
    for beta, k in ((1.5, K), (2.0, K), (4.0, K), (32.0, 30)):
        for text, steps in ((HOLE, 4), (TABLES["beaver 3"], 22), (TABLES["bounce"], 60)):
            one = table(text)
            error = cell_errors(one, (), steps, beta=beta, k=k, far=far).max()
            most = bound(2, beta, steps + 2, k if sink else K) * part + 1e-12
            require(error <= most, f"β = {beta}, sink 2^{k}: off by {error:.3g} > {most:.3g}")
    if lead < 2:
        least = table(HOLE).margins((), 5, beta=2.0).min()
        require(least >= 1 - lead, f"β = 2: a lead of {least:.3f}")
    tasks: list[tuple[Machine, Sequence[int]]] = [(machine(name), ()) for name in TABLES]
    for n in range(6):
        for word in words(2, n) + 1:
            tasks += [(machine("increment"), word), (machine("palindrome"), word)]
            last = machine("palindrome").simulate(word, 100)[0][-1]
            same = [*word] == [*word[::-1]]
            require(last == ("H1" if same else "H2"), f"palindrome: {last} for {word}")
    ones = [[1] * n for n in range(6)]
    tasks += [(machine("copy"), block) for block in ones]
    tasks += [(machine("add"), [*left, 0, *right]) for left in ones for right in ones]
    rng = np.random.default_rng(0)
    tasks += [(random_machine(rng), ()) for _ in range(300)]
    for one, word in tasks:
        if not ledger:
            rows = one.embedding[: len(one.names)]
            rows[:, STREAM.at("change")] += [int(name[1:]) for name in one.names]
        got = one.margins(word, 200, far=far)
        want = 1 - 2 * bound(one.n_symbols, 32.0, len(word) + 202) - 1e-9
        require(got.min() >= want, f"a token of a run is wrong, or leads by {got.min():.3f} only")
    return (
        "errors of the fetch below ε for four pairs of β and sink; each token of up to 200 steps "
        "of each run leads by 1 - 2 ε, to 1e-9"
    )


@claim(
    "prop-address-bound",
    "numeric",
    mutants={
        "one address more": {"more": 1},
        "twice as many addresses": {"more": 4096},
        "β may be 12": {"beta": 12.0},
    },
    scope="4,096 addresses and both signs for p = 24; 2,000 for p = 53",
)
def address_bound(more: int = 0, beta: float = 32.0) -> str:
    """The three scores in the stated order, exactly; then what the library's layer reads."""
    for dtype, p in ((np.float32, 24), (np.float64, 53)):
        most = int(np.sqrt(2.0**p)) + more
        at = np.arange(most - 4096 if p == 24 else most - 2000, most + 1)
        for sign in (1, -1):
            for step in (-9, -2, -1, 0, 1, 2, 9):
                asked, other = sign * at, sign * at + step
                inside = abs(other) <= most
                asked, other = asked[inside], other[inside]
                found = scores(asked, other, beta, dtype)
                right = found == -beta * abs(step) if abs(step) < 2 else found <= -4 * beta
                wrong = asked[~right][:1]
                require(right.all(), f"{p} bits: {wrong} has a wrong score with a cell {step} away")
                read = fetched(asked, other, beta, dtype)
                wrong = asked[abs(read - (step == 0)) > 0.5][:1]
                require(not len(wrong), f"{p} bits: cell {wrong} reads a cell {step} away wrongly")
            far = scores(sign * at, -sign * at[::-1], beta, dtype)
            apart = abs(at + at[::-1])
            require((far[apart > 1] <= -4 * beta).all(), f"{p} bits: cells far apart")
        pair = np.array([most, most + 1 - more])
        beyond = scores(pair, pair[::-1], beta, dtype)
        require((beyond == 0).any(), f"{p} bits: address {most + 1} still works")
    walk = table("1RA 1RA").generate((), 4200, np.float32)
    wrong_at = next(i for i, name in enumerate(walk) if name != "A0")
    require(2048 < wrong_at <= 4097, f"float32: a machine that walks fails at {wrong_at}")
    return (
        "scores exactly as stated, term by term; the layer of the library reads right; one address "
        "more has a neighbour with score 0; a walk in float32"
    )


def scores(asked: np.ndarray, other: np.ndarray, beta: float, dtype: Any) -> np.ndarray:
    """The scores of addresses (n,) with cells (n,), term by term: 2 β P C - β P² - β C²."""
    p, c = asked.astype(dtype), other.astype(dtype)
    b = dtype(beta)
    return np.asarray(2 * b * p * c - b * (p * p) - b * (c * c))


def fetched(asked: np.ndarray, other: np.ndarray, beta: float, dtype: Any) -> np.ndarray:
    """What the second layer reads at addresses (n,) if one other cell each (n,) holds 1."""
    x = np.zeros((len(asked), 3, len(STREAM.names)))  # BOS, the token that wrote, the one that asks
    x[..., 0], x[:, 0, 1] = 1, 1
    for name, i, values in (
        ("P", 1, other),
        ("CC", 1, other**2),
        ("change", 1, 1),
        ("P", 2, asked),
        ("PP", 2, asked**2),
        ("CC", 2, asked**2),
    ):
        x[:, i, STREAM.at(name)] = values
    x = x.astype(dtype)
    y = apply(cast(layers(beta)[2], dtype), x[:, 2:], x)
    return np.asarray(y[:, 0, STREAM.at("cell")])
