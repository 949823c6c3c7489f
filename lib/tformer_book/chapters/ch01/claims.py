"""The claims of chapter 1, dot products: geometry and tables."""

from __future__ import annotations

from itertools import product
from math import sqrt

import numpy as np
import sympy as sp

from tformer import reference as ref
from tformer_book.claims.registry import claim, require
from tformer_book.claims.tools import (
    Array,
    Counted,
    circles,
    formula,
    grid,
    identity,
    near,
    row,
    show,
    sizes,
    table,
)

Q_BY_HAND, K_BY_HAND = np.array([3.0, 4.0]), np.array([4.0, 3.0])


@claim(
    "prop-law-of-cosines",
    "symbolic",
    mutants={"the cross term once": {"factor": 1}},
    scope="widths 1 to 5, every coordinate",
)
def law_of_cosines(factor: int = 2) -> str:
    """Symbols to d = 5; beyond the statement, the library's tables on a grid."""
    dot, squared_distance = formula(ref.dot), formula(ref.squared_distance)
    for d in sizes(5):
        q, k = row("q", d), row("k", d)
        right = dot(q, q) + dot(k, k) - factor * dot(q, k)
        identity(squared_distance(q, k), right, f"‖q − k‖² = ‖q‖² + ‖k‖² − {factor} q·k")
    vectors = grid(2)
    squares = ref.norm(vectors) ** 2
    want = squares[:, None] + squares - factor * ref.pairwise_dot(vectors, vectors)
    require(near(ref.pairwise_squared_distance(vectors, vectors), want), "the table differs")
    return (
        f"by the library's formulas for symbols, d ≤ {d}; "
        f"its tables agree on all {want.size} pairs of vectors of {{−2, …, 2}}² within 1e-12"
    )


@claim(
    "exm-dot-by-hand",
    "numeric",
    mutants={"divide by one norm only": {"power": 1}},
    scope="all its numbers",
)
def dot_by_hand(power: int = 2) -> str:
    """Every number of the example, by the library."""
    q, k = Q_BY_HAND, K_BY_HAND
    require(ref.dot(q, k) == 24, f"q·k = {ref.dot(q, k):g}, not 24")
    require(ref.norm(q) == ref.norm(k) == 5, f"norms {ref.norm(q):g}, {ref.norm(k):g}, not 5, 5")
    cosine = ref.cosine_similarity(q, k)
    require(near(cosine, 0.96), f"cosine {cosine:.4f}, not 0.96")
    angle = np.degrees(np.arccos(cosine))
    require(near(angle, 16.26, 0.005), f"angle {angle:.4f}°, not 16.26°")
    foot = ref.dot(q, k) / ref.norm(k) ** power * k
    require(near(foot, (3.84, 2.88)), f"(q·k/‖k‖^{power})k = {show(foot)}, not (3.84, 2.88)")
    require(near(ref.projection(q, k), foot), f"projection {show(ref.projection(q, k))}")
    remainder = q - ref.projection(q, k)
    require(near(remainder, (-0.84, 1.12)), f"remainder {show(remainder)}, not (-0.84, 1.12)")
    require(near(ref.dot(remainder, k), 0), f"remainder·k = {ref.dot(remainder, k):g}, not 0")
    return (
        "24 and 5 exactly; 0.96, (3.84, 2.88), (−0.84, 1.12) and the remainder's dot product 0 "
        "within 1e-12; 16.26° to two decimals"
    )


@claim(
    "thm-projection",
    "symbolic",
    mutants={"divide by ‖k‖, not its square": {"power": 1}},
    scope="widths 1 to 4, every coordinate",
)
def projection(power: int = 2) -> str:
    """The two identities of the proof for symbols, d ≤ 4, and the library's projection."""
    dot, squared_distance, t = formula(ref.dot), formula(ref.squared_distance), sp.Symbol("t")
    for d in sizes(4):
        q, k = row("q", d), row("k", d)
        nearest = dot(q, k) / sp.sqrt(dot(k, k)) ** power
        identity(dot(q - nearest * k, k), 0, f"remainder·k = 0 in R^{d}")
        identity(formula(ref.projection)(q, k), nearest * k, "projection = (q·k/‖k‖²)k")
        identity(squared_distance(q, k), ((q - k) ** 2).sum(), "‖q − k‖² by coordinates")
        beyond = squared_distance(q, nearest * k) + (t - nearest) ** 2 * dot(k, k)
        identity(squared_distance(q, t * k), beyond, "‖q − tk‖² = ‖q − t*k‖² + (t − t*)²‖k‖²")
    return f"‖q − tk‖² = ‖q − t*k‖² + (t − t*)²‖k‖² and (q − t*k)·k = 0 for symbols, d ≤ {d}"


