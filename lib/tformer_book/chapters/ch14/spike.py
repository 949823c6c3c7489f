"""A gradient that is far too long: is it the batch, or where the parameters stand?

The storyteller's training is made again. On another processor it leaves the stored one by rounding
after some two hundred steps, so its long gradients come at other steps. What is measured is kept in
`spike.json`; `python -m tformer_book.chapters.ch14.spike` makes it again, in some ten minutes.
"""

from __future__ import annotations

import json
import tempfile
from collections import deque
from pathlib import Path
from typing import Any

from tformer_book.experiments.storing import short

__all__ = ["BEFORE", "FILE", "OTHERS", "measured", "stored"]

FILE = Path(__file__).with_name("spike.json")
STEP = 505
"""Of the stored training's longest gradient."""
BEFORE = (1, 2, 5, 10, 20)
"""So many steps earlier the same batch is asked."""
OTHERS = 20
"""So many other batches are asked at the same parameters: the next ones."""
LONG, SETTLED = 1.0, 100
"""A gradient is long above this, after so many steps."""


def stored() -> dict[str, Any]:
    """What `measured` returned when the file was written."""
    return dict(json.loads(FILE.read_text(encoding="utf-8")))


def measured(last: int = 3500) -> dict[str, Any]:
    """Train again, to step `STEP` and to its first long gradient.

    Parameters
    ----------
    last : int
        No further than this step.

    Returns
    -------
    dict
        "again": the length of the gradient at `STEP` in this training. "step", "length": of the
        first long gradient from `SETTLED` on; "others": of the next `OTHERS` batches at the same
        parameters; "earlier": of the same batch at the parameters of `BEFORE`.
    """
    import torch

    from tformer.training import train
    from tformer_book.storyteller.stored import tokens
    from tformer_book.storyteller.training import RECIPE, batches, untrained

    torch.set_num_threads(1)
    module, batch = untrained(tokens()), batches(tokens())
    states: deque[dict[str, Any]] = deque(maxlen=max(BEFORE) + 1)
    found: dict[str, Any] = {}

    def state() -> dict[str, Any]:
        return {name: x.detach().clone() for name, x in module.state_dict().items()}

    with tempfile.TemporaryDirectory() as folder:
        states.append(state())
        for made in train(module, batch, RECIPE, Path(folder) / "c", every=10**6, bar=False):
            step, norm = made.step, made.norm
            if step == STEP:
                found["again"] = short(norm, 3)
            if "step" not in found and step > SETTLED and norm > LONG:
                other = untrained(tokens())
                at = [*states]
                found |= {
                    "step": step,
                    "length": short(norm, 3),
                    "others": [
                        _length(other, at[-1], batch(step + i)) for i in range(1, OTHERS + 1)
                    ],
                    "earlier": [_length(other, at[-1 - n], batch(step)) for n in BEFORE],
                }
            if step >= last or {"again", "step"} <= found.keys():
                break
            states.append(state())
    return found


def _length(module: Any, state: dict[str, Any], batch: tuple[Any, ...]) -> float:
    import torch
    from torch.nn.functional import cross_entropy

    module.load_state_dict(state)
    module.zero_grad()
    given, wanted = map(torch.from_numpy, batch)
    cross_entropy(module(given).flatten(0, 1), wanted.flatten()).backward()
    found = [x.grad.double().norm() for x in module.parameters() if x.grad is not None]
    return short(torch.stack(found).norm(), 3)


if __name__ == "__main__":
    FILE.write_text(json.dumps(measured(), indent=1) + "\n", encoding="utf-8")
