"""From rope_parameters to `Rotary`: the kinds of scaling, and what they do to the scores.

Source: `modeling_rope_utils.py` of transformers 5.24.0, and `yarn_apply_mscale` of its DeepSeek-V3.
"""

import math
from typing import Any

from tformer.layer_configuration import RopeScaling, Rotary
from tformer.pretrained.families.keys import Keys

__all__ = ["read_rotary"]

KINDS = ("default", "linear", "llama3", "yarn", "proportional")


def read_rotary(
    keys: Keys, kind: str, sizes: dict[str, int], pairing: str = "half"
) -> tuple[Rotary, float | None]:
    """RoPE of a layer of a kind, and the scale of the scores where it changes that.

    A "proportional" RoPE has the frequencies of the whole width, but only the first pairs turn.

    Raises
    ------
    PretrainedError
        If a key is missing, has a value that is not understood, or is not known at all.
    """
    rope = _parameters(keys, kind)
    name = "rope_type" if "rope_type" in rope or "type" not in rope else "type"
    which = rope.choice(name, KINDS, "default")
    base, share = rope.number("rope_theta", float), _share(keys, rope)
    scaling = scale = None
    if which in ("linear", "proportional"):
        factor = rope.number("factor", float, 1.0 if which == "proportional" else None)
        scaling = RopeScaling("linear", factor) if factor != 1 else None
    elif which == "llama3":
        low, high = (rope.number(f"{x}_freq_factor", float) for x in ("low", "high"))
        scaling = RopeScaling("llama3", *_stretch(rope), low, high)
    elif which == "yarn":
        scaling, scale = _yarn(rope, sizes)
    width, turning = int(share * sizes["d_k"]), None
    if which == "proportional":
        width, turning = sizes["d_k"], int(share * sizes["d_k"] // 2)
    whole = width == sizes["d_k"] or "d_r" in sizes
    rope.require_read(("type", "rope_type"), "rope_parameters.")
    return Rotary(base, pairing, None if whole else width, scaling, turning), scale


def _parameters(keys: Keys, kind: str) -> Keys:
    """The parameters of RoPE for layers of a kind, as transformers 4 or 5 wrote them."""
    local = keys.get("rope_local_base_freq")
    if local is not None and kind == "sliding_attention":
        return Keys(keys.path, {"rope_theta": local})
    base = keys.get("rope_theta")
    found: dict[str, Any] = {} if base is None else {"rope_theta": base}
    found |= keys.inner("rope_scaling")
    given = keys.inner("rope_parameters")
    found |= given.get(kind, given) if isinstance(given.get(kind, given), dict) else {}
    return Keys(keys.path, found)


def _share(keys: Keys, rope: Keys) -> float:
    """Which share of a head is rotated."""
    outer = keys.number("partial_rotary_factor", float, 1.0)
    share: float = rope.number("partial_rotary_factor", float, outer)
    if share > 1:
        raise keys.error("partial_rotary_factor up to 1", share)
    return share


def _stretch(rope: Keys) -> tuple[float, int]:
    """By how much the context grew, and what it was."""
    return rope.number("factor", float), rope.number("original_max_position_embeddings")


def _yarn(rope: Keys, sizes: dict[str, int]) -> tuple[RopeScaling, float | None]:
    """YaRN, and the scale of the scores where DeepSeek's mscale_all_dim changes it."""
    factor, original = _stretch(rope)
    one, all_dim = rope.get("mscale"), rope.get("mscale_all_dim")
    grown = _mscale(factor)
    if one and all_dim:
        grown = _mscale(factor, one) / _mscale(factor, all_dim)
    scaling = RopeScaling(
        "yarn",
        factor,
        original,
        low=rope.number("beta_slow", float, 1.0),
        high=rope.number("beta_fast", float, 32.0),
        attention_factor=rope.number("attention_factor", float, grown),
        truncate=rope.choice("truncate", (True, False), True),
    )
    if "d_r" not in sizes or not all_dim:
        return scaling, None
    return scaling, _mscale(factor, all_dim) ** 2 / math.sqrt(sizes["d_nope"] + sizes["d_r"])


def _mscale(factor: float, mscale: float = 1.0) -> float:
    """By how much YaRN lets queries and keys grow."""
    return 1.0 if factor <= 1 else 0.1 * mscale * math.log(factor) + 1.0
