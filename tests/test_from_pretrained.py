"""Models of other programs from their files, with the logits that transformers gives."""

import json
import os
import shutil
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from safetensors.torch import load_file, save_file

import pretrained_files as made
from test_models import GPT, SMALL, T, assert_logits, model
from tformer.models import from_pretrained, save
from tformer.models.pretrained import from_checkpoint
from tformer.parameters import EncoderDecoderParameters, named_leaves, tree_map
from tformer.pretrained import PretrainedError, open_checkpoint

try:
    import transformers

    from other_llama import theirs_of
except ImportError:
    if os.environ.get("CI"):
        raise
    pytest.skip("the package transformers is not installed", allow_module_level=True)

LLAMA = {
    "vocab_size": 17,
    "hidden_size": 24,
    "num_hidden_layers": 2,
    "num_attention_heads": 4,
    "num_key_value_heads": 2,
    "intermediate_size": 40,
    "initializer_range": 0.3,
    "bos_token_id": 1,
    "eos_token_id": 2,
}
GPT2 = {"vocab_size": 17, "n_positions": T, "n_embd": 24, "n_layer": 2, "n_head": 4}
GPT2 |= {"initializer_range": 0.3, "bos_token_id": 1, "eos_token_id": 2}
ROPE = {"rope_type": "default", "rope_theta": 500.0}


def llama(folder: Path, dtype: torch.dtype = torch.float32, **settings: Any) -> Any:
    """A small Llama of transformers, and its folder."""
    torch.manual_seed(0)
    theirs = transformers.LlamaForCausalLM(transformers.LlamaConfig(**LLAMA | settings))
    return saved(theirs, folder, dtype)


def gpt2(folder: Path, dtype: torch.dtype = torch.float32, **settings: Any) -> Any:
    """A small GPT-2 of transformers, and its folder."""
    torch.manual_seed(0)
    theirs = transformers.GPT2LMHeadModel(transformers.GPT2Config(**GPT2 | settings))
    return saved(theirs, folder, dtype)


def saved(theirs: Any, folder: Path, dtype: torch.dtype) -> Any:
    """The model as transformers reads it again, in float32, from a folder that holds `dtype`."""
    for name, x in theirs.named_parameters():
        if name.endswith("bias"):  # else none is seen
            torch.nn.init.normal_(x, std=0.3)
    theirs.to(dtype).eval().save_pretrained(folder)
    return type(theirs).from_pretrained(folder, dtype=torch.float32).eval()


def edit(folder: Path, **changes: Any) -> None:
    """Other values in config.json; a key whose value is `...` goes."""
    file = folder / "config.json"
    values = json.loads(file.read_text(encoding="utf-8")) | changes
    values = {key: value for key, value in values.items() if value is not ...}
    file.write_text(json.dumps(values), encoding="utf-8")


@pytest.mark.parametrize(
    ("write", "settings"),
    [
        (llama, {}),
        (llama, {"tie_word_embeddings": True, "rope_parameters": ROPE, "rms_norm_eps": 0.01}),
        (llama, {"head_dim": 8, "num_key_value_heads": 4, "hidden_act": "gelu"}),
        (llama, {"attention_bias": True}),
        (llama, {"dtype": torch.bfloat16}),
        (llama, {"dtype": torch.float16}),
        (gpt2, {}),
        (gpt2, {"n_inner": 40, "activation_function": "relu", "layer_norm_epsilon": 0.01}),
        (gpt2, {"tie_word_embeddings": False}),
        (gpt2, {"dtype": torch.bfloat16}),
    ],
    ids=lambda value: getattr(value, "__name__", str(value)),
)
def test_a_folder_of_transformers_gives_its_logits(
    write: Callable[..., Any], settings: dict[str, Any], tmp_path: Path
) -> None:
    theirs = write(tmp_path, **settings)
    for path in (tmp_path, str(tmp_path / "model.safetensors")):
        found = from_pretrained(path)
        assert found.tokenizer is None
        assert all(x.dtype == np.float32 for _, x in named_leaves(found.parameters))
        assert_logits(theirs, tree_map(torch.from_numpy, found.parameters), found.configuration)


def test_the_files_of_older_versions_are_read(tmp_path: Path) -> None:
    """Transformers 4 wrote rope_theta and rope_scaling, GPT-2's file has masks and no prefix."""
    theirs = llama(tmp_path / "llama", rope_parameters=ROPE)
    edit(tmp_path / "llama", rope_parameters=..., rope_theta=500, rope_scaling=None)
    found = from_pretrained(tmp_path / "llama")
    assert_logits(theirs, tree_map(torch.from_numpy, found.parameters), found.configuration)
    theirs = gpt2(tmp_path / "gpt2")
    file = tmp_path / "gpt2" / "model.safetensors"
    state = {name.removeprefix("transformer."): x for name, x in load_file(file).items()}
    save_file(state | {"h.0.attn.bias": torch.ones(T, T, dtype=torch.uint8)}, file)
    edit(tmp_path / "gpt2", n_inner=..., n_ctx=T)
    found = from_pretrained(tmp_path / "gpt2")
    assert_logits(theirs, tree_map(torch.from_numpy, found.parameters), found.configuration)


