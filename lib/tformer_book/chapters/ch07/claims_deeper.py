"""The claims of chapter 7's deeper page: rows that repeat, decay with distance, slower clocks."""

from __future__ import annotations

from math import log

import numpy as np
import sympy as sp
from scipy.special import sici

from tformer import reference as ref
from tformer_book.chapters.ch07.claims import turn
from tformer_book.claims import plain
from tformer_book.claims.registry import claim, require
from tformer_book.claims.tools import expectation, identity, near, row, show

FARTHEST = 100_000


@claim(
    "prop-waves-distinct",
    "numeric",
    mutants={
        "a fast hand that goes round in twelve places": {"speed": 2 * np.pi / 12},
        "the nearest within 700 places": {"within": 700},
    },
    scope="shifts up to 100,000 at width 2; up to 1,000 at 16",
)
def waves_distinct(speed: float = 1.0, within: int = 1000) -> str:
    """That π is irrational is not verified: rows are compared for a finite set of shifts."""
    shifts = np.arange(1, FARTHEST + 1)
    gaps = 2 * abs(np.sin(speed * shifts / 2))
    i = int(gaps.argmin())
    require(gaps[i] > 1e-6, f"places 0 and {shifts[i]} differ by {gaps[i]:.1e}")
    ours = ref.sinusoidal(shifts[:within], 2) - ref.sinusoidal(np.array([0]), 2)
    require(near(ref.norm(ours), gaps[:within]), "the library's rows differ otherwise")
    nearest = int(gaps[:within].argmin())
    numbers = f"{shifts[nearest]} places, {gaps[nearest]:.2e}"
    require(shifts[nearest] == 710 and near(gaps[nearest], 6.0e-5, 5e-7), numbers)
    wide = ref.norm(ref.sinusoidal(shifts[:within], 16) - ref.sinusoidal(np.array([0]), 16))
    require(wide.min() > 0.8, f"width 16: {wide.min():.3f}")
    return f"least gap {gaps[i]:.1e} up to {FARTHEST:,} places; at {numbers} up to {within}"


@claim(
    "prop-any-distance",
    "numeric",
    mutants={"the key is not turned": {"share": 0.0}, "turned back": {"share": -1.0}},
    scope="three widths, seven distances, 400 places",
)
def any_distance(share: float = 1.0) -> str:
    """The library, random queries; the largest score is compared with ‖q‖² and with its place."""
    for d in (2, 16, 64):
        q = np.random.default_rng(d).standard_normal((1, d))
        for distance in (0, 1, 5, 40, 100, 200, 399):
            wish = np.array([round(share * distance)])
            k = ref.rope(q, ref.sinusoidal(wish, d))
            waves = ref.sinusoidal(np.arange(400), d)
            scores = (ref.rope(np.repeat(q, 400, axis=0), waves) @ k.T)[:, 0]
            says = f"d = {d}: {scores[distance]:.3f} at {distance}, {scores.max():.3f} at most"
            require(near(scores[distance], q @ q.T, 1e-10 * d), says)
            require(int(scores.argmax()) == distance, says)
    return "largest at the distance asked for, and equal to ‖q‖² within 1e-10"


@claim(
    "prop-no-decay",
    "symbolic",
    mutants={"one coordinate of each pair varies more": {"ratio": 4}},
    scope="widths up to 4, any frequencies and distances",
)
def no_decay(ratio: int = 1) -> str:
    """Mean and variance for symbols; that normal keys have one distribution follows from them."""
    delta = sp.Symbol("delta", real=True)
    for half in (1, 2):
        q, k, omega = row("q", 2 * half), row("k", 2 * half), row("omega", half, positive=True)
        widened = k * np.array([1, sp.sqrt(ratio)] * half)
        score = (sp.Matrix([q]) * turn(delta, omega) * sp.Matrix([widened]).T)[0]
        moments = {0: 1, 1: 0, 2: 1}
        identity(expectation(sp.expand(score), moments, tuple(k)), 0, "E[score]")
        variance = expectation(sp.expand(score**2), moments, tuple(k))
        identity(variance, q @ q, "Var[score] = ‖q‖²")
    return f"symbol by symbol for d ≤ {2 * half}, keys of mean 0 and variance 1"


@claim(
    "prop-ones",
    "numeric",
    mutants={"another base": {"base": 1000.0}, "a sine integral": {"part": 0}},
    scope="eight distances, 1 to 1,000, at width 8192",
)
def ones(base: float = 10_000.0, part: int = 1) -> str:
    """The library's score of two rows of ones against the limit, and against its logarithm."""
    d, distances = 8192, np.array([1, 2, 10, 37, 100, 250, 500, 1000])
    waves = ref.sinusoidal(distances, d)
    scores = ref.rope(np.ones_like(waves), waves).sum(axis=-1) / d
    limit = (sici(distances)[part] - sici(distances / base)[part]) / log(base)
    i = int(abs(scores - limit).argmax())
    numbers = f"{scores[i]:.4f} at {distances[i]}, {limit[i]:.4f} in the limit"
    require(near(scores, limit, 5e-4), numbers)
    middle = distances[(distances >= 10) & (distances <= 100)]
    smooth = 1 - (np.log(middle) + np.euler_gamma) / log(base)
    measured = scores[(distances >= 10) & (distances <= 100)]
    require(near(measured, smooth, 0.01), f"{show(measured)}, without ripples {show(smooth)}")
    return "eight distances within 5e-4 of the limit; from 10 to 100 within 0.01 of the logarithm"


@claim(
    "prop-base-change",
    "symbolic",
    mutants={"the base times the factor": {"power": 0}, "a single hand, d = 2": {"narrowest": 2}},
    scope="even widths from 4 to 12, all hands",
)
def base_change(power: int = 1, narrowest: int = 4) -> str:
    """For symbols, each hand by itself; and the fastest and the slowest of the library's waves."""
    base, factor = sp.symbols("b f", positive=True)
    for d in range(narrowest, 13, 2):
        exponent = sp.Rational(d, d - 2) if power else sp.Integer(1)
        place, times = np.array([8 * 37]), 8.0 ** (float(exponent) if d > 2 else 1.0)
        old = ref.sinusoidal(np.concatenate([place, place // 8]), d)
        new = ref.sinusoidal(place, d, base=10_000.0 * times)[0]
        want = plain.waves([place[0] / 8], d)[0]
        require(near(old[1], want), f"d = {d}: the waves are {show(old[1])}, not {show(want)}")
        says = f"d = {d}: the slowest hand at {show(new[-2:])}, not {show(old[1, -2:])}"
        require(near(new[-2:], old[1, -2:]), says)
        require(near(new[:2], old[0, :2]), f"d = {d}: the fastest hand at {show(new[:2])}")
        for i in range(d // 2):
            changed = (base * factor**exponent) ** sp.Rational(-2 * i, d)
            want = base ** sp.Rational(-2 * i, d) * factor ** sp.Rational(-2 * i, d - 2)
            identity(
                sp.powsimp(sp.expand_power_base(changed)), sp.powsimp(want), f"hand {i}, d = {d}"
            )
    return "every hand for symbols at five widths; the library's slowest at 8 times the place"
