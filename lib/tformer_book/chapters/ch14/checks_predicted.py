"""Exercises 14.6 to 14.8: Adam on noise, plateaus from entropies, and a spike."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from tformer_book.chapters.ch14.checks import BySteps
from tformer_book.exercises.kinds import Several
from tformer_book.exercises.registry import exercise
from tformer_book.exercises.table import Case, case

Table = np.ndarray


class Drawn(BySteps):
    """Numbers that somebody may have found by drawing."""

    def remark(self, got: Any, want: Any) -> str:
        """Say what leaves small errors."""
        if got.shape == want.shape and got.size and 0 < np.abs(got / want - 1).max() < 0.05:
            return (
                "That is close, but not to eight digits. Numbers of few digits leave such errors, "
                "something small that is added, and draws: all tosses can be taken together."
            )
        return super().remark(got, want)


def _noises() -> Iterator[Case]:
    small = "At step 2 the corrected mean is (g₁ + 2 g₂) / 3: its mean square is 1/9 + 4/9."
    yield case(beta1=0.5, T=2, want=np.array([1.0, 5**0.5 / 3]), why=small)
    yield case(
        beta1=0.9, T=1, want=np.array([1.0]), why="The first move is the rate, ahead or back."
    )
    none = "With β₁ = 0 the mean is the last gradient: every move is as long as the rate."
    yield case(beta1=0.0, T=5, want=np.ones(5), why=none)
    for beta1, T in ((0.9, 12), (0.5, 7), (0.99, 40), (0.999, 16), (0.9999, 9)):
        why = f"Of {T} tosses the later count more, each {beta1:g} times the next."
        yield case(beta1=beta1, T=T, why=why)


@exercise(
    "14.6",
    praise="One step, no memory, short and long memories.",
    hints=(
        "All squares are 1, so Adam divides by 1. With which weights do the tosses enter the mean?",
        "At step t, toss i has the weight (1 − β₁) β₁^(t − i) / (1 − β₁^t); together they are 1.",
        "Tosses are independent, so mean squares add up: the root of the sum of squared weights.",
    ),
    cases=_noises,
    otherwise="The mean of tosses with the weights of Adam's first mean.",
    kind=Drawn(),
    slips="""
        np.sqrt(squares) / (1 - beta1**t) → np.sqrt(squares)
            You did not correct the mean: at step 1 it is 1 − β₁ times the toss, and Adam
            divides that by 1 − β₁.
        np.sqrt(squares) / (1 - beta1**t) → squares / (1 - beta1**t) ** 2
            That is the mean square; its root is asked for.
        np.sqrt(squares) / (1 - beta1**t) → np.sqrt(squares) / np.sqrt(1 - beta1**t)
            The correction of the mean stands outside of the root of the squares: it is 1 − β₁^t.
        np.sqrt(squares) / (1 - beta1**t) → np.sqrt(squares) / (1 - beta1)
            The correction at step t is 1 − β₁^t.
        np.sqrt(squares) / (1 - beta1**t) → np.sqrt((1 - beta1) / (1 + beta1)) * t**0
            That is what is left after many steps. At the first one the mean is the toss itself.
        np.sqrt(squares) / (1 - beta1**t) → t**0.0
            Each toss is 1 or −1, and still the mean of several is mostly shorter.
        np.sqrt(squares) / (1 - beta1**t) → 0.0 * t
            The mean move is 0, as ahead and back are as likely; the exercise asks for its typical
            length.
        np.sqrt(squares) / (1 - beta1**t) → (1 - beta1) ** (t - 1)
            You followed one sequence of tosses, or its sign; take the mean over all.
        np.sqrt(squares) / (1 - beta1**t) → 1 / np.sqrt(t)
            That is a mean in which all tosses count alike; Adam's forgets.
        np.sqrt(squares) / (1 - beta1**t) → np.sqrt(1 - beta1) * np.sqrt((1 - beta1**t))
            You replaced a sum of squared weights by a sum of weights.
        (1 - beta1) ** 2 * (1 - beta1 ** (2 * t)) → (1 - beta1) * (1 - beta1 ** (2 * t))
            A weight holds 1 − β₁, its square holds it twice.
        (1 - beta1) ** 2 * (1 - beta1 ** (2 * t)) → (1 - beta1) ** 2 * (1 - beta1**t)
            The sum of the squared weights goes in steps of β₁², up to β₁^(2t).
        / (1 - beta1**2) → / (1 - beta1)
            Squared weights fall by β₁² from toss to toss, so their sum has 1 − β₁² below.
        t = np.arange(1, T + 1) → t = np.arange(T) + 1e-9
            Steps count from 1.
        t = np.arange(1, T + 1) → t = np.arange(2, T + 2)
            Steps count from 1: you begin with step 2.
        np.sqrt(squares) / (1 - beta1**t) → (1 - beta1) / (1 - beta1**t)
            That is the weight of the last toss alone; all others have one as well.
        np.sqrt(squares) / (1 - beta1**t) → 1 - beta1**t
            That is the correction; what is divided by it?
        np.sqrt(squares) / (1 - beta1**t) → np.sqrt(squares) / (1 - beta1**t) / np.sqrt(2)
            Each toss is 1 or −1, and its square is 1.
        np.sqrt(squares) / (1 - beta1**t) → np.sqrt(2 / np.pi * squares) / (1 - beta1**t)
            That is the mean length for a normal distribution; the exercise asks for the root of the
            mean square.
        (1 - beta1 ** (2 * t)) → 1
            You summed the squared weights over infinitely many steps; after t steps there are t.
        np.sqrt(squares) → np.sqrt(squares / (1 - 0.999**t))
            You corrected the squares as well. They are all 1, so their corrected mean is 1 at
            once.
        np.sqrt(squares) / (1 - beta1**t) → 1 / np.sqrt(np.minimum(t, 1 / (1 - beta1)))
            Tosses were counted as if they had one weight up to a limit; the later count more.
        / (1 - beta1**t) → / (1 - beta1 ** (2 * t))
            The correction belongs to the mean: 1 − β₁^t. That was the one for a mean with β₁².
    """,
)
def noise(beta1: float, T: int) -> Table:
    """Root mean square of Adam's moves, in rates, on gradients that are tosses of a coin."""
    t = np.arange(1, T + 1)
    squares = (1 - beta1) ** 2 * (1 - beta1 ** (2 * t)) / (1 - beta1**2)
    return np.sqrt(squares) / (1 - beta1**t)


