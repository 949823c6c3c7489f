"""A pre-norm block in C++, and the same block by the library, number for number.

`block.cpp` is the book's own program. Sizes, seed and order of the draws are those of a listing in
*Transformer Theory*, which comes without what it prints. It was compiled once, and what it printed
is in `block.json`; the tests compile it again where there is a compiler. The draws are made again
here: C++ says what `std::mt19937` gives, but every library of C++ may make normal numbers of it in
its own way. This is the way of GCC's, Marsaglia's polar method.
"""

from __future__ import annotations

import json
import math
import shutil
import subprocess
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np

from tformer.configuration import Configuration
from tformer.parameters import (
    BlockParameters,
    FeedForwardParameters,
    HeadParameters,
    NormParameters,
)

__all__ = ["CONFIGURATION", "FILE", "LISTED", "PROGRAM", "compiled", "compiler", "drawn", "stored"]

PROGRAM = Path(__file__).with_name("block.cpp")
FILE = Path(__file__).with_name("block.json")
FLAGS = ("-std=c++17", "-O2", "-ffp-contract=off")
CONFIGURATION = Configuration(activation="gelu_tanh", positions="none")
WORDS, D, D_FF, SEED = 4, 8, 32, 42
LISTED = (
    "-0.3425 1.0819 -0.1473 2.0632 0.0273 0.1384 -0.8725 0.8991",
    "-0.3042 0.9238 -0.0175 1.5037 -0.2321 0.0479 -0.7474 0.5175",
    "-0.3883 0.7428 0.9186 -0.1795 -1.1107 -0.8319 0.3950 -0.8201",
    "0.0046 0.6605 0.5254 0.7643 0.5603 0.1625 1.0621 0.5296",
)
"""What the listing itself printed, compiled once in the same way."""


def stored() -> dict[str, Any]:
    """What the program printed, "x" (4, 8) and "y" (4, 8), and how it was "made"."""
    found = json.loads(FILE.read_text(encoding="utf-8"))
    return {"made": found["made"], **{name: np.array(found[name]) for name in "xy"}}


def compiler() -> str | None:
    """The path of a compiler, GCC's first; None if there is none."""
    return next(filter(None, map(shutil.which, ("g++", "c++", "clang++"))), None)


def compiled(folder: Path) -> dict[str, Any]:
    """Compile the program in a folder and run it: as `stored`.

    Raises
    ------
    FileNotFoundError
        If there is no compiler.
    """
    path = compiler()
    if path is None:
        raise FileNotFoundError("compiled: there is no C++ compiler; install g++")
    command = [path, *FLAGS, str(PROGRAM), "-o", str(folder / "block")]
    subprocess.run(command, check=True, timeout=120)
    ran = subprocess.run([folder / "block"], check=True, timeout=10, capture_output=True, text=True)
    version = subprocess.run([path, "--version"], check=True, capture_output=True, text=True)
    lines = [line.split() for line in ran.stdout.splitlines()]
    tables = {name: [list(map(float, row)) for key, *row in lines if key == name] for name in "xy"}
    made = f"{' '.join(['g++', *FLAGS, PROGRAM.name])}; {version.stdout.splitlines()[0]}"
    return {"made": made, **tables}


@cache
def drawn() -> tuple[np.ndarray, BlockParameters]:
    """The words (4, 8) and the parameters that the program draws, drawn again."""
    uniform = _uniform()

    def normal(n: int, m: int, spread: float) -> np.ndarray:
        pairs = (one for _ in range(math.ceil(n * m / 2)) for one in _pair(uniform))
        return spread * np.fromiter(pairs, float)[: n * m].reshape(n, m)

    x = normal(WORDS, D, 1.0) * 0.1
    heads = HeadParameters(*(normal(D, D, D**-0.5)[None] for _ in range(4)))
    layer = FeedForwardParameters(normal(D, D_FF, D**-0.5), normal(D_FF, D, D_FF**-0.5))
    plain = NormParameters(np.ones(D), np.zeros(D))
    return x, BlockParameters(heads, layer, plain, plain)


def _uniform() -> Iterator[float]:
    """Numbers from 0 to 1 of 64 random bits each, the low half drawn first."""
    bits = np.random.RandomState(SEED)
    while True:
        low, high = bits.randint(0, 2**32, size=2, dtype=np.uint32).astype(float)
        yield (low + high * 2.0**32) / 2.0**64


def _pair(uniform: Iterator[float]) -> tuple[float, float]:
    """Two independent normal numbers from a point of the unit disc."""
    while True:
        a, b = 2 * next(uniform) - 1, 2 * next(uniform) - 1
        square = a * a + b * b
        if 0 < square <= 1:
            factor = math.sqrt(-2 * math.log(square) / square)
            return b * factor, a * factor


if __name__ == "__main__":
    from tempfile import TemporaryDirectory

    with TemporaryDirectory() as folder:
        text = json.dumps(compiled(Path(folder)), indent=1)
    FILE.write_text(text + "\n", encoding="utf-8")
