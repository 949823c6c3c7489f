"""The lines of the small model as a page shows them: forward, and beside it backward."""

from __future__ import annotations

import inspect
import re

import numpy as np
from IPython.display import Markdown

from tformer_book.chapters.ch12 import small

__all__ = ["FORWARD", "backward_lines", "shapes", "way_back"]

FORWARD: tuple[tuple[str, tuple[str, ...]], ...] = (
    ("loss = cross_entropy(z, came)", ("z",)),
    ("z = x2 @ E.T", ("head", "x2")),
    ("x2 = x1 + h @ W_out", ("W_out", "h")),
    ("h = gelu(u)", ("u",)),
    ("u = m @ W_in + b_in", ("b_in", "W_in", "m")),
    ("m = norm(x1)", ("x1",)),
    ("x1 = x + y @ W_o", ("W_o", "y")),
    ("y = a @ v", ("v", "a")),
    ("a = softmax(masked(s))", ("s",)),
    ("s = q @ k.mT / sqrt(d_k)", ("q", "k")),
    ("q, k, v = n @ W_q, n @ W_k, n @ W_v", ("W_q", "W_k", "W_v", "n")),
    ("n = norm(x)", ("x",)),
    ("x = E[tokens]", ("E",)),
)
"""The forward lines, the last first, each with the gradients that its backward lines give."""
PARTS = {
    "head": slice(0, 3),
    "feed-forward": slice(3, 6),
    "attention": slice(6, 10),
    "projections": slice(10, None),
}
"""Which of them belong to which part of the model."""
WIDTH = 76
"""How many characters a row of the table may have."""
SHORTER = (
    ('f["guess"]', "softmax(z)"),
    ('f["tokens"].size', "n_words"),
    ('np.sqrt(f["q"].shape[-1])', "sqrt(d_k)"),
    ('(f["a"] * d["a"]).sum(axis=-1, keepdims=True)', "row_sum(a * da)"),
    ('d["head"]', "dE_head"),
)


def backward_lines() -> dict[str, str]:
    """The steps of `small`, a line each, without the tables that hold their numbers."""
    _, _, rest = inspect.getsource(small).partition("\nSTEPS: ")
    table, _, _ = rest.partition("\n}\n")
    found = {}
    for name, step in re.findall(r'"(\w+)": lambda d, f, p: (.+),', table):
        for long, short in SHORTER:
            step = step.replace(long, short)
        step = re.sub(r'd\["(\w+)"\]', r"d\1", step)
        left = "dE_head" if name == "head" else f"d{name}"
        found[name] = f"{left} = " + re.sub(r'[fp]\["(\w+)"\]', r"\1", step)
    return found


def shapes() -> dict[str, str]:
    """The shape of each gradient, in letters, from a backward pass in which no two sizes agree."""
    letters = {3: "B", 5: "T", 7: "N", 6: "d", 4: "d_k", 10: "d_ff"}
    p, tokens = small.drawn(), np.arange(15).reshape(3, 5) % 7
    found = small.backward(small.forward(p, tokens, tokens), p)
    return {
        name: f"({', '.join(letters[n] for n in x.shape)}{',' * (x.ndim == 1)})"
        for name, x in found.items()
    }


def way_back(part: str) -> Markdown:
    """A table of lines, forward and backward: of a key of `PARTS`."""
    backward, shape = backward_lines(), shapes()
    rows = ["| Forward, last line first | Backward | Shape |", "|---|---|---|"]
    for forward, names in FORWARD[PARTS[part]]:
        first = f"`{forward}`"
        for name in names:
            row = f"| `{backward[name]}` | `{shape[name]}` |"
            if len(first) + len(row) > WIDTH - 3:  # the forward line gets a row of its own
                rows.append(f"| {first} | | |")
                first = ""
            rows.append(f"| {first} {row}")
            first = ""
    return Markdown("\n".join(rows))
