"""Notebooks are run, stored and verified: what is published is what the library says now."""

import os
import shutil
import subprocess
import sys

import pytest

from tformer_book.pipeline import find_root, notebooks, run
from tformer_book.pipeline.notebook.normalise import MACHINE_TAG, SANITISE, dump, load, normalise
from tiny import code, notebook, text

LIBRARY = """\
from tformer_book.figures.style import panel, show

def area(side):
    return side * side

def draw(height):
    figure, axes = panel()
    axes.plot([0, 1], [0, height])
    show(figure)
"""
GOOD = notebook(
    text("# A square"),
    code("import time\nfrom toy import area, draw"),
    code("print(area(3))"),
    code("draw(2)"),
    code("time.perf_counter()", tags=[MACHINE_TAG]),
    code("area(None)", tags=["raises-exception"]),
)


def make_book(folder):
    """A book of one chapter that is built on a library of its own, `toy`."""
    (folder / "chapters").mkdir()
    (folder / "pyproject.toml").touch()
    (folder / "toy.py").write_text(LIBRARY, encoding="utf-8")
    write(folder, "01_square", GOOD)
    return folder


def use_library(monkeypatch, root):
    monkeypatch.setenv("PYTHONPATH", str(root))
    monkeypatch.setenv("PYTHONDONTWRITEBYTECODE", "1")  # a cache tells changes by the second


@pytest.fixture
def book(tmp_path, monkeypatch):
    """A book that has not been run."""
    use_library(monkeypatch, tmp_path)
    return make_book(tmp_path)


@pytest.fixture(scope="module")
def run_once(tmp_path_factory):
    """A book that has been run, for `stored` to copy."""
    root = make_book(tmp_path_factory.mktemp("book"))
    with pytest.MonkeyPatch.context() as monkeypatch:
        use_library(monkeypatch, root)
        assert run.main(root) == 0
    return root


@pytest.fixture
def stored(run_once, tmp_path, monkeypatch):
    """A book that has been run."""
    use_library(monkeypatch, tmp_path)
    shutil.copytree(run_once, tmp_path, dirs_exist_ok=True)
    return tmp_path


def write(root, name, nb):
    path = root / "chapters" / f"{name}.ipynb"
    path.write_text(dump(nb), encoding="utf-8")
    return path


def nbval(root):
    """Verify the notebooks as `make notebooks` does; the finished process. Only nbval is loaded."""
    options = ["--nbval", "--nbval-current-env", "--nbval-sanitize-with", str(SANITISE)]
    options += ["-p", "nbval.plugin"]
    quiet = ["-q", "-p", "no:cacheprovider", "--color", "no"]
    command = [sys.executable, "-m", "pytest", "chapters", *options, *quiet]
    alone = os.environ | {"CI": "", "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"}
    return subprocess.run(command, cwd=root, capture_output=True, text=True, check=False, env=alone)


def change_library(root, *changes):
    text = LIBRARY
    for old, new in changes:
        assert old in text
        text = text.replace(old, new)
    (root / "toy.py").write_text(text, encoding="utf-8")


def test_a_run_is_stored_once_and_verified(run_once, stored, capsys):
    path = stored / "chapters" / "01_square.ipynb"
    before = path.read_bytes()
    assert b'"9\\n"' in before
    assert b"<svg" in before
    assert str(run_once).encode() not in before

    os.utime(path, (0, 0))
    assert run.main(stored) == 0
    assert "1/1" in capsys.readouterr().out
    assert path.read_bytes() == before
    assert path.stat().st_mtime == 0, "a notebook whose outputs are the same is not rewritten"

    assert run.main(stored, force=True) == 0
    assert path.read_bytes() != before, "--force refreshes the timing"

    verified = nbval(stored)
    assert verified.returncode == 0, verified.stdout


def test_a_changed_library_makes_stored_outputs_fail(stored):
    a_number, a_figure, no_error = 1, 2, 4
    change_library(
        stored,
        ("side * side", "side * side + 1"),
        ("[0, height]", "[0, 2 * height, 3][:2]"),
        ("return side", "return 0 if side is None else side"),
    )
    verified = nbval(stored)
    failed = [line for line in verified.stdout.splitlines() if line.startswith("FAILED")]
    assert verified.returncode == 1, verified.stdout
    assert [int(line.split("::Cell ")[1].split()[0]) for line in failed] == [
        a_number,
        a_figure,
        no_error,
    ]


