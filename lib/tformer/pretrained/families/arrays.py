"""From a state dict under published names to `LayeredParameters`, by the table of the family."""

import math
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tformer.layers import (
    AttentionParameters,
    CompressedAttentionParameters,
    ConvolutionParameters,
    DeltaNetParameters,
    ExpertParameters,
    HyperConnectionParameters,
    LatentAttentionParameters,
    LayeredParameters,
    LayerParameters,
    PerLayerEmbeddings,
    PerLayerParameters,
    SharedAttentionParameters,
)
from tformer.parameters import FeedForwardParameters, HeadParameters, NormParameters
from tformer.pretrained.errors import PretrainedError, format_error
from tformer.pretrained.families.checks import require_shapes
from tformer.pretrained.families.family import Family, Split
from tformer.pretrained.families.settings import Layout

__all__ = ["read_parameters"]

Array = NDArray[Any]
FIX = "give all arrays of the model, and no others"
OUTER = {
    "embedding": "model.embed_tokens.weight",
    "norm": "model.norm.weight",
    "unembedding": "lm_head.weight",
}
IGNORED = re.compile(r".*rotary_emb\.inv_freq")
LAYER = re.compile(r"(\d+)\.(.+)")
EXPERT = re.compile(r"(.*\.experts\.)(\d+)\.(.+)")
CLASSES = {
    "attention.heads": HeadParameters,
    "shared": SharedAttentionParameters,
    "latent": LatentAttentionParameters,
    "delta": DeltaNetParameters,
    "convolution": ConvolutionParameters,
    "compressed": CompressedAttentionParameters,
    **dict.fromkeys(("mixer_streams", "feed_forward_streams"), HyperConnectionParameters),
    "feed_forward": FeedForwardParameters,
    "experts": ExpertParameters,
    "per_layer": PerLayerParameters,
    **dict.fromkeys(("router_norm", "dense_norm_after", "per_layer_norm_after"), NormParameters),
    **{
        f"{x}_norm{y}": NormParameters
        for x in ("mixer", "feed_forward", "experts")
        for y in ("", "_after")
    },
}
"""The class of each part of a layer, but attention, which has a part inside."""
MIXERS = {"attention", "shared", "latent", "delta", "convolution", "compressed"}
HEADS, OUT, ROWS, MATRIX, VECTOR = "heads", "out", "rows", "matrix", "vector"
STREAMS = ("", "mixer_", "feed_forward_")
COLUMNS, GROUPED, MIX, TABLE = "columns", "grouped", "mix", "table"
WIDTHS, COUNTS = (("q", "d_k"), ("k", "d_k"), ("v", "d_v")), (("q", "F"), ("k", "F"), ("v", "L"))
FORMS = {
    **{f"attention.heads.w_{x}": (HEADS, y) for x, y in WIDTHS},
    **{f"attention.heads.b_{x}": (ROWS, y) for x, y in WIDTHS},
    "attention.heads.w_o": (OUT, "d_v"),
    **dict.fromkeys(("attention.q_gain", "attention.k_gain"), (ROWS, "d_k")),
    "attention.w_gate": (HEADS, "H"),
    **dict.fromkeys(("shared.w_q", "shared.w_k"), (HEADS, "d_k")),
    "shared.w_o": (OUT, "d_v"),
    **dict.fromkeys(("shared.q_gain", "shared.k_gain"), (ROWS, "d_k")),
    "experts.w_shared_gate": (VECTOR, ""),
    **{f"latent.w_{x}": (HEADS, "H") for x in ("q", "q_shared", "k", "v")},
    "latent.w_o": (OUT, "H"),
    **{f"delta.{x}_{y}": (HEADS, z) for x in ("w", "kernel") for y, z in COUNTS},
    **{f"delta.{x}": (HEADS, "L") for x in ("w_decay", "w_gate")},
    "delta.b_decay": (ROWS, "L"),
    "delta.w_o": (OUT, "L"),
    **{f"experts.w_{x}": (HEADS, "") for x in ("in", "gate", "out")},
    **{f"experts.b_{x}": (ROWS, "") for x in ("in", "gate", "out")},
    "compressed.w_q": (HEADS, "d_k"),
    "compressed.w_o_down": (GROUPED, "O"),
    "compressed.w_o": (OUT, "O"),
    **{f"compressed.{x}": (HEADS, "d_k") for x in ("w_pool_kv", "w_pool")},
    "compressed.b_pool": (COLUMNS, "d_k"),
    **{f"compressed.w_index_{x}": (HEADS, "d_i") for x in ("q", "kv", "pool")},
    "compressed.b_index_pool": (COLUMNS, "d_i"),
    **{f"{x}streams.w_{y}": (OUT, "n") for x in STREAMS for y in ("read", "write")},
    **{f"{x}streams.w_mix": (MIX, "n") for x in STREAMS},
    **{f"{x}streams.b_mix": (ROWS, "n") for x in STREAMS},
    "token_experts": (TABLE, ""),
}
"""How an array of rows is read, and the letter by which its rows are split: a number of heads, or
a width (d_...); experts are apart already. The others are matrices, (out, in), or vectors."""


