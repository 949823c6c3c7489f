"""A hub for a class, as `make hub` starts it: two students, one right and one wrong."""

import json
import re
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from hub_tools import ROOT, Student, running
from tformer_book.pipeline.notebook.normalise import load
from tformer_course import confinement
from tformer_course.notebook import verdicts
from tformer_course.remote import Sandbox
from tformer_course.submission import mend

NOTEBOOK = "exercises/01_dot_products.ipynb"
ANSWERS = {
    "ada": "def row_dots(q, k):\n    return (q * k).sum(-1)",
    "bob": "def row_dots(q, k):\n    return (q * k).sum()",
}
SAID = {
    "ada": "1 of 12 exercises done.\n✓ 1.1 ",
    "bob": "0 of 12 exercises done, 1 not yet.\n✗ 1.1 ",
}


@pytest.mark.skipif(sys.platform != "linux", reason="limits and processes are Linux's")
def test_two_students_at_a_hub(tmp_path: Path) -> None:
    homes = tmp_path / "homes"
    with running(tmp_path) as address:
        students = [Student(address, name) for name in ANSWERS]
        with ThreadPoolExecutor() as pool:
            list(pool.map(begin, students))
            assert dict(zip(ANSWERS, pool.map(work, students), strict=True)) == SAID
        nothing_of_the_instructors(students[0])
        a_limit_on_memory(students[0])
    for name in ANSWERS:
        saved = json.loads((homes / name / "transformer" / NOTEBOOK).read_text())
        check = next(cell for cell in saved["cells"] if cell["id"] == "ex-1-1-check")
        assert check["outputs"][0]["metadata"]["tformer"]["correct"] is (name == "ada")
    if not confinement.missing():
        marks = {name: marked(homes / name / "transformer" / NOTEBOOK) for name in ANSWERS}
        assert marks == {"ada": ["check-1-1"], "bob": []}
    log = (tmp_path / "log").read_text()
    assert log.count("Will shut down after 3600 seconds with no kernels") == len(students)
    assert "Culling kernels with idle durations > 3600 seconds at 300 second intervals" in log
    assert processes_of(homes) == []


def begin(student: Student) -> None:
    student.sign_in()
    student.start()


def work(student: Student) -> str:
    """Write an answer into the notebook, run all, save; how `progress` begins at the end."""
    there = student.own("GET", f"contents/{NOTEBOOK}")
    cells = [cell for cell in there["content"]["cells"] if cell["cell_type"] == "code"]
    with student.session(NOTEBOOK) as session:
        for cell in cells:
            if cell["id"] == "ex-1-1-solution":
                cell["source"] = ANSWERS[student.name]
            cell["outputs"] = session.run(cell["source"])
    student.own("PUT", f"contents/{NOTEBOOK}", json=there)
    said = cells[-1]["outputs"][-1]["data"]["text/plain"]
    return said[: len(SAID[student.name])]


def nothing_of_the_instructors(ada: Student) -> None:
    """No source of the book, no solutions, no tools for marking, and nobody else's desk."""
    names = {item["name"] for item in ada.own("GET", "contents")["content"]}
    assert {"01_dot_products.ipynb", "exercises"} <= names
    assert not names & {"lib", "tests", "solutions"}
    page = ada.ask("GET", "user/ada/lab").text
    config = json.loads(re.search(r'id="jupyter-config-data"[^>]*>(.*?)</script>', page, re.S)[1])
    assert "@jupyter/nbgrader" in config["disabledExtensions"]
    for address in ("formgrader", "assignments", "courses", "assignments/validate"):
        assert ada.ask("GET", f"user/ada/{address}").status_code == 404, address
    assert ada.ask("GET", "user/bob/api/contents").status_code == 403


def a_limit_on_memory(ada: Student) -> None:
    """An array beyond the limit is refused, the kernel goes on, and PyTorch has room."""
    with ada.session("trial.ipynb") as session:
        (failed,) = session.run("import numpy as np\nnp.empty(2**31 + 1, dtype=np.uint8)")
        assert "MemoryError" in failed["ename"]
        (printed,) = session.run(
            "import torch\nfrom tformer import fast\n"
            "print(float(torch.ones(1000, 1000).sum()), np.ones(10**8).nbytes)"
        )
        assert printed["text"] == "1000000.0 800000000\n"


def marked(path: Path) -> list[str]:
    """The checks that the grader of a course finds right in what a student has saved."""
    released = load(ROOT / "exercises" / path.name)
    with Sandbox() as sandbox:
        judged = list(verdicts(mend(path.read_bytes(), released), sandbox))
    return [cell.metadata.nbgrader.grade_id for cell, verdict in judged if verdict.right]


def processes_of(homes: Path) -> list[str]:
    """The command lines of all processes whose home is one of these."""
    found = []
    for process in Path("/proc").glob("[0-9]*"):
        try:
            if f"HOME={homes}/".encode() in (process / "environ").read_bytes():
                found.append((process / "cmdline").read_bytes().decode().replace("\0", " "))
        except OSError:
            continue  # ended meanwhile, or another's
    return found
