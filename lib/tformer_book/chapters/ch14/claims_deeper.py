"""The claims of chapter 14's deeper page: averages, a stall, first moves, smoothed targets."""

from __future__ import annotations

import numpy as np
import sympy as sp

from tformer_book.chapters.ch14 import bench
from tformer_book.chapters.ch14.claims import moves
from tformer_book.chapters.ch14.claims_measured import ends
from tformer_book.claims.registry import claim, require
from tformer_book.claims.tools import identity, near
from tformer_book.world.stories import stories

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
    late_shares = (1 - beta) * beta ** np.arange(t)[::-1] / (1 - beta**t)
    drawn = (rng.standard_normal((20000, t)) @ late_shares).var()
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
    from tformer_book.experiments.training import Adam

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
    more = float(ends(smoothing=0.1).mean() - ends().mean())
    require(near(more, cost, 0.1), f"trainings lose {more:.2f} nats a story more, not {cost}")
    return (
        "the answer with gradient 0 for symbols; its cost, counted over all stories; three "
        "trainings against three"
    )


@claim(
    "exm-start",
    "empirical",
    mutants={
        "any size will do": {"worst": 18.0},
        "the usual size is the best": {"best": 0.02},
    },
    scope="15 stored trainings, three a size",
)
def start(worst: float = 16.0, best: float = 0.2) -> str:
    """What is stored; the tests begin one of them again."""
    means = {std: float(ends(std=std).mean()) for std in bench.STDS}
    require(means[1.0] > worst, f"parameters of size 1 end at {means[1.0]:.2f}")
    least = min(means, key=lambda std: means[std])
    require(least == best, f"the least mean is that of {least}: {means[least]:.2f}")
    stated = (11.02, 11.38, 10.50, 9.57, 17.52)
    off = max(abs(x - y) for x, y in zip(means.values(), stated, strict=True))
    require(off < 0.01, f"means differ by {off:.3f}")
    first = [float(np.mean([row[0] for row in _rows(std)])) for std in bench.STDS]
    uniform = 19 * np.log(len(stories().words))
    require(all(near(x, uniform, 0.5) for x in first[:3]), f"first losses {first[:3]}")
    require(first[-1] > 2.5 * uniform, f"with size 1 the first loss is {first[-1]:.0f}")
    return "last losses of five sizes, three seeds each; first losses against log 88 a word"


def _rows(std: float) -> list[list[float]]:
    plan = bench.stored()["start"]
    return [plan[str(bench.Run(std=std, seed=seed))] for seed in range(bench.SEEDS)]


@claim(
    "exm-recipe",
    "empirical",
    mutants={
        "a warm-up has a length of its own": {"learnt": 12.0},
        "the peak depends on the width alone": {"peak": 32**-0.5},
    },
    scope="9 stored trainings of 200 steps, three a schedule",
)
def recipe(learnt: float = 69.0, peak: float = 0.0028) -> str:
    """The rates by the formula of the post, and where trainings by it end."""
    late = [bench.Run(schedule=4000).learning_rate_at(step) for step in range(1, 12001)]
    require(int(np.argmax(late)) == 3999, f"the peak is at step {np.argmax(late) + 1}")
    require(near(max(late), peak, 5e-5), f"the peak is {max(late):.5f}")
    require(near(late[199], 0.00014, 5e-6), f"at step 200 the rate is {late[199]:.6f}")
    end = ends(schedule=4000)
    require(end.min() > learnt if learnt > 20 else end.max() < learnt, f"ends at {end.min():.2f}")
    soon, cosine = (ends(**one).mean() for one in ({"schedule": 40}, {"rate": 0.02}))
    require(soon < 11.5, f"with a warm-up of 40 it ends at {soon:.2f}")
    require(abs(soon - cosine) < 1.0, f"{soon:.2f}, and a cosine {cosine:.2f}")
    return "rates of 12,000 steps; last losses of both warm-ups, and of a cosine"


@claim(
    "exm-prose",
    "numeric",
    mutants={
        "more letters known are always better": {"longest": 6},
        "repetition is all there is": {"better": 1.9},
    },
    scope="one text of 100 kB, a tenth held out",
)
def prose(longest: int = 4, better: float = 2.0) -> str:
    """Counting and compressing, once more; no model is trained here."""
    from tformer_book.chapters.ch14 import prose as text

    packed = text.by_repetition()["bz2"]
    require(packed < better, f"bz2 needs {packed:.3f} bits a byte")
    found = {k: text.by_counting(k) for k in (2, 4, 6)}
    least = min(found, key=lambda k: found[k])
    require(least == longest, f"best with {least} letters: {found[least]:.3f}")
    return "counts of 2, 4 and 6 letters, and a program"
