"""The claims of chapter 22's deeper page: the delta rule, a rotation undone, streams, queues."""

from __future__ import annotations

import numpy as np

from tformer import reference as ref
from tformer.layer_configuration import Routing
from tformer_book.chapters.ch22 import story_kept
from tformer_book.claims.registry import claim, require
from tformer_book.claims.tools import near

Array = np.ndarray


@claim(
    "prop-delta-chunks",
    "numeric",
    mutants={
        "a token corrects itself twice": {"diagonal": True},
        "the decay inside a chunk is left out": {"decays": False},
        "the output does not see its own token": {"own": False},
    },
    scope="20 texts of 12 tokens, widths 5 and 3, one chunk and many",
)
def delta_chunks(diagonal: bool = False, decays: bool = True, own: bool = True) -> str:
    """One triangular system for a whole text, a token at a time, and the library's chunks."""
    rng = np.random.default_rng(0)
    for _ in range(20):
        q, k = rng.normal(size=(2, 12, 5))
        v, start = rng.normal(size=(12, 3)), rng.normal(size=(5, 3))
        alpha, beta = rng.uniform(0.6, 1.0, 12), rng.uniform(0.0, 0.3, 12)
        state, want = start, np.zeros((12, 3))
        for t in range(12):
            kept = alpha[t] * state
            state = kept + beta[t] * np.outer(k[t], v[t] - k[t] @ kept)
            want[t] = q[t] @ state
        gamma = np.cumprod(alpha)
        ratio = gamma[:, None] / gamma if decays else np.ones((12, 12))
        below = np.tril(ratio * (k @ k.T), 0 if diagonal else -1)
        right = beta[:, None] * (v - gamma[:, None] * (k @ start))
        u = np.linalg.solve(np.eye(12) + beta[:, None] * below, right)
        seen = np.tril(ratio * (q @ k.T), 0 if own else -1)
        got = gamma[:, None] * (q @ start) + seen @ u
        require(near(got, want, 1e-10), f"in one system: off by {abs(got - want).max():.3f}")
        given = (q, k, v, np.log(alpha)[:, None], beta, start)
        for chunk in (1, 5, 64):
            y, last = ref.chunked_gated_delta_rule(*given, chunk=chunk)
            off = max(abs(y - want).max(), abs(last - state).max())
            require(off < 1e-10, f"the library in chunks of {chunk}: off by {off:.3f}")
    return "token by token against one system, and the library in chunks of 1, 5 and 64, to 1e-10"


@claim(
    "prop-undone-rotation",
    "numeric",
    mutants={
        "nothing is rotated back": {"way": 0},
        "it is rotated once more": {"way": 1},
        "values that are not rotated may be rotated back": {"turned": False},
    },
    scope="20 texts of 9 tokens, width 8, shifts of 1, 7 and 1000",
)
def undone_rotation(way: int = -1, turned: bool = True) -> str:
    """Rotated keys as values, and the library's attention, at shifted positions."""
    rng = np.random.default_rng(0)
    for _ in range(20):
        q, c = rng.normal(size=(2, 9, 8))
        found = []
        for shift in (0, 1, 7, 1000):
            turns = ref.sinusoidal(np.arange(9) + shift, 8)
            keys = ref.rope(c, turns)
            values = keys if turned else c
            y = ref.attention(ref.rope(q, turns), keys, values, ref.causal_mask(9, 9))
            again = ref.sinusoidal(way * (np.arange(9) + shift), 8)
            found.append(ref.rope(y, again))
        off = max(abs(y - found[0]).max() for y in found)
        # angles of a thousand tokens are rounded at 1e-13
        require(off < 1e-10, f"a shift of all positions moves the output by {off:.3f}")
    return "the library's attention at four places of each text, to 1e-10"


@claim(
    "prop-stream-mixing",
    "numeric",
    mutants={
        "rows that sum to 1 are enough for the bound": {"columns": False},
        "one round of Sinkhorn's iteration keeps the sum": {"rounds": 1},
        "rows are the new streams": {"turned": True},
    },
    scope="200 draws of 4 streams of width 6, 1 to 20 rounds",
)
def stream_mixing(columns: bool = True, rounds: int = 500, turned: bool = False) -> str:
    """The library's matrices and mixtures against sums in loops; then many rounds for the sum."""
    rng = np.random.default_rng(0)
    for _ in range(200):
        logits, x = rng.normal(size=(4, 4)), rng.normal(size=(4, 6))
        x[1:] = x[0] + 0.1 * x[1:]
        nothing = np.zeros((1, 6)), np.zeros((1, 4))
        for n in (1, 2, 20):
            m = ref.sinkhorn(logits, n) if columns else ref.softmax(logits)
            new = [sum(m[i, j] * x[i] for i in range(4)) for j in range(4)]
            mixed = (m @ x)[None] if turned else ref.write_streams(x[None], *nothing, m[None])
            require(near(mixed[0], new, 1e-12), f"mixed: {abs(mixed[0] - new).max():.3f} apart")
            longest = [max(np.sqrt((row**2).sum()) for row in rows) for rows in (x, new)]
            grown = longest[1] / longest[0]
            require(bool(grown < 1 + 1e-12), f"the longest stream is {grown:.3f} times as long")
        m = ref.sinkhorn(logits, rounds, 1e-15)
        off = abs(sum(x[i] - sum(m[i, j] * x[i] for j in range(4)) for i in range(4))).max()
        require(off < 1e-10, f"the sum of the streams moves by {off:.3f}")
    return "no stream is longer after 1, 2 and 20 rounds; after 500 the sum stays, to 1e-10"


