"""Mutants of the library functions of chapter 6, and the claims of the chapter that kill them.

The claims call the whole layer; what goes wrong between projection, attention and merging is
written as a slip of it.
"""

from slipped import slipped

MUTANTS = slipped(
    multi_head_attention="""
        k, v, mask → *(np.concatenate([t] * parameters.group_size, axis=-3) for t in (k, v)), mask
            heads: groups in turn
        k, v, mask → k[..., ::-1, :, :], v[..., ::-1, :, :], mask
            heads: keys and values of other groups
        k, v, mask → k, v, None
            heads: mask ignored
        bias, scale → bias, scale or 1.0
            heads: no scale
        merge(y, parameters) → $ / len(parameters.w_q)
            heads: the mean, not the sum
        merge(y, → merge(y[..., ::-1, :, :],
            heads: merged through the matrices of others
    """,
    multi_head_attention_vjp="""
        dq, dk, dv, memory → dq, dk / parameters.group_size, dv / parameters.group_size, memory
            heads vjp: shared tables not summed
        dx, tree_map → dx / 2, tree_map
            heads vjp: half of what is asked and looked at
    """,
    multi_head_weights="""
        grouped_attention_weights(q, k, mask, bias, scale, causal) → $[..., ::-1, :, :]
            heads' weights: turned round
        q, k, mask → q, np.concatenate([k] * parameters.group_size, axis=-3), mask
            heads' weights: groups in turn
        bias, scale, causal → bias, None, causal
            heads' weights: the scale that was asked for ignored
    """,
    qk_circuit="""
        parameters.w_q @ np.repeat(parameters.w_k, parameters.group_size, axis=0).mT → ($).mT
            QK circuit: transposed
    """,
    ov_circuit="""
        np.repeat(parameters.w_v, parameters.group_size, axis=0) @ parameters.w_o → ($).mT
            OV circuit: transposed
    """,
)
"""What is wrong -> the library function, and the mutant in its place."""

KILLED_BY = {
    "heads: groups in turn": ["prop-multi-head-vjp"],
    "heads: keys and values of other groups": ["thm-sum-of-heads"],
    "heads: mask ignored": ["thm-sum-of-heads", "prop-multi-head-vjp"],
    "heads: no scale": ["thm-two-matrices", "thm-sum-of-heads"],
    "heads: the mean, not the sum": ["thm-sum-of-heads", "exm-who-whom"],
    "heads: merged through the matrices of others": ["thm-sum-of-heads", "exm-who-whom"],
    "heads vjp: shared tables not summed": ["prop-multi-head-vjp"],
    "heads vjp: half of what is asked and looked at": ["prop-multi-head-vjp"],
    "heads' weights: turned round": ["thm-sum-of-heads", "prop-sharing"],
    "heads' weights: the scale that was asked for ignored": ["prop-sharing"],
    "heads' weights: groups in turn": ["prop-sharing"],
    "QK circuit: transposed": ["thm-two-matrices"],
    "OV circuit: transposed": ["thm-two-matrices"],
}
"""What is wrong, here or in another chapter -> the claims of this chapter that must fail."""
