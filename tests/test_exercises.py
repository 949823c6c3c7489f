"""The exercise notebooks: made from one source, committed as made, gradable by nbgrader."""

import re
import subprocess
import sys
from collections import Counter
from functools import cache
from pathlib import Path

import pytest
from nbgrader.nbgraderformat import MetadataValidator

from tformer_book.exercises import CheckFailed, process, registry
from tformer_book.pipeline.generators import exercises
from tformer_book.pipeline.generators.exercises import (
    read,
    solved,
    sources,
    student,
    without_outputs,
)
from tformer_book.pipeline.notebook.normalise import dump, load
from tformer_book.pipeline.rules.limits import limits

ROOT = Path(__file__).resolve().parents[1]
SOURCES = sources(ROOT)
FIRST = next(path for path in SOURCES if path.stem.startswith("01"))
LEVELS = {1: "warm-up", 2: "core", 3: "challenge"}
each_source = pytest.mark.parametrize("path", SOURCES, ids=lambda path: path.stem)


@cache
def cells(path, role):
    return {cell.number: cell.node.source for cell in read(path) if cell.role == role}


def test_sources_and_checks_name_the_same_exercises():
    stated = [number for path in SOURCES for number in cells(path, "statement")]
    assert len(stated) == len(set(stated))
    assert {number.replace("-", ".") for number in stated} == set(registry.exercises())


@each_source
def test_eight_exercises_or_more_over_three_levels(path):
    statements = cells(path, "statement")
    stars = Counter()
    for number, text in statements.items():
        level = text.count("★")
        stars[level] += 1
        assert re.search(rf"{{exercise}} {'★' * level} {LEVELS[level]}, \d+ minutes$", text, re.M)
        assert text.startswith(f"## {number.replace('-', '.')} ")
    most = limits(int(path.stem[:2])).exercises
    assert min(8, most) <= len(statements) <= most
    assert set(stars) == {1, 2, 3}


@each_source
def test_each_exercise_has_its_four_cells(path):
    for role in ("statement", "solution", "check", "why"):
        assert list(cells(path, role)) == list(cells(path, "statement")), role
    solutions = cells(path, "solution")
    for number, text in cells(path, "check").items():
        name = re.search(r"def (\w+)", solutions[number]).group(1)
        assert text == f'check("{number.replace("-", ".")}", {name})'


@each_source
def test_committed_notebooks_are_what_the_source_makes(path):
    name = path.with_suffix(".ipynb").name
    assert (ROOT / "exercises" / name).read_text(encoding="utf-8") == dump(student(path))
    committed = load(ROOT / "exercises" / "solutions" / name)
    assert without_outputs(committed) == without_outputs(solved(path))


@each_source
def test_solved_notebook_folds_each_solution(path):
    notebook = solved(path)
    folded = [cell for cell in notebook.cells if "hide-input" in cell.metadata.get("tags", [])]
    assert len(folded) == len(cells(path, "solution"))
    assert all(cell.metadata.mystnb.code_prompt_show == "Show solution" for cell in folded)
    assert "SOLUTION" not in dump(notebook)
    assert f"{{download}}`{path.stem}.ipynb <../{path.stem}.ipynb>`" in dump(notebook)


@each_source
def test_student_notebook_holds_no_solution(path):
    notebook = student(path)
    text = "\n".join(cell.source for cell in notebook.cells)
    for source in cells(path, "solution").values():
        body = re.search(r"### BEGIN SOLUTION\n(.*)### END", source, re.S).group(1)
        lines = [line.strip() for line in body.splitlines() if len(line.strip()) > 12]
        assert not [line for line in lines if line in text and not line.startswith("return scores")]
    for source in cells(path, "why").values():
        assert source.splitlines()[0] not in text


@each_source
def test_student_notebook_has_valid_grading_metadata(path):
    notebook, statements = student(path), cells(path, "statement")
    MetadataValidator().validate_nb(notebook)
    graded = [c for c in notebook.cells if c.metadata.get("nbgrader", {}).get("grade")]
    answers = [c for c in notebook.cells if c.metadata.get("nbgrader", {}).get("solution")]
    assert len(graded) == len(answers) == len(statements)
    for cell in graded:
        assert cell.metadata.nbgrader.locked
        assert cell.metadata.editable is False
        number = cell.metadata.nbgrader.grade_id.removeprefix("check-")
        assert cell.metadata.nbgrader.points == statements[number].count("★")


