"""Measure writing: python benchmarks/generation.py [table]

The 1st to the 1,000th word of a text, and texts written from first to last, with a cache of the
words before and by reading all of them again, ours in NumPy and in PyTorch; and texts by the
package transformers, with its cache, from the same parameters. Written to the file that chapter 15
draws and to benchmarks/generation.md.

The time is that of the processor, since the machine may be busy.
"""

import json
import os
import sys
import time
from typing import Any

import numpy as np
import torch
from attention import ONE_THREAD, RESULTS, _machine
from transformers import LlamaConfig, LlamaForCausalLM

from tformer import fast, reference
from tformer.models.generate import generate
from tformer.models.state_dicts import from_state_dict
from tformer.parameters import tree_map
from tformer_book.chapters.ch15.speed import (
    CONFIGURATION,
    FILE,
    LENGTHS,
    SIZES,
    TEXTS,
    costs,
    gains,
    stored,
    written,
)

TURNS = 3


def theirs() -> LlamaForCausalLM:
    """The other library's model, with parameters of its own choice."""
    torch.manual_seed(0)
    config = LlamaConfig(
        vocab_size=SIZES.n_vocab,
        hidden_size=SIZES.d_model,
        num_hidden_layers=SIZES.n_layers,
        num_attention_heads=SIZES.n_heads,
        intermediate_size=SIZES.d_ff,
        rms_norm_eps=CONFIGURATION.eps,
        max_position_embeddings=1024,
        rope_parameters={"rope_type": "default", "rope_theta": CONFIGURATION.base},
        eos_token_id=None,
        bos_token_id=None,
        pad_token_id=0,
    )
    return LlamaForCausalLM(config).eval()


def measure() -> dict[str, Any]:
    """All of it, from one set of parameters."""
    model = theirs()
    state = {name: x.numpy() for name, x in model.state_dict().items()}
    ours = from_state_dict("llama", state, SIZES.n_heads)
    text = np.random.default_rng(0).integers(0, SIZES.n_vocab, max(LENGTHS))
    found: dict[str, Any] = {"machine": _machine("cpu")}
    with torch.no_grad():
        for name, module, wrap, together in (
            ("NumPy", reference, lambda x: x, np.concatenate),
            ("PyTorch", fast, torch.from_numpy, torch.cat),
        ):
            p, words = tree_map(wrap, ours), wrap(text)
            found[name] = ways(module, p, words)
            found[name]["written"] = {
                str(n): written(module, p, words[:1], n, together) for n in TEXTS
            }
        found["transformers"] = {str(n): others(model, n) for n in TEXTS}
    words = [*generate(reference.cached_decoder, text[:1], ours, CONFIGURATION, 40)]
    start = torch.from_numpy(text[None, :1])
    if model.generate(start, max_new_tokens=40, do_sample=False)[0, 1:].tolist() != words:
        raise ValueError("the other library writes other words")
    return found


def ways(module: Any, p: Any, text: Any) -> dict[str, Any]:
    """One more word with a cache, and by a full pass."""

    def cached(n: int) -> Any:
        caches = module.cached_decoder(text[: n - 1], p, CONFIGURATION)[1] if n > 1 else None
        return lambda: module.cached_decoder(text[n - 1 : n], p, CONFIGURATION, caches)

    return costs(cached, lambda n: lambda: module.decoder(text[:n], p, CONFIGURATION), TURNS)


def others(model: LlamaForCausalLM, n: int) -> float:
    """Seconds in which the other library writes n words with its cache; the least of two."""
    start, least = torch.zeros(1, 1, dtype=torch.long), np.inf
    for _ in range(2):
        began = time.process_time()
        model.generate(start, max_new_tokens=n, min_new_tokens=n, do_sample=False)
        least = min(least, time.process_time() - began)
    return round(float(least), 3)


def table(found: dict[str, Any]) -> str:
    """The table for people, as Markdown."""
    about = found["machine"]
    packages = ", ".join(f"{name} {number}" for name, number in about["packages"].items())
    parts = [
        "# Writing, measured\n",
        "Written by `python benchmarks/generation.py`, as is the file that chapter 15 draws.\n",
        f"{about['processor']}; one thread; Python {about['python']}, {packages}.\n",
        f"Greedy generation, {SIZES.n_layers} layers of width {SIZES.d_model}, float32.",
        "With a cache and by reading all words again for each: milliseconds (of the processor's",
        "time) for the last of so many words, words a second for a text of so many, and how many",
        "times as fast the cache is in both. transformers has its own cache.\n",
        "| words | library | word, again | cache | times | text, again | cache | times |",
        "|--:|:--" + "|--:" * 6 + "|",
    ]
    for n in TEXTS:
        for name in ("NumPy", "PyTorch"):
            word, text = gains(found[name], n)
            one = [f"{found[name][way][LENGTHS.index(n)]:.2f}" for way in ("full", "cached")]
            rate = [f"{n / found[name]['written'][str(n)][way]:.1f}" for way in ("full", "cached")]
            cells = [f"{n:,}", name, *one, f"{word:.1f}", *rate, f"{text:.1f}"]
            parts.append(f"| {' | '.join(cells)} |")
        rate_ = n / found["transformers"][str(n)]
        parts.append(f"| {n:,} | transformers | | | | | {rate_:.1f} | |")
    return "\n".join(parts) + "\n"


def main(chosen: list[str]) -> None:
    """Measure, unless only the table is asked for, and write it."""
    torch.set_num_threads(1)
    if chosen != ["table"]:
        FILE.write_text(json.dumps(measure(), indent=1) + "\n", encoding="utf-8")
    (RESULTS.parent / "generation.md").write_text(table(stored()), encoding="utf-8")


if __name__ == "__main__":
    if os.environ.get("OPENBLAS_NUM_THREADS") != "1":
        os.execve(sys.executable, [sys.executable, *sys.argv], os.environ | ONE_THREAD)
    main(sys.argv[1:])
