"""The figures of chapter 14."""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.patches import Rectangle

from tformer_book.chapters.ch14 import bench, steps
from tformer_book.chapters.ch14.claims_measured import ends
from tformer_book.experiments.training import Adam
from tformer_book.figures.style import (
    GREEN,
    INK,
    KEY,
    PURPLE,
    QUERY,
    QUIET,
    VALUE,
    WEIGHT,
    WIDE,
    label_ends,
    panel,
)
from tformer_book.figures.tables import blank

ENDS = ("tired", "wide")


def strip(told: bool = True) -> tuple[Figure, Figure]:
    """Under both adjectives: how likely animal and street are, before training and after it."""
    first, last = _whose(0, told), _whose(1, told)
    return first, last


def _whose(i: int, told: bool) -> Figure:
    figure, ax = blank(4.4, 1.5)
    rows = (("before training", steps.patients(False)[i]), ("after it", steps.patients()[i]))
    ax.text(0, -0.55, f"… too {ENDS[i]}", fontsize=12, fontweight="bold")
    for j, name in enumerate(("animal", "street")):
        ax.text(4.05 + 2.2 * j, -0.15, name, ha="center", va="bottom", fontsize=11)
    for y, (name, shares) in enumerate(rows):
        ax.text(2.8, y + 0.5, name, ha="right", va="center", fontsize=10)
        for j, share in enumerate(shares):
            known = told or not y
            text = f"{share:.3f}".lstrip("0") if known else "?"
            _box(ax, 3 + 2.2 * j, y, text, PURPLE if known else QUIET, 2.1)
    ax.set(xlim=(-0.3, 8), ylim=(2.1, -1.1))
    ax.set_aspect("auto")
    return figure


def _box(ax: Axes, x: float, y: float, text: str, color: str, width: float) -> None:
    look: Any = {"facecolor": "none", "edgecolor": color, "linewidth": 1.3}
    ax.add_patch(Rectangle((x + 0.03, y + 0.1), width - 0.06, 0.8, **look))
    ax.text(x + width / 2, y + 0.5, text, ha="center", va="center", fontsize=10, color=INK)


def on_steps() -> Figure:
    """Losses of three kinds of words while the storyteller is trained, and what is counted."""
    figure, ax = panel(WIDE, 4.0)
    found, shown = steps.losses(), steps.losses()["step"] <= 600
    kinds = {"name again": GREEN, "cure": QUERY, "patient": KEY}
    for name, color in kinds.items():
        ax.plot(found["step"][shown], found[name][shown], ".-", color=color, label=name)
    known = {"name again": "name again: the names", "patient, cure known": "patient: the cure"}
    for name, text in known.items():
        color, floor = kinds[name.split(",")[0]], steps.floor(name)
        ax.plot((0, 615), [floor] * 2, ":", color=color, linewidth=1.2)
        ax.text(625, floor, text, ha="left", va="center", fontsize=14, color=color)
    ax.set(xlim=(0, 900), ylim=(-0.1, 4.7))
    ax.set_xlabel("step", fontsize=14)
    ax.set_ylabel("nats", fontsize=14)
    ax.tick_params(labelsize=13)
    ax.set_xticks(range(0, 601, 100))
    ax.legend(fontsize=14, loc="upper center", ncols=3)
    return figure


@cache
def sizes() -> dict[str, tuple[float, float]]:
    """The typical gradient of a number of each tensor, before training and after it."""
    import torch
    from torch.nn.functional import cross_entropy

    from tformer import fast
    from tformer.models.sizes import initialise
    from tformer.parameters import tree_map
    from tformer_book.storyteller.stored import load, tokens
    from tformer_book.storyteller.training import CONFIGURATION, SEED, batches
    from tformer_book.storyteller.training import sizes as how_large

    drawn = initialise(how_large(tokens().n_vocab), CONFIGURATION, np.random.default_rng(SEED))
    found: dict[str, list[float]] = {}
    for parameters in (drawn, load().parameters):
        tree = tree_map(lambda x: torch.from_numpy(x.astype(np.float64)), parameters)
        module = fast.Module(fast.decoder, tree, configuration=CONFIGURATION)
        given, wanted = (torch.from_numpy(x[:8]) for x in batches(tokens())(1))
        cross_entropy(module(given).flatten(0, 1), wanted.flatten()).backward()
        for name, x in module.named_parameters():
            size = float(x.grad.square().mean().sqrt())  # type: ignore[union-attr]
            found.setdefault(name, []).append(size)
    return {name: (before, after) for name, (before, after) in found.items()}


