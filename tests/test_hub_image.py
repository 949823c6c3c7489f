"""The image of a student's server: what it is made from, without building it.

To build it takes a network and a Docker daemon, which no test may ask for.
"""

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from hub_tools import ROOT


def instructions(word: str) -> list[str]:
    text = (ROOT / "hub/Dockerfile").read_text(encoding="utf-8").replace("\\\n", " ")
    return re.findall(rf"^{word} +(.+)$", text, re.MULTILINE)


def test_the_image_installs_what_the_makefile_installs() -> None:
    make = (ROOT / "Makefile").read_text(encoding="utf-8")
    installed = re.findall(r"\$\(PY\) -m (pip install .+)$", make, re.MULTILINE)
    assert len(installed) == 4
    assert [run.removeprefix("python -m ") for run in instructions("RUN") if " pip " in run] == (
        installed
    )
    assert any("--require-hashes" in run for run in installed)
    version = re.search(r"uv pip compile .*--python-version (\d+\.\d+)", make)[1]
    assert instructions("FROM") == [f"python:{version}-slim"]


@pytest.fixture
def image(tmp_path: Path) -> Path:
    """The folder of the book as the image has it."""
    for copied in instructions("COPY"):
        *sources, target = copied.split()
        for source in sources:
            found = sorted(ROOT.glob(source))
            assert found, f"{source} is copied and is not there"
            for path in found:
                at = tmp_path / target
                if path.is_dir():
                    shutil.copytree(path, at, ignore=shutil.ignore_patterns("__pycache__"))
                    continue
                at = at / path.name if target.endswith("/") else at
                at.parent.mkdir(parents=True, exist_ok=True)
                shutil.copy(path, at)
    return tmp_path


def test_the_image_has_what_a_desk_needs_and_no_solutions(image: Path, tmp_path: Path) -> None:
    assert not list(image.rglob("*solution*"))
    ours = os.environ | {"PYTHONPATH": str(image / "lib"), "HOME": str(tmp_path / "home")}
    command = [
        sys.executable,
        "-m",
        "tformer_book.pipeline",
        "lab",
        str(tmp_path / "home/transformer"),
    ]
    said = subprocess.run(command, cwd=image, env=ours, capture_output=True, text=True)
    assert said.returncode == 0, said.stderr
    assert said.stdout.count("wrote exercises/") == len(list((ROOT / "exercises").glob("*.ipynb")))
    code = (
        "from tformer_book.claims import verify; from tformer_book.exercises import check\n"
        "from tformer_book.pipeline.lab.seals import seal_html\n"
        "import tformer; print(tformer.__file__, seal_html('thm-cauchy-schwarz')[:7])\n"
        "check('1.1', lambda q, k: (q * k).sum(-1)); print(verify('thm-cauchy-schwarz'))"
    )
    used = subprocess.run([sys.executable, "-c", code], env=ours, capture_output=True, text=True)
    assert used.returncode == 0, used.stderr
    assert used.stdout.startswith(f"{image}/lib/tformer/__init__.py <style>\n✓ Exercise 1.1, ")


def test_what_the_image_copies_is_sent_to_the_builder() -> None:
    lines = (ROOT / "hub/Dockerfile.dockerignore").read_text(encoding="utf-8").splitlines()
    sent = {line.removeprefix("!") for line in lines if line.startswith("!")}
    for copied in instructions("COPY"):
        for source in copied.split()[:-1]:
            assert source in sent or any(Path(source).match(pattern) for pattern in sent), source
    assert not any(Path("exercises/solutions").match(pattern) for pattern in sent)
