"""Mutants of the library functions of chapter 11, and the claims of the chapter that kill them."""

from slipped import slipped

MUTANTS = slipped(
    encoder="""
        p, c, False, None, mask, None, dropout_masks → p, c, True, None, mask, None, dropout_masks
            encoder: causal
        p, c, False, None, mask, None, dropout_masks → p, c, False, None, None, None, dropout_masks
            encoder: the mask left out
    """,
    decoder="""
        p, c, True, memory → p, c, False, memory
            decoder: no causal mask
    """,
    encoder_decoder="""
        decoder(target, → decoder(np.roll(target, -1, axis=-1),
            encoder–decoder: the target's words moved by one
    """,
    encoder_decoder_vjp="""
        c, dmemory, mask → c, 0 * dmemory, mask
            encoder–decoder vjp: nothing goes back to the encoder
    """,
    encoder_vjp="""
        p, c, grad, False, None, mask → p, c, grad, True, None, mask
            encoder vjp: causal
    """,
    project="""
        _rows(source, p.w_v, p.b_v) → _rows(source, p.w_k, p.b_k)
            projections: values that are keys
    """,
    merge="""
        np.sum(y → 2 * np.sum(y
            merge: twice what the heads bring
    """,
    grouped_attention="""
        mask, bias, scale → mask, None, scale
            grouped attention: the bias left out
    """,
    **{
        "reference.models.decoder": """
            x = embed(tokens, → x = embed(np.roll(tokens, 1, axis=-1),
                decoder: the words moved by one
            p, c, True, memory → p, c, False, memory
                decoder: no causal mask, wherever it is known
        """,
        "reference.stacks.stack": """
            return apply_norm(x, p.norm, c) → return x
                stack: no last norm
        """,
    },
)
"""What is wrong -> the library function, and the mutant in its place."""

KILLED_BY = {
    "encoder: causal": ["thm-who-knows"],
    "encoder: the mask left out": ["prop-one-stack", "thm-who-knows"],
    "decoder: no causal mask": ["prop-one-stack", "thm-best-guess"],
    "encoder–decoder vjp: nothing goes back to the encoder": ["thm-who-knows"],
    "encoder vjp: causal": ["thm-who-knows"],
    "projections: values that are keys": ["prop-joint"],
    "merge: twice what the heads bring": ["prop-joint"],
    "grouped attention: the bias left out": ["prop-joint"],
    "decoder: the words moved by one": ["prop-lessons"],
    "encoder–decoder: the target's words moved by one": ["prop-lessons"],
    "decoder: no causal mask, wherever it is known": ["prop-lessons", "prop-one-stack"],
    "stack: no last norm": ["prop-one-stack"],
    "output bias: added once for each head": ["prop-one-stack"],
    "positions: shifted by one": ["prop-one-stack"],
}
"""What is wrong, here or in another chapter -> the claims of this chapter that must fail."""
