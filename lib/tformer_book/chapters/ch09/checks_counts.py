"""Exercises 9.6 to 9.8: the bill, pieces of a folded line, dead units."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from fractions import Fraction
from typing import Any

import numpy as np

from tformer_book.exercises.kinds import Marks, Several
from tformer_book.exercises.registry import Test, exercise
from tformer_book.exercises.samples import integers
from tformer_book.exercises.table import Case, case, type_test


def _bills() -> Iterator[Case]:
    for d, d_ff, gated, want, why in (
        (2, 8, False, (32, 2 / 3), "Two matrices of 2 · 8, beside 4 · 2² in attention."),
        (3, 8, True, (72, 2 / 3), "Three matrices of 3 · 8, beside 36."),
        (10, 10, False, (200, 1 / 3), ""),
        (4, 16, True, (192, 0.75), "Gates and 4 d: three quarters."),
        (1, 1, False, (2, 1 / 3), ""),
        (768, 3072, False, None, ""),
        (576, 1536, True, None, ""),
        (5, 7, True, None, ""),
    ):
        said = f"d = {d}, d_ff = {d_ff} and {'gates' if gated else 'no gates'}"
        yield case(d=d, d_ff=d_ff, gated=gated, want=want, why=why, said=said)


@exercise(
    "9.6",
    kind=Several(names=("number of parameters", "share"), scalars=True),
    praise="With gates and without, wide layers and narrow ones.",
    hints=(
        "How many matrices has the layer, and how many entries has each?",
        "Two of d · d_ff, or three with gates. The block has 4 d² more.",
        "The share is that of the layer in the sum of the layer and attention.",
    ),
    cases=_bills,
    slips="""
        3 if gated else 2 → 2
            With gates there is a third matrix.
        3 if gated else 2 → 4 if gated else 2
            Gates bring one matrix more, W_gate. W_out stays a single matrix.
        3 if gated else 2 → 2 if gated else 1
            One matrix is missing: besides W_in, and W_gate with gates, there is W_out.
        * d * d_ff → * d * 4 * d
            d_ff is given; it need not be 4 d.
        size / (size + 4 * d * d) → 100 * size / (size + 4 * d * d)
            A share is a number from 0 to 1, not in percent.
        * d * d_ff → * d * d_ff + d_ff + d
            The layer has no biases here.
        size / (size + 4 * d * d) → size / (4 * d * d)
            That is the layer against attention; the share is that of both together.
        size / (size + 4 * d * d) → 4 * d * d / (size + 4 * d * d)
            That is the share of attention.
        4 * d * d → 3 * d * d
            Attention has four matrices: the last brings the heads' outputs back.
        4 * d * d → d * d
            Attention has four matrices, of d² parameters each; one was counted.
        * d * d_ff → * (d * d_ff + d_ff)
            There are no biases here.
    """,
    otherwise="Count matrices times entries; attention has 4 d².",
)
def bill(d: int, d_ff: int, gated: bool) -> tuple[float, float]:
    """Parameters of the layer, and its share of the block."""
    size = (3 if gated else 2) * d * d_ff
    return size, size / (size + 4 * d * d)


def _units(
    w: Sequence[int],
    b: Sequence[int],
    v: Sequence[int],
    want: int | None = None,
    why: str = "",
    said: str = "",
) -> Case:
    """Return a case of units whose numbers are whole, and handed over as integers."""
    whole: dict[str, Any] = {
        name: np.array(x, dtype=int) for name, x in (("w", w), ("b", b), ("v", v))
    }
    exact = [f"{name} = ({', '.join(map(str, x.tolist()))})" for name, x in whole.items()]
    if not said and len(w) > 1:
        said = "{}, {} and {}".format(*exact).replace("-", "−")
    return case(**whole, want=want, why=why, said=said if len(w) else "no units at all")


def _lines() -> Iterator[Case | Test]:
    yield _units([1], [0], [1], 2, "One bend, two pieces.")
    yield _units(
        [1, -1], [0, 0], [1, -1], 1, "relu(x) − relu(−x) is x: the bends at 0 take each other away."
    )
    yield _units([1, 1], [-1, 1], [1, 2], 3)
    yield _units([1, 2], [1, 2], [1, 1], 2, "Both units bend at −1.")
    yield _units([1, 0, 2], [0, 5, -2], [1, 1, 1], 3, "A unit with w = 0 is flat.")
    yield _units([1, 1, 3], [0, -1, -1], [1, 0, 2], 3, "A unit with v = 0 is not seen.")
    yield _units([2, -2], [1, -1], [3, 1], 2)
    yield _units([1, -1], [0, 0], [1, 1], 2, "relu(x) + relu(−x) is |x|.")
    yield _units([3, 6, 1], [1, 2, 5], [2, -1, 1], 2, "Two bends at −1/3 cancel.")
    yield _units([0, 0], [1, -1], [1, 1], 1)
    for seed in range(12):
        w, b, v = integers(seed, (3, 2 + seed % 6)).astype(int)
        yield _units(w, b, v)
    yield _units([], [], [], 1)
    top = 10**9
    near = "These bends are very near each other, and two: compare fractions, not rounded numbers."
    yield _units([3, 1000], [-1, -333], [1, 1], 3, near)
    yield _units([1000, 1001], [1, 1], [1, 1], 3, near)
    yield _units([10**5, 10**5 + 1, 1], [1, 1, -1], [1, -1, 1], 4, near)
    yield _units([top, 1 - top], [1, -1], [1, 1], 3, near)
    yield _units([top, top - 1], [top - 1, top - 2], [1, 1], 3, near)
    yield _units([top, top - 1, -top], [top - 1, top - 2, 1 - top], [1, 2, -1], 2, "Two cancel.")
    yield _units([1, 1], [top, 1 - top], [1, -1], 3, "Bends may be far from 0 and from each other.")
    yield _units([top, 1, top], [0, 0, 0], [top, 1, -top], 2, "Add the slopes up exactly.")
    half = 2**29
    said = "64 units, each with w = v = 2²⁹ and b = 0"
    beyond = "The changes of the slope add up to 2⁶⁴, and a sum of int64 makes 0 of that."
    yield _units([half] * 64, [0] * 64, [half] * 64, 2, beyond, said)
    yield type_test("an int", w=np.array([1, 2]), b=np.array([0, 0]), v=np.array([1, 3]))


@exercise(
    "9.7",
    praise="Bends that fall together, nearly so, that cancel, units that are flat or not seen.",
    hints=(
        "Where does unit i bend, and by how much does the slope change there, from left to right?",
        "At −b/w, by v · |w|. Units that bend at one place add their changes.",
        "Collect the changes by place, with places as exact fractions; count the places whose sum "
        "is not 0, and add 1.",
    ),
    cases=_lines,
    slips="""
        abs(w_i) → w_i
            A unit with w below 0 is on to the left of its bend: the slope changes by v · |w| too.
        + Fraction(v_i) * abs(w_i) → + abs(Fraction(v_i) * w_i)
            Changes of the slope at one place may cancel.
        if w_i: → if w_i and v_i > 0:
            Units with a v below 0 bend the line as well, downwards.
        1 + sum → sum
            The bends were counted; there is one piece more.
        Fraction(-b_i) / Fraction(w_i) → (Fraction(-b_i) / Fraction(w_i), len(changes))
            Units that bend at the same place make one bend, or none.
        Fraction(-b_i) / Fraction(w_i) → Fraction(-b_i)
            A unit bends at −b/w; w is not 1.
        = 1 + len(w)
            That is the most that so many units can make.
        = 1 + len(w) + len(w) * (len(w) - 1) // 2
            That is the most that so many lines make of the plane; x is on a line.
        = 1 + len(set(-b[w != 0] / w[w != 0]))
            Places of bends were counted, also those where the slope does not change.
        1 + sum(change != 0 for change in changes.values()) → len(w) and $
            Without units the graph is a straight line: one piece.
        if w_i: → if w_i and b_i:
            A unit with b = 0 bends as well, at 0.
    """,
    otherwise="One more than the places where the slope changes.",
)
def pieces(w: np.ndarray, b: np.ndarray, v: np.ndarray) -> int:
    """Straight pieces of the sum of v relu(w x + b)."""
    changes: dict[object, Fraction] = {}
    for w_i, b_i, v_i in zip(w.tolist(), b.tolist(), v.tolist(), strict=True):
        if w_i:
            place = Fraction(-b_i) / Fraction(w_i)
            changes[place] = changes.get(place, Fraction(0)) + Fraction(v_i) * abs(w_i)
    return 1 + sum(change != 0 for change in changes.values())


def _keys() -> Iterator[Case | Test]:
    w = np.array([[3.0, 3, 0], [4, 4, 1]])
    yield case(
        w_in=[[3.0, 0, 1], [4, 1, 2], [0, 0, 2]],
        b_in=[-9.0, -3, -3],
        r=2.0,
        want=[False, True, False],
        why="A key is a column of w_in. They have lengths 5, 1 and 3: 10, 2 and 6 can arrive.",
    )
    yield case(
        w_in=w,
        b_in=[-9.0, -11, -1],
        r=2.0,
        want=[False, True, False],
        why="The keys have lengths 5, 5 and 1: at most 10 and 2 can arrive.",
    )
    yield case(
        w_in=[[3.0], [4]],
        b_in=[-10.0],
        r=2.0,
        want=[True],
        why="At most 10 − 10 = 0 arrives, and a unit is on above 0.",
    )
    yield case(
        w_in=[[0.0, 0], [0, 0]],
        b_in=[1.0, 0],
        r=3.0,
        want=[False, True],
        why="With a key of zeros only the bias counts.",
    )
    yield case(w_in=[[-3.0, -3], [-4, -4]], b_in=[-9.0, 3], r=2.0, want=[False, False])
    rare = "Vectors near one direction only, that of the key, turn the first unit on."
    yield case(
        w_in=[[3.0, 3], [4, 4]], b_in=[-9.9999, -10.0001], r=2.0, want=[False, True], why=rare
    )
    yield case(
        w_in=np.ones((100, 2)),
        b_in=[-18.0, -22],
        r=2.0,
        want=[False, True],
        why=rare,
        said="two keys of 100 ones each, b_in = (−18, −22) and r = 2",
    )
    for seed, (d, f) in enumerate(((2, 6), (3, 8), (1, 5), (5, 9), (4, 4))):
        w = integers(seed, (d, f))
        share = np.random.default_rng(seed).choice([-1.5, -1.25, -0.75, -0.5, 0.5], f)
        b = np.round(2.0 * share * np.sqrt((w * w).sum(axis=0)), 1)
        for r in (2.0, 4.0):
            yield case(w_in=w, b_in=b, r=r, why=f"At most {r:g} times the length of a key arrives.")
    why = "The keys have lengths 5 and 1: at most 10 and 2 can arrive."
    yield case(w_in=[[3.0, 1], [4, 0]], b_in=[-9.0, -3], r=2, whole=True, why=why)
    why = "The key (1, 1) is 1.414 long: at most 2.83 can arrive."
    yield case(w_in=[[1.0], [1]], b_in=[-2.9], r=2.0, whole=True, want=[True], why=why)
    why = "The key (1.5, 2) is 2.5 long: at most 10 can arrive."
    yield case(w_in=[[1.5], [2]], b_in=[-9.0], r=4.0, whole=True, want=[False], why=why)
    yield type_test("True and False", w_in=np.eye(2), b_in=np.array([-3.0, -1]), r=2.0)


@exercise(
    "9.8",
    kind=Marks(),
    praise="Units on both sides of the bound and on it, keys of zeros, vectors of any length.",
    hints=(
        "Which vector of length r turns a given unit on most?",
        "The one along its key. How large is its dot product with the key?",
        "r times the length of the key. With the bias, is that above 0?",
    ),
    cases=_keys,
    slips="""
        axis=0 → axis=1
            The lengths of the rows of W_in were taken; keys are its columns.
        r * lengths + b_in <= 0 → lengths + b_in <= 0
            Vectors have the length r, not 1.
        r * lengths + b_in <= 0 → np.sqrt(len(w_in)) * lengths + b_in <= 0
            √d is the length after a norm with gain 1; here no vector is longer than the given r.
        r * lengths + b_in <= 0 → r * lengths - b_in <= 0
            The sign of the bias is exchanged: it is added, and a bias below 0 takes off.
        r * lengths + b_in <= 0 → r * lengths - np.abs(b_in) <= 0
            A large bias above 0 kills no unit: it turns it on.
        np.sqrt((w_in * w_in).sum(axis=0)) → np.abs(w_in).max(axis=0)
            The largest number of each key was taken; its length is the root of the sum of squares.
        r * lengths + b_in <= 0 → r * lengths + b_in < 0
            At 0 a ReLU is off, and so a unit that never passes 0 is dead.
        r * lengths + b_in <= 0 → b_in <= 0
            A bias below 0 kills no unit as long as a vector can make up for it.
        r * lengths + b_in <= 0 → b_in < 0
            A bias below 0 takes something off; a vector along the key may still make up for it.
        r * lengths + b_in <= 0 → b_in - r * lengths <= 0
            That asks whether some vector turns the unit off; a unit is dead if none turns it on.
        np.sqrt((w_in * w_in).sum(axis=0)) → (w_in * w_in).sum(axis=0)
            The squared length was taken.
        np.sqrt((w_in * w_in).sum(axis=0)) → np.abs(w_in).sum(axis=0)
            The sizes of the numbers were added up; the length is the root of the sum of squares.
        r * lengths + b_in <= 0 → r * lengths + b_in > 0
            Those are the units that are alive.
        np.sqrt((w_in * w_in).sum(axis=0)) → w_in.sum(axis=0)
            That is what the vector of ones makes; the vector along the key makes most.
        np.sqrt((w_in * w_in).sum(axis=0)) → np.sqrt((w_in * w_in).sum())
            One length was taken of the whole matrix; each key, a column, has its own.
    """,
    otherwise="A unit is dead if r |k| + b is at most 0.",
)
def dead(w_in: np.ndarray, b_in: np.ndarray, r: float) -> np.ndarray:
    """Units that no vector of length up to r turns on."""
    lengths = np.sqrt((w_in * w_in).sum(axis=0))
    return np.asarray(r * lengths + b_in <= 0)
