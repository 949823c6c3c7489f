"""Mutants of the library functions of chapter 6, and the claims of the chapter that kill them."""

import numpy as np

from tformer import reference as ref
from tformer.parameters import HeadParameters

RIGHT = ref.multi_head_attention
RIGHT_VJP, RIGHT_WEIGHTS = ref.multi_head_attention_vjp, ref.multi_head_weights
QK, OV = ref.qk_circuit, ref.ov_circuit


def in_turn(x, weights, memory=None, mask=None, bias=None, scale=None):
    """Give head h the keys and values of group h mod G, not of its neighbours."""
    order = np.argsort(np.arange(len(weights.w_q)) % len(weights.w_k), kind="stable")
    moved = HeadParameters(weights.w_q[order], weights.w_k, weights.w_v, weights.w_o[order])
    return RIGHT(x, moved, memory, mask, bias, scale)


def not_summed(x, weights, grad, memory=None, mask=None, bias=None, scale=None):
    """Return the mean over the heads of a group where the sum belongs."""
    dx, dw, *rest = RIGHT_VJP(x, weights, grad, memory, mask, bias, scale)
    w_k, w_v = dw.w_k / weights.group_size, dw.w_v / weights.group_size
    return dx, HeadParameters(dw.w_q, w_k, w_v, dw.w_o), *rest


MUTANTS = {
    "heads: groups in turn": ("multi_head_attention", in_turn),
    "heads: mask ignored": (
        "multi_head_attention",
        lambda x, weights, memory=None, mask=None, bias=None, scale=None: RIGHT(
            x, weights, memory, None, bias, scale
        ),
    ),
    "heads: no scale": (
        "multi_head_attention",
        lambda x, weights, memory=None, mask=None, bias=None, scale=None: RIGHT(
            x, weights, memory, mask, bias, scale or 1.0
        ),
    ),
    "heads: the mean, not the sum": (
        "multi_head_attention",
        lambda x, weights, *rest, **given: RIGHT(x, weights, *rest, **given) / len(weights.w_q),
    ),
    "heads vjp: shared tables not summed": ("multi_head_attention_vjp", not_summed),
    "heads' weights: turned round": (
        "multi_head_weights",
        lambda x, weights, *rest, **given: RIGHT_WEIGHTS(x, weights, *rest, **given)[
            ..., ::-1, :, :
        ],
    ),
    "QK circuit: transposed": ("qk_circuit", lambda weights: QK(weights).mT),
    "OV circuit: transposed": ("ov_circuit", lambda weights: OV(weights).mT),
}
"""What is wrong -> the library function, and the mutant in its place."""

KILLED_BY = {
    "heads: groups in turn": ["prop-multi-head-vjp"],
    "heads: mask ignored": ["thm-sum-of-heads", "prop-multi-head-vjp"],
    "heads: no scale": ["thm-two-matrices"],
    "heads: the mean, not the sum": ["thm-sum-of-heads", "exm-who-whom"],
    "heads vjp: shared tables not summed": ["prop-multi-head-vjp"],
    "heads' weights: turned round": ["thm-sum-of-heads"],
    "QK circuit: transposed": ["thm-two-matrices"],
    "OV circuit: transposed": ["thm-two-matrices"],
}
"""What is wrong, here or in another chapter -> the claims of this chapter that must fail."""
