"""Pretrained models as parameters and a configuration: from GGUF files, and from safetensors."""

from pathlib import Path
from typing import Any, NamedTuple

from safetensors import SafetensorError, safe_open

from tformer.configuration import Configuration
from tformer.models.files import WeightsError, load, require_loadable
from tformer.models.quantised import quantised_parameters
from tformer.models.state_dicts import from_state_dict
from tformer.parameters import ModelParameters, named_leaves
from tformer.pretrained import Checkpoint, PretrainedError, checkpoint, open_checkpoint
from tformer.pretrained.errors import format_error
from tformer.pretrained.folder import FIX, Settings, read_settings, read_tensors

__all__ = ["PretrainedModel", "from_checkpoint", "from_pretrained"]

KNOWN = "a GGUF file, a safetensors file, or a folder with config.json and model.safetensors"
NOT_HERE = "give the path of one on this machine; nothing is downloaded"
ACTIVATIONS = {
    "silu": "silu",
    "swish": "silu",
    "relu": "relu",
    "gelu": "gelu",
    "gelu_new": "gelu_tanh",
    "gelu_pytorch_tanh": "gelu_tanh",
}
"""Our name of an activation by that of transformers."""
HEAD_BIASES = {f"heads.b_{x}" for x in "qkvo"}
GPT2_BIASES = HEAD_BIASES | {"feed_forward.b_in", "feed_forward.b_out"}
GPT2_BIASES |= {"heads_norm.bias", "feed_forward_norm.bias"}


class PretrainedModel(NamedTuple):
    """A tokenizer, parameters, and the configuration to compute with.

    Attributes
    ----------
    tokenizer : BPE or None
        None where the tokenizer is not read: of safetensors files.
    parameters : ModelParameters
        NumPy arrays: in float32, or in float64 where a safetensors file has it. With bits=4 tensors
        and `QuantisedMatrix`.
    configuration : Configuration
    """

    tokenizer: Any
    parameters: ModelParameters
    configuration: Configuration


def from_pretrained(path: Path | str | None = None, bits: int = 32) -> PretrainedModel:
    """Load a pretrained model from a file, or SmolLM2-135M-Instruct.

    Nothing is downloaded, unpickled or run.

    Parameters
    ----------
    path : path, optional
        One of these; SmolLM2-135M-Instruct if left out, 4 bits a weight, which `make model`
        installs: it takes about a second, and half a gigabyte in float32.

        - A GGUF file of a Llama without biases, with the tokenizer of SmolLM2.
        - A folder that `save_pretrained` of transformers wrote, for `model_type` "llama" or "gpt2":
          config.json and model.safetensors; or that safetensors file. Its tokenizer is not read.
        - A safetensors file of `tformer.models.save`, without a tokenizer.
    bits : int
        32, or 4 for a GGUF file: its matrices stay in the four and eight bits that they have, as
        `tformer.fast.QuantisedMatrix`, and all else is tensors, for `tformer.fast` alone. Where
        PyTorch has no kernel for such matrices, a warning says so and all is float32.

    Raises
    ------
    PretrainedError
        If there is no such file, or it is damaged, or of a model that is not understood; the
        message says what was expected, what was found, and what to do.
    ValueError
        If bits is neither 32 nor 4, or 4 for another file than GGUF.
    WeightsError
        If a file of `tformer.models.save` is damaged.
    """
    if bits not in (4, 32):
        raise ValueError(f"from_pretrained: bits must be 4 or 32; got {bits!r}")
    if path is None:
        return from_checkpoint(checkpoint(), bits)
    path = Path(path)
    if not path.exists():
        raise format_error(path, KNOWN, "none", NOT_HERE)
    if path.is_dir() and bits == 4:
        raise ValueError(f"from_pretrained: bits=4 needs a GGUF file; got {path}")
    if path.is_dir():
        return _from_folder(path)
    try:
        with path.open("rb") as file:
            magic = file.read(4)
    except OSError as error:
        raise format_error(path, "a file that can be read", error, NOT_HERE) from error
    if magic == b"GGUF":
        return from_checkpoint(open_checkpoint(path), bits)
    if bits == 4:
        raise ValueError(f"from_pretrained: bits=4 needs a GGUF file; got {path}")
    if _is_saved(path):
        return _from_saved(path)
    if path.suffix == ".safetensors":
        return _from_folder(path)
    raise format_error(path, KNOWN, f"a file that begins with {magic!r}", NOT_HERE)


def from_checkpoint(found: Checkpoint, bits: int = 32) -> PretrainedModel:
    """The model of a GGUF file of a Llama, in float32, or in few bits as `from_pretrained` says."""
    architecture = found.architecture
    configuration = Configuration(
        norm="rms",
        eps=architecture.eps,
        activation="silu",
        positions="rope",
        pairing=architecture.pairing,
        base=architecture.base,
    )
    if bits == 4:
        return PretrainedModel(found.tokenizer, quantised_parameters(found), configuration)
    state = found.common(architecture.pairing)
    parameters = from_state_dict("llama", state, architecture.n_heads, architecture.n_groups)
    return PretrainedModel(found.tokenizer, parameters, configuration)


