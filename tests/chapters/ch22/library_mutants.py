"""Mutants of the library functions of chapter 22, and the claims of the chapter that kill them."""

from slipped import slipped

MUTANTS = slipped(
    **{
        "reference.sinks._weights": """
            seen, column] → seen, 0 * column]
                sinks: every sink has the score 0
        """,
        "reference.experts.top_k_routing": """
            routing.factor * weights → weights / 2
                top-k routing: halved
        """,
        "reference.experts._chosen": """
            scores + choice_bias → scores
                top-k routing: the bias does not choose
        """,
        "reference.experts.mixture_of_experts": """
            weight * outputs → outputs
                mixture of experts: outputs are not weighed
        """,
        "reference.latents._absorbed": """
            max(q.shape[-1], 1) → max(q_c.shape[-1], 1)
                absorbed latent attention: the scale of the latents' width
        """,
        "reference.latents._keys_and_values": """
            latent_H @ p.w_v → latent_H @ p.w_v * 2
                latent attention: doubled values
        """,
        "reference.delta_rule._states": """
            - _read(k[..., t, :], decayed) → - 0 * _read(k[..., t, :], decayed)
                delta rule: values are added, not corrected
        """,
        "reference.delta_rule.short_convolution": """
            kernel[..., i : i + 1, :] → kernel[..., n_taps - 1 - i : n_taps - i, :]
                short convolution: the taps in the other order
        """,
        "reference.delta_rule.chunked_gated_delta_rule": """
            left).mT @ changes → left).mT @ (0 * changes)
                delta rule in chunks: nothing is written
        """,
    },
)
"""What is wrong -> the library function, and the mutant in its place."""

KILLED_BY = {
    "sinks: every sink has the score 0": ["prop-sink", "exm-published"],
    "top-k routing: halved": ["prop-top-k-softmax", "prop-routing-bias", "exm-published"],
    "top-k routing: the bias does not choose": ["prop-routing-bias"],
    "mixture of experts: outputs are not weighed": ["exm-published"],
    "absorbed latent attention: the scale of the latents' width": ["thm-absorbed"],
    "latent attention: doubled values": ["thm-absorbed"],
    "delta rule: values are added, not corrected": ["prop-delta-recall", "exm-published"],
    "short convolution: the taps in the other order": ["exm-published"],
    "delta rule in chunks: nothing is written": ["prop-delta-chunks"],
}
"""What is wrong, here or in another chapter -> the claims of this chapter that must fail."""
