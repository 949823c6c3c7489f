"""What the parameters of a layer do not determine: norms, masks, positions, routing."""

import math
from dataclasses import dataclass
from typing import Any, NoReturn

__all__ = [
    "LayerConfiguration",
    "LayeredConfiguration",
    "Loop",
    "RopeScaling",
    "Rotary",
    "Routing",
    "Streams",
]

CHOICES = {
    "norm": ("layer", "rms"),
    "activation": ("relu", "gelu", "gelu_tanh", "silu", "clipped_swiglu", "clipped_silu"),
    "qk_norm": ("none", "head", "projection"),
    "gate": ("sigmoid", "silu"),
    "scores": ("softmax", "sigmoid", "sqrt_softplus"),
    "pairing": ("adjacent", "half"),
    "kind": ("linear", "llama3", "yarn"),
}


@dataclass(frozen=True)
class RopeScaling:
    """How the frequencies of RoPE are changed for texts longer than those of the pretraining.

    Parameters
    ----------
    kind : str
        "linear": all frequencies are divided by the factor [chen2023]. "llama3" and "yarn": slow
        ones are divided, fast ones are kept, those between are mixed.
    factor : float, finite and above 0
    original : int, at least 1
        The context length of the pretraining; not used by "linear".
    low, high : float
        For "llama3", low_freq_factor and high_freq_factor: a frequency that turns less often than
        `low` in the original context is divided, more often than `high` kept. For "yarn",
        beta_slow and beta_fast: the same, with the mix linear in the index of the frequency.
    attention_factor : float, finite and above 0
        Multiplies what is rotated of queries and of keys.
    truncate : bool
        Whether "yarn" rounds the borders of its mix to whole indices.

    Raises
    ------
    ValueError
        If a choice has another value, or a number is out of range.
    """

    kind: str
    factor: float
    original: int = 8192
    low: float = 1.0
    high: float = 32.0
    attention_factor: float = 1.0
    truncate: bool = True

    def __post_init__(self) -> None:
        _require(self, ("kind",), above=("factor", "original", "low", "high", "attention_factor"))


@dataclass(frozen=True)
class Rotary:
    """Rotary position embedding (RoPE) of a layer.

    Parameters
    ----------
    base : float, finite and above 0
        Base of the frequencies.
    pairing : str
        "half" or "adjacent", as in `Configuration`.
    width : int, at least 2, optional
        How many coordinates of a head are rotated, from the first; all if omitted. In latent
        attention the coordinates are those of the shared key, and this is not used. In compressed
        attention the last ones are rotated.
    scaling : RopeScaling, optional
    turning : int, at least 1, optional
        How many pairs of coordinates turn, from the first; the frequencies of the others are 0.

    Raises
    ------
    ValueError
        If the pairing has another value, or a number is out of range.
    """

    base: float = 10000.0
    pairing: str = "half"
    width: int | None = None
    scaling: RopeScaling | None = None
    turning: int | None = None

    def __post_init__(self) -> None:
        _require(self, ("pairing",), above=("base", "width", "turning"))
        if self.width is not None and self.width % 2:
            _refuse(self, "width", "even")


@dataclass(frozen=True)
class Routing:
    """How a router chooses experts for a token and weighs them.

    Parameters
    ----------
    top_k : int, at least 1
        How many experts are chosen.
    scores : str
        "softmax" over all experts, or of each "sigmoid" or "sqrt_softplus".
    renormalise : bool
        Whether the weights of the chosen experts are divided by their sum.
    n_groups, top_groups : int, at least 1
        The experts are in n_groups groups of equal size, and are chosen from the top_groups groups
        whose two largest scores have the largest sum.
    factor : float, finite and above 0
        Multiplies the weights.
    weigh_input : bool
        Whether the weight of an expert multiplies its input in place of its output.

    Raises
    ------
    ValueError
        If the scores have another value, or a number is out of range.
    """

    top_k: int
    scores: str = "softmax"
    renormalise: bool = False
    n_groups: int = 1
    top_groups: int = 1
    factor: float = 1.0
    weigh_input: bool = False

    def __post_init__(self) -> None:
        _require(self, ("scores",), above=("top_k", "n_groups", "top_groups", "factor"))
        if self.top_groups > self.n_groups:
            _refuse(self, "top_groups", f"at most n_groups, {self.n_groups}")