def read_parameters(
    where: Path, state: Mapping[str, Any], family: Family, layout: Layout
) -> LayeredParameters:
    """The parameters in a state dict.

    Raises
    ------
    PretrainedError
        If an array is missing or unexpected, or its shape does not fit its sizes.
    """
    outer, layers = _sorted(where, state, family, len(layout.mixers))
    names = {**OUTER, **family.outer}
    found: dict[str, Any] = {ours: outer.pop(theirs, None) for ours, theirs in names.items()}
    for ours, theirs in names.items():
        needed = ours not in {"unembedding", *family.bare_norms, *layout.absent}
        if found[ours] is None and needed:
            raise format_error(where, theirs, "none", FIX)
    made = []
    rows = zip(layers, layout.sizes, layout.mixers, layout.borrows, layout.without, strict=True)
    for i, each in enumerate(rows):
        one = f"{where}: layer {i}"
        try:
            made.append(_layer(one, family, layout.absent, *each))
            require_shapes(one, made[-1], found["embedding"])
        except (ValueError, IndexError) as error:
            if isinstance(error, PretrainedError):
                raise
            raise format_error(one, "arrays of the sizes in config.json", error, FIX) from error
    if outer:
        raise format_error(where, "no other arrays", min(outer), FIX)
    embedding, out = found["embedding"], found["unembedding"]
    tied = out is None or (out.shape == embedding.shape and np.array_equal(out, embedding))
    gain = found["norm"] + 1 if family.adds_one else found["norm"]
    return LayeredParameters(
        embedding,
        tuple(made),
        NormParameters(gain),
        None if tied else out.T,
        found.get("start"),
        _per_layer(where, found, len(made)),
        _last_streams(where, found, family, layout.sizes[0]),
    )


def _last_streams(
    where: Path, found: dict[str, Any], family: Family, sizes: dict[str, int]
) -> HyperConnectionParameters | None:
    """How several residual streams are read after the last layer."""
    arrays = {name: x for name, x in found.items() if name.startswith("streams.")}
    if not arrays:
        return None
    n, d_model = sizes["n"], found["embedding"].shape[1]
    shapes = {name.partition(".")[2]: x.shape for name, x in arrays.items()}
    wanted = {"w_read": (n, n * d_model), "b_read": (n,), "read_scale": (1,)}
    if shapes != wanted:
        raise format_error(where, f"the last reading of streams as {wanted}", shapes, FIX)
    read = {name.partition(".")[2]: _read(name, x, family, sizes) for name, x in arrays.items()}
    return HyperConnectionParameters(**read)


