"""Figures of the deeper page of chapter 4: why divide by √d."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.patches import Rectangle
from scipy.interpolate import CubicSpline
from scipy.special import expit

from tformer import reference
from tformer_book.chapters.ch04 import scores
from tformer_book.chapters.ch04.figures import COLOR, SHADES
from tformer_book.chapters.ch04.widen_head import Column, WidenHead
from tformer_book.experiments.gaussian_rows import (
    expected_max,
    expected_row,
    inverse_norm,
    over_queries,
    two_keys_norm,
)
from tformer_book.experiments.intervals import NORMAL_MEDIAN, bernstein_margin, mean_interval
from tformer_book.figures.style import INK, ORANGE, PURPLE, QUIET, SKY, label_ends, panel

FULL = 0.12
"""From this entry of a Jacobian on the colour is full."""
MARKER = {"1": "s", "1/√d": "o", "1/d": "^"}


def limit_law(widths: Sequence[int]) -> Figure:
    """Kolmogorov distance of q·k/√d from the normal distribution, against the width."""
    figure, ax = panel(width=3.6)
    signs = [scores.distance_of_signs(d) for d in widths]
    normals = [scores.distance_of_normals(d) for d in widths]
    bound = [1 / math.sqrt(2 * math.pi * d) for d in widths]
    ax.plot(widths, signs, "s", color=PURPLE)
    ax.plot(widths, bound, "--", color=PURPLE, label="signs")
    ax.plot(widths, normals, "o-", color=INK, label="normal")
    ax.set(xscale="log", yscale="log", xlabel="width d", ylabel="distance from N(0, 1)")
    label_ends(ax)
    return figure


def largest(rng: np.random.Generator, sizes: Sequence[int], n_rows: int = 1000) -> Figure:
    """Expected largest of n standard normal scores: measured, exact, and its bound."""
    figure, ax = panel(width=3.6)
    for n in sizes:
        top = rng.standard_normal((n_rows, n)).max(axis=-1)
        mean, half = mean_interval(top, points=len(sizes))
        ax.errorbar(n, mean, half, fmt="o", color=INK)
    between = np.geomspace(sizes[0], sizes[-1], 60)
    ax.plot(between, [expected_max(n) for n in between], color=INK, label="exact")
    ax.plot(between, np.sqrt(2 * np.log(between)), "--", color=PURPLE, label="bound")
    ax.set(xscale="log", xlabel="number of scores n", ylabel="expected maximum / σ")
    label_ends(ax)
    return figure


def exact_by_width(n_keys: int, sizes: np.ndarray) -> dict[str, np.ndarray]:
    """For each scale, expected entropy and E[Σ p²] at the widths `sizes`: (widths, 2)."""
    sigmas = np.geomspace(0.2 / math.sqrt(sizes[-1]), 1.3 * math.sqrt(sizes[-1]), 40)
    rows = [expected_row(sigma, n_keys) for sigma in sigmas]
    curves = CubicSpline(np.log(sigmas), [(row.entropy, row.coincidence) for row in rows])

    def at(sigma: np.ndarray) -> np.ndarray:
        return curves(np.log(sigma).clip(np.log(sigmas[0])))

    return {
        name: np.array([over_queries(at, d, scale(d)) for d in sizes])
        for name, scale in scores.SCALES.items()
    }


def entropy(
    rows: Mapping[str, Sequence[scores.Rows]], widths: Sequence[int], n_keys: int
) -> tuple[Figure, Figure]:
    """Entropy and coincidence of the weights against the width, under the three scales."""
    (first, left), (second, right) = panel(), panel()
    d = np.geomspace(widths[0], widths[-1], 60)
    exact = exact_by_width(n_keys, d)
    for name, measured in rows.items():
        same = [1 / row.effective_keys for row in measured]
        _points(left, widths, [row.entropy for row in measured], name, 3 * len(widths))
        _points(right, widths, same, name, 3 * len(widths))
        left.plot(d, exact[name][:, 0], color=COLOR[name], label=name)
        right.plot(d, exact[name][:, 1], color=COLOR[name], label=name)
    for loss, name in ((0.5 + 0 * d, "1/√d"), (d / 2, "1")):
        left.plot(d, math.log(n_keys) - loss, ":", color=COLOR[name])
    left.axvline(2 * math.log(n_keys), color=QUIET, linewidth=1)
    left.set(title="entropy (nats)", xscale="log", xlabel="width d", ylim=(0, 4.5))
    right.set(title="chance of one key twice", xscale="log", yscale="log", xlabel="width d")
    for ax in (left, right):
        label_ends(ax)
    return first, second


def _points(
    ax: Axes, widths: Sequence[int], samples: Sequence[np.ndarray], name: str, points: int
) -> None:
    """Means of `samples`, one a width, with intervals that hold together at 99 %."""
    means, halves = zip(*(mean_interval(sample, points=points) for sample in samples), strict=True)
    ax.errorbar(
        widths,
        means,
        halves,
        color=COLOR[name],
        marker=MARKER[name],
        markersize=5,
        linestyle="none",
    )


def jacobian(
    rows: Mapping[str, Sequence[scores.Rows]], widths: Sequence[int], n_keys: int
) -> tuple[Figure, Figure]:
    """Mean and median norm of the softmax Jacobian: of many keys, and of two keys with scale 1."""
    (first, left), (second, right) = panel(), panel()
    d = np.geomspace(widths[0], widths[-1], 60)
    for name, measured in rows.items():
        _points(left, widths, [row.jacobian for row in measured], name, 3 * len(widths))
    _many_keys(left, n_keys, d)
    left.set(title=f"{n_keys} keys", ylim=(0.004, 1))
    typical = expit(np.sqrt(2 * d) * NORMAL_MEDIAN)
    right.plot(d, [two_keys_norm(math.sqrt(width)) for width in d], color=COLOR["1"])
    right.plot(d, 1 / np.sqrt(np.pi * d), "--", color=COLOR["1"])
    right.plot(d, 2 * typical * (1 - typical), color=SKY)
    right.set(title="two keys, scale 1", ylim=(1e-4, 1))
    for ax in (left, right):
        ax.set(xscale="log", yscale="log", xlabel="width d")
    right.text(30, 0.02, "median", color=SKY, ha="right")
    right.text(300, 0.06, "mean", color=COLOR["1"])
    return first, second


def _many_keys(ax: Axes, n_keys: int, d: np.ndarray) -> None:
    """For scale 1 the bound of the mean norm and the median; for the others what the mean nears."""
    top = expected_max(n_keys)
    bound = [top * inverse_norm(width) for width in d]
    medians = [
        np.median(scores.normal_jacobians(n_keys, math.sqrt(width), 1000)) for width in d[::3]
    ]
    ax.plot(d, bound, "--", color=COLOR["1"], linewidth=1)
    ax.plot(d[::3], medians, color=SKY, linewidth=1)
    ax.axhline(scores.normal_jacobians(n_keys).mean(), color=COLOR["1/√d"], linewidth=1)
    ax.axhline(1 / n_keys, color=COLOR["1/d"], linewidth=1)
    for name, x, y in (("1", 1300, 0.055), ("1/√d", 1300, 0.09), ("1/d", 1300, 0.0145)):
        ax.text(x, y, name, color=COLOR[name])
    ax.text(130, 0.01, "median, 1", color=SKY, ha="right")


def freezing(sizes: Sequence[float]) -> Figure:
    """Share of the entropy that is left, against σ in units of √(2 log n), and its limit."""
    figure, ax = panel(width=3.6)
    ratios = np.linspace(0.05, 2, 40)
    for n, color in zip(sizes, SHADES, strict=True):
        unit = math.log(n)
        left = [expected_row(r * math.sqrt(2 * unit), n).entropy / unit for r in ratios]
        label = f"{n:g}" if n < 1000 else f"$10^{{{round(math.log10(n))}}}$"
        ax.plot(ratios, left, color=color, label=label)
    ax.plot(ratios, np.maximum(1 - ratios**2, 0), "--", color=PURPLE, label="limit")
    ax.set(xlabel="σ / √(2 log n)", ylabel="expected entropy / log n", ylim=(0, 1.02))
    label_ends(ax)
    return figure


def jacobians(widths: Sequence[int], names: Sequence[str] = ("1", "1/√d")) -> tuple[Figure, ...]:
    """The softmax Jacobian of the row of "it" as a signed table, a panel a scale."""
    found = [WidenHead(d).columns for d in widths]
    return tuple(_jacobians(name, [columns[name] for columns in found], widths) for name in names)


def _jacobians(name: str, columns: Sequence[Column], widths: Sequence[int]) -> Figure:
    figure = Figure(figsize=(3.3, 1.65), layout="constrained")
    for ax, column, d in zip(figure.subplots(1, len(widths)), columns, widths, strict=True):
        table = reference.softmax_jacobian(column.weights)
        n = len(table)
        for i, j in zip(*np.nonzero(abs(table) > FULL / 100), strict=True):
            color, share = ORANGE if table[i, j] > 0 else PURPLE, min(1, abs(table[i, j]) / FULL)
            ax.add_patch(Rectangle((j, i), 1, 1, color=color, alpha=share, linewidth=0))
        ax.set(xlim=(0, n), ylim=(n, 0), xticks=[], yticks=[], aspect="equal", xlabel=f"d = {d}")
        ax.spines[:].set_visible(True)
    figure.suptitle(f"scale {name}", x=0.02, ha="left", fontsize=12)
    return figure


def assumptions(sizes: Mapping[str, np.ndarray], widths: Sequence[int]) -> Figure:
    """Typical size of q·k/√d against the width, assumption by assumption."""
    figure, ax = panel(width=3.6, height=3.4)
    colors = (PURPLE, ORANGE, COLOR["1"], INK, SKY, QUIET)
    for (name, intervals), color, marker in zip(sizes.items(), colors, "PvsDo^", strict=True):
        middle, low, high = intervals.T
        ax.errorbar(widths, middle, (middle - low, high - middle), color=color, linewidth=1.5)
        ax.plot(widths, middle, marker=marker, color=color, markersize=5, label=name)
    ax.set(xscale="log", yscale="log", xlabel="width d", ylabel="typical size of q·k/√d")
    label_ends(ax)
    return figure


def aligned(weights: Mapping[str, np.ndarray], widths: Sequence[int], n_keys: int) -> Figure:
    """Mean weight of the one key that is aligned with the query, under two scales."""
    figure, ax = panel(width=3.6)
    failure = 0.01 / (len(weights) * len(widths))
    for name, samples in weights.items():
        margins = [bernstein_margin(sample, failure=failure) for sample in samples]
        means, color = samples.mean(axis=-1), COLOR[name]
        ax.errorbar(widths, means, margins, fmt="o", color=color)
        ax.plot(widths, means, color=color, label=name)
    ax.axhline(1 / n_keys, color=QUIET, linestyle=":")
    ax.set(xscale="log", xlabel="width d", ylabel="weight of the aligned key", ylim=(0, 1.05))
    label_ends(ax)
    return figure
