"""Launch buttons: absent until configured; what they open runs on a machine without the book."""

import ast
import re
import subprocess
import sys
import venv
from importlib.metadata import PackageNotFoundError, packages_distributions, requires
from pathlib import Path

import nbformat
import pytest
import yaml

from sphinx_fixtures import Sphinx
from tformer_book.pipeline.__main__ import main
from tformer_book.pipeline.lab import launch
from tformer_book.pipeline.lab.edition import Book

ROOT = Path(__file__).parents[1]
URL, BRANCH = "https://github.com/someone/book", "launch"
LIBRARY = f"git+{URL}@0123abc"
BOOK = f"{LIBRARY}#subdirectory=lib"
BUTTONS = {
    "notebook_interface": "jupyterlab",
    "colab_url": "https://colab.example.org",
    "binderhub_url": "https://binder.example.org",
    "jupyterhub_url": "https://hub.example.org",
}
CONF = """
extensions = ["myst_nb", "sphinx_book_theme"]
extensions += ["tformer_book.pipeline.lab.launch", "tformer_book.pipeline.site.page"]
html_theme = "sphinx_book_theme"
nb_execution_mode = "off"
templates_path = [{templates!r}]
html_title = "Book"
html_context = {{"default_mode": "light"}}
html_theme_options = {options!r}
html_static_path = []
"""


@pytest.fixture(scope="module")
def edition() -> dict[str, str]:
    return launch.edition(ROOT, launch.libraries(URL, "0123abc"))


def notebooks(edition: dict[str, str]) -> dict[str, nbformat.NotebookNode]:
    """The notebooks of the edition."""
    return {n: nbformat.reads(x, 4) for n, x in edition.items() if n.endswith(".ipynb")}


# The buttons


PAGES = {
    "chapters/04_why_sqrt_d": "04_why_sqrt_d.ipynb",
    "exercises/solutions/02_softmax": "exercises/02_softmax.ipynb",
}


def heads(sphinx: Sphinx, folder: Path, options: dict[str, object]) -> dict[str, str]:
    """The heads of the pages of a small book with these options of the theme."""
    notebook = nbformat.v4.new_notebook(cells=[nbformat.v4.new_markdown_cell("# Title")])
    notebook.metadata["kernelspec"] = {"name": "python3", "display_name": "P", "language": "python"}
    for name in [*(f"{page}.ipynb" for page in PAGES), "exercises/02_softmax.ipynb"]:
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        nbformat.write(notebook, folder / name)
    listed = "\n".join(PAGES)
    (folder / "index.md").write_text(f"# Book\n\n```{{toctree}}\n{listed}\n```\n")
    conf = CONF.format(templates=str(ROOT / "assets" / "templates"), options=options)
    (folder / "conf.py").write_text(conf)
    _, complaints = sphinx(folder)
    found = {}
    for page in PAGES:
        html = (folder / "out" / f"{page}.html").read_text(encoding="utf-8")
        head = re.search(r'<div class="article-header-buttons">.*?</div>', html, re.DOTALL)
        assert head is not None, complaints
        found[page] = head[0]
    return found


def test_book_has_no_button_as_long_as_it_has_no_address(sphinx: Sphinx, tmp_path: Path) -> None:
    settings = yaml.safe_load((ROOT / "_config.yml").read_text(encoding="utf-8"))
    assert not settings["launch_buttons"]
    assert "repository" not in settings
    for html in heads(sphinx, tmp_path, {"launch_buttons": settings["launch_buttons"]}).values():
        assert re.findall('book-button-text">(.*?)<', html) == ["Notebook"]
        assert "http" not in html


def test_buttons_name_the_page_as_the_edition_does(sphinx: Sphinx, tmp_path: Path) -> None:
    options = {"launch_buttons": BUTTONS, "repository_url": URL, "repository_branch": BRANCH}
    for page, html in heads(sphinx, tmp_path, options).items():
        place = PAGES[page]
        assert re.findall(r'href="(https[^"]*)"', html) == [
            f"https://binder.example.org/v2/gh/someone/book/launch?urlpath=lab/tree/{place}",
            "https://hub.example.org/hub/user-redirect/git-pull?"
            "repo=https%3A//github.com/someone/book"
            f"&amp;urlpath=lab/tree/book/{place}&amp;branch=launch",
            f"https://colab.example.org/github/someone/book/blob/launch/{place}",
        ]
        words = re.findall('book-button-text">(.*?)<', html)
        assert words == ["Notebook", "Binder", "JupyterHub", "Colab"]
        assert not re.search(r"<(?:script|img|link)[^>]*http", html)


