"""Who sees whom: a verb that asks for two nouns, in a language that marks both by their endings.

*Canis felem videt*: the dog sees the cat. *Canem felis videt*: the cat sees the dog. A noun's row
holds its content, two signs, and its mark, nominative or accusative. The verb asks, and is to hand
over the content of the nominative in one slot and that of the accusative in another.
"""

from itertools import product

import numpy as np

from tformer.parameters import HeadParameters

__all__ = [
    "COLUMNS",
    "CONTENTS",
    "SENTENCES",
    "VERB",
    "answers",
    "embedded",
    "loophole",
    "one_mixing_head",
    "one_uneven_head",
    "read_by_relu",
    "two_heads",
]

CONTENTS = {"dog": (1, 1), "cat": (1, -1), "wolf": (-1, 1), "hare": (-1, -1)}
"""Four nouns: on average 0 in each column, of variance 1, and the columns are uncorrelated."""
COLUMNS = ("c1", "c2", "nominative", "accusative", "verb", "who 1", "who 2", "whom 1", "whom 2")
"""The d_model columns of a row; the last four are empty until the layer writes into them."""
SENTENCES = tuple(product(CONTENTS, CONTENTS))
"""All pairs of who and whom, a noun with itself among them."""
VERB = 2
"""The place of the verb."""


def embedded(who: str, whom: str) -> np.ndarray:
    """Return the rows of the nominative, the accusative and the verb, of shape (3, d_model)."""
    x = np.zeros((3, len(COLUMNS)))
    x[0, :2], x[1, :2] = CONTENTS[who], CONTENTS[whom]
    x[0, 2] = x[1, 3] = x[VERB, 4] = 1
    return x


def answers() -> np.ndarray:
    """Return what each of `SENTENCES` should give: who and whom side by side, (16, 4)."""
    return np.array([CONTENTS[who] + CONTENTS[whom] for who, whom in SENTENCES], dtype=float)


def _layer(n_heads: int) -> tuple[np.ndarray, ...]:
    d_model = len(COLUMNS)
    w_q, w_k = np.zeros((2, n_heads, d_model, 1))
    w_v, w_o = np.zeros((n_heads, d_model, 2)), np.zeros((n_heads, 2, d_model))
    w_v[:, 0, 0] = w_v[:, 1, 1] = 1
    return w_q, w_k, w_v, w_o


def two_heads(beta: float = 20.0) -> HeadParameters:
    """Return the layer in which head 1 fetches who and head 2 whom; d_k = 1 and d_v = 2."""
    w_q, w_k, w_v, w_o = _layer(2)
    w_q[:, 4] = beta
    for h in (0, 1):
        w_k[h, 2 + h] = 1
        w_o[h, :, 5 + 2 * h : 7 + 2 * h] = np.eye(2)
    return HeadParameters(w_q, w_k, w_v, w_o)


def one_mixing_head(beta: float = 20.0) -> HeadParameters:
    """Return the layer whose one head looks at both nouns alike, and fills both slots."""
    w_q, w_k, w_v, w_o = _layer(1)
    w_q[:, 4], w_k[:, 2:4] = beta, 1
    w_o[0, :, 5:7] = w_o[0, :, 7:9] = np.eye(2)
    return HeadParameters(w_q, w_k, w_v, w_o)


def one_uneven_head(beta: float = 20.0) -> HeadParameters:
    """Return the layer whose one head writes who + 2 whom, in each coordinate, into the first slot.

    It looks at the accusative twice as much as at the nominative, and writes three times the mean.
    """
    w_q, w_k, w_v, w_o = _layer(1)
    w_q[:, 4], w_k[:, 2], w_k[:, 3] = beta, 1, 1 + np.log(2) / beta
    w_o[0, :, 5:7] = 3 * np.eye(2)
    return HeadParameters(w_q, w_k, w_v, w_o)


def read_by_relu(mixed: np.ndarray, n_contents: int = 2) -> np.ndarray:
    """Tell signs apart that were added up with the weights 1, 2, 4, …, by one layer of ReLUs.

    In each coordinate the sums are odd numbers, and between two of them, at an even number, a pair
    of ReLUs makes a step of width 1: up from −1 to 1, or down again. Content i turns at every step
    whose number is a multiple of 2^i, up and down by turns.

    Parameters
    ----------
    mixed : (..., m) array
        z_1 + 2 z_2 + 4 z_3 + … for contents z_i of m signs each, up to a half in each coordinate.
    n_contents : int
        How many contents are in the sum.

    Returns
    -------
    (..., n_contents m) array
        The contents, side by side.
    """
    step = np.arange(1, 2**n_contents)
    bends = np.repeat(2.0 * step - 2**n_contents, 2) + np.tile([-0.5, 0.5], step.size)
    turn, rest = np.divmod(step[:, None], 2 ** np.arange(n_contents))
    signs = np.where(rest == 0, np.where(turn % 2, 2.0, -2.0), 0.0)
    w_out = np.repeat(signs, 2, axis=0) * np.tile([1, -1], step.size)[:, None]
    read = np.maximum(mixed[..., None] - bends, 0) @ w_out - 1
    return read.mT.reshape(*mixed.shape[:-1], -1)


def loophole(beta: float, far: float = 50.0) -> tuple[np.ndarray, HeadParameters]:
    """Return all four sentences of two signs, and one head that reads both of them.

    The columns are the content, one sign; the two marks; the verb; who and whom. The score of a
    noun is β times its content, so that the weights carry what the values mix up, and the values
    of the two marks are so far apart that a small change of the weights is seen.

    Returns
    -------
    x : (4, 3, 6) array
        Nominative, accusative and verb of the sentences with contents (1, 1), (1, −1), (−1, 1) and
        (−1, −1).
    weights : HeadParameters
        One head with d_k = 1 and d_v = 2.
    """
    signs = np.array(list(product((1.0, -1.0), repeat=2)))
    x = np.zeros((4, 3, 6))
    x[:, :2, 0], x[:, 0, 1], x[:, 1, 2], x[:, VERB, 3] = signs, 1, 1, 1
    w_q, w_k, w_v, w_o = (np.zeros(shape) for shape in ((6, 1), (6, 1), (6, 2), (2, 6)))
    w_q[3], w_k[0], w_k[3] = 1, beta, -far
    apart = 1 / np.tanh(beta)
    w_v[0], w_v[1], w_v[2] = (1, 1), (apart, -apart), (-apart, apart)
    w_o[:, 4:] = np.eye(2)
    return x, HeadParameters(*(w[None] for w in (w_q, w_k, w_v, w_o)))
