"""Notebooks that run in the browser alone, by JupyterLite: exercises, and pages without PyTorch.

JupyterLite is JupyterLab as static files. Its kernel is Pyodide, a Python in WebAssembly, which has
NumPy, SciPy and Matplotlib, and no PyTorch. So `tformer.reference` runs there, and `tformer.fast`
does not. Decision 057 says which notebooks were seen to run.
"""

import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

from tformer_book.pipeline.lab.desk import files
from tformer_book.pipeline.lab.edition import Book
from tformer_book.pipeline.lab.launch import notebook
from tformer_book.pipeline.notebook.normalise import dump

FOLDER = Path("_build") / "lite"
PAGES = ("01_dot_products.ipynb", "02_softmax.ipynb", "03_attention.ipynb")
"""The main pages of chapters that were seen to run to their end in Pyodide."""
OURS = ("tformer", "tformer-book")
BORROWED = (
    *("anywidget", "comm", "ipywidgets", "jupyterlab-widgets", "mpmath", "psygnal", "sympy"),
    "typing-extensions",
)
"""Packages of pure Python that the site brings along, at the versions of the lock file."""
INSTALL = f"""\
# The book's library, and what it needs of the browser's Python. It takes up to a minute.
import piplite

await piplite.install(["numpy", "scipy", "matplotlib"])
await piplite.install({[*BORROWED, *OURS]}, deps=False)"""
PIP = (sys.executable, "-m", "pip", "--quiet", "--disable-pip-version-check")


def contents(root: Path) -> dict[str, str]:
    """The notebooks of the site, by their place."""
    return {
        name: dump(notebook(text, INSTALL))
        for name, text in files(Book(root)).items()
        if name.endswith(".ipynb") and (name.startswith("exercises/") or name in PAGES)
    }


def pins(root: Path) -> list[str]:
    """What pip is asked for, to borrow the packages at the versions of the lock file."""
    locked = (root / "requirements.lock").read_text(encoding="utf-8")
    found = (re.search(rf"^{name}==[^\s;\\]+", locked, re.MULTILINE) for name in BORROWED)
    return [one[0] for one in found if one]


def write(root: Path) -> list[Path]:
    """Write the notebooks and the wheels from which `make lite` builds the site."""
    folder, written = root / FOLDER, []
    for part in ("files", "pypi"):  # of an older edition nothing stays
        shutil.rmtree(folder / part, ignore_errors=True)
    for name, text in contents(root).items():
        path = folder / "files" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8", newline="\n")
        written.append(path)
    return [*written, *_wheels(root, (folder / "pypi").resolve())]


def _wheels(root: Path, folder: Path) -> list[Path]:
    """The wheels, ours made from a copy, since setuptools leaves a folder beside what it reads."""
    with tempfile.TemporaryDirectory() as copy:
        for name in ("pyproject.toml", "README.md", "LICENSE", "LICENSE-TEXT"):
            shutil.copy(root / name, copy)
        left_out = shutil.ignore_patterns("__pycache__", "*.egg-info")
        shutil.copytree(root / "lib", Path(copy) / "lib", ignore=left_out)
        alone = ["wheel", "--no-deps", "--no-build-isolation", "--wheel-dir", str(folder)]
        for project in (copy, f"{copy}/lib"):
            subprocess.run([*PIP, *alone, project], check=True)
    pure = ["--no-deps", "--only-binary=:all:", "--platform", "any", "--abi", "none"]
    subprocess.run([*PIP, "download", *pure, "--dest", str(folder), *pins(root)], check=True)
    return sorted(folder.glob("*.whl"))
