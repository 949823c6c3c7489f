"""From the keys of a config.json to a `LayeredConfiguration`, by the table of the family."""

import math
from typing import Any, NamedTuple

from tformer.layer_configuration import (
    LayerConfiguration,
    LayeredConfiguration,
    Loop,
    Routing,
    Streams,
)
from tformer.pretrained.errors import PretrainedError
from tformer.pretrained.families.family import Family
from tformer.pretrained.families.keys import Keys
from tformer.pretrained.families.rotary import read_rotary

__all__ = ["Layout", "read_configuration"]

ACTIVATIONS = {
    **{"silu": "silu", "swish": "silu", "relu": "relu", "gelu": "gelu"},
    **{"gelu_new": "gelu_tanh", "gelu_pytorch_tanh": "gelu_tanh"},
}
"""Our name of an activation by that of transformers."""
OPTIONAL = {"cap", "value_scale", "routing.factor", "logit_cap"}
"""Fields whose key may be missing or null: then there is no cap, and the factor is 1."""
WHOLE = {"window", "chunk", "routing.top_k", "routing.n_groups", "routing.top_groups"}
WHOLE |= {"index_top_k", "streams.n_rounds"}
FLAGS: dict[str, dict[bool, Any]] = {
    "routing.renormalise": {True: True, False: False},
    "rotary.pairing": {True: "adjacent", False: "half"},
    "qk_norm": {True: "head", False: "none"},
    "temperature": {True: True, False: False},
}
"""Our values of a field whose key is true or false."""
MASKS = {"sliding_attention": "window", "chunked_attention": "chunk"}
"""The field that is set in layers of a kind only."""
UNUSED = (
    *(
        "architectures",
        "model_type",
        "dtype",
        "torch_dtype",
        "transformers_version",
        "_name_or_path",
    ),
    *("bos_token_id", "eos_token_id", "pad_token_id", "use_cache", "initializer_range"),
    *("max_position_embeddings", "model_max_length", "pretraining_tp", "attention_dropout"),
    *("output_router_logits", "router_aux_loss_coef", "router_jitter_noise"),
    *("output_attentions", "output_hidden_states", "return_dict", "auto_map"),
    *("cache_implementation", "max_window_layers"),
)
"""Keys that do not change what is computed from tokens, once the model is trained."""
BY_ARRAYS = (
    *("vocab_size", "hidden_size", "num_key_value_heads", "head_dim", "num_attention_heads"),
    *("intermediate_size", "attention_bias", "mlp_bias", "tie_word_embeddings"),
    *("num_local_experts", "num_experts", "n_routed_experts", "moe_intermediate_size"),
    *("n_shared_experts", "num_shared_experts", "shared_expert_intermediate_size"),
    *("decoder_sparse_step", "mlp_only_layers", "mlp_layer_types", "first_k_dense_replace"),
    *("num_hidden_layers", "use_double_wide_mlp"),
)
"""Keys that the shapes of the arrays repeat, and which arrays there are."""


class Layout(NamedTuple):
    """What is needed to read the arrays: of each layer its sizes, its mixer and what it borrows.

    Attributes
    ----------
    sizes : tuple of dict
        Number by letter.
    mixers : tuple of str
    borrows : tuple of bool
        Whether the layer has the keys and values of another one.
    absent : set of str
        Fields whose arrays need not be there.
    without : tuple of set of str
        Fields that a layer does not have.
    """

    sizes: tuple[dict[str, int], ...]
    mixers: tuple[str, ...]
    borrows: tuple[bool, ...]
    absent: set[str]
    without: tuple[set[str], ...]


def read_configuration(keys: Keys, family: Family) -> tuple[LayeredConfiguration, Layout]:
    """The configuration that a config.json describes, and the layout of the arrays.

    Raises
    ------
    PretrainedError
        If a key is missing, has a value that is not understood, or is not known at all.
    """
    n_low = keys.number(keys.one_of(family.n_layers))
    n = n_low * len(family.stacks)
    sizes = tuple(_sizes(one, family) for one in _by_layer(keys, n))
    for key, values in family.required.items():
        if key in keys or None not in values:
            choices = [x for x in values if x is not None]
            if not choices:
                raise keys.error(f"no {key}, which is not understood", keys[key])
            keys.choice(key, choices)
    kinds, turns = _kinds(keys, family, n), _turns(keys, family, n)
    lenders = _lenders(keys, family, kinds)
    try:
        layers = tuple(
            _layer(keys, family, *one) for one in zip(sizes, kinds, turns, lenders, strict=True)
        )
        outer: dict[str, Any] = {
            name: _value(keys, name, key) for name, key in family.model_keys.items()
        }
        if family.scaled_embedding:
            outer["embedding_scale"] = math.sqrt(keys.number("hidden_size"))
        if several := _inside(outer, "streams."):
            outer["streams"] = Streams(**several)
        if family.loop:
            times = {name: keys.number(key) for name, key in family.loop.items()}
            outer["loop"] = Loop(n_low, **times)
        outer = {name: x for name, x in outer.items() if x is not None}
        configuration = LayeredConfiguration(layers, layers[0].norm, layers[0].eps, **outer)
    except (ValueError, TypeError) as error:
        raise error if isinstance(error, PretrainedError) else keys.error("", error) from error
    known = " ".join([*family.keys.values(), *family.model_keys.values()]).split()
    mixers = _mixers(keys, family, kinds, lenders)
    borrows = tuple(one is not None for one in lenders)
    keys.require_read((*UNUSED, *BY_ARRAYS, *family.unused, *known))
    without = _without(keys, family, kinds)
    return configuration, Layout(sizes, mixers, borrows, _absent(keys, family), without)


