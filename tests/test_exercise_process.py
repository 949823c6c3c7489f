"""A check runs in a process of its own, which can be ended whatever an answer does."""

import ctypes
import gc
import os
import sys
import threading
import time
import warnings

import nbformat
import numpy as np
import pytest
from nbclient import NotebookClient

from exercise_tools import told
from tformer import reference
from tformer_book.exercises import check, clock, process
from tformer_book.exercises.answer import Answer, Wrong


@pytest.fixture(params=[True, False], ids=["forked", "in a thread"])
def either_way(request, monkeypatch):
    if request.param and not process.CAN_FORK:
        pytest.skip("no fork here")
    monkeypatch.setattr(process, "CAN_FORK", request.param)


needs_fork = pytest.mark.skipif(not process.CAN_FORK, reason="no fork here")


def dies(how):
    def answer(q, k):
        how()

    return answer


@needs_fork
def test_an_endless_builtin_is_ended_and_named():
    begin = time.monotonic()
    text = told("1.1", lambda q, k: sum(range(10**12)), seconds=0.5)
    assert "With q = (1, 2) and k = (3, 5), your function was still running after 0.5 sec" in text
    assert "slow or endless" in text
    assert time.monotonic() - begin < 10


@needs_fork
@pytest.mark.parametrize(
    ("how", "words"),
    [
        (lambda: os._exit(3), "exit code 3"),
        (lambda: ctypes.string_at(0), "a segmentation fault"),
        (lambda: os.kill(os.getpid(), 9), "when memory runs out"),
        (lambda: os.abort(), "SIGABRT"),
        (lambda: os.execv("/bin/sh", ["sh", "-c", "sleep 60"]), "another program"),
    ],
)
def test_an_answer_that_ends_its_process_is_told_so(how, words):
    text = told("1.1", dies(how))
    assert "With q = (1, 2) and k = (3, 5), answer ended the whole process" in text
    assert words in text


def test_memory_that_is_not_there_is_an_error_like_any_other(either_way):
    assert "answer stopped with" in told("1.1", dies(lambda: np.ones(10**15)))


@needs_fork
def test_nobody_is_asked_for_input():
    assert "nobody can be asked" in told("1.1", dies(lambda: input("q? ")))


@needs_fork
def test_no_process_is_left_behind():
    told("1.1", lambda q, k: time.sleep(60), seconds=0.1)
    told("1.1", dies(lambda: os._exit(0)))
    check("1.1", lambda q, k: (q * k).sum(-1))
    with pytest.raises(ChildProcessError):
        os.waitpid(-1, os.WNOHANG)


@needs_fork
def test_what_an_answer_does_to_its_surroundings_is_gone():
    seen = []
    check("1.1", lambda q, k: (seen.append(q), (q * k).sum(-1))[1])
    assert seen == []


@needs_fork
def test_the_warning_about_fork_and_threads_is_silenced_and_no_other(monkeypatch):
    fork = os.fork

    def of_python_312():
        warnings.warn("multi-threaded, use of fork() may ...", DeprecationWarning, 2)
        return fork()

    monkeypatch.setattr(os, "fork", of_python_312)
    check("1.1", lambda q, k: (q * k).sum(-1))

    def with_another():
        warnings.warn("Something else", DeprecationWarning, 2)
        return fork()

    monkeypatch.setattr(os, "fork", with_another)
    with pytest.raises(DeprecationWarning, match="Something else"):
        process.run(lambda report: None)


def test_praise_and_complaint_come_out_the_same_either_way(either_way, capsys):
    check("1.1", lambda q, k: (print("hello"), (q * k).sum(-1))[1])  # noqa: T201
    out = " ".join(capsys.readouterr().out.split())
    assert out.startswith("✓ Exercise 1.1, correct.")
    assert "was left out" in out
    assert "hello" not in out
    assert "not added up yet" in told("1.1", lambda q, k: q * k)
    assert "printed something instead" in told("1.1", lambda q, k: print(q))  # noqa: T201


def test_without_fork_a_call_that_cannot_be_interrupted_is_left_behind(monkeypatch):
    monkeypatch.setattr(process, "CAN_FORK", False)
    release = threading.Event()
    begin = time.monotonic()
    assert "still running" in told("1.1", lambda q, k: release.wait(), seconds=0.05)
    assert time.monotonic() - begin < 10
    release.set()


def test_the_last_of_many_slow_calls_is_told_how_the_time_is_shared():
    answer = Answer(lambda q: time.sleep(1), seconds=5.0)
    answer.left = 0.1
    with pytest.raises(Wrong, match=r"was stopped: .* share four times the time of one"):
        answer.raw(q=np.ones(2))


def computes(seconds):
    end = time.process_time() + seconds
    while time.process_time() < end:
        pass


def test_time_is_what_an_answer_computes_not_what_a_busy_machine_makes_of_it(either_way):
    def waits(q, k):
        time.sleep(0.15 * (q.ndim == 1 and q[0] == 1))  # as whoever waits for a core
        return (q * k).sum(-1)

    check("1.1", waits, seconds=0.1)
    assert "slow or endless" in told("1.1", lambda q, k: computes(0.3), seconds=0.1)


