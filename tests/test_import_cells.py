"""The first cell of a chapter loads PyTorch only where the chapter begins with it."""

import json
import subprocess
import sys
from functools import cache
from pathlib import Path

import pytest

from tformer_book.pipeline import notebooks
from tformer_book.pipeline.notebook.normalise import code_cells, load

ROOT = Path(__file__).resolve().parents[1]
CELLS = {
    path: code_cells(load(path))[0].source
    for path in notebooks(ROOT)
    if path.parent.name == "chapters"
}
RUN = """
import json, sys
loaded = {}
for name, cell in json.load(sys.stdin):
    exec(cell, {"__name__": "__main__"})
    loaded[name] = "torch" in sys.modules
print(json.dumps(loaded))
"""


@cache
def loaded() -> dict[str, bool]:
    """Whether PyTorch is there after each cell: one process runs all, those that name it last."""
    cells = sorted((("import torch" in cell, str(path), cell) for path, cell in CELLS.items()))
    given = json.dumps([(path, cell) for _, path, cell in cells])
    done = subprocess.run([sys.executable, "-c", RUN], input=given, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout.splitlines()[-1])


@pytest.mark.parametrize("path", CELLS, ids=lambda path: path.stem)
def test_import_cell_loads_pytorch_only_by_name(path: Path) -> None:
    """The first of several that fail is the one to mend: the others come after it."""
    assert loaded()[str(path)] == ("import torch" in CELLS[path])
