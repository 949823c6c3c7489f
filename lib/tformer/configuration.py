"""Configuration: what a model computes beside its parameters, which hold all its sizes.

And what it asks of them, in the words of the function that was called.
"""

import math
from dataclasses import dataclass
from typing import Any, NoReturn

from tformer.parameters import BlockParameters, ModelParameters
from tformer.shapes import ShapeError

__all__ = ["Configuration", "require_block", "require_model"]

CHOICES = {
    "norm": ("layer", "rms"),
    "order": ("pre", "post"),
    "activation": ("relu", "gelu", "gelu_tanh", "silu"),
    "positions": ("none", "sinusoidal", "learned", "relative", "alibi", "rope"),
    "pairing": ("adjacent", "half"),
}
NUMBERS = {
    **dict.fromkeys(("eps", "base"), "finite and above 0"),
    "dropout": "from 0 to less than 1",
}


@dataclass(frozen=True)
class Configuration:
    """What a model computes, as far as its parameters do not say it.

    Parameters
    ----------
    norm : str
        "layer" or "rms": `layer_norm` or `rms_norm`, wherever there is a norm.
    eps : float, finite and above 0
        Added to the mean square, or to the variance, under the root of every norm.
    order : str
        "pre": a norm before each sublayer, on its own branch; "post": after each sum.
    activation : str
        "relu", "gelu", "gelu_tanh" or "silu": of the hidden units, or of the gates where there are
        any. Gates and "silu" are SwiGLU.
    positions : str
        "none", "sinusoidal" (added to the embedding), "learned" (added, from a table of the
        model), "relative" (added to the scores, from a table of the model), "alibi" or "rope".
    pairing : str
        "adjacent" or "half": which coordinates `rope` turns together.
    base : float, finite and above 0
        Of the frequencies of sinusoids, and of `rope`.
    scale_embedding : bool
        Whether embeddings are multiplied by √d_model before positions are added.
    dropout : float, from 0 to less than 1
        The share of numbers that a mask of dropout drops, in expectation; what is kept is divided
        by what remains. Without masks nothing is dropped.

    Raises
    ------
    ValueError
        If a choice has another value, or a number is out of range.
    TypeError
        If a number is no number, or scale_embedding is not True or False.

    Notes
    -----
    Defaults are those of GPT-2 [radford2019] where a choice is one of names, but for its activation
    "gelu_tanh".
    """

    norm: str = "layer"
    eps: float = 1e-5
    order: str = "pre"
    activation: str = "gelu"
    positions: str = "learned"
    pairing: str = "half"
    base: float = 10000.0
    scale_embedding: bool = False
    dropout: float = 0.0

    def __post_init__(self) -> None:
        for name, choices in CHOICES.items():
            if getattr(self, name) not in choices:
                wanted = " or ".join(f'"{x}"' for x in choices)
                self._refuse(name, wanted, ValueError)
        if not isinstance(self.scale_embedding, bool):
            self._refuse("scale_embedding", "True or False", TypeError)
        for name, words in NUMBERS.items():
            value = getattr(self, name)
            if isinstance(value, bool) or not isinstance(value, int | float):
                self._refuse(name, "a number", TypeError)
            if not (0 <= value < 1 if name == "dropout" else 0 < value < math.inf):
                self._refuse(name, words, ValueError)

    def _refuse(self, name: str, wanted: str, error: type[Exception]) -> NoReturn:
        raise error(f"Configuration: {name} must be {wanted}; got {getattr(self, name)!r}")


def require_block(where: str, block: BlockParameters, has_memory: bool, uses_rope: bool) -> None:
    """Hold a block to what it is to do: look at a memory, turn queries and keys by sinusoids.

    Raises
    ------
    ValueError
        If there is a memory and no cross-attention.
    ShapeError
        If pairs are to be turned of a width that is odd.
    """
    if has_memory and block.cross is None:
        raise ValueError(f"{where}: a memory needs parameters.cross; got None")
    d_k = block.heads.w_q.shape[-1]
    if uses_rope and d_k % 2:
        raise ShapeError(f"{where}: axis d_k must be even for sinusoids; got {d_k}")


def require_model(
    where: str,
    model: ModelParameters,
    configuration: Configuration,
    n_tokens: int,
    has_memory: bool = False,
    **several: tuple[Any, ...] | None,
) -> None:
    """Hold parameters to what a configuration asks of them, for that many words.

    Parameters
    ----------
    where : str
        The function that was called.
    model : ModelParameters
    configuration : Configuration
    n_tokens : int
        With those in a cache; 0 where positions are given.
    has_memory : bool
        Whether there is a memory, which cross-attention looks at.
    **several : tuple, optional
        What has one for each block, such as caches.

    Raises
    ------
    ValueError
        If a table of positions is missing or too short, there is a memory and no cross-attention,
        or not one of `several` for each block.
    ShapeError
        If a width is odd of which pairs are to be turned, or the number of distances is even.
    """
    kind, d_model = configuration.positions, model.embedding.shape[-1]
    if kind == "learned" and model.positions is None:
        raise ValueError(f'{where}: positions are "learned", but parameters.positions is None')
    if kind == "learned" and model.positions.shape[0] < n_tokens:
        known = model.positions.shape[0]
        raise ValueError(f"{where}: there are {known} learned positions; got {n_tokens} words")
    if kind == "relative" and model.distances is None:
        raise ValueError(f'{where}: positions are "relative", but parameters.distances is None')
    if kind == "relative" and model.distances.shape[1] % 2 == 0:
        n = model.distances.shape[1]
        raise ShapeError(f"{where}: axis n_ctx must be odd, for distances from -m to m; got {n}")
    if kind == "sinusoidal" and d_model % 2:
        raise ShapeError(f"{where}: axis d_model must be even for sinusoids; got {d_model}")
    for block in model.blocks:
        require_block(where, block, has_memory, kind == "rope")
    n = len(model.blocks)
    for name, each in several.items():
        if each is not None and len(each) != n:
            raise ValueError(
                f"{where}: {name} must have one for each of {n} blocks; got {len(each)}"
            )