@claim(
    "prop-overflow-order",
    "numeric",
    mutants={
        "with two experts later tokens cannot matter": {"free": 2},
        "with one expert they can": {"free": 0},
        "tokens come in order, whatever they rank first": {"ranked": False},
    },
    scope="600 texts of 9 tokens, 4 experts, 1 to 3 chosen",
)
def overflow_order(free: int = 1, ranked: bool = True) -> str:
    """Queues of experts in loops; then other last tokens, for each number of chosen experts."""
    rng = np.random.default_rng(0)
    moved = [0, 0, 0, 0]
    for i in range(600):
        k, capacity = 1 + i % 3, int(rng.integers(0, 10))
        logits = rng.normal(size=(9, 4))
        g = ref.top_k_routing(logits, Routing(k, renormalise=True))
        got = ref.drop_overflow(g, capacity)
        want = _queued(g, capacity, ranked)
        require(bool((got == want).all()), f"{k} chosen: {abs(got - want).max():.3f} apart")
        other = np.concatenate([g[:5], g[5:][:, ::-1]])
        moved[k] += bool((ref.drop_overflow(other, capacity)[:5] != got[:5]).any())
    for k in (1, 2, 3):
        says = f"{k} chosen: other tokens behind moved {moved[k]} texts of 200"
        require((moved[k] == 0) == (k <= free), says)
    return "the library against queues in loops; later tokens matter from two experts on"


def _queued(g: Array, capacity: int, ranked: bool) -> Array:
    """Tokens that ask their experts one after the other, all first choices before any second."""
    kept, n_taken = np.zeros_like(g), [0] * g.shape[1]
    asks = []
    for t, row in enumerate(g):
        chosen = sorted(np.flatnonzero(row), key=lambda e: -row[e])
        asks += [(r if ranked else 0, t, e) for r, e in enumerate(chosen)]
    for _, t, e in sorted(asks):
        if n_taken[e] < capacity:
            kept[t, e] = g[t, e]
            n_taken[e] += 1
    return kept


STORIES = {
    "as it is": ((1.00, 1.00, 1.00), (0.08, 0.08, 0.10), (1.00, 1.00, 1.00)),
    "sinks": ((1.00, 1.00, 1.00), (0.10, 0.08, 0.06), (1.00, 1.00, 1.00)),
    "experts": ((1.00, 1.00, 0.98), (0.12, 0.05, 0.06), (1.00, 1.00, 0.98)),
    "window": ((1.00, 1.00, 1.00), (1.00, 1.00, 1.00), (0.06, 0.11, 0.12)),
    "window, then all": ((1.00, 1.00, 1.00), (0.18, 0.13, 0.12), (1.00, 1.00, 1.00)),
    "too short a window": ((0.43, 0.42, 0.47), (0.43, 0.42, 0.47), (0.07, 0.06, 0.05)),
}
"""Right patients for three seeds: nothing hidden, nouns hidden from the last word, from others."""


@claim(
    "exm-story-versions",
    "empirical",
    mutants={
        "without a window the words between carry the nouns": {"direct": "others cut"},
        "with a window the last word reads the nouns itself": {"relayed": "last word cut"},
        "the pronoun carries the nouns in every seed": {"words": ("it", "it", "it")},
        "the short window is enough": {"enough": 0.4},
    },
    scope="eighteen stored trainings, 504 held-out tales",
)
def story_versions(
    direct: str = "last word cut",
    relayed: str = "others cut",
    words: tuple[str, ...] = ("because", "it", "it"),
    enough: float = 0.95,
) -> str:
    """The table from stored runs; then which cut leaves little, and which word carries."""
    for version, stated in STORIES.items():
        for cut, shares in zip(("whole", "last word cut", "others cut"), stated, strict=True):
            got = story_kept.right(version, cut)
            require(near(got, shares, 6e-3), f"{version}, {cut}: {got}")
        whole = story_kept.right(version)
        reaches = version != "too short a window"
        require(bool((whole > enough).all() == reaches), f"{version}: {whole} are right")
        if reaches:
            needed = relayed if version == "window" else direct
            left = story_kept.right(version, needed)
            require(left.max() < 0.2, f"{version}, {needed}: {left} stay right")
    found = story_kept.carrier("window")
    require(tuple(word for word, _ in found) == words, f"the nouns are carried by {found}")
    require(max(left for _, left in found) <= 0.5, f"without the carrier: {found}")
    return "the table to .006; one cut leaves less than .2, the other costs nothing; the carriers"
