"""What a model family is: a table from its names and the keys of its config.json to our form."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

__all__ = ["Family", "Split"]


@dataclass(frozen=True)
class Split:
    """How one published array is taken apart: each group holds its share of every part.

    Parameters
    ----------
    name : str
        Of the array, in a layer.
    parts : tuple of str
        The names that its parts get; one part only renames it.
    groups : str
        Letter of the number of groups in `Family.sizes`; "" for one group, "*" for groups of one
        row of each part.
    widths : tuple of str
        Letters, or products such as "F*d_f", of the rows of the first parts in a group; the others
        share the rest equally.
    axis : int
        The axis that is split.
    transposed : bool
        Whether the last two axes of each part are swapped: (in, out) instead of (out, in).
    mixer : str
        Only in layers with this mixer; "" for all.
    """

    name: str
    parts: tuple[str, ...]
    groups: str = ""
    widths: tuple[str, ...] = ()
    axis: int = 0
    transposed: bool = False
    mixer: str = ""


@dataclass(frozen=True)
class Family:
    """A model family. The table says everything; no code knows a family by its name.

    Parameters
    ----------
    names : dict
        Field of `LayerParameters`, such as "attention.heads.w_q", to the name in a layer.
    keys : dict
        Field of `LayerConfiguration`, such as "eps" or "routing.top_k", to the key in config.json,
        or to several with spaces between them, of which one is given.
    fixed : dict
        Field of `LayerConfiguration` to a value that all models of the family share.
    model_keys : dict
        The same as keys for fields of `LayeredConfiguration`.
    sizes : dict
        Letter to the key of a size in config.json; "d_k" is d_model / H if its key is missing.
    mixers : dict
        Kind of a layer to its mixer, of kinds that do not have the mixer "" stands for.
    positionless : tuple of str
        Kinds of layers without RoPE.
    rope_by_layer : bool
        Whether no_rope_layers, or no_rope_layer_interval, says which layers have RoPE.
    kinds : tuple of str
        The kinds of layers, again and again, if config.json has no layer_types; none to refuse it.
    splits : tuple of Split
    renames : tuple of (str, str)
        Part of a name in files, and what takes its place before anything else.
    required : dict
        Key to the values it may have; any other would change the computation. None allows that the
        key is missing.
    unused : tuple of str
        Further keys that have no effect, or are said by the arrays.
    optional : dict
        Field whose array may be missing to the key that says that it is there; "" if none does.
        Where the key denies it, the array is refused. Biases of attention may be missing too.
        Without "routing.top_k" there is no routing.
    bare_norms : tuple of str
        Norms without a gain: fields of `LayerParameters`, and "norm" for that after the last layer.
    adds_one : bool
        Whether norms multiply by 1 + weight, but those inside a delta net.
    shrunk : tuple of str
        Fields whose array, a vector, is divided by the root of its length.
    scaled_embedding : bool
        Whether embeddings are multiplied by √d_model.
    n_layers : str
        Key of the number of layers, of each stack if there are several; or several such keys.
    stacks : tuple of str
        What the names of all layers of a stack begin with, one stack after another.
    loop : dict
        Field of `Loop`, but n_low, to its key; empty if each layer is applied once.
    outer : dict
        Field of `LayeredParameters`, such as "per_layer.gain", to the name outside of all layers.
    n_borrowing : str
        Key of how many layers, the last ones, borrow keys and values from the last layer of their
        kind before them.
    keys_as_values : str
        Key that says whether full attention has no values of its own.
    without : dict
        Kind of a layer, in layer_types or mlp_layer_types, to the fields that it does not have.
    rope_kinds : dict
        Kind of a layer to that by whose name rope_parameters has its RoPE.
    everywhere : tuple of str
        Fields of a mask that layers of every kind have, such as "window".
    """

    names: Mapping[str, str]
    keys: Mapping[str, str]
    fixed: Mapping[str, Any] = field(default_factory=dict)
    model_keys: Mapping[str, str] = field(default_factory=dict)
    sizes: Mapping[str, str] = field(default_factory=dict)
    mixers: Mapping[str, str] = field(default_factory=lambda: {"": "attention"})
    positionless: tuple[str, ...] = ()
    rope_by_layer: bool = False
    kinds: tuple[str, ...] = ("full_attention",)
    splits: tuple[Split, ...] = ()
    renames: tuple[tuple[str, str], ...] = ()
    required: Mapping[str, tuple[Any, ...]] = field(default_factory=dict)
    unused: tuple[str, ...] = ()
    optional: Mapping[str, str] = field(default_factory=dict)
    bare_norms: tuple[str, ...] = ()
    adds_one: bool = False
    shrunk: tuple[str, ...] = ()
    scaled_embedding: bool = False
    n_layers: str = "num_hidden_layers"
    stacks: tuple[str, ...] = ("model.layers.",)
    loop: Mapping[str, str] = field(default_factory=dict)
    outer: Mapping[str, str] = field(default_factory=dict)
    n_borrowing: str = ""
    keys_as_values: str = ""
    without: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    rope_kinds: Mapping[str, str] = field(default_factory=dict)
    everywhere: tuple[str, ...] = ()
