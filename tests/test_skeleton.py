"""The skeleton of a chapter: written into a copy of the book, it passes the lint and its tests."""

import json
import os
import re
import shutil
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

from tformer_book.pipeline.generators import skeleton

ROOT = Path(__file__).parents[1]
COPIED = ("chapters", "exercises", "lib", "tests")
LEFT_OUT = shutil.ignore_patterns("__pycache__", "*.egg-info", ".ipynb_checkpoints")
TESTED = ("exercise_answers", "exercise_precision", "claims", "letters", "widgets")
"""Tests of the engines, run for the chapter; `owed` names those of what it does not have yet."""
WHOLE = ("curriculum", "quiz", "strips", "teach", "widget_code")
"""Tests that know no chapter, and try each."""
STEM = "23_sparse_experts"


def run(book: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    """Run a module of Python with the library of the copy."""
    own = os.environ | {"PYTHONPATH": os.pathsep.join(str(book / x) for x in ("lib", "tests"))}
    command = [sys.executable, "-m", *arguments]
    return subprocess.run(command, cwd=book, env=own, capture_output=True, text=True)


@pytest.fixture(scope="module")
def written(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, str]:
    """A copy of the book with a chapter more, and what was said when it was written."""
    book = tmp_path_factory.mktemp("copy") / "book"
    for folder in COPIED:
        shutil.copytree(ROOT / folder, book / folder, ignore=LEFT_OUT)
    for path in ROOT.iterdir():
        if path.is_file() and path.name != ".git":
            shutil.copy(path, book)
    done = run(book, "tformer_book.pipeline", "chapter", "23", "sparse_experts")
    assert done.returncode == 0, done.stdout + done.stderr
    return book, done.stdout


def test_the_notebooks_are_executed_and_the_lint_finds_nothing(written) -> None:
    book, said = written
    assert "3 of 3 ran through" in said
    done = run(book, "tformer_book.pipeline", "lint", "23")
    assert done.stdout.endswith("3 notebooks, 0 findings\n"), done.stdout + done.stderr


def test_its_own_tests_and_those_of_the_engines_pass(written) -> None:
    book, _ = written
    own, whole = ([f"tests/test_{name}.py" for name in names] for names in (TESTED, WHOLE))
    for files in (["tests/chapters/ch23", *own, "--chapter", "23"], whole):
        done = run(book, "pytest", "-q", "-p", "no:cacheprovider", *files)
        assert done.returncode == 0, done.stdout[-3000:] + done.stderr[-1000:]
        assert int(re.search(r"(\d+) passed", done.stdout)[1]) > 25


def test_what_is_still_to_be_written_is_said(written) -> None:
    book, said = written
    owed = said.partition("still to be written:\n")[2].splitlines()
    assert [line.strip() for line in owed] == skeleton.owed(23)
    for place in re.findall(r"tests/[\w./]+", said.partition("still to be written:")[2]):
        assert (book / place).exists()


def test_other_files_name_the_chapter_where_it_belongs(written) -> None:
    book, _ = written
    toc = (book / "_toc.yml").read_text(encoding="utf-8")
    page, deeper = (toc.index(f"file: chapters/{STEM}{end}\n") for end in ("", "_deeper"))
    assert toc.index("chapters/20_scaling_laws_deeper") < page < deeper < toc.index("Exercises")
    assert toc.index("solutions/20_") < toc.index(f"solutions/{STEM}") < toc.index("Appendices")
    plan = tomllib.loads((book / skeleton.PLAN).read_text(encoding="utf-8"))["part"]
    assert plan[-1]["chapter"][-1]["title"] == "Sparse experts"
    teach = (book / skeleton.TEACH).read_text(encoding="utf-8")
    assert teach.endswith("## Chapter 23: sparse experts\n\n:::{teach} 23\n:::\n")
    first = json.loads((book / "chapters" / f"{STEM}.ipynb").read_text(encoding="utf-8"))
    assert first["cells"][0]["source"][0] == "# Sparse experts\n"


@pytest.mark.parametrize("text", ["@N@ of @NN@", "no mark", "@TITLE@"])
def test_a_template_is_filled(text: str) -> None:
    words = {"N": "7", "NN": "07", "TITLE": "A title"}
    assert "@" not in skeleton._filled(text, words)


def test_a_chapter_between_others_is_put_between_them() -> None:
    text = "start\nx 01\nx 03\nend\n"
    assert skeleton._after(text, r"x (\d\d)\n", 2, "x 02\n") == "start\nx 01\nx 02\nx 03\nend\n"


@pytest.mark.parametrize(
    ("number", "name", "words"),
    [
        (0, "two_words", "a chapter's number is 1 to 99; got 0"),
        (100, "two_words", "a chapter's number is 1 to 99; got 100"),
        (23, "Two words", "a name is small letters, digits and _"),
        (23, "../out", "a name is small letters, digits and _"),
        (4, "two_words", "there is a chapter 4"),
    ],
)
def test_what_is_no_new_chapter_is_refused(
    tmp_path: Path, number: int, name: str, words: str
) -> None:
    (tmp_path / "tests" / "chapters" / "ch04").mkdir(parents=True)
    with pytest.raises((ValueError, FileExistsError), match=re.escape(words)):
        skeleton.write(tmp_path, number, name)
    assert sorted(x.name for x in tmp_path.iterdir()) == ["tests"]
