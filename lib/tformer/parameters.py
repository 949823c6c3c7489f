"""Parameters: trees of frozen dataclasses that hold the arrays of either library.

They check nothing. What a function takes of them stands in its docstring and in theirs, and is
checked once, where it is called. So anything may stand in the place of an array: a gradient, a
size, the name of a device.
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
"""All classes that `tree` has made; `tformer.fast` registers them as PyTorch's trees."""


@dataclass_transform(frozen_default=True, eq_default=False)
def tree(cls: Class) -> Class:
    """Make a class a frozen dataclass of leaves, or trees of them; None is no leaf."""
    made = dataclass(frozen=True, eq=False)(cls)
    TREES.append(made)
    return made  # type: ignore[return-value]


def tree_map(function: Callable[..., Any], first: Any, *others: Any) -> Any:
    """The tree of what `function` gives for each leaf, and for those in its place in the others.

    Lists, tuples and dictionaries are trees as well, and None stays None.
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
    """The leaves with their names, as a state dict has them: "blocks.0.heads.w_q"."""
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
    """The leaves in the order of their fields."""
    return [leaf for _, leaf in named_leaves(tree)]


@tree
class HeadParameters:
    """The matrices and biases of each head of a layer; heads of a group share keys and values.

    Head h looks up the keys and values of group h // (H / G): with G = H every head has its own,
    with G = 1 all share one.

    Parameters
    ----------
    w_q : (H, d_model, d_k) array
        From words to queries.
    w_k : (G, d_model, d_k) array
        From words to keys.
    w_v : (G, d_model, d_v) array
        From words to values.
    w_o : (H, d_v, d_model) array
        From a head's output to what it adds to a word.
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
        """How many heads share keys and values, H / G."""
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
        """Cut one matrix for all heads into one a head: they stand side by side, in w_o below.

        Parameters
        ----------
        w_q, w_k, w_v : arrays of shapes (d_model, H d_k), (d_model, G d_k), (d_model, G d_v)
            The transposes of what `torch.nn.Linear` calls weight.
        w_o : array of shape (H d_v, d_model)
        b_q, b_k, b_v, b_o : arrays of shapes (H d_k,), (G d_k,), (G d_v,), (d_model,), optional
        n_heads, n_groups : int
            H and G; as many groups as heads if left out.

        Raises
        ------
        ShapeError
            If an array has another number of axes, or a width is not a multiple of the number of
            heads.
        TypeError
            If what is given is no array, or a number of heads is no integer.
        ValueError
            If a number of heads is below 1.
        """
        where = "HeadParameters.from_fused"
        n_heads = require_count(where, "n_heads", n_heads)
        n_groups = n_heads if n_groups is None else require_count(where, "n_groups", n_groups)
        matrices = {"w_q": (w_q, n_heads), "w_k": (w_k, n_groups), "w_v": (w_v, n_groups)}
        biases = {"b_q": (b_q, n_heads), "b_k": (b_k, n_groups), "b_v": (b_v, n_groups)}
        found = {name: _cut(name, w, n, 2, -1) for name, (w, n) in matrices.items()}
        found["w_o"] = _cut("w_o", w_o, n_heads, 2, 0)
        found |= {name: _cut(name, b, n, 1, -1) for name, (b, n) in biases.items() if b is not None}
        return cls(**found, b_o=b_o)

    def fused(self) -> tuple[Any, ...]:
        """One array for all heads in place of each of the eight, as `from_fused` takes them."""
        rows = [self.w_q.mT, self.w_k.mT, self.w_v.mT, self.w_o]
        q, k, v, o = (x.reshape(x.shape[0] * x.shape[1], x.shape[2]) for x in rows)
        biases = [None if b is None else b.reshape(-1) for b in (self.b_q, self.b_k, self.b_v)]
        return q.mT, k.mT, v.mT, o, *biases, self.b_o


@tree
class NormParameters:
    """What a norm multiplies each coordinate by, and what it adds; neither, if left out.

    Parameters
    ----------
    gain : (d_model,) array, optional
        1 for all coordinates if left out.
    bias : (d_model,) array, optional
        0 for all coordinates if left out. RMSNorm has none.
    """

    gain: Any = None
    bias: Any = None


@tree
class FeedForwardParameters:
    """The matrices and biases of the two linear maps of a feed-forward layer, or of its three.

    Parameters
    ----------
    w_in : (d_model, d_ff) array
        From words to the hidden units.
    w_out : (d_ff, d_model) array
        From the hidden units to what is added to a word.
    b_in : (d_ff,) array, optional
        Added to the hidden units before the activation.
    b_out : (d_model,) array, optional
        Added to the result.
    w_gate : (d_model, d_ff) array, optional
        From words to the gates: the activation is theirs, and multiplies the hidden units.
    """

    w_in: Any
    w_out: Any
    b_in: Any = None
    b_out: Any = None
    w_gate: Any = None


