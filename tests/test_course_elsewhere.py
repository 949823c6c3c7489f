"""A class on a learning platform: what its zip holds is taken, marked, and given back."""

import csv
import json
import re
import shutil
import zipfile

import nbformat
import pytest

from course_tools import NAME, ROOT, answered, needs_confinement, right
from tformer_course import archive, classroom, roster
from tformer_course.export import Canvas, Row
from tformer_course.lms import main, sent, take
from tformer_course.roster import Person, RosterError, keep, known, read

RELEASED = nbformat.read(ROOT / "exercises" / f"{NAME}.ipynb", 4)
HONEST = nbformat.writes(answered(RELEASED, {"4.1": right("4.1")}))
PEOPLE = [
    Person("ada", "Ada", "Lovelace", "ada@x.org", "101", "Red"),
    Person("ben", "Ben", "de Vries", "ben@x.org", "102", "Red"),
    Person("cleo", "Cleo", "Øst", "", "103"),
]


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    """A course with a roster, as far as taking needs it."""
    course = tmp_path_factory.mktemp("made") / "course"
    (course / "source" / NAME).mkdir(parents=True)
    keep(course, PEOPLE)
    return course


@pytest.fixture
def course(made, tmp_path):
    return shutil.copytree(made, tmp_path / "course")


def zipped(path, files):
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as made:
        for name, text in files.items():
            made.writestr(name, text)
    return path


def taken(course):
    """What lies where it is marked: by student, names and texts."""
    found = {}
    for path in sorted((course / "submitted").rglob("*")):
        if path.is_file():
            student = path.relative_to(course / "submitted").parts[0]
            found.setdefault(student, {})[path.name] = path.read_text()
    return found


# Names as the sources of both platforms make them.


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("Ada Lovelace_101_assignsubmission_file/x.ipynb",
         ("moodle", "Ada Lovelace", "101", "x.ipynb", False)),
        ("Ada Lovelace_101_assignsubmission_file_/a/b/x.ipynb",
         ("moodle", "Ada Lovelace", "101", "a/b/x.ipynb", False)),
        ("Ada Lovelace_101_assignsubmission_file_04_x.ipynb",
         ("moodle", "Ada Lovelace", "101", "04_x.ipynb", False)),
        ("Team Red_7_assignsubmission_file/x.ipynb", ("moodle", "Team Red", "7", "x.ipynb", False)),
        ("Participant_55_assignsubmission_file/x.ipynb",
         ("moodle", "Participant", "55", "x.ipynb", False)),
        ("lovelaceada_101_9001_04_why_sqrt_d.ipynb",
         ("canvas", "lovelaceada", "101", "04_why_sqrt_d.ipynb", False)),
        ("lovelaceada_LATE_101_9001_x-1.ipynb",
         ("canvas", "lovelaceada", "101", "x-1.ipynb", True)),
        ("anon_x7Y2z_9001_x.ipynb", ("canvas", "anon", "x7Y2z", "x.ipynb", False)),
        ("LATE_anon_x7Y2z_9001_x.ipynb", ("canvas", "LATE_anon", "x7Y2z", "x.ipynb", True)),
    ],
)  # fmt: skip
def test_names_of_both_platforms_are_read(name, said):
    one = sent(archive.plain(name))
    assert (one.platform, one.name, one.id, one.file, one.late) == said


@pytest.mark.parametrize(
    "name",
    ["Ada_101_assignsubmission_onlinetext/onlinetext.html", "lovelaceada_101_text.html",
     "readme.ipynb", "lovelaceada_101_link.html"],
)  # fmt: skip
def test_what_nobody_handed_in_as_a_file_is_none(name):
    assert sent(archive.plain(name)) is None


