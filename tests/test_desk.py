"""The student's desk: what is written, what is kept, and what `progress` reads from a notebook."""

import json
import shutil
from pathlib import Path

import nbformat
import pytest
from nbclient import NotebookClient

from tformer_book.exercises import progress
from tformer_book.exercises.display import coded, with_name
from tformer_book.pipeline.__main__ import main
from tformer_book.pipeline.generators.exercises import student
from tformer_book.pipeline.lab.desk import RECORD, carried, write
from tformer_book.pipeline.notebook.normalise import dump, load

ROOT = Path(__file__).resolve().parents[1]
SMALL = """parts:
- numbered: true
  chapters: [{file: chapters/01_a, sections: [{file: chapters/01_b}]}]
"""
DESK = ("01_a.ipynb", "deeper/01_a.ipynb")
ANSWER = "def row_dots(q, k):\n    return (q * k).sum(-1)"
DOTS = ROOT / "exercises/solutions/01_dot_products.py"


@pytest.fixture(autouse=True)
def unheard(monkeypatch: pytest.MonkeyPatch) -> None:
    """No verdict of another test in this process is counted here."""
    monkeypatch.setattr("tformer_book.exercises.done._said", {})


@pytest.fixture
def small(tmp_path: Path) -> Path:
    """A book of one chapter with a deeper page, a glossary and exercises."""
    (tmp_path / "chapters").mkdir()
    (tmp_path / "exercises").mkdir()
    (tmp_path / "_toc.yml").write_text(SMALL)
    (tmp_path / "pyproject.toml").touch()
    (tmp_path / "chapters/glossary.md").write_text("# Glossary\n")
    shutil.copy(ROOT / "references.bib", tmp_path)
    for name, there in (("01_a", "thm-b"), ("01_b", "thm-a")):
        theorem = f":::{{prf:theorem}} T\n:label: thm-{name[-1]}\n\nBy {{prf:ref}}`{there}`.\n:::"
        text = f"# Title {name}\n\n{{doc}}`glossary`\n\n{theorem}"
        cells = [nbformat.v4.new_markdown_cell(text, id=f"cell-{name}")]
        nbformat.write(nbformat.v4.new_notebook(cells=cells), tmp_path / f"chapters/{name}.ipynb")
    (tmp_path / "exercises/01_a.ipynb").write_text(dump(student(DOTS)))
    return tmp_path


def test_the_readers_own_transformer_is_written_once(small: Path) -> None:
    write(small)
    mine = small / "lab/my_transformer.py"
    assert "lend(globals())" in mine.read_text()
    mine.write_text("x = 1\n")
    assert mine not in [written.path for written in write(small)]
    assert mine.read_text() == "x = 1\n"
    assert list(small.glob("lab/*mine-*")) == []


def change(path: Path, old: str, new: str) -> None:
    text = path.read_text()
    assert old in text
    path.write_text(text.replace(old, new))


def source(notebook: nbformat.NotebookNode, name: str) -> str:
    return next(cell.source for cell in notebook.cells if cell["id"] == name)


def test_the_desk_holds_all_that_its_pages_lead_to_and_no_solution(small: Path) -> None:
    there = [path.relative_to(small / "lab").as_posix() for path, _ in write(small)]
    pages = ["01_a.ipynb", "01_b.ipynb", "exercises/01_a.ipynb", "glossary.md"]
    assert there == [*pages, "my_transformer.py"]
    assert "By [Theorem 1.2](01_b.ipynb#thm-b)" in load(small / "lab/01_a.ipynb").cells[0].source
    deeper = load(small / "lab/01_b.ipynb").cells[0].source
    assert deeper.startswith("# Title 01_b")
    assert "\n:enumerator: 1.2\n" in deeper
    assert not [path for path in (small / "lab").rglob("*") if "solution" in path.name]


