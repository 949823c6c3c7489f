"""What changed, and which tests that asks for: `make check`.

It tries what a small change is likely to break, and prints it. `make test` tries everything.
"""

import ast
import re
import subprocess
import sys
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import nbformat

from tformer_book.pipeline import notebooks

PYTEST = (sys.executable, "-m", "pytest", "-q")
FORMATTED = ("lib", "tests", "benchmarks")
"""The folders whose code ruff formats."""
NOTHING_CHOSEN = 5
"""The exit status of pytest when no case is left, which is no failure here."""
ENGINES = {
    "checks": ("exercise_answers", "exercise_engine", "exercise_precision", "exercises"),
    "claims": ("claims",),
    "exam": ("exams",),
    "quiz": ("quiz",),
    "teach": ("teach",),
    "verified": ("claims",),
}
"""By how a file of a chapter's folder begins: the tests of its engine, run for that chapter."""
PAGES = ("letters", "reading", "curriculum", "teach")
"""Tests of the pages, run for the chapter whose page changed."""
MOST_HELPED = 12
"""A helper that more test files use is no small change: its tests are left to `make test`."""


@dataclass(frozen=True)
class Selection:
    """What is run for a change.

    Attributes
    ----------
    lint : beginnings of the notebooks' names that are linted.
    tests : test files that are run as they are.
    of_chapter : test files by the chapter, such as `04`, whose cases are run.
    of_names : test files that meet a changed function in a table, and the names to choose by.
    executed : notebooks that are run again and compared, as their code changed.
    """

    lint: tuple[str, ...]
    tests: tuple[str, ...]
    of_chapter: dict[str, tuple[str, ...]]
    of_names: tuple[tuple[str, ...], tuple[str, ...]]
    executed: tuple[str, ...]

    def commands(self) -> Iterator[list[str]]:
        """The commands, in order."""
        for start in self.lint:
            yield [sys.executable, "-m", "tformer_book.pipeline", "lint", start]
        if self.tests:
            yield [*PYTEST, *self.tests]
        files, names = self.of_names
        if files:
            yield [*PYTEST, *files, "-k", " or ".join(names)]
        for chapter, files in self.of_chapter.items():
            yield [*PYTEST, *files, "--chapter", chapter]
        if self.executed:
            plugin = ("-p", "tformer_book.pipeline.notebook.kernels")
            rules = "lib/tformer_book/pipeline/notebook/sanitise.cfg"
            options = ("--nbval", "--nbval-current-env", "--nbval-sanitize-with", rules)
            yield [*PYTEST, *self.executed, *plugin, *options]


def since(root: Path, base: str = "") -> tuple[str, list[str]]:
    """Where the branch left `main` (or `base`, or the last commit), and the files changed since.

    Files that git does not know yet, and does not ignore, are among them; so are deleted ones.
    """
    wanted = [base] if base else ["origin/main", "main"]
    found = (_git(root, "merge-base", "HEAD", name).strip() for name in wanted)
    commit = next(filter(None, found), "HEAD")
    names = _git(root, "diff", "--name-only", "--no-renames", commit).splitlines()
    new = _git(root, "ls-files", "--others", "--exclude-standard").splitlines()
    return commit, sorted({*names, *new})


def select(root: Path, commit: str, names: Iterable[str]) -> Selection:
    """Choose the tests of the files with these names, changed since a commit."""
    lint, tests, executed, functions = set(), set(), set(), set()
    of_chapter: dict[str, set[str]] = {}
    pages = notebooks(root)
    for name in names:
        path = Path(name)
        chapter, inside = _chapter(path), re.search(r"/ch(\d\d)/", name)
        if root / name in pages:
            lint.add(path.stem)
            executed |= {name} if _code(root, name) != _code(root, name, commit) else set()
        if path.parts[0] == "chapters" and chapter:
            of_chapter.setdefault(chapter, set()).update(map(_engine, PAGES))
        if path.parts[0] == "exercises" and chapter:
            of_chapter.setdefault(chapter, set()).update(map(_engine, ENGINES["checks"]))
        if inside:
            begins = ("planted_answers", "checks"), ("library_mutants", "claims")
            kind = dict(begins).get(path.stem, re.split(r"[_.]", path.name)[0])
            engines = ENGINES.get(kind, ("widgets",) if _is_widget(root / path) else ())
            if engines:
                of_chapter.setdefault(inside[1], set()).update(map(_engine, engines))
            elif name.startswith("lib/"):
                tests |= _own(root, inside[1])
        if path.parts[0] == "tests":
            tests |= {name} if path.name.startswith("test_") else _users(root, path.stem)
        elif path.suffix == ".py" and not inside:
            functions |= _names(root, name, commit)
            tests |= _topic(root, path)
        else:
            tests |= _naming(root, name)
    tests |= _direct(root, functions)
    table = set()
    if _uses(root / "tests" / "cases.py", functions):
        table = _users(root, "cases", most=99) - tests
    chapters = {c: _files(root, files - tests) for c, files in of_chapter.items()}
    chapters = {c: files for c, files in sorted(chapters.items()) if files}
    chosen = _files(root, table), tuple(sorted(functions))
    every = _files(root, tests)
    return Selection(tuple(sorted(lint)), every, chapters, chosen, tuple(sorted(executed)))


