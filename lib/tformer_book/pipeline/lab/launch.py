"""What the launch buttons open: the chapters and exercises for a machine that is not ours.

The buttons are links to a hosted notebook service (Colab, Binder, a hub of your own), which opens a
notebook of a public repository. There a chapter meets no library and nothing that reads MyST. So
this edition, a branch of its own, has statements in plain Markdown, and a first cell that installs
the library from the repository, at the commit from which the edition was written.
"""

import re
import subprocess
import tomllib
from pathlib import Path
from typing import Any

import nbformat
import yaml
from nbformat import NotebookNode
from sphinx.application import Sphinx

from tformer_book.pipeline.lab.desk import files
from tformer_book.pipeline.lab.edition import NOTE, SEALS_ON, Book
from tformer_book.pipeline.notebook.myst import FENCE, OPTION
from tformer_book.pipeline.notebook.normalise import dump, parse

INSTALL = """\
# The book's library: installed where it is missing, as on Colab, from the book's repository.
import importlib.util
import sys

if importlib.util.find_spec("tformer_book") is None:
    %pip install --quiet {libraries}
if "google.colab" in sys.modules:  # which shows figures to touch only when asked to
    from google.colab import output

    output.enable_custom_widget_manager()"""
README = """\
# The notebooks behind the launch buttons

Written by `make launch` from commit {commit} of {url}, to be a branch of that repository. Do not
edit them here: the next `make launch` writes over them.
"""
TARGET = re.compile(r"^\(([\w-]+)\)=$")
PROOF_END = "∎"


def libraries(url: str, commit: str) -> tuple[str, str]:
    """What installs the library and the book's packages from a repository, as pip reads it."""
    place = f"git+{url.removesuffix('/')}@{commit}"
    return place, f"{place}#subdirectory=lib"


def plain(source: str) -> str:
    """MyST as Markdown that any notebook program shows: boxes in words, formulas in dollars."""
    lines: list[str] = []
    open_: list[tuple[str, str]] = []  # how a fence opened, and what it holds
    options: dict[str, str] | None = None
    for line in source.splitlines():
        fence, option = FENCE.match(line), OPTION.match(line)
        if options is not None and option:
            options[option[1]] = option[2].strip()
            continue
        if options is not None:
            _open(lines, *_named(open_[-1][1]), options)
            options = None
        if fence and open_ and fence[1] == open_[-1][0] and not fence[2]:
            _close(lines, open_.pop()[1], line)
        elif fence and (not open_ or open_[-1][1]):
            open_.append((fence[1], f"{fence[2]} {fence[3].strip()}" if fence[2] else ""))
            options = {} if fence[2] else None
            lines += [] if fence[2] else [line]
        elif open_ and open_[-1][1].startswith("math") and not line.strip():
            continue  # an empty line would end the formula
        elif target := TARGET.match(line):
            lines.append(f'<a id="{target[1]}"></a>')
        else:
            lines.append(line)
    return "\n".join(lines)


def _named(what: str) -> tuple[str, str]:
    kind, _, name = what.partition(" ")
    return kind, name


def _open(lines: list[str], kind: str, title: str, options: dict[str, str]) -> None:
    """The beginning of a directive; a formula keeps its number until it is closed."""
    if label := options.get("label"):
        lines += [f'<a id="{label}"></a>', ""]
    if kind == "math":
        number = options.get("enumerator")
        lines.append(rf"$$\tag{{{number}}}" if number else "$$")
    elif kind == "prf:proof":
        lines += ["*Proof.*", ""]
    elif kind.startswith("prf:"):
        name = " ".join(filter(None, [kind[4:].capitalize(), options.get("enumerator")]))
        lines += [f"**{name}{f' ({title})' if title else ''}.**", ""]
    elif title:
        lines += [f"**{title}**", ""]


def _close(lines: list[str], what: str, line: str) -> None:
    kind, _ = _named(what)
    if not what:
        lines.append(line)
    elif kind == "math":
        lines.append("$$")
    elif kind == "prf:proof":
        lines += ["", PROOF_END]


