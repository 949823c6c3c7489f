"""Runs of many sizes on a known source, on one process or several, killed and gone on with.

Each run is a file, so what is done stays done. Processes that `torchrun` starts share the runs out
among them; none has to wait for another, and whichever ends last writes the table.
"""

import csv
import io
import json
import os
import platform
import shutil
import time
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass, fields
from pathlib import Path

import numpy as np
import torch

from tformer import fast
from tformer.configuration import Configuration
from tformer.experiments.scaling.source import Source
from tformer.models.objectives import next_tokens
from tformer.models.sizes import Sizes, count_flops, count_parameters, initialise
from tformer.parameters import tree_map
from tformer.training import Recipe, train

__all__ = ["TOKENS", "WIDTHS", "Plan", "Result", "grid", "made", "share", "sweep"]

CONFIGURATION = Configuration(norm="rms", activation="gelu_tanh", positions="none")
"""What all models have in common. The source asks for no positions."""
LENGTH = 32
"""Tokens that are read in each text."""
WIDTHS, TOKENS = (4, 8, 16, 32, 64, 96), (2**16, 2**18, 2**20, 2**22)
"""The 24 runs of the chapter."""
EXAMINED = 128
"""So many texts of the source measure the excess; the same for all runs."""


@dataclass(frozen=True)
class Plan:
    """One run.

    Parameters
    ----------
    width : int
        d_model; the hidden layers are four times as wide.
    tokens : int
        How many are read, each once.
    seed : int
        Of the first parameters and of the texts.
    layers : int
    """

    width: int
    tokens: int
    seed: int = 0
    layers: int = 2

    @property
    def sizes(self) -> Sizes:
        """The model's, for 256 tokens."""
        heads = max(1, self.width // 16)
        return Sizes(256, self.width, self.layers, heads, 4 * self.width, biased=False, tied=False)

    @property
    def batch(self) -> int:
        """Texts of a step: 8 of them for 2^16 tokens, and as the root of the tokens from there.

        So four times as many tokens make twice as many steps.
        """
        return max(1, round(8 * (self.tokens / 2**16) ** 0.5))

    @property
    def steps(self) -> int:
        """How many, each with texts of its own."""
        return self.tokens // (self.batch * LENGTH)

    @property
    def n(self) -> int:
        """Parameters without the two tables of tokens, and without norms: 12 L d²."""
        return 12 * self.layers * self.width**2

    @property
    def flops(self) -> int:
        """What training multiplies and adds, in three passes."""
        return 3 * count_flops(self.sizes, LENGTH, self.tokens // LENGTH)

    @property
    def name(self) -> str:
        """For files."""
        return f"w{self.width}-l{self.layers}-t{self.tokens}-s{self.seed}"


@dataclass(frozen=True)
class Result:
    """What a run gave.

    Attributes
    ----------
    width, layers, tokens, seed : int
        The plan.
    n, n_all : int
        Parameters of the blocks' matrices, and all.
    flops : int
    excess, error : float
        Mean KL to the source over the contexts examined, in nats, and its standard error.
    seconds : float
    device, torch : str
        Where, and by which version of PyTorch.
    """

    width: int
    layers: int
    tokens: int
    seed: int
    n: int
    n_all: int
    flops: int
    excess: float
    error: float
    seconds: float
    device: str
    torch: str


def grid(widths: Sequence[int], tokens: Sequence[int]) -> list[Plan]:
    """A run for each width and each number of tokens."""
    return [Plan(width, some) for width in widths for some in tokens]


def made(source: Source, plan: Plan, folder: Path, device: str = "cpu") -> Result:
    """Train one model, or go on with it, and measure how far it is from the source."""
    rng = np.random.default_rng([plan.seed, plan.width])
    first = initialise(plan.sizes, CONFIGURATION, rng, std=0.5 / np.sqrt(plan.width))
    tensors = tree_map(lambda x: torch.from_numpy(x.astype(np.float32)).to(device), first)
    module = fast.Module(fast.decoder, tensors, configuration=CONFIGURATION)
    recipe = Recipe(plan.steps, 0.35 / plan.width, plan.steps // 10, last=0.0, decay=0.0)

    def batch(step: int) -> tuple[np.ndarray, ...]:
        return next_tokens(
            source.draw(np.random.default_rng([plan.seed, step]), plan.batch, LENGTH + 1)
        )

    start = time.perf_counter()
    for _ in train(module, batch, recipe, folder, every=1000):
        pass
    seconds = time.perf_counter() - start
    texts = source.draw(np.random.default_rng([2**31]), EXAMINED, LENGTH)
    with torch.no_grad():
        logits = module(torch.from_numpy(texts).to(device))
    log_q = logits.double().log_softmax(-1).cpu().numpy()
    each = source.excess(texts, log_q).mean(axis=1)
    return Result(
        **asdict(plan),
        n=plan.n,
        n_all=count_parameters(plan.sizes, CONFIGURATION),
        flops=plan.flops,
        excess=float(each.mean()),
        error=float(each.std(ddof=1) / np.sqrt(len(each))),
        seconds=round(seconds, 2),
        device=torch.cuda.get_device_name() if device == "cuda" else platform.machine(),
        torch=torch.__version__,
    )


def share(plans: Sequence[Plan], rank: int, size: int) -> list[Plan]:
    """What one of several processes does: the dearest first, each to whoever has least to do."""
    shares: list[list[Plan]] = [[] for _ in range(size)]
    loads = [0] * size
    for plan in sorted(plans, key=lambda plan: (-plan.flops, plan.name)):
        least = loads.index(min(loads))
        shares[least].append(plan)
        loads[least] += plan.flops
    return shares[rank]


def sweep(
    source: Source, plans: Sequence[Plan], folder: Path, device: str = "cpu"
) -> Iterator[Result]:
    """Make this process's share of the runs that are not there yet; each comes as it is done.

    When all are there `runs.csv` is written, with a line that says how they were made.
    """
    folder.mkdir(parents=True, exist_ok=True)
    rank, size = (int(os.environ.get(name, d)) for name, d in (("RANK", "0"), ("WORLD_SIZE", "1")))
    for plan in share(plans, rank, size):
        file = folder / f"{plan.name}.json"
        if not file.exists():
            result = made(source, plan, folder / plan.name, device)
            _write(file, json.dumps(asdict(result)) + "\n")
            shutil.rmtree(folder / plan.name)
            yield result
    files = [folder / f"{plan.name}.json" for plan in plans]
    if all(file.exists() for file in files):
        _write(folder / "runs.csv", _table([json.loads(file.read_text("utf-8")) for file in files]))


def _table(results: list[dict[str, object]]) -> str:
    text = io.StringIO()
    about = "excess over the entropy of an order-1 source, in nats; settings in the same module"
    text.write(f"# python -m tformer.experiments.scaling: {about}\n")
    writer = csv.DictWriter(text, [one.name for one in fields(Result)], lineterminator="\n")
    writer.writeheader()
    writer.writerows(results)
    return text.getvalue()


def _write(path: Path, text: str) -> None:
    """Whole or not at all, whoever else writes the same."""
    part = path.with_name(f"{path.name}.{os.getpid()}.part")
    part.write_text(text, encoding="utf-8")
    part.replace(path)
