"""The book elsewhere: a JupyterLite site, a container, and families in a newer transformers.

What needs a network or a Docker daemon is not done here: building the site, its Python, the image.
"""

import ast
import importlib.util
import os
import re
import subprocess
import sys
from importlib.metadata import requires
from pathlib import Path
from typing import Any

import nbformat
import numpy as np
import pytest

from browsing import ROOT
from released_models import fixture
from tformer_book.pipeline.lab import lite

PROGRAM = importlib.util.spec_from_file_location("families", ROOT / "benchmarks" / "families.py")
assert PROGRAM is not None
assert PROGRAM.loader is not None
families = importlib.util.module_from_spec(PROGRAM)
PROGRAM.loader.exec_module(families)
ABSENT = """
import sys
class Absent:
    @classmethod
    def find_spec(cls, name, path=None, target=None):
        if name in ("torch", "safetensors"):
            raise ModuleNotFoundError(name)
sys.meta_path.insert(0, Absent)
"""


@pytest.fixture(scope="module")
def site() -> dict[str, nbformat.NotebookNode]:
    """The notebooks of the site."""
    return {name: nbformat.reads(text, 4) for name, text in lite.contents(ROOT).items()}


def code(notebook: nbformat.NotebookNode) -> list[str]:
    return [cell.source for cell in notebook.cells if cell.cell_type == "code"]


# The site that runs in a browser


def test_the_site_has_all_exercises_and_pages_and_each_installs_first(site: Any) -> None:
    exercises = {f"exercises/{path.name}" for path in (ROOT / "exercises").glob("*.ipynb")}
    assert len(exercises) > 20
    assert set(site) == {*lite.PAGES} | exercises
    for name, notebook in site.items():
        first, *others = code(notebook)
        assert first == lite.INSTALL, name
        assert not any("%pip" in cell or "piplite" in cell for cell in others), name


def test_the_site_brings_packages_at_the_versions_of_the_lock_file() -> None:
    pins = lite.pins(ROOT)
    assert [pin.partition("==")[0] for pin in pins] == [*lite.BORROWED]
    lock = (ROOT / "requirements.lock").read_text(encoding="utf-8")
    makefile = (ROOT / "Makefile").read_text(encoding="utf-8")
    shown = re.search(r"^LITE = .*(anywidget==\S+)", makefile, re.MULTILINE)
    assert shown is not None
    assert shown[1] in pins
    assert f"\n{shown[1]} " in lock


def test_what_borrowed_packages_require_is_there() -> None:
    kernel = {"ipython", "traitlets", "widgetsnbextension"}  # the site's kernel brings them
    for name in lite.BORROWED:
        needs = [x for x in requires(name) or [] if "extra ==" not in x]
        needed = {re.split(r"[\s<>=!~;\[(]", x)[0].lower().replace("_", "-") for x in needs}
        assert needed <= {*lite.BORROWED} | kernel, name