def _without(keys: Keys, family: Family, kinds: list[str]) -> tuple[set[str], ...]:
    """The fields that each layer does not have, by its kinds."""
    others = keys.each("mlp_layer_types", len(kinds)) or [""] * len(kinds)
    return tuple(
        {*family.without.get(kind, ()), *family.without.get(other, ())}
        for kind, other in zip(kinds, others, strict=True)
    )


def _inside(found: dict[str, Any], part: str) -> dict[str, Any]:
    """Take out the fields of a part, such as "routing."."""
    return {name.removeprefix(part): found.pop(name) for name in [*found] if name.startswith(part)}


def _absent(keys: Keys, family: Family) -> set[str]:
    """The optional fields whose key does not say that they are there."""
    return {field for field, key in family.optional.items() if not keys.get(key)}


def _by_layer(keys: Keys, n: int) -> list[Keys]:
    """The keys of each layer: those of per_layer_config take the place of others."""
    given, known = keys.inner("per_layer_config"), ("head_dim", "num_key_value_heads")
    for i, own in given.items():
        if i not in map(str, range(n)) or not isinstance(own, dict) or not own.keys() <= {*known}:
            raise keys.error(f"per_layer_config of layers, with {' and '.join(known)}", repr(given))
    return [keys.replaced(given.get(str(i), {})) for i in range(n)]


def _sizes(keys: Keys, family: Family) -> dict[str, int]:
    """The sizes of a layer by letter."""
    sizes = {"H": keys.number("num_attention_heads")}
    if "d_k" not in family.sizes:
        d_model: int = keys.number("hidden_size")
        sizes["d_k"] = keys.number("head_dim", default=d_model // sizes["H"])
    sizes |= {letter: keys.number(key) for letter, key in family.sizes.items()}
    sizes.setdefault("d_v", sizes["d_k"])
    return sizes


def _lenders(keys: Keys, family: Family, kinds: list[str]) -> list[int | None]:
    """The layer from which each one borrows keys and values, or None."""
    n = keys.number(family.n_borrowing) if keys.get(family.n_borrowing) else 0
    own = kinds[: max(len(kinds) - n, 0)]
    found: list[int | None] = [None] * len(own)
    for kind in kinds[len(own) :]:
        if kind not in own:
            raise keys.error(f"{family.n_borrowing} that leaves a layer of each kind", n)
        found.append(len(own) - 1 - own[::-1].index(kind))
    return found


def _mixers(
    keys: Keys, family: Family, kinds: list[str], lenders: list[int | None]
) -> tuple[str, ...]:
    """The mixer of each layer."""
    tied = family.keys_as_values and keys.choice(family.keys_as_values, (True, False), False)
    return tuple(
        "shared"
        if lender is not None or (tied and kind == "full_attention")
        else family.mixers.get(kind, family.mixers[""])
        for kind, lender in zip(kinds, lenders, strict=True)
    )


def _kinds(keys: Keys, family: Family, n: int) -> list[str]:
    """The kind of each layer."""
    known = {"full_attention", *MASKS, *family.mixers} - {""}
    if (listed := keys.each("layer_types", n)) is None:
        if not family.kinds:
            raise keys.error(f"layer_types, one for each of {n} layers", "none")
        period = family.kinds
        if period == ("sliding_attention",) and "sliding_window" not in keys:
            period = ("full_attention",)
        return [period[i % len(period)] for i in range(n)]
    for kind in listed:
        if kind not in known:
            raise keys.error(f"layer_types of {', '.join(sorted(known))}", repr(kind))
    return list(listed)


def _turns(keys: Keys, family: Family, n: int) -> list[bool]:
    """Whether each layer has RoPE, if its kind may."""
    if not family.rope_by_layer:
        return [True] * n
    if (listed := keys.each("no_rope_layers", n)) is not None:  # 1 where there is RoPE
        return [bool(x) for x in listed]
    every = keys.number("no_rope_layer_interval")
    return [(i + 1) % every != 0 for i in range(n)]


def _value(keys: Keys, name: str, key: str) -> Any:
    """The value of a field by its key, or None."""
    key = keys.one_of(key)
    if name in OPTIONAL and key not in keys:
        return None
    if name == "activation":
        return ACTIVATIONS[keys.choice(key, ACTIVATIONS)]
    if name == "scale":  # the width that stands in for that of queries
        return keys.number(key, float) ** -0.5
    if name in FLAGS:
        return FLAGS[name][keys.choice(key, (True, False))]
    return keys.number(key, int if name in WHOLE else float)


def _layer(
    keys: Keys,
    family: Family,
    sizes: dict[str, int],
    kind: str,
    turns: bool,
    kv_layer: int | None,
) -> LayerConfiguration:
    """The configuration of a layer."""
    skipped = {field for of, field in MASKS.items() if of != kind} - {*family.everywhere}
    skipped |= _absent(keys, family)
    found = {
        name: _value(keys, name, key) for name, key in family.keys.items() if name not in skipped
    }
    found = dict(family.fixed) | {name: x for name, x in found.items() if x is not None}
    found["kv_layer"] = kv_layer
    routing, rope = _inside(found, "routing."), _inside(found, "rotary.")
    if "top_k" in routing:
        found["routing"] = Routing(**routing)
    tempered = found.pop("temperature", False)
    if kind in family.positionless or not turns:
        if found.get("qk_norm_last"):
            found["qk_norm"] = "none"
        if tempered:
            found["temperature"] = keys.number("floor_scale"), keys.number("attn_scale", float)
        return LayerConfiguration(**found)
    named = family.rope_kinds.get(kind, kind)
    found["rotary"], scale = read_rotary(keys, named, sizes, **rope)
    return LayerConfiguration(**({"scale": scale} if scale else {}) | found)
