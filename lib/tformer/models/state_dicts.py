"""State dicts under the names of other libraries: those of GPT-2 and of Llama.

Each table gives the name there of each parameter here; `{i}` is the index of a block. The matrix of
a linear layer is (out, in) there and (in, out) here.
"""

import re
from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np

from tformer.models.files import WeightsError, require_shapes
from tformer.parameters import (
    BlockParameters,
    FeedForwardParameters,
    HeadParameters,
    ModelParameters,
    NormParameters,
    named_leaves,
)

__all__ = ["NAMINGS", "StateDictNames", "from_state_dict", "to_state_dict"]

PREFIX = re.compile(r"^((module|_orig_mod|transformer)\.)+")
"""Prefixes of `DistributedDataParallel`, of `torch.compile`, and of GPT-2 below its head."""
HEAD = "lm_head.weight"


class StateDictNames(NamedTuple):
    """Names of one library.

    Attributes
    ----------
    model : dict
        Our name to theirs, for parameters outside of the blocks.
    block : dict
        The same for parameters of block i; "heads.w_qkv" is one matrix for q, k and v.
    linear : bool
        Whether matrices are those of linear layers, (out, in).
    ignored : str
        Pattern of names that hold no parameters.
    prefix : str
        Of all names but that of the unembedding, in a state dict of a model with its head.
    """

    model: dict[str, str]
    block: dict[str, str]
    linear: bool
    ignored: str
    prefix: str = ""


_LLAMA = {
    "heads_norm.gain": "input_layernorm.weight",
    **{f"heads.w_{x}": f"self_attn.{x}_proj.weight" for x in "qkvo"},
    **{f"heads.b_{x}": f"self_attn.{x}_proj.bias" for x in "qkvo"},
    "feed_forward_norm.gain": "post_attention_layernorm.weight",
    "feed_forward.w_gate": "mlp.gate_proj.weight",
    "feed_forward.w_in": "mlp.up_proj.weight",
    "feed_forward.w_out": "mlp.down_proj.weight",
}
_GPT2 = {
    **{f"heads_norm.{our}": f"ln_1.{their}" for our, their in (("gain", "weight"), ("bias",) * 2)},
    "heads.w_qkv": "attn.c_attn.weight",
    "heads.b_qkv": "attn.c_attn.bias",
    "heads.w_o": "attn.c_proj.weight",
    "heads.b_o": "attn.c_proj.bias",
    "feed_forward_norm.gain": "ln_2.weight",
    "feed_forward_norm.bias": "ln_2.bias",
    "feed_forward.w_in": "mlp.c_fc.weight",
    "feed_forward.b_in": "mlp.c_fc.bias",
    "feed_forward.w_out": "mlp.c_proj.weight",
    "feed_forward.b_out": "mlp.c_proj.bias",
}
NAMINGS = {
    "gpt2": StateDictNames(
        {
            "embedding": "wte.weight",
            "positions": "wpe.weight",
            "norm.gain": "ln_f.weight",
            "norm.bias": "ln_f.bias",
            "unembedding": HEAD,
        },
        {our: f"h.{{i}}.{their}" for our, their in _GPT2.items()},
        False,
        r"h\.\d+\.attn\.(masked_)?bias",
        "transformer.",
    ),
    "llama": StateDictNames(
        {
            "embedding": "model.embed_tokens.weight",
            "norm.gain": "model.norm.weight",
            "unembedding": HEAD,
        },
        {our: f"model.layers.{{i}}.{their}" for our, their in _LLAMA.items()},
        True,
        r".*rotary_emb\.inv_freq",
    ),
}
"""A parameter that is optional here may be missing there."""


