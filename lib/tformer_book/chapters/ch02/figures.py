"""Figures of chapter 2: softmax."""

from collections.abc import Mapping, Sequence
from itertools import pairwise

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from tformer import reference
from tformer_book.figures.style import INK, ORANGE, PANEL_WIDTH, PURPLE, QUIET, WEIGHT, panel
from tformer_book.figures.tables import broken

"""What softmax makes: a darker orange, so that thin lines are seen. No colour of q, k or v."""
CORNERS = np.array([[0.0, 0.0], [1.0, 0.0], [0.5, 0.75**0.5]])


def bare(height: float = 2.8, width: float = PANEL_WIDTH) -> tuple[Figure, Axes]:
    """A panel without a grid, sizes in inches."""
    figure, ax = panel(width, height)
    ax.grid(visible=False)
    return figure, ax


def row(names: Sequence[str], scores: np.ndarray) -> tuple[Figure, Figure]:
    """The `scores` (S,) of one word against the words `names`, and the weights they give."""
    return (
        _bars("scores", names, scores, "{:.1f}"),
        _bars("weights", names, reference.softmax(scores), "{:.5f}"),
    )


def _bars(title: str, names: Sequence[str], values: np.ndarray, form: str) -> Figure:
    figure, ax = bare(0.5 + 0.24 * len(names))
    ax.barh(range(len(names)), values, height=0.7, color=QUIET if title == "scores" else WEIGHT)
    for y, value in enumerate(values):
        ax.annotate(form.format(value), (value, y), (4, 0), textcoords="offset points", va="center")
    ax.set(title=title, xticks=[], xlim=(min(0, values.min()), 1.3 * values.max()))
    ax.set_yticks(range(len(names)), names)
    ax.invert_yaxis()
    ax.tick_params(length=0)
    ax.spines[["bottom", "left"]].set_visible(False)
    return figure


def shares(scores: np.ndarray) -> tuple[Figure, Figure, Figure]:
    """Scores (S,), their exponentials, and these divided by their sum."""
    terms = np.exp(scores)
    steps = {"scores": scores, "exponentials": terms, "weights": terms / terms.sum()}
    return tuple(_columns(title, values) for title, values in steps.items())  # type: ignore[return-value]


def _columns(title: str, values: np.ndarray) -> Figure:
    figure, ax = bare(2.4, 2.2)
    ax.bar(range(len(values)), values, color=WEIGHT if title == "weights" else QUIET, width=0.6)
    ax.axhline(0, color=QUIET, linewidth=1)
    for x, value in enumerate(values):
        below = value < 0
        text = f"{value:.3g}".replace("-", "−")
        place = (0, -4 if below else 4)
        ax.annotate(
            text, (x, value), place, textcoords="offset points", ha="center",
            va="top" if below else "bottom",
        )  # fmt: skip
    room = values.max() - min(0, values.min())
    ax.set(title=title, xticks=[], yticks=[])
    ax.set_ylim(min(0, values.min()) - 0.16 * room * (values.min() < 0), values.max() + 0.16 * room)
    ax.spines[["bottom", "left"]].set_visible(False)
    return figure


def ladders(scores: np.ndarray, shift: float) -> tuple[Figure, Figure]:
    """The same differences at two heights: `scores` (S,) and these shifted, with their shares."""
    top = max(scores.max(), scores.max() + shift) + 0.9
    bottom = min(scores.min(), scores.min() + shift) - 0.7
    return tuple(_ladder(x, (bottom, top)) for x in (scores, scores + shift))  # type: ignore[return-value]


def _ladder(x: np.ndarray, limits: tuple[float, float]) -> Figure:
    figure, ax = bare(3.4)
    ax.plot([0, 0], limits, color=QUIET, linewidth=1.2)
    ax.hlines(
        range(int(np.ceil(limits[0])), int(limits[1]) + 1), -0.06, 0.06, color=QUIET, linewidth=1
    )
    for rung, weight in zip(x, reference.softmax(x), strict=True):
        ax.plot([-0.25, 0.25], [rung, rung], color=INK, linewidth=3)
        ax.text(-0.35, rung, f"{rung:g}".replace("-", "−"), ha="right", va="center")
        ax.barh(rung, 2.2 * weight, left=0.75, height=0.45, color=WEIGHT)
        ax.text(0.82 + 2.2 * weight, rung, f"{weight:.3f}", va="center")
    ordered = np.sort(x)
    for low, high in pairwise(ordered):
        ax.annotate(
            "", (0.45, high), (0.45, low), arrowprops={"arrowstyle": "<->", "color": PURPLE}
        )
        ax.text(0.52, (low + high) / 2, f"{high - low:g}", va="center")
    ax.set(xlim=(-0.8, 3.1), ylim=limits)
    ax.set_axis_off()
    return figure


