"""A source of tokens that is known: what follows depends on the last token alone."""

from dataclasses import dataclass
from functools import cached_property

import numpy as np

__all__ = ["Source", "drawn_source"]


@dataclass(frozen=True, eq=False)
class Source:
    """A Markov chain, with its exact entropy.

    Parameters
    ----------
    chances : (N, N) array
        In row i what follows token i; each above 0, each row adds up to 1.

    Raises
    ------
    ValueError
        If they are no such chances.
    """

    chances: np.ndarray

    def __post_init__(self) -> None:
        p = self.chances
        if p.ndim != 2 or p.shape[0] != p.shape[1] or not (p > 0).all():
            raise ValueError(f"Source: chances must be a square above 0; got {p.shape}")
        if not np.allclose(p.sum(axis=1), 1, rtol=0, atol=1e-12):
            raise ValueError("Source: each row of chances must add up to 1")

    @cached_property
    def frequencies(self) -> np.ndarray:
        """How often each token comes in the long run, (N,): the row f = f P that adds up to 1."""
        size = len(self.chances)
        lines = np.vstack([self.chances.T - np.eye(size), np.ones(size)])
        return np.linalg.lstsq(lines, np.append(np.zeros(size), 1.0))[0]

    @cached_property
    def entropy(self) -> float:
        """Nats a token that no model can save: Σ f_i H(p_i)."""
        each = -(self.chances * np.log(self.chances)).sum(axis=1)
        return float(self.frequencies @ each)

    @cached_property
    def _steps(self) -> np.ndarray:
        return self.chances.cumsum(axis=1)[:, :-1]

    def draw(self, rng: np.random.Generator, batch: int, length: int) -> np.ndarray:
        """Texts, (batch, length), each beginning as often with each token as it comes."""
        return self.texts(rng.random((length, batch)))

    def texts(self, draws: np.ndarray) -> np.ndarray:
        """The texts that numbers from 0 to 1 stand for, (length, batch) to (batch, length)."""
        tokens = np.empty(draws.T.shape, dtype=np.int64)
        tokens[:, 0] = np.searchsorted(self.frequencies.cumsum()[:-1], draws[0], side="right")
        for t in range(1, len(draws)):
            tokens[:, t] = (self._steps[tokens[:, t - 1]] <= draws[t][:, None]).sum(axis=1)
        return tokens

    def excess(self, contexts: np.ndarray, log_q: np.ndarray) -> np.ndarray:
        """By how many nats predictions are worse than the best: an exact KL for each context.

        Parameters
        ----------
        contexts : (…) array of int
            The last token of each.
        log_q : (…, N) array
            Logarithms of what a model gives to each next token.
        """
        p = self.chances[contexts]
        return np.asarray((p * (np.log(p) - log_q)).sum(axis=-1))


def drawn_source(size: int = 256, decay: float = 0.8, scale: float = 1.5, seed: int = 0) -> Source:
    """A source of Zipf's frequencies, bent by a matrix whose singular values fall as a power.

    The logits are -log(rank of the next token) plus `scale` times a matrix that has entries of mean
    square 1, random directions and the singular values 1, 2^-decay, 3^-decay, …: so a model
    of width d has to choose which directions to learn, and a wider one learns more.
    """
    rng = np.random.default_rng(seed)
    (left, right), values = (
        np.linalg.qr(rng.standard_normal((2, size, size)))[0],
        np.arange(1, size + 1) ** -decay,
    )
    bent = left * values @ right.T
    logits = scale * bent / np.sqrt((bent**2).mean()) - np.log(np.arange(1, size + 1))
    raised = np.exp(logits - logits.max(axis=1, keepdims=True))
    return Source(raised / raised.sum(axis=1, keepdims=True))
