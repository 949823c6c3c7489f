"""The tests of one chapter are found, by hand and by `make test CH=04`."""

import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

import chapters
from tformer_book.chapters import numbers
from tformer_book.claims import claims
from tformer_book.exercises.registry import find

ROOT = Path(__file__).parents[1]


@pytest.mark.parametrize(
    ("value", "chapter"),
    [
        ("thm-dot-variance", 1),
        (claims(3)[0], 3),
        ("4.7", 4),
        ("12.11", 12),
        (find("2.5"), 2),
        (Path("exercises/solutions/04_why_sqrt_d.ipynb"), 4),
        ("chapters/03_attention.html", 3),
        (chapters.widgets()[0], 0),
        (chapters.answers("MUTANTS")["4.1"], None),
        (float, None),
        (4.7, None),
        ("index.html", None),
        ("chapters/glossary.html", None),
        ("no-such-label", None),
    ],
)
def test_the_chapter_of_what_a_test_is_called_with(value: object, chapter: int | None) -> None:
    assert chapters.of(value) == chapter


def make(*arguments: str) -> subprocess.CompletedProcess[str]:
    """What make would do."""
    if shutil.which("make") is None:
        pytest.skip("there is no make on this machine")
    own = {name: text for name, text in os.environ.items() if not name.startswith("MAKE")}
    return subprocess.run(
        ["make", "-n", *arguments], cwd=ROOT, capture_output=True, text=True, env=own
    )


@pytest.mark.parametrize("number", ["99", "4", "0", "dot"])
def test_make_refuses_a_chapter_that_does_not_exist(number: str) -> None:
    done = make("test", f"CH={number}")
    there = " ".join(f"{chapter:02d}" for chapter in numbers())
    assert done.returncode != 0
    assert f"There is no chapter {number}; there are {there}" in done.stderr
    assert done.stdout == ""


def test_make_asks_only_for_what_belongs_to_the_chapter() -> None:
    done = make("test", "CH=04")
    assert done.returncode == 0
    assert "lint 04" in done.stdout
    assert done.stdout.count("--chapter 04") == 2
    asked = re.search(r"pytest (chapters/\S+(?: \S+\.ipynb)*)", done.stdout)
    assert asked is not None
    assert set(asked[1].split()) == {
        "chapters/04_why_sqrt_d.ipynb",
        "chapters/04_why_sqrt_d_deeper.ipynb",
        "exercises/solutions/04_why_sqrt_d.ipynb",
    }
    assert "03_attention" not in done.stdout
    assert "--chapter" not in make("test").stdout


def test_make_refuses_the_environment_of_another_checkout(tmp_path: Path) -> None:
    """Else it would install this library there, or test that one."""
    other, packages = tmp_path / "other", tmp_path / "env" / "lib" / "site-packages"
    about = packages / "tformer-0.1.0.dist-info"
    for folder in other, about, tmp_path / "env" / "bin":
        folder.mkdir(parents=True)
    (about / "METADATA").write_text("Metadata-Version: 2.1\nName: tformer\nVersion: 0.1.0\n")
    python = tmp_path / "env" / "bin" / "python"
    python.write_text(f'#!/bin/sh\nPYTHONPATH="{packages}" exec "{sys.executable}" -S "$@"\n')
    python.chmod(0o755)

    def serves(place: Path) -> None:
        told = {"dir_info": {"editable": True}, "url": place.as_uri()}
        (about / "direct_url.json").write_text(json.dumps(told))

    environment = f"VENV={tmp_path / 'env'}"
    serves(other)
    done = make("static", environment)
    assert done.returncode == 2
    assert f"serves another checkout, {other}." in done.stderr
    assert "leave VENV out" in done.stderr
    assert make("help", environment).returncode == 0
    serves(ROOT)
    assert make("static", environment).returncode == 0
    serves(tmp_path / "moved away")
    assert make("static", environment).returncode == 0
