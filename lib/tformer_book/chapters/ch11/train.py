"""Training on the three tasks, in PyTorch: what `tasks.stored` holds is made here."""

from __future__ import annotations

import json
import math
from typing import Any

import numpy as np
import torch
from torch import Tensor

from tformer import fast
from tformer.models.sizes import initialise
from tformer.parameters import EncoderDecoderParameters, leaves, tree_map
from tformer_book.chapters.ch11.tasks import (
    ALL,
    CONFIGURATION,
    FILE,
    RUNS,
    SEEDS,
    STORIES,
    THEY,
    WORDS,
    Examples,
    examples,
    numbers,
    sizes,
)
from tformer_book.experiments.threads import one_thread
from tformer_book.experiments.training import Adam, training
from tformer_book.world.stories import CURES, Stories

__all__ = ["chances", "copied", "measured", "scores", "trained", "tried", "written"]

STEPS = {"refer": 250, "remedy": 400, "german": 400}
BATCH, RATE = 64, 0.005


def scores(form: str, p: Any, source: Tensor, words: Tensor, n_prefix: int = 0) -> Tensor:
    """Scores of all words at every place of `words`, by an architecture of that form."""
    if form == "pair":
        return fast.encoder_decoder(source, words, p, CONFIGURATION)
    if form == "decoder":
        return fast.decoder(words, p, CONFIGURATION)
    if form == "blank":
        return _at_the_end(p, words, n_prefix)
    n = words.shape[-1]
    mask = fast.prefix_mask(n, n, n_prefix) if form == "prefix" else None
    return fast.unembed(fast.encoder(words, p, CONFIGURATION, mask), p)


def _at_the_end(p: Any, words: Tensor, n_prefix: int) -> Tensor:
    """Scores at a blank after the words up to each place, by a pass for each; 0 in the prefix."""
    blank, rows = torch.full_like(words[:, :1], len(WORDS)), []
    for t in range(n_prefix, words.shape[1] + 1):
        asked = fast.encoder(torch.cat([words[:, :t], blank], 1), p, CONFIGURATION)[:, -1]
        rows.append(fast.unembed(asked, p)[:, :-1])
    return torch.stack([torch.zeros_like(rows[0])] * (n_prefix - 1) + rows, 1)


def _start(form: str, seed: int) -> tuple[Any, Tensor]:
    """Parameters to start from, in float32, as parts of one row of numbers; and that row."""
    rng = np.random.default_rng(seed)
    drawn = [initialise(one, CONFIGURATION, rng, std=0.1) for one in sizes(form)]
    p: Any = EncoderDecoderParameters(*drawn) if form == "pair" else drawn[0]
    row = torch.cat([torch.tensor(x, dtype=torch.float32).ravel() for x in leaves(p)])
    parts = iter(row.split([x.size for x in leaves(p)]))
    return tree_map(lambda x: next(parts).view(x.shape).requires_grad_(), p), row


def trained(task: str, form: str, seed: int = 0, steps: int | None = None) -> Any:
    """Train an architecture on a task, on one thread; its parameters, as tensors in float32."""
    given = examples(task, ALL.split()[0], form == "pair")
    source, words, asked = (torch.from_numpy(x) for x in given[:3])
    steps = STEPS[task] if steps is None else steps
    rng, (p, row) = np.random.default_rng(seed), _start(form, seed)

    def gradients() -> Tensor:
        some = torch.from_numpy(rng.integers(0, len(words), BATCH))
        z, right = scores(form, p, source[some], words[some], given.n_prefix), asked[some]
        loss = fast.cross_entropy(z[right >= 0], right[right >= 0]).mean()
        found = torch.autograd.grad(loss, leaves(p), allow_unused=True, materialize_grads=True)
        return torch.cat([x.ravel() for x in found])

    def rate(step: int) -> float:
        return RATE * min(step / 20, 1) * (1 + math.cos(math.pi * step / steps)) / 2

    with one_thread():
        for _ in training(Adam(row, betas=(0.9, 0.98)), gradients, steps, rate):
            pass
    return tree_map(Tensor.detach, p)


