"""Around a model: sizes, costs, initialisation, files, state dicts, generation, activations.

Decoders whose layers may differ are here too: `layered_decoder`.

Importing it does not load PyTorch; each function takes NumPy arrays or tensors.
"""

from tformer.models.beam_search import Hypothesis, beam_search
from tformer.models.costs import (
    Cost,
    attention_cost,
    attention_crossover_length,
    attention_flops,
    attention_share,
    decode_cost,
    kv_cache_bytes,
    prefill_cost,
)
from tformer.models.files import WeightsError, load, save
from tformer.models.generate import generate
from tformer.models.hooks import (
    activation_names,
    mean_ablation,
    patch,
    resample_ablation,
    run_with_hooks,
    zero_ablation,
)
from tformer.models.layered import (
    cached_layered_decoder,
    layered_decoder,
    layered_decoder_vjp,
)
from tformer.models.objectives import masked_tokens, next_tokens, span_corruption
from tformer.models.pretrained import PretrainedModel, from_checkpoint, from_pretrained
from tformer.models.pretrained_layers import layers_from_pretrained, layers_from_state_dict
from tformer.models.sizes import Sizes, count_flops, count_parameters, initialise
from tformer.models.speculative import speculative_decoding
from tformer.models.state_dicts import from_state_dict, to_state_dict

__all__ = [
    "Cost",
    "Hypothesis",
    "PretrainedModel",
    "Sizes",
    "WeightsError",
    "activation_names",
    "attention_cost",
    "attention_crossover_length",
    "attention_flops",
    "attention_share",
    "beam_search",
    "cached_layered_decoder",
    "count_flops",
    "count_parameters",
    "decode_cost",
    "from_checkpoint",
    "from_pretrained",
    "from_state_dict",
    "generate",
    "initialise",
    "kv_cache_bytes",
    "layered_decoder",
    "layered_decoder_vjp",
    "layers_from_pretrained",
    "layers_from_state_dict",
    "load",
    "masked_tokens",
    "mean_ablation",
    "next_tokens",
    "patch",
    "prefill_cost",
    "resample_ablation",
    "run_with_hooks",
    "save",
    "span_corruption",
    "speculative_decoding",
    "to_state_dict",
    "zero_ablation",
]
