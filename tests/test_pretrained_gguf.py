"""Files in the format GGUF: what they hold is read, and what is not whole is refused."""

import json
import math
import random
import re
import struct
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import pretrained_files as made
from every import try_each
from tformer.pretrained import Architecture, PretrainedError, read, tokenizer_from_metadata
from tformer.pretrained.gguf import LARGEST_TENSOR

GOLDEN = Path(__file__).parent / "pretrained"


@pytest.fixture(scope="module")
def whole() -> bytes:
    return made.gguf()


def opened(file: Path) -> tuple[dict[str, Any], dict[str, Any]]:
    """All of a file, as whoever runs its model takes it."""
    metadata, tensors = read(file)
    Architecture.of(metadata, tensors)
    tokenizer_from_metadata(metadata).encode("hello world")
    return metadata, dict(tensors)


def test_metadata_and_tensors_are_those_that_were_written(tmp_path: Path, whole: bytes) -> None:
    metadata, tensors = opened(made.written(tmp_path, whole))
    found = {key: x.tolist() if isinstance(x, np.ndarray) else x for key, x in metadata.items()}
    assert found == made.metadata()
    assert {name: x.shape for name, x in tensors.items()} == {
        name: shape for name, (shape, _) in made.shapes().items()
    }
    assert {x.dtype for x in tensors.values()} == {np.dtype(np.float32)}


def by_hand(block: bytes, kind: int) -> list[float]:
    """The 32 numbers of a block, one after another, as the C code of ggml has them."""
    if kind == 8:
        (scale, *numbers) = struct.unpack("<e32b", block)
        return [scale * q for q in numbers]
    scale, *least = struct.unpack("<e" if kind == 2 else "<2e", block[:-16])
    halves = [q & 15 for q in block[-16:]] + [q >> 4 for q in block[-16:]]
    return [scale * (q - 8) if kind == 2 else scale * q + least[0] for q in halves]


def test_blocks_are_decoded_as_by_hand(tmp_path: Path) -> None:
    tensors = {f"kind {kind}": ((3, 64), kind) for kind in made.SIZE_OF_BLOCK}
    _, found = read(made.written(tmp_path, made.gguf({}, tensors)))
    for seed, (name, (shape, kind)) in enumerate(tensors.items()):
        stored = made.data(shape, kind, seed)
        n_bytes, _ = made.SIZE_OF_BLOCK[kind]
        if kind < 2:
            wanted = np.frombuffer(stored, "<f4" if kind == 0 else "<f2").astype(np.float32)
        else:
            blocks = [stored[i : i + n_bytes] for i in range(0, len(stored), n_bytes)]
            wanted = np.concatenate([by_hand(block, kind) for block in blocks])
        np.testing.assert_allclose(found[name].ravel(), wanted, rtol=2e-7, atol=2e-7)


def test_a_file_of_the_other_library_is_read_bit_for_bit() -> None:
    """`small.gguf` and its numbers are what `tests/pretrained/make_small.py` writes."""
    metadata, tensors = read(GOLDEN / "small.gguf")
    told = json.loads((GOLDEN / "small.json").read_text(encoding="utf-8"))
    found = {key: x.tolist() if isinstance(x, np.ndarray) else x for key, x in metadata.items()}
    assert found == told["metadata"]
    assert {
        name: [list(x.shape), x.astype("<f4").tobytes().hex()] for name, x in tensors.items()
    } == (told["tensors"])


def test_a_tensor_is_read_when_it_is_asked_for(tmp_path: Path, whole: bytes) -> None:
    file = made.written(tmp_path, whole)
    _, tensors = read(file)
    first = tensors["output_norm.weight"]
    first[:] = 0
    assert tensors["output_norm.weight"].any()
    with pytest.raises(KeyError):
        tensors["no such tensor"]
    file.write_bytes(whole[:-4])
    with pytest.raises(PretrainedError, match=r"all of output_norm\.weight, found 31 of 32 blocks"):
        tensors["output_norm.weight"]
    file.unlink()
    with pytest.raises(PretrainedError, match="expected a file that can be read"):
        tensors["output_norm.weight"]


def replaced(whole: bytes, old: bytes, new: bytes) -> bytes:
    assert whole.count(old) == 1
    return whole.replace(old, new)


def without(key: str, **changed: Any) -> bytes:
    said = {name: x for name, x in made.metadata().items() if name != key}
    return made.gguf(said | {f"llama.{name}": x for name, x in changed.items()})


