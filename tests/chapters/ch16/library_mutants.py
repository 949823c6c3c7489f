"""Mutants of the library functions of chapter 16, and the claims of the chapter that kill them."""

from slipped import slipped

MUTANTS = slipped(
    blockwise_attention="""
        forward(q, k → forward(2 * q, k
            blockwise attention: another scale
    """,
    blockwise_attention_vjp="""
        v, grad, saved → v, 0 * grad, saved
            blockwise attention vjp: nothing is passed back
    """,
    window_attention="""
        window)[0] → None)[0]
            window attention: all keys before
    """,
    block_sparse_attention="""
        keys <= last → keys < last
            block-sparse attention: not itself
    """,
    elu_feature_map="""
        np.exp(np.minimum(x, 0)) → 0 * x
            positive features: zero below zero
    """,
    linear_attention="""
        (weights_TS @ v) / → (weights_TS @ v) / 2 /
            linear attention: halved
    """,
    recurrent_linear_attention="""
        state = state + k → state = k
            recurrent linear attention: overwritten
    """,
    **{
        "reference.blockwise.softmax_state": """
            terms.sum(axis=-1), terms @ v → 2 * terms.sum(axis=-1), 2 * terms @ v
                state of a softmax: twice as large
        """,
    },
)
"""What is wrong -> the library function, and the mutant in its place."""

KILLED_BY = {
    "blockwise attention: another scale": ["thm-blockwise"],
    "blockwise attention vjp: nothing is passed back": ["thm-blockwise"],
    "window attention: all keys before": ["prop-window"],
    "block-sparse attention: not itself": ["prop-window"],
    "positive features: zero below zero": ["thm-linear"],
    "linear attention: halved": ["thm-linear"],
    "recurrent linear attention: overwritten": ["thm-linear"],
    "state of a softmax: twice as large": ["thm-merge"],
}
"""What is wrong, here or in another chapter -> the claims of this chapter that must fail."""
