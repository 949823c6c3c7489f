"""Exercises 12.2, 12.6 and 12.7: who receives a gradient, the best step, and what is kept."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from tformer_book.exercises.kinds import Marks, Number
from tformer_book.exercises.registry import Test, exercise
from tformer_book.exercises.table import Case, case, type_test


def _places() -> Iterator[Case]:
    yield case(t=5, s=5, n_blocks=0, window=3, want=True, why="The residual goes past everything.")
    yield case(t=5, s=4, n_blocks=0, window=3, want=False, why="Without a block no other is seen.")
    yield case(t=5, s=6, n_blocks=4, window=3, want=False, why="No block attends to later words.")
    one = "One block with a window of 3 sees the word itself and two before it."
    yield case(t=5, s=3, n_blocks=1, window=3, want=True, why=one)
    yield case(t=5, s=2, n_blocks=1, window=3, want=False, why=one)
    two = "Each block reaches two words further back."
    yield case(t=5, s=1, n_blocks=2, window=3, want=True, why=two)
    yield case(t=5, s=0, n_blocks=2, window=3, want=False, why=two)
    alone = "With a window of 1 a word sees itself alone, in every block."
    yield case(t=5, s=4, n_blocks=9, window=1, want=False, why=alone)
    yield case(t=9, s=0, n_blocks=3, window=4, want=True, why="Three blocks reach nine words back.")
    yield case(t=10, s=0, n_blocks=3, window=4, want=False, why="Three blocks reach nine back.")
    between = "Three blocks of window 4 reach nine words back, and all words between."
    for s in (3, 5, 7, 8, 9):
        yield case(t=9, s=s, n_blocks=3, window=4, want=True, why=between)
    for n_blocks in (0, 1, 3):
        why = "With a window of 1 a word still sees itself."
        yield case(t=4, s=4, n_blocks=n_blocks, window=1, want=True, why=why)


@exercise(
    "12.2",
    praise="No block, one and several; windows of every width; earlier words and later ones.",
    hints=(
        "A gradient goes back exactly where a change went forward.",
        "How far back does one block see? And the next one, which sees what the first one made?",
        "Each block reaches window − 1 words further; never a later word.",
    ),
    cases=_places,
    kind=Marks(),
    slips="""
        0 <= t - s <= n_blocks * (window - 1) → s <= t
            Every earlier word was said to receive one, however far back.
        0 <= t - s <= n_blocks * (window - 1) → 0 <= t - s <= n_blocks * window
            A window counts the word itself: it reaches window − 1 words back.
        0 <= t - s <= n_blocks * (window - 1) → 0 <= t - s <= window - 1
            Blocks add up: the second one sees what the first has made.
        0 <= t - s <= n_blocks * (window - 1) → abs(t - s) <= n_blocks * (window - 1)
            Later words are masked; they receive nothing from an earlier loss.
        0 <= t - s <= n_blocks * (window - 1) → 0 < t - s <= n_blocks * (window - 1)
            The word itself is reached past all layers.
        0 <= t - s <= n_blocks * (window - 1) → 0 <= t - s < n_blocks * (window - 1)
            The last word of the window is still seen.
        0 <= t - s <= n_blocks * (window - 1) → 0 <= s - t <= n_blocks * (window - 1)
            Gradients go to earlier words, not to later ones.
        0 <= t - s <= n_blocks * (window - 1) → $ and (t - s) % max(1, window - 1) == 0
            A block sees all words of its window, so those between the farthest ones are reached.
        0 <= t - s <= n_blocks * (window - 1) → $ and window > 1
            A window of 1 holds the word itself, and its own place receives a gradient.
        0 <= t - s → n_blocks > 0 and 0 <= t - s
            Even without any block, position t receives the gradient of its own loss.
    """,
)
def receives(t: int, s: int, n_blocks: int, window: int) -> bool:
    """Whether the vector of word s can receive a gradient from the loss at word t."""
    return 0 <= t - s <= n_blocks * (window - 1)


def _steps() -> Iterator[Case]:
    why = "Central: (3 · 1e-9 / 24) to the power of 1/3."
    yield case(eps=1e-9, m=24.0, central=True, want=5e-4, why=why)
    why = "One-sided: the bound is m h / 2 + 2 eps / h."
    yield case(eps=1e-8, m=16.0, central=False, want=5e-5, why=why)
    for eps, m in ((1e-16, 1.0), (1e-7, 0.2), (1e-12, 50.0), (1e-25, 3.0), (1e-3, 1e-8)):
        for central in (True, False):
            yield case(eps=eps, m=m, central=central)


class Step(Number):
    """A step, which somebody may have found by trying many."""

    def remark(self, got: Any, want: Any) -> str:
        """Say that a step is near the best one."""
        if got.shape == () and 0 < abs(float(got) / float(want) - 1) < 0.02:
            return (
                "That is near the best step. A grid of steps has only some; the derivative of the "
                "bound says where it is least."
            )
        return super().remark(got, want)


@exercise(
    "12.6",
    praise="Single and double precision, gentle and wild functions, both quotients.",
    hints=(
        "Write the bound as a function of h: one part grows with h, one falls.",
        "Central: m h²/6 + eps/h. One-sided: m h/2 + 2 eps/h. Where is the derivative 0?",
        "Central: m h / 3 = eps / h². One-sided: m / 2 = 2 eps / h².",
    ),
    cases=_steps,
    otherwise=(
        "Two errors, one that grows with h and one that falls with it: where do they balance?"
    ),
    kind=Step(relative=1e-9, near=0.0),
    slips="""
        (3 * eps / m) ** (1 / 3) → (eps / m) ** (1 / 3)
            The 3 is missing: the derivative of m h²/6 is m h/3.
        (3 * eps / m) ** (1 / 3) → (6 * eps / m) ** (1 / 3)
            Both parts were set equal; the least sum is where their derivatives cancel.
        (3 * eps / m) ** (1 / 3) → (3 * eps / m) ** 0.5
            The central error grows with h², and this makes a cube root.
        2 * (eps / m) ** 0.5 → (eps / m) ** 0.5
            Both values are rounded, so the one-sided bound has 2 eps / h.
        2 * (eps / m) ** 0.5 → 2 * (eps / m) ** (1 / 3)
            The one-sided error grows with h: a square root.
        (3 * eps / m) ** (1 / 3) → (9 * eps**2 * m) ** (1 / 3) / 2
            That is the bound at the best step; the step is asked for.
        (3 * eps / m) ** (1 / 3) → (m / (3 * eps)) ** (1 / 3)
            It is upside down: the smaller the errors of the values, the smaller the best step.
        if central → if not central
            Central and one-sided are exchanged.
        (3 * eps / m) ** (1 / 3) → (3 * eps * m) ** (1 / 3)
            The wilder the function, the smaller the step: m stands below.
        = eps ** (1 / 3) if central else eps**0.5
            That is a rule of thumb, without m; here a bound m of the derivative is given.
        = (3 * eps) ** (1 / 3) if central else 2 * eps**0.5
            The bound m of the derivative has no effect.
        = (3 * eps / m) ** (1 / 3)
            The step of the central quotient was taken for both; the two bounds are not alike.
        2 * (eps / m) ** 0.5 → (2 * eps / m) ** 0.5
            One-sided, there is a 2 in both parts of the bound: one of them was lost.
        2 * (eps / m) ** 0.5 → min(max(2 * (eps / m) ** 0.5, 1e-8), 1.0)
            The one-sided step is kept between two bounds, and the best one may lie beyond them.
        (3 * eps / m) ** (1 / 3) if central else 2 * (eps / m) ** 0.5 → min(max($, 1e-8), 1.0)
            Both steps are kept between two bounds, and the best one may lie beyond them.
        (3 * eps / m) ** (1 / 3) → 2 * (eps / m) ** 0.5
            The central quotient got the step of the one-sided one. Its error grows with h², not
            h.
        (1 / 3) → (1 // 3)
            1 // 3 is 0, so the power is 1: write 1 / 3.
        = (m * (3 * eps / m) ** (2 / 3) / 6 + eps / (3 * eps / m) ** (1 / 3)) if central else
        2 * (eps * m) ** 0.5
            That is the least value of the bound; the step at which it is reached is asked for.
        (3 * eps / m) → (3 * m / eps) ;; (eps / m) ** 0.5 → (m / eps) ** 0.5
            eps and m are exchanged: a larger error of the values needs a larger step.
        (3 * eps / m) → (1.5 * eps / m)
            The first part of the bound was taken as m h² / 3; it is m h² / 6.
    """,
)
def best_step(eps: float, m: float, central: bool) -> float:
    """The step at which the bound of a difference quotient is least."""
    return (3 * eps / m) ** (1 / 3) if central else 2 * (eps / m) ** 0.5


def _memories() -> Iterator[Case | Test]:
    why = "One block, one word: 16 · 2 + 1, for the weight of the word on itself."
    yield case(T=1, d=2, n_heads=1, n_layers=1, every=0, want=33, why=why)
    why = "Two blocks, run again one at a time: two tables of vectors, and one block's numbers."
    yield case(T=1, d=2, n_heads=1, n_layers=2, every=1, want=2 * 2 + 33, why=why)
    for sizes in ((10, 8, 2, 4), (100, 64, 8, 12), (1024, 768, 12, 12)):
        for every in (0, 1, 2, 4):
            T, d, n_heads, n_layers = sizes
            why = f"{n_layers} blocks keep 16 T d + H T² each, with H T² for all heads together."
            if every:
                why = f"{n_layers // every} tables of vectors, and the numbers of {every} blocks."
            yield case(T=T, d=d, n_heads=n_heads, n_layers=n_layers, every=every, why=why)
    why = "These are more numbers than 32 bits can count."
    for every in (0, 4):
        yield case(T=131_072, d=16_384, n_heads=128, n_layers=128, every=every, why=why)
    yield type_test("an int", T=1, d=2, n_heads=1, n_layers=2, every=1)


@exercise(
    "12.7",
    praise="Small stacks and GPT-2's, everything kept, and groups of one to four blocks.",
    hints=(
        "How many numbers does one block keep, if its width is d and d_ff is 4 d?",
        "16 T d + H T². Everything: times the number of blocks.",
        "With groups: T d before each group, and the numbers of one group at a time.",
    ),
    cases=_memories,
    otherwise=(
        "Count the tables of vectors that have to wait, and the numbers inside the blocks that do."
    ),
    kind=Number(relative=1e-9, near=0.0),
    slips="""
        16 * T * d + n_heads * T**2 → 16 * T * d + T**2
            Each head has a table of weights of its own.
        16 * T * d + n_heads * T**2 → 16 * T * d
            The weights of attention are kept too.
        16 * T * d + n_heads * T**2 → 16 * T * d + 2 * n_heads * T**2
            The scores are not read in the backward pass; only the weights are.
        16 * T * d + n_heads * T**2 → 12 * T * d + n_heads * T**2
            Hidden units are kept twice: before GELU, for its slope, and after it.
        16 * T * d + n_heads * T**2 → 16 * T * d * n_heads + n_heads * T**2
            d is the width of all heads together; only the tables of weights are one a head.
        16 * T * d + n_heads * T**2 → 16 * T * d + n_heads * T
            A table of weights has T numbers for each of T words.
        n_layers // every * T * d + every * block → n_layers // every * (T * d + block)
            The groups are run again one after another: the numbers of one are there at a time.
        n_layers // every * T * d + every * block → (n_layers // every - 1) * T * d + every * block
            The vectors before the last group count twice here: as kept ones, and in its block.
        n_layers // every * T * d + every * block → (n_layers // every + 1) * T * d + every * block
            There are as many kept tables of vectors as groups: those after the last are not kept.
        n_layers // every * T * d + every * block → T * d + every * block
            The vectors before all groups are kept, not those before one.
        n_layers // every * T * d + every * block → n_layers // every * T * d
            While a group is run again, its own numbers are there as well.
        n_layers // every * T * d + every * block → n_layers // every * T * d + block
            All blocks of a group are run again before the backward pass through it.
        n_layers // every * T * d + every * block → n_layers * T * d + every * block
            Vectors are kept before each group, not before each block.
        n_layers // every * T * d + every * block → every * block
            The vectors before each group are kept: else the group cannot be run again.
        n_layers // every * T * d → every * T * d
            As many vectors were kept as one group has blocks; one table is kept for each group.
        n_layers // every * T * d + every * block → every * T * d + n_layers // every * block
            The two numbers are exchanged: there are n_layers / every groups, of `every` blocks
            each.
        n_layers * block if → n_layers * block + T * d if
            With every = 0 the first vectors were counted once more; they are among the numbers of
            its block.
    """,
)
def kept_numbers(T: int, d: int, n_heads: int, n_layers: int, every: int) -> int:
    """Numbers kept of a text at the moment when most are there."""
    block = 16 * T * d + n_heads * T**2
    return n_layers * block if every == 0 else n_layers // every * T * d + every * block
