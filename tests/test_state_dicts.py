"""State dicts for other libraries: the inverse of reading them, and what transformers loads."""

import os
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
import torch

from test_models import GPT, LLAMA, OF_LLAMA, SMALL, assert_logits, in_torch, model, tokens
from tformer.models.files import WeightsError
from tformer.models.sizes import Sizes
from tformer.models.state_dicts import NAMINGS, from_state_dict, to_state_dict
from tformer.parameters import EncoderDecoderParameters, named_leaves

try:
    import transformers
except ImportError:
    if os.environ.get("CI"):
        raise
    transformers = None
needs_transformers = pytest.mark.skipif(transformers is None, reason="no package transformers")

MODELS = {
    "gpt2": (SMALL, GPT),
    "gpt2 untied": (replace(SMALL, tied=False), GPT),
    "gpt2 without biases": (replace(SMALL, biased=False), GPT),
    "llama": (OF_LLAMA, LLAMA),
    "llama untied": (replace(OF_LLAMA, tied=False), LLAMA),
    "llama of narrow heads": (replace(OF_LLAMA, d_k=4), LLAMA),
}


@pytest.mark.parametrize("case", MODELS)
@pytest.mark.parametrize("library", ["numpy", "torch"])
def test_a_state_dict_comes_back_as_the_same_parameters(case: str, library: str) -> None:
    made, naming = model(*MODELS[case]), case.split()[0]
    given = in_torch(made) if library == "torch" else made
    sizes: Sizes = MODELS[case][0]
    state = to_state_dict(naming, given)
    kind = torch.Tensor if library == "torch" else np.ndarray
    assert all(isinstance(x, kind) for x in state.values())
    found = from_state_dict(naming, state, sizes.n_heads, sizes.n_groups)
    pairs = zip(named_leaves(found), named_leaves(made), strict=True)
    for (name, one), (other_name, other) in pairs:
        assert name == other_name
        np.testing.assert_array_equal(np.asarray(one), other)


@needs_transformers
@pytest.mark.parametrize("tied", [True, False])
def test_gpt2_of_transformers_loads_it_whole(tied: bool) -> None:
    made = in_torch(model(replace(SMALL, d_ff=96, tied=tied), GPT), torch.float32)
    config = transformers.GPT2Config(
        vocab_size=17, n_positions=12, n_embd=24, n_layer=3, n_head=4, tie_word_embeddings=tied
    )
    theirs = transformers.GPT2LMHeadModel(config).eval()
    state = to_state_dict("gpt2", made)
    assert state.keys() == theirs.state_dict().keys()
    theirs.load_state_dict(state, strict=True)
    assert_logits(theirs, made, GPT)


@needs_transformers
@pytest.mark.parametrize("tied", [True, False])
def test_llama_of_transformers_loads_it_whole(tied: bool) -> None:
    half = replace(LLAMA, pairing="half")
    made = in_torch(model(replace(OF_LLAMA, d_k=6, tied=tied), half), torch.float32)
    config = transformers.LlamaConfig(
        vocab_size=17,
        hidden_size=24,
        num_hidden_layers=3,
        num_attention_heads=4,
        num_key_value_heads=2,
        head_dim=6,
        intermediate_size=40,
        tie_word_embeddings=tied,
    )
    theirs = transformers.LlamaForCausalLM(config).eval()
    state = to_state_dict("llama", made)
    assert state.keys() == theirs.state_dict().keys()
    theirs.load_state_dict(state, strict=True)
    assert_logits(theirs, made, half)


def of_block(made: Any, **changes: Any) -> Any:
    """The model with something else in its second block."""
    first, second, *others = made.blocks
    return replace(made, blocks=(first, replace(second, **changes), *others))


def test_what_the_names_cannot_hold_is_refused() -> None:
    gpt, llama = model(SMALL, GPT), model(OF_LLAMA, LLAMA)
    heads = gpt.blocks[1].heads
    crossed = model(replace(SMALL, has_cross_attention=True), GPT)
    relative = model(replace(SMALL, n_positions=7), replace(GPT, positions="relative"))
    for naming, given, words in [
        ("bert", gpt, "naming must be one of gpt2, llama; got 'bert'"),
        ("llama", gpt, "norm.bias has no name there; expected embedding, norm.gain"),
        ("llama", replace(gpt, norm=replace(gpt.norm, bias=None)), "positions has no name there"),
        ("gpt2", llama, "block 0: heads.w_q, w_k and w_v must have one shape.*got .24, 24"),
        ("gpt2", relative, "distances has no name there"),
        ("gpt2", crossed, "block 0: cross.w_q has no name there"),
        ("gpt2", replace(gpt, norm=None), "norm.gain is None, but ln_f.weight is needed there"),
        ("gpt2", of_block(gpt, feed_forward=None), "block 1: feed_forward.w_in is None"),
        ("gpt2", of_block(gpt, heads_norm=None), "block 1: heads_norm.gain is None"),
        (
            "gpt2",
            of_block(gpt, heads=replace(heads, b_k=None)),
            "block 1: heads.b_q.*got .24,., N",
        ),
        ("gpt2", replace(gpt, positions=np.ones((12, 9))), "axis d_model is 24 .* but 9 in posit"),
        ("gpt2", EncoderDecoderParameters(gpt, crossed), "must be ModelParameters; got EncoderD"),
    ]:
        with pytest.raises(WeightsError, match=f"^to_state_dict: .*{words}"):
            to_state_dict(naming, given)


def test_the_tables_name_every_parameter_that_a_model_of_their_kind_has() -> None:
    for naming, (sizes, configuration) in {k: MODELS[k] for k in NAMINGS}.items():
        names = to_state_dict(naming, model(sizes, configuration))
        assert len(names) == len({*names}) > 20
        assert tokens(1).max() < sizes.n_vocab
