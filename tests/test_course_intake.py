"""Whatever one student sends, the others get their marks, and nobody gets what is not theirs."""

import csv
import json
import os
from pathlib import Path

import nbformat
import pytest
from bs4 import BeautifulSoup

from course_tools import NAME, ROOT, answered, needs_confinement, right
from course_tools import scores as all_scores
from tformer_course.intake import refused, stamp
from tformer_course.write import CourseError, write

ADA = {f"4.{n}": right(f"4.{n}") for n in (1, 2, 3)}
BUSY = "import time\ndef busy(t):\n    t += time.process_time()\n"
BUSY += "    while time.process_time() < t: pass\n"
WAITS = BUSY + "def {0}(*a):\n    busy(0.1)\n    return nowhere"
STALLS = {
    f"4.{n}": WAITS.format(right(f"4.{n}").split("def ")[1].split("(")[0]) + "\nbusy(0.5)"
    for n in range(2, 10)
}


def shown(path):
    """The words of a page."""
    return BeautifulSoup(path.read_text(encoding="utf-8"), "html.parser").get_text()


def folder_of(course, student):
    folder = course / "submitted" / student / NAME
    folder.mkdir(parents=True)
    return folder


def hand_in(course):
    """What a class hands in, most of it by somebody who would rather get more, or hurt others."""
    released = nbformat.read(course / "release" / NAME / f"{NAME}.ipynb", 4)
    honest = nbformat.writes(answered(released, ADA))
    source = course / "source" / NAME / f"{NAME}.ipynb"
    plain = ["bnotes", "dpipe", "hstamp", "zoe"]
    others = ["alink", "chard", "edangles", "ffolder", "ghalf", "lstall"]
    folders = {student: folder_of(course, student) for student in plain + others}
    for student in plain:
        (folders[student] / f"{NAME}.ipynb").write_text(honest, encoding="utf-8")
    (folders["alink"] / f"{NAME}.ipynb").symlink_to(source)
    (folders["bnotes"] / "notes.db").symlink_to(course / "gradebook.db")
    os.link(source, folders["chard"] / f"{NAME}.ipynb")
    os.mkfifo(folders["dpipe"] / "notes.txt")
    (folders["edangles"] / f"{NAME}.ipynb").symlink_to("nowhere")
    (folders["ffolder"] / f"{NAME}.ipynb").mkdir()
    half = json.loads(honest)
    half["cells"].insert(0, {"cell_type": "markdown", "source": "half \ud800", "metadata": {}})
    half["cells"].append(
        {"cell_type": "code", "source": "1 +" + 32_000 * "\n" + "x =\ud800", "metadata": {}}
    )
    (folders["ghalf"] / f"{NAME}.ipynb").write_text(json.dumps(half))
    (folders["ghalf"] / "timestamp.txt").write_bytes(b"\xff\xfe")
    (folders["hstamp"] / "timestamp.txt").write_text("yesterday, perhaps")
    (folders["ffolder"] / "timestamp.txt").mkdir()
    stall = answered(released, {"4.1": right("4.1")} | STALLS)
    (folders["lstall"] / f"{NAME}.ipynb").write_text(nbformat.writes(stall), encoding="utf-8")


@pytest.fixture(scope="module")
def course(tmp_path_factory, written, nbgrader):
    course = written(tmp_path_factory.mktemp("home") / "course")
    config = course / "nbgrader_config.py"
    config.write_text(config.read_text() + "c.Judge.notebook_seconds = 2.5\n")
    hand_in(course)
    printed = {}
    for command in "autograde", "generate_feedback":
        _, printed[command] = nbgrader(course, command, NAME)
    _, printed["export"] = nbgrader(course, "export")
    return course, printed


@needs_confinement
def test_everybody_who_handed_in_a_notebook_gets_the_marks_of_it(course):
    found = {student: sum(each.values()) for student, each in all_scores(course[0]).items()}
    honest = dict.fromkeys(["ghalf", "hstamp", "zoe"], 3)
    assert {student: found.get(student) for student in honest} == honest
    assert found["lstall"] == 1


