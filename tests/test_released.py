"""Released models as layers, against the logits of their published classes."""

import copy
import json
import re
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from safetensors.numpy import save_file

from every import every
from released_models import NAMES, VERSION, arrays_of, fixture
from tformer import fast, reference
from tformer.layers import LayeredParameters
from tformer.models import layers_from_pretrained, layers_from_state_dict
from tformer.models.layered import cached_layered_decoder, layered_decoder
from tformer.parameters import leaves, named_leaves, tree_map
from tformer.pretrained import PretrainedError
from tformer.pretrained.families import FAMILIES

BOUND, BOUND_32, BOUND_DELTA_32 = 1e-12, 2e-5, 1e-4
"""Of the largest logit: in float64, in float32, and in float32 where there is a delta net.

Measured 3e-14 for Qwen3-Next and at most 1e-14 for the others; in float32 3e-5 for Qwen3-Next, 7e-6
for Kimi Linear, which are those with delta nets, and at most 3e-6 for the others.
"""
LOADED: dict[str, Any] = {}


def loaded(name: str) -> Any:
    """Parameters in float64, and the configuration."""
    if name not in LOADED:
        found = fixture(name)
        LOADED[name] = layers_from_state_dict(found["config"], arrays_of(found))
    return LOADED[name]


def cast(parameters: Any, library: Any, dtype: Any) -> Any:
    """Parameters in the arrays of a library."""
    arrays = tree_map(
        lambda x: np.ascontiguousarray(x, dtype if x.dtype.kind == "f" else None), parameters
    )
    return arrays if library is reference else tree_map(torch.from_numpy, arrays)


def assert_equal(found: Any, expected: Any, bound: float = BOUND) -> None:
    found, expected = np.asarray(found), np.asarray(expected)
    assert found.shape == expected.shape
    assert np.abs(found - expected).max() <= bound * np.abs(expected).max()


def family_of(name: str) -> str:
    """The name of the family of a fixture: some have two."""
    found: str = fixture(name)["config"]["model_type"]
    return found


def test_there_is_a_fixture_for_every_family() -> None:
    assert {family_of(name) for name in NAMES} == {*FAMILIES} <= {*NAMES}


@pytest.mark.parametrize("library", [reference, fast], ids=["numpy", "torch"])
@every("name", NAMES)
def test_logits_equal_those_of_the_published_class(library: Any, name: str) -> None:
    parameters, configuration = loaded(name)
    tokens = np.array(fixture(name)["tokens"])
    given = tokens if library is reference else torch.from_numpy(tokens)
    has_state = any(layer.delta is not None for layer in parameters.layers)
    for dtype, bound in (
        (np.float64, BOUND),
        (np.float32, BOUND_DELTA_32 if has_state else BOUND_32),
    ):
        logits = layered_decoder(given, cast(parameters, library, dtype), configuration)
        assert np.asarray(logits).dtype == dtype
        assert_equal(logits, fixture(name)["logits"], bound)


@pytest.mark.parametrize("library", [reference, fast], ids=["numpy", "torch"])
@every("name", NAMES)
def test_cached_in_parts_equals_uncached(library: Any, name: str) -> None:
    parameters, configuration = loaded(name)
    parameters = cast(parameters, library, np.float64)
    tokens, caches, parts = np.array(fixture(name)["tokens"]), None, []
    for part in np.split(tokens, [6, 7]):
        given = part if library is reference else torch.from_numpy(part)
        logits, caches = cached_layered_decoder(given, parameters, configuration, caches)
        parts.append(np.asarray(logits))
    assert_equal(np.concatenate(parts), fixture(name)["logits"])


@pytest.mark.parametrize("library", [reference, fast], ids=["numpy", "torch"])
@every("name", NAMES)
def test_a_batch_with_left_padding_equals_each_alone(library: Any, name: str) -> None:
    parameters, configuration = loaded(name)
    parameters = cast(parameters, library, np.float64)
    tokens, n = np.array(fixture(name)["tokens"]), 4
    batch = np.stack([tokens, np.concatenate([tokens[-n:], tokens[:-n]])])
    valid = np.ones(batch.shape, bool)
    valid[1, :n] = False
    positions = np.maximum(np.cumsum(valid, -1) - 1, 0)
    given = [batch, valid, positions]
    if library is fast:
        given = [torch.from_numpy(x) for x in given]
    logits = layered_decoder(
        given[0], parameters, configuration, valid=given[1], positions=given[2]
    )
    expected = np.array(fixture(name)["logits"])
    assert_equal(logits[0], expected)
    assert_equal(logits[1, n:], expected[:-n])


