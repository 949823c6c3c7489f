"""The claims of chapter 12: blame, sums over uses, and what the parts pass back."""

from __future__ import annotations

import numpy as np
import sympy as sp

from tformer import reference as ref
from tformer.configuration import Configuration
from tformer.parameters import leaves, tree_map
from tformer_book.chapters.ch12 import small
from tformer_book.chapters.ch12.differences import gradient_check, intermediate_check, texts
from tformer_book.chapters.ch12.intermediates import SLIPS
from tformer_book.chapters.ch12.kept import products
from tformer_book.chapters.ch12.row import PATHS, TIRED, WIDE, row
from tformer_book.claims.registry import claim, require
from tformer_book.claims.tools import identity, near, show, table
from tformer_book.claims.tools import row as symbols
from tformer_book.world.lexicon import GATHER, RESOLVE, embed


def _slip(name: str, said: str) -> dict[str, dict[str, small.Step]]:
    """A known wrong line, to be planted in the way back."""
    return {"planted": {name: SLIPS[name, said]}}


UNSCALED: dict[str, small.Step] = {
    "s": lambda d, f, p: small.STEPS["s"](d, f, p) / np.sqrt(f["q"].shape[-1]),
    "q": lambda d, f, p: d["s"] @ f["k"],
    "k": lambda d, f, p: d["s"].mT @ f["q"],
}
"""All parameters receive what they should, but `s` is named after scores without the scale."""


@claim(
    "exm-blame",
    "numeric",
    mutants={
        "the softmax of layer 2 is passed as the identity": {"less": 0.0},
        "the value of tired is blamed alone": {"by_key": False},
        "with the loss of the other noun": {"sentence": WIDE},
        "the uses of it are orthogonal too": {"word": "it"},
        "keys of any kind leave the other rows alone": {"drawn": 0.1},
        "no keys read what layer 1 adds": {"read": 0.0},
    },
    scope="both layers; steps of 1e-6 in every score",
)
def blame(
    less: float = 1.0,
    by_key: bool = True,
    sentence: str = TIRED,
    word: str = "tired",
    drawn: float = 0.0,
    read: float = 0.1,
) -> str:
    """Beyond the statement, every score of *it* is moved, and the loss computed again."""
    found = row(sentence)
    it, words = found.it, found.words
    at = [words.index(word) for word in ("animal", "street", "because")]
    require(near(found.weights[1, it, at[0]], 0.764, 5e-4), f"{found.weights[1, it, at[0]]:.3f}")
    require(near(found.loss, 0.269, 5e-4), f"the loss is {found.loss:.3f}")
    dscores = found.weights[1, it] - less * (np.arange(len(words)) == found.noun)
    require(near(dscores[at], (-0.236, 0.116, 0.012), 5e-4), f"layer 2 has {show(dscores[at])}")
    first = found.dscores[0, it]
    require(near(first[[-1, 0]], (-0.075, 0.007), 5e-4), f"layer 1 has {show(first[[-1, 0]])}")
    require(near(GATHER.w_v @ RESOLVE.w_k, 0), "the keys of layer 2 read what layer 1 adds")
    others = _other_rows(sentence, drawn)
    require(others == 0, f"another row has {others:.2g}")
    learned = _other_rows(sentence, read)
    require(learned > 1e-3, f"with keys that read it another row has {learned:.2g}")
    uses = found.paths[:, words.index(word)]
    products = np.abs(np.triu(uses @ uses.T, 1))
    require(near(products, 0), f"two uses of {word} have the product {products.max():.3f}")
    arrives = found.paths[:, -1]
    sizes = {name: float(np.linalg.norm(x)) for name, x in zip(PATHS, arrives, strict=True)}
    total = float(np.linalg.norm(arrives.sum(axis=0)))
    want = {"value 1": 0.496, "key 1": 0.298, "key 2": 0.035}
    for name, size in want.items():
        require(near(sizes[name], size, 5e-4), f"tired receives {sizes[name]:.3f} by {name}")
    counted = [name for name in want if by_key or name == "value 1"]
    summed = float(np.hypot.reduce([sizes[name] for name in counted]))
    require(near(summed, total, 1e-9), f"the paths make {summed:.3f}, and {total:.3f} arrives")
    for layer in (0, 1):
        for s in range(len(words)):
            moved = [_loss_of(sentence, layer, s, by) for by in (1e-6, -1e-6)]
            slope, want_slope = (moved[0] - moved[1]) / 2e-6, found.dscores[layer, it, s]
            require(near(slope, want_slope, 1e-8), f"score {s} of layer {layer + 1}: {slope:.4g}")
    return (
        "numbers to 5e-4; all 24 scores of it moved by 1e-6, quotients within 1e-8; the paths to "
        "tired are orthogonal, pair by pair; other rows receive 0, but not with other keys"
    )


