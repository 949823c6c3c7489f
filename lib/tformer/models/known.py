"""Sizes and configurations of well-known models, for counting."""

from tformer.configuration import Configuration
from tformer.models.sizes import Sizes

__all__ = ["GPT", "GPT2", "LLAMA", "SMOL"]

GPT2 = Sizes(50257, 768, 12, 12, 3072, n_positions=1024)
"""GPT-2 small."""
SMOL = Sizes(49152, 576, 30, 9, 1536, n_groups=3, biased=False, gated=True)
"""SmolLM2-135M, the pretrained model of the book."""
GPT = Configuration(activation="gelu_tanh")
LLAMA = Configuration(norm="rms", activation="silu", positions="rope")
