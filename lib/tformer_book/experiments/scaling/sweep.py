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
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, dataclass, fields, replace
from functools import lru_cache
from pathlib import Path
from typing import NamedTuple

import numpy as np
import torch

from tformer import fast
from tformer.configuration import Configuration
from tformer.models.objectives import next_tokens
from tformer.models.sizes import Sizes, count_flops, count_parameters, initialise
from tformer.parameters import tree_map
from tformer.training import Recipe, train
from tformer_book.experiments.scaling.source import Source

__all__ = [
    "SWEEPS",
    "TOKENS",
    "WIDTHS",
    "Plan",
    "QuickPlan",
    "Result",
    "Sweep",
    "grid",
    "made",
    "share",
    "sweep",
]

CONFIGURATION = Configuration(norm="rms", activation="gelu_tanh", positions="none")
"""What all models have in common. The source asks for no positions."""
LENGTH = 32
"""Tokens that are read in each text."""
WIDTHS, TOKENS = (4, 8, 16, 32, 64, 96), (2**16, 2**18, 2**20, 2**22)
"""The 24 runs of the chapter."""
QUICK_WIDTHS, QUICK_TOKENS = (12, 16, 20, 24, 32, 48), (2**15, 2**17, 2**19, 2**21)
"""The 24 runs of the quick sweep."""
DRAWN = 256
"""About so many texts are drawn at once, which takes less time than one by one."""
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
    def recipe(self) -> Recipe:
        """A rate of .35 / d, a tenth of the steps to warm up, a cosine down to 0."""
        return Recipe(self.steps, 0.35 / self.width, self.steps // 10, last=0.0, decay=0.0)

    @property
    def n(self) -> int:
        """Parameters without the two tables of tokens, and without norms: 12 L d²."""
        return 12 * self.layers * self.width**2

    @property
    def flops(self) -> int:
        """What training multiplies and adds, in three passes."""
        return 3 * count_flops(self.sizes, LENGTH, self.tokens // LENGTH)

    @property
    def cost(self) -> float:
        """About what it takes, in FLOPs of products: a step and a token have a price of their own.

        A core of two machines that were timed makes so many products in the time that a step of
        the smallest model takes, or that a token does, beyond its products.
        """
        return self.flops + 1.2e8 * self.steps + 2.4e5 * self.tokens

    @property
    def name(self) -> str:
        """For files."""
        return f"w{self.width}-l{self.layers}-t{self.tokens}-s{self.seed}"


class QuickPlan(Plan):
    """A run of the quick sweep: 512 steps, so that more tokens make larger steps.

    On a small model a step costs the same whatever it reads, so steps are what a minute and a half
    can pay. Few steps of few texts want a longer warm-up, a longer memory of AdamW's second moment,
    and its fused form.
    """

    @property
    def batch(self) -> int:
        """Texts of a step."""
        return max(1, self.tokens // (512 * LENGTH))

    @property
    def recipe(self) -> Recipe:
        """A rate of .35 / d, a quarter of the steps to warm up, a cosine down to 0."""
        return replace(super().recipe, warmup=self.steps // 4, betas=(0.9, 0.99), fused=True)

    @property
    def name(self) -> str:
        """For files."""
        return f"quick-{super().name}"


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


def grid(widths: Sequence[int], tokens: Sequence[int], kind: type[Plan] = Plan) -> list[Plan]:
    """A run for each width and each number of tokens."""
    return [kind(width, some) for width in widths for some in tokens]


class Sweep(NamedTuple):
    """Runs to fit a law to, and a larger one that the law is asked for before it is made."""

    plans: list[Plan]
    held_out: Plan


SWEEPS = {
    "quick": Sweep(grid(QUICK_WIDTHS, QUICK_TOKENS, QuickPlan), QuickPlan(64, 2**21)),
    "long": Sweep(grid(WIDTHS, TOKENS), Plan(128, 2**22)),
}
"""By name. The long one is the chapter's."""


def made(source: Source, plan: Plan, folder: Path, device: str = "cpu") -> Result:
    """Train one model, or go on with it, and measure how far it is from the source."""
    rng = np.random.default_rng([plan.seed, plan.width])
    first = initialise(plan.sizes, CONFIGURATION, rng, std=0.5 / np.sqrt(plan.width))
    tensors = tree_map(lambda x: torch.from_numpy(x.astype(np.float32)).to(device), first)
    module = fast.Module(fast.decoder, tensors, configuration=CONFIGURATION)
    start = time.perf_counter()
    for _ in train(module, _batches(source, plan), plan.recipe, folder, every=250):
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


def _batches(source: Source, plan: Plan) -> Callable[[int], tuple[np.ndarray, ...]]:
    """The texts of each step, which hang on seed and step alone; those of a few drawn at once."""
    ahead = max(1, DRAWN // plan.batch)

    @lru_cache(maxsize=1)
    def some(first: int) -> np.ndarray:
        draws = [
            np.random.default_rng([plan.seed, step]).random((LENGTH + 1, plan.batch))
            for step in range(first, first + ahead)
        ]
        return source.texts(np.concatenate(draws, axis=1)).reshape(ahead, plan.batch, -1)

    def batch(step: int) -> tuple[np.ndarray, ...]:
        return next_tokens(some(step - step % ahead)[step % ahead])

    return batch


def share(plans: Sequence[Plan], rank: int, size: int) -> list[Plan]:
    """What one of several processes does: the dearest first, each to whoever has least to do."""
    shares: list[list[Plan]] = [[] for _ in range(size)]
    loads = [0.0] * size
    for plan in sorted(plans, key=lambda plan: (-plan.cost, plan.name)):
        least = loads.index(min(loads))
        shares[least].append(plan)
        loads[least] += plan.cost
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
    text.write(f"# python -m tformer_book.experiments.scaling: {about}\n")
    writer = csv.DictWriter(text, [one.name for one in fields(Result)], lineterminator="\n")
    writer.writeheader()
    writer.writerows(results)
    return text.getvalue()


def _write(path: Path, text: str) -> None:
    """Whole or not at all, whoever else writes the same."""
    part = path.with_name(f"{path.name}.{os.getpid()}.part")
    part.write_text(text, encoding="utf-8")
    part.replace(path)
