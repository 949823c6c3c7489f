"""Pictures of the page: loss, a step of training, and what the machine writes."""

from __future__ import annotations

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from tformer_book.chapters.ch00.engine import Machine, trained, untrained
from tformer_book.chapters.ch00.figures import at, box, canvas, sentence, write
from tformer_book.chapters.ch00.stages import stored
from tformer_book.figures.style import INK, KEY, QUERY, QUIET, VALUE
from tformer_book.world.stories import Stories

STORY = (
    "the animal did not cross the street because it was too wide . so they narrowed the street ."
)
MARKS = (0, 10, 100, 1000)


def surprises(machine: Machine, world: Stories) -> np.ndarray:
    """The mean loss of each word, in nats, (T,), over all stories of a world."""
    rows = world.tokens()
    p, _ = machine.guesses(rows[:, :-1])
    right = np.take_along_axis(p, rows[:, 1:, None], axis=-1)[..., 0]
    found: np.ndarray = -(np.log(right) * world.p[:, None]).sum(axis=0)
    return found


def loss(told: Stories) -> Figure:
    """Each word's mean loss before and after training, and what nobody can go below."""
    before, after = (surprises(machine, told) for machine in (untrained(), trained()))
    floor = told.entropies()
    figure, ax = canvas(330)
    for i in range(len(floor)):
        x, unit = at(i) - 17, 38.0
        box(ax, x, 250 - unit * before[i], 34, unit * before[i], facecolor=QUIET, alpha=0.22)
        box(ax, x, 250 - unit * after[i], 34, unit * after[i], facecolor=KEY)
        box(ax, x, 250 - unit * floor[i], 34, unit * floor[i], facecolor=VALUE)
        if after[i] > 0.02:
            write(ax, at(i), 238 - unit * max(after[i], floor[i]), f"{after[i]:.2f}", 14)
    sentence(ax, 270, STORY.split())
    parts = ((QUIET, "before", before), (KEY, "after", after), (VALUE, "floor", floor))
    for column, (color, name, values) in enumerate(parts):
        x = 40 + 320 * column
        box(ax, x, 300, 16, 16, facecolor=color, alpha=0.35 if color == QUIET else 1)
        write(ax, x + 24, 308, f"{name}: {values.sum():.2f} nats a story", 16, ha="left")
    return figure


def slope(told: Stories, n: int = 48) -> tuple[np.ndarray, np.ndarray, float]:
    """The loss of n stories as one number of the untrained table U moves.

    Returns
    -------
    Values of the number, the loss at each, and where the number stands.
    """
    machine = untrained()
    rows = told.tokens()[:: len(told) // n][:n]
    i, j = 18, machine.words.index("the")
    stands = float(machine.U[i, j])
    values = stands + np.linspace(-4, 4, 41)
    found = []
    for value in values:
        U = machine.U.copy()
        U[i, j] = value
        p, _ = Machine(machine.words, machine.E, machine.P, U, machine.blocks).guesses(rows[:, :-1])
        right = np.take_along_axis(p, rows[:, 1:, None], axis=-1)
        found.append(float(-np.log(right).sum() / len(rows)))
    return values, np.array(found), stands


def step(told: Stories) -> Figure:
    """Left: the loss over one number, and which way is down. Right: what a thousand steps did."""
    figure, _ = canvas(320)
    values, losses, stands = slope(told)
    left = figure.add_axes((0.075, 0.17, 0.36, 0.7))
    left.plot(values, losses, color=INK)
    height = float(np.interp(stands, values, losses))
    rise = float(np.interp(stands + 0.2, values, losses) - height) / 0.2
    there = stands - 0.8 * np.sign(rise)
    left.plot(stands, height, "o", color=KEY, markersize=9)
    left.annotate(
        "",
        (there, height + rise * (there - stands)),
        (stands, height),
        arrowprops={"arrowstyle": "-|>", "color": KEY, "linewidth": 2},
    )
    left.set(xlabel="one of 30,816 numbers", title="loss of 48 stories, in nats")
    right = figure.add_axes((0.53, 0.17, 0.36, 0.7))
    stages = stored()["stages"]
    for name, color, answer in (("tired", QUERY, "animal"), ("wide", VALUE, "street")):
        sure = [stage["prompts"][name]["sure"] for stage in stages]
        _curve(right, [stage["step"] for stage in stages], sure, color)
        right.text(1.02, sure[-1], answer, color=color, transform=right.get_yaxis_transform())
    right.set(title="probability of the right answer", ylim=(0, 1.02))
    return figure


def _curve(ax: Axes, steps: list[int], values: list[float], color: str) -> None:
    """A line over steps of training, on a scale that gives each tenfold the same width."""
    ax.plot(np.log10(np.array(steps) + 3), values, color=color)
    ax.set_xticks([np.log10(mark + 3) for mark in MARKS], [str(mark) for mark in MARKS])
    ax.set_xlabel("step of training")


def writes() -> Figure:
    """Shares of 400 written stories that are right so far, at each stage."""
    figure, _ = canvas(340)
    ax = figure.add_axes((0.075, 0.16, 0.66, 0.74))
    stages = stored()["stages"]
    steps = [stage["step"] for stage in stages]
    ends = []
    for key, color, name in (
        ("grammar", QUIET, "a sentence"),
        ("cure", QUERY, "… and the cure fits"),
        ("right", VALUE, "… and all of it is right"),
    ):
        shares = [stage[key] for stage in stages]
        _curve(ax, steps, shares, color)
        ends.append((shares[-1], f"{name}: {100 * shares[-1]:.0f} %", color))
    heights = [0.0]
    for (share, text, color), gap in zip(sorted(ends), (0, 0.075, 0.075), strict=True):
        heights.append(max(share - 0.05, heights[-1] + gap))
        ax.text(
            1.02,
            heights[-1],
            text,
            color=color,
            va="center",
            transform=ax.get_yaxis_transform(),
        )
    ax.set(title="share of 400 stories that it writes", ylim=(0, 1.02))
    ax.set_yticks(np.arange(0, 1.01, 0.25))
    return figure
