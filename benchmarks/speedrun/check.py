"""Check an entry of the speed-run: python benchmarks/speedrun/check.py ENTRY.py [--record]

README.md in this folder has the rules. Each seed is trained in a process of its own, by one thread.
Its processor time is put beside that of the reference, of which some steps are timed before and
after. The losses are measured here, by the library, from the parameters alone.
"""

import argparse
import ast
import datetime
import importlib.util
import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Callable, Sequence
from functools import cache
from pathlib import Path
from typing import Any, NoReturn

import numpy as np
import torch

HERE = Path(__file__).parent
sys.path[:0] = [str(HERE), str(HERE.parent)]

import machine  # noqa: E402
from parts import Plan, batches  # noqa: E402

import tformer_book.storyteller as package  # noqa: E402
from tformer import fast  # noqa: E402
from tformer.models.files import load, save  # noqa: E402
from tformer.models.sizes import initialise  # noqa: E402
from tformer.parameters import ModelParameters, leaves, named_leaves, tree_map  # noqa: E402
from tformer.training import train  # noqa: E402
from tformer_book.chapters.ch14 import speedrun  # noqa: E402
from tformer_book.storyteller import stored as teller  # noqa: E402
from tformer_book.storyteller import tales, training  # noqa: E402
from tformer_book.world.stories import Stories  # noqa: E402

SEEDS, STEPS = (1, 2, 3), 40
ALIKE = 0.5
"""Trainings from two seeds are nearly at a right angle; of two copies the cosine is 1."""
GUESSES, ROWS = 0.25, 0.05
"""Nats more than the stored weights: for words that no reader knows; and for rows of 128 tokens,
and for the patient of pairs of nouns that were not read.

The stored weights know by heart which pairs of nouns never come, worth 0.18 nats at the second one.
"""


class RefusedError(Exception):
    """What a rule of the speed-run says against an entry."""


def refuse(what: str, expected: object, got: object, fix: str) -> NoReturn:
    """Refuse an entry."""
    raise RefusedError(f"refused: {what}\n  expected: {expected}\n  got: {got}\n  fix: {fix}")


def checked(
    entry: Path,
    seeds: Sequence[int] = SEEDS,
    n_steps: int = STEPS,
    limits: dict[str, float] = speedrun.LIMITS,
    near: tuple[float, float] = (GUESSES, ROWS),
) -> dict[str, Any]:
    """Train an entry from some seeds and measure it.

    Parameters
    ----------
    entry : path
        A Python file: the first line of its docstring says what is new, and `train(seed)` returns
        the `ModelParameters`.
    seeds : sequence of int
        Above 0: the stored weights were trained from seed 0.
    n_steps : int
        How many steps of the reference are timed before and after each training.
    limits : dict
        The losses that must be reached.
    near : pair of floats
        As `GUESSES` and `ROWS`.

    Returns
    -------
    dict
        The record. "missed" lists the losses that are too large.

    Raises
    ------
    RefusedError
        If the entry breaks a rule.
    """
    if not seeds or min(seeds) < 1 or len({*seeds}) < len(seeds):
        refuse("the seeds", "whole numbers above 0, each once", seeds, "leave --seeds out")
    trained, runs, missed = [teller.load().parameters], [], []
    with tempfile.TemporaryDirectory() as folder:
        for seed in seeds:
            path = Path(folder) / f"{seed}.safetensors"
            before = reference_seconds(seed, n_steps)
            used = in_own_process(entry, seed, path)
            after = reference_seconds(seed, n_steps)
            trained.append(load(path)[0])
            require_own(trained)
            found = losses(trained[-1])
            missed += [f"seed {seed}: {one}" for one in above(found, limits, near)]
            times = {"seconds": used, "reference": (before + after) / 2}
            runs.append({"seed": seed} | {k: float(f"{x:.4g}") for k, x in (times | found).items()})
    return {
        "name": entry.stem,
        "new": told(entry),
        "date": datetime.date.today().isoformat(),
        "machine": machine.describe(("numpy", "torch")),
        "missed": missed,
        "runs": runs,
    }


