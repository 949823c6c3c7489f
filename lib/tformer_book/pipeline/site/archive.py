"""The book as one zip file that is read without a server: `python -m tformer_book.pipeline zip`."""

import zipfile
from pathlib import Path

from tformer_book.pipeline.site.check import Page, target_of
from tformer_book.pipeline.site.offline import WORKER, files

NAME = "executable-transformer"
MOMENT = (1980, 1, 1, 0, 0, 0)
"""The time of every file, so that the same pages make the same zip file."""


def contents(root: Path) -> list[str]:
    """The files of a built site that its pages show or link to, by name."""
    shown = files(root)
    pages = [root / name for name in shown if name.endswith(".html")]
    linked = {target_of(page, url) for page in pages for url in Page(page).links}
    inside = {path for path in linked if path.is_relative_to(root) and path.is_file()}
    return sorted({WORKER, *shown, *(path.relative_to(root).as_posix() for path in inside)})


def write(root: Path, target: Path) -> int:
    """Write the zip file; all is in one folder in it. Returns how many files there are.

    Parameters
    ----------
    root : the folder of the built pages.
    target : the zip file; what was there is lost.
    """
    root = root.resolve()
    names = contents(root)
    with zipfile.ZipFile(target, "w", zipfile.ZIP_DEFLATED, compresslevel=9) as archive:
        for name in names:
            entry = zipfile.ZipInfo(f"{NAME}/{name}", MOMENT)
            entry.compress_type = zipfile.ZIP_DEFLATED
            archive.writestr(entry, (root / name).read_bytes())
    return len(names)