@every("name", NAMES)
def test_all_parameters_are_read(name: str) -> None:
    parameters, _ = loaded(name)
    fixed = re.compile(
        r".*choice_bias|layers\.\d+\.(scale|token_experts)"
    )  # which the class does not train
    n = sum(x.size for key, x in named_leaves(parameters) if not fixed.fullmatch(key))
    assert n == fixture(name)["n_parameters"]


@every("name", NAMES)
def test_a_key_that_is_not_understood_is_refused_by_name(name: str) -> None:
    found, arrays = fixture(name), arrays_of(fixture(name))
    with pytest.raises(PretrainedError, match=r"no new_idea, which is not understood, found 0\.5"):
        layers_from_state_dict(found["config"] | {"new_idea": 0.5}, arrays)
    layers_from_state_dict(found["config"] | {"new_idea": None}, arrays)
    if rope := copy.deepcopy(found["config"].get("rope_parameters")):
        inner = rope.get("full_attention", rope.get("compress", rope))
        inner["new_turn"] = 2
        with pytest.raises(PretrainedError, match=r"rope_parameters\.new_turn"):
            layers_from_state_dict(found["config"] | {"rope_parameters": rope}, arrays)
        inner["rope_type"] = "longrope"
        with pytest.raises(PretrainedError, match="rope_type"):
            layers_from_state_dict(found["config"] | {"rope_parameters": rope}, arrays)


@every(
    "case",
    [
        ("llama", "model_type", "unheard_of"),
        ("llama", "hidden_act", "relu2"),
        ("llama", "rms_norm_eps", ...),
        ("llama", "rope_parameters", ...),
        ("llama", "num_hidden_layers", 2),
        ("llama", "num_attention_heads", 3),
        ("llama", "vocab_size", 38),
        ("llama", "tie_word_embeddings", True),
        ("gemma2", "tie_word_embeddings", False),
        ("qwen3", "use_sliding_window", True),
        ("olmoe", "clip_qkv", 8.0),
        ("cohere", "use_qk_norm", True),
        ("cohere2", "layer_types", ["full_attention"]),
        ("cohere2", "layer_types", ["linear_attention"] * 4),
        ("gpt_oss", "swiglu_limit", 6.0),
        ("gemma3_text", "use_bidirectional_attention", True),
        ("mixtral", "num_experts_per_tok", 0),
        ("deepseek_v3", "scoring_func", "softmax"),
        ("llama4_text", "layer_types", ...),
        ("lfm3", "conv_bias", True),
        ("kimi_linear", "q_lora_rank", 8),
        ("kimi_linear", "linear_num_heads", 5),
        ("hrm_text", "H_cycles", ...),
        ("hrm_text", "L_cycles", 0),
        ("gemma4_text", "enable_moe_block", "yes"),
        ("gemma4_text_experts", "top_k_experts", ...),
        ("gemma4_text", "num_kv_shared_layers", 5),
        ("gemma4_text", "attention_k_eq_v", "yes"),
        ("gemma4_text", "per_layer_config", {"1": {"sliding_window": 3}}),
        ("gemma4_text", "per_layer_config", {"6": {"head_dim": 12}}),
        ("deepseek_v4", "swiglu_limit", 7.0),
        ("deepseek_v4", "scoring_func", "sigmoid"),
        ("deepseek_v4", "hc_mult", 4),
        ("deepseek_v4", "hc_sinkhorn_iters", 0),
        ("deepseek_v4", "index_topk", 0),
        ("deepseek_v4", "o_groups", 3),
    ],
)
def test_another_value_is_refused(case: tuple[str, str, Any]) -> None:
    name, key, value = case
    config = {x: y for x, y in (fixture(name)["config"] | {key: value}).items() if y is not ...}
    shaped = key in ("num_hidden_layers", "num_attention_heads", "linear_num_heads", "hc_mult")
    shaped |= key == "o_groups"
    words = "arrays" if shaped else "rope_theta" if key == "rope_parameters" else key
    with pytest.raises(PretrainedError, match=words):
        layers_from_state_dict(config, arrays_of(fixture(name)))