def told(entry: Path) -> str:
    """The first line of its docstring."""
    return (ast.get_docstring(ast.parse(entry.read_text(encoding="utf-8"))) or "").split("\n")[0]


def seconds() -> float:
    """The processor time of this process, and of those that it started and waited for."""
    used = os.times()
    return used.user + used.system + used.children_user + used.children_system


def reference_seconds(seed: int, n_steps: int) -> float:
    """The processor time of the reference's training, from that of some of its steps."""
    torch.set_num_threads(1)
    module = training.untrained(teller.tokens(), seed=seed)
    steps = train(module, batches(Plan(), seed), training.RECIPE)
    next(steps)  # the first one sets things up
    start = seconds()
    for _ in range(n_steps):
        next(steps)
    return (seconds() - start) / n_steps * training.RECIPE.steps


def in_own_process(entry: Path, seed: int, path: Path) -> float:
    """Let a new process train; its parameters are in the file then. Its processor time."""
    command = [sys.executable, __file__, str(entry), "--seeds", str(seed), "--into", str(path)]
    environment = {**os.environ, "OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"}
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    if done.returncode:
        said = done.stderr.strip()
        if said.startswith("refused: "):
            raise RefusedError(said)
        refuse("the entry stopped", "a training to its end", said[-1000:], "see the last line")
    return float(path.with_suffix(".seconds").read_text(encoding="utf-8"))


def train_here(entry: Path, seed: int, path: Path) -> None:
    """Train an entry in this process, and write its parameters and its processor time."""
    torch.set_num_threads(1)
    close()
    start = seconds()
    spec = importlib.util.spec_from_file_location("entry", entry)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    found = module.train(seed)
    used = seconds() - start
    require_storyteller(found)
    save(path, tree_map(_array, found), training.CONFIGURATION)
    path.with_suffix(".seconds").write_text(str(used), encoding="utf-8")


def close() -> None:
    """Take the stored weights and the held-out tales away from this process."""
    split = Stories.split

    def parted(self: Stories, share: int = 6, seed: int = 0) -> Any:
        return split(self, share, seed)[0], Closed("the held-out tales")

    Stories.split = parted  # type: ignore[method-assign, assignment]
    tales.parted.cache_clear()
    package.load = teller.load = Closed("the stored weights")  # type: ignore[assignment]


class Closed:
    """Stands in the place of what an entry may not use."""

    def __init__(self, what: str) -> None:
        self._what = what

    def _refuse(self, *_: Any) -> NoReturn:
        fix = "train from nothing, on the tales of parted()[0]"
        refuse("the entry asks for what it may not use", "no use of it", self._what, fix)

    __call__ = __getattr__ = __iter__ = __len__ = __getitem__ = _refuse


def require_storyteller(found: Any) -> None:
    """Refuse another type, another size, and numbers that are not finite."""
    if not isinstance(found, ModelParameters):
        fix = "return the parameters alone; the losses are measured by the check"
        refuse("what train returns", "ModelParameters", type(found).__name__, fix)
    sizes = training.sizes(teller.tokens().n_vocab)
    first = initialise(sizes, training.CONFIGURATION, np.random.default_rng(0))
    expected = {name: tuple(x.shape) for name, x in named_leaves(first)}
    got = {name: tuple(x.shape) for name, x in named_leaves(found)}
    for name in expected | got:
        if expected.get(name) != got.get(name):
            fix = "train the storyteller's own architecture"
            refuse(f"the shape of {name}", expected.get(name), got.get(name), fix)
    if not all(np.isfinite(_array(x)).all() for x in leaves(found)):
        refuse("the parameters", "finite numbers", "inf or NaN", "lower the rate, or clip")