MOODLE = {
    "Ada Lovelace_101_assignsubmission_file/04_why_sqrt_d.ipynb": "ada",
    "Ada Lovelace_101_assignsubmission_file/notes.pdf": "notes",
    "Ben de Vries_777_assignsubmission_file/work/mine.ipynb": "ben",
    "Dan New_104_assignsubmission_file/04_why_sqrt_d.ipynb": "dan",
    "Dan New_104_assignsubmission_onlinetext/onlinetext.html": "dan",
}
CANVAS = {
    "lovelaceada_101_9001_04_why_sqrt_d.ipynb": "first",
    "lovelaceada_101_9002_04_why_sqrt_d-1.ipynb": "second",
    "devriesben_LATE_102_9005_work.zip": "PK",
    "newdan_104_9009_04_why_sqrt_d.ipynb": "dan",
}


def test_a_zip_of_moodle_is_taken_by_the_roster(course, tmp_path):
    told = take(course, NAME, zipped(tmp_path / "m.zip", MOODLE))
    assert taken(course) == {
        "ada": {f"{NAME}.ipynb": "ada"},
        "ben": {"mine.ipynb": "ben"},
        "participant-104": {f"{NAME}.ipynb": "dan"},
    }
    assert told == ["Took the work of 3 students."]


def test_a_zip_of_canvas_is_taken_by_the_roster_and_the_last_attempt_is_the_newest(
    course, tmp_path
):
    told = take(course, NAME, zipped(tmp_path / "c.zip", CANVAS))
    both = {f"{NAME}.ipynb": "first", f"{NAME}-1.ipynb": "second"}
    assert taken(course)["ada"] == both
    folder = course / "submitted" / "ada" / NAME
    newest = max(folder.iterdir(), key=lambda path: path.stat().st_mtime)
    assert newest.read_text() == "second"
    assert set(taken(course)) == {"ada", "ben", "user-104"}
    assert "ben is late, says Canvas." in told


def test_what_was_taken_stays_unless_it_is_asked_for(course, tmp_path):
    path = zipped(tmp_path / "m.zip", MOODLE)
    take(course, NAME, path)
    zipped(path, dict.fromkeys(MOODLE, "new"))
    assert "ada has handed in already. Left as it is." in take(course, NAME, path)
    assert taken(course)["ada"] == {f"{NAME}.ipynb": "ada"}
    take(course, NAME, path, again=True)
    assert taken(course)["ada"] == {f"{NAME}.ipynb": "new"}


@pytest.mark.parametrize(
    "name",
    ["Red_7_assignsubmission_file/x.ipynb", "lovelaceada_101_9001_x.ipynb"],
)
def test_work_of_a_group_is_that_of_all_its_members(name, course, tmp_path):
    path = zipped(tmp_path / "g.zip", {name: "ours"})
    take(course, NAME, path, groups=True)
    assert set(taken(course)) == {"ada", "ben"}


def test_two_of_one_name_are_told_and_not_mixed_up(course, tmp_path):
    keep(course, [*PEOPLE, Person("ada2", "Ada", "Lovelace")])
    files = {"Ada Lovelace_900_assignsubmission_file/x.ipynb": "whose"}
    told = take(course, NAME, zipped(tmp_path / "m.zip", files))
    assert "Ada Lovelace has a name that two students of the roster have. Left out." in told
    assert taken(course) == {}


def test_a_zip_leads_nowhere_and_fills_no_disk(course, tmp_path, monkeypatch):
    files = {
        "../../Ada_101_assignsubmission_file/x.ipynb": "out",
        "/Ada_101_assignsubmission_file/x.ipynb": "out",
        "Ada_101_assignsubmission_file/../../x.ipynb": "out",
        "Ada_101_assignsubmission_file/..\\..\\x.ipynb": "out",
        f"Ada_101_assignsubmission_file/{'y' * 300}.ipynb": "long",
        "Ben_102_assignsubmission_file/x.ipynb": "0" * (1 << 20),
    }
    before = set(tmp_path.rglob("*"))
    path = zipped(tmp_path / "m.zip", files)
    monkeypatch.setattr("tformer_course.archive.EACH", 1 << 16)
    monkeypatch.setattr(archive.members, "__kwdefaults__", {"each": 1 << 16, "whole": 1 << 21})
    told = take(course, NAME, path)
    assert any("ben: x.ipynb is larger than" in line for line in told)
    assert taken(course) == {"ada": {f"{'y' * 80}.ipynb": "long"}}
    outside = set(tmp_path.rglob("*")) - before
    allowed = [course / "submitted", course / "lms", tmp_path / "m.zip"]
    assert all(any(path.is_relative_to(place) for place in allowed) for path in outside)