@tree
class BlockParameters:
    """A block: attention and a feed-forward layer, each with its norm.

    Parameters
    ----------
    heads : HeadParameters
        Of the words among themselves.
    feed_forward : FeedForwardParameters, optional
        Without it the block is attention alone.
    heads_norm : NormParameters, optional
        Before or after attention; no norm at all if left out.
    feed_forward_norm : NormParameters, optional
        Before or after the feed-forward layer.
    cross : HeadParameters, optional
        Cross-attention to a memory, between the two.
    cross_norm : NormParameters, optional
        Before or after cross-attention.
    """

    heads: HeadParameters
    feed_forward: FeedForwardParameters | None = None
    heads_norm: NormParameters | None = None
    feed_forward_norm: NormParameters | None = None
    cross: HeadParameters | None = None
    cross_norm: NormParameters | None = None


@tree
class ModelParameters:
    """A stack of blocks, and what stands before and after it.

    Parameters
    ----------
    embedding : (N, d_model) array
        The vector of each word.
    blocks : tuple of BlockParameters
        In the order in which they are applied.
    norm : NormParameters, optional
        After the last block; no norm there if left out.
    positions : (n_ctx, d_model) array, optional
        The vector that is added at each place, where positions are learned.
    distances : (H, n_ctx) array, optional
        What each head adds to a score at each distance, where positions are relative; the columns
        are those of `relative_bias`.
    unembedding : (d_model, N) array, optional
        From rows to scores of words; the transpose of the embedding if left out: tied.
    """

    embedding: Any
    blocks: tuple[BlockParameters, ...]
    norm: NormParameters | None = None
    positions: Any = None
    distances: Any = None
    unembedding: Any = None


@tree
class EncoderDecoderParameters:
    """Two models over one vocabulary: what the second writes it reads in the first.

    Parameters
    ----------
    encoder : ModelParameters
        Its unembedding plays no part.
    decoder : ModelParameters
        Its blocks have cross-attention.
    """

    encoder: ModelParameters
    decoder: ModelParameters


@tree
class DropoutMasks:
    """Which numbers dropout keeps of what a block adds to its words; all where one is left out.

    Parameters
    ----------
    heads : (..., T, d_model) boolean array, optional
        Of what attention adds.
    feed_forward : (..., T, d_model) boolean array, optional
        Of what the feed-forward layer adds.
    cross : (..., T, d_model) boolean array, optional
        Of what cross-attention adds.
    """

    heads: Any = None
    feed_forward: Any = None
    cross: Any = None


@tree
class KVCache:
    """Keys and values of the words so far, for those that will come to look at.

    A value: to go on with more words is to make another one, and the old one stays what it is.

    Parameters
    ----------
    k : (..., G, S, d_k) array
        Keys of S words.
    v : (..., G, S, d_v) array
        Their values.
    """

    k: Any
    v: Any

    @property
    def length(self) -> int:
        """How many words it holds, which is the position of the next if none is given."""
        return self.k.shape[-2]

    def first(self, n_tokens: int) -> "KVCache":
        """The cache as it was after its first `n_tokens` words."""
        return KVCache(self.k[..., :n_tokens, :], self.v[..., :n_tokens, :])


def require_keys(where: str, x: Any, memory: Any, axis: int = -1, **tables: Any) -> None:
    """Hold tables to the number of words, which are the keys if there is no memory.

    Raises
    ------
    ShapeError
        If a table is for another number of keys, along `axis`. Along the last it may have size 1.
    """
    n_tokens = x.shape[-2]
    allowed = (1, n_tokens) if axis == -1 else (n_tokens,)
    for name, table in tables.items():
        if memory is None and table is not None and table.shape[axis] not in allowed:
            raise ShapeError(
                f"{where}: axis S is {n_tokens} in x, as there is no memory, but "
                f"{table.shape[axis]} in {name}; got shape {tuple(table.shape)}"
            )


def _cut(name: str, array: Any, n: int, n_axes: int, axis: int) -> Any:
    """One array for each of `n` heads, from one in which they lie along `axis`, 0 or the last."""
    where = "HeadParameters.from_fused"
    if not hasattr(array, "shape") or not hasattr(array, "reshape"):
        raise TypeError(f"{where}: {name} must be an array; got {type(array).__name__}")
    shape = tuple(array.shape)
    if len(shape) != n_axes:
        raise ShapeError(f"{where}: {name} needs {n_axes} axes; got shape {shape}")
    if shape[axis] % n:
        raise ShapeError(f"{where}: {name} of width {shape[axis]} has no {n} heads")
    rows = array if axis == 0 or n_axes == 1 else array.mT
    cut = rows.reshape(n, rows.shape[0] // n, *rows.shape[1:])
    return cut if rows is array else cut.mT
