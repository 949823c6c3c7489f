"""Students' code can harm nothing, and cannot talk its way to a mark."""

import platform
import re
import subprocess
import sys
import time
from pathlib import Path

import pytest

from course_tools import (
    HOSTILE,
    HOSTILE_CELLS,
    IMPORTS,
    SAID,
    answers_by,
    name,
    needs_confinement,
    right,
)
from tformer_book.exercises.registry import exercises
from tformer_course import confinement
from tformer_course.judge import judge
from tformer_course.remote import NoSandbox, Sandbox

ROOT = Path(__file__).resolve().parents[1]
MEMORY = 256 << 20
pytestmark = needs_confinement


@pytest.fixture(scope="module")
def sandbox():
    with Sandbox(MEMORY) as sandbox:
        yield sandbox


@pytest.fixture
def treasure(tmp_path):
    """What nobody may touch: a gradebook, and traces of what must not have happened."""
    gradebook = tmp_path / "gradebook.db"
    gradebook.write_text("marks")
    gradebook.chmod(0o644)
    yield tmp_path
    assert gradebook.read_text() == "marks"
    assert gradebook.stat().st_mode & 0o777 == 0o644
    assert sorted(path.name for path in tmp_path.iterdir()) == ["gradebook.db"]


def said(sandbox, number, *cells, seconds=30.0, cell_seconds=30.0):
    sandbox.cell_seconds = cell_seconds
    named = [(f"<cell {place}>", cell) for place, cell in enumerate([IMPORTS, *cells])]
    return judge(exercises()[number], sandbox, named, name(number), seconds)


def processes_below(program):
    listed = subprocess.run(["ps", "-eo", "ppid=,pid="], capture_output=True, text=True, check=True)
    return [row.split()[1] for row in listed.stdout.splitlines() if row.split()[0] == str(program)]


@pytest.mark.parametrize("what", HOSTILE)
def test_an_answer_that_does_harm_gets_nothing_and_does_none(what, sandbox, treasure):
    places = {
        "GRADEBOOK": treasure / "gradebook.db",
        "TRACE": treasure / "trace",
        "SOLUTIONS": ROOT / "exercises" / "solutions" / "01_dot_products.py",
    }
    given = "\n".join(f"{key} = {str(place)!r}" for key, place in places.items())
    cell = f"{given}\n{answers_by('1.1', HOSTILE[what])}"
    limit = 0.2 if SAID.get(what) == "was still running" else 30
    verdict = said(sandbox, "1.1", cell, seconds=limit)
    assert not verdict.right
    assert SAID.get(what, "") in verdict.text
    assert "fault of the book" not in verdict.text
    assert processes_below(sandbox._program.pid) == []
    assert said(sandbox, "1.1", right("1.1")).right


@pytest.mark.parametrize("what", HOSTILE_CELLS)
def test_a_cell_that_does_harm_gets_nothing(what, sandbox):
    cell = HOSTILE_CELLS[what].format(name="row_dots")
    verdict = said(sandbox, "1.1", cell, cell_seconds=1)
    assert not verdict.right
    assert said(sandbox, "1.1", right("1.1")).right


@pytest.mark.parametrize(
    ("body", "words"),
    [
        ("os.fork()", "stopped with PermissionError"),
        ("open('/etc/passwd')", "Permission denied: '/etc/passwd' (at `open('/etc/passwd')`)"),
        ("os._exit(3)", "ended the whole process of Python (exit code 3)"),
        ("while True: pass", "still running after 0.2 seconds"),
        ("input()", "nobody can be asked"),
        ("return os.environ.get('HOME')", "returned nothing"),
    ],
)
def test_its_author_is_told_what_happened(body, words, sandbox):
    limit = 0.2 if "while" in body else 30.0
    assert words in said(sandbox, "1.1", answers_by("1.1", body), seconds=limit).text


