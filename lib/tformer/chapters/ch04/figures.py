"""Figures of chapter 4: why divide by √d."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from scipy.interpolate import CubicSpline
from scipy.special import expit

from tformer.chapters.ch04 import scores
from tformer.experiments.gaussian_rows import (
    expected_max,
    expected_row,
    inverse_norm,
    over_queries,
    two_keys_norm,
)
from tformer.experiments.intervals import NORMAL_MEDIAN, bernstein_margin, mean_interval
from tformer.figures.style import BLUE, GREEN, INK, ORANGE, PURPLE, QUIET, SKY, VERMILLION, panels

if TYPE_CHECKING:
    from tformer.chapters.ch04.recall import Runs

COLOR = {"1": VERMILLION, "1/√d": BLUE, "1/d": GREEN}
MARKER = {"1": "s", "1/√d": "o", "1/d": "^"}
SHADES = (SKY, BLUE, INK)


def limit_law(widths: Sequence[int]) -> Figure:
    """Kolmogorov distance of q·k/√d from the normal distribution, against the width."""
    figure, (ax,) = panels()
    signs = [scores.distance_of_signs(d) for d in widths]
    normals = [scores.distance_of_normals(d) for d in widths]
    bound = [1 / math.sqrt(2 * math.pi * d) for d in widths]
    ax.plot(widths, signs, "s", color=VERMILLION, label="signs")
    ax.plot(widths, bound, "--", color=VERMILLION, label="1/√(2πd)")
    ax.plot(widths, normals, "o-", color=BLUE, label="normal coordinates")
    ax.set(xscale="log", yscale="log", xlabel="width d", ylabel="distance from N(0, 1)")
    ax.legend()
    return figure


def largest(rng: np.random.Generator, sizes: Sequence[int], n_rows: int = 1000) -> Figure:
    """Expected largest of n standard normal scores: measured, exact, and its bound."""
    figure, (ax,) = panels()
    for n in sizes:
        top = rng.standard_normal((n_rows, n)).max(axis=-1)
        mean, half = mean_interval(top, points=len(sizes))
        ax.errorbar(n, mean, half, fmt="o", color=BLUE, label="measured" if n == sizes[0] else None)
    between = np.geomspace(sizes[0], sizes[-1], 60)
    ax.plot(between, [expected_max(n) for n in between], color=BLUE, label="exact")
    ax.plot(between, np.sqrt(2 * np.log(between)), "--", color=VERMILLION, label="√(2 log n)")
    ax.set(xscale="log", xlabel="number of scores n", ylabel="expected maximum / σ")
    ax.legend()
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
) -> Figure:
    """Entropy and coincidence of the weights against the width, under the three scales."""
    figure, (left, right) = panels(2)
    d = np.geomspace(widths[0], widths[-1], 60)
    exact = exact_by_width(n_keys, d)
    for name, measured in rows.items():
        same = [1 / row.effective_keys for row in measured]
        _points(left, widths, [row.entropy for row in measured], name, 3 * len(widths))
        _points(right, widths, same, name, 3 * len(widths))
        left.plot(d, exact[name][:, 0], color=COLOR[name], label=f"scale {name}")
        right.plot(d, exact[name][:, 1], color=COLOR[name])
    for loss, color in ((0.5 + 0 * d, BLUE), (d / 2, VERMILLION)):
        left.plot(d, math.log(n_keys) - loss, ":", color=color)
    freezing = 2 * math.log(n_keys)
    left.axvline(freezing, color=QUIET, linewidth=1)
    left.text(freezing * 1.2, 2.2, f"2 log {n_keys}", color=INK, fontsize=9)
    left.set(xscale="log", xlabel="width d", ylabel="entropy (nats)", ylim=(0, 4.5))
    right.set(xscale="log", yscale="log", xlabel="width d", ylabel="P(two draws, one key)")
    figure.legend(loc="outside lower center", ncols=3)
    return figure


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
) -> Figure:
    """Mean and median norm of the softmax Jacobian: of many keys, and of two keys with scale 1."""
    figure, (left, right) = panels(2)
    d = np.geomspace(widths[0], widths[-1], 60)
    for name, measured in rows.items():
        _points(left, widths, [row.jacobian for row in measured], name, 3 * len(widths))
        left.plot([], [], MARKER[name], color=COLOR[name], label=f"mean, scale {name}")
    _many_keys(left, n_keys, d)
    left.text(widths[0], 0.93 / n_keys, f"1/{n_keys}", va="top", fontsize=9)
    left.set(title=f"{n_keys} keys", ylim=(0.004, 1), ylabel="norm of the Jacobian")
    typical = expit(np.sqrt(2 * d) * NORMAL_MEDIAN)
    right.plot(d, [two_keys_norm(math.sqrt(width)) for width in d], color=VERMILLION, label="mean")
    right.plot(d, 1 / np.sqrt(np.pi * d), "--", color=VERMILLION, label="1/√(πd)")
    right.plot(d, 2 * typical * (1 - typical), color=PURPLE, label="median")
    right.set(title="two keys, scale 1", ylim=(1e-4, 1))
    right.legend(fontsize=9)
    for ax in (left, right):
        ax.set(xscale="log", yscale="log", xlabel="width d")
    figure.legend(*left.get_legend_handles_labels(), loc="outside lower center", ncols=3)
    return figure


def _many_keys(ax: Axes, n_keys: int, d: np.ndarray) -> None:
    """For scale 1 the bound of the mean norm and the median; for the others what the mean nears."""
    top = expected_max(n_keys)
    bound = [top * inverse_norm(width) for width in d]
    medians = [
        np.median(scores.normal_jacobians(n_keys, math.sqrt(width), 1000)) for width in d[::3]
    ]
    ax.plot(d, bound, "--", color=COLOR["1"], linewidth=1, label="bound, scale 1")
    ax.plot(d[::3], medians, color=PURPLE, linewidth=1, label="median, scale 1")
    ax.axhline(scores.normal_jacobians(n_keys).mean(), color=COLOR["1/√d"], linewidth=1)
    ax.axhline(1 / n_keys, color=COLOR["1/d"], linewidth=1)


def freezing(sizes: Sequence[float]) -> Figure:
    """Share of the entropy that is left, against σ in units of √(2 log n), and its limit."""
    figure, (ax,) = panels()
    ratios = np.linspace(0.05, 2, 40)
    for n, color in zip(sizes, (ORANGE, GREEN, BLUE), strict=True):
        unit = math.log(n)
        left = [expected_row(r * math.sqrt(2 * unit), n).entropy / unit for r in ratios]
        label = f"n = {n:g}" if n < 1000 else f"n = $10^{{{round(math.log10(n))}}}$"
        ax.plot(ratios, left, color=color, label=label)
    ax.plot(ratios, np.maximum(1 - ratios**2, 0), "--", color=INK, label="n → ∞")
    ax.set(xlabel="σ / √(2 log n)", ylabel="expected entropy / log n", ylim=(0, 1.02))
    ax.legend()
    return figure


def assumptions(sizes: Mapping[str, np.ndarray], widths: Sequence[int]) -> Figure:
    """Typical size of q·k/√d against the width, assumption by assumption."""
    figure, (ax,) = panels(height=4.2)
    colors = (PURPLE, ORANGE, VERMILLION, INK, SKY, GREEN)
    for (name, intervals), color, marker in zip(sizes.items(), colors, "PvsDo^", strict=True):
        middle, low, high = intervals.T
        ax.errorbar(
            widths,
            middle,
            (middle - low, high - middle),
            color=color,
            marker=marker,
            markersize=5,
            linewidth=1.5,
            label=name,
        )
    ax.set(xscale="log", yscale="log", xlabel="width d", ylabel="typical size of q·k/√d")
    figure.legend(loc="outside lower center", ncols=2)
    return figure


def aligned(weights: Mapping[str, np.ndarray], widths: Sequence[int], n_keys: int) -> Figure:
    """Mean weight of the one key that is aligned with the query, under two scales."""
    figure, (ax,) = panels()
    failure = 0.01 / (len(weights) * len(widths))
    for name, samples in weights.items():
        margins = [bernstein_margin(sample, failure=failure) for sample in samples]
        means, color = samples.mean(axis=-1), COLOR[name]
        ax.errorbar(widths, means, margins, fmt="o-", color=color, label=f"scale {name}")
    ax.axhline(1 / n_keys, color=QUIET, linestyle=":", label=f"1/{n_keys}")
    ax.set(xscale="log", xlabel="width d", ylabel="weight of the aligned key", ylim=(0, 1.05))
    ax.legend(loc="center left")
    return figure


def rates(runs: Mapping[tuple[str, int], Runs]) -> Figure:
    """Loss at the end of training against the learning rate: a panel a scale, a line a width.

    Losses above chance are drawn at chance. Bars run from the lowest to the highest seed.
    """
    names = list(dict.fromkeys(name for name, _ in runs))
    figure, axes = panels(len(names), height=3.2)
    for ax, name in zip(axes, names, strict=True):
        found = {width: run for (scale, width), run in runs.items() if scale == name}
        for (width, run), color in zip(found.items(), SHADES, strict=True):
            final = run.final().clamp(max=run.chance).numpy()
            middle = np.median(final, axis=-1)
            bars = middle - final.min(axis=-1), final.max(axis=-1) - middle
            ax.errorbar(
                run.rates,
                middle,
                bars,
                color=color,
                marker="o",
                markersize=4,
                linewidth=1.5,
                label=f"d = {width}",
            )
        ax.axhline(run.chance, color=QUIET, linestyle=":")
        ax.set(title=f"scale {name}", xscale="log", yscale="log", ylim=(0.015, 4))
        ax.label_outer()
    axes[0].set(ylabel="loss at the end (nats)")
    axes[len(axes) // 2].set(xlabel="learning rate")
    figure.legend(*axes[0].get_legend_handles_labels(), loc="outside lower center", ncols=3)
    return figure