def _worlds() -> Iterator[Case]:
    small = (
        "Words 0 and 1 stand in both orders, and only the order tells what comes; after 0, 0 comes "
        "0. In all, 0 comes three times of four."
    )
    table = np.zeros((2, 2, 2))
    table[0, 1, 0], table[1, 0, 1], table[0, 0, 0] = 0.25, 0.25, 0.5
    nothing = 0.75 * np.log(4 / 3) + 0.25 * np.log(4)
    yield case(
        p=table,
        want=(nothing, np.log(2) / 2, 0.0),
        said="p[0, 1, 0] = p[1, 0, 1] = 1/4 and p[0, 0, 0] = 1/2",
        why=small,
    )
    sure = "Only one thing can come."
    yield case(p=np.full((2, 2, 1), 0.25), want=(0.0, 0.0, 0.0), why=sure)
    one = "Only one word there is: it tells nothing."
    p = np.array([[[0.5, 0.25, 0.25]]])
    yield case(p=p, want=(1.5 * np.log(2),) * 3, why=one)
    even = "Nothing tells anything here."
    yield case(p=np.full((3, 3, 4), 1 / 36), want=(np.log(4),) * 3, why=even)
    first = np.zeros((3, 3, 3))
    first[[0, 0, 1, 1, 2, 2], [1, 2, 0, 2, 0, 1], [0, 0, 1, 1, 2, 2]] = 1 / 6
    why = "The first word comes again: the bag leaves two, the order one."
    yield case(
        p=first,
        want=(np.log(3), np.log(2), 0.0),
        said="the first of two words comes again",
        why=why,
    )
    rng = np.random.default_rng(6)
    for V, N in ((2, 3), (3, 2), (4, 5)):
        p = rng.integers(0, 9, (V, V, N)) * (rng.random((V, V, N)) < 0.7)
        why = f"{V} words, {N} things that may come; some probabilities are 0."
        yield case(p=p / p.sum(), why=why)
    rare = np.zeros((2, 2, 3))
    rare[0, 1] = rare[1, 0] = 0.25, 0.25 - 2.0**-28, 2.0**-28
    said = "p[0, 1] = p[1, 0] = (¼, ¼ − 2⁻²⁸, 2⁻²⁸)"
    why = "What is as rare as 2⁻²⁸ can come, and the loss is large where it does."
    yield case(p=rare, said=said, why=why)


