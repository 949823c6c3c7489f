"""Weights written by hand: a residual stream with named columns, heads, units, and how they run."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from tformer.configuration import Configuration
from tformer.parameters import FeedForwardParameters, HeadParameters, tree_map
from tformer.reference import causal_mask, feed_forward, multi_head_attention

Terms = Mapping[str, float]
"""A linear form of the stream: the factor of each column that it reads or writes."""
Score = Sequence[tuple[Terms, Terms]]
"""A score as a sum of products: what the query reads, times what the key reads."""
Head = tuple[Score, Mapping[str, Terms]]
"""A head: its score, and what the value reads for each column that it writes."""
Layer = HeadParameters | FeedForwardParameters

K = 80
M = 2.0**K
"""A sink of this weight turns a mean into a sum."""
LOG2 = float(np.log(2))
SINK = K * LOG2
"""The score that gives the sink M times the weight of a score of 0."""
FAR = 160.0
"""A score of -FAR is as good as a mask: its weight is below M^-2."""
RELU = Configuration(activation="relu")


@dataclass(frozen=True)
class Stream:
    """A residual stream whose columns have names.

    Parameters
    ----------
    names : one name for each column; their number is d_model.
    """

    names: tuple[str, ...]

    @classmethod
    def of(cls, names: str) -> Stream:
        """A stream from names with blanks between them."""
        return cls(tuple(names.split()))

    def at(self, name: str) -> int:
        """The column of a name."""
        return self.names.index(name)

    def vector(self, terms: Terms) -> np.ndarray:
        """The (d_model,) vector that has these entries, and 0 elsewhere."""
        out = np.zeros(len(self.names))
        for name, factor in terms.items():
            out[self.at(name)] = factor
        return out

    def rows(self, several: Iterable[Terms]) -> np.ndarray:
        """One such vector a row."""
        return np.array([self.vector(terms) for terms in several])

    def heads(self, *heads: Head) -> HeadParameters:
        """Heads, each given by its score and by what it writes.

        A head (score, write) adds to each column of `write` the mean, by its weights, of what
        the value reads there.
        """
        d_k = max(len(score) for score, _ in heads)
        d_v = max(len(write) for _, write in heads)
        shapes = [(len(heads), len(self.names), d) for d in (d_k, d_k, d_v)]
        w_q, w_k, w_v = (np.zeros(shape) for shape in shapes)
        w_o = np.zeros((len(heads), d_v, len(self.names)))
        for h, (score, write) in enumerate(heads):
            for i, (query, key) in enumerate(score):
                w_q[h, :, i], w_k[h, :, i] = self.vector(query), self.vector(key)
            for i, (to, value) in enumerate(write.items()):
                w_v[h, :, i], w_o[h, i] = self.vector(value), self.vector({to: 1})
        return HeadParameters(w_q, w_k, w_v, w_o)

    def units(self, *units: tuple[Terms, Terms]) -> FeedForwardParameters:
        """ReLU units (form, write): relu(form) is added to the columns of `write`."""
        inner = self.rows(form for form, _ in units).T
        return FeedForwardParameters(inner, self.rows(write for _, write in units))

    def products(self, *units: tuple[Terms, Terms, Terms]) -> FeedForwardParameters:
        """Gated units (gate, form, write): relu(gate) · form is added to the columns of `write`."""
        gate = self.rows(gate for gate, _, _ in units).T
        inner = self.rows(form for _, form, _ in units).T
        return FeedForwardParameters(inner, self.rows(write for _, _, write in units), w_gate=gate)

    def squares(self, **squares: Terms) -> FeedForwardParameters:
        """The square of a form for each column, by two gated units: one for each of its signs."""
        both = [
            ({name: sign * f for name, f in form.items()}, to)
            for to, form in squares.items()
            for sign in (1, -1)
        ]
        return self.products(*((form, form, {to: 1}) for form, to in both))


def run(
    x: np.ndarray,
    layers: Iterable[Layer],
    causal: bool = True,
    dtype: Any = np.float64,
    scale: float = 1.0,
) -> np.ndarray:
    """Apply layers to hidden states, each added to the residual stream; no norms.

    Parameters
    ----------
    x : (..., T, d_model) array
        Hidden states.
    layers : iterable of HeadParameters and FeedForwardParameters
        In their order.
    causal : bool
        Whether a token sees only itself and what stands before it.
    dtype : data type
        In which everything is computed.
    scale : float
        Of the scores: what is written by hand is written for 1.

    Returns
    -------
    (..., T, d_model) array
    """
    x = x.astype(dtype)
    for layer in layers:
        x = x + apply(cast(layer, dtype), x, x, causal, scale)
    return x


def apply(
    layer: Layer, x: np.ndarray, memory: np.ndarray, causal: bool = False, scale: float = 1.0
) -> np.ndarray:
    """What one layer adds to the hidden states x (..., T, d_model), which look at a memory.

    If `causal`, the queries are the last T tokens of the memory.
    """
    if isinstance(layer, FeedForwardParameters):
        return feed_forward(x, layer, RELU)
    n, old = x.shape[-2], memory.shape[-2] - x.shape[-2]
    mask = causal_mask(n, n + old, old) if causal else None
    return multi_head_attention(x, layer, memory, mask, scale=scale)


def cast(layer: Layer, dtype: Any) -> Layer:
    """The layer with all its numbers in one precision."""
    cast: Layer = tree_map(lambda w: w.astype(dtype), layer)
    return cast