def _is_saved(path: Path) -> bool:
    """Whether a file says that `save` wrote it."""
    try:
        with safe_open(path, framework="numpy") as file:
            return {"kind", "sha256"} <= (file.metadata() or {}).keys()
    except (SafetensorError, OSError):
        return False


def _from_saved(path: Path) -> PretrainedModel:
    """A model that `save` wrote."""
    parameters, configuration = load(path)
    if not isinstance(parameters, ModelParameters):
        kind = type(parameters).__name__
        raise format_error(path, "ModelParameters", kind, "read it with tformer.models.load")
    return PretrainedModel(None, parameters, configuration)


def _from_folder(path: Path) -> PretrainedModel:
    """A model that `save_pretrained` of transformers wrote."""
    settings, weights = read_settings(path)
    if "quantization_config" in settings:
        raise settings.error("no quantization_config", settings["quantization_config"])
    naming = settings.choice("model_type", ("llama", "gpt2"))
    configuration = (_llama if naming == "llama" else _gpt2)(settings)
    heads, groups = ("num_attention_heads", "num_key_value_heads")
    n_heads = settings.number(heads if naming == "llama" else "n_head")
    n_groups = settings.number(groups, default=n_heads) if naming == "llama" else n_heads
    state = read_tensors(weights)
    try:
        parameters = from_state_dict(naming, state, n_heads, n_groups)
        require_loadable("from_pretrained", parameters, configuration)
    except WeightsError as error:
        raise PretrainedError(f"{weights}: {error}; {FIX}") from error
    _require_settings(settings, naming, parameters)
    tied = settings.choice("tie_word_embeddings", (True, False), naming == "gpt2")
    if tied and parameters.unembedding is not None:
        raise settings.error("tie_word_embeddings False", "True, and lm_head.weight differs")
    if not tied and "lm_head.weight" not in state:
        raise settings.error("lm_head.weight, as tie_word_embeddings is False", "none")
    return PretrainedModel(None, parameters, configuration)


def _llama(settings: Settings) -> Configuration:
    """What `LlamaForCausalLM` computes."""
    settings.choice("mlp_bias", (False,), False)
    rope: dict[str, Any] = {"rope_theta": settings.get("rope_theta", 10000.0)}
    for key in ("rope_scaling", "rope_parameters"):  # of transformers 4, and 5
        if not isinstance(found := settings.get(key, {}), dict):
            raise settings.error(f"{key}, a JSON object", repr(found))
        rope |= found
    kind = rope.get("rope_type", rope.get("type", "default"))
    Settings(settings.path, {"rope_type": kind}).choice("rope_type", ("default",))
    return Configuration(
        norm="rms",
        eps=settings.number("rms_norm_eps", float, 1e-6),
        activation=ACTIVATIONS[settings.choice("hidden_act", ACTIVATIONS, "silu")],
        positions="rope",
        pairing="half",
        base=Settings(settings.path, rope).number("rope_theta", float),
    )


def _gpt2(settings: Settings) -> Configuration:
    """What `GPT2LMHeadModel` computes."""
    settings.choice("scale_attn_weights", (True,), True)
    settings.choice("scale_attn_by_inverse_layer_idx", (False,), False)
    settings.choice("add_cross_attention", (False,), False)
    activation = settings.choice("activation_function", ACTIVATIONS, "gelu_new")
    eps = settings.number("layer_norm_epsilon", float, 1e-5)
    return Configuration(eps=eps, activation=ACTIVATIONS[activation], positions="learned")


def _require_settings(settings: Settings, naming: str, parameters: ModelParameters) -> None:
    """Hold the sizes of the arrays, and which biases there are, to config.json."""
    (n_vocab, d_model), first = parameters.embedding.shape, dict(named_leaves(parameters.blocks[0]))
    d_k, d_ff = first["heads.w_q"].shape[-1], first["feed_forward.w_in"].shape[-1]
    biases: set[str] = set()
    if naming == "llama":
        sizes = {"hidden_size": d_model, "num_hidden_layers": len(parameters.blocks)}
        sizes |= {"intermediate_size": d_ff, "head_dim": d_k}
        defaults = {"head_dim": d_model // settings["num_attention_heads"]}
        if settings.choice("attention_bias", (True, False), False):
            biases = HEAD_BIASES
    else:
        sizes = {"n_embd": d_model, "n_layer": len(parameters.blocks), "n_inner": d_ff}
        sizes |= {"n_positions": len(parameters.positions)}
        defaults, biases = {"n_inner": 4 * d_model}, GPT2_BIASES
    for key, size in (sizes | {"vocab_size": n_vocab}).items():
        if settings.number(key, default=defaults.get(key)) != size:
            raise settings.error(f"{key} {size}, as the tensors have it", settings.get(key))
    for i, block in enumerate(parameters.blocks):
        there = {name for name, _ in named_leaves(block) if ".b" in name}
        if there != biases:
            name = min(there ^ biases)
            found = "there" if name in there else "missing"
            raise settings.error(f"biases {sorted(biases)} in block {i}", f"{name} is {found}")
