"""Small files in the format GGUF, written here from the format's description alone."""

import struct
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import numpy as np

U4, I4, F4, BOOL, STRING, ARRAY = 4, 5, 6, 7, 8, 9
SIZE_OF_BLOCK = {0: (4, 1), 1: (2, 1), 2: (18, 32), 3: (20, 32), 8: (34, 32)}
"""Bytes and numbers of a block, by ggml's number for the kind."""
WORDS = ["he", "ll", "hell", "hello", "Ġw", "or", "Ġwor", "ld", "Ġworld"]
MERGES = ["h e", "l l", "he ll", "hell o", "Ġ w", "o r", "Ġw or", "l d", "Ġwor ld"]
TOKENS = ["<|end|>", "<|start|>", *"abcdefghijklmnopqrstuvwxyzĠĊ'!0123456789Ã©", *WORDS]
N_VOCAB, D_MODEL, D_FF, D_K, N_HEADS, N_GROUPS, N_LAYERS = len(TOKENS), 32, 64, 8, 4, 2, 2


def text(found: str | bytes) -> bytes:
    """A string as the format has it."""
    data = found.encode() if isinstance(found, str) else found
    return struct.pack("<Q", len(data)) + data


def value(found: Any) -> bytes:
    """A value after its type."""
    if isinstance(found, bool):
        return struct.pack("<IB", BOOL, found)
    if isinstance(found, int):
        return struct.pack("<II", U4, found)
    if isinstance(found, float):
        return struct.pack("<If", F4, found)
    if isinstance(found, str):
        return struct.pack("<I", STRING) + text(found)
    if isinstance(found[0], str):
        data = b"".join(map(text, found))
        return struct.pack("<IIQ", ARRAY, STRING, len(found)) + data
    return struct.pack(f"<IIQ{len(found)}i", ARRAY, I4, len(found), *found)


def metadata() -> dict[str, Any]:
    """What a small Llama with a small tokenizer says of itself."""
    return {
        "general.architecture": "llama",
        "general.name": "made up",
        "tokenizer.ggml.add_bos_token": False,
        "llama.block_count": N_LAYERS,
        "llama.context_length": 128,
        "llama.embedding_length": D_MODEL,
        "llama.feed_forward_length": D_FF,
        "llama.attention.head_count": N_HEADS,
        "llama.attention.head_count_kv": N_GROUPS,
        "llama.rope.dimension_count": D_K,
        "llama.rope.freq_base": 10000.0,
        "llama.attention.layer_norm_rms_epsilon": 2.0**-16,
        "llama.vocab_size": N_VOCAB,
        "tokenizer.ggml.model": "gpt2",
        "tokenizer.ggml.pre": "smollm",
        "tokenizer.ggml.tokens": TOKENS,
        "tokenizer.ggml.token_type": [3, 3] + [1] * (N_VOCAB - 2),
        "tokenizer.ggml.merges": MERGES,
    }


def shapes() -> dict[str, tuple[tuple[int, ...], int]]:
    """Shape and kind of each tensor; all kinds that are read occur."""
    layer = {
        "attn_norm": ((D_MODEL,), 0),
        "attn_q": ((N_HEADS * D_K, D_MODEL), 3),
        "attn_k": ((N_GROUPS * D_K, D_MODEL), 2),
        "attn_v": ((N_GROUPS * D_K, D_MODEL), 1),
        "attn_output": ((D_MODEL, N_HEADS * D_K), 3),
        "ffn_norm": ((D_MODEL,), 0),
        "ffn_gate": ((D_FF, D_MODEL), 3),
        "ffn_up": ((D_FF, D_MODEL), 3),
        "ffn_down": ((D_MODEL, D_FF), 3),
    }
    each = {f"blk.{i}.{n}.weight": told for i in range(N_LAYERS) for n, told in layer.items()}
    ends = {"token_embd.weight": ((N_VOCAB, D_MODEL), 8), "output_norm.weight": ((D_MODEL,), 0)}
    return each | ends


def data(shape: Iterable[int], kind: int, seed: int) -> bytes:
    """Random blocks with scales that are finite."""
    n_bytes, n_numbers = SIZE_OF_BLOCK[kind]
    count = int(np.prod([*shape])) // n_numbers
    rng = np.random.default_rng(seed)
    if kind in (0, 1):
        return rng.standard_normal(count).astype("<f4" if kind == 0 else "<f2").tobytes()
    blocks = rng.integers(0, 256, (count, n_bytes), dtype=np.uint8)
    n_scales = 2 if kind == 3 else 1
    scales = rng.standard_normal((count, n_scales)).astype("<f2").view(np.uint8)
    blocks[:, : 2 * n_scales] = scales
    return blocks.tobytes()


def gguf(
    said: Mapping[str, Any] | None = None,
    tensors: Mapping[str, tuple[tuple[int, ...], int]] | None = None,
    alignment: int = 32,
) -> bytes:
    """The bytes of a file; without arguments a whole one."""
    said = metadata() if said is None else said
    tensors = shapes() if tensors is None else tensors
    head = b"GGUF" + struct.pack("<IQQ", 3, len(tensors), len(said))
    head += b"".join(text(key) + value(found) for key, found in said.items())
    body = b""
    for seed, (name, (shape, kind)) in enumerate(tensors.items()):
        axes = struct.pack(f"<I{len(shape)}Q", len(shape), *shape[::-1])
        head += text(name) + axes + struct.pack("<IQ", kind, len(body))
        body += data(shape, kind, seed)
        body += bytes(-len(body) % alignment)
    return head + bytes(-len(head) % alignment) + body


def written(folder: Path, content: bytes) -> Path:
    """A file that holds `content`."""
    file = folder / "made_up.gguf"
    file.write_bytes(content)
    return file