@dataclass(frozen=True)
class LayerConfiguration:
    """Architecture choices of one layer that its parameters do not determine.

    Parameters
    ----------
    norm : str
        "layer" or "rms".
    eps : float, finite and above 0
        Of every norm of the layer but those inside latent attention.
    activation : str
        Of the feed-forward part and of experts: "relu", "gelu", "gelu_tanh", "silu",
        "clipped_swiglu", that of gpt-oss, or "clipped_silu", that of DeepSeek-V4.
    parallel : bool
        Whether the feed-forward part reads what the mixer reads, and both are added at once.
    scale : float, finite and above 0, optional
        Multiplies the scores; 1/√ of the width of queries if omitted.
    cap : float, finite and above 0, optional
        Soft cap of the scaled scores: cap · tanh(score / cap).
    window : int, at least 1, optional
        Sliding window: a token attends to itself and to the window - 1 tokens before it.
    chunk : int, at least 1, optional
        Chunked attention: a token attends to those before it in its chunk of positions.
    qk_norm : str
        RMSNorm of queries and keys: "none", over each "head", or over the whole "projection".
    qk_norm_last : bool
        Whether it is applied after RoPE instead of before it.
    rotary : Rotary, optional
        No positions (NoPE) if omitted.
    temperature : (int, float), optional
        (floor, slope): the query at position t is multiplied by
        1 + slope · log(1 + ⌊(t + 1) / floor⌋).
    value_scale : float, finite and above 0
        Multiplies the values.
    v_norm : bool
        Whether each head's values are divided by their root mean square, with no gain.
    kv_layer : int, at least 0, optional
        The earlier layer whose keys and values this one borrows.
    latent_eps : float, finite and above 0
        Of the norms inside latent attention.
    gate : str
        "sigmoid" or "silu": the activation of the output gate of a gated delta net.
    routing : Routing, optional
        Needed where there are experts.
    index_top_k : int, at least 1, optional
        How many pooled windows an indexer chooses for a token; needed where there is one.

    Raises
    ------
    ValueError
        If a choice has another value, or a number is out of range.
    """

    norm: str = "rms"
    eps: float = 1e-6
    activation: str = "silu"
    parallel: bool = False
    scale: float | None = None
    cap: float | None = None
    window: int | None = None
    chunk: int | None = None
    qk_norm: str = "none"
    qk_norm_last: bool = False
    rotary: Rotary | None = None
    temperature: tuple[int, float] | None = None
    value_scale: float = 1.0
    v_norm: bool = False
    kv_layer: int | None = None
    latent_eps: float = 1e-6
    gate: str = "sigmoid"
    routing: Routing | None = None
    index_top_k: int | None = None

    def __post_init__(self) -> None:
        sizes = ("window", "chunk", "index_top_k")
        above = ("eps", "scale", "cap", "value_scale", "latent_eps", *sizes)
        _require(self, ("norm", "activation", "qk_norm", "gate"), above)


@dataclass(frozen=True)
class Loop:
    """A loop over two stacks of layers, the low one and then the high one [wang2025].

    Each stack reads the sum of two states and replaces its own.

    Parameters
    ----------
    n_low : int, at least 1
        How many layers the low stack has, from the first; the others are the high stack.
    inner : int, at least 1
        How often the low stack is applied before the high one is applied once.
    outer : int, at least 1
        How often all of this is done.

    Raises
    ------
    ValueError
        If a number is out of range.
    """

    n_low: int
    inner: int = 1
    outer: int = 1

    def __post_init__(self) -> None:
        _require(self, (), above=("n_low", "inner", "outer"))


@dataclass(frozen=True)
class Streams:
    """How the weights of several residual streams are made.

    Parameters
    ----------
    n_rounds : int, at least 1
        How often the columns of the mixing weights are divided by their sums; between two times the
        rows are (Sinkhorn's iteration).
    eps : float, finite and above 0
        Added to these sums, to the weights before them, and to the weights of reading.

    Raises
    ------
    ValueError
        If a number is out of range.
    """

    n_rounds: int = 20
    eps: float = 1e-6

    def __post_init__(self) -> None:
        _require(self, (), above=("n_rounds", "eps"))


@dataclass(frozen=True)
class LayeredConfiguration:
    """Architecture choices of a decoder whose layers may differ.

    Parameters
    ----------
    layers : tuple of LayerConfiguration
        One for each layer.
    norm : str
        "layer" or "rms": the norm after the last layer, or in a loop after each stack.
    eps : float, finite and above 0
    embedding_scale : float, finite and above 0
        Multiplies the embeddings.
    logit_scale : float, finite and above 0
        Multiplies the logits.
    logit_cap : float, finite and above 0, optional
        Soft cap of the logits.
    loop : Loop, optional
        Each layer is applied once, in turn, if omitted.
    streams : Streams, optional
        Needed where there are several residual streams.

    Raises
    ------
    ValueError
        If the norm has another value, or a number is out of range.
    """

    layers: tuple[LayerConfiguration, ...]
    norm: str = "rms"
    eps: float = 1e-6
    embedding_scale: float = 1.0
    logit_scale: float = 1.0
    logit_cap: float | None = None
    loop: Loop | None = None
    streams: Streams | None = None

    def __post_init__(self) -> None:
        _require(self, ("norm",), ("eps", "embedding_scale", "logit_scale", "logit_cap"))
        for i, one in enumerate(self.layers):
            if one.kv_layer is not None and not 0 <= one.kv_layer < i:
                raise ValueError(
                    f"LayeredConfiguration: kv_layer of layer {i} must be an earlier one; "
                    f"got {one.kv_layer}"
                )
        if self.loop is not None and self.loop.n_low >= len(self.layers):
            _refuse(self, "loop", f"of fewer low layers than all {len(self.layers)}")

    @property
    def lenders(self) -> frozenset[int]:
        """The layers whose keys and values others borrow."""
        return frozenset(x.kv_layer for x in self.layers if x.kv_layer is not None)

    @property
    def stacks(self) -> tuple[tuple[range, int], ...]:
        """The layers of each stack in the order of use, and which state they replace."""
        n, loop = len(self.layers), self.loop
        if loop is None:
            return ((range(n), 0),)
        low, high = (range(loop.n_low), 1), (range(loop.n_low, n), 0)
        return ((low,) * loop.inner + (high,)) * loop.outer


def _require(made: Any, choices: tuple[str, ...], above: tuple[str, ...]) -> None:
    """Raise unless choices have one of their values, and numbers are finite and above 0."""
    for name in choices:
        if getattr(made, name) not in CHOICES[name]:
            _refuse(made, name, " or ".join(f'"{x}"' for x in CHOICES[name]))
    for name in above:
        value = getattr(made, name)
        if value is not None and not 0 < value < math.inf:
            _refuse(made, name, "finite and above 0")


def _refuse(made: Any, name: str, wanted: str) -> NoReturn:
    got = getattr(made, name)
    raise ValueError(f"{type(made).__name__}: {name} must be {wanted}; got {got!r}")