@every("name", NAMES)
def test_other_arrays_are_refused_by_name(name: str) -> None:
    found = fixture(name)
    arrays = arrays_of(found)
    for missing in arrays:
        others = {x: y for x, y in arrays.items() if x != missing}
        if re.search(r"self_attn\.(\w_proj\.bias|attention_sink_bias)$", missing) is None:
            with pytest.raises(PretrainedError, match=r"found (none|.*shape|.*experts)"):
                layers_from_state_dict(found["config"], others)
    inside = {f"{FAMILIES[family_of(name)].stacks[-1]}1.new.weight": np.zeros(3)}
    with pytest.raises(PretrainedError, match=r"no other arrays, found new\.weight"):
        layers_from_state_dict(found["config"], arrays | inside)
    with pytest.raises(PretrainedError, match=r"no other arrays, found model\.new"):
        layers_from_state_dict(found["config"], arrays | {"model.new": np.zeros(3)})


@every("name", [name for name in NAMES if any(".experts.0." in x for x in fixture(name)["arrays"])])
def test_experts_are_read_one_by_one_or_all_in_one_array(name: str) -> None:
    """Files have the arrays of each expert, the class in transformers has two for all of them."""
    found, fused = fixture(name), dict[str, np.ndarray]()
    experts: dict[str, dict[str, list[np.ndarray]]] = {}
    arrays = arrays_of(found)
    for key in sorted(arrays, key=lambda key: [int(x) for x in re.findall(r"\d+", key)]):
        if match := re.fullmatch(r"(.*\.experts)\.\d+\.(\w+)\.weight", key):
            experts.setdefault(match[1], {}).setdefault(match[2], []).append(arrays[key])
        else:
            fused[key] = arrays[key]
    for where, parts in experts.items():
        first, second, last = (
            np.stack(parts.get(x, parts.get(y, [])))
            for x, y in (("gate_proj", "w1"), ("up_proj", "w3"), ("down_proj", "w2"))
        )
        fused |= {f"{where}.gate_up_proj": np.concatenate([first, second], 1)}
        fused |= {f"{where}.down_proj": last}
    parameters, _ = layers_from_state_dict(found["config"], fused)
    for one, other in zip(leaves(parameters), leaves(loaded(name)[0]), strict=True):
        np.testing.assert_array_equal(one, other)


def test_older_keys_of_rope_are_read() -> None:
    """Transformers 4 wrote rope_theta beside rope_scaling, and Gemma 3 a base for its windows."""
    for name in ("llama", "deepseek_v3", "gemma3_text"):
        config, arrays = dict(fixture(name)["config"]), arrays_of(fixture(name))
        rope = dict(config.pop("rope_parameters"))
        if name == "gemma3_text":
            config["rope_local_base_freq"] = rope["sliding_attention"]["rope_theta"]
            rope = dict(rope["full_attention"])
        config["rope_theta"] = rope.pop("rope_theta")
        rope["type"] = rope.pop("rope_type")
        found = layers_from_state_dict(config | {"rope_scaling": rope}, arrays)
        assert found[1] == loaded(name)[1]


def test_kinds_of_layers_that_are_not_listed_follow_the_period() -> None:
    for name in ("gemma2", "gemma3_text", "olmo3", "cohere2", "gpt_oss", "qwen3_next"):
        config = {x: y for x, y in fixture(name)["config"].items() if x != "layer_types"}
        found = layers_from_state_dict(config, arrays_of(fixture(name)))
        assert found[1] == loaded(name)[1]
    without = fixture("mistral")["config"] | {"sliding_window": None}
    found = layers_from_state_dict(without, arrays_of(fixture("mistral")))
    assert {x.window for x in found[1].layers} == {None}


def test_keys_and_values_that_a_layer_borrows_may_be_in_the_file_and_are_not_read() -> None:
    """Files of Gemma 4 have some that its class does not load."""
    found = fixture("gemma4_text")
    own = {"model.layers.4.self_attn.k_proj.weight": np.ones((16, 32))}
    own |= {"model.layers.4.self_attn.v_proj.weight": np.ones((16, 32))}
    p, c = layers_from_state_dict(found["config"], arrays_of(found) | own)
    assert [one.kv_layer for one in c.layers] == [None] * 4 + [2, 3]
    assert_equal(layered_decoder(np.array(found["tokens"]), p, c), found["logits"])


def test_a_gemma_4_without_embeddings_of_its_layers_is_read() -> None:
    found = fixture("gemma4_text")
    config = found["config"] | {"hidden_size_per_layer_input": 0}
    arrays = {key: x for key, x in arrays_of(found).items() if "per_layer" not in key}
    p, _ = layers_from_state_dict(config, arrays)
    assert p.per_layer is None
    assert all(one.per_layer is None for one in p.layers)
    with pytest.raises(PretrainedError, match="per_layer"):
        layers_from_state_dict(found["config"], arrays)


