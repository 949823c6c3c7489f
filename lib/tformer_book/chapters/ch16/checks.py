"""Exercises 16.1 to 16.3: where attention overtakes, what fits into a room, operations or bytes."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from tformer_book.exercises.kinds import Array, Several
from tformer_book.exercises.registry import exercise
from tformer_book.exercises.table import Case, case

# ---- 16.1 ---------------------------------------------------------------------------------


def _decoders() -> Iterator[Case]:
    why = (
        "Each pair takes 4 · 2 · 3 · 5 = 120 operations, and the matrices 1320 a word: 11 words "
        "have 121 pairs, or 21 words 231 without later ones, and 120 · 121 = 1320 · 11."
    )
    yield case(c=660, L=2, H=3, d_k=5, want=(11, 21), why=why)
    why = (
        "Each pair takes 4 · 3 · 2 · 7 = 168 operations, and the matrices 2000 a word: 12 words "
        "for 144 pairs, 23 for 276 pairs without later ones."
    )
    yield case(c=1000, L=3, H=2, d_k=7, want=(12, 23), why=why)
    one = "With one word attention already takes more, and fewer than one word there are not."
    yield case(c=1, L=2, H=2, d_k=8, want=(1, 1), why=one)
    yield case(c=31, L=2, H=3, d_k=5, want=(1, 1), why=one)
    even = "With one word both are equal, and that is enough."
    yield case(c=60, L=2, H=3, d_k=5, want=(1, 1), why=even)
    why = "At 1 word the matrices take 2 operations more, with and without later words."
    yield case(c=61, L=2, H=3, d_k=5, want=(2, 2), why=why)
    gpt2 = "GPT-2 small: both are equal at 6702.04 words, and without later ones at 13403.08."
    yield case(c=12 * 12 * 768**2 + 50257 * 768, L=12, H=12, d_k=64, want=(6703, 13404), why=gpt2)
    for c, L, H, d_k in ((10**12, 96, 96, 128), (10**12, 1, 1, 1), (10**12 - 1, 1, 1, 1)):
        yield case(c=c, L=L, H=H, d_k=d_k, why="c may be as large as 10¹².")
    for c, L, H, d_k in ((134_479_872, 30, 9, 64), (5000, 2, 4, 8), (97, 1, 3, 2), (640, 1, 2, 4)):
        yield case(c=c, L=L, H=H, d_k=d_k)


@exercise(
    "16.1",
    praise="Crossings that are met exactly, passed, and lie below one word.",
    hints=(
        "How many operations does one pair of words take, in all heads and layers? And one word in "
        "all matrices?",
        "T² pairs against T words: divide both by T. Without later words there are T (T + 1) / 2 "
        "pairs.",
        "A score is d_k multiplications and as many additions, and so is its part of the sum of "
        "values. Round up, and stay at 1 or above.",
    ),
    cases=_decoders,
    kind=Several(
        names=("number of words with all pairs", "number of words without later ones"), scalars=True
    ),
    slips="""
        full = -(-c // (2 * width)) → full = -(-c // width)
        half = -(-c // width) - 1 → half = -(-2 * c // width) - 1
            You counted 2 d_k operations a pair: those of the scores alone, or each multiplication
            with its addition as one. Scores and sums of values take 4 d_k.
        full = -(-c // (2 * width)) → full = -(-c // (4 * width))
        half = -(-c // width) - 1 → half = -(-c // (2 * width)) - 1
            You counted one operation for each entry of a matrix; it takes part in a multiplication
            and in an addition.
        full = -(-c // (2 * width)) → full = c // (2 * width)
        half = -(-c // width) - 1 → half = c // width - 1
            You rounded down: with that many words attention takes less than the matrices, unless
            the division leaves no rest.
        full = -(-c // (2 * width)) → full = max(c // (2 * width), 1)
        half = -(-c // width) - 1 → half = c // width - 1
            You rounded down, though not to 0: mostly attention takes less than the matrices there.
        full = -(-c // (2 * width)) → full = round(c / (2 * width))
        half = -(-c // width) - 1 → half = round(c / width) - 1
            You rounded to the nearest number; below the crossing attention takes less.
        full = -(-c // (2 * width)) → full = max(round(c / (2 * width)), 1)
        half = -(-c // width) - 1 → half = round(c / width) - 1
            You rounded to the nearest number, and up from 0,
            and below the crossing attention takes less.
        full = -(-c // (2 * width)) → full = c / (2 * width)
        half = -(-c // width) - 1 → half = c / width - 1
            Nobody reads a part of a word: the least whole number is asked for.
        full = -(-c // (2 * width)) → full = c // (2 * width) + 1
        half = -(-c // width) - 1 → half = c // width
            Where both take equally many operations the number is one too large: at least as many
            is asked for, not more.
        half = -(-c // width) - 1 → half = c // width
            Where both take equally many operations your second number is one too large: as many
            is enough.
        half = -(-c // width) - 1 → half = -(-c // width)
            Without later words T words have T (T + 1) / 2 pairs, not T²/2: each attends to itself
            too.
        half = -(-c // width) - 1 → half = -(-c // width) + 1
            You left out the pairs of a word with itself: T (T − 1) / 2 pairs are too few.
        half = -(-c // width) - 1 → half = -(-c // (4 * width))
            Fewer pairs are computed, so attention overtakes later, not earlier.
        half = -(-c // width) - 1 → half = 2 * full - 1
            You rounded up before you doubled; the number for fewer pairs has a rounding of its own.
        half = -(-c // width) - 1 → half = 2 * full
            Without later words it is not twice the first number: T (T + 1) / 2 pairs are more than
            half of T², and the rounding is another.
        half = -(-c // width) - 1 → half = full
            Without later words there are fewer pairs, so the second number is larger.
        max(half, 1) → half
            A number of words is 1 or more; yours may be 0.
        width = L * H * d_k → width = L * d_k
            H is missing: every head has scores and sums of its own.
        width = L * H * d_k → width = H * d_k
            L is missing: every layer has attention, and c counts the entries of all layers.
        width = L * H * d_k → width = L * H
            A score is a dot product of width d_k, and takes so many multiplications.
        full = -(-c // (2 * width)) → full = int(np.ceil(np.sqrt(c / (2 * width))))
        half = -(-c // width) - 1 → half = int(np.ceil(np.sqrt(c / width + 0.25) - 0.5))
            The matrices work on every word: their operations grow with T, and you counted them
            for one word.
        full, max(half, 1) → max(half, 1), full
            The two are exchanged: first the number for all pairs.
        full = -(-c // (2 * width)) → full = -(-c // width)
        half = -(-c // width) - 1 → half = -(-2 * c // width)
            You counted one operation for each number and pair; scores and sums of values take
            four.
        full = -(-c // (2 * width)) → full = int(np.ceil(np.float32(c) / np.float32(2 * width)))
        half = -(-c // width) - 1 → half = int(np.ceil(np.float32(c) / np.float32(width))) - 1
            The quotients went through float32, which holds seven digits; divide whole numbers.
    """,
    otherwise="Compare the operations of all pairs with those of the matrices for all words.",
)
def overtakes(c: int, L: int, H: int, d_k: int) -> tuple[int, int]:
    """Words from which on attention takes as much: with all pairs, and without later words."""
    width = L * H * d_k
    full = -(-c // (2 * width))
    half = -(-c // width) - 1
    return full, max(half, 1)


# ---- 16.2 ---------------------------------------------------------------------------------


def _rooms() -> Iterator[Case]:
    small: dict[str, Any] = {"n_global": 2, "n_local": 3, "r": 4, "G": 1, "d_k": 5, "B": 1}
    why = (
        "A word takes 20 bytes a layer. 4 words in all 5 layers take 400, and each word more takes "
        "40, in 2 layers: 3 more fit."
    )
    yield case(room=525, **small, want=7, why=why)
    yield case(room=250, **small, want=2, why="A word takes 100 bytes in 5 layers; 2 fit.")
    yield case(room=400, **small, want=4, why="4 words take 400 bytes, the room to the byte.")
    yield case(room=399, **small, want=3, why="4 words take 400 bytes, and one is lacking.")
    yield case(room=440, **small, want=5, why="4 words take 400 bytes, and the fifth 40 more.")
    yield case(room=445, **small, want=5, why="4 words take 400 bytes, and the fifth 40 more.")
    yield case(room=99, **small, want=0, why="The first word takes 100 bytes.")
    yield case(room=0, **small, want=0, why="Nothing fits into no room.")
    only: dict[str, Any] = {"n_global": 0, "n_local": 3, "r": 4, "G": 2, "d_k": 5, "B": 2}
    why = "4 words take 4 · 3 · 80 = 960 bytes, and further words none."
    yield case(room=960, **only, want=np.inf, why=why)
    yield case(room=959, **only, want=3, why="A word takes 240 bytes; the fourth does not fit.")
    yield case(room=5000, **only, want=np.inf, why=why)
    yield case(room=239, **only, want=0, why="The first word takes 240 bytes.")
    every: dict[str, Any] = {"n_global": 5, "n_local": 0, "r": 4, "G": 2, "d_k": 3, "B": 4}
    yield case(room=10_000, **every, want=20, why="All layers keep all: a word takes 480 bytes.")
    yield case(room=1000, **every, want=2, why="All layers keep all: a word takes 480 bytes.")
    gemma: dict[str, Any] = {"n_global": 4, "n_local": 22, "r": 512, "G": 1, "d_k": 256}
    yield case(room=10**9, **gemma, B=8, why="22 layers of 26 have a window of 512.")
    yield case(room=10**8, **gemma, B=64, why="22 layers of 26 have a window of 512.")
    smol: dict[str, Any] = {"n_global": 30, "n_local": 0, "r": 1, "G": 3, "d_k": 64, "B": 1}
    yield case(room=269_030_016, **smol, want=11_676, why="23,040 bytes a word.")
    huge: dict[str, Any] = {"n_global": 1, "n_local": 1, "r": 1, "G": 1, "d_k": 1, "B": 1}
    yield case(room=10**15, **huge, why="The room may be as large as 10¹⁵ bytes.")
    yield case(room=10**15 - 1, **huge, why="The room may be as large as 10¹⁵ bytes.")
    rng = np.random.default_rng(0)
    for _ in range(12):
        g, n, r, G, d_k, B = (int(x) for x in rng.integers(1, 9, 6))
        room = int(rng.integers(0, 4 * G * d_k * B * (g + n) * r * 4))
        yield case(room=room, n_global=g, n_local=n, r=r, G=G, d_k=d_k, B=B)


class Words(Array):
    """One number of words."""

    def remark(self, got: np.ndarray, want: np.ndarray) -> str:
        """Say where nothing but a number of words can be right."""
        if got.shape == want.shape == () and got < 0:
            return "A number of words is not negative."
        if got.shape == want.shape == () and np.isfinite(got) and got % 1:
            return "A part of a word does not fit: the number is whole."
        return super().remark(got, want)


@exercise(
    "16.2",
    praise="Short and long texts, rooms filled to the byte, and models without one kind of layers.",
    hints=(
        "How many bytes does one word take in one layer, for all B texts?",
        "Divide the room by that: so many words of a layer there are to share out. How many does a "
        "text of T words need, if T is at most r, and if it is more?",
        "First suppose that all layers keep all words. If the result is below r, it is right. If "
        "not, give every local layer r words, and share the rest among the global layers.",
    ),
    cases=_rooms,
    kind=Words(),
    slips="""
        4 * G * d_k * B → 2 * G * d_k * B
            You counted half of the bytes: a word has a key and a value, and each number two bytes.
        4 * G * d_k * B → G * d_k * B
            You counted keys without values, and numbers in place of bytes: four times too few.
        4 * G * d_k * B → 8 * G * d_k * B
            You counted twice the bytes: a number of float16 has two.
        4 * G * d_k * B → 32 * G * d_k * B
            You counted bits: the 16 bits of a number are two bytes.
        4 * G * d_k * B → 16 * G * d_k * B
            You counted bits, and keys without values: a word has both, and 16 bits are two bytes.
        4 * G * d_k * B → 4 * G * d_k
            You counted one text: each of the B texts has a cache of its own.
        4 * G * d_k * B → 4 * d_k * B
            You counted one group: each has a key and a value of its own.
        short < r → True
            The windows have no effect: beyond r words a local layer needs no more room.
        short < r → short <= r
            Where r words fit there may be room for more, since only global layers still grow.
        short < r → False ;; (entries - n_local * r) // n_global → max(0, $)
            You gave each local layer r words. A text of fewer words than r has none to fill them.
        short < r → entries < n_local * r ;; return short → return 0
            You found no room unless every local layer has its r words. A text of fewer words has
            none to fill them.
        short < r → False
            You gave each local layer r words, which may be more than there is room for. A text of
            fewer words has none to fill them.
        (entries - n_local * r) // n_global → entries // n_global
            Local layers need room as well, for r words each.
        (entries - n_local * r) // n_global → entries // n_global - r
            You counted as many local as global layers: the windows take n_local · r words, to be
            subtracted before the rest is shared out.
        n_local * r → r
            Each local layer keeps r words, and there are n_local of them: you counted r in all.
        n_local * r → n_local * (r - 1)
            A local layer keeps r words, the newest among them; you counted r − 1.
        n_local * r → n_local * (r + 1) ;; short < r → short < r + 1
            A local layer keeps r words, the newest among them; you counted r + 1.
        = words_that_fit(room, n_global, n_local, r, G, d_k, 1) // B
            You found how long one text may be, and divided by B. Every text fills the windows, so
            what is divided is the room.
        (entries - n_local * r) // n_global → r + (entries - n_local * r) // n_global
            The first r words fill the global layers too; you let them in twice.
        if n_global else np.inf → if n_global else r
            With local layers alone, all words after the first r take no room.
        if n_global else np.inf → if n_global else entries // n_local
            With local layers alone you went on dividing; after r words they need no more room.
        (entries - n_local * r) // n_global → np.floor(np.divide(entries - n_local * r, n_global))
        if n_global else np.inf →
            With local layers alone you divided by 0: that is ∞ mostly, and nan where r words fill
            the room.
        if n_global else np.inf →
            With local layers alone 0 is divided by; after r words they need no more room.
        short < r → n_global and short < r
            With local layers alone any number of words fits only if the first r do.
        entries = room // (4 * G * d_k * B) → entries = -(-room // (4 * G * d_k * B))
        entries // (n_global + n_local) → -(-entries // (n_global + n_local))
        (entries - n_local * r) // n_global → -(-(entries - n_local * r) // n_global)
            You rounded up: then the last word does not fit.
        entries // (n_global + n_local) → entries / (n_global + n_local)
        (entries - n_local * r) // n_global → (entries - n_local * r) / n_global
            A part of a word does not fit; round down.
        entries // (n_global + n_local) → entries // n_global if n_global else r
            While a text is no longer than r, the local layers keep all its words too.
        short = entries // (n_global + n_local) → short = r
        entries - n_local * r → entries
            The layers with a window keep words, too: r of them each.
        entries = room // → entries = np.float32(room) // ;; return short → return int(short)
        (entries - n_local * r) // n_global if → int((entries - n_local * r) // n_global) if
            The room went through float32, which holds seven digits; it may have 16.
    """,
    otherwise="Up to r words every layer keeps all words; after that only the global ones grow.",
)
def words_that_fit(
    room: int, n_global: int, n_local: int, r: int, G: int, d_k: int, B: int
) -> float:
    """How many words each of B texts may have."""
    entries = room // (4 * G * d_k * B)
    short = entries // (n_global + n_local)
    if short < r:
        return short
    return (entries - n_local * r) // n_global if n_global else np.inf


# ---- 16.3 ---------------------------------------------------------------------------------


def _products() -> Iterator[Case]:
    why = (
        "240 operations take 24 microseconds, and 2 · (3 · 4 + 4 · 10 + 3 · 10) = 164 bytes 16.4. "
        "With n rows operations take 8 n and bytes 2.8 n + 8: equal at 8/5.2."
    )
    yield case(n=3, a=4, b=10, w=2, F=10, D=10, want=(24.0, 8 / 5.2), why=why)
    why = (
        "80 operations take 8 microseconds, and 2 · (4 + 40 + 10) = 108 bytes 10.8. With n rows "
        "operations take 8 n and bytes 2.8 n + 8: equal at 8/5.2."
    )
    yield case(n=1, a=4, b=10, w=2, F=10, D=10, want=(10.8, 8 / 5.2), why=why)
    why = "Each further row adds 48 operations, or 1.2 microseconds, and 20 bytes, or 2."
    yield case(n=5, a=4, b=6, w=2, F=40, D=10, want=(14.8, np.inf), why=why)
    why = "Each row adds 32 operations and 16 bytes, 1 microsecond both: the matrix always decides."
    yield case(n=8, a=4, b=4, w=2, F=32, D=16, want=(10.0, np.inf), why=why)
    why = "One row by a single number: two operations, three numbers."
    yield case(n=1, a=1, b=1, w=4, F=1, D=7, want=(2.0, 4 / 6), why=why)
    gpu: dict[str, Any] = {"a": 4096, "b": 4096, "w": 2, "F": 10**9, "D": 3 * 10**6}
    for n in (1, 100, 500, 8192):
        yield case(n=n, **gpu, why="A matrix of 4096 by 4096 numbers in float16, on a large GPU.")
    for n in (1, 64, 10**6):
        yield case(n=n, a=4096, b=64, w=2, F=10**9, D=3 * 10**6, why="A narrow matrix on a GPU.")
    yield case(n=10**6, a=10**5, b=10**5, w=8, F=10**12, D=10**12, why="F may be 10¹².")
    why = "Operations grow a little faster than bytes, and catch up with them after very many rows."
    for a, b, w in ((1, 1, 1), (2, 2, 2)):
        yield case(n=3, a=a, b=b, w=w, F=10**7, D=10**7 + 3, why=why)
    yield case(n=7, a=300, b=20, w=1, F=900, D=70)
    yield case(n=90, a=30, b=200, w=4, F=50, D=700)


class Times(Several):
    """Microseconds, and a number of rows."""

    def remark(self, got: np.ndarray, want: np.ndarray) -> str:
        """Say where bytes always take longer."""
        if got.shape == want.shape == () and want == np.inf and got < 0:
            return (
                "The bytes of a further row take longer than its operations, so the two lines meet "
                "left of 0 and never again: ∞ is asked for."
            )
        return super().remark(got, want)


@exercise(
    "16.3",
    praise="One row and a million, whichever takes longer, and matrices too narrow for any number.",
    hints=(
        "Count operations and bytes for n rows, and divide each by what a microsecond allows.",
        "Both go on at the same time. When is the product finished?",
        "Both times are straight lines in n; that of the bytes begins higher, with the matrix. "
        "When do they meet, and when never?",
    ),
    cases=_products,
    kind=Times(names=("number of microseconds", "number of rows"), scalars=True),
    slips="""
        max(work / F, moved / D) → work / F + moved / D
            You added the two times; both go on at the same time, and the longer one counts.
        max(work / F, moved / D) → min(work / F, moved / D)
            The product is finished when both are done: the longer time counts.
        max(work / F, moved / D) → work / F
            You took the time of the operations; moving the bytes may take longer.
        max(work / F, moved / D) → moved / D
            You took the time of the bytes; the operations may take longer.
        max(work / F, moved / D) → work / moved
            That is the intensity, operations for each byte; the microseconds are asked for.
        max(work / F, moved / D) → min(F, work / moved * D)
            That is how many operations a microsecond are reached; how long do all of them take?
        max(work / F, moved / D) → max(work / D, moved / F)
            F and D are exchanged: F limits operations, D bytes.
        n * a + a * b + n * b → n * a + a * b
        w * (a + b) * F → w * a * F
            The products have to be written, n times b numbers, and you did not move them.
        n * a + a * b + n * b → a * b + n * b
        w * (a + b) * F → w * b * F
            The rows have to be read, n times a numbers, and you did not move them.
        n * a + a * b + n * b → n * a + n * b
            The matrix has to be read as well, a times b numbers.
        n * a + a * b + n * b → n * a + n * a * b + n * b
            The matrix is moved once, and not once for each row.
        w * (n * a → (n * a
            In the time numbers were counted in place of bytes: each number has w.
        w * (n * a → (n * a ;; w * a * b * F → a * b * F ;; w * (a + b) * F → (a + b) * F
            Numbers were counted in place of bytes: each number has w.
        work = 2 * n → work = n
        2 * a * b * D - w → a * b * D - w
            Each entry of the matrix makes two operations with each row: it is multiplied, and the
            result is added.
        np.inf if gain <= 0 else first / gain → w * F / (2 * D)
            That is where 2 n / w reaches F / D, but 2 n / w is only what the intensity stays below:
            rows and products are moved as well.
        np.inf if gain <= 0 else first / gain → w * F / D
            F / D is the intensity that is needed. Each number of a matrix makes two operations
            with a row, and rows and products are moved as well.
        np.inf if gain <= 0 else first / gain → F / D
            F / D is an intensity, the operations that a byte is worth; which number of rows has
            it?
        np.inf if gain <= 0 else first / gain → first / gain if gain else np.inf
            A negative number of rows came where the bytes of a further row take longer than its
            operations; ∞ is asked for there.
        gain <= 0 → gain < 0
            Where each further row adds as many microseconds of bytes as of operations, 0 is divided
            by; they never meet, and ∞ is asked for.
        np.inf if gain <= 0 else first / gain → np.inf if gain <= 0 else np.ceil(first / gain)
            You rounded up. Where both take equally long need not be a whole number.
        np.inf if gain <= 0 else first / gain → np.inf if gain <= 0 else max(1, first / gain)
            You let no number of rows be below 1. It need not be a whole number, and may be less.
        = waits(n, a, b, w, F, D)[::-1]
            The two are exchanged: first the microseconds.
        return max(work / F, moved / D), rows → return max(work / F, moved / D) / 1e6, rows
            Those are seconds; F and D are per microsecond, and microseconds are asked for.
        first / gain → moved * F / (2 * a * b * D)
            The bytes of the given n rows were taken; with more rows they grow as well.
        work = 2 * n * a * b → work = (2 * a - 1) * n * b
            A multiplication and an addition count for each entry, also for the first of a sum.
        rows = np.inf if gain <= 0 → rows = np.inf if gain <= 1e-6 * 2 * a * b * D
            Where the two grow nearly alike they still meet, after very many rows.
    """,
    otherwise="2 n a b operations, and w bytes for each of n a + a b + n b numbers.",
)
def waits(n: int, a: int, b: int, w: int, F: int, D: int) -> tuple[float, float]:
    """The least time in microseconds, and the rows at which operations and bytes take as long."""
    work = 2 * n * a * b
    moved = w * (n * a + a * b + n * b)
    first, gain = w * a * b * F, 2 * a * b * D - w * (a + b) * F
    rows = np.inf if gain <= 0 else first / gain
    return max(work / F, moved / D), rows