def test_a_deeper_page_has_a_folder_of_its_own_and_is_linked_from_there(small: Path) -> None:
    (small / "chapters/01_b.ipynb").rename(small / "chapters/01_a_deeper.ipynb")
    change(small / "_toc.yml", "01_b", "01_a_deeper")
    assert [path.relative_to(small / "lab").as_posix() for path, _ in write(small)][:2] == [
        "01_a.ipynb",
        "deeper/01_a.ipynb",
    ]
    main, deeper = (load(small / "lab" / name).cells[0].source for name in DESK)
    assert "[Theorem 1.2](deeper/01_a.ipynb#thm-b)" in main
    assert "[Theorem 1.1](../01_a.ipynb#thm-a)" in deeper
    assert "(../glossary.md)" in deeper


def test_an_exercise_notebook_begins_with_a_link_to_its_chapter(small: Path) -> None:
    write(small)
    title, _, link = load(small / "lab/exercises/01_a.ipynb").cells[0].source.splitlines()[:3]
    assert title.startswith("# Exercises for chapter 1")
    assert link == "The chapter: [Title 01_a](../01_a.ipynb)."


def test_what_the_book_has_no_longer_goes_unless_it_was_changed(small: Path) -> None:
    write(small)
    change(small / "lab/01_b.ipynb", "Title", "Mine")
    (small / "_toc.yml").write_text(SMALL.replace(", sections: [{file: chapters/01_b}]", ""))
    for name in ("01_a", "01_b"):
        change(small / f"chapters/{name}.ipynb", "{doc}`glossary`", "")
    change(small / "chapters/01_a.ipynb", "By {prf:ref}`thm-b`", "By itself")
    write(small)
    there = [path.name for path in (small / "lab").glob("[!.]*.*")]
    assert sorted(there) == ["01_a.ipynb", "01_b.ipynb", "my_transformer.py"]


def test_what_a_reader_changes_is_kept(small: Path) -> None:
    write(small)
    assert write(small) == []
    theirs, page = small / "lab/01_a.ipynb", small / "chapters/01_a.ipynb"
    change(theirs, "Title 01_a", "Mine")
    change(small / "lab/01_b.ipynb", '"metadata": {}', '"metadata": {"scrolled": 1}')
    change(small / "lab/glossary.md", "Glossary", "My words")
    assert write(small) == []
    for path in (page, small / "chapters/01_b.ipynb"):
        change(path, "Title", "New title")
    change(small / "chapters/glossary.md", "Glossary", "Glossary of words")
    assert [kept and kept.name for _, kept in write(small)] == [
        "01_a.mine-1.ipynb",
        None,
        None,
        "glossary.mine-1.md",
    ]
    assert "Mine" in (small / "lab/01_a.mine-1.ipynb").read_text()
    assert "New title" in theirs.read_text()
    assert "My words" in (small / "lab/glossary.mine-1.md").read_text()
    assert "Glossary of words" in (small / "lab/glossary.md").read_text()


def test_what_was_done_in_an_exercise_is_carried_into_a_new_edition(small: Path) -> None:
    write(small)
    path, book = small / "lab/exercises/01_a.ipynb", small / "exercises/01_a.ipynb"
    notebook = load(path)
    done = next(cell for cell in notebook.cells if cell["id"] == "ex-1-1-solution")
    done.source, done.execution_count = ANSWER, 7
    place = notebook.cells.index(done) + 1
    for name in ("again", "trial"):
        notebook.cells.insert(place, nbformat.v4.new_code_cell("row_dots(1, 2)", id=name))
    check = next(cell for cell in notebook.cells if cell["id"] == "ex-1-1-check")
    check.outputs = [nbformat.v4.new_output("stream", text="heard")]
    for name, more in (("ex-01-code", "import math"), ("ex-1-2-statement", "My notes.")):
        cell = next(cell for cell in notebook.cells if cell["id"] == name)
        cell.source += f"\n{more}"
    path.write_text(dump(notebook))
    change(book, "def row_dots(q, k):", "def row_dots(q, k):  # new")
    change(book, "Exercises for chapter 1", "Exercises anew")
    change(book, "## 1.2 ", "## 1.2 New: ")
    assert [kept.name for _, kept in write(small)] == ["01_a.mine-1.ipynb"]
    now = load(path)
    names = [cell["id"] for cell in now.cells]
    assert source(now, "ex-1-1-solution") == ANSWER
    place = names.index("ex-1-1-solution")
    assert names[place : place + 4] == ["ex-1-1-solution", "trial", "again", "ex-1-1-check"]
    assert now.cells[names.index("ex-1-1-check")].outputs == check.outputs
    assert now.cells[0].source.startswith("# Exercises anew")
    assert source(now, "ex-01-code").endswith("import math")
    assert source(now, "ex-1-2-statement").startswith("## 1.2 New: ")
    assert "My notes" not in source(now, "ex-1-2-statement")
    assert source(now, "mine-1-ex-1-2-statement").endswith("My notes.")
    assert load(small / "lab/exercises/01_a.mine-1.ipynb") == notebook
    assert write(small) == []
    change(book, "Exercises anew", "Exercises once more")
    write(small)
    assert source(load(path), "ex-1-1-solution") == ANSWER
    assert source(load(path), "mine-1-ex-1-2-statement").endswith("My notes.")
    nbformat.validate(load(path))


