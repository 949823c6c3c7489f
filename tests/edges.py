"""The edge contract: what softmax and its relatives give for one row, by decision 006."""

from typing import Any

import numpy as np

INF, NAN = np.inf, np.nan
EDGES: dict[str, dict[str, tuple[list[float], Any]]] = {
    "softmax": {
        "fully masked": ([-INF, -INF, -INF], [0, 0, 0]),
        "one not masked": ([-INF, 3, -INF], [0, 1, 0]),
        "far apart": ([-1e4, 1e4, 0], [0, 1, 0]),
        "large and equal": ([1e4, 1e4, -INF], [0.5, 0.5, 0]),
        "very negative and equal": ([-1e4, -1e4, -INF], [0.5, 0.5, 0]),
        "infinite score": ([INF, 0, -INF], [NAN, NAN, NAN]),
        "undefined score": ([NAN, 0, -INF], [NAN, NAN, NAN]),
        "empty": ([], []),
    },
    "log_softmax": {
        "fully masked": ([-INF, -INF, -INF], [-INF, -INF, -INF]),
        "one not masked": ([-INF, 3, -INF], [-INF, 0, -INF]),
        "far apart": ([0, 1e4, -INF], [-1e4, 0, -INF]),
        "infinite score": ([INF, 0, -INF], [NAN, NAN, NAN]),
        "undefined score": ([NAN, 0, -INF], [NAN, NAN, NAN]),
        "empty": ([], []),
    },
    "logsumexp": {
        "fully masked": ([-INF, -INF, -INF], -INF),
        "one not masked": ([-INF, 3, -INF], 3),
        "far apart": ([-1e4, 1e4, 0], 1e4),
        "very negative": ([-1e4, -INF, -INF], -1e4),
        "infinite score": ([INF, 0, -INF], INF),
        "two infinite scores": ([INF, INF, -INF], INF),
        "undefined score": ([NAN, INF, -INF], NAN),
        "empty": ([], -INF),
    },
    "entropy": {
        "certain": ([0, 1, 0], 0),
        "fully masked": ([0, 0, 0], 0),
        "even": ([0.5, 0, 0.5], np.log(2)),
        "undefined": ([NAN, 1, 0], NAN),
        "empty": ([], 0),
    },
}
"""The edge contract for one row: input and the result expected at beta = 1."""
