"""The architecture of a Llama from the metadata of its GGUF file, and the names of its tensors.

Source: "Standardized key-value pairs" and "Standardized tensor names" in GGUF's description,
https://github.com/ggml-org/ggml/blob/master/docs/gguf.md; the common names are those of the
package transformers, which other libraries share.
"""

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from tformer.pretrained.errors import format_error
from tformer.pretrained.gguf import LazyTensors
from tformer.pretrained.keys import require_known

__all__ = ["Architecture"]

OUTER = {
    "token_embd.weight": ("model.embed_tokens.weight", "N d_model"),
    "output_norm.weight": ("model.norm.weight", "d_model"),
}
BLOCK = {
    "attn_norm.weight": ("input_layernorm.weight", "d_model"),
    "attn_q.weight": ("self_attn.q_proj.weight", "H*d_k d_model"),
    "attn_k.weight": ("self_attn.k_proj.weight", "G*d_k d_model"),
    "attn_v.weight": ("self_attn.v_proj.weight", "G*d_k d_model"),
    "attn_output.weight": ("self_attn.o_proj.weight", "d_model H*d_k"),
    "ffn_norm.weight": ("post_attention_layernorm.weight", "d_model"),
    "ffn_gate.weight": ("mlp.gate_proj.weight", "d_ff d_model"),
    "ffn_up.weight": ("mlp.up_proj.weight", "d_ff d_model"),
    "ffn_down.weight": ("mlp.down_proj.weight", "d_model d_ff"),
}
"""The name in GGUF, in transformers, and the axes; in a block, after ``blk.0.`` and
``model.layers.0.``. The matrix of a linear layer is (d_out, d_in)."""
WIDTHS = ("key", "value")
KEYS = ("llama.", "general.type", "general.quantization_version", "split.count")
FIX = "give a GGUF file of a Llama without biases, such as SmolLM2"


@dataclass(frozen=True)
class Architecture:
    """Sizes and constants of a Llama: RMSNorm, rotary positions, SwiGLU, no biases.

    Attributes
    ----------
    n_layers, d_model, d_ff, n_vocab : int
        Sizes.
    n_heads, n_groups, d_k : int
        Heads, key/value heads, and width of a head.
    n_context : int
        The context length of its training.
    eps : float
        Of RMSNorm, added to the mean square.
    base : float
        Of the rotary frequencies.
    tied : bool
        Whether the unembedding is the transpose of the embedding.
    pairing : str
        Which coordinates of queries and keys are rotated together: always "adjacent", 2i and
        2i + 1, in GGUF. Files of transformers have "half", i and i + d_k / 2.
    """

    n_layers: int
    d_model: int
    n_heads: int
    n_groups: int
    d_k: int
    d_ff: int
    n_vocab: int
    n_context: int
    eps: float
    base: float
    tied: bool
    pairing: str = "adjacent"

    @classmethod
    def of(cls, metadata: Mapping[str, Any], tensors: LazyTensors) -> "Architecture":
        """The architecture of a GGUF file, which must have its tensors, all and no others.

        Optional numbers have the defaults of the format's description: as many key/value heads as
        heads, and keys and values of width d_model / H. Where it gives none, the base is 10000, as
        in llama.cpp, and the size of the vocabulary is the number of rows of the embedding.

        Raises
        ------
        PretrainedError
            If a number is missing, two do not fit, a tensor is missing, unexpected or of another
            shape, or a key of the model is not understood.
        """
        if (kind := metadata.get("general.architecture")) != "llama":
            raise format_error(tensors.path, "the architecture llama", kind, FIX)
        require_known(tensors.path, metadata, KEYS, FIX)

        def number(key: str, kind: type = int, default: float | None = None) -> Any:
            found: Any = metadata.get(f"llama.{key}", default)
            above = isinstance(found, int | float) and 0 < found < math.inf
            if type(found) is not kind or not above:
                raise format_error(
                    tensors.path, f"llama.{key}, {kind.__name__} above 0", found, FIX
                )
            return found

        d_model, n_heads = number("embedding_length"), number("attention.head_count")
        n_groups = number("attention.head_count_kv", default=n_heads)
        widths = [number(f"attention.{x}_length", default=d_model // n_heads) for x in WIDTHS]
        d_k = number("rope.dimension_count")
        divided = d_model % n_heads == 0 or "llama.attention.key_length" in metadata
        if not divided or widths != [d_k] * 2 or n_heads % n_groups or d_k % 2:
            sizes = f"{d_model}, {n_heads}, {n_groups}, {widths[0]}, {widths[1]}, {d_k}"
            wanted = (
                "keys and values of d_model / H or as given, all rotated, H divided by G, d_k even"
            )
            found = f"d_model, H, G, d_k, d_v, rotated = {sizes}"
            raise format_error(tensors.path, wanted, found, FIX)
        table = tensors.info.get("token_embd.weight")
        made = cls(
            n_layers=number("block_count"),
            d_model=d_model,
            n_heads=n_heads,
            n_groups=n_groups,
            d_k=d_k,
            d_ff=number("feed_forward_length"),
            n_vocab=number("vocab_size", default=table.shape[0] if table else None),
            n_context=number("context_length"),
            eps=number("attention.layer_norm_rms_epsilon", float),
            base=number("rope.freq_base", float, 10000.0),
            tied="output.weight" not in tensors,
        )
        made._require(tensors)
        return made

    def _require(self, tensors: LazyTensors) -> None:
        if self.n_layers > len(tensors):
            raise format_error(
                tensors.path, f"{self.n_layers} layers", f"{len(tensors)} tensors", FIX
            )
        wanted = self.shapes()
        there = {name: info.shape for name, info in tensors.info.items()}
        for name in wanted | there:
            if wanted.get(name) != there.get(name):
                shapes = wanted.get(name, "none"), there.get(name, "none")
                raise format_error(tensors.path, f"{name} of shape {shapes[0]}", shapes[1], FIX)

    def shapes(self) -> dict[str, tuple[int, ...]]:
        """The shape of each tensor by its name in GGUF, in the order of the layers."""
        sizes = {
            "N": self.n_vocab,
            "d_model": self.d_model,
            "d_ff": self.d_ff,
            "H*d_k": self.n_heads * self.d_k,
            "G*d_k": self.n_groups * self.d_k,
        }
        return {
            name: tuple(sizes[axis] for axis in axes.split())
            for name, (_, axes) in self._rows().items()
        }

    def common_names(self) -> dict[str, str]:
        """Names in transformers by names in GGUF, in the order of the layers."""
        return {name: common for name, (common, _) in self._rows().items()}

    def _rows(self) -> dict[str, tuple[str, str]]:
        rows = {"token_embd.weight": OUTER["token_embd.weight"]}
        for i in range(self.n_layers):
            for name, (common, axes) in BLOCK.items():
                rows[f"blk.{i}.{name}"] = f"model.layers.{i}.{common}", axes
        rows["output_norm.weight"] = OUTER["output_norm.weight"]
        return rows | ({} if self.tied else {"output.weight": ("lm_head.weight", "N d_model")})