def gradients() -> Figure:
    """How large the gradients of the storyteller's tensors are, of its blocks the first."""
    figure, ax = panel(4.8, 3.4)
    some = {name.removeprefix("blocks.0."): pair for name, pair in sizes().items()}
    some = {name: pair for name, pair in some.items() if not name.startswith("blocks.1.")}
    found = sorted(some.items(), key=lambda pair: pair[1][0])
    for y, (_, pair) in enumerate(found):
        ax.plot(pair, (y, y), color=QUIET, linewidth=1)
    for i, (name, color) in enumerate((("before training", QUERY), ("after it", KEY))):
        ax.plot([pair[i] for _, pair in found], range(len(found)), "o", color=color, label=name)
    ax.set_yticks(range(len(found)), [name for name, _ in found], fontsize=9)
    ax.set(xscale="log", xlabel="typical gradient of a number")
    ax.legend(fontsize=10, loc="lower right")
    return figure


def moves() -> tuple[Figure, Figure]:
    """Adam's parts on noisy gradients; and the size of a move without the correction."""
    rng = np.random.default_rng(2)
    grads = 3 * (0.3 + rng.standard_normal(60))
    left, ax = panel(3.4, 2.7)
    adam = Adam([np.zeros(1)], (0.9, 0.95), 1e-8)
    found, means = [], []
    for i, grad in enumerate(grads):
        found.append(float(adam.moves([np.array([grad])])[0][0]))
        means.append(float(adam.means[0][0]) / (1 - 0.9 ** (i + 1)))
    ax.plot(grads, color=QUIET, linewidth=1, label="gradient")
    ax.plot(means, color=QUERY, linewidth=1.5, label="its mean")
    ax.plot(found, color=KEY, label="move")
    ax.set(xlabel="step", title="averaged, and to scale")
    ax.legend(fontsize=9, ncols=3, loc="lower right", handlelength=1)
    right, ax = panel(3.3, 2.7)
    t = np.arange(1, 201)
    for second, color in ((0.999, KEY), (0.95, QUERY)):
        y = (1 - 0.9**t) / np.sqrt(1 - second**t)
        ax.plot(t, y, color=color, label=f"β₂ = {second}")
    ax.axhline(1, color=VALUE, linestyle=":", label="corrected")
    ax.set(xscale="log", xlabel="step", title="a move, zeros in the averages", ylim=(0, 10))
    ax.legend(fontsize=10, loc="upper right")
    return left, right


def decays() -> Figure:
    """Two numbers under noise of two sizes, decayed apart from the gradient and inside it."""
    figure, ax = panel(4.8, 2.7)
    rng = np.random.default_rng(5)
    noise = rng.standard_normal((400, 200))
    for size, color in ((10.0, KEY), (0.01, QUERY)):
        for apart, line in ((True, "-"), (False, "--")):
            x = np.ones(200)
            adam = Adam([x], (0.9, 0.95), decay=0.5 if apart else 0.0)
            way = []
            for grad in noise:
                way.append(x.mean())
                adam.step([size * grad + (0 if apart else 0.5 * x)], 0.01)
            name = f"inside, noise of {size:g}" if not apart else "apart" if size > 1 else None
            ax.plot(way, line, color=color if not apart else VALUE, label=name)
    ax.set(xlabel="step", ylabel="mean of 200 numbers", ylim=(-0.1, 1.1))
    label_ends(ax)
    return figure


def warmed() -> tuple[Figure, Figure]:
    """The last loss against the rate, with and without warm-up, for both places of the norms."""
    first, second = (_warmed(order) for order in ("pre", "post"))
    return first, second


def _warmed(order: str) -> Figure:
    figure, ax = panel(3.4, 2.8)
    for n, color, name in ((0, KEY, "without"), (bench.WARM, QUERY, "warm-up")):
        runs = np.array([ends(rate=rate, warmup=n, order=order) for rate in bench.RATES])
        ax.plot(bench.RATES, runs.mean(axis=1), color=color, label=name)
        ax.plot(bench.RATES, runs, "o", color=color, markersize=3)
    ax.axhline(bench.floor(), color=QUIET, linestyle=":")
    ax.set(xscale="log", yscale="log", xlabel="largest rate", ylabel="nats a story", ylim=(7, 70))
    ax.set_yticks([8, 16, 32, 64], ["8", "16", "32", "64"])
    ax.set_xticks([0.003, 0.01, 0.03, 0.1], [".003", ".01", ".03", ".1"])
    ax.minorticks_off()
    ax.set_title("norms before" if order == "pre" else "norms after", fontweight="bold")
    ax.legend(fontsize=10, loc="upper left")
    return figure


