"""A course from an empty folder to the table of marks, through nbgrader, as the page says."""

import getpass
import json
import re
import shutil
import subprocess
from pathlib import Path

import nbformat
import pytest
from bs4 import BeautifulSoup

from course_tools import (
    HOSTILE,
    answered,
    answers_by,
    course_command,
    needs_confinement,
    right,
    scores,
)
from tformer_book.pipeline.generators.exercises import sources
from tformer_course import confinement
from tformer_course.feedback import page
from tformer_course.grading import prepare
from tformer_course.submission import mend, read
from tformer_course.write import CourseError, assignment, write

ROOT = Path(__file__).resolve().parents[1]
PAGE = (ROOT / "chapters" / "teach_course.md").read_text(encoding="utf-8")
NAME = "04_why_sqrt_d"
VARYING = [
    (r"\d+\.\d s;", "N s;"),
    (r"Writing \d+ bytes", "Writing N bytes"),
    (r"\d{4}-\d\d-\d\d \d\d:\d\d:\d\d", "TIME"),
]


ADA = {f"4.{n}": right(f"4.{n}") for n in (1, 2, 3, 4, 5, 6, 8)}
ADA |= {"4.7": answers_by("4.7", "return 1"), "4.9": "1 / 0"}
ATTACKS = ["leaves", "forks", "kills the judge", "takes a terabyte", "reads the gradebook"]


def attacks(gradebook):
    """Answers that do harm, and one that is right."""
    found = {"4.1": "check = print\nimport numpy as np\nnp.sqrt = None", "4.8": right("4.8")}
    for place, what in enumerate(ATTACKS, 2):
        harm = answers_by(f"4.{place}", HOSTILE[what])
        found[f"4.{place}"] = f"GRADEBOOK = {str(gradebook)!r}\n{harm}"
    return found


def hand_in(course, released):
    """What students hand in, some of it no notebook; ada by the exchange."""
    user = getpass.getuser()
    stamp = "2026-11-21 20:00:00.000000 UTC"
    box = course / "exchange" / "transformers" / "inbound" / f"{user}+{NAME}+{stamp}"
    box.mkdir()
    (box / "timestamp.txt").write_text(stamp)
    nbformat.write(answered(released, ADA), box / f"{NAME}.ipynb")
    softmax = (ROOT / "exercises" / "02_softmax.ipynb").read_text(encoding="utf-8")
    files = {
        "ben": (
            f"{NAME}.ipynb",
            nbformat.writes(answered(released, attacks(course / "gradebook.db"))),
        ),
        "cleo": (f"{NAME}.ipynb", ""),
        "dan": (f"{NAME}.ipynb", softmax),
        "eve": (f"{NAME} (1).ipynb", nbformat.writes(answered(released, ADA))),
        "finn": (f"{NAME}.ipynb", "PK\x03\x04 no notebook at all"),
        "gus": ("essay.docx", "no notebook"),
    }
    for student, (name, text) in files.items():
        folder = course / "submitted" / student / NAME
        folder.mkdir(parents=True)
        (folder / name).write_text(text, encoding="utf-8")


@pytest.fixture(scope="module")
def course(tmp_path_factory):
    """The course after all commands of the page, and what they printed, by command."""
    course, printed = tmp_path_factory.mktemp("home") / "course", {}
    for command in re.findall(r"^\$ (.+)$", PAGE, re.MULTILINE):
        if command.startswith(("make", "nbgrader")):
            if "collect" in command:
                hand_in(course, nbformat.read(course / "release" / NAME / f"{NAME}.ipynb", 4))
            done = course_command(course, *command.split())
            assert done.returncode == 0, done.stdout
            printed[command] = done.stdout
        elif command.startswith("cat"):
            printed[command] = (course / command.split()[1]).read_text(encoding="utf-8")
    return course, printed


def same(shown, printed):
    """Whether lines of the page are those printed; a line of dots stands for any lines."""
    pattern = "".join("(?:.*\n)*?" if line == "…" else re.escape(line) + "\n" for line in shown)
    return re.fullmatch(pattern, printed)


def plain(text, course):
    text = text.replace(str(course), "/home/you/course")
    for varies, word in [*VARYING, (rf"\b{re.escape(getpass.getuser())}\b", "ada")]:
        text = re.sub(varies, word, text)
    return text


@needs_confinement
def test_commands_print_what_the_page_says(course):
    folder, printed = course
    compared = 0
    for block in re.findall(r"```console\n(.*?)```", PAGE, re.DOTALL):
        for part in re.split(r"^\$ ", block, flags=re.MULTILINE)[1:]:
            command, *shown = plain(part, folder).splitlines()
            if command in printed:
                assert same(shown, plain(printed[command], folder)), plain(printed[command], folder)
                compared += 1
    assert compared == len(printed) == 11