def _triangle(names: Sequence[str]) -> tuple[Figure, Axes]:
    figure, ax = bare(3.1)
    ax.fill(*CORNERS.T, facecolor="none", edgecolor=QUIET, linewidth=1.2)
    for name, (x, y), down in zip(names, CORNERS, (True, True, False), strict=True):
        ax.annotate(
            name, (x, y), (0, -4 if down else 4), textcoords="offset points", ha="center",
            va="top" if down else "bottom",
        )  # fmt: skip
    ax.set_aspect("equal")
    ax.set(xlim=(-0.08, 1.08), ylim=(-0.1, 0.97))
    ax.set_axis_off()
    return figure, ax


def jacobians(*rows: Sequence[float]) -> tuple[Figure, ...]:
    """The Jacobian of softmax at each of some rows of weights, as a table with signed colours."""
    return tuple(_signed(np.array(p)) for p in rows)


def _signed(p: np.ndarray) -> Figure:
    n, table = len(p), reference.softmax_jacobian(p)
    figure, ax = bare(3.4)
    for i in range(n):
        ax.text(i + 0.5, -0.3, f"{p[i]:g}", ha="center", va="center", weight="bold")
        for j in range(n):
            color, depth = ORANGE if table[i, j] > 0 else PURPLE, 2.6 * abs(table[i, j])
            ax.barh(i + 0.5, 1, left=j, height=1, color=color, alpha=depth)
            ax.text(j + 0.5, i + 0.5, _entry(table[i, j]), ha="center", va="center", fontsize=9)
        ax.text(n + 0.5, i + 0.5, "0", ha="center", va="center", color=QUIET)
    ax.text(-0.15, -0.3, "p", ha="right", va="center", style="italic")
    ax.text(n + 0.5, -0.3, "sum", ha="center", va="center", color=QUIET)
    ax.vlines(range(n + 1), 0, n, color=QUIET, linewidth=0.6)
    ax.hlines(range(n + 1), 0, n, color=QUIET, linewidth=0.6)
    ax.set(xlim=(-0.6, n + 1), ylim=(n + 0.1, -0.7))
    ax.set_axis_off()
    return figure


def _entry(x: float) -> str:
    return f"{x:.4f}".rstrip("0").replace("-", "−")


def compromise(scores: np.ndarray, beta: float) -> tuple[Figure, Figure]:
    """Score plus entropy over β: for the first two of three `scores`, and over the triangle."""
    return _two_options(scores[:2], beta), _contours(scores, beta)


def _two_options(scores: np.ndarray, beta: float) -> Figure:
    figure, ax = bare(3.1)
    share = np.linspace(0, 1, 201)
    p = np.stack([share, 1 - share], axis=-1)
    line, hump = p @ scores, reference.entropy(p) / beta
    for values, color, name, at in (
        (line, QUIET, "score", 150),
        (hump, PURPLE, "entropy", 60),
        (line + hump, WEIGHT, "sum", 60),
    ):
        ax.plot(share, values, color=color)
        ax.annotate(
            name, (share[at], values[at]), (0, -7), textcoords="offset points", color=INK, va="top"
        )
    best = float(reference.softmax(scores, beta=beta)[0])
    top = float(reference.logsumexp(scores, beta=beta))
    ax.plot([best, best], [0, top], ":", color=WEIGHT, linewidth=1.2)
    ax.plot(best, top, "o", color=WEIGHT)
    ax.set(xlabel="weight of the better key", xticks=[0, 1], yticks=[], ylim=(0, top * 1.12))
    ax.annotate(f"{best:.2f}", (best, 0), (4, 6), textcoords="offset points", color=WEIGHT)
    return figure