@claim(
    "thm-cauchy-schwarz",
    "symbolic",
    mutants={"a constant below one": {"constant": 0.9}},
    scope="widths 1 to 5, every coordinate",
)
def cauchy_schwarz(constant: float = 1.0) -> str:
    """Lagrange's identity gives the bound and its equality; for symbols, d ≤ 5."""
    vectors = grid(3)
    dots, norms = np.abs(ref.pairwise_dot(vectors, vectors)), ref.norm(vectors)
    bound = constant * norms[:, None] * norms
    i, j = np.unravel_index(np.argmax(dots - bound), dots.shape)
    above = f"|q·k| = {dots[i, j]:g} > {bound[i, j]:g} = {constant:g}·‖q‖‖k‖"
    require(near(dots, np.minimum(dots, bound)), f"{show(vectors[i])}, {show(vectors[j])}: {above}")
    parallel = (np.cross(vectors[:, None], vectors) == 0).all(axis=-1)
    require(np.array_equal(np.isclose(dots, bound), parallel), "equality off the multiples")
    dot = formula(ref.dot)
    for d in sizes(5):
        q, k = row("q", d), row("k", d)
        minors = sum((q[i] * k[j] - q[j] * k[i]) ** 2 for j in range(d) for i in range(j))
        identity(dot(q, q) * dot(k, k) - dot(q, k) ** 2, minors, f"Lagrange's identity in R^{d}")
    return (
        f"‖q‖²‖k‖² − (q·k)² = Σ_{{i<j}} (q_i k_j − q_j k_i)² for symbols, d ≤ {d} (Lagrange's "
        "identity)"
        f"; inequality and equality on all {dots.size} pairs of vectors of {{−2, …, 2}}³"
    )


@claim(
    "prop-rotation",
    "symbolic",
    mutants={"R stretches by two": {"stretch": 2}},
    scope="widths 1 to 3, every coordinate",
)
def rotation(stretch: int = 1) -> str:
    """Symbols to d = 3; of the orthogonal matrices those of Cayley's form, and one turn."""
    dot = formula(ref.dot)
    for d in sizes(3):
        q, k, matrix = row("q", d), row("k", d), table("r", d, d)
        identity(dot(q @ matrix, k @ matrix), q @ (matrix @ matrix.T) @ k, "(qR)·(kR) = q(RRᵀ)kᵀ")
        skew = sp.Matrix(np.triu(matrix, 1) - np.triu(matrix, 1).T)
        orthogonal = stretch * (sp.eye(d) - skew) * (sp.eye(d) + skew).inv()
        identity(orthogonal * orthogonal.T, sp.eye(d), "RRᵀ = I")
    vectors = grid(2)
    turned = vectors @ (stretch * np.array([[0.6, 0.8], [-0.8, 0.6]]))
    dots = vectors @ vectors.T
    require(near(ref.pairwise_dot(turned, turned), dots), "a turn changes the table")
    return (
        f"(qR)·(kR) = q(RRᵀ)kᵀ for symbols, d ≤ {d}, which is q·k for all q, k only if RRᵀ = I; "
        "Cayley's R = (I − A)(I + A)⁻¹ satisfies it; no other orthogonal R is tried but a turn"
    )


@claim(
    "prop-table-of-dots",
    "symbolic",
    mutants={"rank below the width": {"slack": -1}},
    scope="key widths 1 to 3, every entry",
)
def table_of_dots(slack: int = 0) -> str:
    """Symbols to d_k = 3; beyond the statement, the identity as Q and K reaches the rank."""
    dot, pairwise_dot = formula(ref.dot), formula(ref.pairwise_dot)
    for width in sizes(3):
        full = sp.Matrix(pairwise_dot(np.eye(width), np.eye(width))).rank()
        where = f"d_k = {width}, Q = K = I"
        require(full == width + slack, f"{where}: rank {full}, largest possible {width + slack}")
        q, k = table("q", width + 1, width), table("k", width + 2, width)
        dots = pairwise_dot(q, k)
        identity(dots, dot(q[:, None], k), "(QKᵀ)_ts = q_t·k_s")
        minor = sp.Matrix(dots[:, : width + 1]).det(method="berkowitz")
        identity(minor, 0, f"minor of size {width + 1} = 0")
    return (
        f"entries and shape for symbols, d_k ≤ {width}; every minor of size d_k + 1 vanishes, so "
        "the rank "
        "is at most d_k, which Q = K = I reaches"
    )


