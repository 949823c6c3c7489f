"""A reader's own transformer from a terminal: its parts, the book's way, and its training."""

from __future__ import annotations

import argparse
import ast
import sys
from pathlib import Path

from tformer.training.checkpoints import CheckpointError
from tformer_book.exercises import CheckFailed
from tformer_book.own.corpus import TextError
from tformer_book.own.lending import Unfit, load
from tformer_book.own.parts import BEGIN, BOOK, FILE, PARTS, defined_in, of_the_book
from tformer_book.own.progress import check, find_file, hint, progress
from tformer_book.own.text import open_trained, train_on_text
from tformer_book.own.trying import try_out

CHAPTERS = {str(part.chapter): part for part in PARTS}
CHAPTERS["3"] = CHAPTERS["4"]  # one part for both
ASKED = "progress, begin, show, hint, train, write"


def main(arguments: list[str] | None = None) -> int:
    """Do what the arguments say; return 1 if something is not right yet, 2 if it cannot be done."""
    parser = argparse.ArgumentParser("python -m tformer_book.own", description=__doc__)
    parser.add_argument(
        "what",
        nargs="?",
        default="progress",
        help=f"{ASKED}, or a chapter: {', '.join(CHAPTERS)}",
    )
    parser.add_argument(
        "name",
        nargs="?",
        help="the part that `show` shows, or `hint` speaks of; "
        "the text that `train` reads, if none, the book's prose; "
        "the folder of the trained model that `write` opens",
    )
    parser.add_argument("tier", nargs="?", type=int, default=1, help="which hint")
    parser.add_argument("--minutes", type=float, default=15.0, help="of `train`; 15 if none")
    parser.add_argument("--folder", type=Path, help="of `train`, where its checkpoints are kept")
    parser.add_argument("--start", default="The", help="the text that `write` goes on with")
    parser.add_argument("--temperature", type=float, default=0.7, help="of `write`; 0.7 if none")
    parser.add_argument("--tokens", type=int, default=100, help="of `write`; 100 if none")
    parser.add_argument("--file", type=Path, help=f"the file; if none, the nearest {FILE}")
    chosen = parser.parse_args(arguments)
    try:
        if chosen.what == "begin":
            return _begin(chosen.file or Path(FILE))
        if chosen.what == "show":
            return _show(chosen.name or "")
        if chosen.what == "hint":
            hint(chosen.name or "without a name", chosen.tier)
            return 0
        path = find_file(chosen.file)
        if chosen.what == "progress":
            load(path)
            progress(path)
            return 0
        if chosen.what == "train":
            return _train(chosen, path)
        if chosen.what == "write":
            return _write(chosen, path)
        if chosen.what in CHAPTERS:
            return _chapter(chosen.what, path)
    except CheckFailed as failed:
        print(failed, file=sys.stderr)
        return 2
    except (FileNotFoundError, SyntaxError, Unfit) as error:
        print(f"Nothing was checked. {error}", file=sys.stderr)
        return 2
    parser.error(f"there is no {chosen.what!r}; one of {ASKED}, {', '.join(CHAPTERS)}")


def _begin(path: Path) -> int:
    if path.exists():
        print(f"{path} is there already, and is yours; nothing was changed.", file=sys.stderr)
        return 2
    path.write_text(BEGIN.read_text(encoding="utf-8"), encoding="utf-8")
    print(f"{path} is written. Open it, and begin with softmax.")
    return 0


def _show(name: str) -> int:
    part = of_the_book().get(name)
    if part is None:
        print(f"show: one of {', '.join(of_the_book())}", file=sys.stderr)
        return 2
    print(ast.get_source_segment(BOOK.read_text(encoding="utf-8"), part.node))
    return 0


def _train(chosen: argparse.Namespace, path: Path) -> int:
    """Train on a text, or go on; 2 if that cannot be done, 130 if it was stopped by Ctrl-C."""
    text = Path(chosen.name) if chosen.name else None
    folder = chosen.folder or Path(f"trained_{text.stem if text else 'book'}")
    _say(f"The folder: {folder}. The same command goes on there after a stop.")
    try:
        train_on_text(text, folder, file=path, minutes=chosen.minutes, say=_say)
    except KeyboardInterrupt:
        return 130
    except (OSError, TextError, CheckpointError) as error:
        print(f"Nothing was trained. {error}", file=sys.stderr)
        return 2
    return 0


def _write(chosen: argparse.Namespace, path: Path) -> int:
    """Let a trained model write; 2 if there is none."""
    try:
        writer = open_trained(chosen.name or "trained_book", file=path)
        _say(writer.write(chosen.start, chosen.temperature, chosen.tokens))
    except (OSError, TextError, CheckpointError) as error:
        print(f"Nothing was written. {error}", file=sys.stderr)
        return 2
    return 0


def _say(line: str) -> None:
    print(line, flush=True)  # also where the output goes into a file


def _chapter(chapter: str, path: Path) -> int:
    """Check what the file has of a chapter's part, and try it, right or not."""
    load(path)  # what is wrong with the whole file is said once
    mine, wrong = defined_in(path), False
    for name in CHAPTERS[chapter].names:
        if name not in mine:
            print(f"○ {name} is lent by the book.")
            continue
        try:
            check(name, path)
        except CheckFailed as failed:
            print(f"✗ {failed}")
            wrong = True
    print()
    try_out(CHAPTERS[chapter].chapter, path)
    return int(wrong)


if __name__ == "__main__":
    sys.exit(main())
