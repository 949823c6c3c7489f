"""What the entries of the speed-run are put together from: a plan, and the loop of the library."""

from dataclasses import dataclass
from typing import Any

import numpy as np

from tformer.models.objectives import next_tokens
from tformer.parameters import ModelParameters
from tformer.training import Recipe, train
from tformer_book.storyteller import stored, training
from tformer_book.storyteller.tales import IDLE, IDLE_SHARE, NAMES, Tales, parted

LONG = training.CONTEXT


@dataclass(frozen=True)
class Plan:
    """A training of the storyteller; what is not said is as `make storyteller` has it.

    Parameters
    ----------
    steps, rate : int, float
        Of the recipe.
    guesses : float
        The share of the targets that are kept where no reader can know the next word.
    short : float
        The share of the steps, from the first on, that read rows of 32 tokens in the place of 128.
    rows : pair of int
        Rows in a step with short rows, and in one with long rows.
    fused : bool
        Whether AdamW is PyTorch's fused kernel.
    at_once : bool
        Whether the choices of all tales of a step are drawn by few calls.
    precision : str
        Of matrix products.
    """

    steps: int = training.RECIPE.steps
    rate: float = training.RECIPE.rate
    guesses: float = 1.0
    short: float = 0.0
    rows: tuple[int, int] = (training.BATCH, training.BATCH)
    fused: bool = False
    at_once: bool = False
    precision: str = "float32"


def trained(plan: Plan, seed: int) -> ModelParameters:
    """The storyteller's parameters after a plan, from nothing."""
    bpe = stored.tokens()
    module = training.untrained(bpe, seed=seed)
    recipe = Recipe(
        steps=plan.steps,
        rate=plan.rate,
        warmup=training.RECIPE.warmup,
        fused=plan.fused,
        precision=plan.precision,
    )
    for _ in train(module, batches(plan, seed), recipe):
        pass
    return module.tree


def batches(plan: Plan, seed: int) -> Any:
    """The rows of each step, as `tformer.training.train` asks for them."""
    tales = (AtOnce if plan.at_once else Tales)(stored.tokens(), parted()[0])

    def batch(step: int) -> tuple[np.ndarray, np.ndarray]:
        rng = np.random.default_rng((seed, step))
        is_long = step > plan.short * plan.steps
        rows = tales.rows(rng, plan.rows[is_long], (LONG if is_long else 32) + 1)
        given, wanted = next_tokens(rows)
        dropped = ~settled(given, tales.so[0]) & (rng.random(wanted.shape) >= plan.guesses)
        return given, np.where(dropped, -1, wanted)

    return batch


def settled(given: np.ndarray, so: int) -> np.ndarray:
    """Where the next word follows from what was read: name, cure and patient, after " So"."""
    found = np.zeros(given.shape, bool)
    for later in (0, 1, 3):
        found[:, later:] |= given[:, : given.shape[1] - later] == so
    return found


class AtOnce(Tales):
    """`Tales`, of which all choices of a call are drawn together: the same tales as often."""

    def rows(self, rng: np.random.Generator, n: int, length: int) -> np.ndarray:
        """Rows of tokens, as those of `Tales`."""
        most = n * (length // 20 + 1)  # no tale is shorter than 20 tokens
        names = rng.integers(len(NAMES), size=most)
        stories = rng.choice(len(self.world), size=most, p=self.world.p)
        idle = np.where(
            rng.random((most, 2)) < IDLE_SHARE, rng.integers(1, len(IDLE) + 1, (most, 2)), 0
        )
        sentences = list(self.idle.values())
        drawn = zip(names.tolist(), stories.tolist(), idle.tolist(), strict=True)
        return np.array([self._told(drawn, sentences, length) for _ in range(n)])

    def _told(self, drawn: Any, sentences: list[list[int]], length: int) -> list[int]:
        """A row, filled with the next tales that were drawn."""
        row = list(self.start)
        while len(row) < length:
            name, story, (one, two) = next(drawn)
            (came, again), (trouble, helped) = self.names[name], self.told[story]
            for part in (came, sentences[one], trouble, sentences[two], self.so, again, helped):
                row += part
        return row[:length]
