"""The exam questions of chapter 9, answered again by other ways than the library's."""

from fractions import Fraction
from itertools import combinations, pairwise

from tformer_book.exams import Item


def says_and(item: Item) -> dict[str, object]:
    """Term by term, in fractions."""
    m, n = (Fraction(int(x)) for x in item.given["factors"])

    def y(facts: list[float], taken: Fraction) -> float:
        p, q, r = map(Fraction, facts)
        return float(m * max(Fraction(0), p + q - taken) + n * max(Fraction(0), q + r - taken))

    return {
        "first": y(item.given["one"], Fraction(1)),
        "second": y(item.given["two"], Fraction(1)),
        "loose": y([0.0, 1.0, 0.0], Fraction(1, 2)),
    }


def who_learns(item: Item) -> dict[str, object]:
    """By going through the words."""
    words, s = range(1, item.given["n"] + 1), item.given["s"]
    return {
        "alone": sum(t == s for t in words),
        "causal": sum(t >= s for t in words),
        "all": len(words),
    }


def what_it_costs(item: Item) -> dict[str, object]:
    """By counting entries of matrices of this size."""
    d, f = item.given["d"], item.given["times"] * item.given["d"]
    attention, two, three = 4 * d * d, d * f + f * d, d * f + d * f + f * d
    (width,) = (n for n in range(f) if 3 * d * n == two)
    return {
        "units": Fraction(two, d * d),
        "share": two / (two + attention),
        "gated": three / (three + attention),
        "width": width,
    }


def pieces_and_deaths(item: Item) -> dict[str, object]:
    """Pieces by values at halves; regions by adding lines that meet all before them."""
    at, other, slope, extra, n = (item.given[k] for k in ("at", "other", "slope", "extra", "n"))

    def y(x: Fraction) -> Fraction:
        return (
            slope * max(x - at, Fraction(0))
            - max(slope * x - slope * at, Fraction(0))
            + extra * max(x - other, Fraction(0))
        )

    points = [Fraction(k, 2) for k in range(-2, 20)]
    slopes = [y(t) - y(s) for s, t in pairwise(points)]
    turns = sum(s != t for s, t in pairwise(slopes))
    return {"pieces": 1 + turns, "regions": 1 + n + len(list(combinations(range(n), 2)))}