def _left(table: Table) -> float:
    """Mean entropy of the last axis, given the others; probabilities of all together."""
    known = table.sum(axis=-1, keepdims=True)
    share = np.where(table > 0, table / np.where(known > 0, known, 1), 1)
    return float(-(table * np.log(share)).sum())


def _both(table: Table) -> float:
    """Entropy of all axes together."""
    return float(-(table * np.log(np.where(table > 0, table, 1))).sum())


def _all_pairs_alike(p: Table) -> tuple[float, float, float]:
    def mean(table: Table) -> float:
        of = [_left(row / row.sum()) for row in table.reshape(-1, p.shape[2]) if row.sum() > 0]
        return float(np.mean(of))

    some = np.triu(np.ones(p.shape[:2]))[..., None] > 0
    return _left(p.sum(axis=(0, 1))), mean(np.where(some, p + p.swapaxes(0, 1), 0)), mean(p)


def _with_nan(p: Table) -> tuple[float, float, float]:
    def left(table: Table) -> float:
        return float(-(table * np.log(table / table.sum(axis=-1, keepdims=True))).sum())

    return left(p.sum(axis=(0, 1))), left((p + p.swapaxes(0, 1)) / 2), left(p)


def _rare_left_out(p: Table) -> tuple[float, float, float]:
    def left(table: Table) -> float:
        share = table / table.sum(axis=-1, keepdims=True)
        return float(-(table * np.log(share))[table > 1e-6].sum())

    return left(p.sum(axis=(0, 1))), left((p + p.swapaxes(0, 1)) / 2), left(p)


