"""Three kinds of examples in the real model's prompt: measured once, kept in two files.

The page reads the file, so it needs no model; the tests measure again where there is one. A prompt
is a line for each pair, *France: Paris*. From the ninth pair on the model is asked for the right
word behind the colon; pairs that were asked stay in the prompt, as examples.
"""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from tformer.models.pretrained import PretrainedModel
from tformer.parameters import BlockParameters
from tformer.tokens import BPE

if TYPE_CHECKING:  # a page that shows what is stored need not wait for it
    import torch

__all__ = [
    "CUTS",
    "FEW",
    "FEW_FILE",
    "FEW_KINDS",
    "FILE",
    "INDUCTION",
    "KINDS",
    "Line",
    "asked",
    "measured",
    "measured_few",
    "prompt",
    "right_behind",
    "stored",
    "stored_few",
    "summary",
]

FILE = Path(__file__).with_name("real.json")
FEW_FILE = Path(__file__).with_name("few.json")
FEW = (0, 1, 2)
"""So many lines stand before each question of `measured_few`."""
PROMPTS, SHOWN = 24, 8
"""Prompts of each kind, and examples before the first that is asked."""
INDUCTION = ((17, 3), (17, 4), (18, 6), (18, 7))
"""The four heads of largest induction score, as chapter 17 finds them: layer and number."""
OTHERS = 3
"""Draws of four other heads of the same layers, two of each."""
PAIRS = """
France-Paris Japan-Tokyo Italy-Rome Spain-Madrid Egypt-Cairo Russia-Moscow Cuba-Havana Greece-Athens
Austria-Vienna Germany-Berlin England-London Norway-Oslo Ireland-Dublin Poland-Warsaw Turkey-Ankara
Portugal-Lisbon Iran-Tehran Iraq-Baghdad Peru-Lima China-Beijing Kenya-Nairobi Thailand-Bangkok
Sweden-Stockholm Finland-Helsinki Denmark-Copenhagen Hungary-Budapest Canada-Ottawa Chile-Santiago
"""
CAPITALS = dict(pair.split("-") for pair in PAIRS.split())
ANIMALS = "dog cat horse cow lion bear wolf sheep goat mouse tiger rabbit pig duck fox deer"
FOODS = "bread cheese soup cake rice apple milk butter pasta pizza meat salad egg honey corn banana"
QUALITIES = """
wonderful excellent brilliant lovely superb perfect charming pleasant terrible awful horrible boring
poor ugly bad nasty painful stupid
"""
LABELS = ("foo", "bar")
KINDS = (
    "capitals",
    "capitals, shuffled",
    "labels",
    "labels, random",
    "labels, flipped",
    "word pairs",
)
FEW_KINDS = KINDS[:5]
"""The kinds of `measured_few`: a word pair cannot be asked before it was shown."""


class Line(NamedTuple):
    """A line of a prompt: its key, the word that stands behind it, and the right one."""

    key: str
    shown: str
    right: str


def lines(kind: str, rng: np.random.Generator) -> list[Line]:
    """The lines of a prompt of one of `KINDS`: 17, or 16 of word pairs, the last 8 again."""
    if kind.startswith("capitals"):
        keys = [sorted(CAPITALS)[i] for i in rng.permutation(len(CAPITALS))[:17]]
        order = rng.permutation(17) if kind.endswith("shuffled") else np.arange(17)
        return [
            Line(key, CAPITALS[keys[i]], CAPITALS[key]) for key, i in zip(keys, order, strict=True)
        ]
    if kind.startswith("labels"):
        chosen = [(_some(rng, ANIMALS.split(), 9), 0), (_some(rng, FOODS.split(), 8), 1)]
        pairs = [(word, label) for words, label in chosen for word in words]
        found = []
        for i in rng.permutation(17):
            word, label = pairs[i]
            by_chance = int(rng.integers(2))
            shown = {"flipped": 1 - label, "random": by_chance}.get(kind.split()[-1], label)
            found.append(Line(word, LABELS[shown], LABELS[label]))
        return found
    words = _some(rng, f"{ANIMALS} {FOODS} {QUALITIES}".split(), 16)
    pairs_of_words = [Line(a, b, b) for a, b in zip(words[:8], words[8:], strict=True)]
    return pairs_of_words + [pairs_of_words[i] for i in rng.permutation(8)]