def _per_layer(where: Path, found: dict[str, Any], n_layers: int) -> PerLayerEmbeddings | None:
    """The embeddings of each token for all layers, which are published side by side."""
    if (table := found.get("per_layer.embedding")) is None:
        return None
    w_context, embedding = found["per_layer.w_context"], found["embedding"]
    wanted = len(embedding), n_layers * len(gain := found["per_layer.gain"])
    if table.shape != wanted or w_context.shape != (wanted[1], embedding.shape[1]):
        expected = f"per-layer embeddings {wanted}, and their projection"
        raise format_error(where, expected, (table.shape, w_context.shape), FIX)
    table = table.reshape(len(table), n_layers, -1).swapaxes(0, 1)
    w_context = w_context.reshape(n_layers, -1, w_context.shape[1]).mT
    return PerLayerEmbeddings(table, w_context, gain)


def _sorted(
    where: Path, state: Mapping[str, Any], family: Family, n_layers: int
) -> tuple[dict[str, Array], list[dict[str, Array]]]:
    """The arrays outside of the layers and in each of them, under the names of the table."""
    outer: dict[str, Array] = {}
    layers: list[dict[str, Array]] = [{} for _ in range(n_layers)]
    n_each = n_layers // len(family.stacks)
    experts: dict[tuple[int, str], dict[int, Array]] = {}
    for name, x in state.items():
        plain = name
        for old, new in family.renames:
            plain = plain.replace(old, new)
        if IGNORED.fullmatch(plain):
            continue
        stack = next((s for s in family.stacks if plain.startswith(s)), None)
        match = None if stack is None else LAYER.fullmatch(plain.removeprefix(stack))
        if stack is None or match is None or int(match[1]) >= n_each:
            outer[plain] = np.asarray(x)
            continue
        i, inner = int(match[1]) + n_each * family.stacks.index(stack), match[2]
        if (match := EXPERT.fullmatch(inner)) is None:
            layers[i][inner] = np.asarray(x)
        else:
            experts.setdefault((i, match[1] + match[3]), {})[int(match[2])] = np.asarray(x)
    for (i, name), each in experts.items():
        if each.keys() != {*range(len(each))} or len({x.shape for x in each.values()}) > 1:
            found = f"{sorted(each)[:9]} of shapes {sorted({x.shape for x in each.values()})[:3]}"
            wanted = f"experts of one shape, numbered from 0, for layer {i} {name}"
            raise format_error(where, wanted, found, FIX)
        layers[i][name] = np.stack([each[e] for e in range(len(each))])
    return outer, layers


def _layer(
    where: str,
    family: Family,
    absent: set[str],
    named: dict[str, Array],
    sizes: dict[str, int],
    mixer: str,
    borrows: bool,
    without: set[str],
) -> LayerParameters:
    """One layer; all its arrays must be used, but keys and values where it borrows them."""
    for split in family.splits:
        if split.name in named and split.mixer in ("", mixer):
            named |= _parts(named.pop(split.name), split, sizes)
    denied = {x for x in absent if family.optional[x]} | without
    names = {
        x: y
        for x, y in family.names.items()
        if x.split(".")[0] not in MIXERS - {mixer} and x not in denied
    }
    if borrows:
        own = {names.pop(x) for x in ("shared.w_k", "shared.k_gain") if x in names}
        own |= {family.names["attention.heads.w_v"]}
        named = {name: x for name, x in named.items() if name not in own}
    found = {
        field: _read(field, named.pop(name), family, sizes)
        for field, name in names.items()
        if name in named
    }
    _require_all(where, found, names, absent)
    if named:
        raise format_error(where, "no other arrays", min(named), FIX)
    heads = found.get("attention.heads.w_q", found.get("shared.w_q"))
    if heads is not None and len(heads) != sizes["H"]:
        raise ValueError(f"num_attention_heads is {sizes['H']}, but queries have {len(heads)}")
    return _built(found, family)


