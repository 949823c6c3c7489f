"""Layered decoders: their gradients, the form of chapter 10 in theirs, and what they refuse."""

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
import torch

from every import every
from released_models import NAMES, arrays_of, fixture
from tformer import reference
from tformer.configuration import Configuration
from tformer.layer_configuration import (
    LayerConfiguration,
    LayeredConfiguration,
    Loop,
    RopeScaling,
    Rotary,
    Routing,
)
from tformer.layers import (
    AttentionParameters,
    ConvolutionParameters,
    LayeredParameters,
    LayerParameters,
    PerLayerParameters,
    SharedAttentionParameters,
)
from tformer.models import Sizes, initialise, layers_from_state_dict
from tformer.models.layered import (
    cached_layered_decoder,
    layered_decoder,
    layered_decoder_vjp,
)
from tformer.parameters import ModelParameters, named_leaves, tree_map
from tformer.rotary import rotary_frequencies
from tformer.shapes import ShapeError

LLAMA = Configuration(norm="rms", activation="silu", positions="rope", base=100.0, eps=1e-5)
BORROWED = SharedAttentionParameters(np.ones((4, 8, 2)), np.ones((4, 2, 8)))
OWN = PerLayerParameters(np.ones((8, 2)), np.ones((2, 8)))
TOKENS = np.array([[3, 1, 4, 1, 5, 0], [2, 6, 5, 3, 5, 6]])


def llama() -> ModelParameters:
    sizes = Sizes(7, 8, 2, 4, 12, n_groups=2, biased=False, gated=True)
    return initialise(sizes, LLAMA, np.random.default_rng(0))


def as_layers(p: ModelParameters) -> tuple[LayeredParameters, LayeredConfiguration]:
    """A model of chapter 10's form as layers."""
    layers = tuple(
        LayerParameters(
            attention=AttentionParameters(one.heads),
            feed_forward=one.feed_forward,
            mixer_norm=one.heads_norm,
            feed_forward_norm=one.feed_forward_norm,
        )
        for one in p.blocks
    )
    choices = LayerConfiguration(eps=LLAMA.eps, rotary=Rotary(LLAMA.base, LLAMA.pairing))
    configuration = LayeredConfiguration((choices,) * len(layers), eps=LLAMA.eps)
    return LayeredParameters(p.embedding, layers, p.norm, p.unembedding), configuration


def test_a_llama_of_chapter_10_is_the_case_without_any_extra() -> None:
    p = llama()
    expected = reference.decoder(TOKENS, p, LLAMA)
    np.testing.assert_allclose(layered_decoder(TOKENS, *as_layers(p)), expected, atol=1e-12)


@every("name", NAMES)
def test_gradients_by_hand_are_those_of_autograd(name: str) -> None:
    """Bound: 1e-10 of the largest gradient, the project's rule for logic in float64."""
    found = fixture(name)
    p, c = layers_from_state_dict(found["config"], arrays_of(found))
    tokens = np.stack([found["tokens"], found["tokens"][::-1]])
    valid = np.ones(tokens.shape, bool)
    valid[0, :3] = False
    grad = np.random.default_rng(0).standard_normal((*tokens.shape, len(p.embedding)))
    grad[~valid] = 0
    ours = layered_decoder_vjp(tokens, p, c, grad, valid=valid)
    given = [torch.from_numpy(np.ascontiguousarray(x)) for x in (tokens, grad, valid)]
    tensors = tree_map(lambda x: torch.from_numpy(np.ascontiguousarray(x)), p)
    theirs = layered_decoder_vjp(given[0], tensors, c, given[1], valid=given[2])
    expected = dict(named_leaves(theirs))
    largest = max(float(x.abs().max()) for x in expected.values())
    for key, x in named_leaves(ours):
        np.testing.assert_allclose(x, expected[key], rtol=0, atol=1e-10 * largest, err_msg=key)
    assert {key for key, _ in named_leaves(ours)} == expected.keys()


def test_a_window_and_chunks_hide_what_they_should() -> None:
    """By another way: the mask that is given equals the one of the configuration."""
    p, c = as_layers(llama())
    at = np.arange(TOKENS.shape[-1])
    masks = {
        "window": at[:, np.newaxis] - at < 2,
        "chunk": at[:, np.newaxis] // 2 == at // 2,
    }
    for name, mask in masks.items():
        hidden: dict[str, Any] = {name: 2}
        layers = tuple(replace(one, **hidden) for one in c.layers)
        found = layered_decoder(TOKENS, p, replace(c, layers=layers))
        np.testing.assert_allclose(found, layered_decoder(TOKENS, p, c, mask), atol=1e-12)
        assert not np.allclose(found, layered_decoder(TOKENS, p, c))


def test_chunks_follow_positions_that_are_given() -> None:
    p, c = as_layers(llama())
    c = replace(c, layers=tuple(replace(one, chunk=3) for one in c.layers))
    padded = np.concatenate([np.zeros((2, 2), int), TOKENS], axis=1)
    valid = np.arange(8) >= 2
    positions = np.maximum(np.arange(8) - 2, 0)
    found = layered_decoder(padded, p, c, valid=valid, positions=positions)
    np.testing.assert_allclose(found[:, 2:], layered_decoder(TOKENS, p, c), atol=1e-12)


