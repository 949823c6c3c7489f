"""From the keys of a config.json to a `LayeredConfiguration`, by the table of the family."""

import math
from typing import Any, NamedTuple

from tformer.layer_configuration import LayerConfiguration, LayeredConfiguration, Routing
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
)
"""Keys that the shapes of the arrays repeat, and which arrays there are."""


class Layout(NamedTuple):
    """What is needed to read the arrays: sizes, and of each layer its mixer and rotated share.

    Attributes
    ----------
    sizes : dict
        Number by letter.
    mixers : tuple of str
    rotated : tuple of int
        Width of a "proportional" RoPE, whose coordinates are not the first of a head; else 0.
    absent : set of str
        Fields whose arrays need not be there.
    """

    sizes: dict[str, int]
    mixers: tuple[str, ...]
    rotated: tuple[int, ...]
    absent: set[str]


def read_configuration(keys: Keys, family: Family) -> tuple[LayeredConfiguration, Layout]:
    """The configuration that a config.json describes, and the layout of the arrays.

    Raises
    ------
    PretrainedError
        If a key is missing, has a value that is not understood, or is not known at all.
    """
    n, d_model = keys.number("num_hidden_layers"), keys.number("hidden_size")
    sizes = {"H": keys.number("num_attention_heads")}
    if "d_k" not in family.sizes:
        sizes["d_k"] = keys.number("head_dim", default=d_model // sizes["H"])
    sizes |= {letter: keys.number(key) for letter, key in family.sizes.items()}
    sizes.setdefault("d_v", sizes["d_k"])
    for key, values in family.required.items():
        if key in keys or None not in values:
            choices = [x for x in values if x is not None]
            if not choices:
                raise keys.error(f"no {key}, which is not understood", keys[key])
            keys.choice(key, choices)
    kinds, turns = _kinds(keys, family, n), _turns(keys, family, n)
    try:
        each = [_layer(keys, family, sizes, *one) for one in zip(kinds, turns, strict=True)]
        layers, rotated = zip(*each, strict=True)
        outer = {name: _value(keys, name, key) for name, key in family.model_keys.items()}
        if family.scaled_embedding:
            outer["embedding_scale"] = math.sqrt(d_model)
        outer = {name: x for name, x in outer.items() if x is not None}
        norm = {"norm": layers[0].norm, "eps": layers[0].eps}
        configuration = LayeredConfiguration(layers, **norm, **outer)
    except (ValueError, TypeError) as error:
        raise error if isinstance(error, PretrainedError) else keys.error("", error) from error
    known = " ".join([*family.keys.values(), *family.model_keys.values()]).split()
    absent = {field for field, key in family.optional.items() if not keys.get(key)}
    keys.require_read((*UNUSED, *BY_ARRAYS, *family.unused, *known))
    mixers = tuple(family.mixers.get(kind, family.mixers[""]) for kind in kinds)
    return configuration, Layout(sizes, mixers, rotated, absent)


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
    keys: Keys, family: Family, sizes: dict[str, int], kind: str, turns: bool
) -> tuple[LayerConfiguration, int]:
    """The configuration of a layer, and the width of a proportional RoPE or 0."""
    masks = {field for of, field in MASKS.items() if of != kind}
    found = {
        name: _value(keys, name, key) for name, key in family.keys.items() if name not in masks
    }
    found = dict(family.fixed) | {name: x for name, x in found.items() if x is not None}
    routing, rope = (
        {name.removeprefix(of): found.pop(name) for name in [*found] if name.startswith(of)}
        for of in ("routing.", "rotary.")
    )
    if routing:
        found["routing"] = Routing(**routing)
    tempered = found.pop("temperature", False)
    if kind in family.positionless or not turns:
        if found.get("qk_norm_last"):
            found["qk_norm"] = "none"
        if tempered:
            found["temperature"] = keys.number("floor_scale"), keys.number("attn_scale", float)
        return LayerConfiguration(**found), 0
    found["rotary"], width, scale = read_rotary(keys, kind, sizes, **rope)
    return LayerConfiguration(**({"scale": scale} if scale else {}) | found), width