@needs_confinement
def test_every_mark_is_the_one_that_was_earned(course):
    found = scores(course[0])
    points = {"4.1": 1, "4.2": 1, "4.3": 1, **{f"4.{n}": 2 for n in range(4, 10)}}
    points |= {"4.10": 3, "4.11": 3, "4.12": 3}
    ada = {n: points[n] * (n in ADA and n not in ("4.7", "4.9")) for n in points}
    assert found.pop(getpass.getuser()) == found.pop("eve") == ada
    assert found.pop("ben") == {n: points[n] * (n == "4.8") for n in points}
    assert found == {s: dict.fromkeys(points, 0) for s in ("cleo", "dan", "finn", "gus")}


@needs_confinement
def test_feedback_says_what_was_wrong_and_asks_nothing_of_the_network(course):
    notes = {"cleo": "is empty", "dan": "They are those of chapter 2", "finn": "is no notebook"}
    shown = {}
    for student in ("ben", "eve", *notes):
        path = course[0] / "feedback" / student / NAME / f"{NAME}.html"
        text = path.read_text(encoding="utf-8")
        assert not re.search(r"https?://(?!www\.w3\.org/1998)|<script|<link|<img", text)
        shown[student] = BeautifulSoup(text, "html.parser")
        assert len(shown[student].select(".note")) == (student in notes)
        assert notes.get(student, "") in shown[student].get_text()
        assert len(shown[student].select(".said")) == 12
    assert shown["eve"].select("math")
    assert "4.4 Mean and variance of related vectors" in shown["eve"].table.get_text()
    said = " ".join(shown["ben"].get_text().split())
    for words in ("exit code 0", "PermissionError", "MemoryError", "Permission denied: '/"):
        assert words in said


def test_students_write_no_html_into_their_feedback():
    wild = "<script>alert(1)</script> ![x](http://example.org/x.png) [y](javascript:alert(1)) $\\x$"
    cells = [nbformat.v4.new_markdown_cell(wild), nbformat.v4.new_code_cell("'<script>'")]
    about = {"notebook": "<b>", "student": "<i>", "score": 0, "max_score": 1}
    made = BeautifulSoup(page(nbformat.v4.new_notebook(cells=cells), about), "html.parser")
    assert not made.select("script, img, b, i")
    assert not [a for a in made.select("a") if a["href"].startswith("javascript")]


# What is written, and what is refused.


@pytest.mark.parametrize("path", sources(ROOT), ids=lambda path: path.stem)
def test_statements_are_plain_markdown(path):
    made = assignment(ROOT, path)
    texts = [cell.source for cell in made.cells if cell.cell_type == "markdown"]
    outside = [re.sub(r"\$[^$]*\$", "", text) for text in texts]
    assert not [t for t in outside if re.search(r"\{[a-z:]+\}|^:[\w-]+:|```", t, re.MULTILINE)]
    starred = sum(bool(re.search(r"^\*★+ ", text, re.MULTILINE)) for text in texts)
    assert starred == sum(text.startswith(f"## {int(path.stem[:2])}.") for text in texts) >= 6


@needs_confinement
def test_students_get_no_solution(course):
    released = (course[0] / "release" / NAME / f"{NAME}.ipynb").read_text(encoding="utf-8")
    assert "raise NotImplementedError()" in released
    assert "d_model / n_heads)" not in released
    assert "SOLUTION" not in released
    assert sorted(path.name for path in (course[0] / "release").rglob("*.ipynb")) == [
        f"{NAME}.ipynb"
    ]


def test_a_folder_that_is_not_empty_is_left_alone(tmp_path, capsys):
    from tformer_course.__main__ import main

    (tmp_path / "kept.txt").write_text("kept")
    assert main([str(tmp_path)]) == 2
    assert "is not empty, and is no course" in capsys.readouterr().err
    assert main([str(tmp_path / "kept.txt")]) == 2
    assert main([""]) == 2
    assert "DIR=" in capsys.readouterr().err
    with pytest.raises(CourseError, match="no chapter 99 with exercises; there are 00, "):
        write(ROOT, tmp_path / "new", ["04", "99"])
    assert [path.name for path in tmp_path.iterdir()] == ["kept.txt"]


def test_make_hands_over_the_folder_and_the_chapter(tmp_path):
    if not shutil.which("make"):
        pytest.skip("make is not here")
    told = subprocess.run(
        ["make", "-n", "-o", ".venv/.ready", "course", "DIR=a b", "CH=04 06"],
        cwd=ROOT,
        capture_output=True,
        text=True,
    )
    assert '-m tformer_course "a b" 04 06' in told.stdout


