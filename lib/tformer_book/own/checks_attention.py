"""Checks of parts 2 to 7: softmax, attention, masks, heads, RoPE."""

from __future__ import annotations

from collections.abc import Iterator
from types import ModuleType
from typing import Any

import numpy as np
import torch

from tformer_book.exercises import describe
from tformer_book.exercises.answer import Wrong
from tformer_book.exercises.table import Case, case
from tformer_book.own.checking import checked
from tformer_book.own.samples import arrays

# ---- 2 ------------------------------------------------------------------------------------


def _scores() -> Iterator[Case]:
    three = np.log(3)
    why = "e⁰ is 1 and e to the ln 3 is 3."
    yield case(x=[[0.0, three], [0, 0]], axis=-1, want=[[0.25, 0.75], [0.5, 0.5]], why=why)
    yield case(x=[0.0, three], axis=-1, want=[0.25, 0.75])
    yield case(x=[[0.0, three], [three, three]], axis=0, want=[[0.25, 0.5], [0.75, 0.5]])
    yield case(x=[1000, 1000 + three], axis=-1, want=[0.25, 0.75], why="Scores may be large.")
    apart = "Rows may lie far apart: e^(−1000) is 0, so each row needs its own largest score."
    yield case(x=[[0, 0], [-1000, -1000]], axis=-1, want=[[0.5, 0.5], [0.5, 0.5]], why=apart)
    yield case(x=[0, -np.inf, three], axis=-1, want=[0.25, 0, 0.75], why="−∞ gets weight 0.")
    for axis in (0, 1, 2, -2):
        yield case(x=arrays(axis + 3, (2, 3, 4))[0], axis=axis)


@checked(
    "softmax",
    praise="Along any axis, for large scores and for scores of −∞.",
    cases=_scores,
    slips="""
        torch.exp(x - x.amax(axis, keepdim=True)) → torch.exp(x)
            Large scores overflow: exp(1000) is ∞. Take the largest score off all first.
        x.amax(axis, keepdim=True) → x.max()
            You took off the largest score of the whole table. A row far below it is left with
            zeros: take off the largest score of each row, along the axis.
        x.amax(axis, keepdim=True) → x.amax(axis) ;; terms.sum(axis, keepdim=True) → terms.sum(axis)
            The axis is gone after amax and after sum, so nothing stands beside its own row: keepdim=True keeps it, with length 1.
        x.amax(axis, keepdim=True) → x.amax(axis)
            The axis is gone after amax, so a row loses the largest score of another: keepdim=True keeps it, with length 1.
        terms.sum(axis, keepdim=True) → terms.sum(axis)
            The axis is gone after the sum, so nothing stands beside its own row: keepdim=True keeps it, with length 1.
        terms.sum(axis, keepdim=True) → terms.sum()
            Everything was added up; each row of the axis has a sum of its own.
        x.amax(axis, keepdim=True) → x.amax(-1, keepdim=True) ;; terms.sum(axis, → terms.sum(-1,
            The argument axis has no effect: the sums always run along the last axis.
        x.amax(axis, keepdim=True) → x.amax(0, keepdim=True) ;; terms.sum(axis, → terms.sum(0,
            The sums always run along axis 0, whatever axis says.
        terms / terms.sum(axis, keepdim=True) → terms
            The exponentials are not divided by their sum.
        terms / terms.sum(axis, keepdim=True) → torch.log(terms / terms.sum(axis, keepdim=True))
            That is log softmax: the weights themselves are asked for.
    """,  # noqa: E501  (an edit and its sentence stand on a line each)
    otherwise="Exponentials, divided by their sum along the axis.",
)
def _softmax(my: ModuleType, x: Any, axis: int) -> Any:
    return my.softmax(x, axis)


# ---- 3, 4 ---------------------------------------------------------------------------------

VISIBLE = np.array([[True, False, False], [True, False, True]])


def _queries_and_keys() -> Iterator[Case]:
    yield case(
        q=[[0.0, 0]],
        k=[[2.0, 0], [0, 2], [0, 0]],
        mask=None,
        want=[[1 / 3] * 3],
        why="A query of zeros is even.",
    )
    yield case(q=arrays(1, (2, 4))[0], k=arrays(2, (3, 4))[0], mask=None)
    yield case(q=arrays(3, (2, 4))[0], k=arrays(4, (3, 4))[0], mask=VISIBLE)
    for seed, d in enumerate((1, 9), 5):
        q, k = arrays(seed, (2, 2, d), (2, 3, d))
        yield case(q=q, k=k, mask=None)
        yield case(q=q, k=k, mask=VISIBLE)


