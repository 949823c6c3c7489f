"""Whole models: against other libraries' own, their files, their counts, and what they write."""

import os
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
import torch
from torch.utils.flop_counter import FlopCounterMode

from tformer import fast, reference
from tformer.configuration import Configuration
from tformer.models.generate import generate
from tformer.models.sizes import Sizes, count_flops, count_parameters, initialise
from tformer.models.state_dicts import from_state_dict
from tformer.parameters import (
    BlockParameters,
    EncoderDecoderParameters,
    FeedForwardParameters,
    HeadParameters,
    ModelParameters,
    NormParameters,
    leaves,
    tree_map,
)
from tformer_book.experiments.training import Adam, training

try:
    import transformers
except ImportError:
    if os.environ.get("CI"):
        raise
    transformers = None
needs_transformers = pytest.mark.skipif(transformers is None, reason="no package transformers")

T = 12
SMALL = Sizes(n_vocab=17, d_model=24, n_layers=3, n_heads=4, d_ff=40, n_positions=T)
GPT = Configuration(activation="gelu_tanh")
LLAMA = Configuration(norm="rms", activation="silu", positions="rope", eps=1e-6)
OF_LLAMA = replace(SMALL, n_groups=2, gated=True, biased=False, n_positions=0)
CHOICES = [
    (SMALL, GPT),
    (OF_LLAMA, LLAMA),
    (replace(SMALL, tied=False, d_k=5, biased=False), GPT),
    (replace(SMALL, n_positions=7), Configuration(positions="relative", order="post")),
    (replace(SMALL, n_groups=1), Configuration(positions="alibi", norm="rms")),
    (replace(SMALL, has_cross_attention=True), Configuration(positions="sinusoidal", order="post")),
]


def tokens(*shape: int, seed: int = 0) -> np.ndarray:
    return np.random.default_rng(seed).integers(0, SMALL.n_vocab, shape)


def model(sizes: Sizes = SMALL, configuration: Configuration = GPT, std: float = 0.3) -> Any:
    """Parameters of which none is zero or one."""
    return initialise(sizes, configuration, np.random.default_rng(1), std, spread=0.1)


def in_torch(tree: Any, dtype: torch.dtype = torch.float64) -> Any:
    return tree_map(lambda x: torch.from_numpy(x).to(dtype), tree)


# Other libraries


def assert_logits(theirs: Any, ours: ModelParameters, configuration: Configuration) -> None:
    """Both libraries give the logits of another, in float64 and in float32."""
    words = tokens(2, T)
    with torch.no_grad():
        expected = theirs(torch.from_numpy(words)).logits
    in_numpy = tree_map(lambda x: x.detach().numpy(), ours)
    got = reference.decoder(words, in_numpy, configuration)
    np.testing.assert_allclose(got, expected.numpy(), rtol=0, atol=1e-5)
    got = fast.decoder(torch.from_numpy(words), ours, configuration)
    torch.testing.assert_close(got, expected, rtol=0, atol=1e-5)
    assert expected.std() > 0.1


@needs_transformers
def test_a_model_of_gpt2_gives_its_logits() -> None:
    torch.manual_seed(0)
    config = transformers.GPT2Config(
        vocab_size=17, n_positions=T, n_embd=24, n_layer=3, n_head=4, initializer_range=0.3
    )
    theirs = transformers.GPT2LMHeadModel(config).eval()
    for x in theirs.transformer.h.parameters():  # else no bias is seen
        torch.nn.init.normal_(x, std=0.3)
    ours = from_state_dict("gpt2", theirs.state_dict(), n_heads=4)
    assert ours.unembedding is None
    assert_logits(theirs, ours, GPT)
    assert sum(x.numel() for x in leaves(ours)) == count_parameters(replace(SMALL, d_ff=96), GPT)


@needs_transformers
@pytest.mark.parametrize("tied", [True, False])
def test_a_model_of_llama_gives_its_logits(tied: bool) -> None:
    torch.manual_seed(0)
    config = transformers.LlamaConfig(
        vocab_size=17,
        hidden_size=24,
        num_hidden_layers=3,
        num_attention_heads=4,
        num_key_value_heads=2,
        intermediate_size=40,
        initializer_range=0.3,
        tie_word_embeddings=tied,
    )
    theirs = transformers.LlamaForCausalLM(config).eval()
    ours = from_state_dict("llama", theirs.state_dict(), n_heads=4, n_groups=2)
    assert (ours.unembedding is None) == tied
    assert_logits(theirs, ours, LLAMA)


