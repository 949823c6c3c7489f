"""What becomes of the best size if the tables of tokens are not counted.

With tables n parameters in the blocks stand beside some T n^(1/3) in the tables: the width of a
model of one shape grows as the cube root of its blocks. Who counts n, and 6 n D for the compute,
sees another exponent [pearce2024].
"""

import numpy as np

from tformer_book.experiments.scaling import Law

__all__ = ["SEEN", "TABLES", "apparent", "budgets"]

TABLES = 47491.0
"""T, from the shapes of the published models, with 32,000 tokens [pearce2024]."""
SEEN = (768.0, 1.5e9)
"""The smallest and the largest n of the study that did not count them [kaplan2020]."""


def budgets(law: Law, n: np.ndarray, tables: float = TABLES) -> np.ndarray:
    """The compute 6 n D at which n is best.

    With N = n + T n^(1/3) the condition is α A N^-(α + 1) N' n = β B D^-β, which gives D.
    """
    every = n + tables * n ** (1 / 3)
    grows = 1 + tables / 3 * n ** (-2 / 3)
    gain = law.alpha * law.a * every ** -(law.alpha + 1) * grows * n
    return np.asarray(6 * n * (law.beta * law.b / gain) ** (1 / law.beta))


def apparent(
    law: Law, low: float = SEEN[0], high: float = SEEN[1], tables: float = TABLES
) -> float:
    """The exponent of a line through log n against log compute, evenly in log n."""
    n = np.geomspace(low, high, 200)
    return float(np.polyfit(np.log(budgets(law, n, tables)), np.log(n), 1)[0])
