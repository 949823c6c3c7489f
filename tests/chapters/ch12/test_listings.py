"""The table of forward and backward lines: run as it is shown, it gives the model's gradients."""

import numpy as np

from tformer import reference
from tformer_book.chapters.ch12 import listings, small


def test_the_lines_that_are_shown_give_the_gradients() -> None:
    p = small.drawn()
    words = np.random.default_rng(0).integers(0, 7, (3, 6))
    tokens, targets = words[:, :-1], words[:, 1:]
    seen = np.tri(tokens.shape[1], dtype=bool)
    names = {
        **p,
        "tokens": tokens,
        "came": np.eye(7)[targets],
        "n_words": tokens.size,
        "d_k": p["W_q"].shape[1],
        "cross_entropy": lambda z, came: -np.log((reference.softmax(z) * came).sum(-1)).mean(),
        "gelu": reference.gelu,
        "norm": small.over_size,
        "softmax": reference.softmax,
        "masked": lambda s: np.where(seen, s, -np.inf),
        "sqrt": np.sqrt,
        "row_sum": lambda x: x.sum(axis=-1, keepdims=True),
        "len": len,
        **{f: getattr(small, f) for f in ("gathered", "slope", "through_norm", "scattered")},
    }
    backward = listings.backward_lines()
    assert [name for _, some in listings.FORWARD for name in some] == [*small.STEPS] == [*backward]
    for line, _ in reversed(listings.FORWARD):
        exec(line, names)
    for line in backward.values():
        exec(line, names)
    right = small.backward(small.forward(p, tokens, targets), p)
    assert np.isclose(names["loss"], small.loss(p, tokens, targets), atol=1e-12)
    for name, gradient in right.items():
        given = names["dE_head" if name == "head" else f"d{name}"]
        assert np.allclose(given, gradient, atol=1e-12), name


def test_each_line_has_the_shape_of_its_gradient_beside_it() -> None:
    table = "\n".join(listings.way_back(part).data for part in listings.PARTS)
    shapes = {"z": "(B, T, N)", "s": "(B, T, T)", "q": "(B, T, d_k)", "b_in": "(d_ff,)"}
    for name, shape in shapes.items():
        assert f"| `{listings.backward_lines()[name]}` | `{shape}` |" in table, name


def test_each_line_is_in_the_table_once() -> None:
    table = "\n".join(listings.way_back(part).data for part in listings.PARTS)
    for line in (*(line for line, _ in listings.FORWARD), *listings.backward_lines().values()):
        assert table.count(f"| `{line}` |") == 1, line