def of_layer(layer: torch.nn.TransformerEncoderLayer) -> BlockParameters:
    """Our parameters of a layer of PyTorch's."""
    look, linear = layer.self_attn, (layer.linear1, layer.linear2)
    w_q, w_k, w_v = (w.T for w in look.in_proj_weight.chunk(3))
    b_q, b_k, b_v = look.in_proj_bias.chunk(3)
    biases = (b_q, b_k, b_v, look.out_proj.bias)
    out = look.out_proj.weight.T
    heads = HeadParameters.from_fused(w_q, w_k, w_v, out, *biases, n_heads=look.num_heads)
    feed = FeedForwardParameters(*(x.weight.T for x in linear), *(x.bias for x in linear))
    norms = (NormParameters(x.weight, x.bias) for x in (layer.norm1, layer.norm2))
    return BlockParameters(heads, feed, *norms)


@pytest.mark.parametrize("order", ["pre", "post"])
@pytest.mark.parametrize("activation", ["relu", "gelu"])
def test_a_block_is_that_of_pytorch(order: str, activation: str) -> None:
    torch.manual_seed(0)
    layer = torch.nn.TransformerEncoderLayer(
        24, 4, 40, 0.0, activation, batch_first=True, norm_first=order == "pre", dtype=torch.float64
    )
    for x in layer.parameters():
        torch.nn.init.normal_(x, std=0.3)
    x, c = (
        torch.randn(2, T, 24, dtype=torch.float64),
        Configuration(order=order, activation=activation),
    )
    mask = torch.rand(T, T) < 0.7
    mask |= torch.eye(T, dtype=torch.bool)
    block, expected = of_layer(layer), layer(x, src_mask=~mask)
    torch.testing.assert_close(fast.block(x, block, c, mask=mask), expected, rtol=0, atol=1e-12)
    arrays = tree_map(lambda a: a.detach().numpy(), block)
    got = reference.block(x.numpy(), arrays, c, mask=mask.numpy())
    np.testing.assert_allclose(got, expected.detach().numpy(), rtol=0, atol=1e-12)


@pytest.mark.filterwarnings("ignore:enable_nested_tensor")
@pytest.mark.parametrize("order", ["pre", "post"])
def test_an_encoder_and_a_decoder_are_those_of_pytorch(order: str) -> None:
    torch.manual_seed(0)
    theirs = torch.nn.Transformer(
        24, 4, 2, 2, 40, 0.0, batch_first=True, norm_first=order == "pre", dtype=torch.float64
    )
    for x in theirs.parameters():
        torch.nn.init.normal_(x, std=0.3)
    table = torch.randn(17, 24, dtype=torch.float64)
    last = [NormParameters(x.norm.weight, x.norm.bias) for x in (theirs.encoder, theirs.decoder)]
    blocks = tuple(of_layer(x) for x in theirs.encoder.layers)
    crossed = tuple(of_decoder_layer(x) for x in theirs.decoder.layers)
    ours = EncoderDecoderParameters(
        ModelParameters(table, blocks, last[0]), ModelParameters(table, crossed, last[1])
    )
    c = Configuration(order=order, activation="relu", positions="none")
    source, target = (torch.from_numpy(tokens(2, n, seed=n)) for n in (9, T))
    seen = torch.rand(2, 9) < 0.7
    seen[:, 0] = True
    hidden = ~torch.ones(T, T, dtype=torch.bool).tril()
    options = {"tgt_mask": hidden, "src_key_padding_mask": ~seen, "memory_key_padding_mask": ~seen}
    expected = theirs(table[source], table[target], **options) @ table.T
    got = fast.encoder_decoder(source, target, ours, c, seen)
    torch.testing.assert_close(got, expected, rtol=0, atol=1e-10)


def of_decoder_layer(layer: torch.nn.TransformerDecoderLayer) -> BlockParameters:
    """The same for a layer with cross-attention, whose norms are numbered otherwise."""
    first = of_layer(layer)
    look, layer.self_attn = layer.self_attn, layer.multihead_attn
    cross, layer.self_attn = of_layer(layer).heads, look
    norms = [NormParameters(x.weight, x.bias) for x in (layer.norm2, layer.norm3)]
    return replace(first, cross=cross, cross_norm=norms[0], feed_forward_norm=norms[1])