def require_own(trained: list[ModelParameters]) -> None:
    """Refuse the last parameters if they are those of a training before: stored, or of a seed."""
    *others, last = (np.concatenate([_array(x).ravel() for x in _matrices(p)]) for p in trained)
    for other in others:
        cosine = float(other @ last / np.linalg.norm(other) / np.linalg.norm(last))
        if cosine > ALIKE:
            what = "the parameters are nearly the stored ones, or those of another seed"
            fix = "train from first parameters that the seed draws"
            refuse(what, f"a cosine below {ALIKE}", f"{cosine:.3f}", fix)


def losses(parameters: ModelParameters) -> dict[str, float]:
    """The losses of parameters, in nats, as the storyteller's own training measures them.

    Returns
    -------
    dict
        Of each kind of word; of those of `training.UNREAD` for pairs of nouns that were not read
        as well; and the mean of all words in rows of 128 tokens.
    """
    bpe, worlds = teller.tokens(), tales.parted()
    tensors = tree_map(lambda x: torch.from_numpy(_array(x)), parameters)
    module = fast.Module(fast.decoder, tensors, configuration=training.CONFIGURATION)
    read, unread = (training.losses(module, training.asked(bpe, world)) for world in worlds)
    rows = tales.Tales(bpe, worlds[0]).rows(np.random.default_rng(5), 32, training.CONTEXT + 1)
    with torch.no_grad():
        logits = module(torch.from_numpy(rows[:, :-1])).flatten(0, 1)
        nats = torch.nn.functional.cross_entropy(logits, torch.from_numpy(rows[:, 1:]).flatten())
    pairs = {f"{kind}, unread": unread[kind] for kind in training.UNREAD}
    return read | pairs | {"rows of 128": nats.item()}


@cache
def today() -> dict[str, float]:
    """Those of the stored weights."""
    return losses(teller.load().parameters)


def above(
    found: dict[str, float], limits: dict[str, float], near: tuple[float, float]
) -> list[str]:
    """The losses that are too large: what was expected, and what was got."""
    most = {kind: today()[kind] + near[0] for kind in tales.KINDS}
    most |= {kind: today()[kind] + near[1] for kind in ("patient, unread", "rows of 128")} | limits
    return [
        f"{kind}: expected below {limit:.4g}; got {found[kind]:.4g}"
        for kind, limit in most.items()
        if not found[kind] < limit
    ]


def _matrices(parameters: ModelParameters) -> list[Any]:
    return [x for x in leaves(parameters) if x.ndim > 1]


def _array(x: Any) -> np.ndarray:
    return np.asarray(x.detach() if hasattr(x, "detach") else x, dtype=np.float32)


def main(words: Sequence[str] | None = None, say: Callable[[str], Any] = print) -> int:
    """Do what the command line asks; the exit status."""
    asked = argparse.ArgumentParser(description=__doc__)
    asked.add_argument("entry", type=Path)
    asked.add_argument("--seeds", type=int, nargs="+", default=SEEDS)
    asked.add_argument("--record", action="store_true", help="add what is measured to the table")
    asked.add_argument("--into", type=Path, help=argparse.SUPPRESS)
    given = asked.parse_args(words)
    try:
        if given.into:
            train_here(given.entry, given.seeds[0], given.into)
            return 0
        record = checked(given.entry, given.seeds)
    except RefusedError as error:
        sys.stderr.write(f"{error}\n")
        return 1
    say(speedrun.table([record]))
    for one in record["missed"]:
        say(f"refused: {one}; fix: train longer, or better")
    if not record["missed"]:
        say("accepted")
    if given.record:
        records = speedrun.joined(speedrun.stored(), record)
        speedrun.FILE.write_text(json.dumps(records, indent=1) + "\n", encoding="utf-8")
    return 1 if record["missed"] else 0


if __name__ == "__main__":
    sys.exit(main())
