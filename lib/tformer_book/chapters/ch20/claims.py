"""The claims of chapter 20, from theory: what training costs, and what to buy with a budget."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import sympy as sp
from scipy.optimize import minimize_scalar

from tformer.configuration import Configuration
from tformer.models.sizes import Sizes, count_flops, initialise
from tformer.parameters import named_leaves, tree_map
from tformer_book.claims.registry import claim, require
from tformer_book.claims.tools import identity
from tformer_book.experiments.scaling import Law

GPT = Configuration(activation="gelu_tanh")
LLAMA = Configuration(norm="rms", activation="silu", positions="rope")


@dataclass(frozen=True)
class Trained:
    """A model, how it reads, and the shape of a batch."""

    sizes: Sizes
    configuration: Configuration
    batch: int
    n_tokens: int


TRAINED = (
    Trained(Sizes(11, 8, 2, 2, 32, n_positions=16), GPT, 1, 4),
    Trained(Sizes(40, 12, 1, 3, 48, n_positions=16, tied=False), GPT, 3, 16),
    Trained(Sizes(7, 16, 3, 4, 40, n_groups=2, biased=False, gated=True), LLAMA, 2, 9),
    Trained(Sizes(30, 8, 2, 2, 20, d_k=6, biased=False, gated=True, tied=False), LLAMA, 2, 32),
)
"""Tied and not, with gates and without, heads that share keys, texts short and long."""


def in_matrices(one: Trained, looked_up: bool = False) -> int:
    """How many numbers of a model stand in matrices that rows are multiplied by."""
    drawn = initialise(one.sizes, one.configuration, np.random.default_rng(0))
    head = "embedding" if one.sizes.tied else "unembedding"
    extra = ("embedding",) if looked_up else ()
    names = [(name.split(".")[-1], x.size) for name, x in named_leaves(drawn)]
    return sum(n for name, n in names if name.startswith("w_") or name in (head, *extra))


def counted(one: Trained) -> int:
    """What PyTorch counts in a forward pass and a backward pass."""
    import torch
    from torch.nn.attention import SDPBackend, sdpa_kernel
    from torch.utils.flop_counter import FlopCounterMode

    from tformer import fast

    rng = np.random.default_rng(0)
    drawn = initialise(one.sizes, one.configuration, rng)
    tensors = tree_map(lambda x: torch.from_numpy(x).requires_grad_(), drawn)
    tokens = torch.from_numpy(rng.integers(one.sizes.n_vocab, size=(one.batch, one.n_tokens)))
    with sdpa_kernel(SDPBackend.MATH), FlopCounterMode(display=False) as counter:
        logits = fast.decoder(tokens, tensors, one.configuration)
        fast.cross_entropy(logits, tokens).mean().backward()
    return int(counter.get_total_flops())


@claim(
    "thm-optimum",
    "symbolic",
    mutants={
        "each gets its own exponent": {"swapped": True},
        "both terms are equal at the optimum": {"weighed": False},
        "what is left falls as fast as with size alone": {"jointly": False},
    },
    scope="symbols; 60 random laws against a search",
)
def optimum(swapped: bool = False, weighed: bool = True, jointly: bool = True) -> str:
    """Lagrange's conditions in logarithms; that it is least, by a search over sizes."""
    n, d, a, b, alpha, beta, c = sp.symbols("N D A B alpha beta C", positive=True)
    multiplier = sp.Symbol("lambda")
    loss = sp.Symbol("E") + a * n**-alpha + b * d**-beta
    lagrangian = loss + multiplier * (6 * n * d - c)
    equal = (
        sp.solve(sp.diff(lagrangian, n), multiplier)[0]
        - sp.solve(sp.diff(lagrangian, d), multiplier)[0]
    )
    weights = (alpha, beta) if weighed else (1, 1)
    ratio = weights[0] * a / (weights[1] * b)
    best = (ratio * (c / 6) ** beta) ** (1 / (alpha + beta))
    if swapped:
        best = (ratio * (c / 6) ** alpha) ** (1 / (alpha + beta))
    size, data = (sp.expand_log(sp.log(x), force=True) for x in (best, c / (6 * best)))
    terms = (sp.log(alpha * a) - alpha * size, sp.log(beta * b) - beta * data)
    identity(sp.simplify(equal * 6 * n * d), alpha * a * n**-alpha - beta * b * d**-beta, "equal")
    identity(sp.expand_log(terms[0] - terms[1], force=True), 0, "α A / N^α = β B / D^β")
    grows = sp.diff(terms[0], c) * c
    stated = -alpha * beta / (alpha + beta) if jointly else -alpha
    identity(grows, stated, "the exponent of what lies above the floor")
    for seed in range(60):
        rng = np.random.default_rng(seed)
        low, high = (0.5, 1e2, 1e2, 0.2, 0.2), (2.0, 1e3, 1e4, 0.8, 0.8)
        law, budget = Law(*rng.uniform(low, high)), 10 ** rng.uniform(15, 24)
        at = np.log(law.optimum(budget)[0])
        found = minimize_scalar(
            lambda u, law=law, budget=budget: np.log(
                law.loss(np.exp(u), budget / 6 / np.exp(u)) - law.floor
            ),
            bracket=(at - 1, at + 1.5),
            tol=1e-10,
        ).x
        require(abs(found - at) < 1e-6, f"law {seed}: log N is {found:.4f}, not {at:.4f}")
    return (
        "Lagrange's conditions and the exponents for symbols; for 60 laws and budgets no other "
        "size does better in a search, log N within 1e-6"
    )


@claim(
    "thm-six",
    "numeric",
    mutants={
        "2 for each number, the forward pass alone": {"each": 2},
        "a table that is only looked up costs as much": {"looked_up": True},
        "attention costs nothing": {"looks": 0},
        "half of attention, where the mask hides half": {"looks": 6},
    },
    scope="4 models counted by PyTorch, exactly; shares by symbols",
)
def six(each: int = 6, looks: int = 12, looked_up: bool = False) -> str:
    """The library's own formula is held to the same count; the share of attention by SymPy."""
    for one in TRAINED:
        s, tokens = one.sizes, one.batch * one.n_tokens
        stated = each * in_matrices(one, looked_up)
        stated += looks * s.n_layers * one.n_tokens * s.n_heads * s.head_width
        got, ours = counted(one), 3 * count_flops(s, one.n_tokens, one.batch)
        require(got == ours, f"d = {s.d_model}: PyTorch counts {got}, three passes are {ours}")
        require(got == tokens * stated, f"d = {s.d_model}: counted {got}, said {tokens * stated}")
    d, layers, length = sp.symbols("d L T", positive=True)
    looking, matrices = looks * layers * length * d, each * 12 * layers * d**2
    identity(looking / (looking + matrices), length / (length + 6 * d), "the share of attention")
    return (
        "forward and backward passes of four models, every product counted, to the last one; "
        "the share T / (T + 6 d) for symbols"
    )
