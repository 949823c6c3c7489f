"""Tables of marks that say what became of each submission: nbgrader's own, Moodle's, Canvas's.

A number stands where a notebook was marked, and nowhere else. Who handed in nothing, or something
that was refused or could not be read, has an empty cell and a word for it; the lecturer decides.
"""

from __future__ import annotations

import csv
import os
from collections.abc import Collection, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import nbformat
from nbgrader.api import Assignment, Gradebook, MissingEntry, Student
from nbgrader.coursedir import CourseDirectory
from nbgrader.plugins import ExportPlugin

from tformer_course.intake import lecturers, refused
from tformer_course.submission import unread

MARKED = "marked"


@dataclass(frozen=True)
class Row:
    """What is known of one student and one assignment."""

    assignment: Assignment
    student: str
    about: Student | None
    status: str
    submission: Any = None

    @property
    def score(self) -> float | str:
        """The mark, late penalty taken off; empty where nothing was marked."""
        if self.status != MARKED:
            return ""
        return max(0.0, self.submission.score - (self.submission.late_submission_penalty or 0.0))


def status(
    course: CourseDirectory, assignment: str, student: str, ours: Collection[tuple[int, int]]
) -> str:
    """Say what became of a submission; `ours` are the lecturer's files (`intake.lecturers`)."""
    given = Path(course.format_path(course.submitted_directory, student, assignment))
    graded = Path(course.format_path(course.autograded_directory, student, assignment))
    path, there = graded / f"{assignment}.ipynb", os.path.lexists(given)
    if there and (why := refused(given, ours)):
        return f"refused: {why}"
    if not path.is_file():
        return "not marked" if there else "not handed in"
    return "could not be read" if unread(nbformat.read(path, as_version=4)) else MARKED


class Marks(ExportPlugin):
    """The table of nbgrader, with a status."""

    to_be = "grades.csv"

    def export(self, gradebook: Gradebook) -> None:
        """Write the table."""
        dest = self.to or self.to_be
        self.log.info("Exporting grades to %s", dest)
        with Path(dest).open("w", encoding="utf-8", newline="") as file:
            csv.writer(file, lineterminator="\n").writerows(self.table(list(self.rows(gradebook))))

    def rows(self, gradebook: Gradebook) -> Iterator[Row]:
        """Yield a row for each assignment and each student who is known or has handed in."""
        course = self.parent.coursedir
        ours = lecturers(course)
        known = {student.id: student for student in gradebook.students}
        place = Path(course.format_path(course.submitted_directory, ".", "."))
        here = {folder.name for folder in place.iterdir()} if place.is_dir() else set()
        students = sorted(known.keys() | {name for name in here if not name.startswith(".")})
        for assignment in gradebook.assignments:
            if self.assignment and assignment.name not in map(str, self.assignment):
                continue
            for student in students:
                if self.student and student not in map(str, self.student):
                    continue
                try:
                    submission = gradebook.find_submission(assignment.name, student)
                except MissingEntry:
                    submission = None
                word = status(course, assignment.name, student, ours)
                word = "not marked" if word == MARKED and not submission else word
                yield Row(assignment, student, known.get(student), word, submission)

    def table(self, rows: list[Row]) -> list[list[Any]]:
        """Return the lines to write."""
        head = "assignment duedate timestamp student_id last_name first_name email raw_score "
        head += "late_submission_penalty score max_score status"
        lines: list[list[Any]] = [head.split()]
        for row in rows:
            sent, marked = row.submission, row.status == MARKED
            lines.append(
                [
                    row.assignment.name,
                    row.assignment.duedate,
                    sent and sent.timestamp,
                    row.student,
                    *(row.about and getattr(row.about, name) for name in _PERSON),
                    sent.score if marked else "",
                    sent.late_submission_penalty if marked else "",
                    row.score,
                    row.assignment.max_score,
                    row.status,
                ]
            )
        return lines


_PERSON = ("last_name", "first_name", "email")


class Moodle(Marks):
    """A line a student, a column an assignment: what Moodle's import of grades asks for."""

    to_be = "moodle.csv"

    def table(self, rows: list[Row]) -> list[list[Any]]:
        """Return the lines to write."""
        names = list(dict.fromkeys(row.assignment.name for row in rows))
        return [["username", "email", *names], *(
            [student, mine[0].about and mine[0].about.email, *(row.score for row in mine)]
            for student, mine in _by_student(rows)
        )]  # fmt: skip


class Canvas(Marks):
    """The same with the columns of Canvas's gradebook, and the points that are possible."""

    to_be = "canvas.csv"

    def table(self, rows: list[Row]) -> list[list[Any]]:
        """Return the lines to write."""
        most = {row.assignment.name: row.assignment.max_score for row in rows}
        lines: list[list[Any]] = [
            ["Student", "ID", "SIS User ID", "SIS Login ID", "Section", *most],
            ["    Points Possible", "", "", "", "", *most.values()],
        ]
        for student, mine in _by_student(rows):
            about = mine[0].about
            name = (
                f"{about.last_name}, {about.first_name}" if about and about.last_name else student
            )
            number = (about and about.lms_user_id) or ""
            lines.append([name, number, "", student, "", *(row.score for row in mine)])
        return lines


def _by_student(rows: list[Row]) -> Iterator[tuple[str, list[Row]]]:
    for student in dict.fromkeys(row.student for row in rows):
        yield student, [row for row in rows if row.student == student]