@exercise(
    "14.7",
    praise="Words that tell nothing, something and all, orders that never come, one word alone.",
    hints=(
        "The least loss is the mean entropy of what comes, given what is known.",
        "For a bag the two orders are one case: add p[i, j] and p[j, i] first, but p[i, i] once.",
        "−Σ p log(p / p known), p summed over what is not known; where p is 0 nothing is added.",
    ),
    cases=_worlds,
    otherwise="Entropies that are left open, the known words weighted by how often they come.",
    kind=Several(names=("nothing", "bag", "order"), scalars=True),
    mutants={
        "You weighted all pairs equally; each counts as often as it comes.": _all_pairs_alike,
        "Some probabilities are 0, and 0 · log 0 is nan; nothing is added there.": _with_nan,
        "You leave out what is rare as if it never came; only 0 is 0.": _rare_left_out,
    },
    slips="""
        _left((p + p.swapaxes(0, 1)) / 2) → _left(p + p.swapaxes(0, 1))
            With both orders added every bag stands in your table twice, so that your probabilities
            add up to 2.
        _left((p + p.swapaxes(0, 1)) / 2) → _left(np.triu((p + p.swapaxes(0, 1)).T).T)
            A bag of two equal words has one order; you added its probabilities to themselves.
        _left((p + p.swapaxes(0, 1)) / 2) → _left(np.triu(p.T).T)
            You left out the pairs of one order; add them to those of the other.
        _left((p + p.swapaxes(0, 1)) / 2) → _left(np.triu((p + p.swapaxes(0, 1)).T, 1).T)
            A bag may hold a word twice; you left these out.
        _left((p + p.swapaxes(0, 1)) / 2) → _left(p.sum(axis=1))
            That is the loss of a model that knows the first word, and not the bag.
        _left((p + p.swapaxes(0, 1)) / 2) → _left(p.sum(axis=0))
            That is the loss of a model that knows the second word, and not the bag.
        _left((p + p.swapaxes(0, 1)) / 2) → _left(p.sum(axis=0) / 2 + p.sum(axis=1) / 2)
            That is a model that knows one of the two words, and not which; the bag holds both.
        _left((p + p.swapaxes(0, 1)) / 2) → _left(p)
            In a bag both orders are one case.
        _left((p + p.swapaxes(0, 1)) / 2) → (_left(p) + _left(p.sum(axis=(0, 1)))) / 2
            The loss of the bag is no mean of the other two.
        _left(p.sum(axis=(0, 1))) → _left(p.reshape(-1))
            That is the entropy of all three together; the two words need not be guessed.
        _left(p.sum(axis=(0, 1))) → np.log(p.shape[2])
            That is as if all were as likely to come. Even a model that looks at nothing learns how
            often each comes.
        _left(p.sum(axis=(0, 1))), → _left(p.sum(axis=2).reshape(-1)),
            That is the entropy of the two words; the exercise asks for that of what comes next.
        return nothing, bag, order → return nothing / np.log(2), bag / np.log(2), order / np.log(2)
            Those are bits; the losses are in nats.
        return nothing, bag, order → return np.exp(nothing), np.exp(bag), np.exp(order)
            Those are perplexities; the exercise asks for the losses.
        return nothing, bag, order → return nothing, nothing - bag, nothing - order
            You return what is gained by knowing; the exercise asks for what is left.
        return nothing, bag, order → return nothing, bag, bag - order
            The last one is the loss itself, and not how far it falls.
        return nothing, bag, order → return order, bag, nothing
            The one who knows nothing comes first.
        return nothing, bag, order → return nothing, bag, -(p * np.log(np.where(p > 0, p, 1))).sum()
            That is the entropy of all three words together; subtract that of the first two.
        (p + p.swapaxes(0, 1)) / 2 → np.array([np.trace(p[::-1], k) for k in range(-9, 10)])
            The numbers of the two words were added up; 0 and 2 then look like 1 and 1.
        _left((p + p.swapaxes(0, 1)) / 2) → _both((p + p.swapaxes(0, 1)) / 2)
        _left(p), → _both(p),
            That is the entropy of the words and of what comes; what the words are is known here.
    """,
)
def plateaus(p: Table) -> tuple[float, float, float]:
    """Least losses: two words unknown, known as a bag, and known in their order."""
    nothing, bag, order = (
        _left(p.sum(axis=(0, 1))),
        _left((p + p.swapaxes(0, 1)) / 2),
        _left(p),
    )
    return nothing, bag, order


