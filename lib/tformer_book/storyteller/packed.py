"""The storyteller as a page reads it: merges, sizes and weights in one compressed file."""

import json
import zlib
from functools import cache
from typing import Any

import numpy as np

from tformer_book.storyteller.stored import MERGES, Storyteller, load

__all__ = ["PLACES", "pack", "packed"]

PLACES = 128
"""How many tokens it has learnt to read at once."""


def pack(teller: Storyteller, merges: list[str]) -> bytes:
    """All that the page's script needs to compute what `reference.decoder` computes.

    A line of JSON, then the weights in float16: the upper byte of each, then the lower of each,
    which gzip shortens more. Matrices lie by what comes out of them, as `_rows` lays them.

    Parameters
    ----------
    teller : Storyteller
        As `tformer_book.storyteller.training` makes it: RoPE by halves, RMS norms, SwiGLU.
    merges : list of str
        Those of its tokens.
    """
    p: Any = teller.parameters
    c = teller.configuration
    tables = [p.embedding, *(x for one in p.blocks for x in _rows(one)), p.norm.gain]
    tables.append(p.unembedding.T)
    n_heads, d, d_k = p.blocks[0].heads.w_q.shape
    about: dict[str, Any] = {"merges": merges, "places": PLACES, "eps": c.eps, "base": c.base}
    about |= {"nVocab": len(p.embedding), "d": d, "layers": len(p.blocks), "heads": n_heads}
    about |= {"dK": d_k, "dFF": p.blocks[0].feed_forward.w_in.shape[1]}
    numbers = np.concatenate([x.ravel() for x in tables]).astype("<f2").view(np.uint8)
    line = json.dumps(about, ensure_ascii=False, separators=(",", ":")).encode()
    planes = numbers[1::2].tobytes() + numbers[::2].tobytes()
    press = zlib.compressobj(9, zlib.DEFLATED, 31, 7, zlib.Z_FILTERED)  # 31: as gzip writes it
    return press.compress(line + b"\n" + planes) + press.flush()


def _rows(block: Any) -> list[np.ndarray]:
    """The tables of a block: norm, q, k and v of all heads, o; norm, gates and inputs, outputs."""
    heads, feed = block.heads, block.feed_forward
    q, k, v, o = (x.T for x in heads.fused()[:4])
    return [
        *(block.heads_norm.gain, q, k, v, o),
        *(block.feed_forward_norm.gain, feed.w_gate.T, feed.w_in.T, feed.w_out.T),
    ]


@cache
def packed() -> bytes:
    """The committed model, packed."""
    return pack(load(), MERGES.read_text("utf-8").splitlines())