@needs_confinement
def test_what_leads_elsewhere_is_refused_by_name_and_not_returned(course):
    folder, printed = course
    reasons = {
        "alink": "is a link",
        "bnotes": "'notes.db' is a link",
        "chard": "hard link",
        "dpipe": "no plain file",
        "edangles": "is a link",
    }
    for student, why in reasons.items():
        line = next(x for x in printed["autograde"].splitlines() if f"Refused: {student}" in x)
        assert why in line
        assert student not in all_scores(folder)
        assert not (folder / "feedback" / student).exists()
    released = (folder / "release" / NAME / f"{NAME}.ipynb").read_text(encoding="utf-8")
    lines = [line.strip() for line in right("4.12").splitlines()]
    secret = max((line for line in lines if line not in released and '"' not in line), key=len)
    for path in (folder / "feedback").rglob("*"):
        assert path.is_dir() or path.suffix == ".html" or path.name == "timestamp.txt"
        assert path.is_dir() or secret not in shown(path)


@needs_confinement
def test_the_table_says_what_became_of_each(course):
    with (course[0] / "grades.csv").open(encoding="utf-8") as file:
        rows = {row["student_id"]: (row["score"], row["status"]) for row in csv.DictReader(file)}
    assert rows["zoe"] == ("3.0", "marked")
    assert rows["ffolder"] == ("", "could not be read")
    assert rows["alink"][0] == ""
    assert rows["alink"][1].startswith("refused: ")
    assert set(rows) == {path.name for path in (course[0] / "submitted").iterdir()}


@needs_confinement
def test_a_chapter_is_added_and_what_was_done_stays(course):
    folder = course[0]
    kept = {path: path.lstat().st_mtime for path in folder.rglob("*") if path.suffix != ".db"}
    before = all_scores(folder)
    assert write(ROOT, folder, ["04", "06"]) == ["06_many_heads"]
    assert (folder / "release" / "06_many_heads" / "06_many_heads.ipynb").is_file()
    changed = [path for path, when in kept.items() if path.lstat().st_mtime != when]
    assert {path.name for path in changed} <= {"course", "source", "release"}  # folders
    assert all_scores(folder) == before
    with pytest.raises(CourseError, match="already"):
        write(ROOT, folder, ["04"])


@pytest.mark.parametrize(
    ("text", "kept"),
    [("2026-11-21 20:00:00.0 UTC", True), ("", True), ("tomorrow", False), ("9" * 4000, False),
     ("1" * 99, False)]
)  # fmt: skip
def test_a_time_that_cannot_be_read_becomes_that_of_its_file(text, kept, tmp_path):
    (tmp_path / "timestamp.txt").write_text(text)
    assert bool(stamp(tmp_path)) == (not kept)
    assert ((tmp_path / "timestamp.txt").read_text() == text) == kept
    assert stamp(tmp_path) == ""


def test_a_folder_that_is_itself_a_link_is_refused(tmp_path):
    (tmp_path / "own").mkdir()
    (tmp_path / "own" / "x.ipynb").write_text("{}")
    (tmp_path / "other").symlink_to("own")
    assert refused(tmp_path / "own") == ""
    assert refused(tmp_path / "other") == "'other' is a link"


# What comes by nbgrader's exchange.


def test_collect_refuses_by_name_and_collects_the_rest(tmp_path, written, nbgrader):
    course = written(tmp_path / "course")
    assert nbgrader(course, "release_assignment", NAME)[0] == 0
    inbound = course / "exchange" / "transformers" / "inbound"
    times = {"ada": "2026-11-21 20:00:00 UTC", "ben": "2026-11-21 20:00:00 UTC", "cleo": "soon"}
    times |= {"dan": times["ada"], "eve": times["ada"], "zoe": times["ada"]}
    for student, stamped in times.items():
        box = inbound / f"{student}+{NAME}+{stamped}"
        if student == "dan":
            box.symlink_to(course / "source" / NAME)
            continue
        box.mkdir()
        (box / f"{NAME}.ipynb").write_text("{}")
    (inbound / f"ben+{NAME}+{times['ben']}" / "x").symlink_to(course / "gradebook.db")
    os.mkfifo(inbound / f"eve+{NAME}+{times['eve']}" / "timestamp.txt")
    status, said = nbgrader(course, "collect", NAME)
    assert sorted(p.name for p in (course / "submitted").iterdir()) == ["ada", "zoe"]
    for student in "ben", "cleo", "dan", "eve":
        assert f"Refused: {student}. " in said
    assert status == 0


def test_a_link_that_is_put_there_while_collecting_is_not_followed(tmp_path, monkeypatch):
    from nbgrader.coursedir import CourseDirectory

    from tformer_course import intake

    box, dest = tmp_path / "box", tmp_path / "submitted" / "ada" / NAME
    box.mkdir()
    (box / "x").symlink_to(Path(__file__))
    collect = intake.Collect(coursedir=CourseDirectory(root=str(tmp_path)))
    collect.do_copy(str(box), str(dest))
    assert not dest.exists()