def _some(rng: np.random.Generator, words: Sequence[str], count: int) -> list[str]:
    return [words[i] for i in rng.permutation(len(words))[:count]]


def prompt(found: Sequence[Line], tokenizer: BPE) -> tuple[list[int], list[int], list[int]]:
    """The tokens of a prompt, the places of its colons, and the first token of each right word."""
    tokens: list[int] = []
    colons, right = [], []
    for line in found:
        tokens += tokenizer.encode(("\n" if tokens else "") + f"{line.key}:")
        colons.append(len(tokens) - 1)
        tokens += tokenizer.encode(f" {line.shown}")
        right.append(tokenizer.encode(f" {line.right}")[0])
    return tokens, colons, right


def without(block: BlockParameters, heads: Sequence[int]) -> BlockParameters:
    """A block in which some heads put out nothing."""
    w_o = block.heads.w_o + 0
    w_o[list(heads)] = 0
    return replace(block, heads=replace(block.heads, w_o=w_o))


def cuts(n_heads: int = 9) -> dict[str, tuple[tuple[int, int], ...]]:
    """What is cut: nothing, the induction heads, and draws of other heads of the same layers."""
    found: dict[str, tuple[tuple[int, int], ...]] = {"whole": (), "induction": INDUCTION}
    rng = np.random.default_rng(0)
    for draw in range(OTHERS):
        one = []
        for layer in sorted({layer for layer, _ in INDUCTION}):
            left = [h for h in range(n_heads) if (layer, h) not in INDUCTION]
            one += [(layer, left[i]) for i in sorted(rng.permutation(len(left))[:2])]
        found[f"others {draw}"] = tuple(one)
    return found


CUTS = cuts()


def labelled(text: Sequence[Line]) -> bool:
    """Whether all right words of a prompt are `LABELS`."""
    return {line.right for line in text} <= {*LABELS}


def answers(scores: torch.Tensor, among: Sequence[int] | None = None) -> torch.Tensor:
    """The likeliest token of each row of scores (n, n_vocab), of all or `among` some: (n,)."""
    import torch

    if among is None:
        return scores.argmax(dim=-1)
    return torch.tensor(among)[scores[:, among].argmax(dim=-1)]


def asked(model: PretrainedModel, texts: Sequence[Sequence[Line]]) -> dict[str, list[float]]:
    """The share of right answers of each prompt, by what is cut.

    Where all right words are `LABELS`, the likelier of the two is the answer; else the likeliest
    token of all.
    """
    import torch

    from tformer import fast
    from tformer.fast.stacks import embed, position_inputs
    from tformer.parameters import tree_map

    tokenizer, parameters, c = model
    p = tree_map(torch.from_numpy, parameters)
    first = min(layer for layer, _ in INDUCTION)
    labels = [tokenizer.encode(f" {label}")[0] for label in LABELS]
    found: dict[str, list[float]] = {name: [] for name in CUTS}
    with torch.no_grad():
        for text in texts:
            tokens, colons, right = prompt(text, tokenizer)
            x = embed(torch.tensor(tokens), p, c)
            bias, sinusoids = position_inputs(p, c, len(tokens), 0, x)
            around: Any = {"bias": bias, "sinusoids": sinusoids, "causal": True}
            for one in p.blocks[:first]:
                x = fast.block(x, one, c, **around)
            for name, heads in CUTS.items():
                y = x
                for i, one in enumerate(p.blocks[first:], first):
                    gone = [head for layer, head in heads if layer == i]
                    y = fast.block(y, without(one, gone) if gone else one, c, **around)
                scores = fast.unembed(fast.rms_norm(y[colons[SHOWN:]], p.norm, c.eps), p)
                told = answers(scores, labels if labelled(text) else None)
                found[name].append(float((told == torch.tensor(right[SHOWN:])).float().mean()))
    return found


