"""What another library computes: its rotations, its biases, its shared keys and values.

Its tables of waves are always in float32, so an angle is known to some units of the last place,
2^-23 of its size; its layers are given tables in float64 and then agree to rounding.
"""

import os
from typing import Any

import numpy as np
import pytest
import torch

from cases import to_numpy
from tformer import fast, reference
from tformer.parameters import HeadParameters

try:
    from transformers import LlamaConfig, T5Config
    from transformers.models.bloom.modeling_bloom import build_alibi_tensor
    from transformers.models.gptj import modeling_gptj as gptj
    from transformers.models.llama import modeling_llama as llama
    from transformers.models.t5.modeling_t5 import T5Attention
except ImportError:
    if os.environ.get("CI"):
        raise
    pytest.skip("the package transformers is not installed", allow_module_level=True)

T, D_MODEL, D_K = 9, 32, 8


def config(n_heads: int = 4, n_groups: int = 4, **settings: Any) -> Any:
    rope = {"rope_type": "default", "rope_theta": 10000.0, **settings}
    found = LlamaConfig(
        hidden_size=n_heads * D_K,
        num_attention_heads=n_heads,
        num_key_value_heads=n_groups,
        head_dim=D_K,
        max_position_embeddings=4096,
        rope_parameters=rope,
    )
    found._attn_implementation = "sdpa"
    return found


def waves_as_theirs(positions: torch.Tensor, **settings: Any) -> tuple[torch.Tensor, torch.Tensor]:
    """Cosines and sines as Llama takes them, each twice, from our waves in float64."""
    waves = torch.from_numpy(reference.sinusoidal(positions.numpy(), D_K, **settings))
    cosine, sine = waves[..., 1::2], waves[..., 0::2]
    return torch.cat([cosine, cosine], dim=-1), torch.cat([sine, sine], dim=-1)


@pytest.mark.parametrize(
    ("theirs", "ours"),
    [
        ({}, {}),
        ({"rope_theta": 500000.0}, {"base": 500000.0}),
        ({"rope_type": "linear", "factor": 4.0}, {"interpolation": 4.0}),
    ],
    ids=["plain", "another base", "interpolated"],
)
def test_waves_are_those_of_llama(theirs: dict[str, Any], ours: dict[str, Any]) -> None:
    positions = torch.tensor([[0, 1, 2, 77, 4095]])
    rotary = llama.LlamaRotaryEmbedding(config(**theirs))
    found = rotary(torch.zeros(1, dtype=torch.float32), positions)
    for got, expected in zip(found, waves_as_theirs(positions, **ours), strict=True):
        bound = 2 * 2.0**-23 * positions.clamp_min(1).unsqueeze(-1)
        assert ((got - expected).abs() <= bound).all()


def test_rope_of_halves_is_that_of_llama() -> None:
    """Forward and gradient, of queries and of fewer keys, at two rows of positions."""
    q, k = torch.randn(2, 4, T, D_K).double(), torch.randn(2, 2, T, D_K).double()
    positions = torch.stack([torch.arange(T), torch.arange(T) + 100])
    waves = torch.from_numpy(reference.sinusoidal(positions.numpy(), D_K)).unsqueeze(1)
    leaves = [x.requires_grad_() for x in (q, k)]
    expected = llama.apply_rotary_pos_emb(q, k, *waves_as_theirs(positions))
    for leaf, theirs in zip(leaves, expected, strict=True):
        ours = fast.rope(leaf, waves, "half")
        torch.testing.assert_close(ours, theirs, rtol=0, atol=1e-12)
        defined = reference.rope(leaf.detach().numpy(), waves.numpy(), "half")
        np.testing.assert_allclose(defined, to_numpy(theirs), rtol=0, atol=1e-12)
        grad = torch.randn_like(theirs)
        (wanted,) = torch.autograd.grad(theirs, leaf, grad, retain_graph=True)
        for got in (
            torch.autograd.grad(ours, leaf, grad)[0],
            fast.rope_vjp(waves, grad, "half"),
            torch.from_numpy(reference.rope_vjp(waves.numpy(), grad.numpy(), "half")),
        ):
            torch.testing.assert_close(got, wanted, rtol=0, atol=1e-12)


