"""Notebooks as text: nothing is lost on the way, and git merges them cell by cell."""

from pathlib import Path

from nbformat import NotebookNode

from browsing import ROOT
from tformer_book.pipeline.notebook.as_text import as_text, from_text, merge
from tformer_book.pipeline.notebook.normalise import dump, load, normalise
from tiny import code, notebook, printed, text

CHAPTER = load(ROOT / "chapters" / "04_why_sqrt_d.ipynb")
"""It has figures with captions, and widgets."""


def small() -> NotebookNode:
    cells = [text("# One"), code("1"), text("Prose."), code("print(2)", printed("2\n"), tags=["a"])]
    return normalise(notebook(*cells))


def merged(folder: Path, ours: NotebookNode, theirs: NotebookNode) -> tuple[int, NotebookNode]:
    paths = [folder / name for name in ("base", "ours", "theirs")]
    for path, nb in zip(paths, (small(), normalise(ours), normalise(theirs)), strict=True):
        path.write_text(dump(nb), encoding="utf-8")
    return merge(*paths), load(paths[1])


def test_a_chapter_survives_with_ids_outputs_captions_and_widgets() -> None:
    assert "widgets" in CHAPTER.metadata
    words = as_text(CHAPTER)
    assert "fig-cloud" in words
    assert '"image/svg+xml"' not in words
    assert dump(from_text(words, CHAPTER)) == dump(CHAPTER)


def test_changes_in_two_places_are_merged(tmp_path: Path) -> None:
    ours, theirs = small(), small()
    ours.cells.insert(1, code("0", printed("0\n")))
    theirs.cells.append(code("3", printed("3\n")))
    theirs.cells[2].source = "Better prose."
    conflicts, found = merged(tmp_path, ours, theirs)
    assert conflicts == 0
    assert [cell.source for cell in found.cells] == [
        *("# One", "0", "1", "Better prose.", "print(2)", "3")
    ]
    assert [len(cell.get("outputs", "-")) for cell in found.cells] == [1, 1, 0, 1, 1, 0]
    assert found.cells[-1].execution_count is None
    assert found.cells[4].metadata == {"tags": ["a"]}
    assert dump(normalise(found)) == dump(found)


def test_a_conflict_stands_in_its_cell_and_the_notebook_opens(tmp_path: Path) -> None:
    ours, theirs = small(), small()
    ours.cells[2].source, theirs.cells[2].source = "Our prose.", "Their prose."
    conflicts, found = merged(tmp_path, ours, theirs)
    assert conflicts == 1
    (cell,) = (cell for cell in found.cells if "<<<<<<<" in cell.source)
    assert "Our prose.\n=======\nTheir prose.\n>>>>>>>" in cell.source
    assert found.cells[3].outputs == small().cells[3].outputs


def test_code_that_was_changed_counts_as_not_run(tmp_path: Path) -> None:
    theirs = small()
    theirs.cells[3].source = "print(3)"
    conflicts, found = merged(tmp_path, small(), theirs)
    assert conflicts == 0
    assert (found.cells[3].outputs, found.cells[3].execution_count) == ([], None)
