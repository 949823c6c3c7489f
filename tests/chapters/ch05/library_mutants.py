"""Mutants of the library functions of chapter 5, and the claims of the chapter that kill them."""

from slipped import slipped

MUTANTS = slipped(
    causal_mask="""
        s <= t → s >= t
            causal mask: upside down
        s <= t → s <= t + 1
            causal mask: one too far
    """,
    sliding_window_mask="""
        t - window → t - window - 1
            window: one too wide
    """,
    packed_mask="""
        (t == s) & (t >= 0) → (t == s) | True
            packed mask: everything
    """,
    to_additive="""
        -np.inf → -10.0
            additive mask: a finite fill
    """,
    causal_attention="""
        offset) → 0)
            causal attention: the offset ignored
    """,
    count_leaks="""
        != 0 → == np.inf
            leaks: none counted
    """,
    prefix_mask="""
        s < n_prefix → s <= n_prefix
            prefix mask: one too long
    """,
)
"""What is wrong -> the library function, and the mutant in its place."""

KILLED_BY = {
    "causal mask: upside down": ["exm-causal-row", "thm-one-pass", "cor-distribution"],
    "causal mask: one too far": ["exm-causal-row", "thm-causal", "thm-one-pass"],
    "window: one too wide": ["prop-paths"],
    "prefix mask: one too long": ["cor-distribution"],
    "packed mask: everything": ["exm-packed", "exm-packed-places"],
    "additive mask: a finite fill": ["exm-causal-row"],
    "causal attention: the offset ignored": ["exm-cache"],
    "leaks: none counted": ["prop-hole"],
    "attention: masked after softmax": ["thm-causal", "exm-milk-masked", "exm-packed"],
    "weights: softmax over the queries": ["thm-conditioning"],
}
"""What is wrong, here or in another chapter -> the claims of this chapter that must fail."""