def test_experts_of_gemma_4_are_refused_where_the_configuration_has_none() -> None:
    found = fixture("gemma4_text_experts")
    config = found["config"] | {"enable_moe_block": False}
    with pytest.raises(PretrainedError, match=r"no other arrays, found post_feedforward"):
        layers_from_state_dict(config, arrays_of(found))
    none = {x: y for x, y in arrays_of(found).items() if not re.search(r"\.experts\.|router\.p", x)}
    with pytest.raises(PretrainedError, match=r"mlp\.experts\.gate_proj\.weight, found none"):
        layers_from_state_dict(found["config"], none)


def test_wrong_entries_of_a_table_change_the_logits(monkeypatch: pytest.MonkeyPatch) -> None:
    tables = dict(FAMILIES)
    for name, change in (
        ("llama", {"names": swapped("llama", "feed_forward.w_in", "feed_forward.w_gate")}),
        ("gemma2", {"adds_one": False}),
        ("cohere2", {"positionless": ()}),
        ("gpt_oss", {"fixed": {"activation": "clipped_swiglu"}}),
        ("lfm3", {"names": swapped("lfm3", "convolution.w_before", "convolution.w_after")}),
        ("hrm_text", {"stacks": FAMILIES["hrm_text"].stacks[::-1]}),
        ("hrm_text", {"loop": {"inner": "H_cycles", "outer": "L_cycles"}}),
        ("gemma4_text", {"fixed": {"qk_norm": "head", "scale": 1.0}}),
        ("gemma4_text_experts", {"shrunk": ()}),
        (
            "gemma4_text_experts",
            {"names": swapped("gemma4_text", "dense_norm_after.gain", "experts_norm_after.gain")},
        ),
        ("gemma4_text", {"names": swapped("gemma4_text", "attention.q_gain", "attention.k_gain")}),
        (
            "deepseek_v4",
            {"names": swapped("deepseek_v4", "mixer_streams.w_read", "mixer_streams.w_write")},
        ),
        (
            "deepseek_v4",
            {"names": swapped("deepseek_v4", "compressed.w_pool", "compressed.w_pool_kv")},
        ),
        ("deepseek_v4", {"rope_kinds": dict.fromkeys(FAMILIES["deepseek_v4"].rope_kinds, "main")}),
        ("deepseek_v4", {"everywhere": ()}),
    ):
        family = family_of(name)
        monkeypatch.setitem(FAMILIES, family, replace(tables[family], **change))
        found = layers_from_state_dict(fixture(name)["config"], arrays_of(fixture(name)))
        logits = layered_decoder(np.array(fixture(name)["tokens"]), *found)
        with pytest.raises(AssertionError):
            assert_equal(logits, fixture(name)["logits"], 1e-3)


def swapped(name: str, one: str, other: str) -> dict[str, str]:
    """The names of a family with those of two fields exchanged."""
    names = dict(FAMILIES[name].names)
    return names | {one: names[other], other: names[one]}


def written(folder: Path, name: str, dtype: Any = np.float32) -> Path:
    """A folder as the published class writes it."""
    found = fixture(name)
    (folder / "config.json").write_text(json.dumps(found["config"]), encoding="utf-8")
    arrays = {key: x.astype(dtype) for key, x in arrays_of(found).items()}
    save_file(arrays, folder / "model.safetensors")
    return folder


def test_a_folder_is_read(tmp_path: Path) -> None:
    folder = written(tmp_path, "qwen3_moe")
    for path in (folder, str(folder / "model.safetensors")):
        parameters, configuration = layers_from_pretrained(path)
        assert isinstance(parameters, LayeredParameters)
        assert configuration == loaded("qwen3_moe")[1]
        expected = tree_map(lambda x: x.astype(np.float32), loaded("qwen3_moe")[0])
        for one, other in zip(leaves(parameters), leaves(expected), strict=True):
            np.testing.assert_array_equal(one, other)
    with pytest.raises(PretrainedError, match="nothing is downloaded"):
        layers_from_pretrained(tmp_path / "nowhere")


@every("name", ["gpt_oss", "deepseek_v4"])
def test_a_fixture_is_what_the_published_class_gives(name: str) -> None:
    """It runs where transformers of the version that wrote the fixtures is installed."""
    transformers = pytest.importorskip("transformers")
    if transformers.__version__ != VERSION:
        pytest.skip(f"transformers {VERSION} is needed; found {transformers.__version__}")
    from released import make

    found, stored = make.made(name), fixture(name)
    assert_equal(found.pop("logits"), stored["logits"], 1e-13)
    assert found == {key: x for key, x in stored.items() if key != "logits"}
