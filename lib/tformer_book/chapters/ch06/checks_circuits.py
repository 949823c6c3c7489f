"""Exercises 6.3, 6.5 and 6.8: what a layer costs, when two heads are one, a key for all."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from tformer import reference
from tformer_book.exercises.kinds import Marks, Several
from tformer_book.exercises.registry import exercise
from tformer_book.exercises.samples import integers
from tformer_book.exercises.table import Case, case

SIZES = (
    (12, 3, 1, 5),
    (8, 4, 4, 3),
    (8, 4, 2, 3),
    (8, 1, 1, 1),
    (6, 6, 2, 4),
    (768, 12, 12, 1024),
    (64, 8, 1, 100),
    (16384, 128, 8, 100_003),  # more weights than 32 bits count
    (4096, 32, 8, 70_001),
)


def _bills() -> Iterator[Case]:
    for i, (d_model, n_heads, n_groups, n) in enumerate(SIZES):
        want = None if i else (2 * 12 * 12 + 2 * 12 * 4, 2 * 5 * 4, 3 * 25)
        yield case(d_model=d_model, n_heads=n_heads, n_groups=n_groups, n=n, want=want)


@exercise(
    "6.3",
    praise="Many heads, grouped and multi-query layers, one head, the sizes of a small GPT-2.",
    hints=(
        "How wide is one head? How many columns have the queries of all heads, how many the keys?",
        "Queries and the output have matrices of d_model columns; keys and values of G · d_k.",
        "Keys and values of a word are 2 · G · d_k numbers; each head has n · n weights.",
    ),
    cases=_bills,
    kind=Several(
        names=("number of parameters", "size of the cache", "number of weights"), scalars=True
    ),
    slips="""
        2 * d_model * (d_model + kept) → 4 * d_model * d_model
            Keys and values are shared: their matrices have G · d_k columns.
        2 * d_model * (d_model + kept) → d_model * (d_model + 2 * kept)
            There are four matrices; that of the output was forgotten.
        2 * d_model * (d_model + kept) → 2 * (d_model + 1) * (d_model + kept)
            Biases were counted; the layer has none.
        d_model + kept → kept + kept
            Queries and output have columns for every head; only keys and values are shared.
        // n_heads →
        d_model + kept → n_heads * d_model + kept
            A head is d_model / H wide; the heads share the width.
        n_groups // n_heads → (n_heads // n_groups) // n_heads
            You took H/G tables of keys; their number is `n_groups`.
        2 * n * kept → n * kept
            The cache holds keys and values.
        2 * n * kept → 4 * n * kept
            Each word has one key and one value in a table; you count both twice.
        2 * n * kept → 2 * n * d_model
            What is shared is in the cache once, not once for each head.
        2 * n * kept, n_heads * n * n → n_heads * n * n, 2 * n * kept
            Cache and weights have changed places: parameters, cache, weights are asked for.
        n_heads * n * n → n_groups * n * n
            Every head has a table of weights, whoever shares its keys.
        n_heads * n * n → n * n
            That is one table of weights, and each head has its own.
        n_heads * n * n → n_heads * n * (n + 1) // 2
            Every word attends to every word, also to later ones: no half of the table is left out.
        n_heads * n * n → int(np.int64(n_heads * n * n).astype(np.int32))
            That many are more than 32 bits can count: numbers of the type int32 begin again.
        n_heads * n * n → n_heads * n
            A table of weights has a row and a column for each word.
        = (2 * d_model * (d_model + d_model * n_groups // n_heads) - d_model**2 + d_model *
        d_model * n_groups // n_heads, *bill(d_model, n_heads, n_groups, n)[1:])
            One of W_Q and W_O was made for the groups; queries and outputs belong to all heads.
        = (bill(d_model, n_heads, n_groups, n)[0], bill(d_model, n_heads, n_groups, n)[1] + n *
        d_model, n_heads * n * n)
            Queries were kept as well; nobody asks them again.
    """,
    otherwise="Parameters are in matrices, keys and values in the cache, weights between words.",
)
def bill(d_model: int, n_heads: int, n_groups: int, n: int) -> tuple[int, int, int]:
    """Parameters, cache and weights of a layer."""
    kept = d_model * n_groups // n_heads
    return 2 * d_model * (d_model + kept), 2 * n * kept, n_heads * n * n


Head = list[np.ndarray]


def _head(seed: int, d: int = 3, d_k: int = 2, d_v: int = 2) -> Head:
    shapes = ((d, d_k), (d, d_k), (d, d_v), (d_v, d))
    return [np.random.default_rng(10 * seed + i).standard_normal(s) for i, s in enumerate(shapes)]


def _pairs_of_heads() -> Iterator[Case]:
    turn = np.array([[2.0, 1], [1, 1]])
    back = np.linalg.inv(turn)
    w_q, w_k, w_v, w_o = one = _head(1)
    two, nothing = _head(2), np.zeros_like(w_v)
    twice = [np.concatenate([w, w], axis=1) for w in (w_q, w_k)]
    wider = [twice[0] / 2**0.5, twice[1], w_v, w_o]
    turned = [w_q @ turn, w_k @ back.T, w_v @ turn, back @ w_o]
    moved = [w_q[:, ::-1], w_k[:, ::-1], w_v[:, ::-1], w_o[::-1]]
    for said, other, want, why in (
        ("the same head", one, True, "They are one and the same."),
        ("a random one", two, False, "Nothing in them agrees."),
        ("2 W_Q and W_K/2", [2 * w_q, w_k / 2, w_v, w_o], True, "The factors cancel."),
        ("all four matrices with other signs", [-w_q, -w_k, -w_v, -w_o], True, "Signs cancel."),
        ("−W_Q", [-w_q, w_k, w_v, w_o], False, "All scores have changed their signs."),
        ("columns mixed and unmixed", turned, True, "The products of both pairs are the same."),
        (
            "the columns of W_Q and W_K mixed alike",
            [w_q @ turn, w_k @ turn, w_v, w_o],
            False,
            "That changes their product.",
        ),
        ("W_Q and W_K exchanged", [w_k, w_q, w_v, w_o], False, "Who asks and who is asked differ."),
        ("2 W_V", [w_q, w_k, 2 * w_v, w_o], False, "It brings twice as much."),
        (
            "its columns twice, and W_Q divided by √2",
            wider,
            True,
            "Sums are doubled, then divided by √2, and by √2 more in the scale.",
        ),
        (
            "its columns twice",
            [*twice, w_v, w_o],
            False,
            "Sums are doubled, the scale is not halved.",
        ),
        (
            "columns in another order",
            moved,
            True,
            "Columns that meet in a sum have moved together.",
        ),
        (
            "the columns of W_Q alone in another order",
            [w_q[:, ::-1], w_k, w_v, w_o],
            False,
            "Columns meet others than before.",
        ),
    ):
        yield case(one=one, other=other, want=want, why=why, said=f"a random head and {said}")
    dark = [np.array([[1.0, 0], [2, 0], [3, 0]]), np.array([[0.0, 0, 0], [1, 2, 3]])]
    plain, other = [np.zeros((3, 1)), np.ones((3, 1))], [np.ones((3, 1)), np.zeros((3, 1))]
    silent = "Both bring nothing, so it does not matter where they look."
    for said, first, second, want, why in (
        (
            "other heads, W_V zero in one and W_O in the other",
            [w_q, w_k, nothing, w_o],
            [*two[:2], w_v, 0 * w_o],
            True,
            silent,
        ),
        (
            "a head whose W_V W_O is zero and another with W_V zero",
            [w_q, w_k, *dark],
            [*two[:2], nothing, w_o],
            True,
            silent,
        ),
        (
            "a head with W_V zero and the same with W_V",
            [w_q, w_k, nothing, w_o],
            one,
            False,
            "One of them brings nothing.",
        ),
        (
            "a head with W_Q zero and one with W_K zero",
            [*plain, w_v, w_o],
            [*other, w_v, w_o],
            True,
            "In both all scores are 0.",
        ),
    ):
        yield case(one=first, other=second, want=want, why=why, said=said)
    yield from _near_misses(one)


def _near_misses(one: Head) -> Iterator[Case]:
    """Yield pairs that a hasty comparison takes for equal, or for different."""
    w_q, w_k, w_v, w_o = one
    small, d = [0.04 * w for w in one], len(w_q)
    entry, moved = w_q.copy(), w_o.copy()
    entry[0, 1] += 1
    moved[1, :2] += 1, -1
    tilted = [np.append(w_q, w_q[:, :1], axis=1), np.append(w_k, np.ones((d, 1)), axis=1)]
    tilted[0] = tilted[0] * 1.5**0.5
    wide = [np.pad(w_v, ((0, 0), (0, 2))), np.pad(w_o, ((0, 2), (0, 0)))]
    flat = [np.zeros_like(w_q), w_k]
    ends = [np.array([[1.0], [1]]), np.array([[1.0, 2]])]
    to, back = np.array([[1.0, 1], [1, -1], [0, 1]]), np.array([[1.0, 2, 0], [1, 2, 3]])
    turn = np.array([[np.cos(0.7), -np.sin(0.7)], [np.sin(0.7), np.cos(0.7)]])
    level, nearly = np.array([[0.3, 2, 0], [0.3, 2, 3]]), np.array([[0.1 + 0.2, 2, 0], [0.3, 2, 3]])
    rounding = "Where a product is 0, rounding leaves 10⁻¹⁷: compare beside the largest numbers."
    first, second = np.array([[1.0], [0]]), np.array([[0.0], [1]])
    for said, a, b, want, why in (
        ("the same with another number in W_Q", [entry, *one[1:]], one, False, "One entry counts."),
        ("the same with two numbers moved in W_O", one, [*one[:3], moved], False, "Entries count."),
        (
            "2 W_Q and W_V/2",
            one,
            [2 * w_q, w_k, w_v / 2, w_o],
            False,
            "It looks more sharply and brings half as much: the two do not cancel.",
        ),
        (
            "−W_V, in both of which W_Q is zero",
            [*flat, w_v, w_o],
            [*flat, -w_v, w_o],
            False,
            "Both attend to all words alike, and bring the opposite.",
        ),
        (
            "W_V and W_O filled up with zeros",
            one,
            [w_q, w_k, *wide],
            True,
            "The values are wider, and their product with W_O is the same.",
        ),
        (
            "W_Q and W_K filled up with zeros",
            one,
            [np.pad(w_q, ((0, 0), (0, 2))), np.pad(w_k, ((0, 0), (0, 2))), w_v, w_o],
            False,
            "The product is the same, and is divided by a larger root.",
        ),
        (
            "a column more in W_Q and ones in W_K",
            one,
            [*tilted, w_v, w_o],
            False,
            "Scores differ by the sum of the numbers of the key's row.",
        ),
        (
            "the same with all its matrices turned, whose products have zeros",
            [to, back.T, to, back],
            [to @ turn, back.T @ turn, to @ turn, turn.T @ back],
            True,
            rounding,
        ),
        (
            "the same with 0.1 + 0.2 for a 0.3 of W_O, of which a product takes 0.3",
            [to, back.T, to, level],
            [to, back.T, to, nearly],
            True,
            rounding,
        ),
        (
            "another W_K, where W_V sees sums only",
            [first, first, *ends],
            [first, second, *ends],
            False,
            "They read different numbers of the key's row.",
        ),
        (
            "−W_V, all numbers being small",
            small,
            [small[0], small[1], -small[2], small[3]],
            False,
            "What they bring is small, and opposite.",
        ),
        (
            "−W_Q, all numbers but those of W_V being small",
            [small[0], small[1], w_v, w_o],
            [-small[0], small[1], w_v, w_o],
            False,
            "Where they look differs little, and by its sign.",
        ),
    ):
        yield case(one=a, other=b, want=want, why=why, said=f"a head and {said}")


Circuits = tuple[np.ndarray, np.ndarray]


def _circuits(head: Head, scaled: bool = True) -> Circuits:
    w_q, w_k, w_v, w_o = head
    return w_q @ w_k.T / (w_q.shape[1] ** 0.5 if scaled else 1.0), w_v @ w_o


def _on(x: np.ndarray, one: Head, other: Head) -> bool:
    """Tell whether two heads add the same to one sentence."""
    first, second = (reference.attention(x @ q, x @ k, x @ v) @ o for q, k, v, o in (one, other))
    return bool(np.allclose(first, second))


def _all_four(one: Head, other: Head) -> bool:
    return all(a.shape == b.shape and np.allclose(a, b) for a, b in zip(one, other, strict=True))


@exercise(
    "6.5",
    praise="Heads with factors, signs, turns and columns exchanged, of other widths, and heads "
    "that bring nothing.",
    hints=(
        "On which products of the four matrices does a head's output depend?",
        "Compare where they attend, with the scale, and what they write. Widths may differ.",
        "A head that writes nothing is the same as any other that writes nothing.",
    ),
    cases=_pairs_of_heads,
    kind=Marks(),
    slips="""
        = _all_four(one, other)
            Different matrices can make the same head; it is products that count.
        = one[0].shape == other[0].shape and same_head(one, other)
            Heads with keys of different widths may be the same.
        = one[2].shape == other[2].shape and same_head(one, other)
            Heads with values of different widths may be the same.
        (np.allclose(u, 0) or np.allclose(m, m_other)) → np.allclose(m, m_other)
            A head that brings nothing is the same as another that brings nothing.
        np.allclose(u, u_other) and (np.allclose(u, 0) or → (
            Where a head looks is compared, and what it brings is not.
        and (np.allclose(u, 0) or np.allclose(m, m_other)) →
            What a head brings is compared, and where it looks is not.
        _circuits(one), _circuits(other) → _circuits(one, False), _circuits(other, False)
            The width of the keys was left out: each head divides by the root of its own.
        _circuits(one), _circuits(other) → _circuits(one, False), _circuits(other, False)
        (np.allclose(u, 0) or np.allclose(m, m_other)) → np.allclose(m, m_other)
            Heads that bring nothing are told apart, and the widths of keys are left out.
        or np.allclose(m, m_other) → $ or np.allclose(m, m_other.T)
            A head looks in one direction: who asks and who is asked differ.
        = bool(np.allclose(np.matmul(*_circuits(one)), np.matmul(*_circuits(other))))
            You compared the product of all four matrices. It says neither where a head looks nor
            what it brings.
        np.allclose(u, u_other) → (u == u_other).all()
        np.allclose(u, 0) or np.allclose(m, m_other) → (u == 0).all() or (m == m_other).all()
            The products of other matrices differ in their last digits: allow for rounding.
        np.allclose(u, u_other) → np.allclose(u, u_other, atol=1e-2)
        np.allclose(u, 0) → np.allclose(u, 0, atol=1e-2)
        np.allclose(m, m_other) → np.allclose(m, m_other, atol=1e-2)
            The comparison is too coarse: a head may have small numbers.
        np.allclose(u, u_other) → np.allclose(np.linalg.norm(u), np.linalg.norm(u_other))
        np.allclose(m, m_other) → np.allclose(np.linalg.norm(m), np.linalg.norm(m_other))
            You compared the lengths of matrices, and these may differ in every entry.
        np.allclose(u, u_other) → np.allclose(u.sum(), u_other.sum())
        np.allclose(m, m_other) → np.allclose(m.sum(), m_other.sum())
            You compared the sums of matrices, and these may differ in every entry.
        = _on(np.eye(len(one[0])), one, other)
            You tried the sentence of unit vectors only; there the numbers of every row add up to 1.
    """,
    otherwise="Compare where the heads look and what they bring.",
)
def same_head(one: Head, other: Head) -> bool:
    """Whether two heads are the same function."""
    (m, u), (m_other, u_other) = _circuits(one), _circuits(other)
    return bool(np.allclose(u, u_other) and (np.allclose(u, 0) or np.allclose(m, m_other)))


def _tables_of_keys() -> Iterator[Case]:
    w_q = np.array([[[1.0], [0]], [[0], [2]]])
    yield case(w_q=w_q, w_k=np.array([[[1.0], [3]], [[2], [-1]]]))
    for seed, shape in enumerate(((1, 2, 2), (3, 2, 1), (2, 4, 2), (4, 3, 2), (2, 2, 5))):
        yield case(w_q=integers(seed, shape), w_k=integers(seed + 30, shape), whole=seed == 2)
    yield case(w_q=integers(8, (3, 2, 2)), w_k=integers(9, (3, 2, 2)), whole=True)


def _scores(w_q: np.ndarray, w_k: np.ndarray) -> np.ndarray:
    return np.asarray(w_q @ w_k.T / w_q.shape[-1] ** 0.5)


@exercise(
    "6.8",
    praise="One head, many heads, keys wider than the rows, whole numbers: every score as before.",
    hints=(
        "Put the heads' key matrices side by side. Which part of a key concerns head h?",
        "Part h. The query of head h should be zero everywhere else.",
        "The new width is H times the old one, so the scores are divided by a larger root.",
    ),
    cases=_tables_of_keys,
    kind=Several(names=("w_q", "w_k"), by=_scores, called="the table of your scores, M/√width"),
    slips="""
        n_heads**0.5 * w_q → w_q
            The scores are too small by √H: the new layer divides by the root of a larger width.
        n_heads**0.5 → n_heads**-0.5
            The scores are too small by H; you divided where you should multiply.
        n_heads**0.5 → n_heads
            The scores are too large by √H: the root of the ratio of the widths is enough.
        n_heads**0.5 → d_k**0.5
            The factor is the root of d_k; keys have become H times as wide.
        np.concatenate(list(w_k), axis=-1) → np.moveaxis(w_k, 0, -1).reshape(d, -1)
            The columns of the keys are dealt out in turn, and those of the queries are not.
        np.concatenate(list(w_k), axis=-1) → w_k.reshape(d, -1)
            A reshape deals out whole rows of the keys' matrices; they should stand side by side.
        list(w_k) → [w_k[0]] * n_heads
            All parts of the key are those of the first head.
        list(w_k) → [w_k.mean(axis=0)] * n_heads
            The keys of the heads were averaged, and each head needs its own.
        list(w_k) → list(w_k[::-1])
            The blocks of the keys stand in reverse order.
        wide.reshape(n_heads, d, -1) → np.tile(w_q, n_heads) * n_heads**0.5
            Every query meets all parts of the key; the scores of all heads were added up.
        wide.reshape(n_heads, d, -1) → np.tile(np.concatenate(list(w_q), axis=-1), (n_heads, 1, 1))
            All heads have the same wide query, which asks for every part of the key.
        = (np.stack([np.concatenate(list(w_q), axis=-1) * len(w_q) ** 0.5] * len(w_q)),
        one_key(w_q, w_k)[1])
            Every head asks with the queries of all heads; a head has zeros beside its own.
        = (np.concatenate([w_q] * len(w_q), axis=-1), one_key(w_q, w_k)[1])
            A head's query meets the keys of all heads; beside its own part it should be 0.
        = (one_key(w_q, w_k)[0] / len(w_q) ** 0.25, one_key(w_q, w_k)[1])
            You made up for the fourth root of H; the scores are divided by √H more than before.
    """,
    otherwise="Head h should see its own part of the key, and scores as large as before.",
)
def one_key(w_q: np.ndarray, w_k: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Matrices of a multi-query layer with the same scores."""
    n_heads, d, d_k = w_q.shape
    wide = np.zeros((n_heads, d, n_heads, d_k))
    wide[np.arange(n_heads), :, np.arange(n_heads)] = n_heads**0.5 * w_q
    return wide.reshape(n_heads, d, -1), np.concatenate(list(w_k), axis=-1)
