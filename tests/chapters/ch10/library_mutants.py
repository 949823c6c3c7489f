"""Mutants of the library functions of chapter 10, and the claims of the chapter that kill them."""

from slipped import slipped

MUTANTS = slipped(
    **{
        "unembed": """
            x @ → 2 * x @
                unembedding: twice the logits
        """,
        "block": """
            causal, dropout_masks) → not causal, dropout_masks)
                block: causal where it is not
        """,
        "cached_decoder": """
            embed(tokens, p, c, offset, positions) → embed(tokens, p, c, 0, positions)
                cached decoder: counted from the start
        """,
        "decoder_vjp": """
            *options), p, grad) → *options), p, 0 * grad)
                decoder vjp: nothing goes back
        """,
        "reference.blocks.apply_norm": """
            norm is None → norm is None or norm.bias is None
                norms: none where there is no bias
        """,
        "reference.stacks.embed": """
            encoding.added(p, c, at) → encoding.added(p, c, at + 1)
                positions: shifted by one
        """,
        "reference.projections.merge": """
            merged + parameters.b_o → merged + len(parameters.w_o) * parameters.b_o
                output bias: added once for each head
        """,
        "reference.stacks.embed_vjp": """
            grad * math.sqrt(grad.shape[-1]) if c.scale_embedding else grad → 2 * grad
                embedding vjp: twice the gradient
        """,
    }
)
"""What is wrong -> the library function, and the mutant in its place."""

KILLED_BY = {
    "unembedding: twice the logits": ["exm-eggs"],
    "LayerNorm: the mean stays": ["exm-eggs", "prop-always-eggs"],
    "ReLU: the size": ["exm-eggs"],
    "block: causal where it is not": ["exm-cpp-block"],
    "cached decoder: counted from the start": ["thm-stack-causal"],
    "decoder vjp: nothing goes back": ["prop-tied-gradient"],
    "norms: none where there is no bias": ["prop-tied-start"],
    "positions: shifted by one": ["thm-stack-causal"],
    "output bias: added once for each head": ["thm-stack-causal"],
    "embedding vjp: twice the gradient": ["prop-tied-gradient"],
}
"""What is wrong, here or in another chapter -> the claims of this chapter that must fail."""
