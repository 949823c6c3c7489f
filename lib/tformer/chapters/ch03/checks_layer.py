"""Exercise 3.11: a layer that looks words up."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from tformer import reference
from tformer.exercises import say
from tformer.exercises.answer import Answer, Wrong
from tformer.exercises.kinds import parts
from tformer.exercises.registry import exercise

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
    """W_Q, W_K of width two by which word i looks at word partner[i]."""
    small = [[1, 2, 0], [1, 2, 0], [1, 0], [0, 1], [0, 0, 0], [2, 2, 1], [3, 3, 1, 0], [0, 1, 2, 3]]
    for seed, words in enumerate(small):
        _judge_lookup_layer(f, np.array(words), seed)
    rng = np.random.default_rng(5)
    for seed, n in enumerate([5, 7, 9, 11, 12]):
        _judge_lookup_layer(f, rng.integers(0, n, n), seed)
    _judge_lookup_layer(f, np.roll(np.arange(12), -1), 0)


def _judge_lookup_layer(f: Answer, partner: np.ndarray, seed: int) -> None:
    n = len(partner)
    said = f.said(partner=partner)
    value = f.raw(said, partner=partner).value
    w_q, w_k = parts(f, value, said, ("w_q", "w_k"))
    for part, name in (w_q, "w_q"), (w_k, "w_k"):
        if part.shape != (n, 2):
            side = " It lies on its side." * (part.shape == (2, n))
            raise Wrong(f"With {said}, {name} has shape {part.shape}; it should be {(n, 2)}.{side}")
        if not np.isfinite(part).all():
            raise Wrong(f"With {said}, {name} holds numbers that are not finite.")
    w_q, w_k, whole = w_q.astype(float), w_k.astype(float), np.arange(n)
    drawn = np.random.default_rng(seed).integers(0, n, (5, min(2 * n, LONGEST)))
    for sentence in [whole, whole[::-1], *drawn, *_crowded(partner, w_q, w_k)]:
        _judge_looks(f, said, partner, sentence, w_q, w_k)


def _crowded(partner: np.ndarray, w_q: np.ndarray, w_k: np.ndarray) -> Iterator[np.ndarray]:
    """Yield for each word the sentence in which its strongest rival stands as often as it can."""
    for word, scores in enumerate(w_q @ w_k.T):
        rivals = [i for i in np.argsort(-scores) if i != partner[word]]
        yield np.array([word, partner[word], *[rivals[0]] * (LONGEST - 2)])


def _judge_looks(
    f: Answer,
    said: str,
    partner: np.ndarray,
    sentence: np.ndarray,
    w_q: np.ndarray,
    w_k: np.ndarray,
) -> None:
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
            f"With {said} and the sentence {say.show(sentence)}, word {word} gives word {wanted} "
            f"a weight of {say.pair(shares[wanted], 0.999)[0]}; at least 0.999 is asked for."
        )
        if found == wanted and shares[found] > np.sort(shares)[:-1].max() + 1e-9:
            raise Wrong(f"{head} It looks at the right word, with too small a lead over the rest.")
        raise Wrong(f"{head} {_where_it_looks(partner, word, found, shares, w_q, w_k)}")


def _where_it_looks(
    partner: np.ndarray,
    word: int,
    found: int,
    shares: np.ndarray,
    w_q: np.ndarray,
    w_k: np.ndarray,
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
        return "Every word looks at itself. Where does the query learn about the partner?"
    if len(set(partner.tolist())) == len(partner) and (best[partner] == np.arange(len(best))).all():
        return (
            "Each word looks at the word whose partner it is, as if the roles of queries and keys "
            "were exchanged."
        )
    if (best == best[0]).all() and reference.norm(w_k).argmax() == best[0]:
        return f"Every word looks at word {best[0]}, which has the longest key."
    if partner[word] not in _preferred(w_k):
        return (
            f"No query prefers the key of word {partner[word]}, because it lies among the others: "
            "the largest score goes to a key at the edge."
        )
    return f"Word {found} gets {say.show(shares[found])}, the largest."


def _preferred(w_k: np.ndarray) -> set[int]:
    """Return the words whose keys have the largest score for some query."""
    angle = np.linspace(0, 2 * np.pi, 3600)
    scores = w_k @ np.stack([np.cos(angle), np.sin(angle)])
    return set(scores.argmax(axis=0).tolist())
