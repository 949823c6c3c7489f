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
PAGES = ("letters", "curriculum", "quiz")
"""Tests of the pages, run where one changed."""
WHOLE = {f"tests/test_{name}.py" for name in ("curriculum", "quiz", "teach")}
"""Short tests that know no chapter: all their cases are run."""
STANDS_FOR = {"planted_answers": "checks", "library_mutants": "claims"}
IN_CHAPTER = re.compile(r"/ch(\d\d)/")
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
    pages = notebooks(root)
    lint, tests, executed, functions = set[str](), set[str](), set[str](), set[str]()
    of_chapter: dict[str, set[str]] = {}
    for name in names:
        if root / name in pages:
            lint.add(Path(name).stem)
            executed |= {name} if _code(root, name) != _code(root, name, commit) else set()
        chapter, engines = _engines(root, name)
        of_chapter.setdefault(chapter, set()).update(f"tests/test_{x}.py" for x in engines)
        if name.startswith("tests/"):
            tests |= {name} if "/test_" in name else _users(root, Path(name).stem)
        elif IN_CHAPTER.search(name):
            tests |= _own(root, chapter) if not engines or "widgets" in engines else set()
        elif name.endswith(".py"):
            functions |= _names(root, name, commit)
            tests |= _topic(root, Path(name))
        else:
            tests |= _naming(root, name)
    asked = set().union(*of_chapter.values())
    tests |= _direct(root, functions) | asked & WHOLE
    in_table = _uses(root / "tests" / "cases.py", functions)
    table = _users(root, "cases", most=99) - tests if in_table else set()
    chapters = {c: _files(root, files - tests) for c, files in sorted(of_chapter.items())}
    return Selection(
        lint=tuple(sorted(lint)),
        tests=_files(root, tests),
        of_chapter={c: files for c, files in chapters.items() if files},
        of_names=(_files(root, table), tuple(sorted(functions))),
        executed=tuple(sorted(executed)),
    )


def _engines(root: Path, name: str) -> tuple[str, tuple[str, ...]]:
    """The chapter that a file belongs to, and the engines that read it; neither for most files."""
    path, inside = Path(name), IN_CHAPTER.search(name)
    numbered = re.match(r"(\d\d)_", path.name)
    if inside:
        kind = STANDS_FOR.get(path.stem, re.split(r"[_.]", path.name)[0])
        return inside[1], ENGINES.get(kind, ("widgets",) if _is_widget(root / path) else ())
    if numbered and path.parts[0] in ("chapters", "exercises"):
        return numbered[1], PAGES if path.parts[0] == "chapters" else ENGINES["checks"]
    return "", ()


def _git(root: Path, *arguments: str) -> str:
    done = subprocess.run(["git", *arguments], cwd=root, capture_output=True, text=True)
    return done.stdout


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