def test_a_change_in_the_library_is_written_by_the_next_run(stored):
    change_library(stored, ("side * side", "side + side"))
    (outcome,) = run.run(stored)
    assert outcome.changed
    assert load(outcome.path).cells[2].outputs[0].text == "6\n"


def test_an_error_is_reported_and_nothing_is_written(book, capsys):
    bad = write(book, "02_bad", notebook(code("x = 1\nx / 0"), code("print(2)")))
    mild = write(book, "03_mild", notebook(code("1", tags=["raises-exception"])))
    before = bad.read_bytes(), mild.read_bytes()
    assert run.main(book) == 1
    assert (bad.read_bytes(), mild.read_bytes()) == before
    report = capsys.readouterr()
    assert "02_bad.ipynb, code cell 0 failed\n\n    x = 1\n    x / 0\n" in report.err
    assert "ZeroDivisionError: division by zero" in report.err
    assert "\x1b[" not in report.err
    assert "03_mild.ipynb, code cell 0 is tagged raises-exception and raised nothing" in report.err
    assert "1 of 3 ran through" in report.out


def test_a_kernel_that_dies_is_reported(book):
    write(book, "01_square", notebook(code("import os; os._exit(1)")))
    (outcome,) = run.run(book)
    assert "01_square.ipynb: Kernel died" in outcome.report


def test_a_widget_keeps_its_state_and_its_file(book):
    source = (
        "import anywidget, traitlets\n"
        "class W(anywidget.AnyWidget):\n"
        "    _esm = 'export default {}'\n"
        "    data = traitlets.Bytes(b'abc').tag(sync=True)\n"
        "    def __repr__(self):\n"
        "        return 'W()'"
    )
    path = write(book, "01_square", notebook(code(source), code("unseen = W()\nW()")))
    assert run.main(book) == 0
    stored = path.read_bytes()
    assert b"export default {}" in stored
    assert b'"YWJj"' in stored
    assert stored.count(b'"AnyModel"') == 2, "one model: its name, and its _model_name"
    assert run.main(book) == 0
    assert path.read_bytes() == stored
    assert dump(normalise(load(path))).encode() == stored


def test_a_changed_exercise_is_solved_again_and_the_students_notebook_stays(book):
    folder = book / "exercises" / "solutions"
    folder.mkdir(parents=True)
    source, solved = folder / "01_square.py", folder / "01_square.ipynb"
    students = book / "exercises" / "01_square.ipynb"
    students.write_text("their answers", encoding="utf-8")
    source.write_text("# %%\nprint(1 + 1)\n", encoding="utf-8")
    assert run.main(book) == 0
    assert load(solved).cells[0].outputs[0].text == "2\n"
    before = solved.read_bytes()
    run.solve_exercises(book)
    assert solved.read_bytes() == before
    source.write_text("# %%\nprint(1 + 2)\n", encoding="utf-8")
    run.solve_exercises(book)
    assert load(solved).cells[0].outputs == []
    assert students.read_text(encoding="utf-8") == "their answers"


def test_chapters_are_chosen_by_how_they_begin(book):
    other = write(book, "02_other", GOOD)
    assert notebooks(book, "02") == [other]
    assert notebooks(book, "chapters/02_other.ipynb") == [other]
    assert len(notebooks(book)) == 2
    with pytest.raises(
        FileNotFoundError, match=r"starts with '09'; there are: 01_square, 02_other"
    ):
        notebooks(book, "09")


def test_the_book_is_found_from_inside(book):
    assert find_root(book / "chapters") == book.resolve()
    with pytest.raises(FileNotFoundError, match="no book here"):
        find_root(book.parent)


def test_an_answer_of_the_book_that_its_check_refuses_is_an_error(tmp_path):
    refused = code("from tformer_book.exercises import check\ncheck('1.1', lambda q, k: q)")
    (tmp_path / "chapters").mkdir()
    path = write(tmp_path, "01_square", notebook(text("# A square"), refused))
    with pytest.raises(run.NotebookError, match=r"(?s)01_square.*refused.*Exercise 1.1, not yet"):
        run.execute(path)