def test_a_gguf_file_is_read_with_its_tokenizer(tmp_path: Path) -> None:
    path = made.written(tmp_path, made.gguf())
    found, checkpoint = from_pretrained(path), open_checkpoint(path)
    expected = from_checkpoint(checkpoint)
    assert found.configuration == expected.configuration
    assert found.tokenizer.encode("hello world") == expected.tokenizer.encode("hello world") != []
    words = torch.tensor([[1, 2, 3]])
    with torch.no_grad():
        logits = theirs_of(checkpoint)(words).logits
    ours = tree_map(torch.from_numpy, found.parameters)
    from tformer import fast

    torch.testing.assert_close(
        fast.decoder(words, ours, found.configuration), logits, rtol=4e-6, atol=2e-4
    )


def test_a_file_of_save_is_read_by_load(tmp_path: Path) -> None:
    parameters, path = model(SMALL, GPT), tmp_path / "any name"
    save(path, parameters, GPT)
    tokenizer, found, configuration = from_pretrained(path)
    assert tokenizer is None
    assert configuration == GPT
    for (_, one), (_, other) in zip(named_leaves(found), named_leaves(parameters), strict=True):
        np.testing.assert_array_equal(one, other)
    crossed = model(replace(SMALL, has_cross_attention=True), GPT)
    save(path, EncoderDecoderParameters(parameters, crossed), GPT)
    with pytest.raises(PretrainedError, match=r"found EncoderDecoderParameters; .*models.load"):
        from_pretrained(path)


def without(name: str) -> Callable[[Path], None]:
    return lambda folder: (folder / name).unlink()


def text(content: str) -> Callable[[Path], None]:
    return lambda folder: (folder / "config.json").write_text(content, encoding="utf-8") and None


def setting(**changes: Any) -> Callable[[Path], None]:
    return lambda folder: edit(folder, **changes)


def tensors(change: Callable[[dict[str, Any]], dict[str, Any]]) -> Callable[[Path], None]:
    def changed(folder: Path) -> None:
        file = folder / "model.safetensors"
        save_file(change(load_file(file)), file)

    return changed


def cut(folder: Path) -> None:
    file = folder / "model.safetensors"
    file.write_bytes(file.read_bytes()[:-1])


def shards(folder: Path) -> None:
    (folder / "model.safetensors").rename(folder / "model-00001-of-00002.safetensors")


