"""What all models are made of: words to rows, a stack of blocks, rows to scores (chapter 10)."""

import math
from collections.abc import Callable
from dataclasses import replace
from typing import NamedTuple

import numpy as np

from tformer.configuration import Configuration, require_model
from tformer.parameters import BlockParameters, DropoutMasks, ModelParameters, tree_map
from tformer.reference.blocks import apply_norm, apply_norm_vjp, block, block_vjp
from tformer.reference.distances import relative_bias_at, relative_bias_at_vjp
from tformer.reference.equation import equation
from tformer.reference.feed_forward import linear_vjp
from tformer.reference.positions import (
    alibi_bias_at,
    embedding,
    embedding_vjp,
    require_rows,
    sinusoidal,
)

__all__ = ["unembed", "unembed_vjp"]

Table = np.ndarray | None


class PositionEncoding(NamedTuple):
    """What a scheme does with positions (..., T): what it does not do is None.

    Attributes
    ----------
    added : callable
        From parameters, configuration and positions the rows that are added to the words.
    bias : callable
        From parameters and distances (..., T, S) the bias of the scores.
    turns : callable
        From parameters, configuration and positions the sinusoids by which pairs are turned.
    added_vjp, bias_vjp : callable
        From parameters, what else `added` or `bias` is given of places, and the gradient of what it
        gives: the gradient of the field `table` of the parameters.
    table : str
        The field of the parameters that it reads.
    """

    added: Callable[..., np.ndarray] | None = None
    bias: Callable[..., np.ndarray] | None = None
    turns: Callable[..., np.ndarray] | None = None
    added_vjp: Callable[..., np.ndarray] | None = None
    bias_vjp: Callable[..., np.ndarray] | None = None
    table: str = ""


def _waves(width: int, c: Configuration, positions: np.ndarray) -> np.ndarray:
    return sinusoidal(positions, width, c.base)


POSITION_ENCODINGS = {
    "none": PositionEncoding(),
    "sinusoidal": PositionEncoding(added=lambda p, c, at: _waves(p.embedding.shape[-1], c, at)),
    "learned": PositionEncoding(
        added=lambda p, c, at: embedding(at, p.positions),
        added_vjp=lambda p, at, grad: embedding_vjp(at, p.positions, grad),
        table="positions",
    ),
    "relative": PositionEncoding(
        bias=lambda p, apart: relative_bias_at(p.distances, apart),
        bias_vjp=lambda p, apart, grad: relative_bias_at_vjp(p.distances, apart, grad),
        table="distances",
    ),
    "alibi": PositionEncoding(
        bias=lambda p, apart: alibi_bias_at(len(p.blocks[0].heads.w_q), np.abs(apart))
    ),
    "rope": PositionEncoding(turns=lambda p, c, at: _waves(p.blocks[0].heads.w_q.shape[-1], c, at)),
}
"""What each choice of `Configuration.positions` does; one without an entry fails."""


@equation
def unembed(x: np.ndarray, parameters: ModelParameters) -> np.ndarray:
    """Scores of all words, from rows: by the unembedding, or by the embedding where they are tied.

    Parameters
    ----------
    x : (..., d_model) array
    parameters : ModelParameters
        Only the embedding or the unembedding plays a part.

    Returns
    -------
    (..., N) array
        Called logits: their softmax is the prediction.

    Notes
    -----
    Equation eq-unembed; [press2017], section 2.
    """
    p = parameters
    return x @ (p.embedding.T if p.unembedding is None else p.unembedding)


@equation
def unembed_vjp(
    x: np.ndarray, parameters: ModelParameters, grad: np.ndarray
) -> tuple[np.ndarray, ModelParameters]:
    """Compute the vector-Jacobian product of `unembed`: gradients with respect to its arguments.

    Parameters
    ----------
    x : (..., d_model) array
    parameters : ModelParameters
        Only the embedding or the unembedding plays a part.
    grad : (..., N) array
        Gradient of a loss with respect to what `unembed` returned.

    Returns
    -------
    dx : (..., d_model) array
        Each gradient has the shape of its argument: broadcast axes are summed over.
    dparameters : ModelParameters
        Zeros for all that plays no part.

    Notes
    -----
    Equation eq-unembed-vjp; the derivatives of [press2017], section 2.
    """
    p, zeros = parameters, tree_map(np.zeros_like, parameters)
    table = p.embedding.T if p.unembedding is None else p.unembedding
    dx, dtable, _ = linear_vjp(x, table, None, grad)
    if p.unembedding is None:
        return dx, replace(zeros, embedding=dtable.T)
    return dx, replace(zeros, unembedding=dtable)


def require_tokens(
    where: str,
    tokens: np.ndarray,
    p: ModelParameters,
    c: Configuration,
    has_memory: bool = False,
    offset: int = 0,
    positions: Table = None,
    **several: tuple[object, ...] | None,
) -> None:
    """Hold tokens, positions and parameters to each other and to the configuration."""
    n_tokens = tokens.shape[-1] + offset if positions is None else 0
    require_model(where, p, c, n_tokens, has_memory, **several)
    require_rows(where, tokens, len(p.embedding))
    if positions is not None and c.positions == "learned":
        require_rows(where, positions, len(p.positions), "positions")