# Counting


@pytest.mark.parametrize(("sizes", "configuration"), CHOICES)
def test_the_formula_counts_the_parameters(sizes: Sizes, configuration: Configuration) -> None:
    made = initialise(sizes, configuration, np.random.default_rng(0))
    assert sum(x.size for x in leaves(made)) == count_parameters(sizes, configuration)


@pytest.mark.parametrize(("sizes", "configuration"), CHOICES[:5])
def test_the_formula_counts_what_a_profiler_counts(
    sizes: Sizes, configuration: Configuration
) -> None:
    p, words = in_torch(model(sizes, configuration), torch.float32), torch.zeros(2, 7).long()
    with torch.nn.attention.sdpa_kernel(torch.nn.attention.SDPBackend.MATH):
        counter = FlopCounterMode(display=False)
        with counter:
            fast.encoder(words, p, configuration)
    last = 2 * 2 * 7 * sizes.d_model * sizes.n_vocab
    assert counter.get_total_flops() == count_flops(sizes, 7, batch=2) - last


# Dropout


def test_dropout_keeps_the_mean_and_nothing_is_dropped_without_masks() -> None:
    rng, c = np.random.default_rng(0), Configuration(dropout=0.25)
    x = np.ones((200, 1000))
    y = reference.dropout(x, rng.random(x.shape) < 0.75, c)
    assert set(np.unique(y)) == {0.0, 1 / 0.75}
    assert abs(y.mean() - 1) < 0.01
    words, p = tokens(3, T), model()
    np.testing.assert_array_equal(
        reference.decoder(words, p, replace(GPT, dropout=0.9)), reference.decoder(words, p, GPT)
    )


# Writing


@pytest.mark.parametrize(("sizes", "configuration"), CHOICES)
def test_what_is_written_with_a_cache_is_what_the_full_pass_writes(
    sizes: Sizes, configuration: Configuration
) -> None:
    configuration = replace(configuration, order="pre")
    p, words = model(sizes, configuration), [*tokens(3)]
    expected = list(words)
    for _ in range(T - 3):
        logits = reference.decoder(np.array(expected), p, configuration)
        expected.append(int(logits[-1].argmax()))
    for module, tree, start in (
        (reference, p, np.array(words)),
        (fast, in_torch(p), torch.tensor(words)),
    ):
        got = generate(module.cached_decoder, start, tree, configuration, T - 3)
        assert [*words, *got] == expected
    assert len(set(expected)) > 2


def test_writing_stops_and_can_choose() -> None:
    p = model(replace(SMALL, n_positions=100))
    given = (reference.cached_decoder, tokens(3), p, GPT)
    words = list(generate(*given, 5))
    assert list(generate(*given, 5, stop=words[1])) == words[: words.index(words[1]) + 1]
    assert list(generate(*given, 3, choose=lambda z: int(z.argmin()))) != words[:3]
    with pytest.raises(ValueError, match="at least one token"):
        next(generate(reference.cached_decoder, tokens(0), p, GPT, 5))


# Learning


def test_both_libraries_follow_one_curve_from_the_same_parameters() -> None:
    """NumPy by gradients derived by hand, PyTorch by its own; the same Adam."""
    sizes = replace(SMALL, n_layers=2, n_positions=8)
    first = initialise(sizes, GPT, np.random.default_rng(0), 0.1)
    words = np.tile(np.arange(8), (4, 1)) + np.arange(4)[:, None]
    given, comes, curves = words[:, :-1], words[:, 1:], []
    p = tree_map(np.copy, first)
    curve: list[float] = []

    def by_hand() -> Any:
        logits = reference.decoder(given, p, GPT)
        curve.append(reference.cross_entropy(logits, comes).mean())
        each = np.full(comes.shape, 1 / comes.size)
        grad = reference.cross_entropy_vjp(logits, comes, each)
        return reference.decoder_vjp(given, p, GPT, grad)[0]

    assert sum(1 for _ in training(Adam(p), by_hand, 60, 0.01)) == 60
    curves.append(curve)
    module = fast.Module(fast.decoder, in_torch(first), configuration=GPT)
    optimiser = Adam(module.tree)
    losses: list[float] = []

    def by_torch() -> Any:
        logits = module(torch.from_numpy(given))
        loss = fast.cross_entropy(logits, torch.from_numpy(comes)).mean()
        losses.append(loss.item())
        return torch.autograd.grad(loss, leaves(module.tree))

    assert sum(1 for _ in training(optimiser, by_torch, 60, 0.01)) == 60
    curves.append(losses)
    np.testing.assert_allclose(*curves, rtol=0, atol=1e-6)
    assert curves[0][0] > 2.5
    assert curves[0][-1] < 0.1


