"""Sizes of the things the book builds. A configuration that exists is a valid one."""

from dataclasses import dataclass

from tformer.shapes import require_count

__all__ = ["AttentionSizes", "EmbeddingSizes"]


@dataclass(frozen=True)
class EmbeddingSizes:
    """Sizes of word vectors made from counts.

    Attributes
    ----------
    n_vocab : int
        Vocabulary size, N.
    d_model : int
        Width of a vector, D; at most n_vocab.
    window : int
        How far apart two words may stand and still count as neighbours.

    Raises
    ------
    ValueError
        If a size is out of range.
    """

    n_vocab: int
    d_model: int
    window: int

    def __post_init__(self) -> None:
        require_count("EmbeddingSizes", "n_vocab", self.n_vocab)
        require_count("EmbeddingSizes", "d_model", self.d_model, most=self.n_vocab)
        require_count("EmbeddingSizes", "window", self.window)


@dataclass(frozen=True)
class AttentionSizes:
    """Sizes of one attention layer.

    Attributes
    ----------
    d_model : int
        Model width, D; a multiple of n_heads.
    n_heads : int
        Heads, H; a multiple of n_kv_heads.
    n_kv_heads : int, optional
        Key/value heads, G; as many as heads if left out.

    Raises
    ------
    ValueError
        If a size is below 1 or does not divide as it must.
    """

    d_model: int
    n_heads: int
    n_kv_heads: int | None = None

    def __post_init__(self) -> None:
        require_count("AttentionSizes", "d_model", self.d_model)
        require_count("AttentionSizes", "n_heads", self.n_heads)
        n_kv_heads = self.n_heads if self.n_kv_heads is None else self.n_kv_heads
        require_count("AttentionSizes", "n_kv_heads", n_kv_heads)
        object.__setattr__(self, "n_kv_heads", n_kv_heads)
        for large, small in (("d_model", "n_heads"), ("n_heads", "n_kv_heads")):
            if getattr(self, large) % getattr(self, small):
                raise ValueError(
                    f"AttentionSizes: {large} must be a multiple of {small}; "
                    f"got {getattr(self, large)} and {getattr(self, small)}"
                )

    @property
    def d_head(self) -> int:
        """Width of the queries and keys of one head, K."""
        return self.d_model // self.n_heads
