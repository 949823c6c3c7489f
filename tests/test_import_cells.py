"""The first cell of a chapter loads PyTorch only where the chapter begins with it."""

import subprocess
import sys
from pathlib import Path

import pytest

from tformer.book import notebooks
from tformer.book.normalise import code_cells, load

ROOT = Path(__file__).resolve().parents[1]
CHAPTERS = [path for path in notebooks(ROOT) if path.parent.name == "chapters"]


@pytest.mark.parametrize("path", CHAPTERS, ids=lambda path: path.stem)
def test_import_cell_loads_pytorch_only_by_name(path: Path) -> None:
    cell = code_cells(load(path))[0].source
    loaded = f"{cell}\nimport sys\nprint('torch' in sys.modules)"
    said = subprocess.run([sys.executable, "-c", loaded], capture_output=True, text=True)
    assert said.stdout.strip() == str("import torch" in cell), said.stderr