def _other_rows(sentence: str, drawn: float) -> float:
    """The largest gradient of a score that another word than *it* gives.

    To the matrix of keys of layer 2 a normal draw of that size is added.
    """
    noise = drawn * np.random.default_rng(0).standard_normal(RESOLVE.w_k.shape)
    found = row(sentence, RESOLVE.w_k + noise)
    return float(np.abs(np.delete(found.dscores, found.it, axis=1)).max())


def _loss_of(sentence: str, layer: int, s: int, by: float) -> float:
    """The loss if one score of *it* is moved."""
    found = row(sentence)
    x, moves = embed(found.words), np.zeros((2, len(found.words)))
    moves[layer, s] = by
    scores = x[found.it] @ GATHER.w_q @ (x @ GATHER.w_k).T + moves[0]
    heard = x[found.it] + ref.softmax(scores) @ x @ GATHER.w_v
    keys = x @ RESOLVE.w_k
    scores = heard @ RESOLVE.w_q @ keys.T / keys.shape[-1] ** 0.5 + moves[1]
    return float(-np.log(ref.softmax(scores)[found.noun]))


@claim(
    "thm-uses",
    "symbolic",
    mutants={
        "the last use overwrites": {"adds": False},
        "in the order of the way there": {"backwards": False},
    },
    scope="40 random programs of up to 6 steps, symbols",
)
def uses(adds: bool = True, backwards: bool = True) -> str:
    """Programs of sums, products and squares, in which values are used again and again."""
    for seed in range(40):
        rng = np.random.default_rng(seed)
        first = list(sp.symbols("x y", real=True))
        values, steps = list(first), []
        for _ in range(int(rng.integers(2, 7))):
            kind, used = (
                ("sum", "product", "square")[rng.integers(3)],
                rng.integers(len(values), size=2),
            )
            a, b = values[used[0]], values[used[1]]
            made = sp.expand({"sum": a + 2 * b, "product": a * b, "square": a**2 + b}[kind])
            if sp.Poly(made, *first).total_degree() > 8:
                continue
            steps.append((kind, used, len(values)))
            values.append(made)
        gradient = [sp.Integer(0)] * (len(values) - 1) + [sp.Integer(1)]
        for kind, used, place in reversed(steps) if backwards else steps:
            a, b = values[used[0]], values[used[1]]
            by = {"sum": (1, 2), "product": (b, a), "square": (2 * a, 1)}[kind]
            for one, slope in zip(used, by, strict=True):
                passed = gradient[place] * slope
                gradient[one] = gradient[one] + passed if adds else passed
        for symbol, got in zip(first, gradient, strict=False):
            identity(got, sp.diff(values[-1], symbol), f"program {seed}, the gradient of {symbol}")
    return "the derivatives of 40 programs, by SymPy, are what is added up on the way back"


@claim(
    "prop-linear-vjp",
    "symbolic",
    mutants={
        "the matrix is not transposed": {"turned": False},
        "the bias keeps one word": {"summed": False},
        "as many products back as there": {"times": 1},
    },
    scope="sizes ≤ 3, symbols; products counted at 3 sizes",
)
def linear(turned: bool = True, summed: bool = True, times: int = 2) -> str:
    """Derivatives by symbols; then the matrix products of the small model are counted."""
    for n, d, m in ((1, 2, 2), (2, 2, 2), (3, 2, 2), (2, 3, 3)):
        x, w, b, dy = table("x", n, d), table("w", d, m), symbols("b", m), table("g", n, m)
        loss = ((x @ w + b) * dy).sum()
        dx = dy @ (w.T if turned else w) if d == m else dy @ w.T
        db = dy.sum(axis=0) if summed else dy[-1]
        for given, stated in ((x, dx), (w, x.T @ dy), (b, db)):
            got = np.array([sp.diff(loss, one) for one in given.ravel()]).reshape(given.shape)
            identity(got, stated, f"the gradient, n = {n}, d = {d}, m = {m}")
    for sizes in ((3, 5, 6, 4, 10), (1, 8, 4, 4, 16), (2, 2, 3, 5, 7)):
        found = products(*sizes)
        back = sum(found.values()) - found["there"]
        require(back == times * found["there"], f"{found['there']} there, {back} back")
    return (
        "derivatives for symbols; the matrix products of a model of one block, counted at three "
        "sizes: twice as many multiplications back as there"
    )