def test_every_notebook_of_the_book_is_in_the_edition(edition: dict[str, str]) -> None:
    book = Book(ROOT)
    pages = [page for page in book.chapters if (ROOT / f"{page}.ipynb").exists()]
    assert len(pages) > 10
    assert {book.place(page) for page in pages} == set(notebooks(edition))


# The notebooks


def test_nothing_of_myst_is_left(edition: dict[str, str]) -> None:
    left = re.compile(r"^\s*:{3,}|^\s*:\w+:|^\s*`{3,}\{|\{[\w:]+\}`|^\([\w-]+\)=$", re.MULTILINE)
    for name, notebook in notebooks(edition).items():
        for cell in notebook.cells:
            if cell.cell_type == "markdown":
                assert not left.search(cell.source), (name, cell.source)
                assert cell.source.count("$$") % 2 == 0, (name, cell.source)


def test_statements_keep_their_numbers_and_words() -> None:
    source = """Before.

:::{prf:theorem} Fermat
:label: thm-f
:enumerator: 2.1

It holds that

```{math}
:label: eq-f
:enumerator: 2.3

a &= b \\\\

c &= d
```

for all.
:::

:::{prf:proof}
:enumerated: false
:class: dropdown

Clear.
:::

```python
# :label: stays
:::
```

(here)=
After."""
    assert (
        launch.plain(source)
        == """Before.

<a id="thm-f"></a>

**Theorem 2.1 (Fermat).**


It holds that

<a id="eq-f"></a>

$$\\tag{2.3}
a &= b \\\\
c &= d
$$

for all.

*Proof.*


Clear.

∎

```python
# :label: stays
:::
```

<a id="here"></a>
After."""
    )


def test_only_the_first_cell_and_the_texts_differ_from_the_desk(edition: dict[str, str]) -> None:
    book = Book(ROOT)
    chapters = {book.place(page): f"{page}.ipynb" for page in book.notebooks}
    for name, notebook in notebooks(edition).items():
        first, *others = [cell for cell in notebook.cells if cell.cell_type == "code"]
        assert notebook.cells[0] == first
        assert f'%pip install --quiet "{LIBRARY}" "{BOOK}"' in first.source
        assert not any("pip" in cell.source or "show_seals" in cell.source for cell in others)
        source = ROOT / chapters.get(name, name)
        ours = [c.source for c in nbformat.read(source, 4).cells if c.cell_type == "code"]
        assert [cell.source for cell in others] == ours


# The environments


def test_binder_follows_the_locks(edition: dict[str, str]) -> None:
    *pins, library, book = edition[".binder/requirements.txt"].splitlines()
    assert (library, book) == (LIBRARY, BOOK)
    locked = [
        (ROOT / name).read_text() for name in ("requirements.lock", "requirements-torch.lock")
    ]
    versions = dict(re.findall(r"^([\w.-]+)==([^\s;\\]+)", "\n".join(locked), re.MULTILINE))
    assert pins == [f"{name}=={versions[name]}" for name in launch.wanted(ROOT)]
    assert {pin.partition("==")[0] for pin in pins} >= {"numpy", "torch", "anywidget"}
    assert edition[".binder/runtime.txt"] == "python-3.11\n"


def needed() -> set[str]:
    """The packages that come with the library: what it requires, what that requires, and so on."""
    found, todo = set(), launch.wanted(ROOT)
    while todo:
        name = todo.pop().lower().replace("_", "-")
        if name in found:
            continue
        found.add(name)
        try:
            more = [x for x in requires(name) or [] if "extra ==" not in x]
        except PackageNotFoundError:
            continue
        todo += [re.split(r"[\s<>=!~;\[(]", x)[0] for x in more]
    return found


WITHOUT = """
import sys
from importlib.machinery import PathFinder
class Without(PathFinder):
    @classmethod
    def find_spec(cls, name, path=None, target=None):
        return None if name in {refused!r} else super().find_spec(name, path, target)
sys.meta_path = [Without if finder is PathFinder else finder for finder in sys.meta_path]
"""


def test_notebooks_need_what_comes_with_the_library_and_nothing_else(
    edition: dict[str, str],
) -> None:
    mine = needed() | {
        "tformer",
        "tformer-book",
        "pip",
        "setuptools",
        "ipykernel",
        "tornado",
        "pyzmq",
    }
    refused = {
        module
        for module, owners in packages_distributions().items()
        if not {owner.lower().replace("_", "-") for owner in owners} & mine
    }
    assert {"sphinx", "jupyter_book", "nbformat", "py_mini_racer", "yaml"} <= refused
    imports = {
        ast.unparse(statement): None
        for notebook in notebooks(edition).values()
        for cell in notebook.cells[1:]
        if cell.cell_type == "code"
        for statement in ast.parse(cell.source).body
        if isinstance(statement, ast.Import | ast.ImportFrom)
    }
    assert len(imports) > 30
    code = "\n".join([WITHOUT.format(refused=refused), *imports])
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr[-2000:]