def _require_all(
    where: str, found: dict[str, Array], names: Mapping[str, str], optional: set[str]
) -> None:
    """Require all arrays but biases, and those of a dense part or of experts that are not there."""
    parts = {field.split(".")[0] for field in found}
    for field, name in names.items():
        part, last = field.split(".")[0], field.split(".")[-1]
        left_out = {"feed_forward"} if "experts_norm" in parts else {"feed_forward", "experts"}
        absent = part in left_out - parts
        bias = part == "attention" and last[:2] == "b_"
        if field not in found and not (absent or bias or field in optional):
            raise format_error(where, name, "none", FIX)
    if not parts & {"feed_forward", "experts"}:
        raise format_error(where, "arrays of a feed-forward part", "none", FIX)


def _parts(x: Array, split: Split, sizes: dict[str, int]) -> dict[str, Array]:
    """The parts of an array by their names."""
    x = np.moveaxis(x, split.axis, 0)
    groups = len(x) // len(split.parts) if split.groups == "*" else sizes.get(split.groups, 1)
    x = x.reshape(groups, -1, *x.shape[1:])
    widths = [math.prod(sizes[x] for x in one.split("*")) for one in split.widths]
    equal, n = x.shape[1] - sum(widths), len(split.parts) - len(widths)
    if n and equal % n:
        raise ValueError(f"{split.name} has {x.shape[1]} rows in a group; {n} parts are equal")
    widths += [equal // n] * n if n else []
    found = {}
    for name, part in zip(split.parts, np.split(x, np.cumsum(widths)[:-1], axis=1), strict=True):
        part = np.moveaxis(part.reshape(-1, *part.shape[2:]), 0, split.axis)
        found[name] = part.mT if split.transposed else part
    return found


def _read(field: str, x: Array, family: Family, sizes: dict[str, int]) -> Array:
    """An array in the form of its field."""
    if ".kernel" in field:  # (channels, 1, taps)
        x = x.reshape(x.shape[0], x.shape[-1])
    if family.adds_one and field.endswith("gain") and not field.startswith("delta"):
        x = x + 1
    if field in family.shrunk:
        x = x / math.sqrt(len(x))
    form, letter = FORMS.get(
        field, (MATRIX if ".w_" in field or ".kernel" in field else VECTOR, "")
    )
    if form == MATRIX:
        return x.T
    if form == VECTOR:
        return x.reshape(-1)
    if form == TABLE:
        return x
    if form == GROUPED:  # (groups * d_c, heads of a group * d_k)
        n, size, d_k = sizes[letter], sizes["H"] // sizes[letter], sizes["d_k"]
        x = x.reshape(n, -1, size, d_k).transpose(0, 2, 3, 1)
        return x.reshape(n * size, d_k, -1)
    if form == MIX:  # (streams * streams, streams * d_model)
        n = sizes[letter]
        return x.reshape(n, n, n, -1).transpose(2, 3, 0, 1)
    if form in (OUT, COLUMNS):
        x = x.T
    if letter:
        number = sizes[letter]
        x = x.reshape(*((-1, number) if letter[0] == "d" else (number, -1)), *x.shape[1:])
    return x.mT if form in (HEADS, COLUMNS) else x


def _built(found: dict[str, Array], family: Family) -> LayerParameters:
    """The tree of the fields; each part is there if one of its fields is."""
    parts: dict[str, dict[str, Any]] = {}
    for field, x in found.items():
        part, _, last = field.rpartition(".")
        parts.setdefault(part, {})[last] = x
    single = parts.pop("", {})
    attention = parts.pop("attention", {})
    parts |= {part: {} for part in family.bare_norms if part in CLASSES}
    made = {part: CLASSES[part](**inner) for part, inner in parts.items()}
    if (heads := made.pop("attention.heads", None)) is not None:
        made["attention"] = AttentionParameters(heads, **attention)
    return LayerParameters(**made, **single)