@pytest.mark.parametrize(
    ("scaling", "expected"),
    [
        (RopeScaling("linear", 4.0), [0.25, 0.25, 0.25, 0.25]),
        (RopeScaling("llama3", 4.0, 1000, 1.0, 2.0), [1.0, 1.0, 0.25, 0.25]),
        (RopeScaling("yarn", 4.0, 10**9, 1.0, 2.0), [1.0, 1.0, 1.0, 1.0]),
        (RopeScaling("yarn", 4.0, 63, 1.0, 2.0), [1.0, 0.625, 0.25, 0.25]),
    ],
)
def test_scaled_frequencies_at_their_ends(scaling: RopeScaling, expected: list[float]) -> None:
    """Frequencies 1, 1/10, 1/100, 1/1000: in 1,000 tokens they turn 159, 16, 1.6 and .16 times."""
    plain = 10000.0 ** (-np.arange(4) / 4)
    found = rotary_frequencies(Rotary(10000.0, scaling=scaling), 8) / plain
    if scaling.kind == "llama3":  # 1.59 turns lie between 1 and 2: mixed
        turns = 1000 * plain[2] / (2 * np.pi)
        expected = [1.0, 1.0, 0.25 + 0.75 * (turns - 1), 0.25]
    np.testing.assert_allclose(found, expected, rtol=1e-12)


def test_a_loop_applies_its_layers_in_the_order_of_its_stacks() -> None:
    """By another way: without a norm, a loop of 1 and 1 is both layers with sums before them."""
    p, c = as_layers(llama())
    p = replace(p, norm=None, start=np.linspace(-1, 1, 8))
    low, high = (((x,), (y,)) for x, y in zip(p.layers, c.layers, strict=True))
    x = p.embedding[TOKENS]
    state = reference.layer(x + p.start, low[0][0], low[1][0])
    once = reference.layer(x + state, high[0][0], high[1][0])
    found = layered_decoder(TOKENS, p, replace(c, loop=Loop(1)))
    np.testing.assert_allclose(found, once @ p.embedding.T, atol=1e-12)
    assert [stack for stack, _ in replace(c, loop=Loop(1, 2, 2)).stacks] == [
        *[range(1), range(1), range(1, 2)] * 2
    ]


def refused(kind: type[Exception], part: str, **changes: Any) -> None:
    p, c = as_layers(llama())
    one = replace(p.layers[0], **changes.get("layer", {}))
    choices = replace(c.layers[0], **changes.get("choices", {}))
    p, c = replace(p, layers=(one,)), replace(c, layers=(choices,))
    for run in (layered_decoder, cached_layered_decoder):
        with pytest.raises(kind, match=part):
            run(changes.get("tokens", TOKENS), p, c)


def test_what_does_not_fit_is_refused_by_name() -> None:
    kernel = np.ones((2, 8))
    mixer = ConvolutionParameters(np.eye(8), np.eye(8), np.eye(8), kernel, np.eye(8))
    refused(ValueError, "got attention and convolution", layer={"convolution": mixer})
    refused(ValueError, "got none", layer={"attention": None})
    refused(ValueError, "tokens must be from 0 to 6", tokens=TOKENS + 1)
    refused(ShapeError, "rotary.width is 4", choices={"rotary": Rotary(width=4)})
    borrows = {"attention": None, "shared": BORROWED}
    refused(ValueError, "kv_layer must be given where", layer=borrows)
    refused(ValueError, "per_layer must be given", layer={"per_layer": OWN})
    p, c = as_layers(llama())
    with pytest.raises(ValueError, match=r"needs parameters\.start"):
        layered_decoder(TOKENS, p, replace(c, loop=Loop(1)))
    with pytest.raises(ValueError, match="one configuration for each of 2 layers; got 1"):
        layered_decoder(TOKENS, p, replace(c, layers=c.layers[:1]))
    with pytest.raises(ValueError, match="caches must have one for each of 2 layers; got 0"):
        cached_layered_decoder(TOKENS, p, c, ())


@pytest.mark.parametrize(
    ("make", "part"),
    [
        (lambda: Routing(0), "top_k must be finite and above 0"),
        (lambda: Routing(1, "tanh"), 'scores must be "softmax" or "sigmoid"'),
        (lambda: Routing(1, n_groups=2, top_groups=3), "top_groups must be at most n_groups, 2"),
        (lambda: Rotary(width=3), "width must be even"),
        (lambda: RopeScaling("ntk", 2.0), "kind must be"),
        (lambda: LayerConfiguration(window=0), "window must be finite and above 0"),
        (lambda: LayerConfiguration(qk_norm="all"), "qk_norm must be"),
        (lambda: LayeredConfiguration((), logit_cap=float("nan")), "logit_cap must be"),
        (lambda: Rotary(turning=0), "turning must be finite and above 0"),
        (lambda: Loop(1, inner=0), "inner must be finite and above 0"),
        (lambda: LayeredConfiguration((LayerConfiguration(),), loop=Loop(1)), "loop must be"),
        (lambda: LayeredConfiguration((LayerConfiguration(kv_layer=0),)), "of layer 0 must be"),
    ],
)
def test_choices_out_of_range_are_refused_by_name(make: Any, part: str) -> None:
    with pytest.raises(ValueError, match=part):
        make()