Q, NORM, HEAD = "model.layers.1.self_attn.q_proj.weight", "model.norm.weight", "lm_head.weight"
LINEAR = {"rope_type": "linear", "factor": 2.0, "rope_theta": 10000.0}
OF_LLAMA: list[tuple[Callable[[Path], None], str]] = [
    (without("config.json"), "expected config.json, found none; give a folder that save_pretr"),
    (without("model.safetensors"), "expected model.safetensors, found none; save it again"),
    (shards, "expected model.safetensors, found model-00001-of-00002.safetensors; save it again"),
    (cut, "expected a whole safetensors file, found .*; give a folder"),
    (text("{"), "expected a JSON object, found "),
    (text("[1]"), "expected a JSON object, found list"),
    (text("[" * 99999), "expected a JSON object, found "),
    (setting(model_type="mistral"), "expected model_type 'llama' or 'gpt2', found 'mistral'"),
    (setting(model_type=...), "expected model_type 'llama' or 'gpt2', found None"),
    (setting(quantization_config={"bits": 4}), "expected no quantization_config, found {'bits'"),
    (setting(hidden_act="mish"), "expected hidden_act 'silu' or .*, found 'mish'"),
    (setting(mlp_bias=True), "expected mlp_bias False, found True"),
    (setting(rms_norm_eps=0), "expected rms_norm_eps, float above 0, found 0"),
    (setting(rms_norm_eps=float("nan")), "expected rms_norm_eps, float above 0, found nan"),
    (setting(rope_parameters=LINEAR), "expected rope_type 'default', found 'linear'"),
    (setting(rope_scaling={"type": "linear"}, rope_parameters=...), "rope_type 'default', found"),
    (setting(rope_parameters=[1]), "expected rope_parameters, a JSON object, found"),
    (setting(rope_parameters={"rope_theta": "a"}), "expected rope_theta, float above 0, found 'a'"),
    (setting(num_attention_heads=...), "expected num_attention_heads, int above 0, found None"),
    (setting(num_attention_heads=True), "expected num_attention_heads, int above 0, found True"),
    (setting(num_attention_heads=5), "of width 24 cannot be split into 5 heads"),
    (setting(num_attention_heads=2, num_key_value_heads=1), "expected head_dim 12, .* found 6"),
    (setting(num_key_value_heads=1), "axis d_k is 6"),
    (setting(hidden_size=32), "expected hidden_size 24, as the tensors have it, found 32"),
    (setting(num_hidden_layers=3), "expected num_hidden_layers 2, .* found 3"),
    (setting(intermediate_size=48), "expected intermediate_size 40, .* found 48"),
    (setting(vocab_size=18), "expected vocab_size 17, .* found 18"),
    (setting(attention_bias=True), "expected biases .* in block 0, found heads.b_k is missing"),
    (setting(tie_word_embeddings=True), "tie_word_embeddings False, found True, and lm_head"),
    (tensors(lambda s: {k: x for k, x in s.items() if k != HEAD}), "expected lm_head.weight, as"),
    (tensors(lambda s: {k: x for k, x in s.items() if k != Q}), f"{Q} is missing; give"),
    (tensors(lambda s: s | {"score.weight": torch.ones(3)}), "unexpected: score.weight"),
    (tensors(lambda s: s | {NORM: s[NORM] * torch.inf}), "norm.gain has numbers that are not fin"),
    (tensors(lambda s: s | {NORM: s[NORM].long()}), "norm.gain must hold floating-point numbers"),
    (tensors(lambda s: s | {Q: s[Q].to(torch.float8_e4m3fn)}), f"expected {Q} in .*, found F8_E4"),
    (
        tensors(lambda s: s | {Q: s[Q][:, :20].clone()}),
        "axis d_model is 24 in embedding but 20 in blocks.1",
    ),
]
OF_GPT2: list[tuple[Callable[[Path], None], str]] = [
    (setting(scale_attn_weights=False), "expected scale_attn_weights True, found False"),
    (setting(scale_attn_by_inverse_layer_idx=True), "scale_attn_by_inverse_layer_idx False, found"),
    (setting(add_cross_attention=True), "expected add_cross_attention False, found True"),
    (setting(activation_function="mish"), "expected activation_function 'silu' or .*'mish'"),
    (setting(n_positions=T + 1), f"expected n_positions {T}, .* found {T + 1}"),
    (setting(n_inner=40), "expected n_inner 96, .* found 40"),
    (setting(n_head=...), "expected n_head, int above 0, found None"),
    (setting(n_embd=48), "expected n_embd 24, .* found 48"),
    (setting(n_layer=1), "expected n_layer 2, .* found 1"),
    (setting(tie_word_embeddings=False), "expected lm_head.weight, as tie_word_embeddings is F"),
    (
        tensors(lambda s: {k: x for k, x in s.items() if "1.attn.c_attn.bias" not in k}),
        "expected biases .* in block 1, found heads.b_k is missing",
    ),
    (tensors(lambda s: {k: x for k, x in s.items() if "wpe" not in k}), "parameters.positions is"),
]


@pytest.fixture(scope="module")
def folders(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder for each of the two."""
    folder = tmp_path_factory.mktemp("models")
    llama(folder / "llama")
    gpt2(folder / "gpt2")
    return folder


def test_another_folder_is_refused_by_name(folders: Path, tmp_path: Path) -> None:
    for kind, cases in (("llama", OF_LLAMA), ("gpt2", OF_GPT2)):
        for i, (change, words) in enumerate(cases):
            folder = tmp_path / f"{kind}{i}"
            shutil.copytree(folders / kind, folder)
            change(folder)
            with pytest.raises(PretrainedError, match=words) as caught:
                from_pretrained(folder)
            assert str(caught.value).startswith(str(folder))


def test_another_file_is_refused_by_name(tmp_path: Path) -> None:
    fix = "give the path of one on this machine; nothing is downloaded"
    with pytest.raises(PretrainedError, match=rf"a GGUF file, .*, found none; {fix}"):
        from_pretrained("HuggingFaceTB/SmolLM2-135M-Instruct")
    for name, data in (("pytorch_model.bin", b"PK\3\4"), ("empty", b"")):
        (tmp_path / name).write_bytes(data)
        with pytest.raises(
            PretrainedError, match=r"a GGUF file, .*, found a file that begins with"
        ):
            from_pretrained(tmp_path / name)
    metadata = made.metadata() | {"general.architecture": "qwen2"}
    with pytest.raises(PretrainedError, match="expected the architecture llama, found qwen2"):
        from_pretrained(made.written(tmp_path, made.gguf(metadata)))
    metadata = made.metadata() | {"tokenizer.ggml.pre": "llama-bpe"}
    with pytest.raises(PretrainedError, match=r"expected byte-level BPE.*found .*llama-bpe"):
        from_pretrained(made.written(tmp_path, made.gguf(metadata)))