def test_an_untouched_template_gives_way_and_a_deleted_cell_comes_back(
    small: Path,
) -> None:
    write(small)
    path, book = small / "lab/exercises/01_a.ipynb", small / "exercises/01_a.ipynb"
    notebook = load(path)
    notebook.cells = [cell for cell in notebook.cells if cell["id"] != "ex-1-2-check"]
    path.write_text(dump(notebook))
    change(book, "def row_dots(q, k):", "def row_dots(q, k):  # new")
    write(small)
    assert [cell["id"] for cell in load(path).cells] == [cell["id"] for cell in load(book).cells]
    assert "# new" in source(load(path), "ex-1-1-solution")


def test_without_a_record_answers_are_the_students() -> None:
    book = student(DOTS)
    theirs = student(DOTS)
    next(cell for cell in theirs.cells if cell["id"] == "ex-1-1-solution").source = ANSWER
    theirs.cells[0].source = "# An older title"
    now = carried(theirs, book, {})
    assert source(now, "ex-1-1-solution") == ANSWER
    assert [cell["id"] for cell in now.cells] == [cell["id"] for cell in book.cells]
    assert now.cells[0].source == book.cells[0].source


@pytest.mark.parametrize("broken", ["", "{", "{}", "[1]", '{"cells": [{}], "nbformat": 4}'])
def test_what_is_no_notebook_any_more_is_kept(small: Path, broken: str) -> None:
    write(small)
    path = small / "lab/exercises/01_a.ipynb"
    path.write_text(broken)
    change(small / "exercises/01_a.ipynb", "Exercises for", "New exercises for")
    assert [kept.read_text() for _, kept in write(small)] == [broken]
    assert load(path).cells[0].source.startswith("# New exercises for")


def test_a_damaged_record_loses_nothing(small: Path) -> None:
    write(small)
    path = small / "lab/exercises/01_a.ipynb"
    change(path, "# YOUR CODE HERE", "# mine")
    (small / "lab" / RECORD).write_text("{")
    kept = [kept.name for _, kept in write(small)]
    assert "01_a.mine-1.ipynb" in kept
    assert "# mine" in path.read_text()


def test_a_folder_that_is_no_desk_is_left_alone(
    small: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture
) -> None:
    monkeypatch.chdir(small)
    monkeypatch.setenv("JUPYTER_DATA_DIR", str(small / "signatures"))
    before = sorted(small.rglob("*"))
    for folder in ("chapters", "_toc.yml", "."):
        assert main(["lab", folder]) == 2
        assert "is no desk of this book" in capsys.readouterr().err
    assert sorted(small.rglob("*")) == before
    assert main(["lab", "desks/ada"]) == 0
    assert "wrote exercises/01_a.ipynb\n" in capsys.readouterr().out
    assert (small / "desks/ada/01_b.ipynb").is_file()


# What `progress` reads.


def saved(folder: Path, **verdicts: bool | str | None) -> Path:
    """A notebook of three exercises whose checks have said this."""
    cells = []
    for number in ("1.1", "1.2", "1.10"):
        cells.append(nbformat.v4.new_markdown_cell(f"## {number} A *title* < {number}\n\nText"))
        cells.append(cell := nbformat.v4.new_code_cell("check"))
        if (key := f"ex{number.replace('.', '_')}") in verdicts:
            record = {"tformer": {"exercise": number, "correct": verdicts[key]}}
            cell.outputs = [nbformat.v4.new_output("display_data", {}, metadata=record)]
    nbformat.write(nbformat.v4.new_notebook(cells=cells), path := folder / "a.ipynb")
    return path