def one_tensor(
    shape: tuple[int, ...], kind: int, offset: int = 0, n_axes: int | None = None
) -> bytes:
    """A file whose only tensor may not be what its head tells."""
    head = b"GGUF" + struct.pack("<IQQ", 3, 1, 0) + made.text("x")
    head += struct.pack(f"<I{len(shape)}Q", len(shape) if n_axes is None else n_axes, *shape)
    head += struct.pack("<IQ", kind, offset)
    return head + bytes(-len(head) % 32) + bytes(128)


def test_what_is_no_whole_file_is_refused_by_name(tmp_path: Path, whole: bytes) -> None:
    long, key = struct.pack("<Q", 2**63), made.text("general.name")
    cases = {
        "empty": (b"", "the bytes GGUF at the start, found b''"),
        "foreign": (b"PK\3\4" + whole, r"GGUF at the start, found b'PK\\x03\\x04'"),
        "cut in the head": (whole[:300], r"bytes for .*, found \d+ up to the file's end"),
        "cut in the data": (whole[:-33], r"a file of \d+ bytes and padding, found one of \d+"),
        "longer": (whole + bytes(32), r"a file of \d+ bytes and padding, found one of \d+"),
        "version 2": (b"GGUF\2" + whole[5:], "version 3, little-endian, found 2"),
        "big-endian": (b"GGUF\0\0\0\3" + whole[8:], "version 3, little-endian, found 50331648"),
        "many tensors": (whole[:8] + long + whole[16:], "found .* before byte"),
        "many values": (whole[:16] + long + whole[24:], "found .* before byte"),
        "long key": (whole[:24] + long + whole[32:], "9223372036854775808 bytes for a key, found"),
        "not UTF-8": (replaced(whole, b"made up", b"made\xff\xfe."), "'general.name' in UTF-8"),
        "key twice": (
            b"GGUF" + struct.pack("<IQQ", 3, 0, 2) + 2 * (key + made.value(1)),
            "each key once, found 'general.name' again",
        ),
        "unknown type": (
            b"GGUF" + struct.pack("<IQQ", 3, 0, 1) + key + struct.pack("<I", 13),
            "a known type for 'general.name', no array in an array, found 13",
        ),
        "arrays in arrays": (
            b"GGUF" + struct.pack("<IQQ", 3, 0, 1) + key + struct.pack("<IIQ", 9, 9, 1) + long,
            "no array in an array, found 9",
        ),
        "many strings": (
            b"GGUF" + struct.pack("<IQQ", 3, 0, 1) + key + struct.pack("<IIQ", 9, 8, 2**60),
            f"{2**60} strings for 'general.name', found too few bytes",
        ),
        "many numbers": (
            b"GGUF" + struct.pack("<IQQ", 3, 0, 1) + key + struct.pack("<IIQ", 9, 12, 2**62),
            f"{2**65} bytes for 'general.name', found 0 up to the file's end",
        ),
        "neither true nor false": (
            b"GGUF" + struct.pack("<IQQ", 3, 0, 1) + key + struct.pack("<IIQ", 9, 7, 3) + b"\1\2\0",
            "0 or 1 for 'general.name', found another byte",
        ),
        "no alignment": (made.gguf({"general.alignment": 0}), "a multiple of 8, found 0"),
        "alignment": (made.gguf({"general.alignment": 4}), "a multiple of 8, found 4"),
        "tensor twice": (
            replaced(whole, b"blk.1.ffn_norm", b"blk.0.ffn_norm"),
            r"each tensor once, found 'blk\.0\.ffn_norm\.weight' again",
        ),
        "no axes": (one_tensor((), 0), "1 to 4 axes of 'x', found 0"),
        "five axes": (one_tensor((1,) * 5, 0), "1 to 4 axes of 'x', found 5"),
        "an axis of none": (one_tensor((0, 4), 0), r"1 to \d+ numbers in 'x'.* the shape \(4, 0\)"),
        "too large": (one_tensor((2**63, 2**63), 0), f"1 to {LARGEST_TENSOR} numbers in 'x'"),
        "no whole blocks": (one_tensor((16, 2), 3), "32 or a multiple in a row, found"),
        "another kind": (one_tensor((32,), 12), r"'x' as one of F32 \(0\), .*, found 12"),
        "offset": (one_tensor((32,), 0, offset=32), "'x' at offset 0, found 32"),
        "far offset": (one_tensor((32,), 0, offset=2**64 - 32), "'x' at offset 0, found 18446"),
    }

    def check(content: bytes, said: str) -> None:
        file = made.written(tmp_path, content)
        with pytest.raises(PretrainedError, match=said) as error:
            read(file)
        told = str(error.value)
        assert told.startswith(f"{file}: expected ")
        assert told.endswith("; give a whole, unaltered file in the format GGUF")

    try_each(check, cases.items())


