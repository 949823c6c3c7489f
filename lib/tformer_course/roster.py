"""Who is in the class: python -m tformer_course.roster COURSE FILE.

A table of students, as nbgrader, Moodle or Canvas writes it, becomes ``roster.csv`` of a course and
is entered in its gradebook, so that who hands in nothing has a line among the marks too.

Sources: ``nbgrader db student import`` (id, first_name, last_name, email, lms_user_id); Moodle's
grading worksheet (``mod/assign/feedback/offline``: Identifier "Participant N", Full name, Email
address); Canvas's export of the gradebook (Student, ID, SIS User ID, SIS Login ID, Section).
"""

from __future__ import annotations

import csv
import io
import re
import sys
from collections.abc import Iterator
from dataclasses import asdict, dataclass, fields
from pathlib import Path

from tformer_course.write import find_tools

NAME = "roster.csv"
LARGEST = 10 << 20  # bytes
STUDENT = re.compile(r"[\w@][\w.@-]{0,99}")


@dataclass(frozen=True)
class Person:
    """A student.

    Attributes
    ----------
    id : str
        What the folders of the course are named by: a username or login.
    first_name, last_name, email : str
        For the tables of marks; may be empty.
    lms_user_id : str
        The number by which the platform names files; may be empty.
    group : str
        The number or name of the student's group, for work that is handed in together.
    """

    id: str
    first_name: str = ""
    last_name: str = ""
    email: str = ""
    lms_user_id: str = ""
    group: str = ""

    @property
    def full_name(self) -> str:
        """The name as Moodle writes it in front of files."""
        return f"{self.first_name} {self.last_name}".strip()


class RosterError(ValueError):
    """A table of students cannot be read; the message says where and why."""


def read(path: Path) -> list[Person]:
    """Return the students of a table.

    Raises
    ------
    RosterError
        Its columns are none of the three forms, or a student's name cannot be that of a folder, or
        stands there twice.
    """
    if path.stat().st_size > LARGEST:
        raise RosterError(f"{path.name} is larger than {LARGEST >> 20} MB.")
    try:
        text = path.read_text(encoding="utf-8-sig")
    except UnicodeDecodeError:
        raise RosterError(f"{path.name} is not written in UTF-8.") from None
    rows = csv.DictReader(io.StringIO(text, newline=""))
    columns = {name.strip() for name in rows.fieldnames or ()}
    forms = {"id": _plain, "Identifier": _moodle, "SIS Login ID": _canvas}
    form = next((form for column, form in forms.items() if column in columns), None)
    if not form:
        known = ", ".join(forms)
        raise RosterError(f"{path.name} has none of the columns {known}; it has {sorted(columns)}.")
    people: dict[str, Person] = {}
    for row in rows:
        cells = {(key or "").strip(): (value or "").strip() for key, value in row.items()
                 if not isinstance(value, list)}  # fmt: skip
        for person in form(cells):
            where = f"{path.name}, line {rows.line_num}"
            if not STUDENT.fullmatch(person.id):
                raise RosterError(f"{where}: {person.id!r} cannot be the name of a folder.")
            if person.id in people:
                raise RosterError(f"{where}: {person.id} stands there twice.")
            people[person.id] = person
    return list(people.values())


def _plain(row: dict[str, str]) -> Iterator[Person]:
    known = {field.name for field in fields(Person)}
    if row["id"]:
        yield Person(**{key: value for key, value in row.items() if key in known})


def _moodle(row: dict[str, str]) -> Iterator[Person]:
    if found := re.search(r"\d+", row["Identifier"]):
        first, _, last = row.get("Full name", "").partition(" ")
        name = row.get("Username") or f"participant-{found[0]}"
        email, group = row.get("Email address", ""), row.get("Group", "")
        yield Person(name, first, last, email, found[0], group)


def _canvas(row: dict[str, str]) -> Iterator[Person]:
    if row.get("ID", "").isdecimal():  # the line of possible points has none
        last, _, first = row.get("Student", "").partition(", ")
        name = row["SIS Login ID"] or f"user-{row['ID']}"
        yield Person(name, first, last, "", row["ID"], row.get("Group Name", ""))


def keep(course: Path, people: list[Person]) -> None:
    """Write the roster of a course, and enter its students in the gradebook."""
    from nbgrader.api import Gradebook

    find_tools()
    with (course / NAME).open("w", encoding="utf-8", newline="") as file:
        table = csv.DictWriter(file, [f.name for f in fields(Person)], lineterminator="\n")
        table.writeheader()
        table.writerows(map(asdict, people))
    with Gradebook(f"sqlite:///{course / 'gradebook.db'}") as gradebook:
        for person in people:
            about = {key: value or None for key, value in asdict(person).items() if key != "group"}
            gradebook.update_or_create_student(about.pop("id"), **about)


def known(course: Path) -> list[Person]:
    """Return the students of a course's roster; none if it has no roster."""
    return read(course / NAME) if (course / NAME).is_file() else []


def main(arguments: list[str]) -> None:
    """Read a table and keep it."""
    if len(arguments) != 2:
        sys.exit(__doc__)
    course, path = map(Path, arguments)
    try:
        people = read(path)
    except (RosterError, OSError) as error:
        sys.exit(str(error))
    keep(course, people)
    print(f"{len(people)} students are in {course / NAME} and in the gradebook.")  # noqa: T201


if __name__ == "__main__":
    main(sys.argv[1:])
