"""Mutants of the library functions of chapter 9, and the claims of the chapter that kill them."""

from slipped import slipped

MUTANTS = slipped(
    relu="""
        np.maximum(x, 0) → np.abs(x)
            ReLU: the size
        np.maximum(x, 0) → np.maximum(x, 0.01 * x)
            ReLU: it leaks
        np.maximum(x, 0) → np.minimum(x, 0)
            ReLU: the other side
    """,
    gelu="""
        x * ndtr(x) → ndtr(x)
            GELU: the share alone
        ndtr(x) → ndtr(1.702 * x)
            GELU: another spread
    """,
    gelu_tanh="""
        1 + np.tanh → np.tanh
            tanh form: no one added
        _inner(x) → x
            tanh form: the argument left out
    """,
    silu="""
        x * expit(x) → expit(x)
            SiLU: the sigmoid alone
    """,
    feed_forward="""
        _linear(hidden, p.w_out, p.b_out) → hidden @ p.w_out
            feed-forward: no bias after
        _linear(x, p.w_in, p.b_in) → x @ p.w_in
            feed-forward: no bias before
        _linear(hidden, p.w_out, p.b_out) → $ + x
            feed-forward: the row is added
        _linear(hidden, p.w_out, p.b_out) → $ + x.mean(axis=-2, keepdims=True)[..., :1]
            feed-forward: the words are seen
    """,
    feed_forward_vjp="""
        active_vjp(inner, dhidden) if gate is None else → dhidden if gate is None else
            feed-forward vjp: the slope forgotten
        return dx + dx_gate → return dx
            feed-forward vjp: nothing through the gates
    """,
    gelu_vjp="""
        ndtr(x) + x * density → ndtr(x)
            GELU vjp: the share alone
    """,
    silu_vjp="""
        1 + x * (1 - sigmoid) → 1 + x * sigmoid
            SiLU vjp: another share
    """,
    dropout="""
        x / (1 - configuration.dropout) → x
            dropout: what is kept is not divided
    """,
    dropout_vjp="""
        np.where(keep_mask, grad / → np.where(True, grad /
            dropout vjp: what is dropped passes its gradient on
    """,
    relu_vjp="""
        x > 0 → x >= 0
            ReLU vjp: a slope at 0
    """,
    **{
        "models.sizes.initialise": """
            replace(feed, w_gate=drawn(d, s.d_ff)) if s.gated else feed → feed
                first parameters: no gates
        """,
        "fast.heads.multi_head_attention": """
            project(x, parameters, memory) → (project(x, parameters, memory), $)[1]
                attention: queries, keys and values twice
        """,
    },
)
"""What is wrong -> the library function, and the mutant in its place."""

KILLED_BY = {
    "ReLU: the size": ["prop-and", "prop-odd-part"],
    "ReLU: it leaks": ["prop-and", "prop-odd-part"],
    "ReLU: the other side": ["prop-and"],
    "GELU: the share alone": ["prop-odd-part", "prop-smoothed"],
    "GELU: another spread": ["prop-smoothed", "exm-tanh-form"],
    "tanh form: no one added": ["prop-odd-part", "exm-tanh-form"],
    "tanh form: the argument left out": ["exm-tanh-form"],
    "SiLU: the sigmoid alone": ["prop-odd-part"],
    "feed-forward: no bias after": ["exm-two-bends", "prop-keys-values"],
    "feed-forward: no bias before": ["exm-two-bends", "exm-place-or-cargo", "prop-keys-values"],
    "feed-forward: the row is added": ["exm-two-bends", "prop-keys-values"],
    "feed-forward: the words are seen": ["thm-each-word"],
    "LayerNorm: over the words": ["thm-each-word"],
    "feed-forward vjp: the slope forgotten": [
        "prop-dead",
        "thm-folds",
        "prop-feed-forward-gradient",
    ],
    "feed-forward vjp: nothing through the gates": ["prop-feed-forward-gradient"],
    "GELU vjp: the share alone": ["prop-slopes"],
    "SiLU vjp: another share": ["prop-slopes"],
    "ReLU vjp: a slope at 0": ["prop-slopes"],
    "dropout: what is kept is not divided": ["prop-dropout"],
    "dropout vjp: what is dropped passes its gradient on": ["prop-dropout"],
    "first parameters: no gates": ["prop-share"],
    "attention: queries, keys and values twice": ["prop-share"],
}
"""What is wrong, here or in another chapter -> the claims of this chapter that must fail."""