def _contours(scores: np.ndarray, beta: float) -> Figure:
    figure, ax = _triangle([f"{score:g}".replace("-", "−") for score in scores])
    n = 120
    p = np.array([(n - j - k, j, k) for j in range(n + 1) for k in range(n + 1 - j)]) / n
    value = p @ scores + reference.entropy(p) / beta
    top = reference.logsumexp(scores, beta=beta)
    levels = top - np.array([1.6, 0.8, 0.4, 0.2, 0.1, 0.03])
    across, up = (p @ CORNERS).T
    ax.tricontour(across, up, value, levels=levels, colors=WEIGHT, linewidths=1)
    x, y = reference.softmax(scores, beta=beta) @ CORNERS
    ax.plot(x, y, "o", color=WEIGHT)
    return figure


def soft_maximum(beta: float) -> tuple[Figure, Figure]:
    """The maximum of two scores and log-sum-exp above it: along a cut, and as level lines."""
    return _roof(beta), _levels(beta)


def _roof(beta: float) -> Figure:
    figure, ax = bare(3.1)
    x = np.linspace(-2.5, 2.5, 121)
    pairs = np.stack([x, np.zeros_like(x)], axis=-1)
    roof = reference.logsumexp(pairs, beta=beta)
    ax.plot(x, pairs.max(axis=-1), color=INK)
    ax.plot(x, roof, color=WEIGHT)
    ax.annotate("maximum", (1.0, 1.0), (6, -10), textcoords="offset points")
    ax.annotate(
        "log-sum-exp",
        (0.9, roof[82]),
        (-6, 6),
        textcoords="offset points",
        color=WEIGHT,
        ha="right",
    )
    ax.set(xlabel="first score, the second being 0", yticks=[0, 1, 2], xticks=[-2, -1, 0, 1, 2])
    return figure


def _levels(beta: float) -> Figure:
    figure, ax = bare(3.1)
    axis = np.linspace(-2.5, 2.5, 121)
    pairs = np.stack(np.meshgrid(axis, axis), axis=-1)
    levels = (-1, 0, 1, 2)
    ax.contour(
        axis, axis, pairs.max(axis=-1), levels=levels, colors=INK, linewidths=1, linestyles="solid"
    )
    ax.contour(
        axis,
        axis,
        reference.logsumexp(pairs, beta=beta),
        levels=levels,
        colors=WEIGHT,
        linestyles="solid",
    )
    foot = np.array([_on_level(difference, 1.0, beta) for difference in (-1.8, -0.5, 0.5, 1.8)])
    arrow = reference.softmax(foot, beta=beta)
    ax.quiver(*foot.T, *arrow.T, angles="xy", scale_units="xy", scale=1, color=PURPLE, width=0.009)
    ax.set(xlabel="first score", ylabel="second score", xticks=[], yticks=[])
    ax.set_aspect("equal")
    return figure


def _on_level(difference: float, level: float, beta: float) -> np.ndarray:
    """The two scores with this difference whose log-sum-exp is `level`."""
    x = np.array([difference, 0.0])
    return x + level - reference.logsumexp(x, beta=beta)


def ruler(scores: np.ndarray, largest: float) -> tuple[Figure, Figure]:
    """Exponentials of `scores` (S,) on a logarithmic ruler that ends, and after the shift."""
    return _ruler(scores, largest), _ruler(scores - scores.max(), largest)


def _ruler(scores: np.ndarray, largest: float) -> Figure:
    figure, ax = bare(1.3)
    ax.plot([-largest, largest], [0, 0], color=INK, linewidth=2)
    ax.plot([largest, largest], [-0.25, 0.25], color=INK, linewidth=2)
    ax.plot([0, 0], [-0.15, 0.15], color=QUIET, linewidth=1.2)
    ax.text(0, -0.35, "1", ha="center", va="top")
    ax.text(largest, -0.35, "largest", ha="right", va="top")
    for score in scores:
        lost = score > largest
        ax.plot(score, 0, "x" if lost else "o", color=INK if lost else WEIGHT, markersize=8)
        ax.text(score, 0.3, f"{score:g}".replace("-", "−"), ha="center", va="bottom")
    ax.set(xlim=(-largest - 4, 1.3 * largest), ylim=(-1.1, 1))
    ax.set_axis_off()
    return figure