@checked(
    "attention_weights",
    praise="With and without a mask, for several widths, in stacks.",
    cases=_queries_and_keys,
    slips="""
        / math.sqrt(q.shape[-1]) → / 1
            The scores are not divided by √d.
        / math.sqrt(q.shape[-1]) → / q.shape[-1]
            The scores are divided by d, and √d is meant.
        / math.sqrt(q.shape[-1]) → / math.sqrt(q.shape[-2])
            The scores are divided by the root of the number of queries; d is the last axis.
        scores.masked_fill(~mask, → scores.masked_fill(mask,
            The mask is the wrong way round: True says that a key may be seen.
        scores.masked_fill(~mask, -math.inf) → scores.masked_fill(~mask, 0)
            A score of 0 still gets a weight. A key that may not be seen has the score −∞.
        scores if mask is None else scores.masked_fill(~mask, -math.inf) → scores
            The mask has no effect.
        softmax(scores if mask is None else scores.masked_fill(~mask, -math.inf)) → softmax(scores) if mask is None else softmax(scores) * mask
            The mask comes after the softmax, so the weights of a query no longer add up to 1.
        softmax(scores if mask is None else scores.masked_fill(~mask, -math.inf)) → softmax(scores if mask is None else scores.masked_fill(~mask, -math.inf), -2)
            The weights add up to 1 over the queries. They have to do so over the keys.
        k.mT → k.T
            k.T turns all axes round; k.mT exchanges the last two alone, in stacks as well.
        mask is None → not mask
            `if mask` asks a whole table for one True or False: write `if mask is not None`.
    """,  # noqa: E501
    otherwise="softmax(q kᵀ / √d), with −∞ where the mask is False.",
)
def _attention_weights(my: ModuleType, q: Any, k: Any, mask: Any) -> Any:
    return my.attention_weights(q, k, mask)


def _queries_keys_values() -> Iterator[Case]:
    q, k, v = arrays(1, (2, 4), (3, 4), (3, 5))
    yield case(q=np.zeros((1, 2)), k=[[1.0, 0], [0, 1]], v=[[2.0], [4]], mask=None, want=[[3.0]])
    yield case(q=q, k=k, v=v, mask=None)
    yield case(q=q, k=k, v=v, mask=VISIBLE)
    yield case(q=q[None], k=k[None], v=np.stack([v, 2 * v]), mask=VISIBLE)


@checked(
    "attention",
    praise="With and without a mask, for values of another width, in stacks.",
    cases=_queries_keys_values,
    slips="""
        attention_weights(q, k, mask) → attention_weights(q, k)
            The mask has no effect.
        attention_weights(q, k, mask) @ v → attention_weights(q, k, mask)
            Those are the weights. They are to be multiplied by the values.
        attention_weights(q, k, mask) @ v → attention_weights(k, q) .mT @ v
            Queries and keys are exchanged.
    """,
    otherwise="attention_weights(q, k, mask) times the values.",
)
def _attention(my: ModuleType, q: Any, k: Any, v: Any, mask: Any) -> Any:
    return my.attention(q, k, v, mask)


# ---- 5 ------------------------------------------------------------------------------------


def _lengths() -> Iterator[Case]:
    yield case(T=1, S=1, want=[[True]])
    yield case(T=2, S=2, want=[[True, False], [True, True]])
    why = "The two that ask are the last two of four: they see the two before them as well."
    yield case(T=2, S=4, want=[[True, True, True, False], [True, True, True, True]], why=why)
    for T, S in ((1, 5), (4, 4), (3, 7)):
        yield case(T=T, S=S)


@checked(
    "causal_mask",
    praise="For whole texts, and for the last T of S positions.",
    cases=_lengths,
    slips="""
        tril(S - T) → tril()
            The T positions that ask are taken for the first of S; they are the last ones.
        tril(S - T) → tril(S - T - 1)
            No position sees itself.
        tril(S - T) → triu(S - T)
            A position sees what comes later, and not what came before.
        tril(S - T) → tril(S - T + 1)
            Each position sees one that comes later.
        torch.ones(T, S, dtype=torch.bool).tril(S - T) → torch.ones(S, T, dtype=torch.bool).tril(S - T)
            The mask lies on its side: a row for each of the T queries, a column for each key.
        torch.ones(T, S, dtype=torch.bool) → torch.ones(T, S)
            Use dtype=torch.bool, or a comparison.
    """,  # noqa: E501
    otherwise="Row t is True for the keys up to position S − T + t.",
)
def _causal_mask(my: ModuleType, T: int, S: int) -> Any:
    mask = my.causal_mask(T, S)
    tensor = isinstance(mask, torch.Tensor)
    if not tensor or mask.dtype is not torch.bool:
        kind = "floats" if tensor and mask.is_floating_point() else "whole numbers"
        yours = f"a tensor of {kind}" if tensor else describe.kind(mask)
        raise Wrong(
            f"causal_mask returns a tensor of True and False, and yours is {yours}: the next part "
            "asks for ~mask. Use dtype=torch.bool, or a comparison."
        )
    return mask


