"""Every activation of a model by name, and any of them changed by a hook (chapter 17).

    found = inside(tokens, parameters, configuration)
    found["blocks.1.weights"]                                   # (..., H, T, T)
    cut = zero("blocks.1.heads", np.s_[..., 2, -1, :])          # a head, silent at the last word
    inside(tokens, parameters, configuration, cut)["logits"]

The names are those of `activation_names`. Each activation is used as its hook returns it, so a hook
reaches all that is computed from its activation, and nothing else.
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
"""Takes an array and returns what is to stand in its place, of the same shape."""
Runs = Sequence[Mapping[str, Any]]
"""What `run_with_hooks` returned for other words, one run each."""
LOOKING = ("q", "k", "v", "weights", "heads", "attention", "between")
FEEDING = ("feed_forward", "after")


def activation_names(parameters: ModelParameters) -> tuple[str, ...]:
    """The names of all intermediates, in the order in which they are computed.

    Returns
    -------
    tuple of str
        "embedded" (..., T, d_model): words with what is added for positions. Of each block, as
        "blocks.0.q": q (..., H, T, d_k) and k (..., G, T, d_k), turned if the model turns them; v
        (..., G, T, d_v); weights (..., H, T, T); heads (..., H, T, d_v), the output of each head;
        attention (..., T, d_model), what they add; between, the words then; feed_forward, what that
        layer adds, if there is one; after, the words after the block. "normed", the words after the
        last norm, and "logits" (..., T, N).
    """
    names = ["embedded"]
    for i, one in enumerate(parameters.blocks):
        parts = LOOKING + (FEEDING if one.feed_forward is not None else FEEDING[1:])
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
    """Everything that a model computes on the way from words to logits.

    Parameters
    ----------
    tokens : (..., T) integer array
        The words, from 0 to N - 1.
    parameters : ModelParameters
        Of blocks without cross-attention.
    configuration : Configuration
    hooks : mapping from names to functions, optional
        What is to be put in the place of an intermediate, from what stands there.
    causal : bool
        Whether no word may look at a later one: a decoder's logits, otherwise an encoder's words.
    library : module
        `reference` for arrays, `fast` for tensors.
    mask : (..., T or 1, T or 1) boolean array, optional
    positions : (..., T) integer array, optional
        As in `decoder`.

    Returns
    -------
    dict
        An array for each of `activation_names`: what its hook returned, if it has one. In half
        precision each is rounded, where a model as a whole is rounded once.

    Raises
    ------
    ValueError
        If a hook is for a name that is not there, or a block has cross-attention.
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

    def goes_on(name: str, x: Any) -> Any:
        found[name] = _hooked(name, x, hooks[name]) if name in hooks else x
        return found[name]

    x = goes_on("embedded", library.stacks.embed(tokens, p, c, 0, positions))
    places = (mask, *library.stacks.position_inputs(p, c, tokens.shape[-1], 0, x, positions))
    for i, one in enumerate(p.blocks):

        def part_goes_on(part: str, x: Any, i: int = i) -> Any:
            return goes_on(f"blocks.{i}.{part}", x)

        x = _block(x, one, c, places, causal, library, part_goes_on)
    x = goes_on("normed", library.blocks.apply_norm(x, p.norm, c))
    goes_on("logits", library.unembed(x, p))
    return found


def patch(other: Mapping[str, Any], name: str, at: Any = ...) -> dict[str, Hook]:
    """A hook that puts in what another run found: activation patching.

    Parameters
    ----------
    other : mapping
        What `run_with_hooks` returned for other words.
    name : str
        Of the intermediate.
    at : index
        Where: all of it, or such as ``np.s_[..., 3, :]`` for the words at place 3. What stands
        there in the other run must have the shape of what it replaces, or of its last axes.

    Returns
    -------
    dict
        For `hooks`; join several by ``|``.

    Raises
    ------
    ValueError
        If the other run has no such intermediate.
    ShapeError
        On its use, if the shapes do not fit.
    """
    return _put("patch", _found("patch", other, name, at), name, at)