def notebook(text: str, install: str) -> NotebookNode:
    """A notebook of the desk, as it is opened elsewhere, with a first cell that installs."""
    made = parse(text)
    made.cells = [cell for cell in made.cells if cell.source != NOTE]
    for cell in made.cells:
        if cell.cell_type == "markdown":
            cell.source = plain(cell.source)
        else:  # seals are drawn by what builds the book, which is not installed there
            cell.source = cell.source.replace(f"\n{SEALS_ON}", "")
    first = nbformat.v4.new_code_cell(install)
    first["id"] = "install"
    made.cells.insert(0, first)
    return made


def requirements(root: Path, needed: tuple[str, ...]) -> str:
    """What the notebooks need, at the versions of the lock files, for a Binder."""
    names = wanted(root)
    locked = "\n".join((root / f"requirements{x}.lock").read_text() for x in ("", "-torch"))
    pins = [re.search(rf"^{name}==[^\s;\\]+", locked, re.MULTILINE) for name in names]
    return "\n".join([*[pin[0] for pin in pins if pin], *needed]) + "\n"


def wanted(root: Path) -> list[str]:
    """The packages of others that the library, with its PyTorch path, and the pages ask for."""
    project = _project(root)
    extras = [project["optional-dependencies"][extra] for extra in ("torch", "book")]
    names = [re.split(r"[<>=\[]", need)[0] for need in sum(extras, project["dependencies"])]
    return sorted(set(names) - {"tformer"})


def write(root: Path, folder: Path) -> list[Path]:
    """Write the edition of the last commit into a folder, a checkout of its branch perhaps.

    Raises
    ------
    FileNotFoundError
        If the book names no repository.
    FileExistsError
        If the folder holds other things, or the book was changed since its last commit.
    """
    url = yaml.safe_load((root / "_config.yml").read_text("utf-8")).get("repository", {}).get("url")
    if not url:
        raise FileNotFoundError("_config.yml names no repository: url, from which to install")
    if _git(root, "status", "--porcelain", "--untracked-files=no"):
        raise FileExistsError("the book has changes that are not committed, so no commit has them")
    title = README.partition("\n")[0]
    there = [x.name for x in folder.iterdir() if x.name != ".git"] if folder.exists() else []
    ours = "README.md" in there and (folder / "README.md").read_text("utf-8").startswith(title)
    if there and not ours:
        raise FileExistsError(f"{folder} holds other things; nothing was written")
    commit = _git(root, "rev-parse", "HEAD")
    texts = edition(root, libraries(url, commit))
    texts["README.md"] = README.format(commit=commit, url=url)
    for name, text in texts.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8", newline="\n")
    return [folder / name for name in texts]


def edition(root: Path, needed: tuple[str, ...]) -> dict[str, str]:
    """The files of the edition but its README, by their place."""
    install = INSTALL.format(libraries=" ".join(f'"{one}"' for one in needed))
    made = {
        name: dump(notebook(text, install)) if name.endswith(".ipynb") else plain(text)
        for name, text in files(Book(root)).items()
    }
    project = _project(root)
    made[".binder/runtime.txt"] = f"python-{project['requires-python'].removeprefix('>=')}\n"
    made[".binder/requirements.txt"] = requirements(root, needed)
    return made


def _project(root: Path) -> dict[str, Any]:
    settings = tomllib.loads((root / "pyproject.toml").read_text(encoding="utf-8"))
    return dict(settings["project"])


def _git(root: Path, *arguments: str) -> str:
    done = subprocess.run(["git", *arguments], cwd=root, capture_output=True, text=True, check=True)
    return done.stdout.strip()


def launch_links(
    app: Sphinx, pagename: str, templatename: str, context: dict[str, Any], doctree: Any
) -> None:
    """Let the theme's launch buttons name a page as the edition does; the header shows them."""
    groups = context.get("header_buttons", [])
    chosen = [group["buttons"] for group in groups if group.get("label") == "launch-buttons"]
    links = [link for buttons in chosen for link in buttons if link["type"] == "link"]
    if links:
        place = Book(Path(app.srcdir)).place(pagename)
        for link in links:
            link["url"] = link["url"].replace(f"{pagename}.ipynb", place)
    context["launch_links"] = links


def setup(app: Sphinx) -> dict[str, Any]:
    """Mend the links after the theme has made them."""
    app.connect("html-page-context", launch_links, priority=900)
    return {"version": "1", "parallel_read_safe": True, "parallel_write_safe": True}