def from_state_dict(
    naming: str, state: Mapping[str, Any], n_heads: int, n_groups: int | None = None
) -> ModelParameters:
    """The parameters in a state dict of another library; the inverse of `to_state_dict`.

    Parameters
    ----------
    naming : str
        "gpt2" or "llama". Names may have the prefixes "transformer.", "module." and "_orig_mod.".
    state : dict of arrays, or of tensors
        They are not copied where their strides allow it.
    n_heads, n_groups : int
        H and G, which no state dict contains; as many groups as heads if left out.

    Returns
    -------
    ModelParameters

    Raises
    ------
    WeightsError
        If a name is missing or unexpected, or an array has another shape.

    Notes
    -----
    Llama's queries and keys are for `rope` with "half" in files of transformers, for "adjacent" in
    GGUF files. GPT-2's matrices are (in, out) in its own files, and (out, in) in implementations
    with linear layers; which it is follows from the first fused matrix, which is not square.
    """
    names, remaining = _names("from_state_dict", naming), dict[str, Any]()
    for name, x in state.items():
        plain = PREFIX.sub("", name)
        if plain in remaining:
            raise WeightsError(f"from_state_dict: there are two of {plain}, one of them {name}")
        if not re.fullmatch(names.ignored, plain):
            remaining[plain] = x
    n_blocks = _count_blocks(names.block["heads_norm.gain"], remaining)
    try:
        naming_here = names._replace(linear=names.linear or _is_linear(names, remaining))
        blocks = tuple(
            _block(i, remaining, naming_here, n_heads, n_groups) for i in range(n_blocks)
        )
        found = {our: remaining.pop(their, None) for our, their in names.model.items()}
        last = NormParameters(found["norm.gain"], found.get("norm.bias"))
        out = found["unembedding"]
    except (ValueError, TypeError, AttributeError, IndexError) as error:
        raise WeightsError(f"from_state_dict: {error}") from error
    if found["embedding"] is None or last.gain is None:
        missing = "embedding" if found["embedding"] is None else "norm.gain"
        raise WeightsError(f"from_state_dict: {names.model[missing]} is missing")
    if remaining:
        raise WeightsError(f"from_state_dict: unexpected: {', '.join(sorted(remaining)[:3])}")
    tied = out is None or out is found["embedding"] or _equal(out, found["embedding"])
    made = ModelParameters(
        found["embedding"], blocks, last, found.get("positions"), None, None if tied else out.T
    )
    require_shapes("from_state_dict", made)
    return made


def to_state_dict(naming: str, parameters: ModelParameters) -> dict[str, Any]:
    """The state dict of a model under the names of another library.

    It is the inverse of `from_state_dict`. The names are those of transformers' `GPT2LMHeadModel`
    and `LlamaForCausalLM`, whose `load_state_dict` takes it.

    Parameters
    ----------
    naming : str
        "gpt2" or "llama".
    parameters : ModelParameters
        Of either library.

    Returns
    -------
    dict of arrays, or of tensors
        They are not copied where their strides allow it. A tied embedding has two names. A bias
        that is None is left out.

    Raises
    ------
    WeightsError
        If a parameter has no name there, one that is needed there is None, or a shape does not fit.

    Notes
    -----
    What a model computes is not in a state dict: norm, eps, activation, positions, and the pairing
    of `rope`, which is "half" in transformers.
    """
    names, where = _names("to_state_dict", naming), "to_state_dict"
    if (kind := type(parameters)) is not ModelParameters:
        raise WeightsError(f"{where}: parameters must be ModelParameters; got {kind.__name__}")
    require_shapes(where, parameters)
    embedding, out = parameters.embedding, parameters.unembedding
    outer = dict(named_leaves(replace(parameters, blocks=())))
    outer["unembedding"] = embedding if out is None else out.mT
    state = _renamed(where, outer, names.model, ("embedding", "norm.gain"))
    for i, block in enumerate(parameters.blocks):
        found = _fused_leaves(where, i, block, fuse="heads.w_qkv" in names.block)
        if names.linear:
            found = {our: x.mT if ".w" in our else x for our, x in found.items()}
        needed = [our for our in names.block if ".b" not in our]
        there = {our: their.format(i=i) for our, their in names.block.items()}
        state |= _renamed(f"{where}: block {i}", found, there, needed)
    return {name if name == HEAD else names.prefix + name: x for name, x in state.items()}


def _names(where: str, naming: str) -> StateDictNames:
    """The names of one of `NAMINGS`."""
    if naming not in NAMINGS:
        raise WeightsError(f"{where}: naming must be one of {', '.join(NAMINGS)}; got {naming!r}")
    return NAMINGS[naming]


