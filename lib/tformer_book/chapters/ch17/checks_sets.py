"""Exercise 17.8: heads that stand in for each other."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import combinations
from typing import Any

import numpy as np

from tformer_book.exercises.answer import Wrong
from tformer_book.exercises.kinds import Several
from tformer_book.exercises.registry import exercise
from tformer_book.exercises.table import Case, case

Array = np.ndarray
Loss = Callable[[Array], float]


def _loss(n: int, table: dict[tuple[int, ...], float]) -> Loss:
    """A loss from a table of sets, which listens to masks of n heads only."""

    def loss(off: Any) -> float:
        off = np.asarray(off)
        if off.dtype.kind != "b" or off.shape != (n,):
            raise Wrong(
                f"The loss is asked with an array of {n} times True or False, one for each head; "
                f"it got an array of {off.dtype} of shape {off.shape}."
            )
        return table[tuple(np.flatnonzero(off).tolist())]

    return loss


def _sets(n: int) -> list[tuple[int, ...]]:
    return [heads for size in range(n + 1) for heads in combinations(range(n), size)]


def _additive(n: int, base: float, rises: list[float], extra: dict[Any, float]) -> Loss:
    """Each head adds its rise, and some sets that are contained add more."""
    table = {}
    for heads in _sets(n):
        more = sum(x for some, x in extra.items() if set(some) <= set(heads))
        table[heads] = base + sum(rises[h] for h in heads) + more
    return _loss(n, table)


def _models() -> Iterator[Case]:
    def given(loss: Loss, n: int, limit: float, said: str) -> dict[str, Any]:
        return {
            "loss": loss,
            "n": n,
            "limit": limit,
            "said": f"{said}, n = {n} and limit = {limit:g}",
        }

    def of(*heads: int, n: int) -> Array:
        return np.isin(np.arange(n), heads)

    said = "a loss of 2, of 6 if heads 0 and 2 are cut, and 0.1, 0.2, 0.3 more for each head"
    loss = _additive(3, 2.0, [0.1, 0.2, 0.3], {(0, 2): 4.0})
    why = "Alone no head takes it beyond 2.3; heads 0 and 2 together take it to 6.4."
    yield case(**given(loss, 3, 5.0, said), want=(2.3, of(0, 2, n=3)), why=why)
    loss = _loss(3, dict(zip(_sets(3), (2.0, 2.25, 2.125, 2.5, 3, 4, 3.5, 5), strict=True)))
    said = "losses of 2 (none cut), 2.25, 2.125, 2.5 (one), 3, 4, 3.5 (two), 5 (all)"
    why = "Head 2 alone takes it to 2.5, which is the limit."
    yield case(**given(loss, 3, 2.5, said), want=(2.5, of(2, n=3)), why=why)
    why = "Three pairs reach 2.75; heads 0 and 2 take it highest."
    yield case(**given(loss, 3, 2.75, said), want=(2.5, of(0, 2, n=3)), why=why)
    why = "All three have to be cut."
    yield case(**given(loss, 3, 4.5, said), want=(2.5, of(0, 1, 2, n=3)), why=why)
    why = "The limit is reached with nothing cut."
    yield case(**given(loss, 3, 2.0, said), want=(2.5, of(n=3)), why=why)
    yield case(**given(loss, 3, -1.0, said), want=(2.5, of(n=3)), why=why)
    why = "Heads 0 and 1 take it to 5; with head 2 as well it falls to 3."
    loss = _loss(3, dict(zip(_sets(3), (1.0, 1.5, 1.25, 0.5, 5, 2, 2.5, 3), strict=True)))
    said = "losses of 1 (none cut), 1.5, 1.25, 0.5 (one), 5, 2, 2.5 (two), 3 (all)"
    yield case(**given(loss, 3, 4.0, said), want=(1.5, of(0, 1, n=3)), why=why)
    why = "Heads 1 and 2 reach 2.5, and so do heads 0 and 1, with more."
    yield case(**given(loss, 3, 2.5, said), want=(1.5, of(0, 1, n=3)), why=why)
    why = "Each head alone makes the loss smaller."
    loss = _loss(2, dict(zip(_sets(2), (3.0, 2, 1, 4), strict=True)))
    said = "losses of 3 (none cut), 2, 1 (one), 4 (both)"
    yield case(**given(loss, 2, 3.5, said), want=(2.0, of(0, 1, n=2)), why=why)
    why = "There is one head, and it is needed."
    loss = _loss(1, {(): 1.0, (0,): 2.0})
    yield case(**given(loss, 1, 1.5, "losses of 1 and 2"), want=(2.0, of(0, n=1)), why=why)
    why = "There is one head, and cutting it helps."
    loss = _loss(1, {(): 2.0, (0,): 1.0})
    yield case(**given(loss, 1, 1.5, "losses of 2 and 1"), want=(1.0, of(n=1)), why=why)
    said = "four heads: 1 alone counts most, and 0 and 3 stand in for each other"
    loss = _additive(4, 1.0, [0.01, 1.0, 0.02, 0.04], {(0, 3): 5.0})
    why = "Head 1 takes it to 2 by itself, but heads 0 and 3, each nearly nothing, to 6.05."
    yield case(**given(loss, 4, 6.0, said), want=(2.0, of(0, 3, n=4)), why=why)
    said = "five heads, of which 1, 2 and 4 stand in for each other"
    loss = _additive(5, 1.0, [0.16, 0.02, 0.04, 0.08, 0.01], {(1, 2, 4): 3.0})
    why = "Only three heads together reach 4."
    yield case(**given(loss, 5, 4.0, said), want=(1.16, of(1, 2, 4, n=5)), why=why)
    said = "eight heads, of which all but 2 and 5 stand in for each other"
    small = [0.01, 0.02, 0.64, 0.04, 0.08, 1.28, 0.16, 0.32]
    loss = _additive(8, 1.0, small, {(0, 1, 3, 4, 6, 7): 9.0})
    why = "Six heads together reach 9, and no fewer."
    yield case(**given(loss, 8, 9.0, said), want=(2.28, of(0, 1, 3, 4, 6, 7, n=8)), why=why)
    for seed, (n, share) in enumerate(
        ((4, 0.7), (5, 0.9), (6, 0.97), (8, 0.99), (8, 0.6), (7, 0.8), (6, 0.5), (5, 1.0))
    ):
        rng = np.random.default_rng(seed)
        sizes = np.array([len(heads) for heads in _sets(n)])
        drawn = 2 + 0.1 * sizes * (seed % 2) + rng.random(2**n)
        loss = _loss(n, dict(zip(_sets(n), drawn.tolist(), strict=True)))
        limit = float(np.quantile(drawn, share)) - 1e-3
        why = "The losses are drawn at random, so that only trying all sets will do."
        yield case(**given(loss, n, limit, f"losses drawn at random, seed {seed}"), why=why)


def _masks(n: int) -> list[Array]:
    return [np.isin(np.arange(n), heads) for heads in _sets(n)]


def _best(loss: Loss, masks: list[Array]) -> int:
    return int(np.argmax([loss(off) for off in masks]))


def _by_number(loss: Loss, n: int, limit: float) -> tuple[float, Array]:
    masks = [(i >> np.arange(n)) & 1 == 1 for i in range(2**n)]
    enough = [off for off in masks if loss(off) >= limit]
    return max(loss(off) for off in masks if off.sum() == 1), min(enough, key=np.sum)


def _step_by_step(loss: Loss, n: int, limit: float) -> tuple[float, Array]:
    """Add the head that helps most, again and again."""
    off, one = np.zeros(n, dtype=bool), np.eye(n, dtype=bool)
    while loss(off) < limit and not off.all():
        off = max((off | one[h] for h in range(n) if not off[h]), key=loss)
    return max(map(loss, one)), off


def _put_back(loss: Loss, n: int, limit: float) -> tuple[float, Array]:
    """Begin with all heads cut, and put back what may be put back."""
    off, one = np.ones(n, dtype=bool), np.eye(n, dtype=bool)
    for h in range(n):
        if loss(off & ~one[h]) >= limit:
            off = off & ~one[h]
    return max(map(loss, one)), off


def _best_alone(loss: Loss, n: int, limit: float) -> tuple[float, Array]:
    """Add heads in the order of their losses alone."""
    one = np.eye(n, dtype=bool)
    order = sorted(range(n), key=lambda h: -loss(one[h]))
    for size in range(n + 1):
        off = np.isin(np.arange(n), order[:size])
        if loss(off) >= limit:
            break
    return max(map(loss, one)), off


@exercise(
    "17.8",
    praise="Heads that count alone, pairs and threes that stand in for each other, cuts that help, "
    "a limit met exactly, one head and eight.",
    hints=(
        "How many sets of at most 8 heads are there? Is there a short cut that never fails?",
        "There are 256 at most, and no short cut: try all of them, smaller ones first.",
        "The bits of the numbers from 0 to 2ⁿ − 1 are all sets: `(i >> np.arange(n)) & 1 == 1`. "
        "Among those that reach the limit look for the fewest heads, then for the largest loss.",
    ),
    cases=_models,
    kind=Several(names=("loss", "heads")),
    mutants={
        "Of several sets of the same size you took the one that is smallest as a binary number, "
        "head 0 its lowest bit.": lambda loss, n, limit: _by_number(loss, n, limit),
        "True and False are exchanged in what you ask: True for heads that are cut.": (
            lambda loss, n, limit: _turned(loss, n, limit)
        ),
        "You added the head that makes the loss largest, again and again. A pair of which neither "
        "counts alone is missed in this way.": _step_by_step,
        "You put heads back one by one while the limit was kept. What is left depends on the "
        "order, and need not be the smallest set.": _put_back,
        "You took heads in the order of their losses alone; heads that stand in for each other "
        "come last in it.": _best_alone,
    },
    slips="""
        max(loss(off) for off in masks if off.sum() == 1) → max(loss(off) for off in masks)
            The first number is the largest loss of all sets; the exercise asks for that with one
            head cut.
        max(loss(off) for off in masks if off.sum() == 1) → max(loss(off) for off in masks[: n + 1])
            You let the empty set count among single heads: cutting one may make the loss smaller.
        max(loss(off) for off in masks if off.sum() == 1) → $ - loss(masks[0])
            That is a rise; the exercise asks for the loss itself.
        max(loss(off) for off in masks if off.sum() == 1) → min(map(loss, masks[1 : n + 1]))
            You took the head whose cut makes the loss smallest.
        masks = _masks(n) → masks = _masks(n)[1:]
            You left out the empty set; it may reach the limit.
        loss(off) >= limit → loss(off) > limit
            You asked for more than the limit; to reach it is enough.
        (off.sum(), -loss(off)) → -loss(off)
            You took the set with the largest loss of all; the smallest set comes first.
        (off.sum(), -loss(off)) → off.sum()
            Of several sets of the same size you took the first that you met; the one with the
            largest loss is asked for.
        (off.sum(), -loss(off)) → (off.sum(), loss(off))
            Of several sets of the same size you took the one with the smallest loss.
        (off.sum(), -loss(off)) → loss(off)
            You took the set that is nearest to the limit; the smallest set is asked for.
        (off.sum(), -loss(off)) → (-off.sum(), -loss(off))
            You took the largest set that reaches the limit.
        masks = _masks(n) → masks = [off for off in _masks(n) if off.sum() <= 2]
        best = min(enough, → best = min(enough or [np.ones(n, dtype=bool)],
            You tried no set of more than two heads; three may stand in for each other.
        masks = _masks(n) → masks = [off for off in _masks(n) if off.sum() <= 1]
        best = min(enough, → best = min(enough or [np.ones(n, dtype=bool)],
            You tried single heads, and else all at once; two or three may do.
        off.sum() == 1), best → off.sum() == 1), ~best
            True and False are exchanged: True for heads that are cut.
        off.sum() == 1), best → off.sum() == 1), np.flatnonzero(best)
            Those are the numbers of the heads; True or False is asked for each.
        off.sum() == 1), best → off.sum() == 1), best.sum()
            That is how many heads it takes; True or False is asked for each head.
        off.sum() == 1), best → off.sum() == 1), best[::-1]
            The heads stand in reverse order. The lowest bit of a number comes last when it is
            written.
        loss(off) >= limit → loss(off) - loss(masks[0]) >= limit
        best = min(enough, → best = min(enough or [np.ones(n, dtype=bool)],
            You compared the rise with the limit; the loss itself has to reach it.
        off.sum() == 1), best → off.sum() == 1), max(masks[1 : n + 1], key=loss)
            You returned the head that counts most alone; does its cut reach the limit?
        best = min(enough, → best = min(enough[::-1],
        (off.sum(), -loss(off)) → off.sum()
            Of several sets of the same size you took one by its place in the order; the one with
            the largest loss is asked for.
        max(loss(off) for off in masks if off.sum() == 1) → _best(loss, masks[1 : n + 1])
            That is the number of the head; the exercise asks for the loss with that head cut.
        loss(off) >= limit → loss(off) - loss(masks[0]) >= limit
            You asked that the rise reaches the limit, and it may not for any set. Compare the loss
            itself.
        max(loss(off) for off in masks if off.sum() == 1) → max(map(loss, masks[-1 - n : -1]))
            You cut all heads but one. Cut one head, and keep the others.
        = (max(map(loss, _masks(n)[1 : n + 1])), _best_put_back(loss, n, limit))
            You cut all heads and put back the one that matters least, again and again. That may end
            at a set that is not the smallest: try all sets.
    """,
    otherwise="The fewest heads that reach the limit, and of equally many the largest loss.",
)
def needed(loss: Loss, n: int, limit: float) -> tuple[float, Array]:
    """The largest loss with one head cut, and the smallest set that reaches the limit."""
    masks = _masks(n)
    enough = [off for off in masks if loss(off) >= limit]
    best = min(enough, key=lambda off: (off.sum(), -loss(off)))
    return max(loss(off) for off in masks if off.sum() == 1), best


def _turned(loss: Loss, n: int, limit: float) -> tuple[float, Array]:
    return needed(lambda off: loss(~off), n, limit)


def _best_put_back(loss: Loss, n: int, limit: float) -> Array:
    """The set that is left when heads are put back while the limit is reached, the best first."""
    off = np.ones(n, dtype=bool)
    while True:
        fewer = [off & (np.arange(n) != h) for h in np.flatnonzero(off)]
        enough = [one for one in fewer if loss(one) >= limit]
        if not enough:
            return off
        off = max(enough, key=loss)
