"""Parameters: trees of frozen dataclasses that hold NumPy arrays or PyTorch tensors.

They check nothing. The shapes are in their docstrings and in those of the functions that take them,
and are checked once, when such a function is called. So any object may take the place of an array:
a gradient, a size, the name of a device.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, fields, is_dataclass
from typing import Any, TypeVar, dataclass_transform

from tformer.arguments import require_count
from tformer.shapes import ShapeError

__all__ = [
    "TREES",
    "BlockParameters",
    "DropoutMasks",
    "EncoderDecoderParameters",
    "FeedForwardParameters",
    "HeadParameters",
    "KVCache",
    "ModelParameters",
    "NormParameters",
    "leaves",
    "named_leaves",
    "require_keys",
    "tree",
    "tree_map",
]

Class = TypeVar("Class", bound=type[Any])
TREES: list[type[Any]] = []
"""All classes that `tree` has decorated; `tformer.fast` registers them as PyTorch pytrees."""


@dataclass_transform(frozen_default=True, eq_default=False)
def tree(cls: Class) -> Class:
    """Make a class a frozen dataclass whose fields are leaves or trees; None is not a leaf."""
    made = dataclass(frozen=True, eq=False)(cls)
    TREES.append(made)
    return made  # type: ignore[return-value]


def tree_map(function: Callable[..., Any], first: Any, *others: Any) -> Any:
    """Apply `function` to each leaf of a tree and the corresponding leaves of the others.

    Lists, tuples and dictionaries are trees too; None stays None.
    """
    if first is None:
        return first
    if is_dataclass(first):
        each = zip(*(vars(one).values() for one in (first, *others)), strict=True)
        return type(first)(*(tree_map(function, *several) for several in each))  # type: ignore[misc]
    if isinstance(first, dict):
        return {key: tree_map(function, *(one[key] for one in (first, *others))) for key in first}
    if isinstance(first, tuple | list):
        found = (tree_map(function, *several) for several in zip(first, *others, strict=True))
        return type(first)(found)
    return function(first, *others)


def named_leaves(tree: Any, name: str = "") -> Iterator[tuple[str, Any]]:
    """Yield the leaves with their names, as in a state dict: "blocks.0.heads.w_q"."""
    if tree is None:
        return
    if is_dataclass(tree):
        inner = [(one.name, getattr(tree, one.name)) for one in fields(tree)]
    elif isinstance(tree, dict):
        inner = list(tree.items())
    elif isinstance(tree, tuple | list):
        inner = [(str(i), one) for i, one in enumerate(tree)]
    else:
        yield name, tree
        return
    for key, one in inner:
        yield from named_leaves(one, f"{name}.{key}" if name else key)


def leaves(tree: Any) -> list[Any]:
    """Return the leaves in the order of their fields."""
    return [leaf for _, leaf in named_leaves(tree)]


@tree
class HeadParameters:
    """Weights and biases of an attention layer; the heads of a group share keys and values.

    Head h uses the keys and values of group h // (H / G). G = H is multi-head attention, G = 1 is
    multi-query attention.

    Parameters
    ----------
    w_q : (H, d_model, d_k) array
        From hidden states to queries.
    w_k : (G, d_model, d_k) array
        From hidden states to keys.
    w_v : (G, d_model, d_v) array
        From hidden states to values.
    w_o : (H, d_v, d_model) array
        From the output of each head to what it adds to the residual stream.
    b_q : (H, d_k) array, optional
        Added to the queries.
    b_k : (G, d_k) array, optional
        Added to the keys.
    b_v : (G, d_v) array, optional
        Added to the values.
    b_o : (d_model,) array, optional
        Added once, to the sum over the heads.
    """

    w_q: Any
    w_k: Any
    w_v: Any
    w_o: Any
    b_q: Any = None
    b_k: Any = None
    b_v: Any = None
    b_o: Any = None

    @property
    def group_size(self) -> int:
        """The number of heads that share keys and values, H / G."""
        return self.w_q.shape[0] // self.w_k.shape[0]

    @classmethod
    def from_fused(
        cls,
        w_q: Any,
        w_k: Any,
        w_v: Any,
        w_o: Any,
        b_q: Any = None,
        b_k: Any = None,
        b_v: Any = None,
        b_o: Any = None,
        *,
        n_heads: int,
        n_groups: int | None = None,
    ) -> "HeadParameters":
        """Split fused matrices, the heads side by side (in w_o one below the other), by head.

        Parameters
        ----------
        w_q, w_k, w_v : arrays of shapes (d_model, H d_k), (d_model, G d_k), (d_model, G d_v)
            The transposes of the weight of `torch.nn.Linear`.
        w_o : array of shape (H d_v, d_model)
        b_q, b_k, b_v, b_o : arrays of shapes (H d_k,), (G d_k,), (G d_v,), (d_model,), optional
        n_heads, n_groups : int
            H and G; G = H if omitted.

        Raises
        ------
        ShapeError
            If an array has the wrong number of axes, or a width is not a multiple of the number of
            heads or groups.
        TypeError
            If an argument is not an array, or a number of heads or groups is not an integer.
        ValueError
            If a number of heads or groups is below 1.
        """
        where = "HeadParameters.from_fused"
        n_heads = require_count(where, "n_heads", n_heads)
        n_groups = n_heads if n_groups is None else require_count(where, "n_groups", n_groups)
        matrices = {"w_q": (w_q, n_heads), "w_k": (w_k, n_groups), "w_v": (w_v, n_groups)}
        biases = {"b_q": (b_q, n_heads), "b_k": (b_k, n_groups), "b_v": (b_v, n_groups)}
        found = {name: _split(name, w, n, 2, -1) for name, (w, n) in matrices.items()}
        found["w_o"] = _split("w_o", w_o, n_heads, 2, 0)
        found |= {
            name: _split(name, b, n, 1, -1) for name, (b, n) in biases.items() if b is not None
        }
        return cls(**found, b_o=b_o)

    def fused(self) -> tuple[Any, ...]:
        """Return each of the eight arrays with all heads in one, as `from_fused` takes them."""
        rows = [self.w_q.mT, self.w_k.mT, self.w_v.mT, self.w_o]
        q, k, v, o = (x.reshape(x.shape[0] * x.shape[1], x.shape[2]) for x in rows)
        biases = [None if b is None else b.reshape(-1) for b in (self.b_q, self.b_k, self.b_v)]
        return q.mT, k.mT, v.mT, o, *biases, self.b_o


@tree
class NormParameters:
    """Gain and bias of LayerNorm or RMSNorm.

    Parameters
    ----------
    gain : (d_model,) array, optional
        Multiplies each coordinate; 1 if omitted.
    bias : (d_model,) array, optional
        Added to each coordinate; 0 if omitted. RMSNorm has none.
    """

    gain: Any = None
    bias: Any = None


@tree
class FeedForwardParameters:
    """Weights and biases of a feed-forward layer; with w_gate it is gated (GLU).

    Parameters
    ----------
    w_in : (d_model, d_ff) array
        From hidden states to the hidden units.
    w_out : (d_ff, d_model) array
        From the hidden units to what is added to the residual stream.
    b_in : (d_ff,) array, optional
        Added to the hidden units before the activation.
    b_out : (d_model,) array, optional
        Added to the result.
    w_gate : (d_model, d_ff) array, optional
        From hidden states to the gates; the activation is applied to them, and the result
        multiplies the hidden units.
    b_gate : (d_ff,) array, optional
        Added to the gates before the activation.
    """

    w_in: Any
    w_out: Any
    b_in: Any = None
    b_out: Any = None
    w_gate: Any = None
    b_gate: Any = None


@tree
class BlockParameters:
    """Parameters of a block: attention and a feed-forward layer, each with its norm.

    Parameters
    ----------
    heads : HeadParameters
        Self-attention.
    feed_forward : FeedForwardParameters, optional
        If omitted, the block has attention only.
    heads_norm : NormParameters, optional
        Norm of self-attention, before or after it; none if omitted.
    feed_forward_norm : NormParameters, optional
        Norm of the feed-forward layer, before or after it; none if omitted.
    cross : HeadParameters, optional
        Cross-attention to a memory, between self-attention and the feed-forward layer.
    cross_norm : NormParameters, optional
        Norm of cross-attention, before or after it; none if omitted.
    """

    heads: HeadParameters
    feed_forward: FeedForwardParameters | None = None
    heads_norm: NormParameters | None = None
    feed_forward_norm: NormParameters | None = None
    cross: HeadParameters | None = None
    cross_norm: NormParameters | None = None


@tree
class ModelParameters:
    """Parameters of a model: embedding, a stack of blocks, last norm, unembedding.

    Parameters
    ----------
    embedding : (N, d_model) array
        The embedding of each token.
    blocks : tuple of BlockParameters
        In the order in which they are applied.
    norm : NormParameters, optional
        Norm after the last block; none if omitted.
    positions : (n_ctx, d_model) array, optional
        The embedding of each position, if positions are "learned".
    distances : (H, n_ctx) array, optional
        The bias of each head at each distance, if positions are "relative"; the columns are those
        of `relative_bias`.
    unembedding : (d_model, N) array, optional
        From hidden states to logits; if omitted, the transpose of the embedding (tied weights).
    """

    embedding: Any
    blocks: tuple[BlockParameters, ...]
    norm: NormParameters | None = None
    positions: Any = None
    distances: Any = None
    unembedding: Any = None


@tree
class EncoderDecoderParameters:
    """Parameters of an encoder and of a decoder that attends to it, over one vocabulary.

    Parameters
    ----------
    encoder : ModelParameters
        Its unembedding is not used.
    decoder : ModelParameters
        Its blocks must have cross-attention.
    """

    encoder: ModelParameters
    decoder: ModelParameters


@tree
class DropoutMasks:
    """Dropout keep masks of a block, for what each sublayer adds; True keeps, None keeps all.

    Parameters
    ----------
    heads : (..., T, d_model) boolean array, optional
        For the output of self-attention.
    feed_forward : (..., T, d_model) boolean array, optional
        For the output of the feed-forward layer.
    cross : (..., T, d_model) boolean array, optional
        For the output of cross-attention.
    """

    heads: Any = None
    feed_forward: Any = None
    cross: Any = None


@tree
class KVCache:
    """The KV cache of one block: keys and values of the tokens so far.

    It is immutable: `extend_cache` returns a new one and leaves the old one unchanged.

    Parameters
    ----------
    k : (..., G, S, d_k) array
        Keys of S tokens.
    v : (..., G, S, d_v) array
        Values of S tokens.
    """

    k: Any
    v: Any

    @property
    def length(self) -> int:
        """The number of cached tokens, which is the default position of the next one."""
        return self.k.shape[-2]

    def first(self, n_tokens: int) -> "KVCache":
        """Return the cache of the first `n_tokens` tokens."""
        return KVCache(self.k[..., :n_tokens, :], self.v[..., :n_tokens, :])


def require_keys(where: str, x: Any, memory: Any, axis: int = -1, **arrays: Any) -> None:
    """Raise unless arrays fit the number of keys, which are the tokens of x if there is no memory.

    Raises
    ------
    ShapeError
        If an array has another number of keys along `axis`. The last axis may have size 1.
    """
    n_tokens = x.shape[-2]
    allowed = (1, n_tokens) if axis == -1 else (n_tokens,)
    for name, array in arrays.items():
        if memory is None and array is not None and array.shape[axis] not in allowed:
            raise ShapeError(
                f"{where}: axis S is {n_tokens} in x, as there is no memory, but "
                f"{array.shape[axis]} in {name}; got shape {tuple(array.shape)}"
            )


def _split(name: str, array: Any, n: int, n_axes: int, axis: int) -> Any:
    """Split an array into those of `n` heads, which lie along `axis`, 0 or the last."""
    where = "HeadParameters.from_fused"
    if not hasattr(array, "shape") or not hasattr(array, "reshape"):
        raise TypeError(f"{where}: {name} must be an array; got {type(array).__name__}")
    shape = tuple(array.shape)
    if len(shape) != n_axes:
        raise ShapeError(f"{where}: {name} needs {n_axes} axes; got shape {shape}")
    if shape[axis] % n:
        raise ShapeError(f"{where}: {name} of width {shape[axis]} cannot be split into {n} heads")
    rows = array if axis == 0 or n_axes == 1 else array.mT
    split = rows.reshape(n, rows.shape[0] // n, *rows.shape[1:])
    return split if rows is array else split.mT
