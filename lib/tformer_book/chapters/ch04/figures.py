"""Figures of chapter 4: why divide by √d."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from tformer import reference
from tformer_book.chapters.ch04 import row, scores
from tformer_book.chapters.ch04.widen_head import Column, WidenHead
from tformer_book.figures.style import (
    INK,
    PHONE,
    PURPLE,
    QUERY,
    QUIET,
    WEIGHT,
    WIDE,
    Fitting,
    panel,
)
from tformer_book.figures.tables import broken

if TYPE_CHECKING:
    from tformer_book.chapters.ch04.recall import Runs

COLOR = {"1": "#B06F00", "1/√d": INK, "1/d": PURPLE}
"""A colour for each scale, none of them that of a query, a key or a value."""
SHADES = ("#B9B9B9", "#767676", INK)
"""From a narrow head to a wide one."""


def strips(ax: Axes, widths: Sequence[int]) -> None:
    """Make room for one line of dots a width, narrow heads on top."""
    ax.set(yticks=range(len(widths)), yticklabels=[f"d = {d}" for d in widths])
    ax.set_ylim(len(widths) - 0.45, -0.55)
    ax.grid(visible=False)
    ax.tick_params(axis="y", length=0)
    ax.spines["left"].set_visible(False)


def dots(ax: Axes, values: np.ndarray, line: int, color: str, **style: object) -> None:
    """A cloud of dots on one line, spread up and down so that they can be told apart."""
    spread = 0.3 * (np.random.default_rng(1).random(len(values)) - 0.5) * 2
    kept = {"markersize": 3.2, "alpha": 0.45, "markeredgewidth": 0} | style
    ax.plot(values, line + spread, "o", color=color, **kept)  # type: ignore[arg-type]


def cloud(rng: np.random.Generator, widths: Sequence[int], n: int = 150) -> Figure:
    """Dot products of random queries and keys, one line of dots a width, and one deviation."""
    figure, ax = panel(width=3.6, height=2.3)
    strips(ax, widths)
    for i, d in enumerate(widths):
        q, k = rng.standard_normal((2, n, d))
        dots(ax, reference.dot(q, k), i, INK)
        size = d**0.5
        ax.plot([-size, size], [i + 0.4, i + 0.4], "|-", color=PURPLE, linewidth=2, markersize=7)
    ax.set(xlabel="score q·k")
    return figure


def walks(d: int = 256, n: int = 40) -> Fitting:
    """Dot products as they grow, a product a step, and the fan of one standard deviation.

    The walks are the same in every call; one of them is drawn in the colour of a query.
    """
    return Fitting(_walks(d, n, WIDE, 3.8), _walks(d, n, PHONE, 3.4))


def _walks(d: int, n: int, across: float, height: float) -> Figure:
    figure, ax = panel(across, height)
    narrow = across == PHONE
    q, k = np.random.default_rng(1).standard_normal((2, n, d))
    sums = np.cumsum(np.pad(q * k, ((0, 0), (1, 0))), axis=-1)
    steps = np.arange(d + 1)
    ax.fill_between(steps, -(steps**0.5), steps**0.5, color=PURPLE, alpha=0.18, linewidth=0)
    for walk in sums[1:]:
        ax.plot(steps[::4], walk[::4], color=QUIET, linewidth=0.8, alpha=0.5)
    ax.plot(steps, sums[0], color=QUERY, linewidth=2)
    for sign in (-1, 1):
        ax.plot(steps, sign * steps**0.5, color=PURPLE, linewidth=2.5)
        ax.text(d + 2, sign * d**0.5, f"{'−+'[sign > 0]}√d", va="center", fontsize=13)
    for width in (d // 16, d // 4, d):
        inside = int((abs(sums[:, width]) <= width**0.5).sum())
        ax.plot([width, width], [-(width**0.5), width**0.5], color=PURPLE, linewidth=1.5)
        said = f"d = {width}: {inside} of {n}\nwithin ±{width**0.5:g}"
        above = narrow and width == d // 4  # where three do not stand side by side
        look: Any = {"ha": "center" if width < d else "right", "va": "top" if above else "bottom"}
        left = {"ha": "left"} if narrow and width == d // 16 else {}
        place = (4 if left else width, (3.8 if above else -4.3) * d**0.5)
        ax.text(*place, said, fontsize=9.5 if narrow else 11, **(look | left))
    apart = 64 if narrow else 32
    ax.set(xlim=(0, d + 10), ylim=(-4.4 * d**0.5, 3.9 * d**0.5), yticks=range(-48, 49, 16))
    ax.set(xlabel="products added up", ylabel="sum so far", xticks=range(0, d + 1, apart))
    return figure


def bars(widths: Sequence[int]) -> tuple[Figure, ...]:
    """Weights of the row of *it*, a panel a scale, a line of bars a width."""
    found = [WidenHead(d).columns for d in widths]
    return tuple(
        _bars(name, [columns[name] for columns in found], widths) for name in scores.SCALES
    )


def _bars(name: str, columns: Sequence[Column], widths: Sequence[int]) -> Figure:
    figure = Figure(figsize=(2.15, 2.9), layout="constrained")
    axes = figure.subplots(len(widths), 1, sharex=True, sharey=True)
    for ax, column, d in zip(axes, columns, widths, strict=True):
        ax.bar(range(len(row.WORDS)), column.weights, color=WEIGHT, width=0.75)
        ax.set(ylim=(0, 1), yticks=(0, 1), xticks=[])
        ax.grid(visible=False)
        ax.set_title(f"d = {d}", loc="right", fontsize=10, pad=2)
    axes[0].set_title(f"scale {name}", loc="left", pad=2)
    return figure


def alive(widths: Sequence[int], n: int = 200) -> tuple[Figure, ...]:
    """What arrives at the scores in rows of 64 keys: a dot a row, their mean and their median."""
    found = [scores.answers(d) for d in widths]
    return tuple(
        _alive(name, [answers[name].random for answers in found], widths, n)
        for name in ("1", "1/√d")
    )


def _alive(
    name: str, lengths: Sequence[np.ndarray], widths: Sequence[int], n: int, least: float = 1e-6
) -> Figure:
    figure, ax = panel(height=2.6)
    strips(ax, widths)
    for i, arriving in enumerate(lengths):
        dots(ax, arriving[:n].clip(least), i, COLOR[name], alpha=0.35)
        middle, mean = max(np.median(arriving), least), arriving.mean()
        ax.plot([middle, middle], [i - 0.36, i + 0.36], color=INK, linewidth=2.5)
        ax.plot(mean, i, "D", color="white", markeredgecolor=INK, markeredgewidth=1.6, markersize=7)
    ax.set(xscale="log", xlim=(least / 2, 3), xticks=(1e-6, 1e-4, 1e-2, 1))
    ax.set(title=f"scale {name}", xlabel="length of what arrives")
    return figure


def rates(runs: Mapping[tuple[str, int], Runs]) -> tuple[Figure, ...]:
    """Loss at the end of training against the learning rate: a panel a scale, a line a width.

    Losses above chance are drawn at chance. Bars run from the lowest to the highest seed.
    """
    names = dict.fromkeys(name for name, _ in runs)
    return tuple(
        _rates(name, {width: run for (scale, width), run in runs.items() if scale == name})
        for name in names
    )


def _rates(name: str, runs: Mapping[int, Runs]) -> Figure:
    figure, ax = panel(width=2.15, height=2.3)
    for run, color, mark in zip(runs.values(), SHADES, "os^", strict=True):
        final = run.final().clamp(max=run.chance).numpy()
        middle = np.median(final, axis=-1)
        bars = middle - final.min(axis=-1), final.max(axis=-1) - middle
        ax.errorbar(run.rates, middle, bars, color=color, linewidth=1)
        ax.plot(run.rates, middle, f"{mark}-", color=color, markersize=4)
    ax.axhline(run.chance, color=QUIET, linestyle=":")
    ax.set(title=f"scale {name}", xscale="log", yscale="log", ylim=(0.015, 4))
    ax.set(xlabel="learning rate", ylabel="loss")
    return figure


def aligned(rng: np.random.Generator, widths: Sequence[int], rho: float) -> tuple[Figure, ...]:
    """One aligned key among 63 unrelated ones, under two scales: a panel a scale."""
    drawn = []
    for d in widths:
        q, z = rng.standard_normal((2, d))
        others = reference.norm(q) * rng.standard_normal(63)
        drawn.append((others, float(reference.dot(q, rho * q + (1 - rho**2) ** 0.5 * z))))
    return tuple(_aligned(name, drawn, widths) for name in ("1/√d", "1/d"))


def _aligned(name: str, drawn: Sequence[tuple[np.ndarray, float]], widths: Sequence[int]) -> Figure:
    figure, ax = panel(height=2.4)
    strips(ax, widths)
    for i, ((others, best), d) in enumerate(zip(drawn, widths, strict=True)):
        scale = scores.SCALES[name](d)
        dots(ax, scale * others, i, QUIET)
        ax.plot(scale * best, i, "*", color=COLOR["1"], markersize=13, markeredgecolor="white")
    ax.set(title=f"scale {name}", xlabel="score", xlim=(-4, 18) if name == "1/√d" else (-1, 1))
    return figure


def wrong(d: int = 64, n_heads: int = 8) -> Figure:
    """The row of "it" with the right scale, and what three mistakes make of it."""
    raw, root = WidenHead(d).columns["1"].scores, d**0.5
    drawn = {
        f"divided by √{d}": reference.softmax(raw / root),
        f"by √{n_heads * d}": reference.softmax(raw / (n_heads * d) ** 0.5),
        f"by √{d}, twice": reference.softmax(raw / d),
        "after the softmax": reference.softmax(raw) / root,
    }
    return broken(drawn, row.WORDS, most=0.25, sums=True, bold=row.ASKS)
