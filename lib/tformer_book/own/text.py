"""A reader's own transformer trains on a text of their own, for some minutes and through kills."""

from __future__ import annotations

import json
import math
import time
from dataclasses import asdict
from hashlib import sha256
from pathlib import Path
from types import ModuleType
from typing import Any, NamedTuple

import torch
from torch.nn.attention import SDPBackend, sdpa_kernel
from torch.utils.flop_counter import FlopCounterMode

from tformer.checksums import write_atomically
from tformer.tokens import BPE
from tformer.training.checkpoints import CheckpointFolder
from tformer_book.own.corpus import Corpus, TextError, baselines, read_corpus, read_text
from tformer_book.own.lending import load
from tformer_book.own.parts import BOOK
from tformer_book.own.plan import SIZES, Plan, Say, configuration, differs, make_plan, say_plan
from tformer_book.own.progress import find_file
from tformer_book.own.steps import (
    LENGTH,
    State,
    batches,
    first_state,
    held_out_nats,
    training_step,
)

TEMPERATURES = (0.0, 0.7, 1.0)
LOOKS = 20
"""How often the text held out is asked on the way."""
MERGES = "merges.json"
"""Of the tokens, in the folder of a training: with them a model writes without its text."""


class Writer(NamedTuple):
    """A model that writes, with its tokens: what is left of a training once the text is gone.

    Attributes
    ----------
    my, c, p : module, Config, dict
        The reader's file, his configuration and the parameters.
    tokenizer : BPE
    seed : int
        Of what is drawn.
    """

    my: ModuleType
    c: Any
    p: dict[str, torch.Tensor]
    tokenizer: BPE
    seed: int

    def write(self, start: str | list[int], temperature: float = 0.7, n: int = 100) -> str:
        """Go on with a text, or with tokens, by n tokens of `generate`.

        Raises
        ------
        TextError
            If the start is empty.
        """
        tokens = self.tokenizer.encode(start) if isinstance(start, str) else start
        if not tokens:
            raise TextError("A model needs a token to go on from; the start is empty.")
        rng = torch.Generator().manual_seed(self.seed)
        new = self.my.generate(tokens, self.p, self.c, n, temperature, rng=rng)
        return self.tokenizer.decode([*tokens, *new])


class Trained(NamedTuple):
    """A training that has come to its end.

    Attributes
    ----------
    plan : Plan
    corpus : Corpus
    my, c, p : module, Config, dict
        The reader's file, his configuration and the parameters.
    lines : list of dict
        Of each step: "step", "loss" in nats a token, "seconds"; at some steps "bits", those that a
        byte of the text held out costs.
    baselines : dict
        Bits a byte of simpler predictions.
    """

    plan: Plan
    corpus: Corpus
    my: ModuleType
    c: Any
    p: dict[str, torch.Tensor]
    lines: list[dict[str, Any]]
    baselines: dict[str, float]

    @property
    def losses(self) -> list[float]:
        """The loss of each step, in nats a token."""
        return [line["loss"] for line in self.lines]

    @property
    def held_out(self) -> dict[int, float]:
        """Bits a byte of the text held out, by step."""
        return {line["step"]: line["bits"] for line in self.lines if "bits" in line}

    def write(self, temperature: float, n: int = 100, start: str | None = None) -> str:
        """Go on with a text, or with the first tokens of what was held out, by `generate`."""
        tokens = self.corpus.tokenizer.encode(start) if start else self.corpus.asked[:8].tolist()
        return Writer(self.my, self.c, self.p, self.corpus.tokenizer, self.plan.seed).write(
            tokens, temperature, n
        )

    def flops(self) -> tuple[float, float]:
        """Return the FLOPs of all steps: as `training_flops` plans them, and as PyTorch counts."""
        plan = self.plan
        batch = batches(self.corpus.tokens, plan.seed, plan.batch)
        zeros = {name: torch.zeros_like(x) for name, x in self.p.items()}
        # By MATH: PyTorch counts no FLOPs in attention that is one operation on a CPU.
        with sdpa_kernel(SDPBackend.MATH), FlopCounterMode(display=False) as counter:
            training_step(self.my, State(0, self.p, zeros, zeros), self.c, batch, 1, 0, 0.0)
        planned = self.my.training_flops(self.c, plan.n_tokens, LENGTH)
        return planned, plan.steps * counter.get_total_flops()