def test_who_waits_without_end_is_ended(either_way):
    begin = time.monotonic()
    assert "slow or endless" in told("1.1", lambda q, k: time.sleep(60), seconds=0.1)
    assert time.monotonic() - begin < 15


def test_an_overdue_call_gets_a_second_chance(either_way, tmp_path):
    def slow_at_first(q, k):
        if not (tmp_path / "again").exists():
            (tmp_path / "again").touch()
            computes(1)
        return (q * k).sum(-1)

    check("1.1", slow_at_first, seconds=0.2)


def test_loading_a_large_package_is_no_part_of_an_answer(either_way, tmp_path, monkeypatch):
    (tmp_path / "slow_to_load.py").write_text(
        "import time\nend = time.process_time() + 1\nwhile time.process_time() < end: pass\n"
    )
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.setattr(clock, "SLOW_TO_LOAD", ("slow_to_load",))
    monkeypatch.delitem(sys.modules, "slow_to_load", raising=False)

    def inside(q, k):
        import slow_to_load  # noqa: F401

        return (q * k).sum(-1)

    space = {"inside": inside}
    exec("def answer(q, k):\n    return inside(q, k)", space)
    check("1.1", space["answer"], seconds=0.2)
    monkeypatch.delitem(sys.modules, "slow_to_load")
    clock.load_imports(lambda q: None)
    assert "slow_to_load" not in sys.modules


@pytest.mark.parametrize("owner", [reference, np], ids=["reference", "np"])
def test_a_replaced_function_of_the_library_is_named(owner, monkeypatch):
    name = "softmax" if owner is reference else "exp"
    monkeypatch.setattr(owner, name, lambda x: x)
    text = told("2.1", lambda x, axis: x)
    assert f"{owner.__name__.removeprefix('tformer.')}.{name}" in text
    assert "restart the kernel" in text


def run_cells(*cells):
    """Outputs of code cells in a real kernel that goes on after errors."""
    notebook = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(c) for c in cells])
    NotebookClient(notebook, kernel_name="python3", allow_errors=True, timeout=60).execute()
    return [cell.outputs for cell in notebook.cells]


def test_in_a_kernel_only_the_sentence_is_shown_and_only_nbgrader_is_raised_at():
    outputs = run_cells(
        "from tformer_book.exercises import check, hint",
        "def f(q, k):\n    return q / 0 + undefined\ncheck('1.1', f)",
        "def f(q, k):\n    while True:\n        pass\ncheck('1.1', f, seconds=0.3)",
        "check('1.1', lambda q, k: (q * k).sum(-1))",
        "hint('1.1')",
        "check('1.1', lambda q, k: sum(range(10**12)), seconds=0.3)",
        "import os\ncheck('1.1', lambda q, k: os._exit(1))",
        "check('1.1', lambda q, k: (display(q), (q * k).sum(-1))[1])",
        "import time, threading\nprint(threading.active_count() > 1, os.getpid() > 0)",
        "os.environ['NBGRADER_EXECUTION'] = 'autograde'\ncheck('1.1', f, seconds=0.3)",
    )
    raised, looped = outputs[1], outputs[2]
    for output, words in (
        (raised, "at `return q / 0 + undefined`"),
        (looped, "still running after 0.3 seconds"),
        (outputs[3], "✓ Exercise 1.1, correct."),
        (outputs[4], "Hint 1 of 3."),
        (outputs[5], "slow or endless"),
        (outputs[6], "exit code 1"),
    ):
        assert [o.output_type for o in output] == ["display_data"]
        assert words in " ".join(output[0].data["text/plain"].split())
    assert "at <code>return q / 0 + undefined</code>" in raised[0].data["text/html"]
    assert raised[0].metadata == {"tformer": {"exercise": "1.1", "correct": False}}
    assert any("correct." in o.get("data", {}).get("text/plain", "") for o in outputs[7])
    assert outputs[8][0].text == "True True\n"
    assert [o.output_type for o in outputs[9]] == ["error"]
    assert "\n".join(outputs[9][0].traceback) == outputs[9][0].evalue


@pytest.fixture
def collecting_often():
    before = gc.get_threshold()
    gc.freeze()  # everything else may rest
    yield
    gc.unfreeze()
    gc.set_threshold(*before)


@pytest.mark.usefixtures("collecting_often")
def test_what_others_left_behind_is_no_step_of_an_answer():
    def lingers():
        _ = yield
        try:
            yield
        finally:
            sum(i for i in range(50))

    answer, found = Answer(lambda q: [(i,) for i in range(30)]), set()
    for threshold in range(20, 220, 2):
        gc.collect()
        for _ in range(20):
            generator = lingers()
            next(generator)
            generator.send(generator)
        gc.set_threshold(threshold)
        found.add(answer.steps(q=1))
        gc.set_threshold(10_000)
    assert len(found) == 1