def written(form: str, p: Any, given: Examples) -> np.ndarray:
    """The words that an architecture writes where words are asked for, each the likeliest.

    Every word is found by a pass over all words before it, and only the last row of it is read.

    Returns
    -------
    (n, T) boolean array
        Whether the word at each place is the right one; True where none is asked for.
    """
    source, words, asked = (torch.from_numpy(x) for x in given[:3])
    first = int((asked[0] >= 0).int().argmax())
    so_far, right = words[:, : first + 1], asked.clone()
    for t in range(first, words.shape[1]):
        found = scores(form, p, source, so_far, given.n_prefix)[:, -1].argmax(-1)
        right[:, t] = torch.where(asked[:, t] >= 0, found, -1)
        so_far = torch.cat([so_far, found[:, None]], dim=1)
    return (right == asked).numpy()


def tried(task: str, form: str, p: Any) -> dict[str, Any]:
    """How an architecture does on stories with pairs of nouns that it has not seen.

    Returns
    -------
    dict
        "given": share of right words at each place, where the words before are the right ones.
        "wrote": share of stories that it writes without a mistake; None where it is not to write.
    """
    given = examples(task, ALL.split()[1], form == "pair")
    source, words, asked = (torch.from_numpy(x) for x in given[:3])
    found = scores(form, p, source, words, given.n_prefix).argmax(-1)
    right = ((found == asked) | (asked < 0)).double().mean(0)
    wrote = None if task == "refer" else float(written(form, p, given).all(axis=1).mean())
    return {"given": right[asked[0] >= 0].numpy().round(4).tolist(), "wrote": wrote}


def chances(task: str, form: str, p: Any, story: str) -> np.ndarray:
    """The chances (T, N) of all words, at each place of a story, by a trained architecture."""
    given = examples(task, Stories((story,), np.ones(1), ALL.words), form == "pair")
    source, words = (torch.from_numpy(x) for x in given[:2])
    z = scores(form, p, source, words, given.n_prefix)
    return np.asarray(torch.softmax(z[0].double(), -1))


def copied(p: Any) -> float:
    """How often an encoder says, of a cure, what stands on the right of "they": a wrong cure.

    Every story of which the nouns are new, with every cure that is not its own.
    """
    words = torch.from_numpy(examples("remedy", ALL.split()[1]).words)
    cures = numbers([cure for troubles in CURES.values() for cure in troubles.values()])
    said: list[Tensor] = []
    for cure in set(cures):
        shown = words[words[:, THEY + 1] != cure]
        shown[:, THEY + 1] = cure
        said.append(scores("encoder", p, words[:, :0], shown)[:, THEY].argmax(-1) == cure)
    return float(torch.cat(said).double().mean())


def measured(task: str, form: str, seed: int) -> dict[str, Any]:
    """What `tried` gives after training; with seed 0, what it says of `STORIES` as well.

    Returns
    -------
    dict
        That of `tried`, and "said": for each story, place by place, three words with their chances.
        Of an encoder that was trained on next words "copied" as well.
    """
    p = trained(task, form, seed)
    found = tried(task, form, p)
    if (task, form) == ("remedy", "encoder"):
        found["copied"] = round(copied(p), 4)
    if seed == 0 and form != "blank":
        found["said"] = [_likeliest(chances(task, form, p, story)) for story in STORIES]
    return found


def _likeliest(p: np.ndarray) -> list[list[Any]]:
    rows = [np.argsort(-row, kind="stable")[:3] for row in p]
    return [
        [[WORDS[i], round(float(row[i]), 4)] for i in best]
        for row, best in zip(p, rows, strict=True)
    ]


if __name__ == "__main__":
    made = {
        f"{task} {form}": [measured(task, form, seed) for seed in range(SEEDS)]
        for task, form in RUNS
    }
    FILE.write_text(json.dumps(made, ensure_ascii=False) + "\n", encoding="utf-8")