def train_on_text(
    text: Path | str | None = None,
    folder: Path | str = "my_text",
    *,
    file: Path | str | None = None,
    minutes: float = 15.0,
    steps: int | None = None,
    size: tuple[int, int] = SIZES[0],
    seed: int = 0,
    dtype: str = "float32",
    save_every: float = 30.0,
    say: Say = print,
) -> Trained:
    """Train the model of a reader's file on a text; go on if the folder holds a part of it.

    Parameters
    ----------
    text : Path or str, optional
        A file in UTF-8, a text itself, or, if None, the prose of this book.
    folder : Path or str
        Where plan, checkpoint and losses are kept.
    file : Path or str, optional
        The reader's file; the nearest `my_transformer.py` if None.
    minutes : float
        For which a model is planned once some steps are measured, if nothing else runs.
    steps : int, optional
        How many, with a model of `size`; then nothing is measured.
    size : pair of int
        Width, a multiple of 32, and layers.
    seed : int
        Of the first parameters, of the batches and of what is written.
    dtype : str
        "float32", or "float64", in which processors agree on more digits.
    save_every : float
        Seconds from one checkpoint to the next.
    say : callable
        Is told each line of the report.

    Raises
    ------
    TextError
        The text is too short or no UTF-8, the folder holds another training, or a loss is no
        number.
    CheckpointError
        A checkpoint cannot be read or written.
    FileNotFoundError, Unfit
        There is no such file, or lending cannot go with it.
    """
    if not 0 < minutes < math.inf:
        raise TextError(f"minutes must be above 0; got {minutes}")
    path, prose, folder = find_file(file), read_text(text), Path(folder)
    my = load(path)
    asked: dict[str, Any] = {
        "text": _print(prose.encode()),
        "file": _print(path.read_bytes(), BOOK.read_bytes()),
    }
    asked |= {"minutes": float(minutes), "seed": seed, "dtype": dtype}
    if steps is not None:
        asked |= {"steps": steps, "d_model": size[0], "n_layers": size[1]}
    plan = _stored_plan(folder, asked)
    corpus = read_corpus(prose, my)
    if len(corpus.tokens) < LENGTH:
        raise TextError(
            f"The text repeats itself so much that it is {len(corpus.tokens)} tokens long; "
            f"{LENGTH} are needed."
        )
    threads = torch.get_num_threads()
    try:
        if plan is None:
            if differs(my, corpus, asked):
                say(
                    "Your train has other losses than your adamw and learning_rate give with "
                    "gradients clipped to norm 1. This training uses those two; "
                    "`python -m tformer_book.own 14` checks train."
                )
            plan = make_plan(my, corpus, asked)
            CheckpointFolder(folder, plan)
            write_atomically(folder / "plan.json", json.dumps(asdict(plan), indent=1).encode())
        write_atomically(folder / MERGES, json.dumps(corpus.merges).encode())
        torch.set_num_threads(plan.threads)
        return _train(my, corpus, plan, CheckpointFolder(folder, plan), save_every, say)
    finally:
        torch.set_num_threads(threads)


def open_trained(folder: Path | str, *, file: Path | str | None = None) -> Writer:
    """Open the model that `train_on_text` has kept in a folder; the text is not needed.

    Parameters
    ----------
    folder : Path or str
        Where the training kept its plan and checkpoint.
    file : Path or str, optional
        The reader's file; the nearest `my_transformer.py` if None.

    Raises
    ------
    TextError
        The folder holds no training, or one without a checkpoint yet.
    CheckpointError
        The checkpoint cannot be read.
    FileNotFoundError, Unfit
        There is no such file, or lending cannot go with it.
    """
    folder, my = Path(folder), load(find_file(file))
    plan = _stored_plan(folder, {})
    found = CheckpointFolder(folder, plan).load() if plan else None
    if plan is None or found is None:
        raise TextError(
            f"There is no trained model in {folder}. `python -m tformer_book.own train` makes one."
        )
    try:
        merges = json.loads((folder / MERGES).read_text("utf-8"))
    except (OSError, ValueError) as error:
        raise TextError(
            f"{folder / MERGES} cannot be read: {error}. The command that began the training "
            "writes it again."
        ) from error
    tokenizer = BPE.from_merges(merges)
    c = configuration(my, tokenizer.n_vocab, plan.d_model, plan.n_layers)
    state = first_state(my, c, plan.seed, plan.dtype).filled(*found)
    return Writer(my, c, state.p, tokenizer, plan.seed)


