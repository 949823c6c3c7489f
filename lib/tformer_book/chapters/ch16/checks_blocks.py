"""Exercise 16.5: one query that attends to keys in blocks."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Any

import numpy as np

from tformer import reference
from tformer_book.exercises.answer import Wrong
from tformer_book.exercises.describe import show
from tformer_book.exercises.registry import Test, exercise
from tformer_book.exercises.samples import integers
from tformer_book.exercises.table import INTEGERS, Case, case, memory_test

Array = np.ndarray
Block = tuple[Array, Array, Array]


class _Blocks:
    """An iterator over blocks, once."""

    def __init__(self, blocks: Sequence[Block]) -> None:
        self.blocks, self.next = blocks, 0
        self.loops, self.ended = 0, False

    def __iter__(self) -> _Blocks:
        self.loops += 1
        if self.ended and self.loops > 1:
            raise Wrong("Each block can be seen once; your second loop found none.")
        return self

    def __next__(self) -> Block:
        if self.next == len(self.blocks):
            self.ended = True
            raise StopIteration
        self.next += 1
        k, v, keep = self.blocks[self.next - 1]
        return k.copy(), v.copy(), keep.copy()


def _looked(q: Array, blocks: Sequence[Block]) -> Array:
    k, v, keep = (np.concatenate(part) for part in zip(*blocks, strict=True))
    return reference.attention(q[np.newaxis], k, v, keep[np.newaxis])[0]


def _texts() -> Iterator[Case | Test]:
    def of(q: Any, *given: tuple[Any, Any, Any], want: Any = None, why: str = "") -> Case:
        query = np.array(q, dtype=float)
        blocks = [
            (np.array(k, float), np.array(v, float), np.array(keep, bool)) for k, v, keep in given
        ]
        said = [
            f"keys {np.round(k, 3).tolist()} and values {v.tolist()}"
            + ("" if keep.all() else f", of which {keep.tolist()}")
            for k, v, keep in blocks
        ]
        text = ", then ".join(said)
        text = text.replace("-", "−") if len(text) < 300 else f"{len(blocks)} blocks of keys"
        right = _looked(query, blocks) if want is None else want
        said_q = f"q = ({', '.join(f'{x:g}' for x in query)})"
        given_blocks: Any = _Blocks(blocks)
        return case(q=query, blocks=given_blocks, want=right, why=why, said=f"{said_q}, {text}")

    def of_integers(q: Array, *given: Block) -> Case:
        given_blocks: Any = _Blocks([(k.astype(int), v.astype(int), keep) for k, v, keep in given])
        said = f"integers: q = {show(q)} and {len(given)} blocks"
        return case(
            q=q, blocks=given_blocks, whole=True, want=_looked(q, given), why=INTEGERS, said=said
        )

    two = float(np.log(2))
    why = "The scores are 0, ln 2 and ln 4 after the division by √4: the weights are 1, 2, 4 of 7."
    q = [2.0, 0, 0, 0]
    first = ([[0, 1, 0, 0], [two, 0, 2, 0]], [[7, 0], [0, 7]], [1, 1])
    yield of(q, first, ([[2 * two, 0, 0, 1]], [[14, 7]], [1]), want=[9.0, 6], why=why)
    why = "The last score, ln 8, comes alone, and its weight is 8 of 11: the first have 1 and 2."
    last = ([[3 * two, 0, 0, 0]], [[1, 1]], [1])
    yield of(q, first, last, want=np.array([15.0, 22]) / 11, why=why)
    why = "The largest score comes first, and the later two have the weights 1 and 2 of 11."
    yield of(q, last, first, want=np.array([15.0, 22]) / 11, why=why)
    why = "The hidden key, of score ln 8, has no weight; the others have 1 and 2 of 3."
    hidden = ([[3 * two, 0, 0, 0]], [[1, 1]], [0])
    yield of(q, first, hidden, want=[7 / 3, 14 / 3], why=why)
    yield of(q, hidden, first, want=[7 / 3, 14 / 3], why=why)
    none: Any = (np.zeros((0, 4)), np.zeros((0, 2)), [])
    yield of(q, none, first, none, last, want=np.array([15.0, 22]) / 11, why="S may be 0.")
    yield of(q, hidden, want=[0.0, 0], why="No key is visible.")
    yield of(q, hidden, none, hidden, want=[0.0, 0], why="No key is visible.")
    yield of(q, none, want=[0.0, 0], why="There is no key at all.")
    why = "The hidden key has the largest score by far; its exponential must not enter."
    far = ([[1e5, 0, 0, 0], [two, 0, 0, 0]], [[3, 1], [9, 2]], [0, 1])
    yield of(q, far, first, why=why)
    why = "The visible scores lie near −100,000, and the hidden ones, 1 and ln 4, far above them."
    low = ([[-1e5, 0, 0, 0], [1, 0, 0, 0]], [[1, 4], [7, 7]], [1, 0])
    lower = ([[two * 2, 0, 0, 0], [two - 1e5, 0, 0, 0]], [[8, 8], [4, 1]], [0, 1])
    yield of(q, low, lower, want=[3.0, 2], why=why)
    yield of(q, lower, hidden, low, want=[3.0, 2], why=why)
    for height in (1e5, -1e5):
        why = f"Scores lie near {show(height)}: measure them from the largest."
        near = ([[height, 0, 0, 0]], [[1, 4]], [1]), ([[height - two, 0, 0, 0]], [[4, 1]], [1])
        yield of(q, *near, want=[2.0, 3], why=why)
        yield of(q, hidden, *near[::-1], want=[2.0, 3], why=why)
    why = "The score rises by 200,000: what was before has no weight."
    low, high = ([[-1e5, 0, 0, 0]], [[5, 5]], [1]), ([[1e5, 0, 0, 0]], [[2, 3]], [1])
    yield of(q, low, high, want=[2.0, 3], why=why)
    yield of(q, high, low, want=[2.0, 3], why="The score falls by 200,000.")
    yield of([3.0], ([[1]], [[2, 5, 7]], [1]), want=[2.0, 5, 7], why="One key is all there is.")
    k, v, all_seen = integers(1, (3, 4)), integers(2, (3, 2)), np.ones(3, dtype=bool)
    yield of_integers(integers(3, (4,)), (k, v, all_seen), (k[::-1], v, np.eye(3, dtype=bool)[0]))
    for seed, counts in enumerate(((3, 1, 4), (1, 1, 1, 1, 1), (0, 5, 2), (8,), (2, 7, 6, 3))):
        rng = np.random.default_rng(seed)
        d_k, d_v = int(rng.integers(2, 6)), int(rng.integers(1, 5))
        sizes = [(rng.normal(0, 2, (n, d_k)), rng.normal(size=(n, d_v))) for n in counts]
        for share in (0.0, 0.4):
            blocks = [(k, v, rng.random(len(k)) >= share) for k, v in sizes]
            yield of(rng.normal(0, 2, d_k), *blocks, why=f"Blocks of {counts} keys.")
    rng = np.random.default_rng(9)
    many = ((rng.normal(size=(20, 64)), np.ones((20, 64)), np.full(20, True)) for _ in range(100))
    why = "it keeps the blocks. The largest score, the sum and the output are enough to remember."
    yield memory_test(
        2e5, "100 blocks of 20 keys", why, said="100 blocks", q=np.ones(64), blocks=many
    )


def _each(q: Array, blocks: Iterable[Block]) -> list[tuple[float, Array]]:
    """The sum of exponentials of each block, and its output."""
    found = []
    for k, v, keep in blocks:
        terms = np.exp(k @ q / np.sqrt(len(q))) * keep
        found.append((terms.sum(), terms @ v / max(terms.sum(), 1e-300)))
    return found


def _mean_of_blocks(q: Array, blocks: Iterable[Block]) -> Array:
    return np.asarray(np.mean([y for _, y in _each(q, blocks)], axis=0))


def _until_none(q: Array, blocks: Iterable[Block]) -> Array:
    def some() -> Iterator[Block]:
        for block in blocks:
            if not block[2].any():
                yield block[0][:0], block[1][:0], block[2][:0]
                return
            yield block

    return np.asarray(attended(q, some()))


def _last(q: Array, blocks: Iterable[Block]) -> Array:
    return np.asarray(attended(q, [*blocks][-1:]))


def _by_size(q: Array, blocks: Iterable[Block]) -> Array:
    given = [*blocks]
    sizes = np.array([max(len(k), 1e-300) for k, _, _ in given])
    return np.asarray(sizes @ np.array([y for _, y in _each(q, given)]) / sizes.sum())


def _divided_each_time(q: Array, blocks: Iterable[Block]) -> Array:
    top, total, output = -np.inf, 0.0, np.zeros(1)
    for k, v, keep in blocks:
        if not keep.any():
            output = output + np.zeros(v.shape[1])
            continue
        scores = k[keep] @ q / np.sqrt(len(q))
        new = max(top, scores.max())
        shrink, terms = np.exp(top - new), np.exp(scores - new)
        total = shrink * total + terms.sum()
        output = shrink * output + terms @ v[keep] / total
        top = new
    return output


def _divided_again(q: Array, blocks: Iterable[Block]) -> Array:
    top, total, output = -np.inf, 0.0, np.zeros(1)
    for k, v, keep in blocks:
        output = output + np.zeros(v.shape[1])
        if not keep.any():
            continue
        scores = k[keep] @ q / np.sqrt(len(q))
        new = max(top, scores.max())
        shrink, terms = np.exp(top - new), np.exp(scores - new)
        total = shrink * total + terms.sum()
        output = (shrink * output + terms @ v[keep]) / total
        top = new
    return output


def _own_height(q: Array, blocks: Iterable[Block]) -> Array:
    top, total, output = -np.inf, 0.0, np.zeros(1)
    for k, v, keep in blocks:
        if not keep.any():
            output = output + np.zeros(v.shape[1])
            continue
        scores = k[keep] @ q / np.sqrt(len(q))
        shrink = np.exp(min(top - scores.max(), 0))
        terms = np.exp(scores - scores.max())
        total, output = shrink * total + terms.sum(), shrink * output + terms @ v[keep]
        top = max(top, scores.max())
    return output / total if total > 0 else output


def _nearly_hidden(q: Array, blocks: Iterable[Block]) -> Array:
    top, total, output = -1e9, 0.0, np.zeros(1)
    for k, v, keep in blocks:
        scores = np.where(keep, k @ q / np.sqrt(len(q)), -1e9)
        new = max(top, scores.max(initial=-1e9))
        shrink, terms = np.exp(top - new), np.exp(scores - new)
        total, output = shrink * total + terms.sum(), shrink * output + terms @ v
        top = new
    return output / total if total > 0 else output


def _plain(q: Array, blocks: Iterable[Block]) -> Array:
    total, output = 0.0, np.zeros(1)
    for k, v, keep in blocks:
        terms = np.exp(k @ q / np.sqrt(len(q))) * keep
        total, output = total + terms.sum(), output + terms @ v
    return output / total if total != 0 else output


@exercise(
    "16.5",
    praise="Blocks of every size, rising and falling scores, hidden keys, hidden blocks and none; "
    "and no more than one block in memory.",
    hints=(
        "Keep three things: the largest score, the sum of the exponentials below it, and the "
        "values summed with these exponentials.",
        "When a block has a larger score, by which factor are the old sum and the old output too "
        "large? A hidden key has the score −∞.",
        "The factor is e^{old − new}, for both. While no key was visible, both largest "
        "scores are −∞: take 0 in their place. Divide once, at the end.",
    ),
    cases=_texts,
    slips="""
        shrink * total + terms.sum() → total + terms.sum()
        shrink * output + terms @ v → output + terms @ v
            Sum and output of the blocks before were measured from another largest score: when it
            rises, both shrink by one factor.
        shrink * total + terms.sum() → total + terms.sum()
            The output shrinks when a larger score comes, and the sum does not: both have the same
            terms.
        shrink * output + terms @ v → output + terms @ v
            The sum shrinks when a larger score comes, and the output does not: both have the same
            terms.
        np.exp(top - level) → 1 / np.exp(top - level) if top > -np.inf else 0.0
            The factor stands upside down: when the largest score rises, what was before shrinks.
        k @ q / np.sqrt(len(q)) → k @ q
            The scores are not divided by √d_k.
        k @ q / np.sqrt(len(q)) → k @ q / len(q)
            The scores are divided by d_k; its root is asked for.
        k @ q / np.sqrt(len(q)) → k @ q / np.sqrt(max(len(k), 1))
            The scores are divided by the root of the number of keys; √d_k is the width's.
        np.where(keep, k @ q / np.sqrt(len(q)), -np.inf) → k @ q / np.sqrt(len(q))
            Hidden keys get a weight.
        np.where(keep, k @ q / np.sqrt(len(q)), -np.inf) → k @ q / np.sqrt(len(q)) * keep
            A hidden key got the score 0, whose exponential counts. Its score is −∞.
        np.where(keep, → np.where(~keep,
            `keep` is True where the query may attend; you hid those keys.
        return output / total if total > 0 else output → return output
            The output is not divided: weights add up to 1.
        return output / total if total > 0 else output → return output / total
            Without a visible key, 0/0 is nan; zeros are asked for.
        level = new if new > -np.inf else 0.0 → level = new
            Before the first visible key, the largest score is −∞, and −∞ − (−∞) is nan.
        max(top, scores.max(initial=-np.inf)) → scores.max(initial=-np.inf)
            The largest score of the newest block alone serves; it may be smaller than what came
            before, and then the old exponentials overflow.
        max(top, scores.max(initial=-np.inf)) → scores.max() if keep.any() else top
            The largest score of the newest block with a key serves alone; it may be far below what
            came before, and then the factor of the old sums overflows.
        top, total, output = -np.inf, → top, total, output = 0.0,
            Your largest score so far starts at 0, and may lie below: then all exponentials
            vanish. It starts at −∞.
        level = new if new > -np.inf else 0.0 → level = new if new > -np.inf or len(k) else 0.0
            In a block of hidden keys alone the largest score is −∞; if no visible
            key came before, −∞ − (−∞) is nan. A block without a visible key need not be empty.
        level = new if new > -np.inf else 0.0 → level = new if new > -np.inf or len(k) else 0.0
        return output / total if total > 0 else output → return np.nan_to_num(output / total)
            A nan that arises from −∞ − (−∞) stays in sum and output, whatever comes after; to put
            0 for it at the end throws all away.
        max(top, scores.max(initial=-np.inf)) → max(top, (k @ q / len(q)**0.5).max(initial=-np.inf))
            You looked for the largest score among hidden keys too. Where it is far above the
            others, all exponentials that count are 0.
        np.where(keep, k @ q / np.sqrt(len(q)), -np.inf) → np.where(keep, k @ q / len(q)**0.5, -1e4)
            Hidden keys have a negative score that is not −∞; a key that may be attended to can have
            one far below.
        max(top, scores.max(initial=-np.inf)) → max(top, (k @ q).max(initial=-np.inf))
            The largest score was looked for among scores that are not yet divided by √d_k, so that
            exponentials may vanish.
        max(top, scores.max(initial=-np.inf)) → top if top > -np.inf else scores.max(initial=top)
            The first largest score served for all blocks, and later ones lie far above it.
        shrink * output + terms @ v → shrink * output + terms @ (v * keep[:, None])
        np.where(keep, k @ q / np.sqrt(len(q)), -np.inf) → k @ q / np.sqrt(len(q))
            The values of hidden keys are left out, but their exponentials stand in the sum.
        = _plain(q, blocks)
            The scores are not measured from the largest one: e to that power is more than a float
            holds, or all of them are 0.
    """,
    mutants={
        "You took the mean of the blocks' outputs; a block with larger scores counts more.": (
            _mean_of_blocks
        ),
        "You weighted the blocks' outputs with their numbers of keys; what counts is the sum of "
        "their exponentials.": _by_size,
        "A new block is measured from its own largest score, also where one before was larger: all "
        "exponentials are measured from the largest so far.": _own_height,
        "The output was divided by the sum at each block, and what is divided already is not "
        "multiplied again: divide once, at the end.": _divided_each_time,
        "The output was divided at each block, and is divided again at the next one: keep it "
        "undivided until the end.": _divided_again,
        "Hidden keys have a large negative score, which is not −∞: where no key is visible, they "
        "all get the same weight.": _nearly_hidden,
        "You stopped at a block without a visible key; others may follow.": _until_none,
        "That is the output of the last block alone.": _last,
    },
    otherwise="Attention to all keys that are kept, as if they had come at once.",
)
def attended(q: Array, blocks: Iterable[Block]) -> Array:
    """Attention of one query to keys that come in blocks."""
    top, total, output = -np.inf, 0.0, np.zeros(1)
    for k, v, keep in blocks:
        scores = np.where(keep, k @ q / np.sqrt(len(q)), -np.inf)
        new = max(top, scores.max(initial=-np.inf))
        level = new if new > -np.inf else 0.0
        shrink, terms = np.exp(top - level), np.exp(scores - level)
        total = shrink * total + terms.sum()
        output = shrink * output + terms @ v
        top = new
    return output / total if total > 0 else output