def _renamed(
    where: str, found: Mapping[str, Any], names: Mapping[str, str], needed: Iterable[str]
) -> dict[str, Any]:
    """Arrays under their names there."""
    for our in found:
        if our not in names:
            raise WeightsError(f"{where}: {our} has no name there; expected {', '.join(names)}")
    for our in needed:
        if our in names and our not in found:
            raise WeightsError(f"{where}: {our} is None, but {names[our]} is needed there")
    return {names[our]: x for our, x in found.items()}


def _fused_leaves(where: str, i: int, block: BlockParameters, fuse: bool) -> dict[str, Any]:
    """The arrays of a block by name, those of all heads in one; in one for q, k and v if `fuse`."""
    fields = [f"heads.{kind}_{x}" for kind in "wb" for x in "qkvo"]
    heads = dict(zip(fields, block.heads.fused(), strict=True))
    others = named_leaves(replace(block, heads=None))  # type: ignore[arg-type]
    found = {name: x for name, x in heads.items() if x is not None} | dict(others)
    if not fuse:
        return found
    for kind in "wb":
        parts = [found.pop(f"heads.{kind}_{x}", None) for x in "qkv"]
        shapes = {None if x is None else tuple(x.shape) for x in parts}
        if len(shapes) > 1:
            got = ", ".join("None" if x is None else str(tuple(x.shape)) for x in parts)
            wanted = f"heads.{kind}_q, {kind}_k and {kind}_v must have one shape to be fused"
            raise WeightsError(f"{where}: block {i}: {wanted}; got {got}")
        if shapes != {None}:
            found[f"heads.{kind}_qkv"] = _concatenate(parts)
    return found


def _concatenate(arrays: list[Any]) -> Any:
    """Arrays or tensors in one, along the last axis."""
    if isinstance(arrays[0], np.ndarray):
        return np.concatenate(arrays, axis=-1)
    import torch

    return torch.cat(arrays, dim=-1)


def _is_linear(naming: StateDictNames, state: Mapping[str, Any]) -> bool:
    """Whether matrices are (out, in) in this state dict: the fused one has 3 rows a column."""
    fused = state.get(naming.block.get("heads.w_qkv", "").format(i=0))
    if fused is None or len(fused.shape) != 2:
        return False  # missing or of another shape: refused later
    return bool(fused.shape[0] == 3 * fused.shape[1])


def _count_blocks(pattern: str, names: Iterable[str]) -> int:
    """The number of blocks, counted by a name that each of them has."""
    found = {
        int(match[1])
        for name in names
        if (match := re.fullmatch(re.escape(pattern).replace(r"\{i\}", r"(\d+)"), name))
    }
    if not found or found != {*range(len(found))}:
        raise WeightsError(
            f"from_state_dict: blocks must be numbered from 0; got {sorted(found)[:5]}"
        )
    return len(found)


def _block(
    i: int, remaining: dict[str, Any], naming: StateDictNames, n_heads: int, n_groups: int | None
) -> BlockParameters:
    """Block i; its arrays are removed from `remaining`."""
    names = {our: their.format(i=i) for our, their in naming.block.items()}
    found = {our: remaining.pop(their, None) for our, their in names.items()}
    for our, their in names.items():
        if found[our] is None and ".b" not in our:
            raise WeightsError(f"{their} is missing")
        if found[our] is not None and ".w" in our and naming.linear:
            found[our] = found[our].T
    for kind in ("w", "b"):
        if (fused := found.pop(f"heads.{kind}_qkv", None)) is not None:
            if fused.shape[-1] % 3:
                raise ValueError(f"{names[f'heads.{kind}_qkv']} has {fused.shape[-1]} columns")
            width = fused.shape[-1] // 3
            parts = (fused[..., i * width : (i + 1) * width] for i in range(3))
            found |= {f"heads.{kind}_{x}": part for x, part in zip("qkv", parts, strict=True)}

    def of(part: str) -> dict[str, Any]:
        return {k.removeprefix(part + "."): x for k, x in found.items() if k.startswith(part + ".")}

    heads = HeadParameters.from_fused(**of("heads"), n_heads=n_heads, n_groups=n_groups)
    before, between = (NormParameters(**of(f"{x}_norm")) for x in ("heads", "feed_forward"))
    return BlockParameters(heads, FeedForwardParameters(**of("feed_forward")), before, between)


def _equal(one: Any, other: Any) -> bool:
    """Whether two arrays hold the same numbers."""
    return one.shape == other.shape and bool((one == other).all())