@claim(
    "prop-table-cost",
    "exhaustive",
    mutants={"d_k additions an entry": {"saved": 0}},
    scope="all sizes to 4 × 4 × 4",
)
def table_cost(saved: int = 1) -> str:
    """Counted at small sizes, as the library's formula computes."""
    for n_queries, n_keys, width in product(sizes(4), repeat=3):
        done: list[str] = []
        counted = np.full((4, 4), Counted(done), dtype=object)
        formula(ref.pairwise_dot)(counted[:n_queries, :width], counted[:n_keys, :width])
        counts = done.count("×"), done.count("+")
        want = n_queries * n_keys * width, n_queries * n_keys * (width - saved)
        where = f"T, S, d_k = {n_queries}, {n_keys}, {width}"
        require(counts == want, f"{where}: {counts} multiplications and additions, not {want}")
    return f"counted by numbers that record their use, all 64 sizes with T, S, d_k ≤ {width}"


@claim(
    "exm-table-by-hand",
    "exhaustive",
    mutants={"K reshaped, not transposed": {"reshaped": True}},
    scope="all six entries",
)
def table_by_hand(reshaped: bool = False) -> str:
    """The table, and what each of the two queries reads off."""
    queries = np.array([[1.0, 0.0], [1.0, 1.0]])
    keys = np.array([[1.0, 2.0], [0.0, 1.0], [3.0, -1.0]])
    if reshaped:
        keys = keys.reshape(2, 3).T
    dots = ref.pairwise_dot(queries, keys)
    want = [[1, 0, 3], [3, 1, 2]]
    require(np.array_equal(dots, want), f"QKᵀ = {dots.astype(int).tolist()}, not {want}")
    read = keys[:, 0], keys.sum(axis=-1)
    require(np.array_equal(dots, read), f"first coordinates and sums {show(read)}, not the rows")
    return "all six entries, exactly; the first row is the keys' first coordinates, the second sums"


@claim(
    "prop-rankings-agree",
    "symbolic",
    mutants={"norms differ": {"squares": (25, 50)}},
    scope="widths 1 to 5, every coordinate",
)
def rankings_agree(squares: tuple[int, ...] = (25,)) -> str:
    """Ties count: two keys at one level must be at one level in all three orders."""
    queries, keys = grid(2, range(-3, 4)), circles(squares)
    queries = queries[queries.any(axis=-1)]
    by_dot = _preferences(ref.pairwise_dot(queries, keys))
    by_cosine = _preferences(ref.pairwise_cosine(queries, keys))
    by_distance = _preferences(-ref.pairwise_squared_distance(queries, keys))
    for t, i, j in np.argwhere((by_dot != by_cosine) | (by_dot != by_distance)):
        pair = f"the keys {show(keys[i])} and {show(keys[j])}"
        require(False, f"q = {show(queries[t])}: the three measures order {pair} differently")
    dot, squared_distance = formula(ref.dot), formula(ref.squared_distance)
    for d in sizes(5):
        q, a, b = row("q", d), row("a", d), row("b", d)
        identity(dot(q, a), (q * a).sum(), "q·a by coordinates")
        closer = squared_distance(q, b) - squared_distance(q, a) - dot(b, b) + dot(a, a)
        identity(closer, 2 * (dot(q, a) - dot(q, b)), "‖q − b‖² − ‖q − a‖² = 2(q·a − q·b)")
    return (
        f"‖q − b‖² − ‖q − a‖² = 2(q·a − q·b) + ‖b‖² − ‖a‖² for symbols, d ≤ {d}; same order of "
        f"the {len(keys)} integer keys of norm 5 for each query q ≠ 0 of {{−3, …, 3}}²"
    )


def _preferences(scores: Array) -> Array:
    """For each query: +1, 0 or −1 as key i scores above, level with or below key j."""
    return np.sign(np.round(scores[:, :, None] - scores[:, None, :], 9))


@claim(
    "exm-rankings-differ",
    "numeric",
    mutants={"keys of norm one": {"unit": True}},
    scope="all nine numbers",
)
def rankings_differ(unit: bool = False) -> str:
    """Beyond the statement, the nine numbers behind the three winners."""
    query, keys = np.array([[1.0, 0.0]]), np.array([[4.0, 3.0], [0.5, 0.0], [1.0, 0.3]])
    if unit:
        keys /= ref.norm(keys)[:, None]
    dots, cosines = ref.pairwise_dot(query, keys)[0], ref.pairwise_cosine(query, keys)[0]
    distances = ref.pairwise_squared_distance(query, keys)[0]
    winners = int(dots.argmax()), int(cosines.argmax()), int(distances.argmin())
    picked = f"dot, cosine, distance pick keys {tuple(w + 1 for w in winners)}"
    require(winners == (0, 1, 2), f"{picked}, not (1, 2, 3)")
    require(near(dots, (4, 0.5, 1)) and near(distances, (18, 0.25, 0.09)), "other numbers")
    require(near(cosines, (0.8, 1, 1 / sqrt(1.09))), "other cosines")
    return "dots 4, 0.5, 1; cosines 0.8, 1, 0.958; squared distances 18, 0.25, 0.09 (1e-12)"