def test_what_is_no_file_is_refused(tmp_path: Path) -> None:
    for place in (tmp_path, tmp_path / "nowhere"):
        with pytest.raises(PretrainedError, match="expected a file, found none; give the path"):
            read(place)


def test_a_number_that_is_not_finite_is_refused(tmp_path: Path) -> None:
    bad = {0: math.inf, 1: math.nan, 2: math.nan, 3: math.inf, 8: -math.inf}
    for kind, number in bad.items():
        whole = made.gguf({}, {"x": ((2, 32), kind)})
        n_bytes = 2 * made.SIZE_OF_BLOCK[kind][0] * (32 if kind < 2 else 1)
        scale = struct.pack("<f" if kind == 0 else "<e", number)
        start = len(whole) - (n_bytes + -n_bytes % 32)
        altered = whole[:start] + scale + whole[start + len(scale) :]
        _, tensors = read(made.written(tmp_path, altered))
        with pytest.raises(PretrainedError, match="finite numbers in x, found inf or nan"):
            tensors["x"]


def test_a_model_whose_parts_do_not_fit_is_refused(tmp_path: Path) -> None:
    shapes = made.shapes()
    cases = {
        "another kind": (without("", **{}).replace(b"llama", b"lambs"), "the architecture llama"),
        "no number": (without("llama.block_count"), r"llama\.block_count, int above 0, found None"),
        "none": (without("", block_count=0), r"llama\.block_count, int above 0, found 0"),
        "text": (without("", block_count="2"), r"llama\.block_count, int above 0, found 2"),
        "nan": (without("", **{"rope.freq_base": math.nan}), "float above 0, found nan"),
        "many layers": (without("", block_count=2**32 - 1), r"4294967295 layers, found 20 tensors"),
        "a layer more": (without("", block_count=3), r"blk\.2\.attn_norm\.weight of shape"),
        "a layer less": (without("", block_count=1), r"blk\.1\.attn_norm\.weight of shape none"),
        "heads": (without("", **{"attention.head_count": 8}), r"rotated = 32, 8, 2, 4, 4, 8;"),
        "some turned": (
            without("", **{"rope.dimension_count": 4}),
            r"rotated = 32, 4, 2, 8, 8, 4;",
        ),
        "values": (without("", **{"attention.value_length": 4}), r"rotated = 32, 4, 2, 8, 4, 8;"),
        "width": (without("", feed_forward_length=32), r"ffn_gate\.weight of shape \(32, 32\)"),
        "a tensor more": (
            made.gguf(tensors=shapes | {"blk.0.attn_q.bias": ((32,), 0)}),
            r"blk\.0\.attn_q\.bias of shape none, found \(32,\)",
        ),
    }

    def check(content: bytes, said: str) -> None:
        metadata, tensors = read(made.written(tmp_path, content))
        with pytest.raises(PretrainedError, match=said):
            Architecture.of(metadata, tensors)

    try_each(check, cases.items())
    untied = made.gguf(tensors=shapes | {"output.weight": shapes["token_embd.weight"]})
    metadata, tensors = read(made.written(tmp_path, untied))
    found = Architecture.of(metadata, tensors)
    assert not found.tied
    assert found.common_names()["output.weight"] == "lm_head.weight"


CHANGES = {
    "llama.rope.scaling.type": "yarn",
    "llama.rope.scaling.factor": 4.0,
    "llama.rope.scaling.attn_factor": 0.5,
    "llama.rope.scale": 2.0,
    "llama.rope.scale_linear": 4.0,
    "llama.rope.freq_base_swa": 10000.0,
    "llama.rope.scaling.yarn_beta_fast": 32.0,
    "llama.expert_count": 8,
    "llama.expert_used_count": 2,
    "llama.attention.causal": False,
    "llama.attention.sliding_window": 4096,
    "llama.attention.sliding_window_pattern": 2,
    "llama.attention.scale": 0.1,
    "llama.attention.clamp_kqv": 8.0,
    "llama.attention.max_alibi_bias": 8.0,
    "llama.attention.layer_norm_epsilon": 1e-5,
    "llama.use_parallel_residual": True,
    "llama.tensor_data_layout": "Meta AI original pth",
    "llama.logit_scale": 2.0,
    "llama.embedding_scale": 2.0,
    "llama.what_nobody_knows": 1,
    "general.type": "adapter",
    "general.quantization_version": 1,
    "split.count": 2,
    "tokenizer.ggml.add_bos_token": True,
    "tokenizer.ggml.add_eos_token": True,
    "tokenizer.ggml.add_space_prefix": True,
    "tokenizer.ggml.remove_extra_whitespaces": True,
    "tokenizer.ggml.normalizer.lowercase": True,
    "tokenizer.ggml.added_tokens": ["<a>"],
    "tokenizer.ggml.precompiled_charsmap": [1, 2],
    "tokenizer.ggml.what_nobody_knows": 1,
}
"""What changes the model, or how its tokenizer reads a text, or may do so."""
NOTHING = {
    "llama.rope.scaling.type": "linear",
    "llama.rope.scaling.factor": 1.0,
    "llama.rope.scaling.original_context_length": 64,
    "llama.rope.scale_linear": 1.0,
    "llama.expert_count": 0,
    "llama.attention.causal": True,
    "llama.attention.key_length": made.D_K,
    "llama.attention.value_length": made.D_K,
    "llama.tensor_data_layout": "reference",
    "general.type": "model",
    "general.author": "nobody",
    "general.quantization_version": 2,
    "tokenizer.ggml.add_bos_token": False,
    "tokenizer.ggml.add_space_prefix": False,
    "tokenizer.ggml.bos_token_id": 1,
    "tokenizer.chat_template": "{{ message }}",
}


