"""A hub for a class, as `make hub` starts it: two students, one right and one wrong."""

import json
import re
import sys
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from hub_tools import Student, running

NOTEBOOK = "exercises/01_dot_products.ipynb"
RIGHT = "def row_dots(q, k):\n    return (q * k).sum(-1)"
WRONG = "def row_dots(q, k):\n    return (q * k).sum()"


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("hub")


@pytest.fixture(scope="module")
def students(folder: Path) -> Iterator[dict[str, Student]]:
    """Ada and Bob, signed in, with their servers; nothing of theirs runs on afterwards."""
    if sys.platform != "linux":
        pytest.skip("limits and processes are Linux's")
    with running(folder) as address:
        both = {name: Student(address, name) for name in ("ada", "bob")}
        for student in both.values():
            student.sign_in()
        with ThreadPoolExecutor() as pool:
            list(pool.map(Student.start, both.values()))
        yield both
    left = processes_of(folder / "homes")
    assert left == [], left


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


def work(student: Student, answer: str) -> str:
    """Write an answer into the notebook, run all, save; what `progress` says at the end."""
    there = student.own("GET", f"contents/{NOTEBOOK}")
    cells = [cell for cell in there["content"]["cells"] if cell["cell_type"] == "code"]
    with student.session(NOTEBOOK) as session:
        for cell in cells:
            if cell["id"] == "ex-1-1-solution":
                cell["source"] = answer
            cell["outputs"] = session.run(cell["source"])
    student.own("PUT", f"contents/{NOTEBOOK}", json=there)
    return cells[-1]["outputs"][-1]["data"]["text/plain"]


def test_two_students_work_and_their_notebooks_say_who_is_right(
    students: dict[str, Student], folder: Path
) -> None:
    with ThreadPoolExecutor() as pool:
        said = list(pool.map(work, students.values(), (RIGHT, WRONG)))
    assert said[0].startswith("1 of 12 exercises done.\n✓ 1.1 ")
    assert said[1].startswith("0 of 12 exercises done, 1 not yet.\n✗ 1.1 ")
    for name, correct in (("ada", True), ("bob", False)):
        saved = json.loads((folder / f"homes/{name}/transformer/{NOTEBOOK}").read_text())
        check = next(cell for cell in saved["cells"] if cell["id"] == "ex-1-1-check")
        assert check["outputs"][0]["metadata"]["tformer"]["correct"] is correct


def test_the_desk_is_a_students_and_has_nothing_of_the_instructors(
    students: dict[str, Student],
) -> None:
    ada = students["ada"]
    names = {item["name"] for item in ada.own("GET", "contents")["content"]}
    assert {"01_dot_products.ipynb", "exercises"} <= names
    assert not names & {"lib", "tests", "solutions"}
    page = ada.ask("GET", "user/ada/lab").text
    config = json.loads(re.search(r'id="jupyter-config-data"[^>]*>(.*?)</script>', page, re.S)[1])
    assert "@jupyter/nbgrader" in config["disabledExtensions"]
    for address in ("formgrader", "assignments", "courses", "assignments/validate"):
        assert ada.ask("GET", f"user/ada/{address}").status_code == 404, address
    assert ada.ask("GET", "user/bob/api/contents").status_code == 403


def test_what_is_idle_is_ended(students: dict[str, Student], folder: Path) -> None:
    with students["bob"].session("trial.ipynb") as session:
        session.run("1")
    log = (folder / "log").read_text()
    assert log.count("Will shut down after 3600 seconds with no kernels") == len(students)
    assert "Culling kernels with idle durations > 3600 seconds at 300 second intervals" in log


def test_a_kernel_that_takes_too_much_memory_is_told_so_and_goes_on(
    students: dict[str, Student],
) -> None:
    with students["ada"].session("trial.ipynb") as session:
        (failed,) = session.run("import numpy as np\nnp.empty(2**31 // 8 * 8 + 1, dtype=np.uint8)")
        assert "MemoryError" in failed["ename"]
        (printed,) = session.run(
            "import torch\nfrom tformer import fast\n"
            "print(float(torch.ones(1000, 1000).sum()), np.ones(10**8).nbytes)"
        )
        assert printed["text"] == "1000000.0 800000000\n"
