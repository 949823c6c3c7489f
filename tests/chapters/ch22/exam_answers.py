"""The exam questions of chapter 22, answered again by other ways than the library's."""

from fractions import Fraction

import numpy as np

from tformer_book.exams import Item


def norm_order(item: Item) -> dict[str, object]:
    """With complex numbers: the rotation is a product with i."""
    q, gain = complex(*item.given["pair"]), item.given["gain"]

    def norm(z: complex, gain: tuple[float, float]) -> complex:
        size = np.sqrt((z * z.conjugate()).real / 2)
        return complex(gain[0] * z.real / size, gain[1] * z.imag / size)

    def both(z: complex) -> np.ndarray:
        return np.array([z.real, z.imag])

    equal = (gain[0], gain[0])
    assert np.allclose(both(norm(1j * q, equal)), both(1j * norm(q, equal)))
    return {
        "before": both(1j * norm(q, gain)),
        "behind": both(norm(1j * q, gain)),
        "same": both(1j * norm(q, equal)),
    }


def kept(item: Item) -> dict[str, object]:
    """By caches that are filled token by token, with one entry for each byte."""
    _, groups, d, n_full, n_local, w, n_tokens = item.given["sizes"]
    d_c, d_r = item.given["latent"]

    def held(length: int) -> tuple[int, int]:
        full, local = [[] for _ in range(n_full)], [[] for _ in range(n_local)]
        for _ in range(length):
            for layer in full + local:
                layer.append(sum(2 for _ in ("key", "value") for _ in range(groups * d)))
            for layer in local:
                del layer[: max(0, len(layer) - (w - 1))]
        return sum(map(sum, full)), sum(map(sum, local))

    (before, stays), (after, still) = held(w + 5), held(w + 6)
    assert stays == still
    latents = sum(2 for _ in range(n_full) for _ in range(d_c + d_r))
    return {
        "grows": after - before,
        "stays": stays,
        "total": sum(held(n_tokens)),
        "latent": latents,
    }


def shares(item: Item) -> dict[str, object]:
    """By fractions, and by trying all pairs of experts."""
    a, b, sink = (Fraction(x) for x in item.given["exps"])
    v, scores, bias = (item.given[name].tolist() for name in ("v", "scores", "bias"))
    pairs = [(i, j) for i in range(4) for j in range(i)]

    def routed(biased: list[int]) -> np.ndarray:
        best = max(pairs, key=lambda pair: sum(biased[i] for i in pair))
        total = sum(scores[i] for i in best)
        return np.array([scores[i] / total if i in best else 0 for i in range(4)])

    weights = [a / (a + b + sink), b / (a + b + sink)]
    return {
        "weights": np.array([float(x) for x in weights]),
        "output": float(sum(w * x for w, x in zip(weights, v, strict=True))),
        "plain": routed(scores),
        "biased": routed([s + b for s, b in zip(scores, bias, strict=True)]),
    }


def corrected(item: Item) -> dict[str, object]:
    """By a projection: the delta rule takes a share of what stands along the key away."""
    first, second, third = item.given["values"]
    key, step = item.given["key"], item.given["step"]
    along = np.outer(key, key)
    state = (np.eye(2) - step * along) @ [first, second] + step * third * key
    return {
        "read": first * key[0] + second * key[1],
        "new": state,
        "again": (1 - step) * (first * key[0] + second * key[1]) + step * third,
        "added": np.array([first, second]) + step * third * key,
    }
