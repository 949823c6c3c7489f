"""Take a class's notebooks from a learning platform's zip, and make the zip to give back.

    python -m tformer_course.lms take COURSE NAME ZIP [--groups] [--again]
    python -m tformer_course.lms give COURSE NAME ZIP

Names of files within, from the sources of the two platforms:

- **Moodle**, *Download all submissions* (``mod/assign/classes/downloader.php``):
  ``Full Name_ID_assignsubmission_file/path/file`` with a folder a student, up to 4.0 with one more
  ``_`` after it, or ``Full Name_ID_assignsubmission_file_file`` without folders. ID is the number
  of the participant, or of the group. Feedback files go back under the same names
  (``mod/assign/feedback/file/importziplib.php`` takes the parts 2 to 4 between ``_``).
- **Canvas**, *Download Submissions* (``lib/content_zipper.rb``):
  ``lastfirst_USER_ATTACHMENT_file``, with ``_LATE`` before the numbers if it is late, and ``anon``
  and a code in place of name and number where marking is anonymous. What is uploaded again becomes
  a comment for the user and the attachment that are the first two numbers between ``_``
  (``infer_comment_context_from_filename``), and takes the attachment's name. So a notebook, which
  was handed in, has to be given back: the marked one.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import shutil
import sys
import zipfile
from dataclasses import dataclass
from pathlib import Path, PurePosixPath

from tformer_course.archive import EACH, ArchiveError, members
from tformer_course.roster import STUDENT, Person, RosterError, known

KINDS = (".ipynb", ".zip")
MOODLE = re.compile(r"(?P<name>[^_/]*)_(?P<id>\d+)_assignsubmission_file(/|_/|_)(?P<file>.+)")
CANVAS = re.compile(
    r"(?P<name>.*?)(?P<late>_LATE)?_(?P<id>\d+|(?<=anon_)\w+?)_(?P<attachment>\d+)_(?P<file>.+)"
)


@dataclass(frozen=True)
class Sent:
    """A file that a platform's zip holds.

    Attributes
    ----------
    platform, name, id, file : str
        Which platform it is; the student's name, number and file there.
    back : str
        What a file for this student is named by in the zip that is given back.
    late : bool
        Canvas says that it is late.
    order : int
        Of several files of one student, the last one handed in has the largest number.
    """

    platform: str
    name: str
    id: str
    file: str
    back: str
    late: bool = False
    order: int = 0


def sent(path: PurePosixPath) -> Sent | None:
    """Read a name within a zip; None if it is no file that a student handed in."""
    whole = str(path)
    if found := MOODLE.search(whole):
        back = whole[found.start() : found.start("file")]
        return Sent("moodle", found["name"], found["id"], found["file"], back)
    if found := CANVAS.fullmatch(path.name):
        back = path.name[: found.start("file")]
        late = bool(found["late"]) or found["name"].startswith("LATE_")
        order = int(found["attachment"])
        return Sent("canvas", found["name"], found["id"], found["file"], back, late, order)
    return None


def students(one: Sent, people: list[Person], groups: bool) -> list[str]:
    """Return whose a file is: those of the roster, or a name that is made of the number."""
    found = [person for person in people if person.lms_user_id == one.id]
    found = found or [p for p in people if one.platform == "moodle" and p.full_name == one.name]
    if groups:
        names = {one.id, one.name} if not found else {p.group for p in found if p.group}
        found = [p for p in people if p.group and p.group in names] or found
    if len(found) > 1 and not groups:
        return []
    word = "participant" if one.platform == "moodle" else "user"
    return [person.id for person in found] or [f"{word}-{one.id}"]


def take(
    course: Path, name: str, path: Path, *, groups: bool = False, again: bool = False
) -> list[str]:
    """Put what a platform's zip holds where it is marked; return what to tell the lecturer.

    Parameters
    ----------
    course : Path
        The folder of the course.
    name : str
        The assignment.
    path : Path
        The zip.
    groups : bool
        What one member of a group of the roster handed in is that of all its members.
    again : bool
        Put it in the place of what was taken before; if not, students who have something stay.

    Raises
    ------
    ArchiveError
        The zip cannot be read. What has been taken before that stays.
    """
    people, told, here = known(course), list[str](), dict[str, list[Sent]]()
    wanted = [one for file, _ in members(path, _is_work, each=0) if (one := sent(file))]
    for one in wanted:
        whose = students(one, people, groups)
        if not whose:
            told.append(f"{one.name} has a name that two students of the roster have. Left out.")
        for student in whose:
            if not STUDENT.fullmatch(student):
                told.append(f"{student!r} cannot be the name of a folder. Left out.")
            else:
                here.setdefault(student, []).append(one)
    new = {student for student in here if again or not _place(course, student, name).exists()}
    told += [f"{student} has handed in already. Left as it is." for student in set(here) - new]
    for student in new:
        shutil.rmtree(_place(course, student, name), ignore_errors=True)
    for file, data in members(path, _is_work):
        for student in new:
            if (one := sent(file)) in here[student]:
                rank = sorted(here[student], key=lambda other: other.order).index(one)
                told += _put(_place(course, student, name), one, data, student, rank)
    _remember(course, name, {student: here[student] for student in new})
    told += [f"{s} is late, says Canvas." for s in sorted(new) if any(x.late for x in here[s])]
    if not wanted:
        told.append("Nothing in it has a name as Moodle or Canvas gives.")
    return [f"Took the work of {len(new)} students.", *sorted(told)]


def _is_work(path: PurePosixPath) -> bool:
    return path.suffix.lower() in KINDS


def _place(course: Path, student: str, name: str) -> Path:
    return course / "submitted" / student / name


def _put(folder: Path, one: Sent, data: bytes | None, student: str, rank: int) -> list[str]:
    """Write a file under its last name, which holds no folder."""
    if data is None:
        return [f"{student}: {one.file} is larger than {EACH >> 20} MB. Left out."]
    folder.mkdir(parents=True, exist_ok=True)
    inside = PurePosixPath(one.file)
    path = folder / f"{inside.stem[:80]}{inside.suffix}"
    while path.exists():
        path = path.with_name(f"{path.stem}-{rank}{path.suffix}")
    path.write_bytes(data)
    os.utime(path, (rank, rank))  # the last one of several is marked
    return []


def _memory(course: Path, name: str) -> Path:
    return course / "lms" / f"{name}.json"


def _recalled(course: Path, name: str) -> dict[str, list[str]]:
    path = _memory(course, name)
    return dict(json.loads(path.read_text(encoding="utf-8"))) if path.is_file() else {}


def _remember(course: Path, name: str, here: dict[str, list[Sent]]) -> None:
    """Keep by which name each student's feedback has to go back."""
    last = {s: max(found, key=lambda one: one.order) for s, found in here.items()}
    kept = _recalled(course, name) | {s: [one.platform, one.back] for s, one in last.items()}
    _memory(course, name).parent.mkdir(exist_ok=True)
    _memory(course, name).write_text(json.dumps(kept, indent=1, sort_keys=True), encoding="utf-8")


