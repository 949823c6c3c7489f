"""Exercises 16.7 and 16.8: a table that fades, and two texts with one state."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from tformer import reference
from tformer_book.exercises.answer import Answer, Raised, Wrong
from tformer_book.exercises.compare import rounding
from tformer_book.exercises.describe import show
from tformer_book.exercises.kinds import Several
from tformer_book.exercises.promises import promised, single, whole
from tformer_book.exercises.registry import exercise
from tformer_book.exercises.table import Case, case

Array = np.ndarray


# ---- 16.7 ---------------------------------------------------------------------------------


def _fading() -> Iterator[Case]:
    nothing: dict[str, Any] = {"state": np.zeros((2, 1)), "total": np.zeros(2)}
    q, k, v = np.array([[1.0, 1], [1, 2]]), np.array([[2.0, 1], [1, 3]]), np.array([[4.0], [6]])
    why = (
        "After word 0 the state is (8, 4). It fades to (4, 2), and word 1 adds (6, 18); likewise "
        "the total (2, 1) becomes (1, 0.5) + (1, 3)."
    )
    want: Any = ([[4.0], [50 / 9]], [[10.0], [20]], [2, 3.5])
    yield case(q=q, k=k, v=v, gamma=0.5, **nothing, want=want, why=why)
    why = "The text before had the state (8, 4) and the total (2, 1): as if word 0 were read."
    want = ([[50 / 9]], [[10.0], [20]], [2, 3.5])
    old: dict[str, Any] = {"state": np.array([[8.0], [4]]), "total": np.array([2.0, 1])}
    yield case(q=q[1:], k=k[1:], v=v[1:], gamma=0.5, **old, want=want, why=why)
    why = "With γ = 0 each word sees itself alone."
    want = ([[4.0], [6]], [[6.0], [18]], [1, 3])
    yield case(q=q, k=k, v=v, gamma=0.0, **old, want=want, why=why)
    why = "With γ = 1 nothing fades: the totals are (2, 1) and (3, 4)."
    want = ([[4.0], [58 / 11]], [[14.0], [22]], [3, 4])
    yield case(q=q, k=k, v=v, gamma=1.0, **nothing, want=want, why=why)
    for seed, (T, d, d_v) in enumerate(((3, 2, 4), (6, 3, 2), (20, 4, 3), (1, 1, 1))):
        rng = np.random.default_rng(seed)
        q, k = reference.elu_feature_map(rng.normal(size=(2, T, d)))
        v, state, total = rng.normal(size=(T, d_v)), rng.normal(size=(d, d_v)), rng.random(d) + 1
        for gamma in (0.9, 0.25, 0.0, 1.0):
            yield case(q=q, k=k, v=v, gamma=gamma, state=state, total=total)
        y, state, total = reference.recurrent_linear_attention(
            np.log(np.minimum(q, 1)), np.log(np.minimum(k, 1)), v
        )
        q, k = np.minimum(q, 1), np.minimum(k, 1)
        began: dict[str, Any] = {"state": np.zeros((d, d_v)), "total": np.zeros(d)}
        yield case(q=q, k=k, v=v, gamma=1.0, **began, want=(y, state, total), why="Nothing fades.")
    rng = np.random.default_rng(9)
    q, k = np.exp(rng.uniform(np.log(0.01), np.log(100), (2, 2000, 3)))
    far: dict[str, Any] = {"q": q, "k": k, "v": rng.normal(size=(2000, 2))}
    for gamma in (0.3, 0.999):
        why = f"After 2000 words the first has the factor {gamma}^1999."
        yield case(**far, gamma=gamma, state=np.ones((3, 2)), total=np.ones(3), why=why)
    q, k, v = q[:4, :2], k[:4, :2], far["v"][:4]
    yield from promised(
        single, q=q, k=k, v=v, gamma=0.5, state=np.ones((2, 2)), total=np.array([1.0, 2])
    )
    none: dict[str, Any] = {"q": np.zeros((0, 2)), "k": np.zeros((0, 2)), "v": np.zeros((0, 1))}
    want = (np.zeros((0, 1)), old["state"], old["total"])
    yield case(**none, gamma=0.5, **old, want=want, why="No word comes, and nothing fades.")
    q, k, v = np.array([[1.0, 1], [1, 2]]), np.array([[2.0, 1], [1, 3]]), np.array([[4.0], [6]])
    old = {"state": np.array([[7.0], [5]]), "total": np.array([2.0, 1])}
    yield from promised(whole, q=q, k=k, v=v, gamma=0.5, **old)


Three = tuple[Array, Array, Array]


def _by_powers(q: Array, k: Array, v: Array, gamma: float, state: Array, total: Array) -> Three:
    """All sums at once, by dividing through powers of γ."""
    power = gamma ** np.arange(1, len(q) + 1)
    states = (state + np.cumsum(k[:, :, None] * v[:, None] / power[:, None, None], axis=0)) * power[
        :, None, None
    ]
    totals = (total + np.cumsum(k / power[:, None], axis=0)) * power[:, None]
    rows = (q[:, :, None] * states).sum(axis=1) / (q * totals).sum(axis=1, keepdims=True)
    return rows, states[-1] if len(q) else state, totals[-1] if len(q) else total


def _by_logarithms(q: Array, k: Array, v: Array, gamma: float, state: Array, total: Array) -> Three:
    """Each power of γ as an exponential."""
    rows, log = np.zeros((len(q), v.shape[1])), np.log(gamma)
    for t in range(len(q)):
        weights = np.exp(log * (t - np.arange(t + 1))) * (k[: t + 1] @ q[t])
        older = np.exp(log * (t + 1))
        below = weights.sum() + older * (q[t] @ total)
        rows[t] = (weights @ v[: t + 1] + older * (q[t] @ state)) / below
    fade, older = np.exp(log * np.arange(len(q))[::-1, None]), np.exp(log * len(q))
    return rows, older * state + (fade * k).T @ v, older * total + (fade * k).sum(axis=0)


def _before(q: Array, k: Array, v: Array, gamma: float, state: Array, total: Array) -> Three:
    """Each word asks before its own pair is added."""
    rows = np.zeros((len(q), v.shape[1]))
    for t in range(len(q)):
        rows[t] = q[t] @ state / (q[t] @ total)
        state = gamma * state + np.outer(k[t], v[t])
        total = gamma * total + k[t]
    return rows, state, total


def _features_again(
    q: Array, k: Array, v: Array, gamma: float, state: Array, total: Array
) -> Three:
    q, k = reference.elu_feature_map(q), reference.elu_feature_map(k)
    return faded(q, k, v, gamma, state, total)


def _unfaded_rows(q: Array, k: Array, v: Array, gamma: float, state: Array, total: Array) -> Three:
    """The state before counts whole in each row."""
    rows, old, before = np.zeros((len(q), v.shape[1])), 0 * state, 0 * total
    for t in range(len(q)):
        old, before = gamma * old + np.outer(k[t], v[t]), gamma * before + k[t]
        rows[t] = q[t] @ (state + old) / (q[t] @ (total + before))
    return rows, *faded(q, k, v, gamma, state, total)[1:]


def _once(q: Array, k: Array, v: Array, gamma: float, state: Array, total: Array) -> Three:
    """The old state fades once for all words."""
    return faded(q, k, v, 1.0, gamma * state, gamma * total)


@exercise(
    "16.7",
    praise="From the beginning and after a text, with γ of 0, of 1 and between, no word and "
    "thousands of them.",
    hints=(
        "When one more word comes, by which factor does the part of every older word change?",
        "By γ, for all of them alike: so the whole state and the whole total fade by γ, and then "
        "the new pair is added.",
        "The word itself counts in its own row, n = 0 places back. So first fade, then add, then "
        "ask: q R / (q · z).",
    ),
    cases=_fading,
    kind=Several(names=("array of rows", "state", "total")),
    mutants={
        "You divided by powers of γ, which become 0 after many words; γ itself may be 0 too.": (
            _by_powers
        ),
        "You took powers of γ as exponentials of n times its logarithm. γ may be 0: then the "
        "logarithm is −∞, and 0 · ∞ is nan.": _by_logarithms,
        "You asked before the new pair was added; a word counts in its own row too. Where nothing "
        "came before, that is 0/0.": _before,
        "You took φ of queries and keys once more; they are features already.": _features_again,
        "What was kept counts whole in your rows; it fades by γ with each new word.": _unfaded_rows,
        "What was kept fades with each word that comes, and not once.": _once,
    },
    slips="""
        gamma * state + np.outer(k[t], v[t]) → state + np.outer(k[t], v[t])
        gamma * total + k[t] → total + k[t]
            Nothing fades: γ has no effect.
        gamma * state + np.outer(k[t], v[t]) → gamma * (state + np.outer(k[t], v[t]))
        gamma * total + k[t] → gamma * (total + k[t])
            The new pair fades too; a word is 0 places behind itself, and counts γ⁰ = 1 times.
        gamma * state + np.outer(k[t], v[t]) → gamma * state + (1 - gamma) * np.outer(k[t], v[t])
        gamma * total + k[t] → gamma * total + (1 - gamma) * k[t]
            The new pair is multiplied by 1 − γ; in this sum it counts once.
        gamma * total + k[t] → total + k[t]
            The total does not fade. Below the line older words count γⁿ times too.
        gamma * state + np.outer(k[t], v[t]) → state + np.outer(k[t], v[t])
            The state does not fade. Above the line older words count γⁿ times too.
        gamma * state + np.outer(k[t], v[t]) → state + gamma * np.outer(k[t], v[t])
        gamma * total + k[t] → total + gamma * k[t]
            γ stands at the new pair, and belongs to what is older.
        gamma * state + np.outer(k[t], v[t]) → gamma**2 * state + np.outer(k[t], v[t])
        gamma * total + k[t] → gamma**2 * total + k[t]
            A word that stands n places back counts γ²ⁿ times; γ is multiplied twice.
        gamma * state + np.outer(k[t], v[t]) → np.exp(-gamma) * state + np.outer(k[t], v[t])
        gamma * total + k[t] → np.exp(-gamma) * total + k[t]
            The factor of one place is γ itself, and not e^−γ.
        = (lambda r, *kept: (r, *(gamma * x for x in kept)))(*faded(q, k, v, gamma, state, total))
            State and total came back faded once more than your rows needed: the last word stands 0
            places behind itself.
        = (faded(q, k, v, gamma, 0 * state, 0 * total)[0], *faded(q, k, v, gamma, state, total)[1:])
            Your rows leave out the words before, which state and total bring along.
        gamma * state + np.outer(k[t], v[t]) → (gamma if t else 1) * state + np.outer(k[t], v[t])
        gamma * total + k[t] → (gamma if t else 1) * total + k[t]
        return rows, state, total → return rows, gamma * state, gamma * total
            You fade after each word, for the next one. What was kept stands at its last word, and
            fades before the first new one; and so should what you return.
        rows = np.zeros((len(q), v.shape[1])) → $ ; state, total = 0 * state, 0 * total
            You began with empty sums: the words before count as well.
        = (*faded(q, k, v, gamma, state, total)[:1], state, total)
            State and total came back as they were given; they are asked for after the words.
        q[t] @ state / (q[t] @ total) → q[t] @ state
            The rows are not divided by the sum of their weights.
        q[t] @ state / (q[t] @ total) → q[t] @ state / total.sum()
            You divided by the sum of the total; the query belongs to the sum below the line, q · z.
        q[t] @ state / (q[t] @ total) → q[t] @ state / (q[t] @ k[t])
            You divided by the weight of the newest word alone.
        q[t] @ state / (q[t] @ total) → q[t] @ state / (t + 1)
            You divided by the number of words; the weights do not add up to that.
        rows[t] = q[t] @ state / (q[t] @ total) → rows[t] = k[t] @ state / (k[t] @ total)
            You asked with the keys; the queries ask.
        gamma * state + np.outer(k[t], v[t]) → gamma**t * state + np.outer(k[t], v[t])
        gamma * total + k[t] → gamma**t * total + k[t]
            The sums fade by γ at each word, and not by γ^t: what fades is faded already.
        gamma * state + np.outer(k[t], v[t]) → (gamma if t else 1) * state + np.outer(k[t], v[t])
        gamma * total + k[t] → (gamma if t else 1) * total + k[t]
            What was kept does not fade at the first new word; it stands one place farther back.
        np.outer(k[t], v[t]) → np.outer(q[t], v[t])
            You stored values by queries; they are stored by keys.
    """,
    otherwise="Fade state and total, add the new pair, and ask.",
)
def faded(q: Array, k: Array, v: Array, gamma: float, state: Array, total: Array) -> Three:
    """Rows, state and total after more words."""
    rows = np.zeros((len(q), v.shape[1]))
    for t in range(len(q)):
        state = gamma * state + np.outer(k[t], v[t])
        total = gamma * total + k[t]
        rows[t] = q[t] @ state / (q[t] @ total)
    return rows, state, total


# ---- 16.8 ---------------------------------------------------------------------------------

LEAST, MOST = 1.0, 100.0
"""By how much one number has to differ, and each may at most."""
ALLOWED = 1e-6
"""Difference of two states that passes for rounding."""

_SAME = "The values are the same; other ones are asked for."
_FEW = "At least one number has to differ by 1 or more."
_MANY = "A change that leaves the state may be multiplied by any number; choose a smaller one."
_MOVED = "Values were exchanged and keys were not; R changes unless a pair moves as a whole."
_SHIFT = "The values of a column were raised by one number, and R grows by that number times z."
_SUMS = "The values have the same sum as before; R weighs each with the features of its key."
_SOME = "One row of R is right and another is not: the change has to vanish for each feature."
_ZERO = "Your values by themselves leave the state 0: that is what a change should leave."
_EQUAL = "Keys may be equal, and features proportional; then d of the keys span less than d."
_COARSE = "That is nearly the same state. Do numbers pass through a type of few digits?"
_REST = "The change of the values is seen by the state."
_WHOLE = "The same numbers as floats come out right: an array of integers cuts off the fractions."


SIZES = ((5, 4, 3), (17, 16, 16), (30, 4, 2), (300, 16, 3), (9, 1, 1))


def _texts() -> Iterator[tuple[str, Array, Array]]:
    yield "k = [[1], [2]] and v = [[3], [5]]", np.array([[1.0], [2]]), np.array([[3.0], [5]])
    k, v = np.array([[1.0, 2], [2, 1], [3, 3]]), np.array([[1.0, 0], [0, 2], [4, 1]])
    yield "k = [[1, 2], [2, 1], [3, 3]] and v = [[1, 0], [0, 2], [4, 1]]", k, v
    k, v = np.array([[1.0, 2], [1, 2], [3, 1]]), np.array([[1.0], [7], [4]])
    yield "k = [[1, 2], [1, 2], [3, 1]] and v = [[1], [7], [4]]", k, v
    k = np.array([[1.0, 2], [3, 1], [1, 2]])
    yield "k = [[1, 2], [3, 1], [1, 2]] and v = 0 everywhere", k, np.zeros((3, 2))
    k = np.array([[1.0, 2, 2], [2, 4, 1], [3, 6, 5], [1, 2, 7], [2, 4, 3]])
    yield "keys with proportional columns", k, np.arange(10.0).reshape(5, 2) - 5
    yield "four equal keys", np.full((4, 3), 2.0), np.array([[1.0], [-2], [3], [10]])
    for seed, (n, d, d_v) in enumerate(SIZES):
        rng = np.random.default_rng(seed)
        k = np.exp(rng.uniform(np.log(0.01), np.log(10), (n, d)))
        said = f"{n} random keys of width {d} and values of width {d_v}"
        yield said, k, rng.uniform(-10, 10, (n, d_v))
    rng = np.random.default_rng(7)
    k = rng.uniform(0.01, 10, (300, 299))
    yield "300 random keys of width 299 and one value each", k, rng.uniform(-10, 10, (300, 1))
    far, near = [[10.0], [0.01]], [[10.0, 0.01], [0.01, 10], [0.01, 0.01]]
    for keys in (far, far[::-1], near, near[::-1]):
        k = np.array(keys)
        yield f"k = {keys} and v = 0 everywhere", k, np.zeros((len(k), 1))
    k = rng.uniform(1, 2, (8, 3))
    yield "8 keys, and values that a table gives back", k, k @ np.array([[1.0], [-2], [1]])


def _of_integers() -> Iterator[tuple[str, Array, Array]]:
    k, v = np.array([[1, 2], [2, 1], [3, 3]]), np.array([[1, 0], [0, 2], [4, 1]])
    yield "k and v of integers", k, v
    yield "k = [[1, 2], [2, 1], [3, 3]], of integers, and v of fractions", k, v / 4
    yield "k of fractions and v = [[1, 0], [0, 2], [4, 1]], of integers", k / 4, v


def _unseen(k: Array) -> Array:
    change: Array = np.linalg.svd(k.T)[2][-1]
    return change[:, None] / np.abs(change).max()


def _unlike_one(k: Array, v: Array) -> Array:
    change = np.zeros_like(v)
    change[0], change[1] = k[1, 0], -k[0, 0]
    return v + change / np.abs(change).max()


def _two_up_and_down(k: Array, v: Array) -> Array:
    change = np.zeros_like(v)
    change[0], change[1] = 1, -1
    return v + change


@exercise(
    "16.8",
    praise="Two keys and three hundred, equal keys, a table that is nearly full, and values of 0.",
    hints=(
        "Write the state as a product of two matrices. What has to be 0 if the values change?",
        "kᵀ times the change has to be 0. kᵀ has n columns and d rows, and n is larger than d.",
        "Such a vector always exists: `np.linalg.svd(k.T)` has one in the last row of its third "
        "result. Divide it by its largest magnitude, and add it to the values.",
    ),
    mutants={
        _SAME: lambda k, v: v.copy(),
        _FEW: lambda k, v: v + 0.01 * _unseen(k),
        _MANY: lambda k, v: v + 1000 * _unseen(k),
        _MOVED: lambda k, v: v[::-1].copy(),
        _SHIFT: lambda k, v: v + 1,
        _SUMS: _two_up_and_down,
        _SOME: _unlike_one,
        _ZERO: lambda k, v: np.repeat(_unseen(k), v.shape[1], axis=1),
        _COARSE: lambda k, v: v + _unseen(k).astype(np.float32) + 1e-5 * k[:, :1],
        _REST: lambda k, v: v + np.arange(len(v))[:, None],
    },
)
def twin(f: Answer) -> None:
    """Other values that leave the same state."""
    for said, k, v in _texts():
        _tried(f, said, k, v)
    for said, k, v in _of_integers():
        _tried(f, said, k.astype(float), v.astype(float))
        try:
            _tried(f, said, k, v)
        except Wrong as wrong:
            raise Wrong(f"{wrong} {_WHOLE}") from None


def _tried(f: Answer, said: str, k: Array, v: Array) -> None:
    try:
        got = f.numbers(f.raw(said, k=k, v=v).value, said)
    except Raised as raised:
        raise Wrong(f"{raised} {_EQUAL}" if "ingular" in str(raised) else str(raised)) from None
    w, digits = got.astype(float), rounding(got)
    head = f"With {said}, {f.name} returns"
    if w.shape != v.shape:
        raise Wrong(f"{head} an array of shape {w.shape}; it should be {v.shape}.")
    if not np.isfinite(w).all():
        raise Wrong(f"{head} numbers that are not finite.")
    differs = np.abs(w - v).max()
    if not differs:
        raise Wrong(f"{head} {_show(w)}. {_SAME}")
    allowed = digits * np.abs(w).max() + ALLOWED
    if differs > MOST + allowed:
        raise Wrong(
            f"{head} a number that differs by {show(differs)}; {MOST:g} is the most. {_MANY}"
        )
    _judge(k, v, w, head, ALLOWED + digits * (k.T @ np.abs(w)).max())
    if differs < LEAST - allowed:
        raise Wrong(f"{head} values that differ by {show(differs)} at most. {_FEW}")


def _judge(k: Array, v: Array, w: Array, head: str, allowed: float) -> None:
    """Compare the states, and say what the change looks like if they differ."""
    ours, theirs, change = k.T @ v, k.T @ w, w - v
    wrong = np.abs(theirs - ours) > allowed
    if not wrong.any():
        return
    i, j = np.argwhere(wrong)[0].tolist()
    text = (
        f"{head} {_show(w)}, and entry [{i}, {j}] of their state is {show(theirs[i, j])}; with v "
        f"it is {show(ours[i, j])}."
    )
    if (np.abs(theirs - ours) < 1e-4 * (k.T @ np.abs(w)).max()).all():
        text = (
            f"{head} {_show(w)}, and entry [{i}, {j}] of their state differs by "
            f"{show(theirs[i, j] - ours[i, j], 2)} from what it is with v."
        )
        why = _COARSE
    elif np.linalg.matrix_rank(k[: k.shape[1]]) < k.shape[1]:
        why = _EQUAL  # whatever is wrong in general went wrong at the first keys
    elif (np.abs(theirs) <= allowed).all():
        why = _ZERO
    elif np.allclose(np.sort(w, axis=0), np.sort(v, axis=0)):
        why = _MOVED
    elif np.allclose(change, change[:1]):
        why = _SHIFT
    elif np.allclose(change.sum(axis=0), 0):
        why = _SUMS
    elif not wrong.any(axis=1).all():
        why = _SOME
    else:
        why = (
            f"{_REST} Its column {j}, each number times feature {i} of its key, adds up to "
            f"{show(theirs[i, j] - ours[i, j])} and not to 0."
        )
    raise Wrong(f"{text} {why}")


def _show(w: Array) -> str:
    return show(w) if w.size <= 8 else "values"