# What does not fit


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ({"norm": "batch"}, 'norm must be "layer" or "rms"; got \'batch\''),
        ({"order": None}, "order must be"),
        ({"eps": 0}, "eps must be finite and above 0; got 0"),
        ({"eps": float("nan")}, "eps must be finite"),
        ({"eps": True}, "eps must be a number"),
        ({"dropout": 1}, "dropout must be from 0 to less than 1; got 1"),
        ({"dropout": -0.1}, "dropout must be from 0"),
        ({"base": float("inf")}, "base must be finite"),
        ({"scale_embedding": 1}, "scale_embedding must be True or False"),
    ],
)
def test_a_configuration_checks_its_choices(given: dict[str, Any], words: str) -> None:
    with pytest.raises((ValueError, TypeError), match=f"^Configuration: {words}"):
        Configuration(**given)


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (
            lambda m, p, w: m.decoder(w, replace(p, positions=None), GPT),
            "parameters.positions is N",
        ),
        (lambda m, p, w: m.decoder(w, p, Configuration(positions="relative")), "distances is None"),
        (lambda m, p, w: m.decoder(w + 99, p, GPT), "tokens must be from 0 to 16; got"),
        (
            lambda m, p, w: m.decoder(w, p, GPT, dropout_masks=()),
            "dropout_masks must have one for each of 3 blocks",
        ),
        (
            lambda m, p, w: m.cached_decoder(w, p, GPT, caches=()),
            "caches must have one for each of 3 blocks",
        ),
        (
            lambda m, p, w: m.decoder(w, p, GPT, memory=p.embedding),
            "a memory needs parameters.cross",
        ),
        (lambda m, p, w: m.decoder(w[:, [0] * 13], p, GPT), "12 learned positions; got 13 tokens"),
        (lambda m, p, w: m.decoder(w, p, "gpt"), "configuration must be a Configuration; got str"),
        (
            lambda m, p, w: m.decoder(w, replace(p, blocks=[*p.blocks]), GPT),
            "must be a tuple of Bl",
        ),
        (
            lambda m, p, w: m.decoder(w, replace(p, blocks=(1,)), GPT),
            r"blocks\[0\] must be a Block",
        ),
        (
            lambda m, p, w: m.decoder(w, replace(p, norm=NormParameters(p.embedding[0, 1:])), GPT),
            r"axis d_model is 24 in parameters.embedding but 23 in parameters.norm.gain",
        ),
    ],
)
def test_what_does_not_fit_is_refused_in_the_same_words(call: Any, words: str) -> None:
    said = []
    for module, p, w in (
        (reference, model(), tokens(2, 4)),
        (fast, in_torch(model()), torch.from_numpy(tokens(2, 4))),
    ):
        with pytest.raises(
            (ValueError, TypeError), match=f"^(cached_)?decoder: .*{words}"
        ) as error:
            call(module, p, w)
        said.append(str(error.value))
    assert said[0] == said[1]


def test_the_module_of_a_decoder_compiles_to_one_graph_and_takes_autocast() -> None:
    graphs: list[Any] = []

    def keep(graph: torch.fx.GraphModule, _: Any) -> Any:
        graphs.append(graph)
        return graph.forward

    module = fast.Module(
        fast.decoder, in_torch(model(OF_LLAMA, LLAMA), torch.float32), configuration=LLAMA
    )
    words = torch.from_numpy(tokens(2, T))
    compiled = torch.compile(module, backend=keep, fullgraph=True)
    torch.testing.assert_close(compiled(words), module(words), rtol=0, atol=1e-4)
    assert len(graphs) == 1
    with torch.autocast("cpu", dtype=torch.bfloat16):
        got = module(words)
    error = (got - module(words)).abs().max() / module(words).abs().max()
    assert 0 < error < 0.05
