"""The sizes of a checkpoint as another library writes them down."""

from transformers import LlamaConfig

from tformer.pretrained.architecture import Architecture


def settings_of(about: Architecture) -> LlamaConfig:
    """Another library's configuration of the same model."""
    return LlamaConfig(
        vocab_size=about.n_vocab,
        hidden_size=about.d_model,
        num_hidden_layers=about.n_layers,
        num_attention_heads=about.n_heads,
        num_key_value_heads=about.n_groups,
        intermediate_size=about.d_ff,
        rms_norm_eps=about.eps,
        max_position_embeddings=about.n_context,
        rope_parameters={"rope_type": "default", "rope_theta": about.base},
        tie_word_embeddings=about.tied,
    )