# The roster.

FORMS = {
    "nbgrader": "id,first_name,last_name,email,lms_user_id,group\n"
    "ada,Ada,Lovelace,a@x.org,101,Red\n",
    "moodle": "\ufeffIdentifier,Full name,Email address,Status,Grade\n"
    "Participant 101,Ada Lovelace,a@x.org,Submitted for grading,\n",
    "canvas": "Student,ID,SIS User ID,SIS Login ID,Section,Homework (12)\n"
    "    Points Possible,,,,,24\n\"Lovelace, Ada\",101,S1,ada,A,\n",
}  # fmt: skip


@pytest.mark.parametrize("form", FORMS)
def test_a_roster_is_read_in_three_forms(form, tmp_path):
    path = tmp_path / "list.csv"
    path.write_text(FORMS[form], encoding="utf-8")
    [person] = read(path)
    assert (person.full_name, person.lms_user_id) == ("Ada Lovelace", "101")
    assert person.id == ("participant-101" if form == "moodle" else "ada")


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("id\n../x\n", "line 2: '../x' cannot be the name of a folder"),
        ("id\n.x\n", "cannot be the name of a folder"),
        ("id\nada\nada\n", "line 3: ada stands there twice"),
        ("name\nada\n", "none of the columns id, Identifier, SIS Login ID"),
        ("", "none of the columns"),
    ],
)
def test_a_roster_that_cannot_be_right_is_told(text, said, tmp_path):
    path = tmp_path / "list.csv"
    path.write_text(text)
    with pytest.raises(RosterError, match=said.replace(".", r"\.")):
        read(path)


def test_a_roster_is_kept_and_stands_in_the_gradebook(course):
    from nbgrader.api import Gradebook

    assert known(course) == PEOPLE
    with Gradebook(f"sqlite:///{course / 'gradebook.db'}") as gradebook:
        people = {student.id: student for student in gradebook.students}
    assert (people["ben"].last_name, people["ben"].lms_user_id) == ("de Vries", "102")


# From the platform's zip to the zip that is given back.


@needs_confinement
def test_feedback_goes_back_under_the_names_that_each_platform_asks_for(
    tmp_path, written, nbgrader
):
    """One student's notebook comes by Moodle and another's by Canvas: all is marked once."""
    course = written(tmp_path / "course")
    keep(course, PEOPLE)
    names = {
        "moodle": "Ada Lovelace_101_assignsubmission_file/sub/mine.ipynb",
        "canvas": "devriesben_LATE_102_9001_mine.ipynb",
    }
    for platform, name in names.items():
        path = zipped(tmp_path / f"{platform}.zip", {name: HONEST})
        assert main(["take", str(course), NAME, str(path)]) == 0
    for command in "autograde", "generate_feedback", "export":
        status, said = nbgrader(course, command, *[NAME] * (command != "export"))
        assert status == 0, said
    back = tmp_path / "back.zip"
    assert main(["give", str(course), NAME, str(back)]) == 0
    assert main(["give", str(course), NAME, str(back)]) == 2  # never over another
    with zipfile.ZipFile(back) as found:
        texts = {name: found.read(name).decode() for name in found.namelist()}
    given = {
        "moodle": f"Ada Lovelace_101_assignsubmission_file/{NAME}.html",
        "canvas": f"devriesben_LATE_102_9001_{NAME}.ipynb",
    }
    assert sorted(texts) == sorted(given.values())
    assert all("Exercise 4.1, correct" in text for text in texts.values())
    again = {platform: sent(archive.plain(name)) for platform, name in given.items()}
    assert [(p, one.platform, one.id) for p, one in again.items()] == [
        ("moodle", "moodle", "101"), ("canvas", "canvas", "102"),
    ]  # fmt: skip
    with (course / "grades.csv").open() as file:
        rows = {row["student_id"]: (row["score"], row["status"]) for row in csv.DictReader(file)}
    assert rows == {
        "ada": ("1.0", "marked"), "ben": ("1.0", "marked"), "cleo": ("", "not handed in"),
    }  # fmt: skip


