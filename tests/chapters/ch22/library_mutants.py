"""Mutants of the library functions of chapter 22, and the claims of the chapter that kill them."""

from slipped import slipped

MUTANTS = slipped(
    sink_attention="""
        _weights(q, k, sinks → _weights(q, k, 2 * sinks
            sinks: twice as large
    """,
    top_k_routing="""
        weights_of(logits, routing, chosen) → weights_of(logits, routing, chosen) / 2
            top-k routing: halved
    """,
    drop_overflow="""
        _taken(weights, capacity) → _taken(weights, capacity + 1)
            overflow: an expert takes one token more
    """,
    sinkhorn="""
        eps)[-1] → eps)[0]
            sinkhorn: rows only
    """,
    write_streams="""
        mix.mT → mix
            streams: mixed by rows
    """,
    read_streams="""
        axis=-2) → axis=-2) / 2
            streams: halved
    """,
    stream_weights="""
        2 * expit(write) → expit(write)
            streams: written by half
    """,
    latent_attention="""
        grouped_attention(q, k, v → grouped_attention(q, k, 2 * v
            latent attention: doubled
    """,
    absorbed_latent_attention="""
        return _absorbed( → return 2 * _absorbed(
            absorbed latent attention: doubled
    """,
    gated_delta_rule="""
        states[..., -1, :, :] → states[..., 0, :, :]
            delta rule: the first state comes back
    """,
    chunked_gated_delta_rule="""
        left).mT @ changes → left).mT @ (0 * changes)
            delta rule in chunks: nothing is written
    """,
    **{
        "reference.sinks._weights": """
            seen, column] → seen, 0 * column]
                sinks: every sink has the score 0
        """,
        "reference.experts._chosen": """
            scores + choice_bias → scores
                top-k routing: the bias does not choose
        """,
        "reference.experts.mixture_of_experts": """
            weight * outputs → outputs
                mixture of experts: outputs are not weighed
        """,
        "reference.capacity._taken": """
            rank * n_tokens → 0 * rank
                overflow: tokens in order, whatever they rank first
        """,
        "reference.hash_routing.named": """
            experts[..., np.newaxis] == → experts[..., np.newaxis] + 1 ==
                experts of a table: each is the next one
        """,
        "reference.windows.pool": """
            weights * values → values
                pooled windows: tokens are not weighed
        """,
        "reference.compressed_attention._open": """
            + 1) // n_window → + n_window) // n_window
                compressed attention: a window is read from its first token on
        """,
        "reference.latents._absorbed": """
            scale_of(q, c.scale) → scale_of(q_c, c.scale)
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
    },
)
"""What is wrong -> the library function, and the mutant in its place."""

KILLED_BY = {
    "sinks: twice as large": ["prop-sink"],
    "sinks: every sink has the score 0": ["prop-sink", "exm-published"],
    "top-k routing: halved": ["prop-top-k-softmax", "prop-routing-bias"],
    "top-k routing: the bias does not choose": ["prop-routing-bias"],
    "mixture of experts: outputs are not weighed": ["exm-published"],
    "overflow: an expert takes one token more": ["prop-overflow-order"],
    "overflow: tokens in order, whatever they rank first": ["prop-overflow-order"],
    "sinkhorn: rows only": ["prop-stream-mixing"],
    "streams: mixed by rows": ["prop-stream-mixing", "exm-published"],
    "streams: halved": ["exm-published"],
    "streams: written by half": ["exm-published"],
    "experts of a table: each is the next one": ["exm-published"],
    "pooled windows: tokens are not weighed": ["exm-published"],
    "compressed attention: a window is read from its first token on": ["exm-published"],
    "latent attention: doubled": ["thm-absorbed"],
    "latent attention: doubled values": ["thm-absorbed"],
    "absorbed latent attention: doubled": ["thm-absorbed"],
    "absorbed latent attention: the scale of the latents' width": ["thm-absorbed"],
    "delta rule: the first state comes back": ["prop-delta-recall"],
    "delta rule: values are added, not corrected": ["prop-delta-recall", "exm-published"],
    "short convolution: the taps in the other order": ["exm-published"],
    "delta rule in chunks: nothing is written": ["prop-delta-chunks"],
}
"""What is wrong, here or in another chapter -> the claims of this chapter that must fail."""
