"""The exam questions of chapter 21, answered again by other ways than the library's."""

from fractions import Fraction
from itertools import count

import numpy as np

from tformer_book.exams import Item


def patches(item: Item) -> dict[str, object]:
    """By images that are cut in loops, and by patches that carry their rows along."""
    p, rows, columns = (item.given[name] for name in ("p", "rows", "columns"))
    image = np.zeros((rows * p, columns * p, 3))

    def cut(side: int) -> list[np.ndarray]:
        height, width = image.shape[:2]
        return [
            image[i : i + side, j : j + side]
            for i in range(0, height, side)
            for j in range(0, width, side)
        ]

    rows_of = dict(enumerate(item.given["table"]))  # patch by patch, named by its old place
    return {
        "tokens": len(cut(p)),
        "width": cut(p)[0].size,
        "scores": sum(1 for _ in cut(p) for _ in cut(p)),
        "finer": sum(1 for _ in cut(p // 2) for _ in cut(p // 2)),
        "moved": np.array([rows_of[patch] for patch in item.given["order"].tolist()]),
    }


def rule(item: Item) -> dict[str, object]:
    """By a square of nine cells, and by all places of four ReLUs that are tried."""
    k, h, w = (item.given[name] for name in ("k", "h", "w"))
    alive, n = item.given["alive"], item.given["n"]
    square = [alive, *[1] * n, *[0] * (8 - n)]
    fates = {2 * m + c: (m == k) or (c == 1 and m == k - 1) for c in (0, 1) for m in range(9)}
    lives = [u for u, fate in sorted(fates.items()) if fate]
    u = np.arange(18)[:, None]
    starts = next(
        at
        for a in range(18)
        for b in range(1, 18)
        for c in range(b, 18)
        if follows(np.maximum(u - (at := np.array([a, a + b, a + c, a + b + c])), 0), fates)
    )
    seen = {}
    for c in (0, 1):
        for m in range(9):
            fate = (m == k) or (c == 1 and m == k - 1)
            seen.setdefault(m + c, set()).add(fate)
    shifts = [(i, j) for i in (-1, 0, 1) for j in (-1, 0, 1)]
    cells = {
        ((r + i) % h, (c + j) % w, r, c) for r in range(h) for c in range(w) for i, j in shifts
    }
    return {
        "entries": len(cells),
        "m": sum(square) / 9,
        "u": 2 * sum(square) - alive,
        "lives": np.array(lives),
        "starts": starts,
        "confused": next(total for total, both in sorted(seen.items()) if len(both) == 2),
    }


def follows(relus: np.ndarray, fates: dict[int, bool]) -> bool:
    """Whether four ReLUs with the weights 1, −1, −1, 1 say what a rule says."""
    return bool((relus @ [1, -1, -1, 1] == [fates[u] for u in range(18)]).all())


def among_many(item: Item) -> dict[str, object]:
    """By fractions, and by sets that grow token by token."""
    a, b, m, few, many = (item.given[name] for name in ("a", "b", "m", "few", "many"))
    low, high = Fraction(1, b), Fraction(b)
    least = next(n for n in count(1) if high / (high + (n - 1) * low) < Fraction(1, m))
    first, second = (float(Fraction(a, sum([a, *[1] * (n - 1)]))) for n in (few, many))
    return {"first": first, "second": second, "least": least}


def layers(item: Item) -> dict[str, object]:
    """By masks that are built and multiplied."""
    n, k = item.given["n"], item.given["k"]
    path = np.eye(n, dtype=bool) | np.eye(n, k=1, dtype=bool) | np.eye(n, k=-1, dtype=bool)
    ring = (
        path | np.roll(np.eye(n, dtype=bool), 1, axis=1) | np.roll(np.eye(n, dtype=bool), 1, axis=0)
    )
    hub = np.pad(path, (0, 1), constant_values=True)

    def after(mask: np.ndarray, number: int) -> np.ndarray:
        return np.linalg.matrix_power(mask.astype(float), number) > 0

    assert after(hub, 2).all()
    assert not after(hub, 1).all()
    return {
        "entries": int(path.sum()),
        "ends": next(number for number in count() if after(path, number)[0, -1]),
        "known": int(after(path, k)[n // 2].sum()),
        "ring": next(number for number in count() if after(ring, number).all()),
        "hub": int(hub.sum()),
    }
