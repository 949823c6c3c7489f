"""What a stranger meets first: versions, forms, the container, the hook, and the recipes."""

import json
import os
import re
import shutil
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest
import yaml
from nbformat.v4 import new_markdown_cell, new_notebook

import tformer
from tformer_book.pipeline.notebook.normalise import dump, normalise
from tformer_book.pipeline.site.repository import FORM

ROOT = Path(__file__).parents[1]
MAKEFILE = (ROOT / "Makefile").read_text(encoding="utf-8")
RELEASE = re.compile(r"^## \[(\d+\.\d+\.\d+)\] - (Unreleased|\d{4}-\d\d-\d\d)$", re.MULTILINE)
FORMS = sorted((ROOT / ".github" / "ISSUE_TEMPLATE").glob("*.yml"))
FIELDS = {"input", "textarea", "dropdown", "checkboxes"}


def read(name: str) -> str:
    """A file of the project."""
    return (ROOT / name).read_text(encoding="utf-8")


def is_target(name: str) -> bool:
    """Whether make can be asked for this."""
    found = re.search(rf"^{re.escape(name.replace('.venv', '$(VENV)'))}:", MAKEFILE, re.MULTILINE)
    return bool(found) or (name == ".venv/.ready" and "$(READY):" in MAKEFILE)


# Versions


def test_one_version_stands_everywhere_and_heads_the_changelog() -> None:
    said = {
        place: tomllib.loads(read(place))["project"]["version"]
        for place in ("pyproject.toml", "lib/pyproject.toml")
    }
    said["tformer"] = tformer.__version__
    said["CITATION.cff"] = yaml.safe_load(read("CITATION.cff"))["version"]
    said["index.md"] = re.findall(r"Transformer, version ([\d.]+)\*", read("index.md"))[0]
    said["CHANGELOG.md"] = RELEASE.findall(read("CHANGELOG.md"))[0][0]
    assert len(set(said.values())) == 1, said


def test_changelog_has_every_release_once_newest_first() -> None:
    text = read("CHANGELOG.md")
    found = [tuple(map(int, version.split("."))) for version, _ in RELEASE.findall(text)]
    assert len(found) == len(re.findall("^## ", text, re.MULTILINE)) >= 2
    assert found == sorted(set(found), reverse=True)
    dates = [date for _, date in RELEASE.findall(text)]
    assert "Unreleased" not in dates[1:]
    kinds = set(re.findall("^### (.*)$", text, re.MULTILINE))
    assert kinds <= {"Added", "Changed", "Deprecated", "Removed", "Fixed", "Security"}


# Forms


@pytest.mark.parametrize(
    "path", [x for x in FORMS if x.stem != "config"], ids=lambda path: path.stem
)
def test_a_form_is_one_that_the_forge_reads(path: Path) -> None:
    form = yaml.safe_load(path.read_text(encoding="utf-8"))
    assert set(form) <= {"name", "description", "title", "labels", "body"}
    assert form["name"]
    assert form["description"]
    ids = [field["id"] for field in form["body"]]
    assert len(ids) == len(set(ids))
    for field in form["body"]:
        assert set(field) <= {"type", "id", "attributes", "validations"}
        assert field["type"] in FIELDS
        assert field["attributes"]["label"]
    assert any(field.get("validations", {}).get("required") for field in form["body"])


def test_the_link_on_a_page_fills_in_a_field_of_its_form() -> None:
    form = yaml.safe_load(read(f".github/ISSUE_TEMPLATE/{FORM}"))
    assert [field["id"] for field in form["body"]] == ["page", "sentence", "understood", "right"]


# The container and the hook


def test_the_container_makes_the_locked_environment() -> None:
    container = json.loads(read(".devcontainer/devcontainer.json"))
    oldest = re.findall(r">=(\d\.\d+)", read("pyproject.toml").split("requires-python")[1])[0]
    assert re.fullmatch(rf"[\w./]+/python:{oldest}-\w+", container["image"])
    steps = container["postCreateCommand"].split(" && ")
    assert steps[0] == "make .venv/.ready"
    for step in steps:
        command, target = step.split()
        assert command == "make"
        assert is_target(target), step


def test_the_hook_can_be_run_and_make_turns_it_on() -> None:
    assert os.access(ROOT / ".githooks" / "pre-commit", os.X_OK)
    assert "core.hooksPath .githooks" in MAKEFILE
    subprocess.run(["sh", "-n", ".githooks/pre-commit"], cwd=ROOT, check=True)


@pytest.fixture
def small(tmp_path: Path) -> Path:
    """A small book in git, with the hook."""
    book = tmp_path / "book"
    (book / "chapters").mkdir(parents=True)
    (book / "lib").mkdir()
    shutil.copy(ROOT / "pyproject.toml", book)
    shutil.copytree(ROOT / ".githooks", book / ".githooks")
    python = book / ".venv" / "bin" / "python"
    python.parent.mkdir(parents=True)
    python.write_text(f'#!/bin/sh\nexec "{sys.executable}" "$@"\n')
    python.chmod(0o755)
    (book / ".gitignore").write_text(".venv\n")
    for step in (["init", "-q"], ["config", "core.hooksPath", ".githooks"]):
        subprocess.run(["git", *step], cwd=book, check=True)
    return book


def commit(book: Path, name: str, text: str) -> subprocess.CompletedProcess[str]:
    """Commit a file with this text."""
    (book / name).write_text(text, encoding="utf-8")
    who = ["-c", "user.name=A", "-c", "user.email=a@example.org"]
    subprocess.run(["git", "add", name], cwd=book, check=True)
    own = {
        name: value for name, value in os.environ.items() if not name.startswith(("GIT", "VENV"))
    }
    return subprocess.run(
        ["git", *who, "commit", "-m", "Try"], cwd=book, capture_output=True, text=True, env=own
    )


NOTEBOOK = dump(normalise(new_notebook(cells=[new_markdown_cell("# Title", id="title")])))


@pytest.mark.parametrize(
    ("name", "right", "wrong"),
    [
        ("lib/one.py", '"""One."""\n', '"""One."""\n\nimport os\n'),
        ("lib/two.py", '"""Two."""\n\nTWO = (1, 2)\n', '"""Two."""\n\nTWO = (1,2)\n'),
        ("chapters/08_a.ipynb", NOTEBOOK, NOTEBOOK.replace('{\n "cells"', '{"cells"', 1)),
    ],
)
def test_the_hook_lets_good_style_pass_and_nothing_else(
    small: Path, name: str, right: str, wrong: str
) -> None:
    assert right != wrong
    refused = commit(small, name, wrong)
    assert refused.returncode != 0
    assert name in refused.stdout + refused.stderr
    passed = commit(small, name, right)
    assert passed.returncode == 0, passed.stdout + passed.stderr


# The recipes


def test_recipes_are_short_and_name_what_is_there() -> None:
    text = read("CONTRIBUTING.md")
    assert len(text.splitlines()) < 200
    for target in re.findall(r"`make ([a-z]+)", text):
        assert is_target(target), target
    places = re.findall(r"`((?:lib|tests|chapters|exercises|decisions|assets)/[\w./]+)`", text)
    assert len(places) > 20
    gone = [place for place in places if "NN" not in place and not (ROOT / place).exists()]
    assert gone == []