FORGED = [
    "[]", "3", "rubbish", "[" * 9999, '{"changed": 3}', '{"changed": {"9": ["is", 1]}}',
    '{"changed": {"0": ["is", 1]}, "value": ["is", 0], "error": null, "used": [], "printed": 0}',
    '{"changed": {}, "value": ["array", "<f8", [-1, 9], "AAAA", ""], "error": null, "printed": 0,'
    ' "measured": 0, "used": []}',
    '{"changed": {}, "value": ["array", "|O8", [1], "AAAAAAAAAAA=", ""], "error": null,'
    ' "printed": 0, "measured": 0, "used": []}',
    '{"changed": {}, "value": ["is", 13], "error": null, "printed": 0, "measured": Infinity,'
    ' "used": []}',
    '{"changed": {}, "value": ["is", 13], "error": null, "printed": 0, "measured": 0,'
    ' "used": ["__class__"]}',
    '{"changed": {}, "error": {"name": "\\u0000", "text": "", "as": "", "at": ""}, "used": []}',
    '{"changed": {}, "ask": "call", "of": 7, "with": []}',
    '{"changed": {}, "name": 3, "signature": "abc", "returns": 3}',
    '{"changed": {}, "name": "f", "signature": [["1", 9, 8, 7]], "returns": null}',
    '{"changed": {}, "missing": true, "failed": 3}',
]  # fmt: skip


@pytest.mark.parametrize("forged", FORGED)
@pytest.mark.parametrize("inside", [True, False], ids=["in a call", "in a cell"])
def test_a_forged_reply_is_no_right_answer(forged, inside, sandbox):
    send = f"for way in range(3, 64):\n    try: os.write(way, {forged.encode()!r} + b'\\n')\n"
    body = f"{send}    except OSError: pass\nos._exit(0)"
    cell = answers_by("1.1", body) if inside else f"import os\n{body}"
    verdict = said(sandbox, "1.1", cell)
    assert not verdict.right
    assert "fault of the book" not in verdict.text


def test_what_answers_may_use_is_there(sandbox):
    uses = "import matplotlib.pyplot, scipy.optimize, threading, dataclasses, tformer.reference\n"
    thread = "t = threading.Thread(target=print)\nt.start()\nt.join()\n"
    assert said(sandbox, "1.1", uses + thread + right("1.1")).right


def test_a_folder_is_readable_on_request(tmp_path):
    (tmp_path / "data.txt").write_text("12")
    cell = f"open({str(tmp_path / 'data.txt')!r}).read()\n{right('1.1')}"
    for folders, words in ((), "Permission denied"), ([tmp_path], "Checked on"):
        with Sandbox(MEMORY, readable=folders) as sandbox:
            assert words in said(sandbox, "1.1", cell).text


def test_the_sandbox_ends_with_its_judge():
    code = (
        "import sys; from tformer_course.remote import Sandbox; sandbox = Sandbox()\n"
        "with sandbox.child([('<c>', 'f = 1')], 'f'): print(sandbox._program.pid, flush=True)\n"
        "import os; os.kill(os.getpid(), 9)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60)
    program = int(done.stdout)
    for _ in range(100):
        if not Path(f"/proc/{program}").exists():
            return
        time.sleep(0.1)
    pytest.fail("the sandbox outlives its judge")


def test_calls_are_refused_by_the_numbers_of_the_kernel():
    headers = {0: "x86_64-linux-gnu/asm/unistd_64.h", 1: "asm-generic/unistd.h"}
    numbers = {row.split()[0]: row.split()[1:] for row in confinement.REFUSED.split(";")}
    pairs = {**confinement.OF_ITSELF, "clone": confinement.CLONE, "fcntl": confinement.FCNTL}
    numbers |= {call: [str(number) for number in both] for call, both in pairs.items()}
    for place, header in headers.items():
        path = Path("/usr/include", header)
        if not path.exists():
            pytest.skip("the kernel's headers are not here")
        found = re.findall(r"#define __NR(?:3264)?_(\w+)\s+(\d+)", path.read_text())
        kernel = dict(found)
        for call, known in numbers.items():
            assert known[place] == kernel.get(call, "-"), call


@pytest.mark.parametrize(
    ("system", "words"), [("darwin", "this is macOS"), ("win32", "this is Windows")]
)
def test_other_systems_are_told_the_way(system, words, monkeypatch):
    monkeypatch.setattr(sys, "platform", system)
    monkeypatch.setattr(confinement, "_LIBC", None)
    assert words in confinement.missing()
    assert "docker run" in confinement.missing()
    with pytest.raises(NoSandbox, match="Nothing has been run"), Sandbox() as sandbox:
        said(sandbox, "1.1", right("1.1"))


def test_an_unknown_machine_is_refused(monkeypatch):
    monkeypatch.setattr(platform, "machine", lambda: "riscv64")
    assert "this is riscv64" in confinement.missing()
