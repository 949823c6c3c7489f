"""What `make check` chooses for a change, in a small book in git."""

import json
import subprocess
from pathlib import Path

import pytest

from tformer_book.pipeline import changed

CELL = {"cell_type": "code", "execution_count": 1, "id": "b", "metadata": {}, "outputs": []}
TEXT = {"cell_type": "markdown", "id": "a", "metadata": {}}
NORMS = '''"""Norms."""


def layer_norm(x):
    return _mean(x)


def rms_norm(x):
    return x


def _mean(x):
    return x
'''


def page(sentence: str, code: str = "1 + 1") -> str:
    """A notebook of one sentence and one line of code."""
    cells = [{**TEXT, "source": [sentence]}, {**CELL, "source": [code]}]
    return json.dumps({"cells": cells, "metadata": {}, "nbformat": 4, "nbformat_minor": 5})


BOOK = {
    "pyproject.toml": "",
    "chapters/04_scale.ipynb": page("It divides."),
    "exercises/solutions/04_scale.py": "",
    "lib/tformer/reference/norms.py": NORMS,
    "lib/tformer_book/chapters/ch04/checks.py": "",
    "lib/tformer_book/chapters/ch04/figures.py": "",
    "lib/tformer_book/chapters/ch04/quiz.toml": "",
    "lib/tformer_book/chapters/ch04/wide.js": "",
    "lib/tformer_book/chapters/ch04/wide.py": "",
    "lib/tformer_book/pipeline/site/menu.py": "",
    "assets/book.css": "",
    "tests/cases.py": "CASES = {'layer_norm': 1}",
    "tests/helper.py": "",
    "tests/test_any.py": "from tformer import reference as ref\nref.rms_norm(1)",
    "tests/test_exercises.py": "",
    "tests/test_letters.py": "",
    "tests/test_quiz.py": "",
    "tests/test_widgets.py": "",
    "tests/test_menu.py": "",
    "tests/test_other.py": "import helper",
    "tests/test_style.py": 'read("book.css")',
    "tests/test_twins.py": "from cases import CASES",
    "tests/browser/test_page.py": "import helper",
    "tests/chapters/ch04/planted_answers.py": "",
    "tests/chapters/ch04/test_figures.py": "",
    "tests/chapters/ch04/test_browser.py": "",
}


def git(root: Path, *arguments: str) -> None:
    who = ["-c", "user.name=A", "-c", "user.email=a@example.org"]
    subprocess.run(["git", *who, *arguments], cwd=root, check=True, capture_output=True)


@pytest.fixture
def book(tmp_path: Path) -> Path:
    """The book, committed on `main`, and a branch that leaves it."""
    root = tmp_path / "book"
    for name, text in BOOK.items():
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text(text, encoding="utf-8")
    git(root, "init", "-q", "-b", "main")
    git(root, "add", "--all")
    git(root, "commit", "-m", "All")
    git(root, "checkout", "-q", "-b", "mine")
    return root


def chosen(root: Path, name: str, text: str | None) -> changed.Selection:
    """What is chosen when one file has another text, or none."""
    (root / name).write_text(text, encoding="utf-8") if text else (root / name).unlink()
    commit, names = changed.since(root)
    assert names == [name]
    return changed.select(root, commit, names)


NO_NAMES = ((), ())