def formats(ends: Mapping[str, tuple[float, float]]) -> Figure:
    """Which exponents each number format bears: `ends` are the last ones on both sides."""
    figure, ax = bare(2.1, 3.6)
    for y, (name, both) in enumerate(ends.items()):
        left, right = np.clip(both, -150, 150)
        ax.barh(y, right - left, left=left, height=0.5, color=WEIGHT, alpha=0.5)
        ax.text(-170, y, name, va="center", ha="right")
        for end, x, side in ((both[0], left, "right"), (both[1], right, "left")):
            inside = abs(end) > 150
            aligned = {"right": "left", "left": "right"}[side] if inside else side
            gap = 3 if aligned == "left" else -3
            text = f"{end:.0f}".replace("-", "−")
            ax.annotate(
                text, (x, y), (gap, 0), textcoords="offset points", va="center", ha=aligned
            )  # fmt: skip
    ax.axvline(0, color=QUIET, linewidth=1)
    ax.set(xlim=(-150, 150), xticks=[0], yticks=[])
    ax.invert_yaxis()
    ax.spines[["left", "bottom"]].set_visible(False)
    return figure


def temperature(scores: np.ndarray) -> tuple[Figure, Figure]:
    """Weights and entropy of one row of `scores` (S,) against the inverse temperature."""
    betas = np.geomspace(0.01, 100, 161)
    weights = np.array([reference.softmax(scores, beta=beta) for beta in betas])
    (first, left), (second, right) = bare(), bare()
    tops = np.cumsum(weights, axis=-1)
    for top, weight, depth in zip(tops.T, weights.T, (0.8, 0.55, 0.35, 0.18), strict=True):
        left.fill_between(betas, top - weight, top, color=WEIGHT, alpha=depth, linewidth=0)
    for score, top, weight in zip(scores, tops[0], weights[0], strict=True):
        left.text(0.014, top - weight / 2, f"{score:g}".replace("-", "−"), va="center")
    right.plot(betas, reference.entropy(weights), color=WEIGHT)
    left.set(ylabel="weights", ylim=(0, 1), yticks=[0, 1])
    right.set(ylabel="entropy (nats)", ylim=(0, 1.5))
    for ax in (left, right):
        ax.set(xscale="log", xlabel="inverse temperature β", xlim=(0.01, 100))
    return first, second


def saturation(n: int) -> Figure:
    """Norm of the softmax Jacobian when one of `n` scores leads by Δ, and its two bounds."""
    figure, ax = panel(height=3.0)
    leads = np.linspace(0, 14, 141)
    weights = reference.softmax(leads[:, None] * np.eye(n)[0])
    norms = np.linalg.norm(reference.softmax_jacobian(weights), ord=2, axis=(-2, -1))
    bound = 2 * (n - 1) * np.exp(-leads)
    ax.plot(leads, norms, color=PURPLE)
    ax.plot(leads, bound, "--", color=WEIGHT)
    ax.axhline(0.5, color=INK, linestyle=":")
    ax.text(14, 0.56, "one half", ha="right", va="bottom")
    ax.annotate("bound", (9, 14 * np.exp(-9.0)), (6, 4), textcoords="offset points", color=WEIGHT)
    ax.annotate(
        "norm",
        (8, norms[80]),
        (-6, -6),
        textcoords="offset points",
        color=PURPLE,
        ha="right",
        va="top",
    )
    ax.set(yscale="log", xlabel="lead of the largest score", ylabel="norm of the Jacobian")
    return figure


def wrong(scores: np.ndarray, names: Sequence[str], temperature: float = 2.0) -> Figure:
    """The weights of some scores, and what four mistakes make of them.

    Down the columns they are those of the first of two queries with the same scores.
    """
    right = reference.softmax(scores)
    found = {
        "right": right,
        "down the columns": reference.softmax(np.stack([scores] * 2), axis=0)[0],
        "softmax twice": reference.softmax(right),
        f"temperature {temperature:g}": reference.softmax(scores / temperature),
        f"times {temperature:g} instead": reference.softmax(scores * temperature),
        "all hidden, −10⁹": reference.softmax(np.full(len(scores), -1e9)),
    }
    hidden = {"all hidden, −10⁹": np.ones(len(scores), bool)}
    return broken(found, names, wrong=hidden, sums=True, left=3.4)
