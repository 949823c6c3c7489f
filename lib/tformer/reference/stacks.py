"""Parts of every model: embed token ids, apply a stack of blocks, unembed (chapter 10)."""

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
    """How a position encoding uses the positions (..., T) of tokens; what it does not use is None.

    Attributes
    ----------
    added : callable
        From parameters, configuration and positions: what is added to the token embeddings.
    bias : callable
        From parameters and distances (..., T, S): the bias of the scores.
    sinusoids : callable
        From parameters, configuration and positions: the sinusoids that `rope` rotates by.
    added_vjp, bias_vjp : callable
        From parameters, positions or distances, and the gradient of what `added` or `bias`
        returned: the gradient of the field `table` of the parameters.
    table : str
        The field of the parameters that holds its learned table.
    """

    added: Callable[..., np.ndarray] | None = None
    bias: Callable[..., np.ndarray] | None = None
    sinusoids: Callable[..., np.ndarray] | None = None
    added_vjp: Callable[..., np.ndarray] | None = None
    bias_vjp: Callable[..., np.ndarray] | None = None
    table: str = ""


def _sinusoids(width: int, c: Configuration, positions: np.ndarray) -> np.ndarray:
    return sinusoidal(positions, width, c.base)


POSITION_ENCODINGS = {
    "none": PositionEncoding(),
    "sinusoidal": PositionEncoding(added=lambda p, c, at: _sinusoids(p.embedding.shape[-1], c, at)),
    "learned": PositionEncoding(
        added=lambda p, c, at: embedding(at, p.positions),
        added_vjp=lambda p, at, grad: embedding_vjp(at, p.positions, grad),
        table="positions",
    ),
    "relative": PositionEncoding(
        bias=lambda p, distances: relative_bias_at(p.distances, distances),
        bias_vjp=lambda p, distances, grad: relative_bias_at_vjp(p.distances, distances, grad),
        table="distances",
    ),
    "alibi": PositionEncoding(
        bias=lambda p, distances: alibi_bias_at(len(p.blocks[0].heads.w_q), np.abs(distances))
    ),
    "rope": PositionEncoding(
        sinusoids=lambda p, c, at: _sinusoids(p.blocks[0].heads.w_q.shape[-1], c, at)
    ),
}
"""What each choice of `Configuration.positions` computes."""


@equation
def unembed(x: np.ndarray, parameters: ModelParameters) -> np.ndarray:
    """Compute logits from hidden states, by the unembedding or the tied embedding.

    Parameters
    ----------
    x : (..., d_model) array
        Hidden states.
    parameters : ModelParameters
        Only the unembedding is used, or the embedding if there is none.

    Returns
    -------
    (..., N) array
        Logits: their softmax is the predicted distribution over tokens.

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
        Hidden states.
    parameters : ModelParameters
        Only the unembedding is used, or the embedding if there is none.
    grad : (..., N) array
        Gradient of a loss with respect to what `unembed` returned.

    Returns
    -------
    dx : (..., d_model) array
        Each gradient has the shape of its argument: broadcast axes are summed over.
    dparameters : ModelParameters
        Zeros for all parameters that are not used.

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
    **per_block: tuple[object, ...] | None,
) -> None:
    """Raise unless token ids, positions, parameters and configuration fit each other."""
    n_tokens = tokens.shape[-1] + offset if positions is None else 0
    require_model(where, p, c, n_tokens, has_memory, **per_block)
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
    """Return the embedding of each token, plus that of its position if positions are added."""
    x = embedding(tokens, p.embedding)
    x = x * math.sqrt(x.shape[-1]) if c.scale_embedding else x
    encoding = POSITION_ENCODINGS[c.positions]
    at = _all_positions(tokens.shape[-1], offset, positions)[..., offset:]
    return x if encoding.added is None else x + encoding.added(p, c, at).astype(x.dtype)


def embed_vjp(
    tokens: np.ndarray,
    p: ModelParameters,
    c: Configuration,
    grad: np.ndarray,
    positions: Table = None,
) -> ModelParameters:
    """Compute the vector-Jacobian product of `embed`; zeros for parameters it does not use."""
    dembedding = grad * math.sqrt(grad.shape[-1]) if c.scale_embedding else grad
    grads = replace(
        tree_map(np.zeros_like, p), embedding=embedding_vjp(tokens, p.embedding, dembedding)
    )
    encoding, at = POSITION_ENCODINGS[c.positions], _all_positions(tokens.shape[-1], 0, positions)
    if encoding.added_vjp is None:
        return grads
    return replace(grads, **{encoding.table: encoding.added_vjp(p, at, grad)})


def position_inputs(
    p: ModelParameters,
    c: Configuration,
    n_queries: int,
    offset: int,
    like: np.ndarray,
    positions: Table = None,
) -> tuple[Table, Table]:
    """Return what every block gets for positions: a bias of the scores, and sinusoids for RoPE."""
    encoding, at = POSITION_ENCODINGS[c.positions], _all_positions(n_queries, offset, positions)
    if not p.blocks:
        return None, None
    bias = None if encoding.bias is None else encoding.bias(p, _distances(at, offset))
    sinusoids = None if encoding.sinusoids is None else encoding.sinusoids(p, c, at[..., offset:])
    return tree_map(lambda x: x.astype(like.dtype), (bias, sinusoids))


def _all_positions(n_new: int, offset: int, positions: Table) -> np.ndarray:
    """Return the positions of all tokens, cached ones first: as given, or counted from 0."""
    return np.arange(offset + n_new) if positions is None else positions.astype(np.int64)


def _distances(positions: np.ndarray, offset: int) -> np.ndarray:
    """Return the distance from each new token to each token, (..., T, S)."""
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
    """Apply all blocks, then the last norm."""
    encoded = position_inputs(p, c, x.shape[-2], 0, x, positions)
    for layer, keep_masks in zip(p.blocks, dropout_masks or [None] * len(p.blocks), strict=True):
        x = block(x, layer, c, memory, mask, memory_mask, *encoded, causal, keep_masks)
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
    """Compute the vector-Jacobian product of `stack`: gradients of x, parameters and memory.

    The input of each block is stored; what the block computes inside is recomputed.
    """
    encoded, hidden = position_inputs(p, c, x.shape[-2], 0, x, positions), [x]
    masks = dropout_masks or (None,) * len(p.blocks)
    for layer, keep_masks in zip(p.blocks, masks, strict=True):
        options = (memory, mask, memory_mask, *encoded, causal, keep_masks)
        hidden.append(block(hidden[-1], layer, c, *options))
    grad, dnorm = apply_norm_vjp(hidden.pop(), p.norm, c, grad)
    dmemory, dbias = tree_map(np.zeros_like, (memory, encoded[0]))
    dblocks: list[BlockParameters] = []
    for layer, keep_masks in zip(reversed(p.blocks), reversed(masks), strict=True):
        options = (memory, mask, memory_mask, *encoded, causal, keep_masks)
        grad, dblock, *others = block_vjp(hidden.pop(), layer, c, grad, *options)
        dblocks.insert(0, dblock)
        dmemory, dbias = (
            tree_map(np.add, *pair) for pair in zip((dmemory, dbias), others, strict=True)
        )
    grads, encoding = tree_map(np.zeros_like, p), POSITION_ENCODINGS[c.positions]
    grads = replace(grads, blocks=(*dblocks,), norm=dnorm)
    if dbias is not None and encoding.bias_vjp is not None:
        distances = _distances(_all_positions(x.shape[-2], 0, positions), 0)
        grads = replace(grads, **{encoding.table: encoding.bias_vjp(p, distances, dbias)})
    return grad, grads, dmemory