def test_progress_is_read_from_the_saved_notebook_and_what_the_kernel_said_since(
    tmp_path: Path,
) -> None:
    path = saved(tmp_path, ex1_1=False, ex1_2=True)
    code = [
        f"import os; os.environ['JPY_SESSION_NAME'] = {str(path)!r}",
        "from tformer_book.exercises import check, progress\nprogress()",
        "check('1.1', lambda q, k: (q * k).sum(-1))\ncheck('1.10', lambda n: n)\nprogress()",
        "check('1.1', lambda q, k: q)\nprogress()",
        "def f(q, k):\n    raise NotImplementedError()\ncheck('1.1', f)\nprogress()",
        "os.environ['JPY_SESSION_NAME'] = '/gone.ipynb'\nprogress()",
    ]
    notebook = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(c) for c in code])
    NotebookClient(notebook, kernel_name="python3", timeout=60).execute()
    said = [cell.outputs[-1].data for cell in notebook.cells[1:]]
    assert said[0]["text/plain"].splitlines() == [
        "1 of 3 exercises done, 1 not yet.",
        "✗ 1.1 A *title* < 1.1",
        "✓ 1.2 A *title* < 1.2",
        "○ 1.10 A *title* < 1.10",
    ]
    assert "A *title* &lt; 1.1<" in said[0]["text/html"]
    assert said[1]["text/plain"].startswith("2 of 3 exercises done, 1 not yet.\n✓ 1.1 ")
    assert said[2]["text/plain"].startswith("1 of 3 exercises done, 2 not yet.\n✗ 1.1 ")
    assert said[3]["text/plain"].startswith("1 of 3 exercises done, 1 not yet.\n○ 1.1 ")
    assert said[4]["text/plain"].startswith("0 of 2 exercises done, 1 not yet.\n○ 1.1\n✗ 1.10\n")
    assert "is not known here" in said[4]["text/plain"]


@pytest.mark.parametrize(
    "text", ["", "{}", "[]", '{"cells": 3}', '{"cells": [{}]}', '{"cells": [1]}']
)
def test_progress_of_what_is_no_notebook_says_so(
    text: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture
) -> None:
    (path := tmp_path / "a.ipynb").write_text(text)
    monkeypatch.setenv("JPY_SESSION_NAME", str(path))
    progress()
    assert "is not known here" in capsys.readouterr().out


@pytest.mark.parametrize("verdict", ["yes", None, 1, [], {}])
def test_a_verdict_that_check_never_gave_counts_as_none(
    verdict: object, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture
) -> None:
    path = saved(tmp_path, ex1_2=True)
    notebook = json.loads(path.read_text())
    record = {"exercise": "1.10", "correct": verdict}
    for output in ({"metadata": {"tformer": record}}, {"metadata": {"tformer": "x"}}, {}):
        notebook["cells"][-1]["outputs"].append(output)
    path.write_text(json.dumps(notebook))
    monkeypatch.setenv("JPY_SESSION_NAME", str(path))
    progress()
    assert "○ 1.10 A" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("text", "html"),
    [
        ("a < b: `x & y`", "a &lt; b: <code>x &amp; y</code>"),
        ('For a hint: hint("1.2", 3)', "For a hint: <code>hint(&quot;1.2&quot;, 3)</code>"),
        ("row_dots gives d_k", "<code>row_dots</code> gives d_k"),
        ("No code: q, k", "No code: q, k"),
    ],
)
def test_code_in_a_sentence_is_set_as_code(text: str, html: str) -> None:
    assert coded(text) == html


def test_the_name_of_an_answer_is_code_where_it_is_meant() -> None:
    def cosine() -> None: ...

    text = "The answer of cosine is 3; cosine is still wrong, `cosine is`. A cosine below 1."
    assert with_name(text, cosine) == text.replace("of cosine", "of `cosine`").replace(
        "; cosine", "; `cosine`"
    )
    assert with_name(text, 3) == text
