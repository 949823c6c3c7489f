"""What stands around the layers of `layered_decoder`: embeddings, states, the norm, logits."""

import math
from collections.abc import Iterator
from types import ModuleType
from typing import Any

import numpy as np

from tformer import reference
from tformer.layer_checks import require_streams
from tformer.layer_configuration import LayeredConfiguration
from tformer.layers import LayerCache, LayeredParameters
from tformer.parameters import ModelParameters, NormParameters, tree_map

HALF = 1 / math.sqrt(2)
"""Of two embeddings with variance 1, so that their sum has it too."""


def library_of(parameters: LayeredParameters) -> ModuleType:
    """The library of the parameters: `reference` for NumPy arrays, `fast` for tensors."""
    if isinstance(parameters.embedding, np.ndarray):
        return reference
    import tformer.fast

    return tformer.fast


def widened(tree: Any) -> Any:
    """The tree with its arrays in float32 where they are in half precision."""

    def wide(x: Any) -> Any:
        if isinstance(x, np.ndarray):
            return x.astype(np.float32) if x.dtype == np.float16 else x
        return x.float() if x.is_floating_point() and x.dtype.itemsize < 4 else x

    return tree_map(wide, tree)


def cast(x: Any, dtype: Any) -> Any:
    """The array in a dtype of its library."""
    return x.astype(dtype) if isinstance(x, np.ndarray) else x.to(dtype)


def around(p: LayeredParameters) -> ModelParameters:
    """What stands around the layers, in the form of chapter 10."""
    return ModelParameters(p.embedding, (), None, None, None, p.unembedding)


def embedded(
    where: str,
    tokens: Any,
    p: LayeredParameters,
    c: LayeredConfiguration,
    library: ModuleType,
) -> Any:
    """The embeddings (..., T, d_model) of the tokens, scaled."""
    if len(p.layers) != len(c.layers):
        raise ValueError(
            f"{where}: there must be one configuration for each of {len(p.layers)} layers; "
            f"got {len(c.layers)}"
        )
    require_streams(where, p, c)
    if (c.loop is None) != (p.start is None):
        raise ValueError(f"{where}: configuration.loop needs parameters.start, and start a loop")
    return c.embedding_scale * library.embedding(tokens, p.embedding)


def states_of(x: Any, p: LayeredParameters) -> list[Any]:
    """The states that stacks read and replace: the embeddings, and in a loop the low one."""
    return [x] if p.start is None else [x, 0 * x + p.start]


def per_layer_embeddings(
    tokens: Any, x: Any, p: LayeredParameters, c: LayeredConfiguration, library: ModuleType
) -> list[Any]:
    """The own embedding (..., T, d_c) of each token for each layer, or None for each.

    Half of its variance comes from the token, half from the embedding x of the model.
    """
    if (own := p.per_layer) is None:
        return [None] * len(p.layers)
    found = []
    for table, w_context in zip(own.embedding, own.w_context, strict=True):
        seen = library.rms_norm(context(x, w_context), NormParameters(own.gain), c.eps)
        found.append(HALF * (seen + table.shape[-1] ** 0.5 * library.embedding(tokens, table)))
    return found


def context(x: Any, w_context: Any) -> Any:
    """What the embedding of the model says to a layer, before the norm."""
    return x @ w_context * x.shape[-1] ** -0.5


def normed(x: Any, p: LayeredParameters, c: LayeredConfiguration, library: ModuleType) -> Any:
    """The hidden states after the norm behind a stack."""
    norm = {"rms": library.rms_norm, "layer": library.layer_norm}[c.norm]
    return x if p.norm is None else norm(x, p.norm, c.eps)


def logits_of(x: Any, p: LayeredParameters, c: LayeredConfiguration, library: ModuleType) -> Any:
    """The logits of hidden states after the norm."""
    raw = c.logit_scale * library.unembed(x, around(p))
    return raw if c.logit_cap is None else library.soft_cap(raw, c.logit_cap)


def in_turn(caches: tuple[LayerCache, ...] | None, c: LayeredConfiguration) -> Iterator[LayerCache]:
    """The caches in the order in which layers are applied, or None for each."""
    n = sum(len(layers) for layers, _ in c.stacks)
    if caches is not None and len(caches) != n:
        raise ValueError(
            f"cached_layered_decoder: caches must have one for each of {n} layers; "
            f"got {len(caches)}"
        )
    return iter(caches or [None] * n)