def test_generating_keeps_outputs_until_a_cell_changes(tmp_path):
    folder = tmp_path / "exercises" / "solutions"
    folder.mkdir(parents=True)
    source = folder / "01_dot_products.py"
    source.write_text(FIRST.read_text(encoding="utf-8"), encoding="utf-8")
    target = source.with_suffix(".ipynb")
    assert len(exercises.generate(tmp_path)) == 2
    notebook = load(target)
    notebook.cells[2].execution_count = 1
    target.write_text(dump(notebook), encoding="utf-8")
    assert exercises.generate(tmp_path) == []
    assert load(target).cells[2].execution_count == 1
    source.write_text(
        source.read_text(encoding="utf-8").replace("One dot product", "A dot product"),
        encoding="utf-8",
    )
    assert len(exercises.generate(tmp_path)) == 2
    assert load(target).cells[2].execution_count is None


def nbgrader(course, *arguments):
    done = subprocess.run(
        [sys.executable, "-m", "nbgrader", *arguments],
        cwd=course,
        capture_output=True,
        text=True,
        timeout=300,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout + done.stderr


def answered(path, changes):
    """A student's notebook with all solutions written in, except for `changes`."""
    right = {
        f"solution-{number}": exercises.MARK.sub("", source)
        for number, source in cells(path, "solution").items()
    }
    notebook = load(ROOT / "exercises" / path.with_suffix(".ipynb").name)
    for cell in notebook.cells:
        grade_id = cell.metadata.get("nbgrader", {}).get("grade_id", "")
        if grade_id in right and changes.get(grade_id, "") is not None:
            cell.source = changes.get(grade_id, right[grade_id])
    return notebook


def test_nbgrader_validates_a_solved_notebook_and_not_an_empty_one(tmp_path):
    path, names = FIRST, []
    for kind, notebook in (("empty", student(path)), ("full", answered(path, {}))):
        names.append(f"{path.stem}_{kind}.ipynb")
        (tmp_path / names[-1]).write_text(dump(notebook), encoding="utf-8")
    said = nbgrader(tmp_path, "validate", *names)
    assert said.count("Success! Your notebook passes all the tests.") == 1
    assert f"VALIDATION FAILED ON {len(cells(path, 'statement'))} CELL(S)!" in said


def refused(notebook):
    """The graded cells that fail when the cells run in order, as nbgrader would run them."""
    space, found = {}, []
    for cell in (cell for cell in notebook.cells if cell.cell_type == "code"):
        try:
            exec(cell.source, space)
        except CheckFailed:
            found.append(cell.metadata.nbgrader.grade_id)
    return found


@each_source
def test_every_check_passes_in_the_solved_notebook_and_fails_in_the_empty_one(
    path, monkeypatch, capsys
):
    """In threads here, and in processes of their own where nbval runs the solved notebook."""
    monkeypatch.setattr(process, "CAN_FORK", False)
    everything = [f"check-{number}" for number in cells(path, "statement")]
    assert refused(answered(path, {})) == []
    said = " ".join(capsys.readouterr().out.split())
    assert [head for head in praised(path) if head not in said] == []
    assert refused(student(path)) == everything


@each_source
def test_every_check_has_said_so_where_nbval_compares_what_it_says(path):
    """There each check runs in a process of its own."""
    solved = load(ROOT / "exercises" / "solutions" / path.with_suffix(".ipynb").name)
    outputs = [out for cell in solved.cells for out in cell.get("outputs", ())]
    said = " ".join(str(out.get("data", {}).get("text/plain", "")) for out in outputs)
    assert [head for head in praised(path) if head not in said] == []


def praised(path):
    """How the checks of right answers begin what they say."""
    return [f"✓ Exercise {n.replace('-', '.')}, correct. " for n in cells(path, "statement")]
