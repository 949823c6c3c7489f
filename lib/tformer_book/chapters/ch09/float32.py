"""The tanh form of GELU against GELU at every float32 number, made once and stored.

`python -m tformer_book.chapters.ch09.float32` makes `float32.json` again; some minutes on one core.
A binade is the 2^23 numbers from 2^e to 2^(e + 1) of one sign. Both forms are computed in float64
from the float32 number, so what is measured is the formula and not the rounding of its result;
and once more in float32, as a model computes it.
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import torch

from tformer_book.chapters.ch09.measured import FLOAT32

__all__ = ["EXPONENTS", "binade", "errors", "farthest"]

CUBIC, ROOT = 0.044715, math.sqrt(2 / math.pi)
EXPONENTS = range(-126, 128)
"""Of the normal numbers; those below, and zero, are one binade more, under −127."""


def binade(exponent: int, negative: bool, start: int = 0, stop: int = 2**23) -> torch.Tensor:
    """The float32 numbers of a binade in order of their size, or those from `start` to `stop`."""
    first = ((exponent + 127) << 23) - (negative << 31)
    bits = torch.arange(first + start, first + stop, dtype=torch.int64)
    return bits.to(torch.int32).view(torch.float32)


def errors(x: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
    """|tanh form − GELU|, absolute and as a share of |GELU|, in float64.

    GELU is found by erfc, so that a share means something where GELU is tiny; where both forms are
    0 in float64 it counts as 0.
    """
    wide = x.double()
    exact = wide / 2 * torch.erfc(-wide / math.sqrt(2))
    inner = ROOT * (wide + CUBIC * wide * wide * wide)
    off = (wide * torch.sigmoid(2 * inner) - exact).abs()  # (1 + tanh u) / 2 is σ(2u)
    return off, torch.where(off > 0, off / exact.abs(), 0)


def farthest(exponent: int, negative: bool, chunk: int = 2**16) -> dict[str, Any]:
    """The largest errors of a binade, and where the absolute one stands.

    `error` and `share` are those of `errors`; `single` is the largest absolute error if both forms
    are computed in float32 by PyTorch, and `silent` counts numbers for which the tanh form is then
    0 and GELU is not.
    """
    gelu = torch.nn.functional.gelu
    found: dict[str, Any] = {"sign": -1 if negative else 1, "exponent": exponent, "error": -1.0}
    found |= {"share": 0.0, "single": 0.0, "silent": 0}
    for start in range(0, 2**23, chunk):
        x = binade(exponent, negative, start, start + chunk)
        off, share = errors(x)
        at = int(off.argmax())
        if float(off[at]) > found["error"]:
            found |= {"error": float(off[at]), "at": float(x[at])}
        exact, form = gelu(x), gelu(x, approximate="tanh")
        apart = float((form.double() - exact.double()).abs().max())
        found["share"] = max(found["share"], float(share.max()))
        found["single"] = max(found["single"], apart)
        found["silent"] += int(((form == 0) & (exact != 0)).sum())
    return found


def sweep() -> Iterator[dict[str, Any]]:
    """Every finite float32 number, a binade at a time."""
    for negative in (False, True):
        for exponent in (-127, *EXPONENTS):
            yield farthest(exponent, negative)


def main() -> None:
    """Make the file."""
    torch.set_num_threads(1)
    lines = [json.dumps(one) for one in sweep()]
    text = "[\n" + ",\n".join(lines) + "\n]\n"
    Path(__file__).with_name(FLOAT32).write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
