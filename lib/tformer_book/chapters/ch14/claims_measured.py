"""The claims of chapter 14 that were measured: steps of a loss, warm-up, what sixteen bits lose."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from tformer_book.chapters.ch14 import bench, steps
from tformer_book.claims.registry import claim, require
from tformer_book.claims.tools import near


@claim(
    "exm-steps",
    "empirical",
    mutants={
        "the name is found early": {"stands": 200},
        "to know the cure is to know the patient": {"left": 0.0},
        "all is learnt in 200 steps": {"last": 200},
    },
    scope="141 measurements of one training; floors counted",
)
def on_steps(stands: int = 100, left: float = 2.202, last: int = 3500) -> str:
    """The stored losses against floors that are counted for the same 256 tales."""
    _within("name again", 3.178, stands, (0.0844, 0.0855))
    _within("patient, cure known", left, 200, (-0.0279, -0.0269))
    cure = _measured("cure", 200)
    require(cure < 0.02, f"the cure at step 200: {cure:.3f}")
    for name, most in (("name again", 1e-5), ("cure", 1e-5), ("patient", 2e-3)):
        end = _measured(name, last)
        require(end < most, f"{name}, step {last}: {end:.3g}")
    return "floors by counting; losses at steps 100, 200 and 3500 against them"


@claim(
    "exm-open-word",
    "empirical",
    mutants={
        "the second noun is learnt in the end": {"left": 0.0},
        "the first noun helps at step 300": {"verb": 3500},
        "without a word known, the cure stands at step 200": {"stands": 200},
    },
    scope="141 measurements of one training; floors counted",
)
def stays_open(stands: int = 100, verb: int = 300, left: float = 1.940) -> str:
    """The same losses, where nothing is known, and for a word that stays open."""
    for name, stated in (("cure", 2.342), ("patient", 3.404)):
        _within(name, stated, stands, (-0.02, 0.15))
        require(_measured(name, 3500) < 2e-3, f"{name} at the end: {_measured(name, 3500):.3g}")
    _within("second noun, verb known", 2.067, verb, (-0.06, 0.06))
    _within("second noun, noun and verb known", left, 3500, (-0.06, 0.06))
    return "floors by counting; losses at steps 100, 300 and 3500 against them"


def _measured(name: str, step: int) -> float:
    """The stored loss of a kind of word at a step."""
    found = steps.losses()
    return float(found[name][found["step"] == step].item())


def _within(name: str, stated: float, step: int, limits: tuple[float, float]) -> None:
    """Require a floor as stated, and that the loss of its word at a step is so far above it."""
    floor = steps.floor(name)
    require(near(floor, stated, 6e-4), f"{name}: the floor is {floor:.4f}")
    off = _measured(name.split(",")[0], step) - floor
    require(limits[0] < off < limits[1], f"{name}, step {step}: {off:.3f} above {floor:.3f}")


def ends(**differs: Any) -> np.ndarray:
    """The last losses of the bench's runs that differ so, a seed each."""
    plans = [*bench.stored().values()]
    names = [str(bench.Run(**{**differs, "seed": seed})) for seed in range(bench.SEEDS)]
    return np.array([next(plan[name][-1] for plan in plans if name in plan) for name in names])


def means_as_stated(name: str, runs: Sequence[np.ndarray], stated: Sequence[float]) -> None:
    """Require the mean of each row of last losses, to the two digits of a table."""
    off = max(abs(float(x.mean()) - y) for x, y in zip(runs, stated, strict=True))
    require(off < 0.0051, f"{name}: means differ by {off:.4f}")


