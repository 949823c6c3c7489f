"""What a training on a text will be: its model and steps, measured and told before it begins."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from types import ModuleType
from typing import Any

import torch

from tformer.training.recipe import Recipe
from tformer_book.own.corpus import Corpus
from tformer_book.own.steps import LENGTH, Batch, batches, first_state, training_step

SIZES = ((32, 2), (64, 2), (64, 4), (128, 4), (192, 4), (256, 6))
"""Widths and layers of the models, from small to large. A head has 32 coordinates."""
PASSES = 20
"""How often a text is read at most."""
TOKENS_A_PARAMETER = 5
"""A larger model is taken as long as it reads so many."""
SHARE = 0.9
"""Of the minutes, for steps; the rest is for the beginning and for held-out losses."""
PEAK = 3e-3
"""Of the learning rate."""
TRIAL = 4
"""Steps that are measured, of which the first does not count."""

Say = Callable[[str], object]


@dataclass(frozen=True, kw_only=True)
class Plan(Recipe):
    """What a training is, all that it needs to go on after a kill.

    Parameters
    ----------
    text, file : str
        Fingerprints of the text, and of the reader's file together with the book's.
    minutes : float
        What was asked for.
    gflops : float
        Thousands of millions of FLOPs a second, as measured; 0 if nothing was.
    d_model, n_layers, batch, threads : int
        Of the model; rows a step; threads of PyTorch, on which the last digits depend.
    dtype : str
        "float32" or "float64".
    """

    text: str
    file: str
    minutes: float
    d_model: int
    n_layers: int
    batch: int
    threads: int
    dtype: str
    gflops: float = 0.0

    @property
    def n_tokens(self) -> int:
        """Tokens that all steps read."""
        return self.steps * self.batch * LENGTH


def configuration(my: ModuleType, n_vocab: int, d_model: int, n_layers: int) -> Any:
    """Return the reader's `Config` of a size: heads of 32, two of them to a group."""
    heads = d_model // 32
    return my.Config(n_vocab, d_model, n_layers, heads, max(1, heads // 2), d_model // 3 * 8)


def make_plan(my: ModuleType, corpus: Corpus, asked: dict[str, Any]) -> Plan:
    """Choose model and steps: those asked for, or else by measuring steps of `train`.

    The model is the largest one of `SIZES` that reads `TOKENS_A_PARAMETER` in the minutes, and the
    text at most `PASSES` times.
    """
    n, threads = len(corpus.tokens), torch.get_num_threads()
    chosen = {"batch": 16 if n >= 50_000 else 4, "threads": threads, "rate": PEAK, **asked}
    if "steps" in asked:
        return Plan(warmup=min(100, asked["steps"] // 10), **chosen)
    best: dict[str, Any] = {}
    for d_model, n_layers in SIZES:
        c = configuration(my, corpus.tokenizer.n_vocab, d_model, n_layers)
        batch = batches(corpus.tokens, asked["seed"], chosen["batch"])
        seconds = _measured(my, c, batch, asked)
        a_step = chosen["batch"] * LENGTH
        steps = min(SHARE * 60 * asked["minutes"] / seconds, PASSES * n / a_step)
        if best and steps * a_step < TOKENS_A_PARAMETER * my.n_parameters(c):
            break
        gflops = my.training_flops(c, a_step, LENGTH) / seconds / 1e9
        best = {"d_model": d_model, "n_layers": n_layers, "gflops": round(gflops, 1)}
        best["steps"] = max(1, int(steps))
    return Plan(warmup=min(100, best["steps"] // 10), **chosen | best)


def _measured(my: ModuleType, c: Any, batch: Batch, asked: dict[str, Any]) -> float:
    """Return the seconds of a step of the reader's `train`, if nothing else runs."""
    p = first_state(my, c, asked["seed"], asked["dtype"]).p
    steps = my.train(p, c, batch, TRIAL, peak=PEAK, warmup=0)
    seconds = [time.process_time() / torch.get_num_threads() for _ in steps]
    return (seconds[-1] - seconds[0]) / (TRIAL - 1)


def differs(my: ModuleType, corpus: Corpus, asked: dict[str, Any]) -> bool:
    """Return whether the reader's `train` has other losses than `training_step`."""
    c = configuration(my, corpus.tokenizer.n_vocab, *SIZES[0])
    state, batch = first_state(my, c, asked["seed"], asked["dtype"]), batches(corpus.tokens, 0, 4)
    p = {name: x.detach().clone().requires_grad_() for name, x in state.p.items()}
    for _, loss in my.train(p, c, batch, TRIAL, peak=PEAK, warmup=2):
        state, other = training_step(my, state, c, batch, TRIAL, 2, PEAK)
        if abs(other - loss) > 1e-4 * abs(other):
            return True
    return False


def say_plan(
    plan: Plan, corpus: Corpus, my: ModuleType, c: Any, simpler: dict[str, float], say: Say
) -> None:
    """Say what will be done, what it costs, and what is to be beaten."""
    n, size = len(corpus.tokens), my.n_parameters(c)
    flops = my.training_flops(c, plan.n_tokens, LENGTH)
    say(
        f"The text: {n:,} tokens, of {c.n_vocab:,} in the vocabulary, to train on; its last "
        f"{corpus.n_bytes:,} bytes are held out."
    )
    say(f"The model: {plan.n_layers} layers of width {plan.d_model}, {size:,} parameters.")
    say(
        f"The plan: {plan.steps:,} steps of {plan.batch * LENGTH:,} tokens. It reads the text "
        f"{plan.n_tokens / n:.1f} times, {plan.n_tokens / size:.1f} tokens a parameter."
    )
    bill = f"The bill: {flops:.2e} FLOPs"
    if plan.gflops:
        minutes = flops / plan.gflops / 6e10
        bill += (
            f", {minutes:.1f} minutes at the measured {plan.gflops} GFLOP/s, if nothing else runs"
        )
    say(f"{bill}.")
    if plan.gflops and plan.n_tokens > (PASSES - 0.1) * n:
        say(f"More than {PASSES} times would rather learn the text by heart; a longer one helps.")
    say(
        f"The rule of thumb of chapter 20, twenty tokens a parameter, gives these FLOPs to "
        f"{(flops / 120) ** 0.5:,.0f} parameters, if every token is new."
    )
    found = ", ".join(f"{name} {bits:.2f}" for name, bits in simpler.items())
    say(f"To beat, in bits a byte of what is held out: {found}.")
