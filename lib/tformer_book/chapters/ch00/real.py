"""The real model on four short texts, block by block. Measured once, kept in `real.json`.

Written by `python -m tformer_book.chapters.ch00.real`. The page reads the file, so it needs no
model; the tests measure again where there is one.
"""

from __future__ import annotations

import json
from base64 import b64decode, b64encode
from collections.abc import Iterable
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np

from tformer import reference
from tformer.models.hooks import run_with_hooks
from tformer.models.known import SMOL
from tformer.models.pretrained import PretrainedModel
from tformer_book.experiments.storing import short

__all__ = ["BEST", "FILE", "NORMS", "STEPS", "TEXTS", "measured", "seen", "stored"]

FILE = Path(__file__).with_name("real.json")
CROSS = "The animal did not cross the street because it was too"
TEXTS = {
    "France": "The capital of France is",
    "tired": f"{CROSS} tired",
    "wide": f"{CROSS} wide",
    "a repeat": "fish door cloud glass fish door cloud glass fish door cloud",
}
"""The texts, by what is said on their buttons."""
NORMS = ("attention", "between", "feed_forward", "after")
"""The vectors of a block whose norms are kept."""
BEST = 5
"""So many tokens of the logit lens are kept."""
STEPS = 255
"""An attention weight is kept as a whole number of such steps."""


def measured(model: PretrainedModel, names: Iterable[str] = tuple(TEXTS)) -> dict[str, Any]:
    """What the model computes at each token, of T in a text, in each of its L blocks.

    Returns
    -------
    dict
        "words": the tokens that the lens names. "texts": for each name, which rows its tokens have.
        "rows": for each token after different tokens, so that texts share what they begin with:
        "token"; "norms": that of its embedding, and of `NORMS` of each block; "lens": its `BEST`
        likeliest next tokens by the logit lens, before block 0 and after each block, as places in
        "words"; "p": their probabilities in thousandths; "weights": the attention weights of each
        block and head on the tokens up to it, in bytes, as base64.
    """
    tokenizer, p, c = model
    words: dict[int, int] = {}
    places: dict[tuple[int, ...], int] = {}
    found: dict[str, Any] = {"texts": {}, "rows": []}
    for name in names:
        tokens = tokenizer.encode(TEXTS[name])
        prefixes = [tuple(tokens[: t + 1]) for t in range(len(tokens))]
        run = run_with_hooks(np.array(tokens), p, c)
        for t, prefix in enumerate(prefixes):
            if prefix not in places:
                places[prefix] = len(found["rows"])
                row = {"token": tokenizer.decode(prefix[-1:]), **_row(run, t, model)}
                row["lens"] = [words.setdefault(i, len(words)) for i in row["lens"]]
                found["rows"].append(row)
        found["texts"][name] = [places[prefix] for prefix in prefixes]
    return {"words": [tokenizer.decode([i]) for i in words], **found}


def _row(run: dict[str, Any], t: int, model: PretrainedModel) -> dict[str, Any]:
    """What is kept of one token, its lens as tokens."""
    _, p, c = model
    blocks = [f"blocks.{i}" for i in range(len(p.blocks))]
    x = np.array([run["embedded"][t], *(run[f"{block}.after"][t] for block in blocks)])
    parts = [run[f"{block}.{part}"][t] for block in blocks for part in NORMS]
    chances = reference.softmax(reference.logit_lens(x, p, c))
    best = np.argsort(-chances, axis=-1, kind="stable")[:, :BEST]
    weights = np.array([run[f"{block}.weights"][:, t, : t + 1] for block in blocks])
    return {
        "norms": [_norm(one) for one in (x[0], *parts)],
        "lens": best.ravel().tolist(),
        "p": np.rint(1000 * np.take_along_axis(chances, best, -1)).astype(int).ravel().tolist(),
        "weights": b64encode(np.rint(STEPS * weights).astype(np.uint8).tobytes()).decode(),
    }


def _norm(x: np.ndarray) -> float | int:
    """Four digits of the norm, without a point that says nothing."""
    found = short(np.linalg.norm(x), 4)
    return int(found) if found >= 1000 else found


@cache
def stored() -> dict[str, Any]:
    """What `measured` returned when the file was written."""
    return dict(json.loads(FILE.read_text(encoding="utf-8")))


def seen(text: str, token: int, block: int) -> dict[str, Any]:
    """What is stored of one token of a text, by its name, in one block.

    Returns
    -------
    dict
        "token"; "norms": of the vector "before" the block, and of `NORMS`; "lens": pairs of the
        likeliest next tokens after the block and their probabilities; "weights": (H, t + 1).
    """
    row = stored()["rows"][stored()["texts"][text][token]]
    n, at = len(NORMS), BEST * (block + 1)
    names = (stored()["words"][i] for i in row["lens"][at : at + BEST])
    chances = (p / 1000 for p in row["p"][at : at + BEST])
    steps = np.frombuffer(b64decode(row["weights"]), np.uint8).reshape(
        SMOL.n_layers, SMOL.n_heads, -1
    )
    return {
        "token": row["token"],
        "norms": dict(zip(("before", *NORMS), row["norms"][n * block :][: n + 1], strict=True)),
        "lens": list(zip(names, chances, strict=True)),
        "weights": steps[block] / STEPS,
    }


def written(found: dict[str, Any]) -> str:
    """The text of the file: a line for the words, one for the texts and one for each row."""

    def short(x: Any) -> str:
        return json.dumps(x, ensure_ascii=False, separators=(",", ":"))

    rows = ",\n".join(map(short, found["rows"]))
    head = (f'"{key}":{short(found[key])},\n' for key in ("words", "texts"))
    return f'{{{"".join(head)}"rows":[\n{rows}\n]}}\n'


if __name__ == "__main__":
    from tformer.models.pretrained import from_pretrained

    FILE.write_text(written(measured(from_pretrained())), encoding="utf-8")
