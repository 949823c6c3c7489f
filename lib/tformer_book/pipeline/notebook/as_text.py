"""A notebook as MyST text, so that git shows and merges text; outputs are no part of it.

`.gitattributes` names a driver for notebooks; CONTRIBUTING says how to set it. Without arguments
but one file this writes the text, for ``git diff``; with three, git's %O, %A and %B, it merges.
"""

import copy
import subprocess
import sys
import tempfile
from pathlib import Path

import jupytext
from jupytext.combine import combine_inputs_with_outputs
from nbformat import NotebookNode

from tformer_book.pipeline.notebook.normalise import code_cells, dump, load, normalise

FORM = "md:myst"
MOST_CONFLICTS = 127
"""Git takes a higher exit status for a failure."""


def as_text(nb: NotebookNode) -> str:
    """The cells and their metadata as MyST, without outputs, ids and the state of widgets."""
    return str(jupytext.writes(copy.deepcopy(nb), fmt=FORM))


def from_text(text: str, old: NotebookNode) -> NotebookNode:
    """The notebook of a text, normalised, with the ids of `old` and its outputs.

    Code that `old` does not have counts as not run.
    """
    nb = combine_inputs_with_outputs(jupytext.reads(text, fmt=FORM), old)
    known = {cell.source for cell in code_cells(old)}
    for cell in code_cells(nb):
        if cell.source not in known:
            cell.outputs, cell.execution_count = [], None
    return normalise(nb)


def merge(base: Path, ours: Path, theirs: Path) -> int:
    """Merge into `ours` what `theirs` changed since `base`, in text.

    Returns
    -------
    int
        How many conflicts are left, at most 127; they stand in the cells, between git's marks.
    """
    old = load(ours)
    with tempfile.TemporaryDirectory() as folder:
        texts = [Path(folder, name) for name in ("ours", "base", "theirs")]
        for path, nb in zip(texts, (old, load(base), load(theirs)), strict=True):
            path.write_text(as_text(nb), encoding="utf-8")
        run = subprocess.run(["git", "merge-file", "-p", *texts], stdout=subprocess.PIPE)
    ours.write_text(dump(from_text(run.stdout.decode(), old)), encoding="utf-8", newline="\n")
    return min(run.returncode, MOST_CONFLICTS)


if __name__ == "__main__":
    paths = [Path(name) for name in sys.argv[1:]]
    if len(paths) == 3:
        sys.exit(merge(*paths))
    sys.stdout.write(as_text(load(paths[0])))