@claim(
    "exm-warmup",
    "empirical",
    mutants={
        "warm-up always helps": {"even": ()},
        "moments that have settled do as well": {"settled": 1.0},
        "warm-up never matters": {"apart": -1.0},
        "the best means differ for certain": {"unsure": 0.1},
    },
    scope="75 stored trainings of 200 steps, three seeds each",
)
def warmup(
    even: tuple[float, ...] = (0.003, 0.01),
    settled: float = 2.0,
    apart: float = 3.0,
    unsure: float = 0.32,
) -> str:
    """What is stored of each rate; the tests begin one of the runs again."""
    stated = {
        0: (13.77, 10.69, 11.20, 16.29, 16.58),
        bench.WARM: (13.94, 10.50, 10.37, 11.05, 11.13),
    }
    for n, row in stated.items():
        means_as_stated(f"warm-up of {n}", [ends(rate=r, warmup=n) for r in bench.RATES[:5]], row)
    for rate in (0.003, 0.01, 0.06, 0.1):
        cold, warm = (ends(rate=rate, warmup=steps) for steps in (0, bench.WARM))
        if rate in (0.003, 0.01):
            off = float(abs(cold.mean() - warm.mean()))
            more = 0.3 if even else 0.0
            require(off < more, f"rate {rate}: means differ by {off:.2f}")
        else:
            gap = float(cold.min() - warm.max())
            above = gap > apart if apart > 0 else gap < -apart
            require(above, f"rate {rate}: without it at least {gap:.2f} more")
    runs = [
        min((ends(rate=rate, warmup=n) for rate in bench.RATES), key=np.mean)
        for n in (0, bench.WARM)
    ]
    best = [float(x.mean()) for x in runs]
    require(near(best, (10.69, 10.37), 0.02), f"the best means are {best[0]:.2f}, {best[1]:.2f}")
    error = sum(float(x.var(ddof=1)) / bench.SEEDS for x in runs) ** 0.5
    found = (best[0] - best[1], error)
    require(near(found, (0.32, unsure), 6e-3), f"they differ by {found[0]:.3f} ± {found[1]:.3f}")
    moments, warm = (
        ends(rate=0.1, warmup=n, before=before).mean() for n, before in ((0, 40), (40, 0))
    )
    more = float(moments - warm)
    require(more > 3.8 if settled > 1 else more < 1, f"settled moments end {more:.2f} above")
    return (
        "means at two small rates within .3 nats a story; at two large ones every run without "
        "warm-up ends 3 above every run with it; the best means differ by .32 ± .32"
    )


@claim(
    "exm-underflow",
    "empirical",
    mutants={
        "what vanishes is half of the gradient": {"length": 0.5},
        "no scale is too large": {"over": 28},
        "bfloat16 parameters take what float16 ones take": {"lost": 0.36},
        "Adam's moves are off by as little as the gradient": {"moved": 0.0086},
    },
    scope="8 rows at 15 scales, moves on 6 batches, stored; one again",
)
def underflow(
    length: float = 0.0086, over: int = 24, lost: float = 0.79, moved: float = 0.49
) -> str:
    """What is stored, and one scale again."""
    from tformer_book.chapters.ch14 import half

    found = half.stored()
    scales = {int(power): pair for power, pair in found["scales"].items()}
    require(near(found["logits"], 0.993, 1e-3), f"of the logits' {found['logits']} vanish")
    require(near(scales[0][1], 0.245, 1e-3), f"of the parameters' {scales[0][1]} vanish")
    require(near(scales[0][0], length, 1e-4), f"the gradient is off by {scales[0][0]}")
    again = half.at_scale(12)
    require(near(again[0], scales[12][0], 2e-4), f"at 2^12 it is off by {again[0]:.5f}")
    for power, (error, gone) in scales.items():
        if 12 <= power < over:
            require(error < 0.001 and gone < 0.005, f"2^{power}: off by {error}, {gone} vanish")
        if power >= over:
            require(np.isinf(error), f"2^{power}: off by {error}")
    require(scales[22][0] < 1, f"2^22 is off by {scales[22][0]}")
    require(np.isinf(scales[24][0]), f"2^24 is off by {scales[24][0]}")
    for name, share in (("bfloat16", lost), ("float16", 0.36)):
        got = found["lost"][name]
        require(near(got, share, 5e-3), f"{name} parameters: {got} of the moves are lost")
    (moves, turned), (scaled, _) = (found["moves"][power] for power in ("0", "12"))
    require(all(near(x, moved, 0.025) for x in moves), f"moves are off by {moves}")
    require(max(scaled) < 0.0315 and near(turned, 0.91, 5e-3), f"{scaled}, {turned}")
    return "stored errors and shares of 15 scales; the error at 2^12 measured again"