def measured(model: PretrainedModel, prompts: int = PROMPTS) -> dict[str, dict[str, list[float]]]:
    """What `asked` returns for each of `KINDS`."""
    found = {}
    for i, kind in enumerate(KINDS):
        texts = [lines(kind, np.random.default_rng((18, i, n))) for n in range(prompts)]
        shares = asked(model, texts)
        found[kind] = {name: [round(x, 4) for x in row] for name, row in shares.items()}
    return found


def right_behind(model: PretrainedModel, text: Sequence[Line], few: int) -> float:
    """The share of right answers to the questions of a prompt, each alone behind `few` lines.

    Answers are chosen as in `asked`. All are asked in one batch. Shorter ones are filled up behind
    the colon, which sees none of it.
    """
    import torch

    from tformer import fast
    from tformer.fast.stacks import embed, position_inputs
    from tformer.parameters import tree_map

    tokenizer, parameters, c = model
    p = tree_map(torch.from_numpy, parameters)
    made = [prompt([*text[:few], line], tokenizer) for line in text[SHOWN:]]
    ends = torch.tensor([colons[-1] for _, colons, _ in made])
    rows = torch.zeros((len(made), int(ends.max()) + 1), dtype=torch.int64)
    for row, (tokens, colons, _) in zip(rows, made, strict=True):
        row[: colons[-1] + 1] = torch.tensor(tokens[: colons[-1] + 1])
    with torch.no_grad():
        x = embed(rows, p, c)
        bias, sinusoids = position_inputs(p, c, rows.shape[-1], 0, x)
        for one in p.blocks:
            x = fast.block(x, one, c, bias=bias, sinusoids=sinusoids, causal=True)
        x = x[torch.arange(len(made)), ends]
        scores = fast.unembed(fast.rms_norm(x, p.norm, c.eps), p)
    labels = [tokenizer.encode(f" {label}")[0] for label in LABELS]
    told = answers(scores, labels if labelled(text) else None)
    return float((told == torch.tensor([right[-1] for _, _, right in made])).float().mean())


def measured_few(
    model: PretrainedModel, prompts: int = PROMPTS
) -> dict[str, dict[str, list[float]]]:
    """The shares of right answers behind 0, 1 and 2 lines, by kind and by this number.

    The prompts are those of `measured`. Each of their questions is asked alone, behind the first
    lines of its prompt.
    """
    found = {}
    for i, kind in enumerate(FEW_KINDS):
        texts = [lines(kind, np.random.default_rng((18, i, n))) for n in range(prompts)]
        found[kind] = {
            str(few): [round(right_behind(model, text, few), 4) for text in texts] for few in FEW
        }
    return found


def stored_few() -> dict[str, dict[str, list[float]]]:
    """What `measured_few` returned when the file was written."""
    return dict(json.loads(FEW_FILE.read_text(encoding="utf-8")))


def stored() -> dict[str, dict[str, list[float]]]:
    """What `measured` returned when the file was written."""
    return dict(json.loads(FILE.read_text(encoding="utf-8")))


def summary() -> dict[str, dict[str, tuple[float, float]]]:
    """Mean and standard error over the prompts, by kind, for "whole", "induction" and "others".

    "others" is the mean of the draws, prompt by prompt.
    """
    found = {}
    for kind, rows in stored().items():
        others = np.mean([row for name, row in rows.items() if name.startswith("others")], axis=0)
        three = {"whole": rows["whole"], "induction": rows["induction"], "others": others}
        found[kind] = {
            name: (float(np.mean(row)), float(np.std(row, ddof=1) / len(row) ** 0.5))
            for name, row in three.items()
        }
    return found


def _write(file: Path, found: dict[str, Any]) -> None:
    text = re.sub(r"\[[^][]*\]", lambda row: " ".join(row[0].split()), json.dumps(found, indent=1))
    file.write_text(text + "\n", encoding="utf-8")


if __name__ == "__main__":
    from tformer.models.pretrained import from_pretrained

    opened = from_pretrained()
    _write(FILE, measured(opened))
    _write(FEW_FILE, measured_few(opened))
