"""The programs behind the verdicts: the C++ listings, the example to its end, what can go wrong."""

import shutil
import subprocess
from itertools import islice

import numpy as np
import pytest

from tformer import reference as ref
from tformer_book.popular import cpp, notes, tried, tried_costs, tried_models
from tformer_book.world import buy_milk
from tformer_book.world.sources import BUY_MILK

PROGRAM = """
#include <cstdio>
#include <random>
int main() {
  std::mt19937 bits(42);
  std::normal_distribution<double> narrow(0.0, 0.1), wide(0.0, 1.0);
  for (int i = 0; i < 32; ++i) std::printf("%.17g\\n", narrow(bits));
  for (int i = 0; i < 64; ++i) std::printf("%.17g\\n", wide(bits));
}
"""
STARTS = (-0.0550234494, 0.0515433070, 0.0473860856, 0.1368450122)
"""What the program printed first, compiled with GCC 12 on Linux."""


def test_the_generator_draws_what_gcc_draws():
    assert np.allclose([0.1 * x for x in islice(cpp.normals(42), 4)], STARTS, atol=1e-9)


@pytest.mark.skipif(shutil.which("g++") is None, reason="no C++ compiler is here")
def test_the_generator_draws_what_the_compiled_program_draws(tmp_path):
    source, program = tmp_path / "draw.cpp", tmp_path / "draw"
    source.write_text(PROGRAM, encoding="utf-8")
    subprocess.run(["g++", "-O1", "-o", program, source], check=True)
    said = subprocess.run([program], check=True, capture_output=True, text=True).stdout
    drawn = list(islice(cpp.normals(42), 96))
    scaled = [0.1 * x for x in drawn[:32]] + drawn[32:]
    assert np.allclose([float(line) for line in said.split()], scaled, rtol=1e-12)


def test_the_third_listing_prints_these_rows():
    printed = (-0.3425, 1.0819, -0.1473, 2.0632, 0.0273, 0.1384, -0.8725, 0.8991)
    assert cpp.block_as_listed()[0].round(4).tolist() == list(printed)
    assert np.abs(cpp.block_as_listed() - cpp.block_by_library()).max() < 1e-11


def test_the_second_listing_prints_these_rows():
    assert cpp.with_places()[3].round(4).tolist() == [
        0.0411,
        -0.69,
        0.4955,
        0.7553,
        0.13,
        0.8996,
        0.053,
        1.0,
    ]


def test_the_example_is_that_of_the_other_chapters():
    x = buy_milk.WORDS + buy_milk.POSITIONS
    found, right = buy_milk.steps(x), BUY_MILK.right()
    for mine, theirs in (("weights", "weights"), ("context", "outputs"), ("scores", "scores")):
        assert np.abs(found[mine] - right[theirs]).max() < 1e-15
    block, configuration = buy_milk.block_parameters()
    library = ref.block(x, block, configuration, causal=True)
    assert np.abs(found["output"] - library).max() < 1e-12


def test_the_example_by_hand():
    x = buy_milk.WORDS + buy_milk.POSITIONS
    found = buy_milk.steps(x)
    assert found["hidden"][0].round(9).tolist() == [0, 1, 2]
    assert found["output"].round(9).tolist() == [[1, -1]] * 3
    assert notes.random_words() == {"eggs"}
    other = np.array([[1.0, 0, -1], [0, 1, -1]])  # a hidden unit that does tell the rows apart
    assert len({*buy_milk.steps(x, w_1=other)["logits"].argmax(axis=-1)}) == 2


def test_same_is_not_fooled():
    assert not tried.same([np.nan], [np.nan])
    assert not tried.same([1.0, 1.0], [1.0])
    assert tried.same([1.0], [1.0 + 1e-13])


def test_counts_of_costs_by_hand():
    assert tried_costs.products(1, 2, 8) == {"projections": 16, "attention": 4, "feed-forward": 32}


def test_gradients_through_deep_stacks_arrive_or_not():
    assert tried_models.spread("pre")[0] > 1 > 5 * tried_models.spread("post")[1]
