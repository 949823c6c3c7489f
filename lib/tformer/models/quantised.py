"""The parameters of a GGUF file in the bits that it has: four and eight a weight, for `fast`."""

import ctypes
import sys
import warnings
from typing import Any

from tformer.models.state_dicts import from_state_dict
from tformer.parameters import ModelParameters, tree_map
from tformer.pretrained import Checkpoint
from tformer.pretrained.blocks import quantised

__all__ = ["quantised_parameters"]

EMBEDDING = "model.embed_tokens.weight"


def quantised_parameters(found: Checkpoint) -> ModelParameters:
    """The parameters of a file as tensors, each matrix of four or eight bits as `QuantisedMatrix`.

    Other tensors are float32, and so is a matrix whose number of outputs is not a multiple of 64.
    Where PyTorch has no kernel for such matrices, one warning says so, and all tensors are float32.
    """
    import torch

    from tformer.fast.quantised import QuantisedMatrix, lay_together, missing_kernel

    if reason := missing_kernel():
        warnings.warn(f"from_pretrained: weights are float32, as {reason}", stacklevel=3)
    about, info = found.architecture, found.tensors.info
    state = dict[str, Any]()
    marked = list[tuple[str, bool]]()
    for name, common in about.common_names().items():
        shape, kind = info[name].shape, info[name].format.name
        if reason or not kind.startswith("Q") or shape[0] % 64:
            state[common] = torch.from_numpy(found.tensors[name])
        else:  # a mark of the same shape, whose every number is its place in the list
            state[common] = torch.tensor(len(marked)).expand(shape)
            marked.append((name, common == EMBEDDING))

    def unmarked(leaf: Any) -> Any:
        if leaf.is_floating_point():
            return leaf
        name, is_table = marked[int(leaf.flatten()[0])]
        q, scales, zeros = (
            x if x is None else torch.from_numpy(x.reshape(info[name].shape[0], -1))
            for x in quantised(found.tensors.stored(name))
        )
        return QuantisedMatrix(q, scales, zeros, tuple(leaf.shape), is_table)  # type: ignore[arg-type]

    tree = from_state_dict("llama", state, about.n_heads, about.n_groups)
    made: ModelParameters = tree_map(unmarked, tree)
    for block in made.blocks:
        heads, layer = block.heads, block.feed_forward
        gated = () if layer is None else (layer.w_in, layer.w_gate)
        for several in ((heads.w_q, heads.w_k, heads.w_v), gated):
            if several and all(type(x) is QuantisedMatrix for x in several):
                lay_together(*several)
    _return_freed_memory()
    return made


def _return_freed_memory() -> None:
    """Return to the system what unpacking has freed; the C library of Linux keeps most of it."""
    if sys.platform == "linux":
        library = ctypes.CDLL(None)
        if hasattr(library, "malloc_trim"):  # musl has none
            library.malloc_trim(0)
