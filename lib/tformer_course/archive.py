"""Read an archive that somebody else made: as names and bytes, within limits.

Nothing is unpacked to a place that an archive names: who calls `members` chooses the places. What
counts is what comes out, not what the archive says of itself.
"""

from __future__ import annotations

import stat
import zipfile
from collections.abc import Callable, Iterator
from pathlib import Path, PurePosixPath

MEMBERS = 20_000
EACH = 200 << 20  # bytes of one file
WHOLE = 4 << 30  # bytes of all files
HIDDEN = ("__MACOSX", ".ipynb_checkpoints")


class ArchiveError(ValueError):
    """An archive cannot be read, or not within the limits; the message says why."""


def members(
    path: Path,
    wanted: Callable[[PurePosixPath], bool] = lambda name: True,
    *,
    each: int = EACH,
    whole: int = WHOLE,
) -> Iterator[tuple[PurePosixPath, bytes | None]]:
    """Yield the files of a zip archive that are wanted: name and bytes, None for one too large.

    Names are relative, and no part of them is ``..``, a drive or hidden; other files are left out,
    and so are links.

    Raises
    ------
    ArchiveError
        It is no zip archive, is damaged or locked, or holds more than may be read.
    """
    try:
        with zipfile.ZipFile(path) as archive:
            if len(archive.filelist) > MEMBERS:
                raise ArchiveError(f"{path.name} holds more than {MEMBERS} files")
            left = whole
            for member in archive.filelist:
                name = plain(member.filename)
                if not name or member.is_dir() or _is_link(member) or not wanted(name):
                    continue
                if member.flag_bits & 1:
                    raise ArchiveError(f"{path.name} is locked with a password")
                with archive.open(member) as file:
                    data = file.read(min(each, left) + 1)
                left -= len(data)
                if left < 0:
                    raise ArchiveError(f"{path.name} holds more than {whole >> 20} MB")
                yield name, data if len(data) <= each else None
    except ArchiveError:
        raise
    except (OSError, RuntimeError, NotImplementedError, EOFError, ValueError) as error:
        raise ArchiveError(f"{path.name} cannot be read ({error})") from None
    except Exception as error:  # zipfile.BadZipFile, zlib.error, lzma.LZMAError, struct.error
        raise ArchiveError(f"{path.name} is no zip archive, or is damaged ({error})") from None


def plain(name: str) -> PurePosixPath | None:
    """Return a name within an archive as a relative path; None if it leads elsewhere or hides."""
    path = PurePosixPath(name.replace("\\", "/"))
    bad = any(p == ".." or p in HIDDEN or ":" in p or not p.isprintable() for p in path.parts)
    return None if bad or path.is_absolute() or path.name.startswith(".") else path


def _is_link(member: zipfile.ZipInfo) -> bool:
    return stat.S_ISLNK(member.external_attr >> 16)
