"""What the real model of chapter 10 writes, chosen in three ways. Kept in `real.json`.

The page reads the file, so it needs no model; the tests measure again where there is one.
"""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np

from tformer import reference
from tformer.models.generate import generate
from tformer.models.pretrained import PretrainedModel

__all__ = ["BEGIN", "FILE", "WAYS", "measured", "stored"]

FILE = Path(__file__).with_name("real.json")
BEGIN = "The animal did not cross the street because it was too"
WAYS = ("greedy", "top-p, p = 0.9", "temperature 2")
N_WORDS = 40


def stored() -> dict[str, str]:
    """What `measured` returned when the file was written."""
    return dict(json.loads(FILE.read_text(encoding="utf-8")))


def changed(way: str, row: np.ndarray) -> np.ndarray:
    """A row of logits as one of `WAYS` changes it."""
    if way == "greedy":
        return reference.top_k(row, 1)
    return reference.top_p(row, 0.9) if way == WAYS[1] else reference.temperature(row, 2.0)


def measured(model: PretrainedModel, n_tokens: int = N_WORDS) -> dict[str, str]:
    """The text that the model writes after `BEGIN`, for each of `WAYS`; half as much when hot."""
    tokenizer, parameters, configuration = model
    start = np.array(tokenizer.encode(BEGIN, control=False))
    found = {}
    for way in WAYS:
        rng = np.random.default_rng(0)

        def choose(row: np.ndarray, way: str = way, rng: np.random.Generator = rng) -> int:
            return int(reference.sample(changed(way, row.astype(float)), rng.random(())))

        n = n_tokens if way != WAYS[2] else n_tokens // 2
        words = generate(reference.cached_decoder, start, parameters, configuration, n, choose)
        found[way] = tokenizer.decode([*words])
    return found


if __name__ == "__main__":
    from tformer.models.pretrained import from_pretrained

    told = json.dumps(measured(from_pretrained()), indent=1, ensure_ascii=False)
    FILE.write_text(told + "\n", encoding="utf-8")