def give(course: Path, name: str, path: Path) -> list[str]:
    """Write the zip to upload: a page for each student of Moodle, a marked notebook for Canvas.

    Raises
    ------
    FileExistsError
        There is a file of that name.
    """
    told, given = [], dict[str, Path]()
    for student, (platform, back) in sorted(_recalled(course, name).items()):
        kind, suffix = ("feedback", "html") if platform == "moodle" else ("autograded", "ipynb")
        made = course / kind / student / name / f"{name}.{suffix}"
        if not made.is_file():
            told.append(f"{student} has no feedback. Left out.")
        elif given.setdefault(f"{back}{name}.{suffix}", made) is not made:
            told.append(f"{student} shares a page with the group.")
    with zipfile.ZipFile(path, "x", zipfile.ZIP_DEFLATED) as archive:
        for inside, made in given.items():
            archive.write(made, inside)
    return [f"Wrote feedback for {len(given)} students to {path}.", *told]


def main(arguments: list[str] | None = None) -> int:
    """Do what the command line asks for, and tell the lecturer."""
    parser = argparse.ArgumentParser(prog="python -m tformer_course.lms")
    parser.add_argument("what", choices=["take", "give"])
    parser.add_argument("course", type=Path, help="the folder of the course")
    parser.add_argument("name", help="the assignment, such as 04_why_sqrt_d")
    parser.add_argument("zip", type=Path, help="the platform's file, or the one to write")
    parser.add_argument("--groups", action="store_true", help="for all members of a group")
    parser.add_argument("--again", action="store_true", help="replace what was taken before")
    asked = parser.parse_args(arguments)
    if not (asked.course / "source" / asked.name).is_dir() or not STUDENT.fullmatch(asked.name):
        print(f"{asked.course} has no assignment {asked.name}.", file=sys.stderr)  # noqa: T201
        return 2
    try:
        if asked.what == "take":
            told = take(asked.course, asked.name, asked.zip, groups=asked.groups, again=asked.again)
        else:
            told = give(asked.course, asked.name, asked.zip)
    except (ArchiveError, RosterError, OSError) as error:
        print(error, file=sys.stderr)  # noqa: T201
        return 2
    print("\n".join(told))  # noqa: T201
    return 0


if __name__ == "__main__":
    sys.exit(main())