def test_rope_of_neighbours_is_that_of_gptj() -> None:
    """There heads stand after positions: (batch, T, heads, width)."""
    x = torch.randn(2, T, 4, D_K).double().requires_grad_()
    positions = np.arange(T) + 3
    waves = torch.from_numpy(reference.sinusoidal(positions, D_K))
    sine, cosine = (waves[..., i::2].expand(2, -1, -1) for i in (0, 1))
    expected = gptj.apply_rotary_pos_emb(x, sine, cosine)
    ours = fast.rope(x.transpose(1, 2), waves).transpose(1, 2)
    torch.testing.assert_close(ours, expected, rtol=0, atol=1e-12)
    defined = reference.rope(x.detach().transpose(1, 2).numpy(), waves.numpy())
    np.testing.assert_allclose(defined, to_numpy(expected.transpose(1, 2)), rtol=0, atol=1e-12)
    grad = torch.randn_like(expected)
    (wanted,) = torch.autograd.grad(expected, x, grad)
    got = fast.rope_vjp(waves, grad.transpose(1, 2)).transpose(1, 2)
    torch.testing.assert_close(got, wanted, rtol=0, atol=1e-12)
    theirs = gptj.create_sinusoidal_positions(T + 3, D_K)[3:]
    torch.testing.assert_close(
        theirs.double(), torch.cat([sine[0], cosine[0]], -1), rtol=0, atol=1e-6
    )


def llama_layer(n_groups: int) -> tuple[Any, HeadParameters]:
    """Another library's layer of four heads, and its matrices as ours."""
    torch.manual_seed(0)
    layer = llama.LlamaAttention(config(4, n_groups), 0).double()
    matrices = (layer.q_proj, layer.k_proj, layer.v_proj, layer.o_proj)
    return layer, HeadParameters.from_fused(
        *(x.weight.mT for x in matrices), n_heads=4, n_groups=n_groups
    )


@pytest.mark.parametrize("n_groups", [4, 2, 1])
@pytest.mark.parametrize("turned", [False, True], ids=["", "rope"])
def test_many_heads_are_those_of_llama(n_groups: int, turned: bool) -> None:
    """Forward and gradients, of words and matrices; a batch with padding in front."""
    layer, weights = llama_layer(n_groups)
    x = torch.randn(2, T, 4 * D_K).double().requires_grad_()
    mask = fast.causal_mask(T, T) & ~fast.padding_mask(torch.tensor([0, 3]), T)
    positions = torch.arange(T) * turned
    expected, _ = layer(x, waves_as_theirs(positions.expand(2, -1)), mask.unsqueeze(1))
    ours = fast.multi_head_attention(x, weights, mask=mask)
    if turned:  # then the heads are put together here, with every key repeated for its group
        waves = torch.from_numpy(reference.sinusoidal(positions.numpy(), D_K))
        size, words = weights.group_size, x.unsqueeze(1)
        q, k = (fast.rope(words @ w, waves, "half") for w in (weights.w_q, weights.w_k))
        k, v = (y.repeat_interleave(size, 1) for y in (k, words @ weights.w_v))
        ours = (fast.attention(q, k, v, mask.unsqueeze(1)) @ weights.w_o).sum(dim=1)
    torch.testing.assert_close(ours, expected, rtol=0, atol=1e-10)
    assert not ours[1, :3].any()
    leaves = [x, *layer.parameters()]
    for got, wanted in zip(
        *(torch.autograd.grad(y.square().sum(), leaves) for y in (ours, expected)), strict=True
    ):
        torch.testing.assert_close(got, wanted, rtol=0, atol=1e-10)


@pytest.mark.parametrize("n_heads", [1, 4, 6, 12])
def test_a_bias_by_distance_does_what_that_of_bloom_does(n_heads: int) -> None:
    """Theirs grows with the key's position: in each row the same but for a constant, so the same
    weights under a causal mask. In float32, as theirs."""
    theirs = build_alibi_tensor(torch.ones(1, T), n_heads, torch.float32)
    scores, mask = torch.randn(n_heads, T, T), fast.causal_mask(T, T)
    one, other = (
        fast.softmax((scores + bias).masked_fill(~mask, -torch.inf))
        for bias in (fast.alibi_bias(n_heads, T, T), theirs)
    )
    torch.testing.assert_close(one, other, rtol=0, atol=8 * 2.0**-23)


@pytest.mark.parametrize("offset", [0, 2])
def test_near_by_a_relative_bias_is_that_of_t5(offset: int) -> None:
    """Its distances share numbers from 8 places on; up to there each has its own."""
    layer = T5Attention(T5Config(num_heads=3), has_relative_attention_bias=True, layer_idx=0)
    table = layer.relative_attention_bias.weight.T  # columns: 0 ... 7 places before, 1 ... 7 after
    columns = [*range(7, -1, -1), *range(17, 24)]
    ours = fast.relative_bias(table[:, columns], 6, 8, offset)
    expected = layer.compute_bias(6, 8, past_seen_tokens=offset)[0]
    torch.testing.assert_close(ours, expected, rtol=0, atol=0)