# ---- 6 ------------------------------------------------------------------------------------


def _rows() -> Iterator[Case]:
    small = np.arange(8.0).reshape(2, 4)
    yield case(x=small, n_heads=2, want=[[[0.0, 1], [4, 5]], [[2, 3], [6, 7]]])
    yield case(x=small, n_heads=1, want=[small])
    yield case(x=arrays(1, (2, 3, 12))[0], n_heads=4)


@checked(
    "split_heads",
    praise="Neighbouring columns belong to one head, in batches too.",
    cases=_rows,
    slips="""
        (n_heads, -1)).transpose(-3, -2) → (n_heads, -1))
            The heads stand behind the positions; swap the two axes: (…, heads, T, d_k).
        (n_heads, -1)).transpose(-3, -2) → (-1, n_heads)).movedim(-1, -3)
            A head gets every n-th column; it should get neighbouring ones.
        x.unflatten(-1, (n_heads, -1)).transpose(-3, -2) → x.reshape(*x.shape[:-2], n_heads, x.shape[-2], -1)
            A reshape alone mixes positions: part the last axis first, and then swap the axes.
    """,  # noqa: E501
    otherwise="From (…, T, d) to (…, heads, T, d / heads).",
)
def _split_heads(my: ModuleType, x: Any, n_heads: int) -> Any:
    return my.split_heads(x, n_heads)


def _heads() -> Iterator[Case]:
    yield case(x=[[[0.0, 1], [4, 5]], [[2, 3], [6, 7]]], want=[[0.0, 1, 2, 3], [4, 5, 6, 7]])
    yield case(x=arrays(1, (4, 3, 2))[0])
    yield case(x=arrays(2, (2, 3, 4, 5))[0])


@checked(
    "merge_heads",
    praise="It undoes split_heads, in batches too.",
    cases=_heads,
    slips="""
        x.transpose(-3, -2).flatten(-2) → x.flatten(-2)
            The axes of heads and positions are not swapped back.
        x.transpose(-3, -2).flatten(-2) → x.movedim(-3, -1).flatten(-2)
            The columns of the heads are interleaved; those of one head belong side by side.
        x.transpose(-3, -2).flatten(-2) → x.sum(-3)
            The heads are added up; they stand side by side.
    """,
    otherwise="From (…, heads, T, d_k) to (…, T, heads · d_k).",
)
def _merge_heads(my: ModuleType, x: Any) -> Any:
    return my.merge_heads(x)


def _grouped() -> Iterator[Case]:
    for seed, (heads, groups) in enumerate(((2, 2), (4, 2), (6, 3), (3, 1))):
        q, k, v = arrays(seed, (heads, 2, 4), (groups, 3, 4), (groups, 3, 5))
        yield case(q=q, k=k, v=v, mask=None, double=False)
        yield case(q=q, k=k, v=v, mask=VISIBLE, double=False)
        yield case(q=q, k=k, v=v, mask=VISIBLE, double=True, why="attend takes attention's place.")
    q, k, v = arrays(9, (2, 4, 2, 3), (2, 2, 3, 3), (2, 2, 3, 3))
    yield case(q=q, k=k, v=v, mask=VISIBLE, double=False)


@checked(
    "grouped_attention",
    praise="For heads with keys of their own, groups, one group for all, and in batches.",
    cases=_grouped,
    slips="""
        q.unflatten(-3, (k.shape[-3], -1)) → q.unflatten(-3, (-1, k.shape[-3])).transpose(-4, -3) ;; mask).flatten(-4, -3) → mask).transpose(-4, -3).flatten(-4, -3)
            Group g serves every n-th head; it should serve neighbouring heads.
        v.unsqueeze(-3), mask) → v.unsqueeze(-3), None)
            The mask has no effect.
        (attend or attention) → attention
            The argument attend has no effect.
        return (attend or attention)(q, k.unsqueeze(-3), v.unsqueeze(-3), mask).flatten(-4, -3) → q = q.flatten(-4, -3); n = q.shape[-3] // k.shape[-3]; return (attend or attention)(q, k.repeat_interleave(n, -3), v.repeat_interleave(n, -3), mask)
            attend gets queries of shape (…, groups, heads of a group, T, d)
    """,  # noqa: E501
    otherwise="The heads of group g attend with the keys and values of group g.",
)
def _grouped_attention(my: ModuleType, q: Any, k: Any, v: Any, mask: Any, double: bool) -> Any:
    def twice(q: Any, k: Any, v: Any, mask: Any = None) -> Any:
        if k.shape[-3] != 1 or v.shape[-3] != 1 or q.shape[:-3] != k.shape[:-3]:
            raise Wrong(
                "attend gets queries of shape (…, groups, heads of a group, T, d), and keys and "
                f"values with a 1 in the place of the heads of a group; yours are {tuple(q.shape)}"
                f" and {tuple(k.shape)}. Chapter 17's part counts on it."
            )
        return 2 * my.attention(q, k, v, mask)

    return my.grouped_attention(q, k, v, mask, twice if double else None)


