"""Measure trainings: python benchmarks/training.py [loop] [processes] [table]

Tokens a second of `tformer.training.train` for the storyteller, against a step written out with
PyTorch's parts and nothing else; and a small sweep by one process and by two. Both are written to
benchmarks/results/training-cpu.json and benchmarks/training.md.

The machine may have other work. So the loop is timed by the seconds that a core worked for it, in
turns, one step each; of the sweep both are told, those that passed and those that cores worked.
"""

import csv
import json
import os
import resource
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import torch
from attention import ONE_THREAD, RESULTS, _machine
from torch.nn import functional
from torch.nn.utils import clip_grad_norm_

from tformer import fast
from tformer.models.sizes import initialise
from tformer.parameters import tree_map
from tformer.training import train
from tformer_book.storyteller import training
from tformer_book.storyteller.stored import tokens

STEPS, FIRST = 30, 5
"""Steps of each variant; the first of them do not count."""
WIDTHS, TOKENS = ("4", "8", "16", "32"), ("65536",)
"""The small sweep, dealt out among the processes by its cost."""


def bare(batch: Any) -> Iterator[float]:
    """The loop's own step without the loop: batch, loss, gradients, clipping, AdamW."""
    module, recipe = _module(), training.RECIPE
    optimiser = torch.optim.AdamW(module.parameters(), recipe.rate, recipe.betas)
    for step in range(1, STEPS + 1):
        given, wanted = map(torch.from_numpy, batch(step))
        loss = functional.cross_entropy(module(given).flatten(0, 1), wanted.flatten())
        loss.backward()
        clip_grad_norm_(module.parameters(), 1.0)
        optimiser.step()
        optimiser.zero_grad()
        yield loss.item()


def looped(batch: Any, folder: Path | None = None, dropout: float = 0.0, **choices: Any) -> Any:
    """`train`, with what is chosen."""
    recipe = replace(training.RECIPE, warmup=0, steps=STEPS, **choices)
    every = 10 if folder else STEPS
    yield from (one.loss for one in train(_module(dropout), batch, recipe, folder, every))


def _module(dropout: float = 0.0) -> fast.Module:
    c, sizes = training.CONFIGURATION, training.sizes(tokens().n_vocab)
    drawn = initialise(sizes, c, np.random.default_rng(training.SEED))
    tensors = tree_map(lambda x: torch.from_numpy(x.astype(np.float32)), drawn)
    return fast.Module(fast.decoder, tensors, configuration=replace(c, dropout=dropout))


def loop() -> dict[str, Any]:
    """Steps of all variants in turns, by the seconds of a core."""
    batch = training.batches(tokens())
    drawn = {step: batch(step) for step in range(1, STEPS + 1)}
    with tempfile.TemporaryDirectory() as folder:
        variants = {
            "bare step": bare(drawn.get),
            "the same again": bare(drawn.get),
            "train": looped(drawn.get),
            "train, batches drawn": looped(batch),
            "a checkpoint every 10": looped(drawn.get, Path(folder)),
            "dropout": looped(drawn.get, dropout=0.1),
            "recompute": looped(drawn.get, recompute=True),
        }
        seconds: dict[str, list[float]] = {name: [] for name in variants}
        for _ in range(STEPS):
            for name, variant in variants.items():
                start = time.process_time()
                next(variant)
                seconds[name].append(time.process_time() - start)
    base = seconds["bare step"][FIRST:]
    return {
        "tokens a step": training.BATCH * training.CONTEXT,
        "milliseconds of the bare step": 1e3 * statistics.median(base),
        "speed": {name: sum(base) / sum(taken[FIRST:]) for name, taken in seconds.items()},
    }


def processes() -> dict[str, Any]:
    """The small sweep by one process and by two: seconds that passed, and that cores worked."""
    found: dict[str, Any] = {}
    tables = []
    with tempfile.TemporaryDirectory() as folder:
        for n in (1, 2):
            command = [sys.executable, "-m", "torch.distributed.run", "--standalone"]
            command += [f"--nproc-per-node={n}", "-m", "tformer_book.experiments.scaling"]
            command += [f"{folder}/{n}", "--widths", *WIDTHS, "--tokens", *TOKENS]
            start, worked = time.perf_counter(), _worked()
            subprocess.run(command, check=True, capture_output=True)
            passed = time.perf_counter() - start
            found[str(n)] = {"passed": passed, "worked": _worked() - worked}
            lines = Path(folder, str(n), "runs.csv").read_text("utf-8").splitlines()
            rows = csv.DictReader(lines[1:])
            tables.append([{k: v for k, v in row.items() if k != "seconds"} for row in rows])
    if tables[0] != tables[1]:
        raise ValueError("two processes give other results than one")
    return {"runs": len(tables[0]), "load": os.getloadavg()[0], "seconds": found}


def _worked() -> float:
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def table(found: dict[str, Any]) -> str:
    """The tables for people, as Markdown."""
    about = found["machine"]
    packages = ", ".join(f"{name} {number}" for name, number in about["packages"].items())
    parts = [
        "# Trainings, measured\n",
        "Written by `python benchmarks/training.py`, as are [the numbers in full](results).\n",
        f"{about['processor']}, two cores that others used as well; one thread a process; "
        f"Python {about['python']}, {packages}.\n",
    ]
    if one := found.get("loop"):
        rate = one["tokens a step"] / one["milliseconds of the bare step"]
        names = one["speed"]
        parts += [
            f"The storyteller, {one['tokens a step']:,} tokens a step in float32. The bare step",
            f"is written out with PyTorch's parts: {rate:.1f} thousand tokens for each second",
            "that a core works. The others, as shares of that speed:\n",
            f"| {' | '.join(names)} |",
            "|" + "--:|" * len(names),
            f"| {' | '.join(f'{x:.2f}' for x in names.values())} |\n",
        ]
    if two := found.get("processes"):
        parts += [
            f"{two['runs']} small runs of the sweep by `torchrun`, starting and importing too. The",
            "tables of results are equal, but for their seconds. At the end "
            f"{two['load']:.1f} programs wanted to",
            "run on the two cores, so what passed is more than what idle ones would need.\n",
            "| processes | seconds passed | seconds that cores worked |",
            "|--:|--:|--:|",
        ]
        for n, each in two["seconds"].items():
            parts += [f"| {n} | {each['passed']:.0f} | {each['worked']:.0f} |"]
    return "\n".join(parts) + "\n"


def main(chosen: list[str]) -> None:
    """Measure what is chosen, or all, and write the table."""
    torch.set_num_threads(1)
    path = RESULTS / "training-cpu.json"
    found = json.loads(path.read_text("utf-8")) if path.exists() else {}
    if chosen != ["table"]:
        found["machine"] = _machine("cpu")
    for name, measure in (("loop", loop), ("processes", processes)):
        if not chosen or name in chosen:
            found[name] = measure()
    path.write_text(json.dumps(found, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")
    (RESULTS.parent / "training.md").write_text(table(found), encoding="utf-8")


if __name__ == "__main__":
    if os.environ.get("OPENBLAS_NUM_THREADS") != "1":
        os.execve(sys.executable, [sys.executable, *sys.argv], os.environ | ONE_THREAD)
    main(sys.argv[1:])
