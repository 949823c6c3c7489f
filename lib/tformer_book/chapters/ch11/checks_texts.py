"""Exercises 11.5 to 11.8: cross-attention, the share of the source, the bill, a second layer."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from tformer_book.exercises import compare
from tformer_book.exercises.answer import Answer, Settled
from tformer_book.exercises.kinds import Marks, Number
from tformer_book.exercises.promises import promised, whole
from tformer_book.exercises.registry import Test, exercise
from tformer_book.exercises.samples import integers
from tformer_book.exercises.table import Case, case, type_test, warning_test


def _memories() -> Iterator[Case]:
    eye = np.eye(2)
    yield case(
        x=[[0.0, 0]],
        memory=[[2.0, 0], [0, 4]],
        w_q=eye,
        w_k=eye,
        w_v=eye,
        want=[[1.0, 2]],
        why="All scores are 0: the mean of both words of the memory.",
    )
    yield case(
        x=[[1.0, 2], [3, 0]],
        memory=[[5.0, 1]],
        w_q=eye,
        w_k=eye,
        w_v=[[1.0], [1]],
        want=[[6.0], [6]],
        why="A memory of one word gives every query the same.",
    )
    for seed, (t, s, d, d_k, d_v) in enumerate(
        ((1, 3, 2, 2, 2), (3, 2, 2, 4, 1), (4, 4, 3, 2, 3), (2, 5, 3, 3, 2), (5, 2, 4, 1, 4))
    ):
        yield case(
            x=integers(seed, (t, d)) / 2,
            memory=integers(seed + 10, (s, d)) / 2,
            w_q=integers(seed + 20, (d, d_k)) / 2,
            w_k=integers(seed + 30, (d, d_k)) / 2,
            w_v=integers(seed + 40, (d, d_v)),
        )
    low = "Scores may all be as low as −100, or as high as 100: only their differences count."
    one = [[1.0]]
    yield case(x=[[-1.0], [1]], memory=[[95.0], [96]], w_q=one, w_k=one, w_v=one, why=low)
    words = {"x": integers(1, (3, 2)), "memory": integers(2, (4, 2))}
    matrices = {"w_q": integers(3, (2, 2)), "w_k": integers(4, (2, 2)), "w_v": integers(5, (2, 2))}
    yield from promised(whole, **words, **matrices)


@exercise(
    "11.5",
    praise="Memories longer and shorter than the text, of one word, and widths of all sorts.",
    hints=(
        "Who asks, and who is asked? Which of the three matrices meets which text?",
        "Queries are made of x; keys and values of the memory. The table of scores is (T, S).",
        "The softmax, along the words of the memory, of x W_Q (memory W_K)ᵀ / √d_k; then "
        "times memory W_V.",
    ),
    cases=_memories,
    slips="""
        memory @ w_k, memory @ w_v → x @ w_k, x @ w_v
            Keys and values were made of x: that is attention of a text to itself.
        memory @ w_v → x @ w_v
            The values were made of x; they come from the memory.
        x @ w_q, memory @ w_k → memory @ w_q, x @ w_k
            The two texts are exchanged: x asks, the memory is asked.
        np.sqrt(k.shape[-1]) → np.sqrt(v.shape[-1])
            The scores are divided by √d_k, not √d_v.
        np.sqrt(k.shape[-1]) → np.sqrt(x.shape[-1])
            The scores are divided by √d_k, and d is another width.
        np.sqrt(k.shape[-1]) → k.shape[-1]
            The scores are divided by √d_k, not by d_k.
        np.sqrt(k.shape[-1]) → np.sqrt(len(k))
            The scores are divided by √d_k, not by the root of the number of words.
        terms.sum(axis=-1, keepdims=True) → terms.sum(axis=0, keepdims=True)
            The softmax runs along the words of the memory, for each query.
        terms.sum(axis=-1, keepdims=True) → terms.sum()
            Each query has a softmax of its own.
        np.exp(scores) → np.exp(scores) * np.tri(*scores.shape)
            There is no causal mask on a memory.
        terms / terms.sum(axis=-1, keepdims=True) @ v → terms @ v
            The terms are to be divided by their sum.
        np.sqrt(k.shape[-1]) → 1
            The scores are to be divided by √d_k.
        / np.sqrt(k.shape[-1]) → * np.sqrt(k.shape[-1])
            The scores are to be divided by √d_k, not multiplied.
        x @ w_q, memory @ w_k → x @ w_k, memory @ w_q
            The matrices are exchanged: W_Q makes the queries, W_K the keys.
        terms / terms.sum(axis=-1, keepdims=True) @ v → terms / terms.sum(axis=-1, keepdims=True)
            Those are the weights; the output is the mean of the values that they give.
        terms / terms.sum(axis=-1, keepdims=True) @ v → scores @ v
            Scores become weights by a softmax.
        np.exp(scores) → np.exp(np.clip(scores, -50, 50))
            Scores that are cut off at a bound lose their differences; only differences count.
        terms.sum(axis=-1, keepdims=True) → ($ + 1e-9)
            Something was added to the sum of the terms: where all scores are low, it is the larger.
        terms / terms.sum(axis=-1, keepdims=True) @ v → v[scores.argmax(axis=-1)]
            That is the value with the largest score; attention takes a mean of all.
        memory @ w_k, memory @ w_v → np.vstack([memory, x]) @ w_k, np.vstack([memory, x]) @ w_v
            The text's own words are no part of the memory: that is self-attention over both texts.
        @ v) → @ v) + (x if x.shape[-1] == v.shape[-1] else 0)
            The vectors x were added, as a residual connection does. Return what the head
            computes.
        np.exp(scores) → np.exp((scores - scores.max()).astype(np.float32))
            The exponentials went through float32, which holds seven digits.
    """,
    otherwise="Queries from x, keys and values from the memory, a softmax over the memory's words.",
)
def cross(
    x: np.ndarray, memory: np.ndarray, w_q: np.ndarray, w_k: np.ndarray, w_v: np.ndarray
) -> np.ndarray:
    """One head that attends to a memory."""
    q, k, v = x @ w_q, memory @ w_k, memory @ w_v
    scores = q @ k.T / np.sqrt(k.shape[-1])
    terms = np.exp(scores)
    return np.asarray(terms / terms.sum(axis=-1, keepdims=True) @ v)


def _scores() -> Iterator[Case | Test]:
    yield case(a=[0.0], b=[0.0], want=0.5, why="Two words with the same score.")
    yield case(a=[0.0, 0, 0], b=[0.0], want=0.75, why="Three words of four, all of one score.")
    yield case(a=[1.0, 2], b=[0.0, 1, 0])
    yield case(a=[[0.0, 0], [3, 1]], b=[[0.0, 0], [-1, 2]], why="There may be several queries.")
    yield case(a=[3000.0, 0], b=[0.0], want=1.0, why="A score of 3000 leaves nothing to others.")
    yield case(a=[1.0, 0], b=[3000.0], want=0.0, why="The target's score leaves nothing.")
    yield case(a=[-3000.0], b=[0.0, 1], want=0.0, why="A score of −3000 gets nothing.")
    yield case(a=[-3000.0, -3000], b=[-3000.0], want=2 / 3, why="Only differences count.")
    yield case(a=[2000.0], b=[1999.0, 0], why="Only differences count; this one is 1.")
    for seed in range(5):
        shape = ((1,), (2,), (2, 3), (4,), (3, 1))[seed]
        yield case(a=integers(seed, (*shape, 2 + seed)), b=integers(seed + 9, (*shape, 3)))
    far = "Queries may be thousands apart: each has a largest score of its own."
    yield case(a=[[0.0, 1], [3000, 1]], b=[[0.0], [2999]], why=far)
    yield case(a=[[-3000.0], [0], [2000]], b=[[-3000.0, -2999], [1, -3000], [2000, 0]], why=far)
    yield from promised(whole, a=np.array([2.0, 1]), b=np.array([1.0, 3]))
    apart = np.array([3000.0, 0])
    for a, b in ((apart, -apart), (-apart, apart), (apart, apart), (-apart[:1], -apart[:1])):
        yield warning_test(a=a, b=b)


@exercise(
    "11.6",
    praise="Texts of any length, scores of thousands on either side, several queries.",
    hints=(
        "The weight of a word is the exponential of its score over the sum over all words.",
        "Sums of exponentials of the source and of both texts. What if a score is 3000?",
        "Take the largest of all scores off all scores first: only differences count.",
    ),
    cases=_scores,
    slips="""
        a - top → a - a.max(axis=-1, keepdims=True) ;; b - top → b - b.max(axis=-1, keepdims=True)
            Each text was measured from its own largest score; one maximum has to serve both.
        = 1 / (1 + np.exp(b.mean(axis=-1) - a.mean(axis=-1)))
            Means of scores were compared; each word adds its exponential.
        source / (source + own) → source / own
            That is the source against the target; the share is of both together.
        source / (source + own) → own / (source + own)
            That is the target's share.
        np.exp(a - top).sum(axis=-1) → np.exp(a - top).mean(axis=-1)
            Every word counts: add the terms up, do not take their mean.
        np.exp(a - top).sum(axis=-1) → np.exp(a - top).max(axis=-1)
            All words of the source count, not only the largest score.
        np.maximum(a.max(axis=-1), b.max(axis=-1)) → b.max(axis=-1)
            A score of the source can be far above those of the target, and its exponential is inf.
        np.maximum(a.max(axis=-1), b.max(axis=-1)) → 0 * a.max(axis=-1)
            Without taking the largest score off, exponentials become inf or all 0.
        np.maximum(a.max(axis=-1), b.max(axis=-1))[..., None] → max(a.max(), b.max())
            One number was taken off all queries: far below it a query keeps only zeros, and 0/0.
            Each query has a largest score of its own.
        np.exp(b - top) → np.exp(b - b.max(axis=-1)[..., None])
            Different numbers were taken off the two texts: their terms can no longer be compared.
        = a.shape[-1] / (a.shape[-1] + b.shape[-1]) + 0 * a.sum(axis=-1)
            Not all words have the same score: their scores count.
        = a.sum(axis=-1) / (a.sum(axis=-1) + b.sum(axis=-1))
            The scores themselves were taken for weights; of scores a softmax makes weights.
        = 1 / (1 + np.exp(np.clip(b.sum(axis=-1) - a.sum(axis=-1), -700, 700)))
            The scores were added before the exponential; add the exponentials.
        np.exp(a - top).sum(axis=-1) → np.exp(a - top).max(axis=-1)
        np.exp(b - top).sum(axis=-1) → np.exp(b - top).max(axis=-1)
            All words of both texts count, not only the largest scores.
        source / (source + own) → np.log(source / (source + own))
            That is the logarithm of the share.
        a - top → np.clip(a, -700, 700) ;; b - top → np.clip(b, -700, 700)
            Scores that are cut off at a bound lose their differences: take the largest off instead.
        = np.nan_to_num(np.exp(a).sum(axis=-1) /
        (np.exp(a).sum(axis=-1) + np.exp(b).sum(axis=-1)))
            A nan that came of an overflow was replaced by 0. Avoid the overflow: subtract the
            largest score first.
    """,
    otherwise="Sums of exponentials: the source's over that of both.",
)
def share(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    """The weight on the source."""
    top = np.maximum(a.max(axis=-1), b.max(axis=-1))[..., None]
    source = np.exp(a - top).sum(axis=-1)
    own = np.exp(b - top).sum(axis=-1)
    return np.asarray(source / (source + own))


def _bills() -> Iterator[Case | Test]:
    for form, s, n, want, why in (
        ("anew", 2, 1, 3, "Two words and a blank."),
        ("anew", 2, 3, 12, "3 vectors, then 4, then 5."),
        ("cache", 2, 1, 2, "The last of the two vectors gives the word."),
        ("cache", 2, 3, 4, "Two vectors, then one for each of the first two new words."),
        ("pair", 2, 3, 5, "Two vectors of the encoder; the start and two words in the decoder."),
        ("pair", 1, 1, 2, "One vector of the encoder, and the start."),
        ("anew", 100, 10, 1055, ""),
        ("cache", 100, 10, 109, ""),
        ("pair", 100, 10, 110, ""),
        ("anew", 1, 1, 2, ""),
        ("cache", 1, 1, 1, ""),
        ("anew", 7, 20, None, ""),
        ("cache", 30, 4, None, ""),
        ("pair", 3, 40, None, ""),
    ):
        said = f"{form!r}, {s} words given and {n} written"
        yield case(form=form, n_source=s, n_tokens=n, want=want, why=why, said=said)
    yield type_test("an int", form="anew", n_source=2, n_tokens=3)


@exercise(
    "11.7",
    kind=Number(within=0.0),
    praise="All three ways, with one word written and many.",
    hints=(
        "Write out what goes through the stack for S = 2 and n = 3, word by word.",
        "Anew: 3, 4 and 5 vectors. With a cache each word goes through once; which one never does?",
        "nS + n(n + 1)/2; S + n − 1; and S + n, because the start has a vector.",
    ),
    cases=_bills,
    slips="""
        range(1, n_tokens + 1) → range(n_tokens)
            The blank has a vector as well.
        range(1, n_tokens + 1) → range(1, n_tokens)
            One word too few was written.
        n_source + i for → n_source + n_tokens for
            The text grows word by word; the first pass is the shortest.
        n_source + i for → i for
            The words that were given are read again each time.
        - (form == "cache") → - 0
            The last word that is written does not go through the decoder.
        - (form == "cache") → - 1
            The pair's decoder begins with a sign for the start, which has a vector.
        n_source + n_tokens - → n_source * n_tokens -
            The source is read once, not for each word.
        n_source + n_tokens - → n_tokens -
            The given words have to be read, too.
        - (form == "cache") → - (form == "cache") + n_source * (form == "pair")
            The source goes through the encoder only; the decoder attends to the encoder's vectors.
        - (form == "cache") → + (form == "pair")
            The last word that is written is read by neither decoder.
        n_source + n_tokens - → (n_source if form == "cache" else n_source * n_tokens) + n_tokens -
            The encoder of the pair reads the source once, for all words.
        (form == "cache") → 2 * (form == "cache") + 1
            The pair's decoder never reads the last word that it writes.
        n_source + n_tokens - → (n_source - 1 if form == "cache" else 0) + n_tokens - 0 *
            The encoder's vectors are missing: both stacks of the pair are counted.
        sum(n_source + i for i in range(1, n_tokens + 1)) → n_tokens * (n_source + 1)
            The text grows: without a cache each word that was written is read again.
        n_source + n_tokens - (form == "cache") → n_source * (form != "cache") + n_tokens
            The given words go through the decoder as well, before the cache holds them.
        return n_source + n_tokens - → n_source += sum(range(n_tokens)) * (form == "pair"); $
            The decoder of the pair has a cache: each word goes through it once.
        n_source + i for i → n_source + i / 2 for i
            The words so far were averaged with half a word for the blank; it counts as one vector
            each time.
    """,
    otherwise="Anew all vectors for each word; with a cache each vector once.",
)
def rows(form: str, n_source: int, n_tokens: int) -> int:
    """Vectors that go through a stack."""
    if form == "anew":
        return sum(n_source + i for i in range(1, n_tokens + 1))
    return n_source + n_tokens - (form == "cache")


def _many_paths(f: Answer) -> None:
    """Refuse an answer that counts paths in 8 bits. It is no case: to try more would be slow."""
    mask, want = np.zeros((2, 258, 258), dtype=bool)
    mask[0, 1:257] = mask[1:257, 257] = want[0, 257] = True
    said = "258 words, of which word 0 sees words 1 to 256, and these see word 257"
    if not compare.same(got := f.array(said, mask=mask), want):
        text = compare.difference(got, want, said, f"the answer of {f.name}")
        raise Settled(f"{text} 256 paths lead there: more than 8 bits can count.")


def _windows() -> Iterator[Case | Test]:
    t, s = np.arange(5)[:, None], np.arange(5)
    ring = (t - s) % 5 == 1
    for mask, why in (
        (s <= t, "Whoever is seen by a word that t sees stands before t as well."),
        (s > t + 9, "Nobody sees anybody."),
        ((s <= t) & (s > t - 2), "Two words in a window: the second layer tells of one word more."),
        ((s <= t) & (s > t - 3), "Three words in a window: of two words more."),
        (
            ring,
            "On a ring without a diagonal: each word keeps itself, and hears of the next but one.",
        ),
        ((s <= t) | (s < 3), "A prefix: nothing is new."),
        (t == s, "Each word sees itself alone."),
        (abs(t - s) <= 1, "Neighbours: of the next but one on either side."),
        (ring.T, "The ring the other way round."),
        ((s == 2) & (t >= 0), "All see word 2, which sees itself: nothing is new."),
        ((s == 2) & (t == 4) | (s == 1) & (t == 2), "4 sees 2, 2 sees 1: so 4 hears of 1."),
    ):
        yield case(mask=np.asarray(mask), why=why)
    for seed in range(8):
        mask = np.random.default_rng(seed).random((4, 4)) < 0.35
        yield case(mask=mask, why="Look for words that are seen by a word that t sees.")
    yield type_test("True and False", mask=(t - s) % 5 == 1)
    yield _many_paths


@exercise(
    "11.8",
    kind=Marks(),
    praise="Windows, rings, prefixes, masks with holes in the diagonal, and empty ones.",
    hints=(
        "After one block vector t depends on what it sees, and on itself. Why on itself, always?",
        "After two: on all that is seen by what it sees. Which product of tables is that?",
        "With the diagonal filled, one @ one > 0 is what two blocks tell; take off what one tells.",
    ),
    cases=_windows,
    slips="""
        mask | np.eye(len(mask), dtype=bool) → mask
            Blocks add to their vectors, so each depends on its own word, whatever the mask says.
        two & ~one → two
            What one block tells is no news.
        two & ~one → two & ~mask
            A word's own vector depends on it after one block already: that is no news.
        one.astype(int) @ one.astype(int) → one.astype(int) @ one.astype(int).T
            The second table was turned round: who sees what t sees, instead of what is seen by it.
        one.astype(int) @ one.astype(int) → one.astype(int) @ one.astype(int) @ one.astype(int)
            That is what three blocks tell.
        one.astype(int) @ one.astype(int) → np.linalg.matrix_power(one * 1.0, len(one))
            That is what any number of blocks tells; take two.
        one.astype(int) @ one.astype(int) → one.astype(int).T @ one.astype(int)
            The first table was turned round: what is seen by those who see t, instead.
        one.astype(int) @ one.astype(int) > 0 → one.astype(int) @ one.astype(int) > 1
            One path of two steps is enough.
        one.astype(int) @ one.astype(int) > 0 → one.astype(int) @ one.astype(int) == 1
            Several paths of two steps tell it as well as a single one.
        mask | np.eye(len(mask), dtype=bool) → mask | mask.T | np.eye(len(mask), dtype=bool)
            Attention has a direction: row t attends to column s, and not the reverse.
        two & ~one → (two & ~one).T
            Rows and columns are exchanged: row t is the word that hears.
        = np.zeros(mask.shape, dtype=bool)
            That is right for the masks of the three architectures. Try a window of two words.
        = ~(mask | np.eye(len(mask), dtype=bool))
            Not all that is hidden becomes known: a path of two steps has to lead there.
    """,
    otherwise="Paths of two steps where there is none of one.",
)
def news(mask: np.ndarray) -> np.ndarray:
    """What two blocks can tell and one cannot."""
    one = mask | np.eye(len(mask), dtype=bool)
    two = one.astype(int) @ one.astype(int) > 0
    return np.asarray(two & ~one)
