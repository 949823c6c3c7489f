"""How the storyteller was trained, and what was measured on the way."""

import csv
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import torch

from tformer import fast
from tformer.configuration import Configuration
from tformer.models.files import save
from tformer.models.objectives import next_tokens
from tformer.models.sizes import Sizes, initialise
from tformer.parameters import tree_map
from tformer.tokens import BPE
from tformer.tokens.train import train_bpe
from tformer.training import Recipe, train
from tformer_book.storyteller.tales import KINDS, NAMES, Tales, an_idle, parted, tale, text_of
from tformer_book.world.stories import Stories

__all__ = [
    "BATCH",
    "CONFIGURATION",
    "CONTEXT",
    "RECIPE",
    "WIDTH",
    "asked",
    "batches",
    "losses",
    "sizes",
    "trained",
    "untrained",
]

CONTEXT, BATCH, N_MERGES, SEED, EVERY = 128, 32, 512, 0, 25
WIDTH = 64
CONFIGURATION = Configuration(norm="rms", activation="silu", positions="rope")
RECIPE = Recipe(steps=3500, rate=3e-3, warmup=100)
UNREAD = ("cure", "patient")
"""What is asked of stories with unread pairs of nouns as well; that pair itself surprises."""
Asked = tuple[np.ndarray, np.ndarray, np.ndarray]


def sizes(n_vocab: int, width: int = WIDTH) -> Sizes:
    """How large it is; in another width with heads of 16, or one, and d_ff in proportion."""
    heads = max(1, width // 16)
    return Sizes(n_vocab, width, 2, heads, 11 * width // 4, biased=False, gated=True, tied=False)


def untrained(bpe: BPE, width: int = WIDTH, seed: int = SEED) -> fast.Module:
    """The decoder with its first parameters."""
    drawn = initialise(sizes(bpe.n_vocab, width), CONFIGURATION, np.random.default_rng(seed))
    parameters = tree_map(lambda x: torch.from_numpy(x.astype(np.float32)), drawn)
    return fast.Module(fast.decoder, parameters, configuration=CONFIGURATION)


def learnt() -> list[str]:
    """The merges, learnt from the stories that it may read."""
    return [str(merge) for merge in train_bpe(text_of(parted()[0]), N_MERGES)]


def batches(bpe: BPE, seed: int = SEED) -> Any:
    """The rows of each step: a function of the step, as `train` asks for."""
    tales = Tales(bpe, parted()[0])

    def batch(step: int) -> tuple[np.ndarray, ...]:
        rng = np.random.default_rng((seed, step))
        return next_tokens(tales.rows(rng, BATCH, CONTEXT + 1))

    return batch


def asked(bpe: BPE, world: Stories, n: int = 256, seed: int = 1) -> Asked:
    """Tales of a world, one a row: what is given, what is wanted, and of which kind it is.

    Parameters
    ----------
    bpe : BPE
    world : Stories
        One of `tales.parted`: of pairs of nouns that are read in training, or of others.
    n : int
        How many, no two of them with one story.
    seed : int
        Which ones.

    Returns
    -------
    given, wanted, kinds : (n, T) integer array
        -1 in `wanted` and `kinds` where a tale has ended; a kind is its place in `KINDS`.
    """
    rng = np.random.default_rng(seed)
    rows, kinds = [], []
    for i in rng.permutation(len(world))[:n]:
        name = rng.integers(len(NAMES))
        told = tale(world.texts[i], NAMES[name], an_idle(rng), an_idle(rng))
        rows.append(bpe.encode("\n" + str(told)))
        kinds.append([KINDS.index(x) for x in told.kinds])
    longest = max(map(len, rows))
    filled = np.array([row + [-1] * (longest - len(row)) for row in rows])
    of = np.array([row + [-1] * (longest - 1 - len(row)) for row in kinds])
    return *next_tokens(filled), of


def losses(module: Any, questions: Asked) -> dict[str, float]:
    """Mean loss of each kind of word, in nats."""
    given, wanted, kinds = (torch.from_numpy(x) for x in questions)
    with torch.no_grad():
        logs = module(given).log_softmax(-1)
    nats = -logs.gather(-1, wanted.clamp(min=0)[..., None])[..., 0]
    return {name: nats[kinds == i].mean().item() for i, name in enumerate(KINDS)}


def trained(folder: Path, bar: bool = True) -> Iterator[dict[str, float]]:
    """Train it, tell what is known of it every so many steps, and write its files at the end.

    Parameters
    ----------
    folder : path
        Where checkpoints, merges, weights and measurements go.

    Yields
    ------
    dict
        The step, the loss of its batch, that of each kind of word, and on pairs of nouns that it
        has not read that of `UNREAD`.
    """
    torch.set_num_threads(1)
    merges = learnt()
    bpe = BPE.from_merges(merges)
    module = untrained(bpe)
    worlds = [asked(bpe, world) for world in parted()]
    found = [{"step": 0, "loss": float("nan"), **_measured(module, worlds)}]
    for made in train(module, batches(bpe), RECIPE, folder / "checkpoint", every=500, bar=bar):
        if made.step % EVERY == 0:
            found.append({"step": made.step, "loss": made.loss, **_measured(module, worlds)})
            yield found[-1]
    halved = tree_map(lambda x: x.detach().numpy().astype(np.float16), module.tree)
    save(folder / "weights.safetensors", halved, CONFIGURATION)
    (folder / "merges.txt").write_text("\n".join(merges) + "\n", "utf-8")
    with (folder / "measured.csv").open("w", encoding="utf-8", newline="") as file:
        table = csv.DictWriter(file, found[0].keys(), lineterminator="\n")
        table.writeheader()
        table.writerows({k: f"{v:.6g}" for k, v in row.items()} for row in found)


def _measured(module: Any, worlds: list[Asked]) -> dict[str, float]:
    read, unread = (losses(module, one) for one in worlds)
    return read | {f"{kind}, unread": unread[kind] for kind in UNREAD}
