"""Every activation of a model by name, and any of them changed by a hook (chapter 17).

    run = run_with_hooks(tokens, parameters, configuration)
    run["blocks.1.weights"]                                     # (..., H, T, T)
    hooks = zero_ablation("blocks.1.heads", np.s_[..., 2, -1, :])  # head 2 at the last position
    run_with_hooks(tokens, parameters, configuration, hooks)["logits"]

The names are those of `activation_names`. The model goes on with what a hook returns, so a hook
changes everything that is computed from its activation, and nothing else.
"""

from collections.abc import Callable, Mapping, Sequence
from types import ModuleType
from typing import Any

import numpy as np

from tformer import reference
from tformer.configuration import Configuration
from tformer.parameters import BlockParameters, ModelParameters
from tformer.shapes import ShapeError

__all__ = [
    "Hook",
    "Runs",
    "activation_names",
    "mean_ablation",
    "patch",
    "resample_ablation",
    "run_with_hooks",
    "zero_ablation",
]

Hook = Callable[[Any], Any]
"""Takes an activation and returns its replacement, of the same shape."""
Hooks = dict[str, Hook]
"""Hooks by the names of their activations."""
Runs = Sequence[Mapping[str, Any]]
"""What `run_with_hooks` returned for other inputs, one run each."""
ATTENTION = ("q", "k", "v", "weights", "heads", "attention", "between")
FEED_FORWARD = ("feed_forward", "after")


def activation_names(parameters: ModelParameters) -> tuple[str, ...]:
    """The names of all activations, in the order in which they are computed.

    Returns
    -------
    tuple of str
        "embedded" (..., T, d_model): the residual stream before the first block, token embeddings
        and positions. Of each block, as "blocks.0.q": q (..., H, T, d_k) and k (..., G, T, d_k),
        rotated if positions are rotary; v (..., G, T, d_v); weights (..., H, T, T), of attention;
        heads (..., H, T, d_v), the output of each head; attention (..., T, d_model), the output of
        the layer; between, the residual stream after attention; feed_forward, the output of that
        layer, if there is one; after, the residual stream after the block. "normed", after the last
        norm, and "logits" (..., T, N).
    """
    names = ["embedded"]
    for i, one in enumerate(parameters.blocks):
        parts = ATTENTION + (FEED_FORWARD if one.feed_forward is not None else FEED_FORWARD[1:])
        names += [f"blocks.{i}.{part}" for part in parts]
    return (*names, "normed", "logits")


def run_with_hooks(
    tokens: Any,
    parameters: ModelParameters,
    configuration: Configuration,
    hooks: Mapping[str, Hook] | None = None,
    causal: bool = True,
    library: ModuleType = reference,
    mask: Any = None,
    positions: Any = None,
) -> dict[str, Any]:
    """All activations of a forward pass, with hooks that change some of them.

    Parameters
    ----------
    tokens : (..., T) integer array
        From 0 to N - 1.
    parameters : ModelParameters
        Of blocks without cross-attention.
    configuration : Configuration
    hooks : mapping from names to functions, optional
        Each takes the activation of its name and returns its replacement.
    causal : bool
        Whether attention is causal, as in a decoder; otherwise as in an encoder.
    library : module
        `reference` for arrays, `fast` for tensors.
    mask : (..., T or 1, T or 1) boolean array, optional
    positions : (..., T) integer array, optional
        As in `decoder`.

    Returns
    -------
    dict
        An array for each of `activation_names`: what its hook returned, if it has one. In half
        precision each activation is rounded; `decoder` rounds once, at the end.

    Raises
    ------
    ValueError
        If a hook is for an unknown name, or a block has cross-attention.
    ShapeError
        If a hook returns another shape.
    """
    p, c, hooks = parameters, configuration, hooks or {}
    known = activation_names(p)
    for name in hooks:
        if name not in known:
            raise ValueError(f"run_with_hooks: there is no activation {name!r}; there are {known}")
    if any(one.cross is not None for one in p.blocks):
        raise ValueError("run_with_hooks: parameters must have no cross-attention")
    library.stacks.require_tokens("run_with_hooks", tokens, p, c, positions=positions)
    found: dict[str, Any] = {}

    def record(name: str, x: Any) -> Any:
        found[name] = _apply_hook(name, x, hooks[name]) if name in hooks else x
        return found[name]

    x = record("embedded", library.stacks.embed(tokens, p, c, 0, positions))
    inputs = (mask, *library.stacks.position_inputs(p, c, tokens.shape[-1], 0, x, positions))
    for i, one in enumerate(p.blocks):

        def record_part(part: str, x: Any, i: int = i) -> Any:
            return record(f"blocks.{i}.{part}", x)

        x = _block(x, one, c, inputs, causal, library, record_part)
    x = record("normed", library.blocks.apply_norm(x, p.norm, c))
    record("logits", library.unembed(x, p))
    return found


def patch(other: Mapping[str, Any], name: str, at: Any = ...) -> Hooks:
    """A hook that replaces an activation by that of another run: activation patching.

    Parameters
    ----------
    other : mapping
        What `run_with_hooks` returned for another input.
    name : str
        Of the activation.
    at : index
        Where: all of it, or such as ``np.s_[..., 3, :]`` for position 3. The part of the other run
        must have the shape of what it replaces, or of its last axes.

    Returns
    -------
    dict
        For `hooks`; join several by ``|``.

    Raises
    ------
    ValueError
        If the other run has no such activation.
    ShapeError
        On its use, if the shapes do not fit.
    """
    return _replacement("patch", _activation("patch", other, name, at), name, at)