def _git(root: Path, *arguments: str) -> str:
    done = subprocess.run(["git", *arguments], cwd=root, capture_output=True, text=True)
    return done.stdout


def _chapter(path: Path) -> str:
    numbered = re.match(r"(\d\d)_", path.name)
    return numbered[1] if numbered else ""


def _engine(name: str) -> str:
    return f"tests/test_{name}.py"


def _files(root: Path, names: Iterable[str]) -> tuple[str, ...]:
    """Those that are there and need no browser and no graphics card."""
    slow = re.compile(r"tests/(?:browser|gpu)/|test_browser")
    return tuple(sorted(x for x in names if (root / x).is_file() and not slow.search(x)))


def _code(root: Path, name: str, commit: str = "") -> list[str]:
    """The code cells of a notebook, now or at a commit."""
    text = _git(root, "show", f"{commit}:{name}") if commit else (root / name).read_text("utf-8")
    cells = nbformat.reads(text, 4).cells if text else []
    return [cell.source for cell in cells if cell.cell_type == "code"]


def _is_widget(path: Path) -> bool:
    return path.with_suffix(".js").is_file()


def _own(root: Path, chapter: str) -> set[str]:
    """The tests in the folder of a chapter."""
    found = (root / "tests" / "chapters" / f"ch{chapter}").glob("test_*.py")
    return {path.relative_to(root).as_posix() for path in found}


def _names(root: Path, name: str, commit: str) -> set[str]:
    """The public functions of a module whose lines changed; all of them if others changed."""
    path = root / name
    if not path.is_file():
        return set()
    body = ast.parse(path.read_text("utf-8")).body
    public = {x.name: x for x in body if isinstance(x, ast.FunctionDef | ast.ClassDef)}
    spans = {n: range(x.lineno, (x.end_lineno or 0) + 1) for n, x in public.items()}
    diff = _git(root, "diff", "-U0", commit, "--", name)
    touched = {
        next((n for n, span in spans.items() if line in span), "_")
        for at, count in re.findall(r"^@@ .*\+(\d+)(?:,(\d+))?", diff, re.MULTILINE)
        for line in range(int(at), int(at) + max(1, int(count or 1)))
    }
    private = not touched or any(n.startswith("_") for n in touched)
    return {n for n in (spans if private else touched) if not n.startswith("_")}


def _topic(root: Path, path: Path) -> set[str]:
    """The tests that bear the module's name or import it."""
    if path.parts[0] != "lib":
        return set()
    module = ".".join(path.with_suffix("").parts[1:])
    package, _, last = module.rpartition(".")
    whole, package = re.escape(module), re.escape(package)
    imported = re.compile(rf"\b(?:{whole}\b|{package} import [^\n]*\b{last}\b)")
    found = {name for name, text in _tests(root) if imported.search(text)}
    return found | {f"tests/test_{last}.py"}


def _direct(root: Path, functions: set[str]) -> set[str]:
    """The tests in whose own text a function of ours is called by its name."""
    if not functions:
        return set()
    called = re.compile(rf"\b(?:ref|fast|reference)\.(?:{'|'.join(sorted(functions))})\b")
    return {name for name, text in _tests(root) if called.search(text)}


def _uses(path: Path, functions: set[str]) -> bool:
    text = path.read_text("utf-8") if path.is_file() else ""
    return any(re.search(rf"\b{name}\b", text) for name in functions)


def _users(root: Path, helper: str, most: int = MOST_HELPED) -> set[str]:
    """The test files that import a helper of the tests, if they are not too many."""
    imported = re.compile(rf"^\s*(?:from|import) (?:[\w.]*\.)?{re.escape(helper)}\b", re.MULTILINE)
    found = {name for name, text in _tests(root) if imported.search(text)}
    return found if len(found) <= most else set()


def _naming(root: Path, name: str) -> set[str]:
    """The tests that name another file, such as a style or a setting."""
    last = Path(name).name
    if name.endswith((".ipynb", ".md")) or len(last) < 5:
        return set()
    return {test for test, text in _tests(root) if f'"{last}"' in text or f"/{last}" in text}


def staged(root: Path) -> list[str]:
    """The files that the next commit holds."""
    return _git(root, "diff", "--cached", "--name-only", "--diff-filter=d").splitlines()


@cache
def _tests(root: Path) -> tuple[tuple[str, str], ...]:
    found = sorted((root / "tests").rglob("test_*.py"))
    return tuple((path.relative_to(root).as_posix(), path.read_text("utf-8")) for path in found)