def embed(
    tokens: np.ndarray,
    p: ModelParameters,
    c: Configuration,
    offset: int = 0,
    positions: Table = None,
) -> np.ndarray:
    """The row of each word, with its position if that is added."""
    x = embedding(tokens, p.embedding)
    x = x * math.sqrt(x.shape[-1]) if c.scale_embedding else x
    at, scheme = (
        _counted(tokens.shape[-1], offset, positions)[..., offset:],
        POSITION_ENCODINGS[c.positions],
    )
    return x if scheme.added is None else x + scheme.added(p, c, at).astype(x.dtype)


def embed_vjp(
    tokens: np.ndarray,
    p: ModelParameters,
    c: Configuration,
    grad: np.ndarray,
    positions: Table = None,
) -> ModelParameters:
    """Gradients of the parameters from that of `embed`; zeros for all that plays no part."""
    of_words = grad * math.sqrt(grad.shape[-1]) if c.scale_embedding else grad
    found = replace(
        tree_map(np.zeros_like, p), embedding=embedding_vjp(tokens, p.embedding, of_words)
    )
    scheme, at = POSITION_ENCODINGS[c.positions], _counted(tokens.shape[-1], 0, positions)
    if scheme.added_vjp is None:
        return found
    return replace(found, **{scheme.table: scheme.added_vjp(p, at, grad)})


def position_inputs(
    p: ModelParameters,
    c: Configuration,
    n_queries: int,
    offset: int,
    like: np.ndarray,
    positions: Table = None,
) -> tuple[Table, Table]:
    """What every block is told of positions: a bias of its scores, and sinusoids to turn by."""
    scheme, at = POSITION_ENCODINGS[c.positions], _counted(n_queries, offset, positions)
    if not p.blocks:
        return None, None
    bias = None if scheme.bias is None else scheme.bias(p, _apart(at, offset))
    turns = None if scheme.turns is None else scheme.turns(p, c, at[..., offset:])
    return tree_map(lambda x: x.astype(like.dtype), (bias, turns))


def _counted(n_new: int, offset: int, positions: Table) -> np.ndarray:
    """The positions of all words, those in a cache first: as given, or counted from 0."""
    return np.arange(offset + n_new) if positions is None else positions.astype(np.int64)


def _apart(positions: np.ndarray, offset: int) -> np.ndarray:
    """How far each word stands after each that is new, (..., T, S)."""
    return positions[..., np.newaxis, :] - positions[..., offset:, np.newaxis]


def stack(
    x: np.ndarray,
    p: ModelParameters,
    c: Configuration,
    causal: bool,
    memory: Table,
    mask: Table,
    memory_mask: Table,
    dropout_masks: tuple[DropoutMasks, ...] | None,
    positions: Table,
) -> np.ndarray:
    """Rows through all blocks, and through the last norm."""
    places = position_inputs(p, c, x.shape[-2], 0, x, positions)
    for one, keeps in zip(p.blocks, dropout_masks or [None] * len(p.blocks), strict=True):
        x = block(x, one, c, memory, mask, memory_mask, *places, causal, keeps)
    return apply_norm(x, p.norm, c)


def stack_vjp(
    x: np.ndarray,
    p: ModelParameters,
    c: Configuration,
    grad: np.ndarray,
    causal: bool,
    memory: Table,
    mask: Table,
    memory_mask: Table,
    dropout_masks: tuple[DropoutMasks, ...] | None,
    positions: Table,
) -> tuple[np.ndarray, ModelParameters, Table]:
    """Gradients of rows, parameters and memory from that of `stack`.

    Of each block the rows before it are dropout_masks, and what lies inside is computed again.
    """
    places, rows = position_inputs(p, c, x.shape[-2], 0, x, positions), [x]
    keeps = dropout_masks or (None,) * len(p.blocks)
    for one, its in zip(p.blocks, keeps, strict=True):
        rows.append(block(rows[-1], one, c, memory, mask, memory_mask, *places, causal, its))
    grad, dnorm = apply_norm_vjp(rows.pop(), p.norm, c, grad)
    dmemory, dbias = tree_map(np.zeros_like, (memory, places[0]))
    dblocks: list[BlockParameters] = []
    for one, its in zip(reversed(p.blocks), reversed(keeps), strict=True):
        options = (memory, mask, memory_mask, *places, causal, its)
        grad, dblock, *others = block_vjp(rows.pop(), one, c, grad, *options)
        dblocks.insert(0, dblock)
        dmemory, dbias = (
            tree_map(np.add, *pair) for pair in zip((dmemory, dbias), others, strict=True)
        )
    found, scheme = tree_map(np.zeros_like, p), POSITION_ENCODINGS[c.positions]
    found = replace(found, blocks=(*dblocks,), norm=dnorm)
    if dbias is not None and scheme.bias_vjp is not None:
        apart = _apart(_counted(x.shape[-2], 0, positions), 0)
        found = replace(found, **{scheme.table: scheme.bias_vjp(p, apart, dbias)})
    return grad, found, dmemory