def _spikes() -> Iterator[Case]:
    small = (
        "The means become 5 and 21, then 3 and 16, 2 and 12.25, 1.5 and 9.4; the short moves are "
        "those of steps 4 to 7."
    )
    given: dict[str, Any] = {"beta1": 0.5, "beta2": 0.75}
    yield case(size=9.0, **given, steps=7, want=(5 / 21**0.5, 4), why=small)
    half = "1.5 / 3 is half, and not shorter than half. With β₂ = 0 only the last gradient counts."
    yield case(size=3.0, beta1=0.75, beta2=0.0, steps=1, want=(0.5, 0), why=half)
    none = "A gradient of 1 is no spike: every move is as long as the rate."
    yield case(size=1.0, **given, steps=5, want=(1.0, 0), why=none)
    zero = (
        "One gradient of 0: the mean falls more than the root of the squares, and both come back."
    )
    yield case(size=0.0, beta1=0.9, beta2=0.99, steps=9, why=zero)
    yield case(
        size=50.0, beta1=0.0, beta2=0.0, steps=6, want=(1.0, 0), why="Without memory nothing stays."
    )
    alone = "One step: the spike itself."
    yield case(size=100.0, beta1=0.9, beta2=0.999, steps=1, why=alone)
    for size, beta1, beta2, steps in (
        (100.0, 0.9, 0.999, 5000),
        (100.0, 0.9, 0.95, 200),
        (30.0, 0.9, 0.99, 60),
        (1e4, 0.9, 0.99, 3000),
        (20.0, 0.95, 0.6, 40),
        (20.0, 0.0, 0.9, 50),
        (1e6, 0.9, 0.99, 5000),
    ):
        why = f"Memories of {1 / (1 - beta1):.0f} and {1 / (1 - beta2):.0f} steps."
        yield case(size=size, beta1=beta1, beta2=beta2, steps=steps, why=why)