def schedules() -> Figure:
    """Two schedules after a warm-up."""
    from tformer.training.recipe import Recipe, learning_rate_at

    figure, ax = panel(4.8, 2.4)
    t = np.arange(1, 1001)
    for name, color, text in (("cosine", QUERY, "cosine"), ("inverse_sqrt", KEY, "inverse root")):
        recipe = Recipe(1000, 1.0, warmup=100, schedule=name)
        ax.plot(t, [learning_rate_at(recipe, int(n)) for n in t], color=color, label=text)
    label_ends(ax)
    ax.set(xlabel="step", ylabel="share of the rate", ylim=(0, 1.05))
    return figure


def norms() -> Figure:
    """How long the storyteller's gradients were."""
    figure, ax = panel(4.8, 2.8)
    found = steps.norms()
    ax.plot(np.arange(1, len(found) + 1), found, ".", color=QUERY, markersize=2)
    ax.axhline(1, color=KEY, linestyle="--", label="clipped to this")
    at = int(found.argmax())
    ax.annotate(
        f"step {at + 1}",
        (at + 1, found[at]),
        (10, 0),
        textcoords="offset points",
        va="center",
        fontsize=10,
    )
    ax.set(yscale="log", xlabel="step", ylabel="length of the gradient")
    ax.legend(fontsize=10, loc="upper right")
    return figure


def scales() -> tuple[Figure, Figure]:
    """What a loss scale changes: the error of the gradient, and the share of it that is 0."""
    from tformer_book.chapters.ch14 import half

    found = half.stored()["scales"]
    power = [int(n) for n in found]
    errors, lost = (np.array([pair[i] for pair in found.values()]) for i in (0, 1))
    inside = np.isfinite(errors)
    parts = []
    for values, title, color in (
        (errors, "error of the gradient", QUERY),
        (lost, "numbers that become 0", KEY),
    ):
        figure, ax = panel(3.4, 2.6)
        shown = np.array(power)[inside]
        ax.plot(shown, 100 * values[inside], "o-", color=color, markersize=4)
        ax.axvspan(23, 28.5, color=QUIET, alpha=0.2, linewidth=0)
        ax.text(25.8, 0.5, "overflow", rotation=90, ha="center", va="center", fontsize=10)
        ax.texts[-1].set_transform(ax.get_xaxis_transform())
        ax.set(xlabel="loss times 2 to the", ylabel="%", xlim=(-1, 28.5))
        ax.set_ylim(bottom=0)
        ax.set_title(title, fontweight="bold")
        parts.append(figure)
    return parts[0], parts[1]


def stalls() -> Figure:
    """The moves of Adam after one gradient a thousand times too large, clipped and not."""
    from tformer_book.chapters.ch14.claims_deeper import stalled

    figure, ax = panel(4.8, 2.5)
    for clip, color, name in ((np.inf, KEY, "as it is"), (1.0, QUERY, "clipped to 1")):
        ax.plot(stalled(-1000.0, clip)[:320], color=color, label=name)
    ax.set(xlabel="steps after it", ylabel="move")
    ax.legend(fontsize=10, loc="lower right")
    return figure


def curves() -> Figure:
    """A small training that was killed and gone on with: how far its losses are from the whole."""
    from tempfile import TemporaryDirectory

    from tformer_book.chapters.ch14 import curve

    figure, ax = panel(4.8, 2.6)
    t = np.arange(1, curve.RECIPE.steps + 1)
    for name, color, streamed, forgotten in (
        ("all is kept", QUERY, False, ""),
        ("averages forgotten", KEY, False, "moments"),
        ("batches from one stream", WEIGHT, True, ""),
    ):
        with TemporaryDirectory() as one, TemporaryDirectory() as two:
            whole = curve.resumed(one, curve.RECIPE.steps, streamed)
            again = curve.resumed(two, 12, streamed, forgotten)
        ax.plot(t, np.subtract(again, whole), color=color, linewidth=1.5, label=name)
    ax.axvline(12.5, color=QUIET, linestyle=":")
    ax.set(xlabel="step", ylabel="loss, killed less whole", ylim=(-0.2, 0.35))
    ax.legend(fontsize=10, loc="upper left")
    return figure


def groups() -> dict[str, float]:
    """How far typical gradients of the storyteller's tensors are apart, before and after."""
    pairs = np.array(list(sizes().values()))
    before, after = pairs.max(axis=0) / pairs.min(axis=0)
    return {"before": float(before), "after": float(after)}
