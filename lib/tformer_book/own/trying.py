"""Run what a part makes possible, with the book's own file or a reader's; say where it stops."""

from __future__ import annotations

from pathlib import Path
from textwrap import fill

import torch

from tformer.pretrained import available
from tformer_book.exercises.describe import own_line
from tformer_book.exercises.display import WIDTH
from tformer_book.own.checking import book_module, judge
from tformer_book.own.lending import load
from tformer_book.own.parts import PARTS, defined_in, of_the_book
from tformer_book.own.tryouts import TRYOUTS


def try_out(chapter: int, path: Path | str | None = None) -> None:
    """Run what the part of a chapter makes possible, with a file or with the book's own.

    Parameters
    ----------
    chapter : int
        The chapter of the part.
    path : Path or str, optional
        The reader's file; the book's own if None.

    Raises
    ------
    ValueError
        If no part belongs to the chapter.
    """
    if chapter not in TRYOUTS:
        known = ", ".join(map(str, sorted(TRYOUTS)))
        raise ValueError(f"try_out: chapter must be one of {known}; got {chapter}")
    run, real = TRYOUTS[chapter]
    if real and not available():
        print("This needs SmolLM2: `make model` fetches it, 93 MB.")  # noqa: T201
        return
    my = book_module() if path is None else load(path)
    if path is not None:
        _say_what_is_lent(chapter, Path(path))
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        for line in run(my):
            print(fill(line.strip(), WIDTH))  # noqa: T201
    except Exception as error:
        if path is None:
            raise
        line = own_line(error, str(path))
        wrong = "" if line else _first_wrong(Path(path))
        if not line and not wrong:
            raise
        lent = f"where a lent part uses yours: mend {wrong} first."
        print(fill(f"The run stopped with {type(error).__name__}: {error}", WIDTH))  # noqa: T201
        print(f"at `{line}` in your file." if line else lent)  # noqa: T201
    finally:
        torch.set_num_threads(threads)


def _say_what_is_lent(chapter: int, path: Path) -> None:
    """Say that a run tries the book's part, where a file has none of it."""
    mine = defined_in(path)
    names = next(part.names for part in PARTS if part.chapter == chapter)
    if not any(name in mine for name in names):
        print(f"Yours is not written yet; the book's {names[0]} is tried.")  # noqa: T201


def _first_wrong(path: Path) -> str:
    """Return the first part of a file that its check refuses; "" if there is none."""
    mine = defined_in(path)
    return next((name for name in of_the_book() if name in mine and not judge(path, name)[0]), "")
