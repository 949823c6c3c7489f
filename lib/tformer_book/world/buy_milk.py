"""*Buy milk and*, from the notes *Transformer ML*, taken from its words to the next one.

One causal layer of width two, printed in eight tables. `steps` gives every table, whatever the
rows to start from; `tformer_book.world.sources.BUY_MILK` holds those of its attention as printed.
"""

import numpy as np

from tformer import reference as ref
from tformer.configuration import Configuration
from tformer.parameters import (
    BlockParameters,
    FeedForwardParameters,
    HeadParameters,
    NormParameters,
)

__all__ = ["POSITIONS", "VOCABULARY", "WORDS", "W_OUT", "W_V", "block_parameters", "steps"]

WORDS = np.array([[0.1, 1.0], [1.0, 0.1], [0.6, 0.6]])
"""*Buy*, *milk*, *and*: the first coordinate is for food, the second for what connects or acts."""
POSITIONS = np.array([[0.0, 0.0], [0.1, -0.1], [-0.1, 0.1]])
W_V = np.diag([2.0, 1.0])
W_1 = np.array([[1.0, 0, -1], [0, 1, 1]])
W_2 = np.array([[1.0, 0.5], [0, 1], [1, -1]])
W_OUT = np.array([[1.0, 0], [0, 1], [-1, 1]])
VOCABULARY = ("eggs", "bread", "now")
EPS = 1e-12
"""The notes divide by the standard deviation alone."""


def steps(x: np.ndarray, w_v: np.ndarray = W_V, w_1: np.ndarray = W_1) -> dict[str, np.ndarray]:
    """Return every table on the way from the rows x (T, 2) to the logits (T, 3).

    The norms stand where the notes have them: after each sum.
    """
    v = x @ w_v
    y = ref.causal_attention(x, x, v)
    z = _normed(x + y)
    hidden = ref.relu(z @ w_1)
    u = z + hidden @ W_2
    h = _normed(u)
    return {
        "dots": ref.pairwise_dot(x, x),
        "scores": ref.pairwise_dot(x, x) / np.sqrt(2),
        "weights": ref.attention_weights(x, x, ref.causal_mask(len(x), len(x))),
        "values": v,
        "context": y,
        "sum": x + y,
        "normed": z,
        "hidden": hidden,
        "fed": hidden @ W_2,
        "second sum": u,
        "output": h,
        "logits": h @ W_OUT.T,
    }


def block_parameters() -> tuple[BlockParameters, Configuration]:
    """Return the layer as a block of the library, with its norms after the sums."""
    heads = HeadParameters(*(w[np.newaxis] for w in (np.eye(2), np.eye(2), W_V, np.eye(2))))
    layer = FeedForwardParameters(W_1, W_2)
    parameters = BlockParameters(heads, layer, NormParameters(), NormParameters())
    return parameters, Configuration(order="post", activation="relu", positions="none", eps=EPS)


def _normed(x: np.ndarray) -> np.ndarray:
    return ref.layer_norm(x, NormParameters(), eps=EPS)