def test_what_is_said_and_not_understood_is_refused_by_its_key(tmp_path: Path) -> None:
    """And what says that nothing is changed is read."""

    def check(key: str, value: Any) -> None:
        content = made.gguf(made.metadata() | {key: value})
        with pytest.raises(PretrainedError, match=re.escape(key)):
            opened(made.written(tmp_path, content))

    try_each(check, [(key, (key, value)) for key, value in CHANGES.items()])
    plain = Architecture.of(*read(made.written(tmp_path, made.gguf())))
    for said in (NOTHING, {"llama.rope.scaling.type": "none", "llama.rope.scaling.factor": 4.0}):
        file = made.written(tmp_path, made.gguf(made.metadata() | said))
        opened(file)
        assert Architecture.of(*read(file)) == plain


def test_what_is_optional_has_the_value_of_the_formats_description(tmp_path: Path) -> None:
    optional = ("attention.head_count_kv", "rope.freq_base", "vocab_size")
    groups = {f"blk.{i}.attn_{x}.weight": ((32, 32), 0) for i in (0, 1) for x in "kv"}
    said = {key: x for key, x in made.metadata().items() if key[6:] not in optional}
    file = made.written(tmp_path, made.gguf(said, made.shapes() | groups))
    found = Architecture.of(*read(file))
    assert (found.n_groups, found.base, found.n_vocab) == (made.N_HEADS, 10000.0, made.N_VOCAB)
    for key in ("token_type", "merges"):
        del said[f"tokenizer.ggml.{key}"]
    tokens = tokenizer_from_metadata(said)
    assert tokens.decode(tokens.encode("hello")) == "hello"
    assert len(tokens.encode("hello")) == 5


def test_heads_may_be_wider_together_than_the_model(tmp_path: Path) -> None:
    wide = {"attention.key_length": 16, "attention.value_length": 16, "rope.dimension_count": 16}
    said = made.metadata() | {f"llama.{key}": x for key, x in wide.items()}
    layer = {"q": (64, 32), "k": (32, 32), "v": (32, 32), "output": (32, 64)}
    shapes = {f"blk.{i}.attn_{x}.weight": (s, 0) for i in (0, 1) for x, s in layer.items()}
    file = made.written(tmp_path, made.gguf(said, made.shapes() | shapes))
    assert Architecture.of(*read(file)).d_k == 16


def damaged(whole: bytes, rng: random.Random) -> bytes:
    """A file with some bytes altered, most of them in the head; or cut, or with bytes put in."""
    found, way = bytearray(whole), rng.randrange(6)
    end = len(found) if way == 0 else whole.index(b"output_norm.weight") + 40
    for _ in range(rng.choice((1, 1, 2, 8))):
        found[rng.randrange(end)] = rng.choice((0, 1, 127, 128, 255, rng.randrange(256)))
    if way == 1:
        del found[rng.randrange(len(found)) :]
    if way == 2:
        place = rng.randrange(end)
        found[place:place] = rng.randbytes(rng.randrange(1, 40))
    if way == 3:
        place = rng.randrange(24, end)
        found[place : place + 8] = struct.pack("<Q", rng.choice((2**63, 2**64 - 1, 2**32, 2**40)))
    return bytes(found)


def test_a_damaged_file_is_read_or_refused_by_name(tmp_path: Path, whole: bytes) -> None:
    """No other error comes, and what is read has the shapes that were written."""
    rng, refused = random.Random(0), 0
    shapes = {name: shape for name, (shape, _) in made.shapes().items()}
    for _ in range(600):
        try:
            _, tensors = opened(made.written(tmp_path, damaged(whole, rng)))
        except PretrainedError:
            refused += 1
        else:
            assert {name: x.shape for name, x in tensors.items()} == shapes
    assert 300 < refused < 600
