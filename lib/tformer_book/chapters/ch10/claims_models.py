"""The claims of chapter 10 on whole models: what they cost, and what they start from."""

from __future__ import annotations

from dataclasses import replace
from itertools import product
from typing import Any

import numpy as np

from tformer import reference as ref
from tformer.configuration import Configuration
from tformer.models.sizes import Sizes, count_flops, count_parameters, initialise
from tformer.parameters import ModelParameters, leaves, tree_map
from tformer_book.chapters.ch10.lists import PLAIN
from tformer_book.claims.registry import claim, require
from tformer_book.claims.tools import grid, near, profiled, show

GPT2 = Configuration(activation="gelu_tanh")
LLAMA = Configuration(norm="rms", activation="silu", positions="rope")


@claim(
    "prop-bill",
    "numeric",
    mutants={
        "norms have no parameters": {"small": 9},
        "the unembedding is counted again": {"tables": 2},
        "one operation for an entry": {"operations": 1},
        "a causal mask saves half": {"looks": 2},
    },
    scope="24 models counted; 12 passes through a profiler",
)
def bill(small: int = 13, tables: int = 1, operations: int = 2, looks: int = 4) -> str:
    """Counting the leaves of models that are made; PyTorch's counter around a pass of each."""
    counted = profiled = 0
    for n, d, depth, heads in product((5, 11), (4, 8), (1, 2, 3), (1, 4)):
        sizes = Sizes(n, d, depth, heads, 4 * d, n_positions=9)
        made = initialise(sizes, GPT2, np.random.default_rng(0))
        got = sum(leaf.size for leaf in leaves(made))
        want = tables * n * d + 9 * d + depth * (12 * d * d + small * d) + 2 * d
        require(got == want == count_parameters(sizes, GPT2), f"{got} counted, {want} by formula")
        counted += 1
    for groups, depth, words in product((2, 4), (1, 2), (3, 7, 16)):
        sizes = Sizes(11, 8, depth, 4, 12, groups, n_positions=16, biased=False, gated=True)
        model = initialise(sizes, LLAMA, np.random.default_rng(0))
        block = 2 * 8 * 2 * (4 + groups) + 3 * 8 * 12
        require(
            sum(leaf.size for leaf in leaves(model)) == tables * 11 * 8 + depth * (block + 16) + 8,
            "a model of Llama's form has other parameters",
        )
        entries = depth * block + 11 * 8
        want = words * (operations * entries + looks * depth * words * 8)
        got = _profiled(model, words)
        require(got == want, f"{words} words: {got} by the profiler, {want} by formula")
        require(got == count_flops(sizes, words), "count_flops says something else")
        profiled += 1
    return (
        f"{counted} models of GPT-2's form counted; {profiled} passes of models of Llama's form "
        "under PyTorch's counter of operations, to the last one"
    )


def _profiled(model: ModelParameters, words: int) -> int:
    """What PyTorch counts in a pass, its attention taken apart into two products."""
    import torch

    from tformer import fast

    p, tokens = tree_map(torch.from_numpy, model), torch.zeros(words, dtype=torch.long)
    return profiled(lambda: fast.decoder(tokens, p, LLAMA))


@claim(
    "thm-start",
    "numeric",
    mutants={
        "not narrowed": {"narrow": False},
        "narrowed by the number, not its root": {"root": False},
        "what is added is larger than its bound": {"bound": 1.0},
    },
    scope="width 2, 1 to 3 sublayers, all signs; the library's spreads",
)
def start(narrow: bool = True, root: bool = True, bound: float = 2.0) -> str:
    """The exact mean over all signs of all entries; then what `initialise` draws."""
    x = np.array([1.5, -0.4])
    before, sigma = float(np.mean(x * x)), 0.7
    for n in (1, 2, 3):
        share = (n**0.5 if root else n) if narrow else 1.0
        signs = grid(4 * n, (-1, 1)).reshape(-1, n, 2, 2)
        row, added = np.repeat(x[None], len(signs), axis=0), 0.0
        for k in range(n):
            h = np.maximum(ref.rms_norm(row, PLAIN, 1e-12), 0)
            added += sigma**2 / n * float((h * h).sum(axis=1).mean())
            row = row + np.einsum("ni,nij->nj", h, signs[:, k] * sigma / share)
        got = float(np.mean(row * row))
        require(near(got, before + added, 1e-9), f"{n} sublayers: {got:.4f}, not {before + added}")
        require(added <= sigma**2 * bound + 1e-9, f"{added:.3f} is more than σ² c")
    for depth, crossed in product((1, 2, 8), (False, True)):
        sizes = Sizes(3, 64, depth, 4, 128, n_positions=4, has_cross_attention=crossed)
        made: Any = initialise(sizes, GPT2, np.random.default_rng(depth), std=0.02)
        spread = float(np.std([block.feed_forward.w_out for block in made.blocks]))
        want = 0.02 / (depth * (2 + crossed)) ** 0.5
        require(abs(spread / want - 1) < 0.03, f"{depth} blocks: {spread:.5f}, not {want:.5f}")
    return (
        "the mean over all signs of all entries, up to 4096 stacks of one to three sublayers; "
        "matrices that the library draws for 1, 2 and 8 blocks, within 3 %"
    )


@claim(
    "prop-tied-start",
    "numeric",
    mutants={
        "an unembedding of its own": {"tied": False},
        "vectors of different lengths": {"one_length": False},
        "the blocks write": {"silent": False},
        "without a norm at the end": {"last": False},
    },
    scope="40 stacks of two silent blocks, 3 to 30 words, d = 4 and 6",
)
def tied(tied: bool = True, one_length: bool = True, silent: bool = True, last: bool = True) -> str:
    """Logits of every word as the last, through the library's decoder; no length is √d."""
    c = Configuration(norm="rms", eps=1e-30, positions="none")
    for seed, n, d in product(range(5), (3, 8, 15, 30), (4, 6)):
        rng = np.random.default_rng(seed)
        sizes = Sizes(n, d, 2, 2, 8, biased=False, tied=tied)
        model = initialise(sizes, c, rng, std=1.0)
        e = rng.standard_normal((n, d))
        lengths = np.linalg.norm(e, axis=1, keepdims=True)
        e = 0.7 * e / lengths if one_length else e * np.linspace(0.2, 2, n)[:, None]
        blocks = tuple(_silent(block) if silent else block for block in model.blocks)
        norm = model.norm if last else None
        model = replace(model, embedding=e, blocks=blocks, norm=norm)
        z = ref.decoder(np.arange(n)[:, None], model, c)[:, 0]
        want = d**0.5 * e @ e.T / np.linalg.norm(e, axis=1, keepdims=True)
        require(near(z, want, 1e-9), f"{n} words, after the first: {show(z[0][:3])}")
        says = z.argmax(axis=1)
        require(bool((says == np.arange(n)).all()), f"{n} words: {says.tolist()[:5]} come next")
        require(near(z, z.T, 1e-9), "the table is not symmetric")
    return (
        "the table of logits is √d E Eᵀ over the length, within 1e-9; each word expects itself, "
        "and the table is symmetric where vectors have one length"
    )


def _silent(block: Any) -> Any:
    """A block that adds nothing."""
    heads, layer = block.heads, block.feed_forward
    heads = replace(heads, w_o=0 * heads.w_o)
    return replace(block, heads=heads, feed_forward=replace(layer, w_out=0 * layer.w_out))
