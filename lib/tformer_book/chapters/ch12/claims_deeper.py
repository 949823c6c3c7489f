"""The claims of the deeper page of chapter 12."""

from __future__ import annotations

import numpy as np

from tformer import reference as ref
from tformer.parameters import ModelParameters
from tformer_book.chapters.ch12.kept import Counting
from tformer_book.claims.registry import claim, require
from tformer_book.claims.tools import near


@claim(
    "prop-tied-vjp",
    "numeric",
    mutants={
        "only the lookup": {"head": 0.0},
        "only the head": {"lookup": 0.0},
        "a word that occurs twice counts once": {"once": True},
    },
    scope="20 models without blocks, tables of up to 6 words",
)
def tied(head: float = 1.0, lookup: float = 1.0, once: bool = False) -> str:
    """Every entry of the table is moved, and the loss computed again."""
    for seed in range(20):
        rng = np.random.default_rng(seed)
        n_vocab, d, n_tokens = rng.integers(2, 7), rng.integers(1, 4), 5
        table = rng.standard_normal((n_vocab, d))
        tokens, comes = rng.integers(0, n_vocab, (2, n_tokens))

        def loss(
            table: np.ndarray, tokens: np.ndarray = tokens, comes: np.ndarray = comes
        ) -> float:
            return float(ref.cross_entropy(np.tanh(table[tokens]) @ table.T, comes).sum())

        x = np.tanh(table[tokens])
        dz = ref.cross_entropy_vjp(x @ table.T, comes, np.ones(n_tokens))
        dx, by_head = ref.unembed_vjp(x, ModelParameters(table, ()), dz)
        require(near(dx, dz @ table), f"table {seed}: the vectors receive another gradient")
        drows = dx * (1 - x * x)
        by_lookup = ref.embedding_vjp(tokens, table, drows)
        if once:
            by_lookup = np.zeros_like(table)
            by_lookup[tokens] = drows
        got = head * by_head.embedding + lookup * by_lookup
        for place in np.ndindex(table.shape):
            step = np.zeros_like(table)
            step[place] = 1e-5
            want = (loss(table + step) - loss(table - step)) / 2e-5
            said = f"table {seed}, entry {place}: {got[place]:.5g}, not {want:.5g}"
            require(near(got[place], want, 1e-7), said)
    return "every entry of 20 tied tables by central differences, within 1e-7"


@claim(
    "prop-order",
    "exhaustive",
    mutants={
        "the other order is as cheap": {"forwards": "back"},
        "one product less": {"less": 1},
    },
    scope="widths d ≤ 8, up to 6 steps: products counted",
)
def order(forwards: str = "there", less: int = 0) -> str:
    """A row and matrices, multiplied from either end; the results agree."""
    for d in range(2, 9):
        for n_steps in range(2, 7):
            rng = np.random.default_rng(d)
            row = rng.standard_normal((1, d)).view(Counting)
            steps = [one.view(Counting) for one in rng.standard_normal((n_steps, d, d))]
            counts, results = {}, []
            for way in ("back", "there"):
                Counting.done = 0
                if way == "back":
                    made = row
                    for one in reversed(steps):
                        made = made @ one.T
                else:
                    made = steps[0].T
                    for one in steps[1:]:
                        made = one.T @ made
                    made = row @ made
                counts[way] = Counting.done
                results.append(np.asarray(made))
            require(near(results[0], results[1], 1e-9), "the two orders give different gradients")
            want = (n_steps - less) * d**2
            require(counts["back"] == want, f"back takes {counts['back']}, not {want}")
            want, got = (n_steps - 1) * d**3 + d**2, counts[forwards]
            require(got == want, f"there takes {got}, not {want}")
    return "multiplications of both orders, counted for 35 chains; both give one gradient"


@claim(
    "prop-groups",
    "numeric",
    mutants={
        "groups of one are best to any depth": {"deepest": 100},
        "without the factor": {"factor": 1.0},
    },
    scope="b/r = 4, 16 and 32, up to 200 blocks, all sizes of groups",
)
def groups(deepest: float = 2.0, factor: float = 2.0) -> str:
    """All sizes of groups are tried, whether they divide the depth or not."""
    for ratio in (4, 16, 32):
        for depth in range(1, 201):
            sizes = np.arange(1, depth + 1)
            kept = depth / sizes + sizes * ratio
            least = factor * (depth * ratio) ** 0.5
            require((kept >= least - 1e-9).all(), f"{depth} blocks: {kept.min():.4g} < {least:.4g}")
            if depth <= deepest * ratio:
                best = int(kept.argmin()) + 1
                alike = kept[0] <= kept.min() + 1e-9
                require(bool(alike), f"{depth} blocks, b = {ratio} r: groups of {best} are better")
    for ratio in (4, 16):
        depth = ratio * 9
        got, want = depth / 3 + 3 * ratio, factor * (depth * ratio) ** 0.5
        require(near(got, want), f"{depth} blocks in threes keep {got:.4g}, not {want:.4g}")
    return "all sizes of groups at 600 depths; the bound is reached where its square root is whole"
