"""The commands by which the book is made: python -m tformer_book.pipeline COMMAND."""

import argparse
import secrets
import subprocess
import sys
import time
import webbrowser
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

from nbformat.sign import NotebookNotary

from tformer_book.claims import claims
from tformer_book.pipeline import changed, find_root, notebooks, run
from tformer_book.pipeline.generators import exam, exercises, ledger, skeleton
from tformer_book.pipeline.lab import desk, launch, lite
from tformer_book.pipeline.notebook.normalise import dump, load, normalise
from tformer_book.pipeline.rules import lint, names
from tformer_book.pipeline.site import archive


def main(arguments: list[str] | None = None) -> int:
    """Do what the command line says, in the book around the working folder."""
    options = _parser().parse_args(arguments)
    try:
        return int(options.action(find_root(), options) or 0)
    except (FileExistsError, FileNotFoundError) as error:
        print(error, file=sys.stderr)
        return 2


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m tformer_book.pipeline", description=__doc__)
    commands = parser.add_subparsers(required=True, metavar="COMMAND")
    chosen = {"nargs": "?", "default": "", "metavar": "CH", "help": "a chapter, such as 04"}
    for name, action, words in (
        ("run", _run, "run notebooks in fresh kernels and write back those that changed"),
        ("lint", _lint, "check notebooks against the rules of the book"),
        ("normalise", _normalise, "write notebooks the one way, without running them"),
    ):
        command = commands.add_parser(name, help=words)
        command.add_argument("select", **chosen)  # type: ignore[arg-type]
        command.set_defaults(action=action)
        if name == "run":
            command.add_argument("--force", action="store_true", help="rewrite timings too")
    for name, action, words in (
        ("ledger", _ledger, "verify all claims; write the ledger and the seals' records"),
        ("exercises", _exercises, "write the exercise notebooks from their sources"),
        ("serve", _serve, "show the built book in a browser"),
        ("zip", _zip, "write the built book as one zip file that needs no server"),
        ("lite", _lite, "write the notebooks and wheels of a JupyterLite site"),
        ("staged", _staged, "check the style of what is about to be committed"),
    ):
        commands.add_parser(name, help=words).set_defaults(action=action)
    command = commands.add_parser("check", help="check what changed: style, types and its tests")
    command.add_argument("base", nargs="?", default="", help="since when; if absent, since main")
    command.set_defaults(action=_check)
    command = commands.add_parser("chapter", help="write the skeleton of a chapter, and run it")
    command.add_argument("number", type=int, metavar="N", help="such as 22")
    command.add_argument("name", help="of its files, such as two_words")
    command.set_defaults(action=_chapter)
    command = commands.add_parser("launch", help="write the branch that launch buttons open")
    command.add_argument("folder", help="a folder that is new, or holds an older launch branch")
    command.set_defaults(action=_launch)
    command = commands.add_parser("editions", help="make a PDF and an EPUB of the built pages")
    command.add_argument("folder", nargs="?", type=Path, help="where; if none, _build/editions")
    command.set_defaults(action=_editions)
    lab = commands.add_parser("lab", help="write a desk of chapters and exercises for JupyterLab")
    lab.add_argument("folder", nargs="?", type=Path, help="where; if none, the book's own lab")
    lab.set_defaults(action=_lab)
    command = commands.add_parser("exam", help="draw an exam, a sheet and a key, on some chapters")
    command.add_argument("chapters", nargs="*", type=int, metavar="CH", help="such as 03 04")
    command.add_argument("--seed", type=int, help="what the numbers are drawn by; secret if absent")
    command.add_argument("--questions", type=int, metavar="N", help="how many of each chapter")
    command.add_argument("--to", type=Path, metavar="DIR", help="the folder to write into")
    command.set_defaults(action=_exam)
    return parser


def _run(root: Path, options: argparse.Namespace) -> int:
    return run.main(root, options.select, options.force)


def _lint(root: Path, options: argparse.Namespace) -> int:
    chapters = {claim.label: f"{claim.chapter:02d}" for claim in claims()}
    chosen = notebooks(root, options.select)
    twice = names.shared(root)
    count = len(twice)
    print(*twice, sep="\n", end="\n" if twice else "")
    for path in chosen:
        for finding in lint.lint_file(path, chapters):
            count += 1
            print(f"{path.relative_to(root).as_posix()}: {finding}")
    print(f"{len(chosen)} notebooks, {count} findings")
    return 1 if count else 0


def _normalise(root: Path, options: argparse.Namespace) -> None:
    for path in notebooks(root, options.select):
        text = dump(normalise(load(path)))
        if text != path.read_text(encoding="utf-8"):
            path.write_text(text, encoding="utf-8", newline="\n")
            print(f"normalised {path.relative_to(root).as_posix()}")


def _ledger(root: Path, options: argparse.Namespace) -> None:
    for path in (changed := ledger.write(root)):
        print(f"rewritten: {path.relative_to(root).as_posix()}")
    if not changed:
        print("the ledger and its records are current")


def _exercises(root: Path, options: argparse.Namespace) -> None:
    changed = exercises.generate(root)
    print(f"{len(exercises.sources(root))} sources, {len(changed)} notebooks rewritten")