# ---- 7 ------------------------------------------------------------------------------------


def _positions() -> Iterator[Case]:
    still = np.array([[2.0, 0], [0, 3]])
    yield case(x=still, positions=np.array([0, 0]), base=100.0, want=still)
    one = np.array([1])
    turned = [[np.cos(1), np.sin(1), -np.sin(0.1), np.cos(0.1)]]
    yield case(x=[[1.0, 0, 0, 1]], positions=one, base=100.0, want=turned)
    x = arrays(1, (3, 6))[0]
    yield case(x=x, positions=np.arange(3), base=10000.0)
    yield case(x=x, positions=np.array([7, 8, 9]), base=10000.0)
    yield case(x=arrays(2, (2, 4, 3, 8))[0], positions=np.arange(5, 8), base=500.0)


@checked(
    "rope",
    praise="For any positions and base, in stacks of heads and texts.",
    cases=_positions,
    slips="""
        x[..., 0::2], x[..., 1::2] → x[..., : d // 2], x[..., d // 2 :]
            Coordinate i is paired with i + d/2; here the neighbours 2i and 2i + 1 are a pair.
        x[..., 0::2], x[..., 1::2] → x[..., : d // 2], x[..., d // 2 :] ;; torch.stack([a * cos - b * sin, a * sin + b * cos], -1).flatten(-2) → torch.cat([a * cos - b * sin, a * sin + b * cos], -1)
            You pair coordinate i with i + d/2, as some files do; here 2i and 2i + 1 are a pair.
        [a * cos - b * sin, a * sin + b * cos] → [a * cos + b * sin, b * cos - a * sin]
            The pairs turn the other way round.
        [a * cos - b * sin, a * sin + b * cos] → [a * sin + b * cos, a * cos - b * sin]
            The two members of each pair are exchanged: first a · cos − b · sin, then a · sin + b · cos.
        [a * cos - b * sin, a * sin + b * cos] → [a * sin - b * cos, a * cos + b * sin]
            Sine and cosine are exchanged: at position 0 the sine is 0 and nothing turns.
        return torch.stack([a * cos - b * sin, a * sin + b * cos], -1).flatten(-2) → y = x.clone(); a, b = y[..., 0::2], y[..., 1::2]; y[..., 0::2] = a * cos - b * sin; y[..., 1::2] = a * sin + b * cos; return y
            The second line finds the first member of each pair turned already: x[..., 0::2] is a view, and writing into x changes it.
        return → x[..., 0::2], x[..., 1::2] = a * cos - b * sin, a * sin + b * cos; return x;
            rope overwrites the x it was given, and its caller still needs it: put the pairs into a new tensor.
        positions[:, None] → torch.arange(x.shape[-2], dtype=x.dtype)[:, None]
            The positions have no effect: counting always begins at 0.
        torch.arange(0, d, 2, dtype=x.dtype) / d → torch.arange(d // 2, dtype=x.dtype) / d
            The speeds fall too slowly: pair i turns by base to the power −2i/d.
        base ** (-torch.arange → 10000.0 ** (-torch.arange
            The argument base has no effect.
        [a * cos - b * sin, a * sin + b * cos], -1).flatten(-2) → [a * cos - b * sin, a * sin + b * cos], -2).flatten(-2)
            The first members of all pairs come first; each belongs beside its partner.
    """,  # noqa: E501
    otherwise="Pair i at position t is turned by t · base^(−2i/d).",
)
def _rope(my: ModuleType, x: Any, positions: Any, base: float) -> Any:
    before = x.clone()
    turned = my.rope(x, positions, base)
    if (x != before).any():
        raise Wrong(
            "rope overwrites the x it was given, and its caller still needs it: put the pairs into "
            "a new tensor."
        )
    return turned