def zero_ablation(name: str, at: Any = ...) -> Hooks:
    """A hook that replaces an activation by zeros: zero ablation.

    Zeros may be far from every value that the model has seen there; then the effect is partly that
    of the zeros, and not only that of the lost information.

    Parameters
    ----------
    name : str
        Of the activation.
    at : index
        Where: all of it, or such as ``np.s_[..., 2, :, :]`` for a head's outputs.

    Returns
    -------
    dict
        For `hooks`; join several by ``|``.
    """

    def hook(x: Any) -> Any:
        y = x + 0
        y[at] = 0
        return y

    return {name: hook}


def mean_ablation(others: Runs, name: str, at: Any = ...) -> Hooks:
    """A hook that replaces an activation by its mean over other runs: mean ablation.

    What all runs have in common is kept; what differs between them is removed.

    Parameters
    ----------
    others : sequence of mappings, one or more
        What `run_with_hooks` returned for other inputs, one run each. Sequences may differ in
        length if `at` takes as much from each, such as the last position.
    name : str
        Of the activation.
    at : index
        Where, as in `patch`.

    Returns
    -------
    dict
        For `hooks`; join several by ``|``.

    Raises
    ------
    ValueError
        If there is no other run, or one has no such activation.
    ShapeError
        If the runs differ in shape; on its use, if the mean does not fit.

    Notes
    -----
    [li2024] and [pochinkov2024] compare `zero_ablation`, `mean_ablation` and `resample_ablation`.
    """
    here = "mean_ablation"
    runs = _require_runs(here, others)
    found = [_activation(here, run, name, at) for run in runs]
    shapes = sorted({tuple(x.shape) for x in found})
    if len(shapes) > 1:
        said = f"{here}: {name} must have one shape in all; got {shapes}"
        raise ShapeError(said)
    mean = sum(found[1:], found[0]) / len(found)
    return _replacement(here, mean, name, at)


def resample_ablation(others: Runs, name: str, at: Any, rng: np.random.Generator) -> Hooks:
    """A hook that replaces an activation by that of a run drawn at random: resample ablation.

    The replacement is a value that the model produces, but for another input. So repeat it with
    several draws, and report the distribution of the results.

    Parameters
    ----------
    others : sequence of mappings, one or more
        What `run_with_hooks` returned for other inputs, one run each; all are equally likely.
    name : str
        Of the activation.
    at : index
        Where, as in `patch`.
    rng : numpy.random.Generator
        Draws the run, once.

    Returns
    -------
    dict
        For `hooks`; join several by ``|``.

    Raises
    ------
    ValueError
        If there is no other run, or the one drawn has no such activation.
    ShapeError
        On its use, if the shapes do not fit.

    Notes
    -----
    [li2024] and [pochinkov2024], as `mean_ablation`.
    """
    where = "resample_ablation"
    drawn = others[int(rng.integers(len(_require_runs(where, others))))]
    return _replacement(where, _activation(where, drawn, name, at), name, at)


def _require_runs(where: str, others: Runs) -> Runs:
    if isinstance(others, Mapping) or not len(others):
        raise ValueError(f"{where}: others must be a sequence of one run or more")
    return others


def _activation(where: str, other: Mapping[str, Any], name: str, at: Any) -> Any:
    if name not in other:
        raise ValueError(f"{where}: the other run has no {name!r}; it has {tuple(other)}")
    return other[name][at]


def _replacement(where: str, new: Any, name: str, at: Any) -> Hooks:
    """The hook that puts `new` in place of an activation; it broadcasts over leading axes."""
    given = tuple(new.shape)

    def hook(x: Any) -> Any:
        y = x + 0
        there = tuple(y[at].shape)
        if len(given) > len(there) or there[len(there) - len(given) :] != given:
            raise ShapeError(
                f"{where}: {name} has the shape {there} there; the replacement, {given}"
            )
        y[at] = new
        return y

    return {name: hook}


def _block(
    x: Any,
    p: BlockParameters,
    c: Configuration,
    inputs: tuple[Any, Any, Any],
    causal: bool,
    library: ModuleType,
    record: Callable[[str, Any], Any],
) -> Any:
    """The residual stream after a block, each activation of which is recorded."""
    mask, bias, sinusoids = inputs
    q, k, v = library.project(library.blocks.sublayer_input(x, p.heads_norm, c), p.heads)
    if sinusoids is not None:
        q, k = (library.rope(each, sinusoids[..., None, :, :], c.pairing) for each in (q, k))
    q, k, v = record("q", q), record("k", k), record("v", v)
    weights = library.grouped_attention_weights(q, k, mask, bias, causal=causal)
    weights = record("weights", weights)
    groups = [h // p.heads.group_size for h in range(weights.shape[-3])]
    y = record("heads", weights @ v[..., groups, :, :])
    y = record("attention", library.merge(y, p.heads))
    x = record("between", library.blocks.add_residual(x, y, p.heads_norm, c, None))
    if p.feed_forward is not None:
        given = library.blocks.sublayer_input(x, p.feed_forward_norm, c)
        y = record("feed_forward", library.feed_forward(given, p.feed_forward, c))
        x = library.blocks.add_residual(x, y, p.feed_forward_norm, c, None)
    return record("after", x)


def _apply_hook(name: str, x: Any, hook: Hook) -> Any:
    y = hook(x)
    if tuple(y.shape) != tuple(x.shape):
        shapes = f"{tuple(x.shape)}; got {tuple(y.shape)}"
        raise ShapeError(f"run_with_hooks: the hook of {name} must keep the shape {shapes}")
    return y
