"""Matrices of four and eight bits: their products, the real model in them, and what they refuse."""

import subprocess
import sys
from pathlib import Path
from typing import Any, cast

import numpy as np
import pytest
import torch

from tformer import fast, reference
from tformer.configuration import Configuration
from tformer.fast import QuantisedMatrix, quantised
from tformer.models import from_checkpoint, from_pretrained, generate
from tformer.models.pretrained import PretrainedModel
from tformer.parameters import FeedForwardParameters, ModelParameters, leaves, tree_map

pytestmark = pytest.mark.skipif(bool(quantised.missing_kernel()), reason="no kernel of four bits")
TEXT = "The animal did not cross the street because it was too tired. So the animal"
WORST, ROOT_MEAN_SQUARE = 1.5, 0.2
"""Of the logits, whose largest is near 30: measured were 0.62 and 0.09 for 48 tokens of prose."""
WIDE = 4 * 134_515_008
"""Bytes of the parameters in float32."""
D_OUT, D_IN = 192, 96
GROWN = """
from tformer import fast, models
from pathlib import Path
from resource import getpagesize
def resident():
    return getpagesize() * int(Path("/proc/self/statm").read_text().split()[1])
before = resident()
model = models.from_pretrained(bits=4)
print(resident() - before)
"""
SHAPES = {
    "matrix": (D_IN, D_OUT),
    "heads out": (3, D_IN, D_OUT // 3),
    "heads in": (3, D_IN // 3, D_OUT),
    "table": (D_OUT, D_IN),
}


def random_matrix(
    bits: int, kind: str, seed: int = 0
) -> tuple[QuantisedMatrix, torch.Tensor, torch.Tensor]:
    """A matrix, its weights (d_out, d_in) by the formula, and the largest that each could be."""
    rng = torch.Generator().manual_seed(seed)
    low, high = (0, 16) if bits == 4 else (-128, 128)
    q = torch.randint(low, high, (D_OUT, D_IN), generator=rng, dtype=torch.int16)
    scales, zeros = torch.rand(2, D_OUT, D_IN // 32, generator=rng).bfloat16().float() - 0.5
    scales, zeros = scales.bfloat16().float(), zeros.bfloat16().float()
    made = QuantisedMatrix(q, scales, zeros if bits == 4 else None, SHAPES[kind], kind == "table")
    wide = [x.repeat_interleave(32, 1) for x in (scales, zeros)]
    if bits == 4:
        return made, wide[0] * (q - 8) + wide[1], 8 * wide[0].abs() + wide[1].abs()
    return made, wide[0] * q, 144 * wide[0].abs()


@pytest.mark.parametrize("bits", [4, 8])
@pytest.mark.parametrize("kind", SHAPES)
def test_a_matrix_is_its_formula_in_the_shape_that_it_stands_for(bits: int, kind: str) -> None:
    made, w, _ = random_matrix(bits, kind)
    wanted = {
        "matrix": w.T,
        "heads out": w.reshape(3, -1, D_IN).mT,
        "heads in": w.T.reshape(3, -1, D_OUT),
        "table": w,
    }[kind]
    assert made.shape == tuple(wanted.shape)
    np.testing.assert_allclose(made.dequantised(), wanted, rtol=0, atol=1e-4)


@pytest.mark.parametrize("bits", [4, 8])
@pytest.mark.parametrize("n_rows", [0, 1, 5, quantised.FEW, quantised.FEW + 1])
def test_a_product_is_that_of_the_weights(bits: int, n_rows: int) -> None:
    """Three roundings to bfloat16, 2⁻⁹ of each term at most: of x, of weights, of the result."""
    made, w, largest = random_matrix(bits, "matrix")
    x = torch.randn(2, n_rows, D_IN, generator=torch.Generator().manual_seed(1))[:1]
    bias = torch.arange(D_OUT).float()
    got, bound = made.product(x, bias), 3 * 2**-9 * (x.abs() @ largest.T)
    assert got.shape == (1, n_rows, D_OUT)
    assert got.dtype == torch.float32
    assert ((got - (x @ w.T + bias)).abs() <= bound + 1e-4).all()


@pytest.mark.parametrize("few", [(True, True), (True, False), (False, True)])
def test_a_layer_may_mix_matrices_of_few_bits_and_tensors(few: tuple[bool, bool]) -> None:
    """Its result is in float32. Hidden units below 2 are rounded three times, by 2⁻⁹ at most."""
    rng = torch.Generator().manual_seed(3)
    q = torch.randint(0, 16, (2, 64, 64), generator=rng)
    ws = [QuantisedMatrix(one, *torch.full((2, 64, 2), 0.02), (64, 64)) for one in q]
    x, c = torch.rand(3, 64, generator=rng) / 8, Configuration(activation="silu")
    dense = [w.dequantised() for w in ws]
    given = [w if narrow else d for w, d, narrow in zip(ws, dense, few, strict=True)]
    got = fast.feed_forward(x, FeedForwardParameters(*cast(Any, given)), c)
    wanted = fast.feed_forward(x, FeedForwardParameters(*dense), c)
    assert got.dtype == torch.float32
    hidden = (x @ dense[0]).abs().max()
    assert hidden < 2
    bound = 2**-9 * (3 * 2 * dense[1].abs().sum(0).max() + wanted.abs().max())
    assert (got - wanted).abs().max() <= bound


@pytest.mark.parametrize("bits", [4, 8])
def test_rows_of_an_embedding_are_looked_up(bits: int) -> None:
    made, w, _ = random_matrix(bits, "table")
    tokens = torch.tensor([[0, 31, 32], [64, 100, D_OUT - 1]])
    np.testing.assert_allclose(
        fast.embedding(tokens, cast(Any, made)), w[tokens], rtol=0, atol=1e-4
    )
    with pytest.raises(ValueError, match=f"tokens must be from 0 to {D_OUT - 1}; got 0 to {D_OUT}"):
        fast.embedding(torch.tensor([0, D_OUT]), cast(Any, made))


def test_matrices_that_lie_together_have_the_products_that_they_had_apart() -> None:
    ws = tuple(random_matrix(4, kind, len(kind))[0] for kind in ("matrix", "heads out"))
    x, biases = torch.randn(3, D_IN), (None, torch.ones(D_OUT))
    apart, whole = quantised.linears(x, ws, biases), [w.dequantised() for w in ws]
    size = sum(w.nbytes for w in ws)
    quantised.lay_together(*ws)
    assert sum(w.nbytes for w in ws) == size
    alone = [quantised.linear(x, w, b) for w, b in zip(ws, biases, strict=True)]
    for one, other, third in zip(apart, quantised.linears(x, ws, biases), alone, strict=True):
        assert torch.equal(one, other)
        assert torch.equal(one, third)
    for w, before in zip(ws, whole, strict=True):
        assert torch.equal(w.dequantised(), before)


@pytest.fixture(scope="module")
def both(checkpoint: Any) -> tuple[PretrainedModel, PretrainedModel]:
    """The real model in the bits of its file, and in float32 as tensors."""
    exact = from_checkpoint(checkpoint)
    tensors = tree_map(torch.from_numpy, exact.parameters)
    return from_checkpoint(checkpoint, bits=4), exact._replace(parameters=tensors)


def test_the_weights_are_those_of_the_file(both: Any) -> None:
    """Scale and zero lose 2⁻⁹ of themselves: a scale is a fifteenth of the range of its group."""
    coarse, exact = (model.parameters for model in both)
    pairs = [(coarse.embedding, exact.embedding)]
    for i in (0, 29):
        four, wide = coarse.blocks[i], exact.blocks[i]
        pairs += zip(leaves(four.heads), leaves(wide.heads), strict=True)
        pairs += zip(leaves(four.feed_forward), leaves(wide.feed_forward), strict=True)
    for few, w in pairs:
        assert type(few) is QuantisedMatrix
        assert few.shape == tuple(w.shape)
        error = (few.dequantised() - w).abs().max()
        assert error <= 2**-7 * w.abs().max()
    assert torch.equal(coarse.blocks[3].heads_norm.gain, exact.blocks[3].heads_norm.gain)


def test_memory_is_less_than_three_tenths(both: Any) -> None:
    few, wide = (sum(x.nbytes for x in leaves(model.parameters)) for model in both)
    assert wide == WIDE
    assert few < 0.2 * wide


@pytest.mark.skipif(sys.platform != "linux", reason="reads /proc")
@pytest.mark.usefixtures("checkpoint")
def test_a_process_grows_by_less_than_three_tenths() -> None:
    """Without giving back what unpacking has freed it grew by 170 MB; float32 takes 538."""
    told = subprocess.run([sys.executable, "-c", GROWN], capture_output=True, text=True, check=True)
    assert 0.19 * WIDE < int(told.stdout) < 0.3 * WIDE


def assert_near(got: torch.Tensor, wanted: torch.Tensor) -> None:
    difference = (got - wanted).abs()
    assert difference.max() < WORST
    assert difference.square().mean().sqrt() < ROOT_MEAN_SQUARE


def test_logits_are_near_those_of_float32_with_a_cache_and_without(both: Any) -> None:
    coarse, exact = both
    tokens = torch.tensor(coarse.tokenizer.encode(TEXT))
    p, c = coarse.parameters, coarse.configuration
    wanted = fast.decoder(tokens, exact.parameters, c)
    caches, rows = None, []
    for token in tokens.split(1):
        row, caches = fast.cached_decoder(token, p, c, caches)
        rows.append(row)
    assert_near(fast.decoder(tokens, p, c), wanted)
    assert_near(torch.cat(rows), wanted)
    assert_near(fast.decoder(tokens, p, c), torch.cat(rows))
    repeated = tokens.repeat(5)
    assert len(repeated) > quantised.FEW
    assert_near(fast.decoder(repeated, p, c), fast.decoder(repeated, exact.parameters, c))


def test_the_likeliest_token_is_that_of_float32_where_it_leads_clearly(both: Any) -> None:
    """Where the first of two tokens leads by more than twice the largest difference of a logit."""
    coarse, exact = both
    tokens = coarse.tokenizer.encode(TEXT)
    n = 24
    given = (torch.tensor(tokens), exact.parameters, exact.configuration)
    text = torch.tensor(tokens + list(generate(fast.cached_decoder, *given, n)))
    wanted = fast.decoder(text, exact.parameters, exact.configuration)
    got = fast.decoder(text, coarse.parameters, coarse.configuration)
    lead = wanted.topk(2).values
    clear = lead[:, 0] - lead[:, 1] > 2 * (got - wanted).abs().max()
    assert clear.sum() >= 10
    assert torch.equal(got.argmax(-1)[clear], wanted.argmax(-1)[clear])


def test_a_small_file_keeps_in_float32_what_has_other_sizes(small_checkpoint: Any) -> None:
    p = from_checkpoint(small_checkpoint, bits=4).parameters
    exact = from_checkpoint(small_checkpoint).parameters
    kinds = {type(x) for x in leaves(p)}
    assert kinds == {torch.Tensor, QuantisedMatrix}
    for few, wide in zip(leaves(p), leaves(exact), strict=True):
        dense = few.dequantised() if type(few) is QuantisedMatrix else few
        np.testing.assert_allclose(dense, wide, rtol=0, atol=2**-7 * np.abs(wide).max())


def test_without_the_kernel_one_warning_and_float32(
    small_checkpoint: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(quantised, "missing_kernel", lambda: "there is none")
    with pytest.warns(UserWarning, match="weights are float32, as there is none") as caught:
        p = from_checkpoint(small_checkpoint, bits=4).parameters
    assert len(caught) == 1
    for x, wide in zip(
        leaves(p), leaves(from_checkpoint(small_checkpoint).parameters), strict=True
    ):
        np.testing.assert_array_equal(x, wide)
    with pytest.raises(RuntimeError, match="QuantisedMatrix: there is none"):
        random_matrix(4, "matrix")


@pytest.mark.parametrize("missing", ["kernel", "instructions", "layout"])
def test_a_kernel_that_is_missing_is_told(missing: str, monkeypatch: pytest.MonkeyPatch) -> None:
    if missing == "kernel":
        monkeypatch.delattr(torch, "_weight_int4pack_mm_for_cpu")
    elif missing == "instructions":
        monkeypatch.setattr(torch.backends.cpu, "get_cpu_capability", lambda: "DEFAULT")
    else:
        pack, multiply = (
            torch._convert_weight_to_int4pack_for_cpu,
            torch._weight_int4pack_mm_for_cpu,
        )
        monkeypatch.setattr(
            torch, "_convert_weight_to_int4pack_for_cpu", lambda *given: pack(*given).flip(1)
        )
        monkeypatch.setattr(
            torch, "_weight_int4pack_mm_for_cpu", lambda x, w, *rest: multiply(x, w.flip(1), *rest)
        )
    told = {"kernel": "has no product", "instructions": "DEFAULT", "layout": "keeps them otherwise"}
    assert told[missing] in quantised.missing_kernel.__wrapped__()


def model_of_one_matrix() -> ModelParameters:
    return ModelParameters(random_matrix(4, "table")[0], ())


def test_gradients_are_refused_by_name() -> None:
    p, c = model_of_one_matrix(), Configuration(positions="none")
    tokens = torch.tensor([1, 2])
    with pytest.raises(TypeError, match=r"embedding is a QuantisedMatrix, which has no gradient"):
        fast.decoder_vjp(tokens, p, c, torch.ones(2, D_OUT))
    square = QuantisedMatrix(torch.zeros(64, 64), torch.ones(64, 2), torch.ones(64, 2), (64, 64))
    layer, x = FeedForwardParameters(square, square), torch.ones(2, 64, requires_grad=True)
    with pytest.raises(TypeError, match="QuantisedMatrix: there is no gradient for x"):
        fast.feed_forward(x, layer, c)
    with torch.no_grad():
        assert fast.feed_forward(x, layer, c).shape == (2, 64)


def test_the_definition_refuses_them_and_what_is_no_product_says_so() -> None:
    p, c = model_of_one_matrix(), Configuration(positions="none")
    with pytest.raises(TypeError, match=r"parameters\.embedding must be a .*; got QuantisedMatrix"):
        reference.decoder(np.array([1]), p, c)
    with pytest.raises(AttributeError, match=r"has no norm: it is for products; dequantised\(\)"):
        p.embedding.norm()


@pytest.mark.parametrize(
    ("q", "scales", "shape"),
    [((65, 32), (65, 1), (32, 65)), ((64, 33), (64, 1), (33, 64)), ((64, 32), (64, 2), (32, 64))],
)
def test_sizes_that_do_not_fit_are_refused(q: Any, scales: Any, shape: Any) -> None:
    with pytest.raises(ValueError, match=r"QuantisedMatrix: q must be .* got \(6"):
        QuantisedMatrix(torch.zeros(q), torch.ones(scales), torch.ones(scales), shape)


def test_other_bits_and_other_files_are_refused(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="bits must be 4 or 32; got 8"):
        from_pretrained(bits=8)
    (tmp_path / "model.safetensors").write_bytes(b"nothing")
    for path in (tmp_path, tmp_path / "model.safetensors"):
        with pytest.raises(ValueError, match="bits=4 needs a GGUF file"):
            from_pretrained(path, bits=4)


def test_one_query_of_grouped_heads_is_that_of_the_definition() -> None:
    """Without leading axes and mask, and with keys enough, the kernel is called directly."""
    rng = np.random.default_rng(0)
    q, k, v = (rng.standard_normal((n, t, 8)) for n, t in ((6, 1), (2, 20), (2, 20)))
    q_, k_, v_ = (torch.from_numpy(x) for x in (q, k, v))
    for scale in (None, 0.7):
        got = fast.grouped_attention(q_, k_, v_, None, None, scale, True, 19)
        wanted = reference.grouped_attention(q, k, v, None, None, scale, True, 19)
        np.testing.assert_allclose(got, wanted, rtol=0, atol=1e-12)
