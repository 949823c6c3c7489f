"""Take in what students sent: nothing that leads elsewhere, and nothing that stops the others.

A submission is plain files of its own. A link may lead to the solutions or the gradebook, and is
followed with the rights of the lecturer; a pipe is read for ever. Who sends one is named, and
nothing of it is collected, marked or returned.
"""

from __future__ import annotations

import contextlib
import os
import shutil
import stat
import tempfile
from collections.abc import Collection, Iterator
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import Any

from nbgrader.coursedir import CourseDirectory
from nbgrader.exchange.default import ExchangeCollect
from nbgrader.utils import parse_utc

from tformer_course import archive
from tformer_course.bounded import Tell, bounded

STAMP = "timestamp.txt"
LONGEST_STAMP = 100  # bytes
SECONDS = 20.0  # to read an archive
EXCHANGED = (STAMP, "submission_secret.txt")  # nbgrader's own, beside a notebook


def refused(folder: Path, ours: Collection[tuple[int, int]] = ()) -> str:
    """Say why nothing of a folder is read; "" if it holds plain files and folders alone.

    Who makes a hard link to the file of another student must not have that one refused. So a file
    that stands elsewhere too is refused only if another user has made it, or it is one of `ours`;
    any other is copied (`own`).
    """
    for path in _all(folder):
        try:
            about = path.lstat()
        except OSError as error:
            return f"{path.name!r} cannot be read ({error.strerror})"
        if stat.S_ISLNK(about.st_mode):
            return f"{path.name!r} is a link"
        if not stat.S_ISDIR(about.st_mode) and not stat.S_ISREG(about.st_mode):
            return f"{path.name!r} is no plain file"
        if stat.S_ISREG(about.st_mode) and about.st_nlink > 1:
            foreign = about.st_uid != folder.lstat().st_uid
            if foreign or (about.st_dev, about.st_ino) in ours:
                return f"{path.name!r} is a hard link to a file of somebody else"
    return ""


def lecturers(course: CourseDirectory) -> frozenset[tuple[int, int]]:
    """Return the device and number of each file of a course that no student sent."""
    root, sent = Path(course.root), Path(course.root, course.submitted_directory)
    numbers = set()
    for above, folders, files in os.walk(root):
        here = Path(above)
        folders[:] = [name for name in folders if here / name != sent and name != "inbound"]
        for name in files:
            about = (here / name).lstat()
            numbers.add((about.st_dev, about.st_ino))
    return frozenset(numbers)


def own(folder: Path) -> None:
    """Make each file of a folder one of its own, where it was a hard link."""
    for path in _all(folder):
        if path.is_file() and not path.is_symlink() and path.stat().st_nlink > 1:
            with tempfile.TemporaryDirectory(dir=folder) as place:
                os.replace(shutil.copy2(path, Path(place, "copy")), path)


def _all(folder: Path) -> Iterator[Path]:
    yield folder
    for above, folders, files in os.walk(folder):
        yield from (Path(above, name) for name in folders + files)


def notebooks(folder: Path, names: list[str], assignment: str) -> list[str]:
    """Return the one notebook to mark, by the name that was handed out; it need not exist.

    One by another name is copied to that name, if none has it; so is one that lies in a folder of
    its own, or in a zip archive.
    """
    named = folder / f"{assignment}.ipynb"
    if not os.path.lexists(named):
        paths = [path for path in map(Path, names) if path.is_file()] or _within(folder, ".ipynb")
        if paths:
            shutil.copyfile(max(paths, key=lambda p: _fits(p, assignment, p.stat())), named)
        for path in _within(folder, ".zip") if not paths else ():
            bounded(partial(_unpack, path, named), SECONDS)
    return [str(named)]


def _fits(path: Path, assignment: str, about: os.stat_result) -> tuple[bool, float]:
    return assignment in path.stem, about.st_mtime


def _within(folder: Path, suffix: str) -> list[Path]:
    """Return the files of a folder and those below that have this suffix."""
    found = [path for path in _all(folder) if path.suffix.lower() == suffix and path.is_file()]
    return sorted(path for path in found if archive.plain(str(path.relative_to(folder))))


def _unpack(path: Path, named: Path, tell: Tell) -> None:
    """Write the notebook that an archive holds, that of the same name if there are several."""
    with contextlib.suppress(archive.ArchiveError):
        for name, data in archive.members(path, lambda name: name.suffix.lower() == ".ipynb"):
            if data is not None and (name.name == named.name or not named.exists()):
                named.write_bytes(data)


def stamp(folder: Path) -> str:
    """Replace a time of submission that cannot be read by that of its file; say so, or ""."""
    path = folder / STAMP
    if not path.exists():
        return ""
    try:
        if path.stat().st_size > LONGEST_STAMP:
            raise ValueError
        if text := path.read_text(encoding="utf-8").strip():
            parse_utc(text).isoformat()
        return ""
    except Exception:  # a parser of dates may raise anything
        came = datetime.fromtimestamp(path.stat().st_mtime, UTC)
    if path.is_dir():
        shutil.rmtree(path)
    path.write_text(f"{came:%Y-%m-%d %H:%M:%S.%f} UTC", encoding="ascii")
    return f"its {STAMP} could not be read and now holds the time of that file"


class Collect(ExchangeCollect):
    """Collects as nbgrader does, and refuses what is no plain submission, by the student's name."""

    src_records: list[dict[str, Any]]

    def init_src(self) -> None:
        """Find what has come in."""
        super().init_src()
        kept, ours = [], lecturers(self.coursedir)
        for record in self.src_records:
            why = record["why"] or refused(Path(self.inbound_path, record["filename"]), ours)
            if why:
                self._refuse(record["username"], why)
            else:
                kept.append(record)
        self.src_records = kept

    def _path_to_record(self, path: str) -> dict[str, Any]:
        try:
            record: dict[str, Any] = super()._path_to_record(path)
            return record | {"why": ""}
        except Exception:  # not of nbgrader's making: the time in its name cannot be read
            name = Path(path).name
            why = "the time in its name cannot be read"
            student = name.rpartition(f"+{self.coursedir.assignment_id}+")[0]
            return {"username": student, "filename": name, "timestamp": datetime.min, "why": why}

    def do_copy(self, src: str, dest: str, log: Any = None) -> None:
        """Copy a submission, with its links as links, and then look: nobody can change it now."""
        student = Path(dest).parent.name
        with tempfile.TemporaryDirectory() as place:
            try:
                copy = shutil.copytree(src, Path(place, "copy"), symlinks=True)
                if not (why := refused(copy)):
                    super().do_copy(str(copy), dest, log)
            except (OSError, RuntimeError) as error:
                shutil.rmtree(dest, ignore_errors=True)
                why = str(error)[:500]
        if why:
            self._refuse(student, why)

    def _refuse(self, student: str, why: str) -> None:
        self.log.error("Refused: %s. %s. Nothing of it was collected.", student, why)
