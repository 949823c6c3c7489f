"""The exam questions of chapter 11, answered again by other ways than the library's."""

from fractions import Fraction

from tformer_book.exams import Item


def who_can_know(item: Item) -> dict[str, object]:
    """By going through the words."""
    n, prefix = item.given["n"], item.given["prefix"]
    places = range(1, n + 1)
    found = {}
    for name in ("early", "late"):
        t = item.given[name]
        found[f"decoder {name}"] = sum(s <= t for s in places)
        found[f"pair {name}"] = sum(s <= prefix or prefix < s <= t for s in places)
    return found


def best_guess(item: Item) -> dict[str, object]:
    """By listing the stories."""
    one, two, coin, pairs = (item.given[k] for k in ("one", "two", "coin", "pairs"))
    stories = [(i, who) for i in range(pairs) for who in "a" * one + "p" * two]
    stories += [("stones", who) for who in "x" * coin + "y" * coin]
    beginnings = {first for first, _ in stories}
    best = sum(max(stories.count((first, who)) for who in "apxy") for first in beginnings)
    return {"stories": len(stories), "decoder": best, "encoder": len(stories)}


def two_looks(item: Item) -> dict[str, object]:
    """In fractions, word by word."""
    one, two, v, u = (item.given[k] for k in ("one", "two", "v", "u"))
    weights = [Fraction(2)] * one + [Fraction(1)] * two
    values = [v] * one + [u] * two
    total = sum(weights)
    share = sum(weights[:one]) / total
    shared = sum(w * x for w, x in zip(weights, values, strict=True)) / total
    mean_source = Fraction(sum(values[:one]), one)
    mean_target = Fraction(sum(values[one:]), two)
    return {"added": mean_source + mean_target, "share": share, "shared": shared}


def what_writing_costs(item: Item) -> dict[str, object]:
    """By writing, word by word."""
    s, n = item.given["s"], item.given["n"]
    anew = cache = pair = 0
    text = s
    for i in range(n):
        anew += text + 1
        cache += s if i == 0 else 1
        pair += s + 1 if i == 0 else 1
        text += 1
    return {"anew": anew, "cache": cache, "pair": pair}