@claim(
    "prop-cross-entropy-vjp",
    "symbolic",
    mutants={
        "without what came": {"came": 0},
        "also of the probabilities": {"by": "p"},
    },
    scope="N ≤ 4, symbols; the library, 60 rows",
)
def cross_entropy(came: int = 1, by: str = "z") -> str:
    """Symbols; then the library's loss and gradient, and the sum and size of its entries."""
    for n in (2, 3, 4):
        z = symbols("z", n)
        total = sum(sp.exp(one) for one in z)
        p = np.array([sp.exp(one) / total for one in z])
        for word in range(n):
            e = np.array([came * int(i == word) for i in range(n)])
            loss = sp.log(total) - z[word]
            got = np.array([sp.diff(loss, one) for one in z])
            identity(got, p - e if by == "z" else -e / p, f"word {word} of {n}")
    for seed in range(60):
        rng = np.random.default_rng(seed)
        z, word = 4 * rng.standard_normal(rng.integers(2, 50)), 0
        got = ref.cross_entropy_vjp(z[None], np.array([word]), np.ones(1))[0]
        want = ref.softmax(z) - came * (np.arange(len(z)) == word)
        require(near(got, want), f"row {seed}: {show(got[:3])}, not {show(want[:3])}")
        require(near(got.sum(), 0) and np.abs(got).sum() <= 2, f"row {seed}: sum {got.sum():.3g}")
    return "derivatives for symbols, N ≤ 4, every word; the library's gradient of 60 rows"


def _problem(seed: int) -> tuple[small.Table, np.ndarray, np.ndarray]:
    sizes = ((6, 4, 10), (3, 5, 2), (4, 1, 4))
    tokens = np.random.default_rng(seed).integers(0, 7, (3 - seed, 6))
    return small.drawn(seed, *sizes[seed]), tokens[:, :-1], tokens[:, 1:]


@claim(
    "thm-way-back",
    "numeric",
    mutants={
        "softmax's −pᵀ p is forgotten": _slip("s", "softmax's −pᵀ p is forgotten"),
        "what goes past is forgotten": _slip("x1", "what goes past the layer is forgotten"),
        "the scale is forgotten": _slip("q", "the scale is forgotten"),
        "only the head's use is counted": _slip("E", "only the head's use is counted"),
        "s is named after scores without the scale": {"planted": UNSCALED},
    },
    scope="all 23 lines; autograd, differences, SymPy; three sizes",
)
def way_back(planted: dict[str, small.Step] | None = None) -> str:
    """Every line against judges that know nothing of the derivation."""
    lines = planted or {}
    for seed in range(3):
        p, given, comes = _problem(seed)
        got = small.backward(small.forward(p, given, comes), p, lines)
        found = _by_autograd(p, given, comes)
        for name in p:
            worst = float(np.abs(got[name] - found[name]).max() / np.abs(found[name]).max())
            require(worst < 1e-10, f"d{name} and autograd differ by a share of {worst:.2g}")
    calm = {name: 0.3 * x for name, x in small.drawn().items()}
    given, comes = texts()
    got = small.backward(small.forward(calm, given, comes), calm, lines)
    for name, worst in (gradient_check(calm, got) | intermediate_check(calm, got)).items():
        require(worst < 1e-6, f"d{name} and central differences differ by a share of {worst:.2g}")
    _by_symbols(lines)
    return (
        "parameters of three models against autograd (1e-10); those of one, and all that lies "
        "between, by central differences (1e-6); attention by SymPy, two words of width 1"
    )


def _by_autograd(p: small.Table, given: np.ndarray, comes: np.ndarray) -> small.Table:
    """The gradients that PyTorch finds of the library's decoder with these parameters."""
    import torch

    from tformer import fast

    tensors = tree_map(lambda x: torch.from_numpy(x).requires_grad_(), small.as_model(p))
    c = Configuration(norm="rms", activation="gelu", positions="none")
    logits = fast.decoder(torch.from_numpy(given), tensors, c)
    loss = fast.cross_entropy(logits, torch.from_numpy(comes)).mean()
    found = [x.numpy() for x in torch.autograd.grad(loss, leaves(tensors))]
    places = leaves(small.as_model({name: np.full((1, 1), i) for i, name in enumerate(p)}))
    names = [list(p)[int(place.flat[0])] for place in places]
    return {name: x.reshape(p[name].shape) for name, x in zip(names, found, strict=True)}


def _by_symbols(lines: dict[str, small.Step]) -> None:
    """The lines of attention for two words and width 1, against SymPy's derivatives."""
    q, k, v, dy = (table(name, 2, 1) for name in "qkvg")
    terms = np.array([[1, 0], [sp.exp(one) for one in (q[1, 0] * k[:, 0])]], dtype=object)
    a = terms / terms.sum(axis=1, keepdims=True)
    loss = (dy * (a @ v)).sum()
    f, d = {"q": q[None], "k": k[None], "v": v[None], "a": a[None]}, {"y": dy[None]}
    for name in ("v", "a", "s", "q", "k"):
        d[name] = (small.STEPS | lines)[name](d, f, {})
    for name, x in {"q": q, "k": k, "v": v}.items():
        want = np.array([[sp.diff(loss, one)] for one in x[:, 0]])
        identity(d[name][0] * sp.Integer(1), want, f"d{name}")