@exercise(
    "14.8",
    praise="Spikes of many sizes, none, one of 0, memories long and short, one step.",
    hints=(
        "Write a loop: two means that begin at 1, a gradient, a move. When is the spike?",
        "The first of the steps has the gradient `size`, all others 1. No correction is needed.",
        "The move is mean / √square. Keep all of them: their maximum, and how many are below 1/2.",
    ),
    cases=_spikes,
    otherwise="Follow both means through the steps after the spike.",
    kind=Several(names=("longest", "short"), scalars=True),
    slips="""
        beta1 * mean + (1 - beta1) * grad → beta1 * mean + grad
            The mean lacks 1 − β₁: it is a mean of gradients, and not their sum.
        (1 - beta2) * grad**2 → (1 - beta2) * grad
            The second mean is one of squares.
        mean / np.sqrt(square) → mean / square
            The root is missing.
        mean / np.sqrt(square) → grad / np.sqrt(square)
            The move takes the mean of gradients, not the last one.
        mean, square = 1.0, 1.0 → mean, square = 0.0, 0.0
            Both means are 1 before the spike, after many gradients of 1; yours begin at 0.
        mean, square = 1.0, 1.0 → mean, square = 0.0, 0.0
        mean / np.sqrt(square) → mean / (1 - beta1**t * beta1) / np.sqrt(square)
        np.sqrt(square) → np.sqrt(square / (1 - beta2**t * beta2))
            Your Adam begins with the spike, and corrects its means; it has seen gradients of 1 for
            long, so that both means are 1.
        mean, square = 1.0, 1.0 → mean, square = size, size**2
            Both means are 1 before the spike; you begin as if all gradients had been spikes.
        range(steps) → range(steps + 1)
        max(moves), sum(m < 0.5 for m in moves) → max(moves[1:]), sum(m < 0.5 for m in moves[1:])
            Your steps begin after the spike; it is the first of them.
        grad**2 → (1 + (grad - 1) ** 2)
            What the spike adds to the mean of squares is size² − 1, and not (size − 1)².
        size if t == 0 else 1.0 → size
            You made every gradient a spike; only the first one is.
        size if t == 0 else 1.0 → (size if t == 0 else 0.0)
            After the spike the gradients are 1 again, and not 0.
        size if t == 0 else 1.0 → size if t == 1 else 1.0
            Your spike comes one step late: it is the first of the steps.
        range(steps) → range(steps + 1)
            You looked at one step too many: the spike is one of `steps`.
        max(moves), sum(m < 0.5 for m in moves) → max(moves[1:] or [0]), sum(m < 0.5 for m in moves)
            The move at the spike itself may be the longest.
        max(moves), sum → moves[0], sum
            The longest move may come after the spike, where the squares forget sooner.
        max(moves), sum → max(1.0, *moves), sum
            Your longest move is 1 at least, as before the spike; all from it on may be shorter.
        sum(m < 0.5 for m in moves) → sum(m > 0.5 for m in moves)
            You count the long ones.
        sum(m < 0.5 for m in moves) → sum(m < 0.5 * max(moves) for m in moves)
            You compare with half of the longest move; the exercise asks for half of a rate.
        sum(m < 0.5 for m in moves) → sum(m < 1 for m in moves)
            You count all that are shorter than a rate; the exercise asks for those below half of
            one.
        sum(m < 0.5 for m in moves) → len(moves) - np.argmax(np.array([*moves, 0]) < 0.5)
            You count all steps from the first short one on; the last ones may be long again.
        sum(m < 0.5 for m in moves) → np.argmax(np.array(moves) < 0.5)
            That is the step of the first short move; the exercise asks how many are short.
        max(moves), sum(m < 0.5 for m in moves) → sum(m < 0.5 for m in moves), max(moves)
            The two stand in the wrong order: the longest move comes first.
        max(moves), sum(m < 0.5 for m in moves) → max(moves), np.mean([m < 0.5 for m in moves])
            That is a share; the exercise asks how many.
        max(moves), sum(m < 0.5 for m in moves) → np.argmax(moves), sum(m < 0.5 for m in moves)
            That says when the longest move comes; the exercise asks how long it is.
        beta1 * mean + (1 - beta1) * grad → beta2 * mean + (1 - beta2) * grad
        beta2 * square + (1 - beta2) * grad**2 → beta1 * square + (1 - beta1) * grad**2
            β₁ belongs to the mean and β₂ to the squares; you have them the other way round.
        beta1 * mean + (1 - beta1) * grad → (1 - beta1) * mean + beta1 * grad
        beta2 * square + (1 - beta2) * grad**2 → (1 - beta2) * square + beta2 * grad**2
            β belongs to what is remembered, and 1 − β to what is new.
        range(steps) → range(1, steps + 1)
            Your spike never comes.
        mean / np.sqrt → mean / (1 - beta1 ** (t + 1)) / np.sqrt
        (square)) → (square / (1 - beta2 ** (t + 1))))
            You applied the corrections for the first steps; after so long they are 1.
        m < 0.5 for m in moves → m < 0.5 for m in moves[1:]
            You did not count the step of the spike itself; it is the first of the steps.
        return max(moves), sum(m < 0.5 for m in moves) → return moves[0], 1 * (moves[0] < 0.5)
            Only the step at the spike was taken; the means remember it in the steps after it.
        return max(moves), sum(m < 0.5 for m in moves) → moves = moves[1:] or moves; $
            The spike itself is the first of the steps, and counts with its move.
        sum(m < 0.5 for m in moves) → (np.cumsum(np.array(moves) >= 0.5) == 0).sum()
            Only short moves before the first longer one were counted; later ones count as well.
        mean, square = 1.0, 1.0 → mean, square = 0.0, 0.0
        moves.append(mean / → moves.append(mean / (1 - beta1 ** (t + 1)) /
        np.sqrt(square) → np.sqrt(square / (1 - beta2 ** (t + 1)) or 1)
            Adam was begun anew, with means of 0 and their corrections; here both means are 1
            before.
    """,
)
def spike(size: float, beta1: float, beta2: float, steps: int) -> tuple[float, int]:
    """The longest move from a spike on, and how many are shorter than half of a rate."""
    mean, square = 1.0, 1.0
    moves: list[float] = []
    for t in range(steps):
        grad = size if t == 0 else 1.0
        mean = beta1 * mean + (1 - beta1) * grad
        square = beta2 * square + (1 - beta2) * grad**2
        moves.append(mean / np.sqrt(square))
    return max(moves), sum(m < 0.5 for m in moves)