def test_commands_say_what_the_page_shows(course, tmp_path, capsys, monkeypatch):
    monkeypatch.chdir(tmp_path)
    zipped(tmp_path / "submissions.zip", CANVAS)
    shutil.copy(course / "roster.csv", "class.csv")
    text = (ROOT / "chapters" / "teach_course.md").read_text(encoding="utf-8")
    blocks = re.findall(r"```console\n\$ python -m tformer_course\.(\w+) (.*)\n([^`]*)```", text)
    assert [module for module, _, _ in blocks] == ["roster", "lms", "lms"]
    for module, arguments, shown in blocks:
        words = arguments.replace("~/course", str(course)).split()
        if "give" in words:
            for path in (course / "submitted").iterdir():
                page = course / "autograded" / path.name / NAME / f"{NAME}.ipynb"
                page.parent.mkdir(parents=True)
                page.write_text(path.name)
        (roster.main if module == "roster" else main)(words)
        assert capsys.readouterr().out.replace(str(course), "/home/you/course") == shown


def test_marks_for_canvas_carry_its_own_number():
    from types import SimpleNamespace

    about = SimpleNamespace(last_name="Lovelace", first_name="Ada", lms_user_id="101")
    row = Row(SimpleNamespace(name="x", max_score=2.0), "ada", about, "not handed in")
    assert Canvas.table(None, [row])[-1] == ["Lovelace, Ada", "101", "", "ada", "", ""]


def test_the_command_line_says_what_is_wrong(course, tmp_path, capsys):
    assert main(["take", str(course), "05_none", "x.zip"]) == 2
    assert "has no assignment 05_none" in capsys.readouterr().err
    (tmp_path / "x.zip").write_bytes(b"no zip")
    assert main(["take", str(course), NAME, str(tmp_path / "x.zip")]) == 2
    assert "x.zip is no zip archive" in capsys.readouterr().err
    assert main(["take", str(course), NAME, str(zipped(tmp_path / "y.zip", {"a.ipynb": ""}))]) == 0
    assert "Nothing in it has a name as Moodle or Canvas gives." in capsys.readouterr().out


# GitHub.


@needs_confinement
def test_a_workflow_is_told_the_points_and_nothing_that_a_student_wrote(
    tmp_path, monkeypatch, capsys
):
    monkeypatch.chdir(ROOT)
    monkeypatch.setenv("GITHUB_STEP_SUMMARY", str(tmp_path / "summary.md"))
    work = tmp_path / "work"
    work.mkdir()
    loud = right("4.2").partition(":\n")[0] + ":\n    raise ValueError('\\n::error::<b>')"
    made = answered(RELEASED, {"4.1": right("4.1"), "4.2": loud})
    nbformat.write(made, work / f"{NAME}.ipynb")
    classroom.main([NAME, str(work)])
    said = capsys.readouterr().out.splitlines()
    assert said[0] == "::notice title=Autograding complete::Points 1/24"
    assert json.loads(said[1].rpartition("::")[2]) == {"totalPoints": 1, "maxPoints": 24}
    assert len(said) == 2
    summary = (tmp_path / "summary.md").read_text()
    assert "::error::&lt;b&gt;" in summary
    assert "\n::error" not in summary
    (work / f"{NAME}.ipynb").write_text("")
    with pytest.raises(SystemExit, match="Not marked: The file that was handed in is empty"):
        classroom.main([NAME, str(work)])
