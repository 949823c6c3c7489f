"""The real model, loaded with one mistake at a time: its loss, and its logits beside transformers'.

Measured once by `python -m tformer_book.chapters.ch07.loading`, and kept in `loading.json`. The
page reads the file, so it needs no model; the tests measure again where there is one.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from IPython.display import Markdown

from tformer import reference
from tformer.configuration import Configuration
from tformer.models.pretrained import PretrainedModel
from tformer.parameters import BlockParameters, ModelParameters
from tformer.pretrained import Checkpoint
from tformer_book.experiments import passages
from tformer_book.experiments.storing import by_lines, short

__all__ = [
    *("FILE", "HARMLESS", "KINDS", "MISTAKES", "PROMPT", "RIGHT", "Loaded", "costs"),
    *("loaded", "measured", "published", "stored", "table"),
]

FILE = Path(__file__).with_name("loading.json")
KINDS = ("tale", "news", "science", "recipe")
"""The passages that are read."""
PROMPT = "The capital of France is"
RIGHT = "as it was trained"
HARMLESS = ("the other pairing, reordered", "all positions 1,000 further on")
"""What looks like a mistake and changes no score."""
MISTAKES = (
    "ε ten times too small",
    "a position skipped in the middle",
    "scores times 1.1",
    "base 10,000 for 100,000",
    "GELU for SiLU",
    "the other pairing",
    "no rotation",
    "key heads dealt out in turn",
)


class Loaded(NamedTuple):
    """A model as a program has loaded it, and the positions that it counts."""

    parameters: ModelParameters
    configuration: Configuration
    positions: Callable[[int], np.ndarray] = np.arange


def loaded(model: PretrainedModel) -> dict[str, Loaded]:
    """The model as it is, in the ways of `HARMLESS`, and with each of `MISTAKES`."""
    _, p, c = model
    other = {"half": "adjacent", "adjacent": "half"}[c.pairing]
    n_heads, n_groups = len(p.blocks[0].heads.w_q), len(p.blocks[0].heads.w_k)
    turn = np.arange(n_heads).reshape(-1, n_groups).T.ravel()  # head h now uses key head h mod G
    order = reference.rope_permutation(p.blocks[0].heads.w_q.shape[-1])
    if other == "adjacent":
        order = np.argsort(order)

    def heads(**changes: Callable[[np.ndarray], np.ndarray]) -> ModelParameters:
        return replace(p, blocks=tuple(_changed(one, changes) for one in p.blocks))

    reordered = heads(w_q=lambda w: w[..., order], w_k=lambda w: w[..., order])
    found = (
        (RIGHT, Loaded(p, c)),
        (HARMLESS[0], Loaded(reordered, replace(c, pairing=other))),
        (HARMLESS[1], Loaded(p, c, lambda n: np.arange(n) + 1000)),
        (MISTAKES[0], Loaded(p, replace(c, eps=c.eps / 10))),
        (MISTAKES[1], Loaded(p, c, lambda n: np.arange(n) + (np.arange(n) >= n // 2))),
        (MISTAKES[2], Loaded(heads(w_q=lambda w: w * np.float32(1.1)), c)),
        (MISTAKES[3], Loaded(p, replace(c, base=c.base / 10))),
        (MISTAKES[4], Loaded(p, replace(c, activation="gelu"))),
        (MISTAKES[5], Loaded(p, replace(c, pairing=other))),
        (MISTAKES[6], Loaded(p, replace(c, positions="none"))),
        (MISTAKES[7], Loaded(heads(w_q=lambda w: w[turn], w_o=lambda w: w[turn]), c)),
    )
    return dict(found)


def _changed(
    block: BlockParameters, changes: dict[str, Callable[[np.ndarray], np.ndarray]]
) -> BlockParameters:
    """A block with some matrices of its heads changed."""
    new: Any = {name: change(getattr(block.heads, name)) for name, change in changes.items()}
    return replace(block, heads=replace(block.heads, **new))


def published(checkpoint: Checkpoint) -> Callable[[list[int]], np.ndarray]:
    """The logits (T, N) of transformers' class of this model, with the same numbers, in float32.

    Raises
    ------
    ImportError
        If the package transformers is not installed.
    """
    import torch
    from transformers import LlamaConfig, LlamaForCausalLM

    about = checkpoint.architecture
    config = LlamaConfig(
        vocab_size=about.n_vocab,
        hidden_size=about.d_model,
        num_hidden_layers=about.n_layers,
        num_attention_heads=about.n_heads,
        num_key_value_heads=about.n_groups,
        intermediate_size=about.d_ff,
        rms_norm_eps=about.eps,
        max_position_embeddings=about.n_context,
        rope_parameters={"rope_type": "default", "rope_theta": about.base},
        tie_word_embeddings=about.tied,
    )
    theirs = LlamaForCausalLM(config).eval()
    state = {name: torch.from_numpy(x) for name, x in checkpoint.common("half").items()}
    theirs.load_state_dict(state, strict=False)

    def logits(tokens: list[int]) -> np.ndarray:
        with torch.no_grad():
            found: np.ndarray = theirs(torch.tensor([tokens])).logits[0].numpy()
        return found

    return logits


def measured(
    model: PretrainedModel,
    theirs: Callable[[list[int]], np.ndarray],
    kinds: Iterable[str] = KINDS,
) -> dict[str, dict[str, Any]]:
    """What the model makes of the passages and of `PROMPT`, by how it is loaded.

    Returns
    -------
    dict
        For each name of `loaded`: "loss", the mean loss of each passage, in nats a token; "apart",
        its largest difference of a logit from those of `theirs`; "other", the share of its
        places where the likeliest next token is not theirs; "next", the likeliest token after
        `PROMPT`, and its probability.
    """
    import torch

    from tformer import fast
    from tformer.parameters import tree_map

    tokenizer = model.tokenizer
    texts = passages.tokens(model, kinds).tolist()
    right = [theirs(text) for text in texts]
    found: dict[str, dict[str, Any]] = {}
    for name, (parameters, configuration, positions) in loaded(model).items():
        p = tree_map(torch.from_numpy, parameters)

        def logits(
            tokens: list[int], p: Any = p, c: Any = configuration, at: Any = positions
        ) -> Any:
            given = torch.from_numpy(at(len(tokens)))
            with torch.no_grad():
                return fast.decoder(torch.tensor(tokens), p, c, positions=given).numpy()

        rows: dict[str, Any] = {"loss": [], "apart": [], "other": []}
        for text, want in zip(texts, right, strict=True):
            got = logits(text)
            loss = reference.cross_entropy(got[:-1], np.array(text[1:])).mean()
            rows["loss"].append(short(loss))
            rows["apart"].append(short(abs(got - want).max(), 3))
            rows["other"].append(short((got.argmax(-1) != want.argmax(-1)).mean(), 3))
        chances = reference.softmax(logits(tokenizer.encode(PROMPT))[-1])
        likeliest = int(chances.argmax())
        rows["next"] = [tokenizer.decode([likeliest]), short(chances[likeliest], 3)]
        found[name] = rows
    return found


@cache
def stored() -> dict[str, dict[str, Any]]:
    """What `measured` returned when the file was written."""
    return dict(json.loads(FILE.read_text(encoding="utf-8")))


def costs(name: str) -> np.ndarray:
    """What a way of loading costs each passage, in nats a token, from the stored losses."""
    return np.subtract(stored()[name]["loss"], stored()[RIGHT]["loss"])


def table() -> Markdown:
    """What is stored: mean costs, the largest differences of logits, and the next token."""
    rows = [
        "| Loaded | costs | logits differ by | other token first | next |",
        "|---|" + "---:|" * 3 + "---|",
    ]
    for name, row in stored().items():
        apart = np.format_float_positional(float(f"{max(row['apart']):.1g}"), trim="-")
        other = f"{100 * np.mean(row['other']):.1f} %"
        rows.append(
            f"| {name} | {costs(name).mean():.3f} | {apart} | {other} | `{row['next'][0]}` |"
        )
    return Markdown("\n".join(rows))


if __name__ == "__main__":
    from tformer.models.pretrained import from_checkpoint
    from tformer.pretrained import checkpoint

    opened = checkpoint()
    rows = measured(from_checkpoint(opened), published(opened))
    FILE.write_text(by_lines(rows), encoding="utf-8")
