"""A whole model of one block and one head, forwards and backwards, every intermediate by its name.

RMSNorm without gain before each sublayer, GELU, tied head; matrices written out, and nothing of
the library but softmax and GELU: so that it can be read, taken apart, and broken on purpose.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

import numpy as np

from tformer import reference
from tformer.parameters import (
    BlockParameters,
    FeedForwardParameters,
    HeadParameters,
    ModelParameters,
    NormParameters,
)

__all__ = ["STEPS", "as_model", "backward", "drawn", "forward", "loss", "surprise"]

Table = dict[str, np.ndarray]
Step = Callable[[Table, Table, Table], np.ndarray]
EPS = 1e-5


def drawn(seed: int = 0, d: int = 6, d_k: int = 4, d_ff: int = 10, n_vocab: int = 7) -> Table:
    """Random parameters by name."""
    rng = np.random.default_rng(seed)
    shapes = {
        "E": (n_vocab, d),
        **dict.fromkeys(("W_q", "W_k", "W_v"), (d, d_k)),
        "W_o": (d_k, d),
        "W_in": (d, d_ff),
        "b_in": (d_ff,),
        "W_out": (d_ff, d),
    }
    return {name: rng.standard_normal(shape) for name, shape in shapes.items()}


def as_model(p: Table, n_heads: int = 1) -> ModelParameters:
    """The same parameters as the library keeps them; heads stand side by side in those of here.

    Norms have no gain.
    """
    w_q, w_k, w_v = (
        p[name].reshape(len(p[name]), n_heads, -1).swapaxes(0, 1) for name in ("W_q", "W_k", "W_v")
    )
    w_o = p["W_o"].reshape(n_heads, -1, p["W_o"].shape[-1])
    heads = HeadParameters(w_q, w_k, w_v, w_o)
    feed = FeedForwardParameters(p["W_in"], p["W_out"], p["b_in"])
    norm = NormParameters()
    return ModelParameters(p["E"], (BlockParameters(heads, feed, norm, norm),))


def over_size(x: np.ndarray) -> np.ndarray:
    """RMSNorm without gain."""
    return x / np.sqrt((x * x).mean(axis=-1, keepdims=True) + EPS)


def forward(p: Table, tokens: np.ndarray, targets: np.ndarray, into: Table | None = None) -> Table:
    """All intermediates, from tokens (B, T) to the predicted probabilities (B, T, N).

    They are written `into` a dict, which may change what it is given, or note what is asked for.
    """
    f, n_tokens = {} if into is None else into, tokens.shape[-1]
    f["x"], f["tokens"] = p["E"][tokens], tokens
    f["n"] = over_size(f["x"])
    f["q"], f["k"], f["v"] = (f["n"] @ p[name] for name in ("W_q", "W_k", "W_v"))
    f["s"] = f["q"] @ f["k"].mT / np.sqrt(f["q"].shape[-1])
    f["a"] = reference.softmax(np.where(np.tri(n_tokens, dtype=bool), f["s"], -np.inf))
    f["y"] = f["a"] @ f["v"]
    f["x1"] = f["x"] + f["y"] @ p["W_o"]
    f["m"] = over_size(f["x1"])
    f["u"] = f["m"] @ p["W_in"] + p["b_in"]
    f["h"] = reference.gelu(f["u"])
    f["x2"] = f["x1"] + f["h"] @ p["W_out"]
    f["z"] = f["x2"] @ p["E"].T
    f["guess"] = reference.softmax(f["z"])
    f["came"] = np.eye(len(p["E"]))[targets]
    return f


def loss(p: Table, tokens: np.ndarray, targets: np.ndarray) -> float:
    """Mean surprise over all words."""
    return surprise(forward(p, tokens, targets))


def surprise(f: Table) -> float:
    """The same from the intermediates; inf if a word came that had been given probability 0."""
    with np.errstate(divide="ignore"):
        return float(-np.log((f["guess"] * f["came"]).sum(axis=-1)).mean())


def gathered(x: np.ndarray, dy: np.ndarray) -> np.ndarray:
    """xᵀ dy, summed over the words of all texts: what reaches a matrix."""
    return x.reshape(-1, x.shape[-1]).T @ dy.reshape(-1, dy.shape[-1])


def through_norm(x: np.ndarray, dn: np.ndarray) -> np.ndarray:
    """What RMSNorm passes back."""
    n = over_size(x)
    size = np.sqrt((x * x).mean(axis=-1, keepdims=True) + EPS)
    return (dn - n * (n * dn).mean(axis=-1, keepdims=True)) / size


def slope(u: np.ndarray) -> np.ndarray:
    """The slope of GELU."""
    return reference.gelu_vjp(u, np.ones_like(u))


def scattered(tokens: np.ndarray, dx: np.ndarray, n_vocab: int) -> np.ndarray:
    """What reaches the table of words: each row gathers from all its uses."""
    table = np.zeros((n_vocab, dx.shape[-1]))
    np.add.at(table, tokens, dx)
    return table


STEPS: dict[str, Step] = {
    # d, the gradients so far; f, the intermediates; p, the parameters
    "z": lambda d, f, p: (f["guess"] - f["came"]) / f["tokens"].size,
    "head": lambda d, f, p: gathered(d["z"], f["x2"]),
    "x2": lambda d, f, p: d["z"] @ p["E"],
    "W_out": lambda d, f, p: gathered(f["h"], d["x2"]),
    "h": lambda d, f, p: d["x2"] @ p["W_out"].T,
    "u": lambda d, f, p: d["h"] * slope(f["u"]),
    "b_in": lambda d, f, p: d["u"].sum(axis=(0, 1)),
    "W_in": lambda d, f, p: gathered(f["m"], d["u"]),
    "m": lambda d, f, p: d["u"] @ p["W_in"].T,
    "x1": lambda d, f, p: d["x2"] + through_norm(f["x1"], d["m"]),
    "W_o": lambda d, f, p: gathered(f["y"], d["x1"]),
    "y": lambda d, f, p: d["x1"] @ p["W_o"].T,
    "v": lambda d, f, p: f["a"].mT @ d["y"],
    "a": lambda d, f, p: d["y"] @ f["v"].mT,
    "s": lambda d, f, p: f["a"] * (d["a"] - (f["a"] * d["a"]).sum(axis=-1, keepdims=True)),
    "q": lambda d, f, p: d["s"] @ f["k"] / np.sqrt(f["q"].shape[-1]),
    "k": lambda d, f, p: d["s"].mT @ f["q"] / np.sqrt(f["q"].shape[-1]),
    "W_q": lambda d, f, p: gathered(f["n"], d["q"]),
    "W_k": lambda d, f, p: gathered(f["n"], d["k"]),
    "W_v": lambda d, f, p: gathered(f["n"], d["v"]),
    "n": lambda d, f, p: d["q"] @ p["W_q"].T + d["k"] @ p["W_k"].T + d["v"] @ p["W_v"].T,
    "x": lambda d, f, p: d["x1"] + through_norm(f["x"], d["n"]),
    "E": lambda d, f, p: d["head"] + scattered(f["tokens"], d["x"], len(p["E"])),
}
"""The backward pass, a line for each gradient, in the order in which they are found."""


def backward(
    f: Table, p: Table, planted: Mapping[str, Step] | None = None, into: Table | None = None
) -> Table:
    """All gradients by name; a step that is planted stands in the place of the right one."""
    d: Table = {} if into is None else into
    for name, step in (STEPS | dict(planted or {})).items():
        d[name] = step(d, f, p)
    return d