def _lab(root: Path, options: argparse.Namespace) -> None:
    folder = options.folder or root / desk.FOLDER
    for path, kept in desk.write(root, folder):
        if path.suffix == ".ipynb":
            NotebookNotary().sign(load(path))
        yours = f"; yours is kept as {kept.name}" if kept else ""
        print(f"wrote {path.relative_to(folder).as_posix()}{yours}")


def _exam(root: Path, options: argparse.Namespace) -> int:
    seed = secrets.randbelow(10**9) if options.seed is None else options.seed
    try:
        made = exam.paper(options.chapters, seed, options.questions)
    except ValueError as error:
        print(error, file=sys.stderr)
        return 2
    named = "-".join(f"ch{chapter:02d}" for chapter in made.chapters)
    for path in exam.write(made, options.to or root / "exams" / f"{named}-seed{seed}"):
        print(f"wrote {path}")
    print(f"version {made.version}: {made.minutes} minutes, {made.points} points; print the .html")
    return 0


def _chapter(root: Path, options: argparse.Namespace) -> int:
    try:
        written = skeleton.write(root, options.number, options.name)
    except ValueError as error:
        print(error, file=sys.stderr)
        return 2
    for path in [*written, skeleton.verified(root, options.number)]:
        print(f"wrote {path.as_posix()}")
    status = run.main(root, f"{options.number:02d}")
    print("still to be written:", *skeleton.owed(options.number), sep="\n  ")
    return status


def _check(root: Path, options: argparse.Namespace) -> int:
    commit, names = changed.since(root, options.base)
    print(f"== {len(names)} files changed since {commit[:10]}", *names, sep="\n   ", flush=True)
    tools = [("ruff", "check", "."), ("ruff", "format", "--check", *changed.FORMATTED), ("mypy",)]
    commands = [[sys.executable, "-m", *tool] for tool in tools]
    return _all_pass(root, [*commands, *changed.select(root, commit, names).commands()])


def _staged(root: Path, options: argparse.Namespace) -> int:
    names = changed.staged(root)
    code = [name for name in names if name.endswith((".py", ".ipynb"))]
    ruff, formatted = [sys.executable, "-m", "ruff"], tuple(f"{x}/" for x in changed.FORMATTED)
    commands = [[*ruff, "check", "--quiet", "--force-exclude", *code]] if code else []
    if python := [name for name in code if name.startswith(formatted) and name.endswith(".py")]:
        commands.append([*ruff, "format", "--quiet", "--check", "--force-exclude", *python])
    odd = [
        name
        for name in code
        if root / name in notebooks(root)
        if (root / name).read_text(encoding="utf-8") != dump(normalise(load(root / name)))
    ]
    for name in odd:
        print(f"{name}: not as {lint.NORMALISE} writes it")
    return 1 if odd else _all_pass(root, commands)


def _all_pass(root: Path, commands: list[list[str]]) -> int:
    """Run all commands; say how many seconds each took, and at the end which have failed."""
    failed = []
    for command in commands:
        start = time.monotonic()
        print("==", *command[2:], flush=True)
        status = subprocess.run(command, cwd=root, check=False).returncode
        print(f"== {time.monotonic() - start:.0f} s", flush=True)
        if status and not ("pytest" in command and status == changed.NOTHING_CHOSEN):
            failed.append(" ".join(command[2:]))
    for words in failed:
        print(f"failed: {words}", file=sys.stderr)
    return 1 if failed else 0


def _launch(root: Path, options: argparse.Namespace) -> None:
    if not options.folder:
        raise FileNotFoundError("name a folder: make launch DIR=../launch")
    written = launch.write(root, Path(options.folder))
    print(
        f"wrote {len(written)} files into {options.folder}; push them as the branch of the buttons"
    )


def _lite(root: Path, options: argparse.Namespace) -> None:
    print(f"wrote {len(lite.write(root))} files into {lite.FOLDER}")


def _editions(root: Path, options: argparse.Namespace) -> None:
    # Here, so that no other command needs a browser and what reads and writes PDFs.
    from tformer_book.pipeline.editions.write import write

    for path in write(root, options.folder, partial(print, flush=True)):
        print(f"wrote {path}: {path.stat().st_size / 1e6:.1f} MB")


def _zip(root: Path, options: argparse.Namespace) -> None:
    target = root / "_build" / f"{archive.NAME}.zip"
    count = archive.write(_built(root), target)
    print(f"wrote {target}: {count} files, {target.stat().st_size / 1e6:.1f} MB")


def _built(root: Path) -> Path:
    folder = root / "_build" / "html"
    if not (folder / "index.html").is_file():
        raise FileNotFoundError("there is no built book yet: `make book` builds it")
    return folder


def _serve(root: Path, options: argparse.Namespace) -> None:
    folder = _built(root)
    handler = partial(SimpleHTTPRequestHandler, directory=str(folder))
    with ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        address = f"http://127.0.0.1:{server.server_port}/index.html"
        print(f"the book is at {address} until you press Ctrl+C", flush=True)
        webbrowser.open(address)
        try:
            server.serve_forever()
        except KeyboardInterrupt:
            print()


if __name__ == "__main__":
    sys.exit(main())
