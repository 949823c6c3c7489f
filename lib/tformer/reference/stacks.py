"""What all models are made of: words to rows, a stack of blocks, rows to scores (chapter 10)."""

import math
from dataclasses import replace

import numpy as np

from tformer.configuration import Configuration, require_model
from tformer.parameters import BlockParameters, Kept, ModelParameters, tree_map
from tformer.reference.blocks import block, block_vjp, normed, normed_vjp
from tformer.reference.equation import equation
from tformer.reference.feed_forward import linear_vjp
from tformer.reference.positions import (
    alibi_bias,
    embedding,
    embedding_vjp,
    relative_bias,
    relative_bias_vjp,
    require_rows,
    sinusoidal,
)

__all__ = ["unembed", "unembed_vjp"]

Table = np.ndarray | None


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
    """Vector-Jacobian product of `unembed`: the gradients passed back to its arguments.

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
        Each gradient has the shape of its argument: axes along which that was repeated are summed.
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


def require_words(
    where: str,
    tokens: np.ndarray,
    p: ModelParameters,
    c: Configuration,
    crossed: bool = False,
    offset: int = 0,
    **several: tuple[object, ...] | None,
) -> None:
    """Hold tokens and parameters to each other and to the configuration."""
    require_model(where, p, c, tokens.shape[-1] + offset, crossed, **several)
    require_rows(where, tokens, len(p.embedding))


def embedded(
    tokens: np.ndarray, p: ModelParameters, c: Configuration, offset: int = 0
) -> np.ndarray:
    """The row of each word, with its position if that is added."""
    x = embedding(tokens, p.embedding)
    x = x * math.sqrt(x.shape[-1]) if c.scale_embedding else x
    places = np.arange(tokens.shape[-1]) + offset
    if c.positions == "learned":
        return x + embedding(places, p.positions)
    if c.positions == "sinusoidal":
        return x + sinusoidal(places, x.shape[-1], c.base).astype(x.dtype)
    return x


def embedded_vjp(
    tokens: np.ndarray, p: ModelParameters, c: Configuration, grad: np.ndarray
) -> ModelParameters:
    """Gradients of the parameters from that of `embedded`; zeros for all that plays no part."""
    of_words = grad * math.sqrt(grad.shape[-1]) if c.scale_embedding else grad
    found = replace(
        tree_map(np.zeros_like, p), embedding=embedding_vjp(tokens, p.embedding, of_words)
    )
    if c.positions != "learned":
        return found
    places = np.arange(tokens.shape[-1])
    return replace(found, positions=embedding_vjp(places, p.positions, grad))


def places_of(
    p: ModelParameters, c: Configuration, n_queries: int, offset: int, like: np.ndarray
) -> tuple[Table, Table]:
    """What every block is told of positions: a bias of its scores, and sinusoids to turn by."""
    n_keys = n_queries + offset
    if p.blocks and c.positions == "rope":
        places = np.arange(n_queries) + offset
        turns = sinusoidal(places, p.blocks[0].heads.w_q.shape[-1], c.base)
        return None, turns.astype(like.dtype)
    if p.blocks and c.positions == "alibi":
        n_heads = p.blocks[0].heads.w_q.shape[0]
        return alibi_bias(n_heads, n_queries, n_keys, offset).astype(like.dtype), None
    if c.positions == "relative":
        return relative_bias(p.distances, n_queries, n_keys, offset), None
    return None, None


def stack(
    x: np.ndarray,
    p: ModelParameters,
    c: Configuration,
    causal: bool,
    memory: Table,
    mask: Table,
    memory_mask: Table,
    kept: tuple[Kept, ...] | None,
) -> np.ndarray:
    """Rows through all blocks, and through the last norm."""
    places = places_of(p, c, x.shape[-2], 0, x)
    for one, keeps in zip(p.blocks, kept or [None] * len(p.blocks), strict=True):
        x = block(x, one, c, memory, mask, memory_mask, *places, causal, keeps)
    return normed(x, p.norm, c)


def stack_vjp(
    x: np.ndarray,
    p: ModelParameters,
    c: Configuration,
    grad: np.ndarray,
    causal: bool,
    memory: Table,
    mask: Table,
    memory_mask: Table,
    kept: tuple[Kept, ...] | None,
) -> tuple[np.ndarray, ModelParameters, Table]:
    """Gradients of rows, parameters and memory from that of `stack`.

    Of each block the rows before it are kept, and what lies inside is computed again.
    """
    places, rows = places_of(p, c, x.shape[-2], 0, x), [x]
    keeps = kept or (None,) * len(p.blocks)
    for one, its in zip(p.blocks, keeps, strict=True):
        rows.append(block(rows[-1], one, c, memory, mask, memory_mask, *places, causal, its))
    grad, dnorm = normed_vjp(rows.pop(), p.norm, c, grad)
    dmemory, dbias = tree_map(np.zeros_like, (memory, places[0]))
    dblocks: list[BlockParameters] = []
    for one, its in zip(reversed(p.blocks), reversed(keeps), strict=True):
        options = (memory, mask, memory_mask, *places, causal, its)
        grad, dblock, *others = block_vjp(rows.pop(), one, c, grad, *options)
        dblocks.insert(0, dblock)
        dmemory, dbias = (
            tree_map(np.add, *pair) for pair in zip((dmemory, dbias), others, strict=True)
        )
    found = replace(tree_map(np.zeros_like, p), blocks=(*dblocks,), norm=dnorm)
    if c.positions == "relative":
        found = replace(found, distances=relative_bias_vjp(p.distances, dbias))
    return grad, found, dmemory