def git(folder: Path, *arguments: str) -> str:
    """Run git in a folder."""
    who = ["-c", "user.name=A", "-c", "user.email=a@example.org"]
    done = subprocess.run(["git", *who, *arguments], cwd=folder, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()


@pytest.fixture(scope="module")
def published(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A clone of the book that knows its own address, with one commit to install from."""
    root = tmp_path_factory.mktemp("published") / "book"
    git(ROOT, "clone", "--quiet", "--shared", str(ROOT), str(root))
    before = git(root, "branch", "--show-current")
    git(root, "checkout", "--quiet", "--orphan", "published")
    config = (root / "_config.yml").read_text(encoding="utf-8")
    config = config.replace("launch_buttons: {}", f"repository: {{url: 'file://{root}'}}")
    (root / "_config.yml").write_text(config, encoding="utf-8")
    git(root, "commit", "--quiet", "--all", "-m", "An address")
    if before:  # its history would be cloned as well
        git(root, "branch", "--quiet", "-D", before)
    return root


@pytest.fixture(scope="module")
def launched(published: Path, tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, list[Path]]:
    """A checkout of the branch, and the files that were written into it."""
    folder = tmp_path_factory.mktemp("launch")
    (folder / ".git").mkdir()
    return folder, launch.write(published, folder)


def test_first_cells_run_in_an_environment_without_the_library(
    launched: tuple[Path, list[Path]], tmp_path: Path
) -> None:
    """The packages are lent by this environment, as no network brings them; the library is not."""
    notebook = nbformat.read(launched[0] / "04_why_sqrt_d.ipynb", 4)
    cells = [cell.source for cell in notebook.cells if cell.cell_type == "code"][:2]
    before = "import importlib.util; assert importlib.util.find_spec('tformer') is None"
    after = "import tformer, tformer_book; print(tformer.__file__, tformer_book.__file__)"
    (tmp_path / "first.ipy").write_text("\n".join([before, *cells, after]), encoding="utf-8")
    fresh = tmp_path / "fresh"
    venv.create(fresh, symlinks=True)
    (site,) = fresh.glob("lib/python*/site-packages")
    ours = {Path(x) for x in sys.path if x.endswith(("site-packages", "dist-packages"))}
    (site / "lent.pth").write_text("\n".join(map(str, ours)), encoding="utf-8")
    own = {"HOME": str(tmp_path), "PATH": "/usr/bin:/bin", "IPYTHONDIR": str(tmp_path / "ipython")}
    own |= {"PIP_NO_INDEX": "1", "PIP_NO_BUILD_ISOLATION": "0", "PIP_NO_CACHE_DIR": "1"}
    command = [str(fresh / "bin" / "python"), "-m", "IPython", "--no-banner", "first.ipy"]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, env=own)
    assert done.returncode == 0, done.stdout[-2000:] + done.stderr[-2000:]
    there = " ".join(str(site / name / "__init__.py") for name in ("tformer", "tformer_book"))
    assert done.stdout.strip().splitlines()[-1] == there


# Writing


def test_branch_is_written_and_written_again_beside_its_git_folder(
    published: Path, launched: tuple[Path, list[Path]]
) -> None:
    folder, written = launched
    assert launch.write(published, folder) == written
    assert all(path.is_file() for path in written)
    commit = git(published, "rev-parse", "HEAD")
    assert f"from commit {commit} of file://{published}" in (folder / "README.md").read_text()
    assert f"{published}@{commit}" in (folder / ".binder" / "requirements.txt").read_text()


def test_bad_input_is_a_sentence_and_nothing_is_written(published: Path, tmp_path, capsys) -> None:
    (tmp_path / "mine.txt").write_text("Mine.")
    with pytest.raises(FileExistsError, match="holds other things; nothing was written"):
        launch.write(published, tmp_path)
    assert [path.name for path in tmp_path.iterdir()] == ["mine.txt"]
    for folder, said in (("", "name a folder"), (str(tmp_path / "new"), "names no repository")):
        assert main(["launch", folder]) == 2
        assert said in capsys.readouterr().err
    (published / "README.md").write_text("Changed.")
    with pytest.raises(FileExistsError, match="changes that are not committed"):
        launch.write(published, tmp_path / "new")
    git(published, "checkout", "README.md")
    assert not (tmp_path / "new").exists()
