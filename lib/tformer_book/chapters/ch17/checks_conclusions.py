"""Exercise 17.7: what losses show."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from tformer_book.exercises.kinds import Marks
from tformer_book.exercises.registry import exercise
from tformer_book.exercises.table import Case, case

Array = np.ndarray


def _interval(rise: Array, times: float = 2, ddof: int = 1, root: bool = True, n: int = 0) -> Array:
    """The two ends, one above the other."""
    reach = times * rise.std(axis=-1, ddof=ddof) / ((n or rise.shape[-1]) ** 0.5 if root else 1)
    return np.asarray([rise.mean(axis=-1) - reach, rise.mean(axis=-1) + reach])


def _over_n(rise: Array) -> Array:
    return _interval(rise, times=2 / rise.shape[-1] ** 0.5)


def _by_variance(rise: Array) -> Array:
    reach = 2 * rise.var(axis=-1, ddof=1) / rise.shape[-1] ** 0.5
    return np.asarray([rise.mean(axis=-1) - reach, rise.mean(axis=-1) + reach])


def _hardest(draws: Array) -> Array:
    return np.asarray(draws[draws.mean(axis=1).argsort()[-1:]])


def _extremes(rise: Array) -> Array:
    return np.asarray([rise.min(axis=-1), rise.max(axis=-1)])


def _apart(after: Array, before: Array) -> Array:
    """An interval of two means that are not taken text by text."""
    middle = after.mean(axis=-1) - before.mean(axis=-1)
    parts = [x.var(axis=-1, ddof=1) / x.shape[-1] for x in (after, before)]
    return np.asarray([middle - 2 * np.sqrt(sum(parts)), middle + 2 * np.sqrt(sum(parts))])


def _losses() -> Iterator[Case]:
    flat = np.array([[4.0, 5], [4, 5]])
    none = np.zeros((0, 2))
    why = "Rises of 3 and 4: 3.5 ± 2 · 0.5 is above 0. Nothing was drawn; plain text does not move."
    up = np.array([[1.0, 2], [4, 6]])
    yield case(
        repeat=up, plain=flat, draws=none, least=0.5, want=[True, False, False, True], why=why
    )
    why = "The cut is above both draws, by 2.5 ± 1 and 1 ± 0."
    draws = np.array([[2.0, 3], [3, 5]])
    yield case(
        repeat=up, plain=flat, draws=draws, least=0.5, want=[True, True, False, True], why=why
    )
    why = "The second draw has losses of 4 and 5: the cut is above by 0.5 ± 1, which is not shown."
    draws = np.array([[2.0, 3], [4, 5]])
    yield case(
        repeat=up, plain=flat, draws=draws, least=0.5, want=[True, False, False, True], why=why
    )
    why = "The second draw makes the loss larger than the cut does: any heads would have done it."
    draws = np.array([[2.0, 3], [9, 9]])
    yield case(
        repeat=up, plain=flat, draws=draws, least=0.5, want=[True, False, False, True], why=why
    )
    why = "The draw that is nearest on average is below by 0.5 ± 0, but the other one by 1 ± 2."
    draws = np.array([[3.5, 5.5], [4, 4]])
    yield case(
        repeat=up, plain=flat, draws=draws, least=0.5, want=[True, False, False, True], why=why
    )
    why = "Rises of 0 and 3: 1.5 ± 3 holds 0. Though the cut is above the draw, 1 is not shown."
    some = np.array([[1.0, 2], [1, 5]])
    low = np.array([[-3.0, 1]])
    yield case(
        repeat=some, plain=flat, draws=low, least=0.5, want=[False, False, False, True], why=why
    )
    why = "The cut makes the loss smaller."
    down = np.array([[4.0, 6], [1, 2]])
    yield case(
        repeat=down, plain=flat, draws=low, least=0.5, want=[False, False, False, True], why=why
    )
    why = "Plain text rises by 0.25 and 0.25: above 0 and below 0.5. Both are shown."
    given: dict[str, Any] = {"repeat": up, "draws": none}
    little = np.array([[4.0, 5], [4.25, 5.25]])
    want = [True, False, True, True]
    yield case(**_placed(given, little, 0.5), want=want, why=why)
    wide = np.array([[4.0, 5], [4.5, 5]])
    why = "Plain text rises by 0.5 and 0: 0.25 ± 0.5 holds 0 and 0.5. Neither is shown."
    yield case(**_placed(given, wide, 0.5), want=[True, False, False, False], why=why)
    why = "Plain text rises by 2 and 2.5: above 0, and beyond 0.5."
    much = np.array([[4.0, 5], [6, 7.5]])
    yield case(**_placed(given, much, 0.5), want=[True, False, True, False], why=why)
    why = "Plain text falls by 2 and 2.5: not needed, and not spared; it is helped by the cut."
    yield case(**_placed(given, much[::-1], 0.5), want=[True, False, False, False], why=why)
    why = "Plain text rises by 0.5 in each case, an interval of length 0 that ends on the limit."
    edge = np.array([[4.0, 5], [4.5, 5.5]])
    yield case(**_placed(given, edge, 0.5), want=[True, False, True, False], why=why)
    why = "Plain text falls by 0.5 in each case, an interval of length 0 that ends on the limit."
    yield case(**_placed(given, edge[::-1], 0.5), want=[True, False, False, False], why=why)
    why = "Nothing changes: 0 is not above 0."
    given = {"repeat": flat, "draws": flat}
    yield case(**_placed(given, flat, 0.5), want=[False, False, False, True], why=why)
    why = "A draw has the very losses of the cut: 0 is not above 0."
    given = {"repeat": up, "draws": np.array([[2.0, 3], [4, 6]])}
    yield case(**_placed(given, flat, 0.5), want=[True, False, False, True], why=why)
    why = "The texts differ by far more than the cut changes each: by 1, 1.5 and 1.25."
    far = np.array([[1.0, 50, 20], [2, 51.5, 21.25]])
    given = {"repeat": far, "draws": np.array([[1.5, 50.5, 20.5]])}
    yield case(**_placed(given, flat, 0.5), want=[True, True, False, True], why=why)
    why = "Plain texts differ by far more than their rises, 0.1, 0.15 and 0.05."
    given = {"repeat": up, "draws": none}
    yield case(**_placed(given, far / 10, 0.5), want=[True, False, True, True], why=why)
    why = "One large rise among four: 1 ± 2 · 1 holds 0."
    rare = np.array([[1.0, 2, 3, 4], [1, 2, 3, 8]])
    given = {"repeat": rare, "draws": rare[:1] - 1}
    yield case(**_placed(given, flat, 0.5), want=[False, False, False, True], why=why)
    why = "The second draw is below the cut on average, by 1 ± 2, and the first by 5 ± 0."
    given = {"repeat": rare + [[0], [5]], "draws": np.array([[1.0, 2, 3, 8], [6, 7, 8, 9]])}
    yield case(**_placed(given, flat, 0.5), want=[True, False, False, True], why=why)
    why = "For n texts the standard deviation is divided by √n."
    for seed, (n, k, m, size, noise, harm) in enumerate(
        (
            (9, 25, 4, 0.35, 0.3, 0.0),
            (25, 9, 6, 0.6, 1.0, 0.1),
            (16, 36, 5, 0.4, 1.0, 0.3),
            (4, 4, 3, 0.9, 0.7, 0.05),
            (100, 100, 8, 0.3, 1.0, 0.05),
            (100, 49, 2, 0.1, 1.0, 0.2),
            (5, 100, 10, 2.0, 0.5, 0.04),
            (3, 3, 1, 0.5, 0.4, 0.0),
            (12, 20, 1, 0.5, 0.6, -0.2),
            (2, 2, 2, 0.5, 0.1, 0.3),
        )
    ):
        for again in range(3):
            rng = np.random.default_rng([seed, again])
            base, other = rng.normal(4, 1.5, n), rng.normal(4, 1.5, k)
            cut = base + rng.normal(size, noise, n)
            draws = base + rng.normal(0.3 * size, noise, (m, n))
            given = {"repeat": np.array([base, cut]), "draws": draws}
            plain = np.array([other, other + rng.normal(harm, noise / 2, k)])
            yield case(**_placed(given, plain, 0.3), why=why)
    same, later = np.array([[1.0, 1], [3, 3]]), np.array([[1.0, 1], [1.5, 1.75]])
    may = "Losses may be whole numbers."
    given = {"repeat": same, "draws": np.array([[2.75, 1.75]])}
    why = f"{may} The cut is above the draw by 0.75 ± 1."
    yield case(**_placed(given, same, 0.5), whole=True, want=[True, False, True, False], why=why)
    given["draws"] = np.zeros((1, 2))
    why = f"{may} Plain text rises by 0.625 ± 0.25."
    yield case(**_placed(given, later, 0.5), whole=True, want=[True, True, True, False], why=why)
    given["repeat"] = later
    why = f"{may} The repeat rises by 0.625 ± 0.25."
    yield case(**_placed(given, same, 0.5), whole=True, want=[True, True, True, False], why=why)


def _placed(given: dict[str, Any], plain: Array, least: float) -> dict[str, Any]:
    """The inputs in the order of the arguments."""
    return {
        "repeat": given["repeat"],
        "plain": plain,
        "draws": given["draws"],
        "least": least,
    }


@exercise(
    "17.7",
    praise="Cuts that matter, cuts like any other, no draws, harm that is small, unknown and none, "
    "and intervals that end on a limit.",
    hints=(
        "Write a function that takes n differences and returns the two ends of their interval.",
        "“Above 0 with its whole interval” looks at the lower end. “Between” looks at both. For "
        "the second conclusion there is a difference for each draw.",
        "The differences are repeat[1] − repeat[0], repeat[1] − each draw, plain[1] − plain[0]. "
        "Of an empty table all entries are above 0, so ask whether there is any.",
    ),
    cases=_losses,
    kind=Marks(),
    slips="""
        _interval(repeat[1] - repeat[0]) → _apart(repeat[1], repeat[0])
        _interval(repeat[1] - draws) → _apart(repeat[1], draws)
        _interval(plain[1] - plain[0]) → _apart(plain[1], plain[0])
            You compared two means with what each varies by. Differences are taken text by text:
            what makes one text harder than another cancels in them.
        _interval(repeat[1] - draws) → _interval(repeat[1] - draws, ddof=0)
        _interval(repeat[1] - repeat[0]) → _interval(repeat[1] - repeat[0], ddof=0)
        _interval(plain[1] - plain[0]) → _interval(plain[1] - plain[0], ddof=0)
            Below the line of your standard deviations stands n; it should be n − 1.
        _interval(repeat[1] - draws) → _interval(repeat[1] - draws, times=1)
        _interval(repeat[1] - repeat[0]) → _interval(repeat[1] - repeat[0], times=1)
        _interval(plain[1] - plain[0]) → _interval(plain[1] - plain[0], times=1)
            Your intervals reach σ/√n to each side; the factor 2 is missing.
        _interval(repeat[1] - draws) → _interval(repeat[1] - draws, root=False)
        _interval(repeat[1] - repeat[0]) → _interval(repeat[1] - repeat[0], root=False)
        _interval(plain[1] - plain[0]) → _interval(plain[1] - plain[0], root=False)
            Your intervals reach 2 σ to each side. That is how far single texts lie; the mean of n
            is known √n times better.
        _interval(repeat[1] - draws) → _interval(repeat[1] - draws, times=0)
        _interval(repeat[1] - repeat[0]) → _interval(repeat[1] - repeat[0], times=0)
        _interval(plain[1] - plain[0]) → _interval(plain[1] - plain[0], times=0)
            You compared means alone, without their intervals.
        _interval(repeat[1] - draws) → _interval(repeat[1] - draws, times=0)
            For the draws you compared means alone, without the intervals.
        _interval(repeat[1] - draws) → _interval(repeat[1] - draws.mean(axis=0))
            You compared the cut with the mean of the draws. It has to lie above every one of them.
        _interval(repeat[1] - draws) → _interval((repeat[1] - draws).mean(axis=-1))
            You made one interval of the means of the draws; each draw has one of its own, over the
            texts.
        (others[0] > 0).all() → (others[0] > 0).any()
            You asked for one draw that lies below the cut. All of them have to.
        _interval(repeat[1] - draws) → _interval(draws - repeat[0])
        (others[0] > 0).all() → not (others[0] > 0).any()
            You asked whether any draw makes the loss rise. Other heads may do harm too; what counts
            is whether the cut does more.
        (others[0] > 0).all() → (_interval(draws - repeat[0])[1] < rise[0]).all()
            You asked that the intervals of two rises do not meet. The difference between cut and
            draw has an interval of its own, text by text.
        len(draws) > 0 and (others[0] > 0).all() → (others[0] > 0).all()
            Where nothing was drawn, the second is not shown: nobody knows what other heads would
            have done.
        needed and len(draws) → len(draws)
            The second holds only if the first does.
        rise[0] > 0 → rise[1] > 0
            You looked at the upper end: all of the interval has to lie above 0.
        rise[0] > 0 → rise[0] * rise[1] > 0
            You asked whether the interval leaves out 0. It may lie below 0 as well, where the cut
            helps.
        low > 0, -least → low * high > 0, -least
            For plain text you asked whether the interval leaves out 0. It may lie below 0 as well,
            where the cut helps.
        low > 0, -least → high > 0, -least
            For plain text you looked at the upper end: all of the interval has to lie above 0.
        -least < low and high < least → not low > 0
            You said “spared” wherever harm is not shown. It may be there and not be known.
        -least < low and high < least → low <= 0 <= high
            You said “spared” where the interval holds 0. A wide one does, too, whatever the harm.
        -least < low and high < least → high < least
            You looked at the upper end only: plain text that becomes easier is not spared either.
        -least < low and high < least → abs(low + high) / 2 < least
            For “spared” you compared the mean alone; the whole interval has to lie between.
        -least < low and high < least → -least < low and high < least and not low > 0
            You let harm that is small and sure exclude “spared”. Both may be shown.
        -least < low and high < least → -least <= low and high <= least
            An interval that ends on a limit does not lie between.
        rise[0] > 0 → rise[0] >= 0
        (others[0] > 0).all() → (others[0] >= 0).all()
        low > 0, -least → low >= 0, -least
            An interval of length 0 at 0 does not lie above 0.
        (others[0] > 0).all() → (others[0] >= 0).all()
            A draw with the very losses of the cut: 0 does not lie above 0.
        rise[0] > 0 → rise[0] > least
            `least` belongs to the fourth conclusion; for the first, a rise above 0 is enough.
        low > 0, -least → low > least, -least
            `least` belongs to the fourth conclusion; for the third, a rise above 0 is enough.
        low > 0, -least → high >= least, -least
            For the third you asked whether plain text may not be spared; the rise has to be shown.
        _interval(repeat[1] - draws) → _interval(repeat[1] - _hardest(draws))
            You compared the cut with the draw of the largest mean. Another one may vary more.
        _interval(repeat[1] - draws) → _interval(repeat[1] - draws[-1:])
            You compared the cut with the last draw alone; it has to lie above every one.
        _interval(repeat[1] - draws) → _interval(repeat[1] - draws.max(axis=0, initial=-99))
            You took the largest loss of all draws, text by text. Each draw is compared by itself.
        _interval(plain[1] - plain[0]) → _interval(plain[1] - plain[0], n=repeat.shape[1])
            For plain text you divided by the root of n; there are k plain texts.
        _interval(repeat[1] - draws) → _interval((repeat[1] - draws).T)
            You made an interval for each text, over the draws; each draw has one, over the texts.
        _interval(repeat[1] - draws) → _interval((repeat[1] - draws).ravel())
            You made one interval of all draws together; each draw has one of its own.
        _interval(repeat[1] - draws) → _interval(repeat[1] - draws, times=1.96)
        _interval(repeat[1] - repeat[0]) → _interval(repeat[1] - repeat[0], times=1.96)
        _interval(plain[1] - plain[0]) → _interval(plain[1] - plain[0], times=1.96)
            The factor is 2 here, and not 1.96.
        _interval(repeat[1] - draws) → _extremes(repeat[1] - draws)
        _interval(repeat[1] - repeat[0]) → _extremes(repeat[1] - repeat[0])
        _interval(plain[1] - plain[0]) → _extremes(plain[1] - plain[0])
            You looked at the texts one by one, and asked the same of all. The interval is that of
            the mean.
        _interval(repeat[1] - draws) → _interval(draws - repeat[1])
        _interval(repeat[1] - repeat[0]) → _interval(repeat[0] - repeat[1])
        _interval(plain[1] - plain[0]) → _interval(plain[0] - plain[1])
            The sign is turned round: a rise is the loss with the cut less the loss without.
        rise[0] > 0 → _interval(repeat[1])[0] > _interval(repeat[0])[1]
            For the first you asked that two intervals of losses do not meet. The rise has one of
            its own, text by text.
        (others[0] > 0).all() → not (others[1] < 0).any()
            You asked that no draw is shown to lie above the cut. All have to be shown to lie below.
        -least < low and high < least → low <= 0 and high < least
            You let harm that is sure exclude “spared”, and did not ask about the lower limit.
        -least < low and high < least → abs(low) < least
            You looked at the lower end only: the whole interval has to lie between.
        rise[0] > 0 → rise[0] >= 0
        (others[0] > 0).all() → (others[0] >= 0).all()
        low > 0, -least → low >= 0, -least
        -least < low and high < least → -least <= low and high <= least
            Intervals that end on a limit lie neither above nor between; you let all of them count.
        rise[0] > 0 → rise[0] >= 0
        low > 0, -least → low >= 0, -least
        -least < low and high < least → -least <= low and high <= least
            Except for the draws, you let intervals count that end on a limit.
        _interval(repeat[1] - draws) → _interval(repeat[1] - draws, times=3)
        _interval(repeat[1] - repeat[0]) → _interval(repeat[1] - repeat[0], times=3)
        _interval(plain[1] - plain[0]) → _interval(plain[1] - plain[0], times=3)
            Your intervals reach 3 σ/√n to each side. Take 2.
        _interval(repeat[1] - draws) → _over_n(repeat[1] - draws)
        _interval(repeat[1] - repeat[0]) → _over_n(repeat[1] - repeat[0])
        _interval(plain[1] - plain[0]) → _over_n(plain[1] - plain[0])
            You divided σ by n. Divide by the root of n.
        _interval(repeat[1] - draws) → _by_variance(repeat[1] - draws)
        _interval(repeat[1] - repeat[0]) → _by_variance(repeat[1] - repeat[0])
        _interval(plain[1] - plain[0]) → _by_variance(plain[1] - plain[0])
            You took the variance, σ². Take its root, the standard deviation.
        _interval(repeat[1] - draws) → _interval(draws - repeat[1])
            You subtracted the cut's loss from that of each draw. Subtract the other way round: the
            cut has to lie above.
        -least < low and high < least → abs(low) < least or abs(high) < least
            You asked that one end of the interval lies between. Ask it of both ends.
    """,
    otherwise="Four intervals: of the rise, above each draw, and of plain text's rise.",
)
def shown(repeat: Array, plain: Array, draws: Array, least: float) -> Array:
    """Which of the four conclusions the losses allow."""
    rise, others = _interval(repeat[1] - repeat[0]), _interval(repeat[1] - draws)
    low, high = _interval(plain[1] - plain[0])
    needed = rise[0] > 0
    these = needed and len(draws) > 0 and (others[0] > 0).all()
    return np.array([needed, these, low > 0, -least < low and high < least])
