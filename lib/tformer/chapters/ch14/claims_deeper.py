"""The claims of chapter 14's deeper page: averages, a stall, first moves, smoothed targets."""

from __future__ import annotations

import numpy as np
import sympy as sp

from tformer.chapters.ch14 import bench
from tformer.chapters.ch14.claims import moves
from tformer.claims.registry import claim, require
from tformer.claims.tools import identity, near
from tformer.world.stories import stories

BETA = sp.Symbol("beta", positive=True)


@claim(
    "prop-average",
    "symbolic",
    mutants={
        "as many gradients as one over one minus beta": {"over": 1},
        "settled from the first step": {"settled": True},
    },
    scope="t ≤ 6, symbols; 20,000 rows of 60 draws by the library",
)
def average(over: int = 0, settled: bool = False) -> str:
    """The sum of squared shares, for symbols; the library's mean of random gradients."""
    for t in range(1, 7):
        shares = [(1 - BETA) * BETA**k / (1 - BETA**t) for k in range(t)]
        got = sp.together(sum(s**2 for s in shares))
        late = sp.Integer(1) if settled else (1 + BETA**t) / (1 - BETA**t)
        want = (1 - BETA) / (1 + BETA - over * BETA) * late
        identity(got, want, f"the variance after {t} steps")
    rng, beta, t = np.random.default_rng(0), 0.9, 60
    shares = (1 - beta) * beta ** np.arange(t) / (1 - beta**t)
    drawn = (rng.standard_normal((20000, t)) @ shares[::-1]).var()
    require(near(drawn, 1 / 19, 0.002), f"the variance of draws is {drawn:.4f}, not {1 / 19:.4f}")
    return "the variance for symbols; draws within .002 of a nineteenth at β = 0.9"


@claim(
    "prop-first-moves",
    "numeric",
    mutants={
        "the first moves depend on the gradients": {"first": 0.5},
        "later moves are as long": {"later": 1.0},
    },
    scope="4,000 numbers, Gaussian gradients, 300 steps; the library",
)
def first_moves(first: float = 1.0, later: float = 0.226) -> str:
    """Moves of numbers whose gradients are noise: the first, and the mean square of late ones."""
    from tformer.experiments.training import Adam

    rng = np.random.default_rng(3)
    adam, lengths = Adam([np.zeros(4000)], (0.9, 0.95), 0.0), []
    sizes = 10.0 ** rng.uniform(-6, 3, 4000)
    for _ in range(300):
        moved = adam.moves([sizes * rng.standard_normal(4000)])[0]
        lengths.append(float(np.sqrt((moved**2).mean())))
        if len(lengths) == 1:
            off = float(np.abs(np.abs(moved) - first).max())
            require(off < 1e-9, f"a first move is {off:.3g} away from {first}")
    end = float(np.mean(lengths[100:]))
    require(near(end, later, 0.005), f"late moves have the root mean square {end:.4f}")
    return "4000 first moves have length 1; late ones the root mean square 0.226, within .005"


def stalled(size: float, clip: float = np.inf, after: int = 400) -> np.ndarray:
    """The moves after 400 gradients of 1, one of `size`, and gradients of 1 again."""
    one = np.sign(size) * min(abs(size), clip)
    return np.array(moves([1.0] * 400 + [one] + [1.0] * after, (0.9, 0.95))[400:])


@claim(
    "exm-stall",
    "numeric",
    mutants={
        "the harm is the step itself": {"lost": 5.8},
        "clipped, it costs as much": {"clip": 1000.0},
        "Adam goes on at once": {"half": 20},
    },
    scope="one number; the library",
)
def stall(lost: float = 190.4, clip: float = 1.0, half: int = 190) -> str:
    """Moves by the library against the closed form, and their sums."""
    got = stalled(-1000.0)
    k = np.arange(len(got))
    form = (1 - 0.1 * 0.9**k * 1001) / np.sqrt(1 + 0.05 * 0.95**k * (1e6 - 1))
    require(near(got, form, 1e-6), f"the moves differ by {np.abs(got - form).max():.4f}")
    total = float((1 - got).sum())
    require(near(total, lost, 0.5), f"in all {total:.1f} moves are lost, not {lost}")
    back = int((got >= 0.5).argmax())
    require(back == half, f"half a move again after {back} steps, not {half}")
    clipped = float((1 - stalled(-1000.0, clip)).sum())
    require(near(clipped, 2.0, 0.1), f"clipped, {clipped:.2f} moves are lost")
    return "the closed form of every move; sums of what is lost, with and without clipping"


def smoothed(share: float, n: int) -> float:
    """What the best answer to smoothed targets loses, in nats a story above the floor."""
    world = stories()
    rows = world.tokens()
    total = 0.0
    keys = np.zeros(len(rows), int)
    for t in range(1, rows.shape[1]):
        keys = np.unique(keys * n + rows[:, t - 1], return_inverse=True)[1]
        both = keys * n + rows[:, t]
        r = np.bincount(both, world.p)[both] / np.bincount(keys, world.p)[keys]
        total += float(world.p @ np.log(r / ((1 - share) * r + share / n)))
    return total


@claim(
    "prop-smoothing",
    "symbolic",
    mutants={
        "the true shares stay best": {"pulled": False},
        "it costs nothing": {"cost": 0.0},
    },
    scope="N ≤ 4, symbols; the stories; 3 stored trainings",
)
def smoothing(pulled: bool = True, cost: float = 1.911) -> str:
    """The gradient at the best answer, for symbols; the cost counted; trainings against it."""
    s = sp.Symbol("s", positive=True)
    for n in (2, 3, 4):
        r = list(sp.symbols(f"r1:{n}", positive=True))
        r.append(1 - sum(r))
        best = [(1 - s) * one + s / n if pulled else one for one in r]
        for i in range(n):
            found = sum(
                share * (best[i] - (1 - s) * int(i == word) - s / n) for word, share in enumerate(r)
            )
            identity(found, sp.Integer(0), f"the mean gradient of logit {i + 1}, N = {n}")
    got = smoothed(0.1, len(stories().words))
    require(near(got, cost, 0.005), f"the best answer loses {got:.3f} nats a story, not {cost}")
    return "the answer with gradient 0 for symbols; its cost, counted over all stories"