def test_other_systems_are_refused_before_anything_is_opened(monkeypatch):
    monkeypatch.setattr(confinement, "_LIBC", None)
    with pytest.raises(SystemExit, match="Nothing has been run"):
        prepare("x", "ada", ["/nowhere/x.ipynb"])


# What may be handed in.

RELEASED = nbformat.read(ROOT / "exercises" / f"{NAME}.ipynb", 4)


def handed_in(change):
    notebook = json.loads(nbformat.writes(RELEASED))
    return json.dumps(change(notebook) or notebook).encode()


def at(notebook, grade_id):
    return next(
        place
        for place, cell in enumerate(notebook["cells"])
        if cell["metadata"].get("nbgrader", {}).get("grade_id") == grade_id
    )


def without(*grade_ids):
    return lambda n: [n["cells"].pop(at(n, grade_id)) for grade_id in grade_ids] and n


def doubled(notebook):
    place = at(notebook, "solution-4-2")
    notebook["cells"].insert(place, dict(notebook["cells"][place], source="def old(): pass"))


def tampered(notebook):
    check = notebook["cells"][at(notebook, "check-4-1")]
    check["source"] = "1.0"
    check["cell_type"] = "markdown"
    check["metadata"]["nbgrader"] |= {"points": 99, "grade": False, "locked": False}


def odd(notebook):
    notebook["cells"][:0] = [3, None, {"cell_type": "raw", "source": ["a", 4]}, {"metadata": []}]
    notebook["cells"][5]["id"] = notebook["cells"][6].get("id", "")
    notebook["metadata"] = "none"


@pytest.mark.parametrize(
    ("data", "words"),
    [
        (b"", "is empty"),
        (b"  \n", "is empty"),
        (b"{", "is no notebook. Nothing could be read"),
        (b"\xff\xfe\x00", "is no notebook"),
        (b"[" * 99999, "is no notebook"),
        (b"[]", "is no notebook: it has no cells"),
        (b'{"cells": 3}', "is no notebook: it has no cells"),
        (b'{"worksheets": []}', "before 4"),
        (b'{"cells": []}', "None of the cells that were handed out is in this notebook"),
        (handed_in(without("check-4-1")), "The check of exercise 4.1 was missing"),
        (handed_in(without("solution-4-3")), "The cell for the answer of exercise 4.3 is missing"),
        (handed_in(without("check-4-5", "solution-4-5")), "The check of exercise 4.5 was missing"),
        (handed_in(doubled), "The cell for the answer of exercise 4.2 is there 2 times"),
        (handed_in(tampered), ""),
        (handed_in(odd), ""),
    ],
)
def test_whatever_is_handed_in_becomes_a_notebook_with_every_check(data, words):
    made = mend(data, RELEASED)
    nbformat.validate(made)
    notes = made.cells[0].source if made.cells[0].id == "about-this-submission" else ""
    assert words in notes
    assert bool(words) == bool(notes)
    ours = {c.metadata.nbgrader.grade_id: c for c in RELEASED.cells if "nbgrader" in c.metadata}
    found = [c for c in made.cells if c.metadata.get("nbgrader", {}).get("grade")]
    assert len(found) == 12
    for cell in found:
        same = ours[cell.metadata.nbgrader.grade_id]
        assert (cell.source, cell.metadata) == (same.source, same.metadata)


def test_sentences_of_the_page_about_notebooks_are_those_that_are_said(tmp_path):
    softmax = (ROOT / "exercises" / "02_softmax.ipynb").read_bytes()
    changes = [without("check-4-1"), without("solution-4-3"), doubled]
    data = [b"", b"no", softmax, *map(handed_in, changes)]
    rows = re.findall(r"^\| [^|]+ \| ([^|]+\.) \|$", PAGE, re.MULTILINE)
    bare = [{"cell_type": c.cell_type, "source": c.source} for c in RELEASED.cells]
    data.append(json.dumps({"cells": bare}).encode())
    said = [mend(each, RELEASED).cells[0].source for each in data]
    said.append(read(tmp_path / "nothing.ipynb", RELEASED).cells[0].source)
    assert sorted(rows) == sorted(said)


def test_a_statement_that_names_a_theorem_gives_its_number(tmp_path):
    text = (ROOT / f"exercises/solutions/{NAME}.py").read_text(encoding="utf-8")
    named = text.replace("A theorem about a variance", "By {prf:ref}`thm-entropy-gaussian` it")
    (tmp_path / f"{NAME}.py").write_text(named, encoding="utf-8")
    cells = assignment(ROOT, tmp_path / f"{NAME}.py").cells
    statement = next(cell.source for cell in cells if cell.source.startswith("## 4.2"))
    assert re.search(r"\nBy Theorem 4\.\d+ it can be put to the test", statement)
