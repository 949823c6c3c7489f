"""What a trained version of `story` reads: right answers, cuts, sinks, the choice of experts."""

from collections.abc import Callable
from dataclasses import replace
from functools import partial
from typing import Any, NamedTuple

import numpy as np
import torch
from torch import Tensor

from tformer import fast
from tformer.layers import LayeredParameters
from tformer.parameters import tree_map
from tformer_book.storyteller.tales import KINDS

__all__ = ["BETWEEN", "CUTS", "Tales", "answers", "cut", "experts", "sinks", "tales_of"]

ASKED = ("name again", "cure", "patient")
BETWEEN = ("because", "it", "was", "too", "trouble", "stop", "So", "name again", "cure")
"""Words between the second noun and the end, " the", where the patient is asked."""
Masks = tuple[Tensor | None, ...]
"""For each layer which token may look at which, besides its own window."""


class Tales(NamedTuple):
    """Tales, one a row, and where their words stand.

    Attributes
    ----------
    given, wanted, kinds : (n, T) integer tensors
    at : dict
        For "noun", "second noun", the words of `BETWEEN` and "end", its place in each tale, (n,).
    first : (n,) boolean tensor
        Whether the patient is the first noun.
    """

    given: Tensor
    wanted: Tensor
    kinds: Tensor
    at: dict[str, Tensor]
    first: Tensor


def tales_of(asked: tuple[np.ndarray, ...]) -> Tales:
    """Find the words in tales as `training.asked` draws them."""
    given, wanted, kinds = (torch.from_numpy(x) for x in asked)

    def place(kind: str) -> Tensor:
        return (kinds == KINDS.index(kind)).int().argmax(dim=-1)  # of the word before it

    noun, second, trouble, end = map(place, ("noun", "second noun", "trouble", "patient"))
    at = {"noun": noun + 1, "second noun": second + 1, "end": end}
    at |= {word: second + 2 + i for i, word in enumerate(BETWEEN[:4])}
    at |= {"trouble": trouble + 1, "stop": trouble + 2}
    at |= {word: end - 3 + i for i, word in enumerate(BETWEEN[-3:])}
    rows = torch.arange(len(given))
    return Tales(given, wanted, kinds, at, given[rows, at["noun"]] == wanted[rows, end])


def logits(p: Any, c: Any, tokens: Tensor, masks: Masks = (None, None)) -> Tensor:
    """The logits of `layered_decoder`, with a mask for each layer."""
    x = fast.embedding(tokens, p.embedding)
    for one, choices, mask in zip(p.layers, c.layers, masks, strict=True):
        x = fast.layer(x, one, choices, mask)
    return fast.rms_norm(x, p.norm, c.eps) @ p.unembedding


def answers(
    p: LayeredParameters, c: Any, tales: Tales, masks: Masks = (None, None)
) -> dict[str, Any]:
    """Losses in nats and shares of right answers, by kind; of patients also by where they stand."""
    with torch.no_grad():
        z = logits(p, c, tales.given, masks)
    nats = -z.log_softmax(-1).gather(-1, tales.wanted.clamp(min=0)[..., None])[..., 0]
    right = (z.argmax(-1) == tales.wanted).double()
    end = tales.at["end"]
    patient = right[torch.arange(len(right)), end]
    found = {"first noun": patient[tales.first], "second noun": patient[~tales.first]}
    return {
        "nats": {kind: nats[tales.kinds == i].mean().item() for i, kind in enumerate(KINDS)},
        "right": {kind: right[tales.kinds == KINDS.index(kind)].mean().item() for kind in ASKED},
        "patient": {name: one.mean().item() for name, one in found.items()},
    }


def cut(tales: Tales, of: Callable[[Tensor, Tensor], Tensor], on: tuple[str, ...]) -> Tensor:
    """The mask without the looks of some tokens on some words.

    Parameters
    ----------
    tales : Tales
    of : callable
        From (T,) places of tokens and the (n, 1) places of the end: which tokens.
    on : tuple of str
        Keys of `Tales.at`. A word always sees itself.
    """
    every = torch.arange(tales.given.shape[-1])
    of_rows = of(every, tales.at["end"][:, None]).expand(len(tales.given), -1)
    on_rows = torch.stack([every == tales.at[word][:, None] for word in on]).any(dim=0)
    return ~(of_rows[:, :, None] & on_rows[:, None, :]) | torch.eye(len(every), dtype=torch.bool)


def _last_on(word: str, tales: Tales) -> Masks:
    return None, _end(tales, (word,))


