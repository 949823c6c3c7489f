"""The block in C++: compiled again where there is a compiler, and its draws by another way."""

import os
from pathlib import Path

import numpy as np
import pytest

from tformer_book.chapters.ch10 import cpp


def test_the_program_still_prints_what_is_stored(tmp_path: Path) -> None:
    if cpp.compiler() is None:
        if os.environ.get("CI"):
            pytest.fail("no C++ compiler found; CI has one")
        pytest.skip("no C++ compiler found; install g++")
    again, found = cpp.compiled(tmp_path), cpp.stored()
    if "clang" in again["made"].lower() or "apple" in again["made"].lower():
        pytest.skip(f"another library may draw other normal numbers: {again['made']}")
    for name in "xy":
        np.testing.assert_allclose(again[name], found[name], rtol=0, atol=1e-12)


def test_the_draws_are_normal_numbers_with_the_spreads_of_the_program() -> None:
    x, block = cpp.drawn()
    heads, layer = block.heads, block.feed_forward
    assert x.shape == (4, 8)
    assert 0.05 < x.std() < 0.15
    drawn = [(heads.w_q, 8), (heads.w_o, 8), (layer.w_in, 8), (layer.w_out, 32)]
    for table, before in drawn:
        assert table.std() == pytest.approx(before**-0.5, rel=0.25)
        assert abs(table.mean()) < 3 * table.std() / table.size**0.5


def test_no_compiler_is_said_in_words(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("PATH", "")
    with pytest.raises(FileNotFoundError, match=r"no C\+\+ compiler; install g\+\+"):
        cpp.compiled(tmp_path)
