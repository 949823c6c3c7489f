"""Life without a mask: a head that may look anywhere learns which cells it needs.

The scores of the head are a bias for each offset on a torus of 8 × 8 cells, 64 numbers, all 0
before training. `python -m tformer_book.chapters.ch21.life_learnt` trains three models.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from tformer import reference
from tformer.configuration import Configuration
from tformer.parameters import FeedForwardParameters, HeadParameters
from tformer_book.chapters.ch21.grids import life_step
from tformer_book.chapters.ch21.stack import tensors, train

if TYPE_CHECKING:  # a page that shows what is stored need not wait for it
    import torch

Array = np.ndarray
FILE = Path(__file__).with_name("life_learnt.json")
SIDE, WIDER, WIDTH, HIDDEN = 8, 16, 16, 32
STEPS, BATCH, RATE, SEEDS = 800, 32, 0.02, 3
CONFIGURATION = Configuration(activation="relu", positions="none")


def offsets() -> Array:
    """Which of the 64 offsets leads from cell t to cell s, row by row; 0 is t itself: (64, 64)."""
    row, column = np.divmod(np.arange(SIDE * SIDE), SIDE)
    down, right = (row - row[:, None]) % SIDE, (column - column[:, None]) % SIDE
    return np.asarray(down * SIDE + right)


def carried(bias: Array, side: int, beyond: float) -> Array:
    """The bias of each pair of cells on a larger board: (side², side²).

    The 64 offsets, from four rows up to three rows down, keep theirs (64,). All others get
    `beyond`; -inf hides them.
    """
    row, column = np.divmod(np.arange(side * side), side)
    half = side // 2
    down, right = ((to - to[:, None] + half) % side - half for to in (row, column))
    known = (abs(2 * down + 1) < SIDE) & (abs(2 * right + 1) < SIDE)
    return np.where(known, bias[down % SIDE * SIDE + right % SIDE], beyond)


def begin(seed: int) -> dict[str, Any]:
    """Initial parameters: two embeddings, a head whose scores are a bias, a feed-forward layer."""
    rng = np.random.default_rng(seed)

    def drawn(*shape: int) -> Array:
        return np.asarray(rng.normal(0, shape[-2] ** -0.5, shape))

    return {
        "bias": np.zeros(SIDE * SIDE),
        "embedding": drawn(2, WIDTH),
        "w_v": drawn(1, WIDTH, WIDTH),
        "w_o": drawn(1, WIDTH, WIDTH),
        "feed_forward": FeedForwardParameters(
            drawn(WIDTH, HIDDEN), drawn(HIDDEN, WIDTH), np.zeros(HIDDEN), np.zeros(WIDTH)
        ),
        "out": drawn(WIDTH, 1),
    }


def score(boards: Any, model: dict[str, Any], library: Any = reference, bias: Any = None) -> Any:
    """Above 0 where a cell will live: (n, cells) for boards (n, cells) of 0 and 1.

    The bias (cells, cells) is the model's own, for 64 cells, unless another is given.
    """
    x = model["embedding"][boards]
    nothing = 0 * model["w_v"][..., :1]
    heads = HeadParameters(nothing, nothing, model["w_v"], model["w_o"])
    bias = model["bias"][offsets()] if bias is None else bias
    x = x + library.multi_head_attention(x, heads, bias=bias[None])
    x = x + library.feed_forward(x, model["feed_forward"], CONFIGURATION)
    return (x @ model["out"])[..., 0]


def boards(rng: np.random.Generator, n: int, side: int = SIDE) -> Array:
    """Random boards (n, side, side) with a share of living cells of their own, .1 to .6."""
    return (rng.random((n, side, side)) < rng.uniform(0.1, 0.6, (n, 1, 1))).astype(int)


def trained(seed: int, until: int | None = None) -> dict[str, Any]:
    """Parameters after training, as tensors."""
    import torch

    from tformer import fast

    model = tensors(begin(seed))

    def loss(rng: np.random.Generator) -> torch.Tensor:
        now = boards(rng, BATCH)
        found = score(torch.tensor(now.reshape(BATCH, -1)), model, fast)
        # the cross-entropy of two classes whose logits are 0 and the score
        both = torch.stack([0 * found, found], dim=-1)
        return fast.cross_entropy(both, torch.tensor(life_step(now).reshape(BATCH, -1))).mean()

    train(model, loss, STEPS, seed, RATE, until)
    return model


def all_neighbourhoods() -> Array:
    """The 512 neighbourhoods of a cell, each in the middle of an empty board: (512, 8, 8)."""
    cells = (np.arange(512)[:, None] >> np.arange(9) & 1).reshape(-1, 3, 3)
    found = np.zeros((512, SIDE, SIDE), dtype=int)
    found[:, 2:5, 2:5] = cells
    return found


def measured(model: dict[str, Any]) -> dict[str, Any]:
    """Weights of the 64 offsets; wrong cells of 512 neighbourhoods and of 200 random boards.

    And of 50 boards of 16 × 16 cells, where 192 offsets are new: hidden, or with the mean bias of
    the 55 that are no neighbours.
    """
    import torch

    from tformer import fast

    def wrong(now: Array, bias: Array | None = None) -> Array:
        there = None if bias is None else torch.tensor(bias, dtype=torch.float32)
        with torch.no_grad():
            found = score(torch.tensor(now.reshape(len(now), -1)), model, fast, there).numpy() > 0
        return np.asarray(found.reshape(now.shape) != life_step(now))

    drawn, wider = (
        boards(np.random.default_rng(99), n, side) for n, side in ((200, SIDE), (50, WIDER))
    )
    bias = model["bias"].detach().double().numpy()
    near = {down % SIDE * SIDE + right % SIDE for down in (-1, 0, 1) for right in (-1, 0, 1)}
    mean = np.delete(bias, [*near]).mean()
    return {
        "wrong of 512": int(wrong(all_neighbourhoods())[:, 3, 3].sum()),
        "wrong of 12800": int(wrong(drawn).sum()),
        "wider, new offsets hidden": int(wrong(wider, carried(bias, WIDER, -np.inf)).sum()),
        "wider, new offsets like the others": int(wrong(wider, carried(bias, WIDER, mean)).sum()),
        "weights": reference.softmax(bias).round(5).tolist(),
    }


def stored() -> list[dict[str, Any]]:
    """What `measured` said of each of the three models."""
    return list(json.loads(FILE.read_text(encoding="utf-8")))


if __name__ == "__main__":
    every = [measured(trained(seed)) for seed in range(SEEDS)]
    FILE.write_text(json.dumps(every) + "\n", encoding="utf-8")