def zero_ablation(name: str, at: Any = ...) -> dict[str, Hook]:
    """A hook that puts zeros in: zero ablation.

    A model that never met zeros there may go astray by them, and not by what they replace.

    Parameters
    ----------
    name : str
        Of the intermediate.
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


def mean_ablation(others: Runs, name: str, at: Any = ...) -> dict[str, Hook]:
    """A hook that puts in the mean over other runs: mean ablation.

    What is the same in all of them stays; what tells one from another goes.

    Parameters
    ----------
    others : sequence of mappings, one or more
        What `run_with_hooks` returned for other tokens, one run each. Texts may differ in length
        if `at` picks as much from each, such as the last position.
    name : str
        Of the intermediate.
    at : index
        Where, as in `patch`.

    Returns
    -------
    dict
        For `hooks`; join several by ``|``.

    Raises
    ------
    ValueError
        If there is no other run, or one has no such intermediate.
    ShapeError
        If the runs differ in shape; on its use, if the mean does not fit.

    Notes
    -----
    [li2024] and [pochinkov2024] compare `zero_ablation`, `mean_ablation` and `resample_ablation`.
    """
    runs = _some("mean_ablation", others)
    found = [_found("mean_ablation", run, name, at) for run in runs]
    shapes = sorted({tuple(x.shape) for x in found})
    if len(shapes) > 1:
        said = f"mean_ablation: {name} must have one shape in all; got {shapes}"
        raise ShapeError(said)
    return _put("mean_ablation", sum(found[1:], found[0]) / len(found), name, at)


def resample_ablation(
    others: Runs, name: str, at: Any, rng: np.random.Generator
) -> dict[str, Hook]:
    """A hook that puts in what one of other runs found, drawn at random: resample ablation.

    What comes in is of the kind that the model knows, but it tells of another text. So repeat it,
    and look at all that comes out.

    Parameters
    ----------
    others : sequence of mappings, one or more
        What `run_with_hooks` returned for other words, one run each; all are equally likely.
    name : str
        Of the intermediate.
    at : index
        Where, as in `patch`.
    rng : numpy.random.Generator
        Draws the run, once, for either library.

    Returns
    -------
    dict
        For `hooks`; join several by ``|``.

    Raises
    ------
    ValueError
        If there is no other run, or the one drawn has no such intermediate.
    ShapeError
        On its use, if the shapes do not fit.

    Notes
    -----
    [li2024] and [pochinkov2024], as `mean_ablation`.
    """
    drawn = int(rng.integers(len(_some("resample_ablation", others))))
    return _put("resample_ablation", _found("resample_ablation", others[drawn], name, at), name, at)


def _some(where: str, others: Runs) -> Runs:
    if isinstance(others, Mapping) or not len(others):
        raise ValueError(f"{where}: others must be a sequence of one run or more")
    return others


def _found(where: str, other: Mapping[str, Any], name: str, at: Any) -> Any:
    if name not in other:
        raise ValueError(f"{where}: the other run has no {name!r}; it has {tuple(other)}")
    return other[name][at]


def _put(where: str, new: Any, name: str, at: Any) -> dict[str, Hook]:
    """The hook that puts this in; it may fill the axes before its own."""
    given = tuple(new.shape)

    def hook(x: Any) -> Any:
        y = x + 0
        there = tuple(y[at].shape)
        if len(given) > len(there) or there[len(there) - len(given) :] != given:
            raise ShapeError(f"{where}: {name} has the shape {there} there; what comes in, {given}")
        y[at] = new
        return y

    return {name: hook}


def _block(
    x: Any,
    p: BlockParameters,
    c: Configuration,
    places: tuple[Any, Any, Any],
    causal: bool,
    library: ModuleType,
    goes_on: Callable[[str, Any], Any],
) -> Any:
    """The words after a block, whose parts go on one by one."""
    mask, bias, sinusoids = places
    q, k, v = library.project(_before(x, p.heads_norm, c, library), p.heads)
    if sinusoids is not None:
        q, k = (library.rope(each, sinusoids[..., None, :, :], c.pairing) for each in (q, k))
    q, k, v = goes_on("q", q), goes_on("k", k), goes_on("v", v)
    table = library.grouped_attention_weights(q, k, mask, bias, causal=causal)
    weights = goes_on("weights", table)
    groups = [h // p.heads.group_size for h in range(weights.shape[-3])]
    y = goes_on("heads", weights @ v[..., groups, :, :])
    y = goes_on("attention", library.merge(y, p.heads))
    x = goes_on("between", _after(x, y, p.heads_norm, c, library))
    if p.feed_forward is not None:
        given = _before(x, p.feed_forward_norm, c, library)
        y = goes_on("feed_forward", library.feed_forward(given, p.feed_forward, c))
        x = _after(x, y, p.feed_forward_norm, c, library)
    return goes_on("after", x)


def _before(x: Any, norm: Any, c: Configuration, library: ModuleType) -> Any:
    return library.blocks.apply_norm(x, norm, c) if library.blocks.NORM_FIRST[c.order] else x


def _after(x: Any, y: Any, norm: Any, c: Configuration, library: ModuleType) -> Any:
    first = library.blocks.NORM_FIRST[c.order]
    return x + y if first else library.blocks.apply_norm(x + y, norm, c)


def _hooked(name: str, x: Any, hook: Hook) -> Any:
    y = hook(x)
    if tuple(y.shape) != tuple(x.shape):
        raise ShapeError(
            f"run_with_hooks: the hook of {name} must keep the shape {tuple(x.shape)}; "
            f"got {tuple(y.shape)}"
        )
    return y