@pytest.mark.parametrize(
    ("name", "tests", "of_chapter"),
    [
        ("tests/test_menu.py", ["menu"], {}),
        ("tests/helper.py", ["other"], {}),
        ("lib/tformer_book/pipeline/site/menu.py", ["menu"], {}),
        ("assets/book.css", ["style"], {}),
        ("lib/tformer_book/chapters/ch04/checks.py", [], {"04": ["exercises"]}),
        ("tests/chapters/ch04/planted_answers.py", [], {"04": ["exercises"]}),
        ("exercises/solutions/04_scale.py", [], {"04": ["exercises"]}),
        ("lib/tformer_book/chapters/ch04/figures.py", ["../chapters/ch04/test_figures"], {}),
        ("lib/tformer_book/chapters/ch04/quiz.toml", ["quiz"], {}),
        (
            "lib/tformer_book/chapters/ch04/wide.js",
            ["../chapters/ch04/test_figures"],
            {"04": ["widgets"]},
        ),
    ],
)
def test_a_changed_file_asks_for_its_tests(
    book: Path, name: str, tests: list[str], of_chapter: dict[str, list[str]]
) -> None:
    found = chosen(book, name, "# changed\n")
    named = tuple(
        f"tests/{x.removeprefix('../')}.py" if "/" in x else f"tests/test_{x}.py" for x in tests
    )
    per_chapter = {n: tuple(f"tests/test_{x}.py" for x in files) for n, files in of_chapter.items()}
    helped = ("tests/test_other.py",) if name == "tests/helper.py" else named
    assert found == changed.Selection((), helped, per_chapter, NO_NAMES, ())


def test_a_sentence_is_linted_and_nothing_is_run_again(book: Path) -> None:
    found = chosen(book, "chapters/04_scale.ipynb", page("It multiplies."))
    assert (found.lint, found.executed) == (("04_scale",), ())
    assert found.of_chapter == {"04": ("tests/test_letters.py",)}
    assert found.tests == ("tests/test_quiz.py",)
    lint, _, letters = found.commands()
    assert lint[-2:] == ["lint", "04_scale"]
    assert letters[-2:] == ["--chapter", "04"]


def test_a_page_whose_code_changed_is_run_again(book: Path) -> None:
    name = "chapters/04_scale.ipynb"
    found = chosen(book, name, page("It divides.", "1 + 2"))
    assert found.executed == (name,)
    assert "--nbval" in list(found.commands())[-1]


@pytest.mark.parametrize(
    ("right", "wrong", "names", "direct"),
    [
        ("return x\n\n\ndef _mean", "return 2 * x\n\n\ndef _mean", ["rms_norm"], True),
        ("return _mean(x)", "return x", ["layer_norm"], False),
        ("return x\n", "return 3 * x\n", ["rms_norm"], True),
        ('"""Norms."""', '"""A norm."""', ["layer_norm", "rms_norm"], True),
    ],
)
def test_a_changed_function_asks_for_the_tests_that_name_it(
    book: Path, right: str, wrong: str, names: list[str], direct: bool
) -> None:
    found = chosen(book, "lib/tformer/reference/norms.py", NORMS.replace(right, wrong, 1))
    assert found.tests == (("tests/test_any.py",) if direct else ())
    in_table = "layer_norm" in names
    assert found.of_names == ((("tests/test_twins.py",) if in_table else ()), tuple(names))


def test_a_private_function_stands_for_all_that_may_use_it(book: Path) -> None:
    text = NORMS.removesuffix("return x\n") + "return 4 * x\n"
    found = chosen(book, "lib/tformer/reference/norms.py", text)
    assert found.of_names == (("tests/test_twins.py",), ("layer_norm", "rms_norm"))


def test_deleted_and_new_files_count_and_ignored_ones_do_not(book: Path) -> None:
    assert chosen(book, "tests/test_menu.py", None).tests == ()
    (book / "tests" / "test_new.py").write_text("")
    (book / ".git" / "info" / "exclude").write_text("kept\n")
    (book / "kept").write_text("")
    assert changed.since(book)[1] == ["tests/test_menu.py", "tests/test_new.py"]


def test_what_is_committed_on_the_branch_counts_unless_another_start_is_named(book: Path) -> None:
    (book / "tests" / "test_new.py").write_text("")
    git(book, "add", "--all")
    git(book, "commit", "-m", "Mine")
    assert changed.since(book)[1] == ["tests/test_new.py"]
    assert changed.since(book, "HEAD")[1] == []