def _print(*parts: bytes) -> str:
    """Return a fingerprint: the first 16 digits of a SHA-256."""
    return sha256(b"\0".join(parts)).hexdigest()[:16]


def _stored_plan(folder: Path, asked: dict[str, Any]) -> Plan | None:
    """Return the plan in a folder, None if there is none yet; refuse one of another training."""
    path = folder / "plan.json"
    if not path.exists():
        return None
    try:
        found = json.loads(path.read_text("utf-8"))
        plan = Plan(**found | {"betas": tuple(found["betas"])})
    except (ValueError, TypeError, KeyError) as error:
        raise TextError(f"{path} cannot be read: {error}. Take another folder.") from error
    for name, value in asked.items():
        there = getattr(plan, name)
        if there != value:
            what = {"text": "another text", "file": f"another {BOOK.name}, or an older book"}
            kind = what.get(name, f"{name} {there!r}, not {value!r}")
            raise TextError(
                f"The training in {folder} began with {kind}. To go on with it, change that back; "
                "to begin a new one, take another folder."
            )
    return plan


def _train(
    my: ModuleType, corpus: Corpus, plan: Plan, kept: CheckpointFolder, save_every: float, say: Say
) -> Trained:
    """Make the steps that are left, keep them, and report."""
    c = configuration(my, corpus.tokenizer.n_vocab, plan.d_model, plan.n_layers)
    batch, every = batches(corpus.tokens, plan.seed, plan.batch), max(1, plan.steps // LOOKS)
    found, simpler = kept.load(), baselines(corpus)
    state = first_state(my, c, plan.seed, plan.dtype)
    if found:
        state = state.filled(*found)
    say_plan(plan, corpus, my, c, simpler, say)
    if found:
        say(f"Going on after step {state.step:,}.")
    kept.drop_metrics_after(state.step)
    saved = time.monotonic()
    try:
        while state.step < plan.steps:
            began = time.perf_counter()
            new, loss = training_step(my, state, c, batch, plan.steps, plan.warmup, plan.rate)
            if not math.isfinite(loss):
                raise TextError(f"The loss of step {new.step:,} is {loss}; nothing goes on there.")
            line: dict[str, Any] = {"step": new.step, "loss": loss}
            if new.step % every == 0 or new.step == plan.steps:
                nats = held_out_nats(my, new.p, c, int(corpus.tokens[-1]), corpus.asked)
                line["bits"] = corpus.bits_per_byte(nats)
                say(
                    f"step {new.step:,} of {plan.steps:,}: bits a byte {line['bits']:.3f} held "
                    f"out, {corpus.loss_in_bits(loss):.3f} trained on"
                )
            kept.record({**line, "seconds": round(time.perf_counter() - began, 4)})
            state = new  # a step is whole, or has not been
            if time.monotonic() - saved >= save_every or state.step == plan.steps:
                kept.save(state.step, state.named())
                saved = time.monotonic()
    except KeyboardInterrupt:
        kept.save(state.step, state.named())
        say(f"Stopped after step {state.step:,}. The same command goes on from there.")
        raise
    trained = Trained(plan, corpus, my, c, state.p, kept.recorded(), simpler)
    _report(trained, say)
    return trained


def _report(trained: Trained, say: Say) -> None:
    """Say what the training came to, and let the model write."""
    held, plan = trained.held_out, trained.plan
    bits = held[plan.steps]
    found = sorted([*trained.baselines.items(), ("this model", bits)], key=lambda pair: -pair[1])
    say("What a byte of the held-out text costs, in bits:")
    for name, value in found:
        say(f"  {name:<10} {value:.3f}")
    best = min(held, key=held.__getitem__)
    if held[best] < 0.99 * bits:
        say(f"It was {held[best]:.3f} at step {best:,}: since then it learns the text by heart.")
    planned, counted = trained.flops()
    say(f"FLOPs planned: {planned:.2e}; in the steps, as PyTorch counts them: {counted:.2e}.")
    if plan.gflops:
        say(f"The steps took {sum(line['seconds'] for line in trained.lines) / 60:.1f} minutes.")
    for temperature in TEMPERATURES:
        say(f"--- temperature {temperature:g} ---")
        say(trained.write(temperature))
