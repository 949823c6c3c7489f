"""Exercises 3.8, 3.10 and 3.11: two thin matrices, a veto, a layer that looks words up."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from tformer import reference
from tformer_book.exercises.answer import Answer, Wrong
from tformer_book.exercises.describe import pair, show
from tformer_book.exercises.kinds import Parts, Several, parts
from tformer_book.exercises.registry import exercise
from tformer_book.exercises.samples import columns, integers
from tformer_book.exercises.table import Case, Function, case

Array = np.ndarray


@dataclass(frozen=True)
class Factors(Several):
    """Two matrices of the right shapes, judged by their product."""

    def fit(self, f: Answer, got: Parts, want: Parts, said: str) -> None:
        """Raise Wrong where a matrix has a wrong shape, and say how."""
        for part, right, name in zip(got, want, self.names, strict=True):
            if part.shape == right.shape:
                continue
            why = " It is transposed." * (part.shape == right.shape[::-1])
            if not why and part.ndim == 2 and part.shape < right.shape:
                why = " Zeros may fill the columns that are left over."
            raise Wrong(
                f"With {said}, {name} has shape {part.shape}; it should be {right.shape}.{why}"
            )

    def remark(self, got: Array, want: Array) -> str:
        """Say that the product is symmetric where the table is not."""
        symmetric = got.shape == want.shape and got.any() and np.allclose(got, got.T)
        if symmetric and not np.allclose(want, want.T):
            return "Yours is symmetric, and a taste need not be: one matrix cannot serve twice."
        return super().remark(got, want)


def _tastes() -> Iterator[Case]:
    tastes: list[tuple[list[list[int]], int]] = [
        ([[4, 0], [3, 0]], 1),
        ([[1, 2], [2, 4]], 1),
        ([[1, 2], [3, 0]], 2),
        ([[0, -1], [1, 0]], 2),
        ([[0, 1], [0, 0]], 1),
        ([[-2, 0], [0, -3]], 2),
        ([[0, 0], [0, 0]], 1),
        ([[-5]], 1),
        ([[-5]], 3),
    ]
    for taste, width in tastes:
        yield case(taste=taste, width=width, whole=width == len(taste))
    sizes = [(3, 1, 1), (3, 2, 2), (3, 1, 2), (2, 2, 3), (4, 2, 3), (5, 2, 2), (6, 3, 4)]
    for seed, (d, rank, width) in enumerate(sizes):
        left, right = integers(seed + 30, (2, d, rank))
        left[0], right[-1] = 1.0, 2.0
        yield case(taste=left @ right.T, width=width)
    for whole in (np.array([[1.0, 2], [3, 0]]), np.array([[0.0, -1], [2, 1]])):
        yield case(taste=2e-7 * whole, width=2, why="A taste may be small as a whole.")
    for seed, (d, rank, width) in enumerate(sizes):
        left, right = np.random.default_rng(seed).normal(size=(2, d, rank)) * 0.01 ** np.arange(
            rank
        )
        yield case(taste=left @ right.T, width=width, why="Some parts of a taste may be faint.")


def _by_eigh(taste: Array, width: int, first: Function) -> Parts:
    """Factors from `eigh`, with its eigenvalues in another order."""
    value, vector = np.linalg.eigh(taste)
    return tuple(columns(first(table), width) for table in (vector * value, vector))


@exercise(
    "3.8",
    praise="The product is the table asked for: square and lopsided tastes, with rank below, at "
    "and far below the width, and with widths beyond that of the rows.",
    hints=(
        "The proof of the theorem is a recipe. It begins with the singular value decomposition.",
        "Only the first singular values are not zero. Which columns belong to them, and which of "
        "the two matrices takes the stretch?",
        "`np.linalg.svd` returns the right singular vectors as the rows of its third result, so "
        "they have to be transposed. If `width` exceeds d, columns of zeros fill the rest.",
    ),
    cases=_tastes,
    slips="""
        u * sigma → -u * sigma
            The sign is reversed.
        u * sigma → u
            The stretch by the singular values is missing.
        vt.T → vt.T * sigma
            Both matrices are stretched by the singular values, so they count twice. One of the two
            is enough, or a root for each.
        u * sigma → u * np.sqrt(sigma)
            A root of the singular values stretches one matrix only; the other needs it too.
        vt.T → vt
            Rows of the third result of the decomposition are the directions of the keys; you took
            its columns.
        u * sigma → 1 * vt.T ;; , columns(vt.T → , columns(u * sigma
            w_q and w_k have changed places: the product is the transpose of the taste.
        vt.T → u
            Both matrices are stretched by a root, but the directions of the queries serve for both.
            That gives symmetric tables only.
        u * sigma → vt.T * sigma
            The directions of the keys serve for both matrices. That gives symmetric tables only.
        u * sigma → sigma[:, np.newaxis] * u
            The singular values stretch the columns of their matrix, and here its rows.
        = _by_eigh(taste, width, lambda x: x[:, np.argsort(-np.abs(np.linalg.eigh(taste)[0]))])
            `eigh` is for symmetric tables: it reads the lower half and takes the upper for its
            mirror image. A taste need not be symmetric.
        = _by_eigh(taste, width, lambda x: x[:, -width:])
            `eigh` is for symmetric tables, and a taste need not be one. It also lists eigenvalues
            in rising order, so that negative ones come first.
        u * sigma → (u * sigma)[:, -width:] ;; vt.T → $[:, -width:]
            The last singular values are the smallest; keep the first.
        = columns(taste, width), columns(np.eye(len(taste)), width)
            What lies in other columns of the table is cut off. Singular vectors have all of it in
            the first.
        = columns(taste, width), columns((np.linalg.pinv(columns(taste, width)) @ taste).T, width)
            The first columns of the table need not hold the rest: they may depend on each other.
        = columns(np.linalg.qr(taste)[0], width), columns(np.linalg.qr(taste)[1].T, width)
            The first columns of Q need not hold the whole table, if some of its own depend on each
            other. Singular vectors come in order of weight.
        u * sigma → u * sigma * (sigma > 1e-6)
            The whole table may be small: a threshold belongs to its largest singular value.
        u * sigma → u * sigma * (sigma > 0.01)
            A small singular value is not 0. Only the width may cut anything off.
    """,
    kind=Factors(lambda w_q, w_k: w_q @ w_k.T, "your product w_q w_kᵀ", ("w_q", "w_k")),
    otherwise="Every table whose rank is at most the width is such a product.",
)
def factors(taste: Array, width: int) -> Parts:
    """W_Q, W_K of shape (d, width) with W_Q W_Kᵀ = taste."""
    u, sigma, vt = np.linalg.svd(taste)
    return columns(u * sigma, width), columns(vt.T, width)


LENGTHS = (12, 16, 20)  # words in a sentence
TIMES, SHARE = 5, 0.9


@dataclass(frozen=True)
class Sentence:
    """Two nouns, and an adjective that fits the first and not the second.

    Attributes
    ----------
    right, wrong : kinds of the nouns, from 0.
    says : kinds that the adjective speaks of; `right` is among them, `wrong` is not.
    length : how many words there are, these three among them; the others have the key 0.
    """

    right: int
    wrong: int
    says: tuple[int, ...]
    length: int

    def weights(self, keys: Array) -> Array:
        """Return in each head the weights of both nouns, the adjective and another word, (H, 4)."""
        n = keys.shape[1]
        own = keys[[self.right, self.wrong]]
        adjective = keys[[n + kind for kind in self.says]].sum(axis=0, keepdims=True)
        rest = np.zeros((self.length - 3, n))
        return reference.softmax(np.concatenate([own, adjective, rest]).T)[:, :4]

    def __str__(self) -> str:
        said = " and ".join(map(str, self.says))
        return (
            f"nouns of kinds {self.right} and {self.wrong}, an adjective that says {said}, and "
            f"{self.length - 3} other words"
        )


def _sentences(n: int) -> Iterator[Sentence]:
    for length in LENGTHS:
        for right in range(n):
            for wrong in set(range(n)) - {right}:
                yield Sentence(right, wrong, (right,), length)
                for other in set(range(n)) - {right, wrong}:
                    yield Sentence(right, wrong, (right, other), length)


@exercise(
    "3.10",
    praise="For two to seven kinds, in every sentence with two nouns and an adjective of one or "
    "two kinds, the right noun gets at least five times the weight of the other.",
    hints=(
        "In the head of the right kind the noun has to win, in the head of the wrong kind it has "
        "to lose. To whom? Only the adjective can tell the two sentences apart.",
        "Let an adjective have a larger key than any noun in the heads of which it does not speak. "
        "In the head of which it does, it must not get in the way.",
        "The key of an adjective of two kinds is the sum of two rows. In a head of which it speaks "
        "the sum must be far below the key of the noun, although one of the two is the large one.",
    ),
)
def veto_keys(f: Answer) -> None:
    """W_K of n heads, a column each: nouns of a kind, then adjectives that say it."""
    for n in range(2, 8):
        said = f.said(n=n)
        keys = f.sound(f.array(said, n=n), (2 * n, n), said)
        for sentence in _sentences(n):
            _judge(said, sentence, keys)


def _judge(said: str, sentence: Sentence, keys: Array) -> None:
    heads = sentence.weights(keys)
    right, wrong = heads.mean(axis=0)[:2]
    least = SHARE / len(heads)
    if right >= TIMES * wrong and right >= least:
        return
    asked = (
        f"at least {TIMES} times as much is asked for"
        if right < TIMES * wrong
        else f"at least {SHARE}/{len(heads)} is asked for the right one"
    )
    raise Wrong(
        f"With {said}, and a sentence with {sentence}, on average over the heads the "
        f"right noun gets {show(right)} and the other {show(wrong)}; {asked}. "
        f"{_why(sentence, keys, heads)}"
    )


def _why(sentence: Sentence, keys: Array, heads: Array) -> str:
    n = keys.shape[1]
    ours, theirs = heads[sentence.right], heads[sentence.wrong]
    if not keys[n:].any():
        return "The adjective has the key 0 in every head, so nothing knows which noun it fits."
    vetoes_first = keys[:n].min() < keys[n:].min()
    halves = (one.weights(np.roll(keys, n, axis=0)).mean(axis=0) for one in _sentences(n))
    if vetoes_first and all(half[0] >= max(TIMES * half[1], SHARE / n) for half in halves):
        return "Your rows of adjectives come first; those of the nouns should."
    if ours[1] > 0.1:
        return (
            f"In head {sentence.right}, which should point at the right noun, the other noun draws "
            f"{show(ours[1])} of the weight."
        )
    if ours[2] > 0.5:
        return (
            f"In head {sentence.right}, which should point at the right noun, the adjective draws "
            f"{show(ours[2])} of the weight."
        )
    if theirs[1] > 0.1:
        return (
            f"Head {sentence.wrong} still gives {show(theirs[1])} to the noun of its kind. Who "
            "should draw its weight away?"
        )
    if ours[0] < SHARE:
        drawn = ours[2] > 2 * ours[3]
        more = (
            f"The adjective draws {show(ours[2])} there; its key is the sum of the rows of all "
            "kinds that it speaks of."
            if drawn
            else f"There are {sentence.length} words, and each counts."
        )
        return f"In its own head the right noun gets {show(ours[0])}. {more}"
    return "Which head gives the other noun so much?"


LONGEST = 20  # words in a sentence


@exercise(
    "3.11",
    praise="In every sentence each word gives at least 0.999 of its weight to the word it looks "
    "for, with keys of width two, for up to twelve words.",
    hints=(
        "Give every word a point in the plane as its key, and let each word's query be the point "
        "of the word it looks for. Which points make each key the best match for itself?",
        "On a circle all keys have the same length, so a query prefers the key of its own "
        "direction. The lead over the neighbour may be small.",
        "Make the queries longer until the lead is large: with twelve words on the circle, a lead "
        "of 10 in the scaled scores is reached well before a length of 200.",
    ),
)
def lookup_layer(f: Answer) -> None:
    """W_Q, W_K of width two by which word i attends to word partner[i]."""
    small = [
        [2, 0, 3, 1],
        [1, 2, 0],
        [1, 0],
        [0, 1],
        [0, 0, 0],
        [2, 2, 1],
        [3, 3, 1, 0],
        [0, 1, 2, 3],
    ]
    for seed, words in enumerate(small):
        _judge_lookup_layer(f, np.array(words), seed)
    rng = np.random.default_rng(5)
    for seed, n in enumerate(range(5, 13)):
        _judge_lookup_layer(f, rng.integers(0, n, n), seed)
    for partner in (np.roll(np.arange(12), -1), np.arange(12), np.full(12, 7)):
        _judge_lookup_layer(f, partner, 0)


def _judge_lookup_layer(f: Answer, partner: Array, seed: int) -> None:
    n = len(partner)
    said = f.said(partner=partner)
    both = parts(f, f.raw(said, partner=partner).value, said, ("w_q", "w_k"))
    w_q, w_k = (
        f.sound(part, (n, 2), said, name, "has shape")
        for part, name in zip(both, ("w_q", "w_k"), strict=True)
    )
    whole = np.arange(n)
    drawn = np.random.default_rng(seed).integers(0, n, (5, min(2 * n, LONGEST)))
    for sentence in [whole, whole[::-1], *drawn, *_crowded(partner, w_q, w_k)]:
        _judge_looks(said, partner, sentence, w_q, w_k)


def _crowded(partner: Array, w_q: Array, w_k: Array) -> Iterator[Array]:
    """Yield for each word the sentence in which its strongest rival stands as often as it can."""
    for word, scores in enumerate(w_q @ w_k.T):
        rivals = [i for i in np.argsort(-scores) if i != partner[word]]
        needed = dict.fromkeys([word, int(partner[word])])
        yield np.array([*needed, *[rivals[0]] * (LONGEST - len(needed))])


def _judge_looks(said: str, partner: Array, sentence: Array, w_q: Array, w_k: Array) -> None:
    """Each word of the sentence whose partner is in it should look there, and nowhere else."""
    weights = reference.attention_weights(w_q[sentence], w_k[sentence])
    if np.isnan(weights).any():
        raise Wrong(f"With {said}, the scores are too large for a float64. Make w_q smaller.")
    for word, row in zip(sentence.tolist(), weights, strict=True):
        shares = np.bincount(sentence, row, len(partner))
        wanted, found = int(partner[word]), int(shares.argmax())
        if wanted not in sentence or shares[wanted] >= 0.999:
            continue
        head = (
            f"With {said} and the sentence {show(sentence)}, word {word} gives word {wanted} "
            f"a weight of {pair(shares[wanted], 0.999)[0]}; at least 0.999 is asked for."
        )
        if found == wanted and shares[found] > np.sort(shares)[:-1].max() + 1e-9:
            raise Wrong(
                f"{head} It attends to the right word, with too small a lead over the rest."
            )
        raise Wrong(f"{head} {_where_it_looks(partner, word, found, shares, w_q, w_k)}")


def _where_it_looks(
    partner: Array, word: int, found: int, shares: Array, w_q: Array, w_k: Array
) -> str:
    best = (w_q @ w_k.T).argmax(axis=-1)
    same = np.flatnonzero(np.isclose(w_k, w_k[found], rtol=1e-12).all(axis=-1)).tolist()
    if partner[word] in same and len(same) > 1:
        return f"Words {same[0]} and {same[1]} have the same key, so no query can tell them apart."
    if shares[found] < np.sort(shares)[-2] + 1e-9:
        return "Several words get the same weight."
    if len(best) > 2 and np.linalg.matrix_rank(w_k - w_k[0]) < 2:
        return (
            "All keys lie on one line. A key between two others never has the largest score: as "
            "the query turns, one end of the line or the other has it."
        )
    if (best == np.arange(len(best))).all():
        return "Every word attends to itself. Where does the query learn about the partner?"
    for step, where in {1: "after", -1: "before"}.items():
        if len(best) > 3 and (best == (partner + step) % len(best)).all():
            return f"Each word attends to the word {where} its partner: words are counted from 0."
    if len(set(partner.tolist())) == len(partner) and (best[partner] == np.arange(len(best))).all():
        return (
            "Each word attends to the word whose partner it is, as if the roles of queries and "
            "keys were exchanged."
        )
    if (best == best[0]).all() and reference.norm(w_k).argmax() == best[0]:
        return f"Every word attends to word {best[0]}, which has the longest key."
    if partner[word] not in _preferred(w_k):
        return (
            f"No query prefers the key of word {partner[word]}, because it lies among the others: "
            "the largest score goes to a key at the edge."
        )
    if w_k[found] @ w_k[partner[word]] > w_k[partner[word]] @ w_k[partner[word]]:
        return (
            f"The key of word {found} reaches farther along the key of word {partner[word]} than "
            "that key itself. Keys of one length do not."
        )
    return f"Word {found} gets {show(shares[found])}, the largest."


def _preferred(w_k: Array) -> set[int]:
    """Return the words whose keys have the largest score for some query."""
    angle = np.linspace(0, 2 * np.pi, 3600)
    scores = w_k @ np.stack([np.cos(angle), np.sin(angle)])
    return set(scores.argmax(axis=0).tolist())
