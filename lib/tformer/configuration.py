"""The configuration of a model: what its parameters, which hold all sizes, do not determine.

It also defines the checks of parameters against a configuration.
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
    """Architecture choices of a model that its parameters do not determine.

    Parameters
    ----------
    norm : str
        "layer" or "rms": whether every norm is `layer_norm` or `rms_norm`.
    eps : float, finite and above 0
        Added to the variance (LayerNorm) or the mean square (RMSNorm) under the square root.
    order : str
        "pre" (pre-norm): a norm at the input of each sublayer. "post" (post-norm): a norm after
        each residual addition.
    activation : str
        "relu", "gelu", "gelu_tanh" or "silu", applied to the hidden units, or to the gates if the
        parameters have w_gate. "silu" with gates is SwiGLU.
    positions : str
        "none", "sinusoidal" (added to the embeddings), "learned" (added to the embeddings, from
        `ModelParameters.positions`), "relative" (a bias of the scores, from
        `ModelParameters.distances`), "alibi" (a bias of the scores) or "rope" (rotary).
    pairing : str
        Which coordinates RoPE rotates as a pair: "half" pairs i and i + d_k / 2, as `rotate_half`
        of Hugging Face transformers does for Llama; "adjacent" pairs 2i and 2i + 1, as RoFormer
        [su2024] does. The default here is "half"; that of the function `rope` is "adjacent".
    base : float, finite and above 0
        Base of the frequencies, for "sinusoidal" and "rope" (rope_theta in transformers).
    scale_embedding : bool
        Whether embeddings are multiplied by √d_model before positions are added.
    dropout : float, from 0 to less than 1
        The dropout rate p: a keep mask is False with probability p, and kept entries are divided by
        1 - p. Without keep masks nothing is dropped.

    Raises
    ------
    ValueError
        If a choice has another value, or a number is out of range.
    TypeError
        If eps, base or dropout is not a number, or scale_embedding is not True or False.

    Notes
    -----
    Choices by name default to those of GPT-2 [radford2019], except for its activation,
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
    """Raise unless a block can attend to a memory, and rotate queries and keys, where it must.

    Raises
    ------
    ValueError
        If there is a memory but no cross-attention.
    ShapeError
        If RoPE is used and d_k is odd.
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
    **per_block: tuple[Any, ...] | None,
) -> None:
    """Raise unless parameters fit a configuration, for that many tokens.

    Parameters
    ----------
    where : str
        Name of the function that was called; error messages begin with it.
    model : ModelParameters
    configuration : Configuration
    n_tokens : int
        Including those in the KV cache; 0 if positions are given.
    has_memory : bool
        Whether there is a memory for cross-attention.
    **per_block : tuple, optional
        Arguments with one entry for each block, such as caches.

    Raises
    ------
    ValueError
        If a table of positions is missing or too short, there is a memory but no cross-attention,
        or an entry of `per_block` does not have one element for each block.
    ShapeError
        If a width is odd that sinusoids or RoPE need even, or the number of distances is even.
    """
    kind, d_model = configuration.positions, model.embedding.shape[-1]
    if kind == "learned" and model.positions is None:
        raise ValueError(f'{where}: positions are "learned", but parameters.positions is None')
    if kind == "learned" and model.positions.shape[0] < n_tokens:
        known = model.positions.shape[0]
        raise ValueError(f"{where}: there are {known} learned positions; got {n_tokens} tokens")
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
    for name, each in per_block.items():
        if each is not None and len(each) != n:
            raise ValueError(
                f"{where}: {name} must have one for each of {n} blocks; got {len(each)}"
            )