def test_what_the_site_imports_needs_neither_pytorch_nor_safetensors(site: Any) -> None:
    imports = {
        ast.unparse(statement): None
        for notebook in site.values()
        for cell in code(notebook)[1:]
        for statement in ast.parse(cell).body
        if isinstance(statement, ast.Import | ast.ImportFrom)
    }
    assert len(imports) > 10
    done = subprocess.run(
        [sys.executable, "-c", "\n".join([ABSENT, *imports])], capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr[-2000:]


# The container


def words(name: str) -> list[list[str]]:
    """The instructions of the image, as words."""
    text = (ROOT / name).read_text(encoding="utf-8").replace("\\\n", " ")
    return [line.split() for line in text.splitlines() if line and not line.startswith("#")]


def test_the_image_makes_what_the_makefile_can_and_gets_what_it_needs() -> None:
    makefile = (ROOT / "Makefile").read_text(encoding="utf-8")
    instructions = words("Dockerfile")
    version = re.search(r"uv pip compile .*--python-version (\d+\.\d+)", makefile)
    assert version is not None
    assert instructions[0] == ["FROM", f"python:{version[1]}-slim"]
    made = [x[2:] for x in instructions if x[:2] == ["RUN", "make"]]
    assert made == [[".venv/.locked"], ["book", "model"]]
    for target in ("book", "model", "$(VENV)/.locked"):
        assert re.search(rf"^{re.escape(target)}:", makefile, re.MULTILINE)
    (locked,) = re.findall(r"^\$\(VENV\)/\.locked: (.*)$", makefile, re.MULTILINE)
    copied = [x[1:] for x in instructions if x[0] == "COPY"]
    assert copied == [["Makefile", *locked.split(), "./"], [".", "."]]
    left_out = (ROOT / ".dockerignore").read_text(encoding="utf-8").split("\n")
    needed = subprocess.run(
        ["git", "ls-files"], cwd=ROOT, capture_output=True, text=True, check=True
    )
    tops = {name.partition("/")[0] for name in needed.stdout.split("\n")} - {""}
    assert {"lib", "chapters", "Makefile"} <= tops
    assert not [top for top in tops for one in left_out if one and Path(top).match(one)]


@pytest.mark.parametrize(
    ("word", "runs"),
    [
        ([], ["-m http.server --directory _build/html 8000"]),
        (["serve"], ["-m http.server --directory _build/html 8000"]),
        (["lab"], ["-m tformer_book.pipeline lab", "lab --ip=0.0.0.0 --port=8888 --no-browser"]),
        (["nothing"], []),
    ],
)
def test_the_container_serves_or_opens_a_desk(
    word: list[str], runs: list[str], tmp_path: Path
) -> None:
    (tmp_path / "hub").mkdir()
    (tmp_path / ".venv" / "bin").mkdir(parents=True)
    script = tmp_path / "hub" / "book.sh"
    script.write_bytes((ROOT / "hub" / "book.sh").read_bytes())
    assert os.access(ROOT / "hub" / "book.sh", os.X_OK)
    for name in ("python", "jupyter"):  # which say what they were asked for
        path = tmp_path / ".venv" / "bin" / name
        path.write_text('#!/bin/sh\necho "$@"\n')
        path.chmod(0o755)
    done = subprocess.run(["sh", str(script), *word], capture_output=True, text=True)
    said = done.stdout.splitlines()
    assert done.returncode == (0 if runs else 2)
    assert len(said) == len(runs)
    assert all(line.startswith(run) for line, run in zip(said, runs, strict=True))


# Families in another transformers


def test_a_family_that_is_as_it_was_has_nothing_to_say() -> None:
    stored = fixture("llama")
    newer = stored | {"config": stored["config"] | {"transformers_version": "99.0"}}
    assert families.differences(stored, newer) == []
    assert families.reading(stored) == []


@pytest.mark.parametrize(
    ("part", "change", "said"),
    [
        ("config", {"new_idea": 1}, "config: new: new_idea"),
        ("config", {"hidden_act": "relu"}, "config: hidden_act: silu was, relu is"),
        ("arrays", {"model.new.weight": [0.0, 3]}, "arrays: new: model.new.weight"),
        ("n_parameters", 7, "n_parameters: "),
        ("logits", 1.001, "logits: moved by 1.0e-03 of the largest"),
    ],
)
def test_what_another_version_changes_is_named(part: str, change: Any, said: str) -> None:
    stored = fixture("llama")
    if part == "logits":
        found = stored | {part: (change * np.array(stored[part])).tolist()}
    else:
        found = stored | {part: stored[part] | change if isinstance(change, dict) else change}
    (words,) = families.differences(stored, found)
    assert words.startswith(said)


def test_a_family_that_is_not_read_says_why() -> None:
    stored = fixture("llama")
    (said,) = families.reading(stored | {"config": stored["config"] | {"new_idea": 1}})
    assert said.startswith("not read: ")
    assert "new_idea" in said
    moved = (1.001 * np.array(stored["logits"])).tolist()
    assert families.reading(stored | {"logits": moved}) == [
        "our logits: moved by 1.0e-03 of the largest"
    ]
