"""State dicts under the names of other libraries: those of GPT-2 and of Llama.

Each table says where one of our arrays stands there; `{i}` is the number of a block. A matrix that
is called a linear one has its rows where ours has columns.
"""

import re
from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple

from tformer.models.files import WeightsError, require_shapes
from tformer.parameters import (
    BlockParameters,
    FeedForwardParameters,
    HeadParameters,
    ModelParameters,
    NormParameters,
)

__all__ = ["NAMINGS", "StateDictNames", "from_state_dict"]

IN_FRONT = re.compile(r"^((module|_orig_mod|transformer)\.)+")
"""What other programs put before a name: a model without its head, replicas, and compilers."""


class StateDictNames(NamedTuple):
    """Names of one library.

    Attributes
    ----------
    model : dict
        Our name to theirs, for what stands outside of the blocks.
    block : dict
        The same for what stands in block i. "heads.qkv" are queries, keys and values in one.
    linear : bool
        Whether matrices are those of linear layers, (out, in).
    ignored : str
        Pattern of names that hold no parameters.
    """

    model: dict[str, str]
    block: dict[str, str]
    linear: bool
    ignored: str


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
            "unembedding": "lm_head.weight",
        },
        {our: f"h.{{i}}.{their}" for our, their in _GPT2.items()},
        False,
        r"h\.\d+\.attn\.(masked_)?bias",
    ),
    "llama": StateDictNames(
        {
            "embedding": "model.embed_tokens.weight",
            "norm.gain": "model.norm.weight",
            "unembedding": "lm_head.weight",
        },
        {our: f"model.layers.{{i}}.{their}" for our, their in _LLAMA.items()},
        True,
        r".*rotary_emb\.inv_freq",
    ),
}
"""What is missing there is left out here, if it may be."""


def from_state_dict(
    naming: str, state: Mapping[str, Any], n_heads: int, n_groups: int | None = None
) -> ModelParameters:
    """The parameters that a state dict of another library holds.

    Parameters
    ----------
    naming : str
        "gpt2" or "llama". Names may begin with what others have put in front: "transformer.",
        "module." or "_orig_mod.".
    state : dict of arrays, or of tensors
        They are not copied where their places allow it.
    n_heads, n_groups : int
        H and G, of which a state dict says nothing; as many groups as heads if left out.

    Returns
    -------
    ModelParameters

    Raises
    ------
    WeightsError
        If a name is missing, has no place, or its array does not fit; nothing is loaded then.

    Notes
    -----
    Llama's queries and keys are for `rope` with "half" in the files on the hub, for "adjacent" in
    GGUF files. GPT-2's matrices are (in, out) in its own files, and (out, in) where it was written
    again with linear layers; the first one, which is not square, says which.
    """
    if naming not in NAMINGS:
        raise WeightsError(
            f"from_state_dict: naming must be one of {', '.join(NAMINGS)}; got {naming!r}"
        )
    names, left = NAMINGS[naming], dict[str, Any]()
    for name, x in state.items():
        plain = IN_FRONT.sub("", name)
        if plain in left:
            raise WeightsError(f"from_state_dict: there are two of {plain}, one of them {name}")
        if not re.fullmatch(names.ignored, plain):
            left[plain] = x
    n_blocks = _blocks(names.block["heads_norm.gain"], left)
    try:
        naming_here = names._replace(linear=names.linear or _is_linear(names, left))
        blocks = tuple(_block(i, left, naming_here, n_heads, n_groups) for i in range(n_blocks))
        found = {our: left.pop(their, None) for our, their in names.model.items()}
        last = NormParameters(found["norm.gain"], found.get("norm.bias"))
        out = found["unembedding"]
    except (ValueError, TypeError, AttributeError, IndexError) as error:
        raise WeightsError(f"from_state_dict: {error}") from error
    if found["embedding"] is None or last.gain is None:
        missing = "embedding" if found["embedding"] is None else "norm.gain"
        raise WeightsError(f"from_state_dict: {names.model[missing]} is missing")
    if left:
        raise WeightsError(f"from_state_dict: no place for {', '.join(sorted(left)[:3])}")
    tied = out is None or out is found["embedding"] or _same(out, found["embedding"])
    made = ModelParameters(
        found["embedding"], blocks, last, found.get("positions"), None, None if tied else out.T
    )
    require_shapes("from_state_dict", made)
    return made


def _is_linear(naming: StateDictNames, state: Mapping[str, Any]) -> bool:
    """Whether matrices are (out, in) in this state dict: its fused one is three times as high."""
    fused = state.get(naming.block.get("heads.w_qkv", "").format(i=0))
    if fused is None or len(fused.shape) != 2:
        return False  # it will be missed, or refused
    return bool(fused.shape[0] == 3 * fused.shape[1])


def _blocks(pattern: str, names: Iterable[str]) -> int:
    """How many blocks there are, by a name that each of them has."""
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
    i: int, left: dict[str, Any], naming: StateDictNames, n_heads: int, n_groups: int | None
) -> BlockParameters:
    """Block i, whose arrays are taken out of `left`."""
    names = {our: their.format(i=i) for our, their in naming.block.items()}
    found = {our: left.pop(their, None) for our, their in names.items()}
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


def _same(one: Any, other: Any) -> bool:
    """Whether two arrays hold the same numbers."""
    return one.shape == other.shape and bool((one == other).all())
