"""How the book is made: notebooks are run, normalised, checked, then rendered as they are."""

import os
from pathlib import Path


def find_root(start: Path | None = None) -> Path:
    """The folder of the book: the nearest one, here or above, that holds chapters and a library."""
    here = (start or Path.cwd()).resolve()
    for folder in (here, *here.parents):
        if (folder / "chapters").is_dir() and (folder / "pyproject.toml").is_file():
            return folder
    raise FileNotFoundError(f"no book here: {here} has no chapters folder, nor has one above it")


def notebooks(root: Path, select: str = "") -> list[Path]:
    """The notebooks that are run and verified: chapters and solved exercises.

    `select` keeps those whose file name starts with it, or that are the named file.
    """
    found = sorted(root.glob("chapters/*.ipynb")) + sorted(root.glob("exercises/solutions/*.ipynb"))
    chosen = [path for path in found if path.name.startswith(Path(select).name)]
    if select and not chosen:
        names = ", ".join(path.stem for path in found) or "none"
        raise FileNotFoundError(f"no notebook starts with '{select}'; there are: {names}")
    return chosen


def one_blas_thread() -> None:
    """One thread for each notebook: two notebooks run at once, and sums keep one order."""
    for library in ("OMP_NUM", "OPENBLAS_NUM", "MKL_NUM", "VECLIB_MAXIMUM"):
        os.environ[f"{library}_THREADS"] = "1"