NOUNS = ("noun", "second noun")
CUTS: dict[str, Callable[[Tales], Masks]] = {
    "the end, on the nouns": lambda t: (_end(t, NOUNS), _end(t, NOUNS)),
    "all others, on the nouns": lambda t: (_others(t, NOUNS), _others(t, NOUNS)),
    "all others, on the nouns, first layer": lambda t: (_others(t, NOUNS), None),
    "the end, on the trouble": lambda t: (_end(t, ("trouble",)), _end(t, ("trouble",))),
    "the end, on words between": lambda t: (None, _end(t, BETWEEN)),
    **{f"the end, on {word}, second layer": partial(_last_on, word) for word in BETWEEN},
}


def _end(tales: Tales, on: tuple[str, ...]) -> Tensor:
    return cut(tales, lambda every, end: every == end, on)


def _others(tales: Tales, on: tuple[str, ...]) -> Tensor:
    return cut(tales, lambda every, end: every != end, on)


def sinks(p: Any, c: Any, tales: Tales) -> list[dict[str, list[float]]]:
    """For each layer, by head: its sink, and means over all words of the tales.

    "log sum" is ℓ of prop-sink, over the scores of a row; "weight" is what the sink takes, and "at
    the end" what it takes where the patient is asked; "first token" is the weight of the new line.
    """
    p = tree_map(lambda x: x.detach().double(), p)
    x, found = fast.embedding(tales.given, p.embedding), []
    rows, end = torch.arange(len(tales.given)), tales.at["end"]
    told, away = tales.kinds >= 0, torch.ones(1, tales.given.shape[-1], dtype=torch.bool)
    told[:, 0], away[0, 0] = False, False
    with torch.no_grad():
        for one, choices in zip(p.layers, c.layers, strict=True):
            ell = _log_sum(x, one, choices)
            rest = _log_sum(x, one, choices, away)
            z = one.attention.sinks
            weight = torch.zeros_like(ell) if z is None else torch.sigmoid(z - ell)
            first = (1 - weight) * (1 - torch.exp(rest - ell))
            found.append(
                {
                    "sink": [] if z is None else z.tolist(),
                    "log sum": ell[told].mean(0).tolist(),
                    "weight": weight[told].mean(0).tolist(),
                    "at the end": weight[rows, end].mean(0).tolist(),
                    "first token": first[told].mean(0).tolist(),
                    "first token at the end": first[rows, end].mean(0).tolist(),
                }
            )
            x = fast.layer(x, one, choices)
    return found


def _log_sum(x: Tensor, one: Any, c: Any, mask: Tensor | None = None) -> Tensor:
    """The logarithm of the sum of exp(score) of each row and head, (n, T, H).

    Values of 1 and a sink of 0 make of the library's attention the share σ(ℓ) that values get.
    """
    attention: Any = one.attention
    heads = attention.heads
    picked = x.new_zeros(heads.w_o.shape)
    picked[range(len(picked)), 0, range(len(picked))] = 1
    ones = x.new_ones(len(heads.w_v), heads.w_v.shape[-1])
    probe = replace(heads, w_v=torch.zeros_like(heads.w_v), b_v=ones, w_o=picked)
    probing = replace(attention, heads=probe, sinks=x.new_zeros(len(picked)))
    y = fast.extended_attention(
        fast.rms_norm(x, one.mixer_norm, c.eps), probing, c, mask, causal=True
    )
    return torch.logit(y[..., : len(picked)])


def experts(p: Any, c: Any, tales: Tales) -> list[dict[str, Any]]:
    """For each layer: the share of the words of each kind that choose each expert, by kind read."""
    x, found = fast.embedding(tales.given, p.embedding), []
    read = torch.cat([tales.kinds[:, :1] * 0 - 1, tales.kinds[:, :-1]], dim=1)
    with torch.no_grad():
        for one, choices in zip(p.layers, c.layers, strict=True):
            mixed = fast.layer(x, replace(one, experts=None), choices)
            inputs = fast.rms_norm(mixed, one.feed_forward_norm, choices.eps)
            weights = fast.top_k_routing(inputs @ one.experts.w_router, choices.routing)
            chosen = (weights > 0).double()
            shares = {kind: chosen[read == i].mean(0).tolist() for i, kind in enumerate(KINDS)}
            found.append({"all": chosen[read >= 0].mean(0).tolist(), "kinds": shares})
            x = fast.layer(x, one, choices)
    return found
