"""No notebook takes more time or memory than it is given, wherever it is read."""

import json
import resource
import time

import nbformat
import pytest
from nbformat.v4 import new_code_cell, new_markdown_cell, new_notebook

from course_tools import IMPORTS, NAME, ROOT, answered, needs_confinement, right
from tformer_book.exercises.registry import exercises
from tformer_course.bounded import bounded
from tformer_course.feedback import page
from tformer_course.gradescope import main
from tformer_course.judge import judge
from tformer_course.judged import judged
from tformer_course.notebook import MAGIC, cell
from tformer_course.remote import Sandbox
from tformer_course.submission import CELLS, mend, read

BUSY = "import time\ndef busy(t):\n    t += time.process_time()\n"
BUSY += "    while time.process_time() < t: pass\n"
RELEASED = nbformat.read(ROOT / "exercises" / f"{NAME}.ipynb", 4)


def forever(tell):
    tell(one=1)
    while True:
        pass


def endless(tell):
    tell(one=1)
    kept = []
    while True:
        kept.append(bytearray(1 << 24))


@pytest.mark.parametrize(("work", "how"), [(forever, "overdue"), (endless, "died")])
def test_what_was_found_before_the_limit_is_kept(work, how):
    told = bounded(work, 1.0, memory=256 << 20)
    assert told["one"] == 1
    assert how in told
    assert resource.getrlimit(resource.RLIMIT_DATA)[0] == resource.RLIM_INFINITY


def test_telling_often_buys_no_time():
    def work(tell):
        while True:
            tell(one=1)
            time.sleep(0.1)

    begin = time.monotonic()
    assert "overdue" in bounded(work, 0.2)
    assert time.monotonic() - begin < 20


def idle(tell):
    tell(one=1)
    time.sleep(0.6)
    tell(two=2)


def test_time_in_which_a_machine_does_other_things_does_not_count():
    assert bounded(idle, 0.4)["two"] == 2


@needs_confinement
@pytest.mark.parametrize(("waits", "earned"), [("time.sleep(0.4)", True), ("busy(0.4)", False)])
def test_an_answer_is_given_time_to_compute(waits, earned):
    source = f"{BUSY}first = [1]\n{right('1.1')}\nright = row_dots\ndef row_dots(q, k):\n"
    source += f"    if first and first.pop(): {waits}\n    return right(q, k)"
    with Sandbox(512 << 20, cell_seconds=5) as sandbox:
        cells = [("<c>", IMPORTS), ("<d>", source)]
        assert judge(exercises()["1.1"], sandbox, cells, "row_dots", 0.3).right == earned
        assert sandbox.used > 0.001


@needs_confinement
def test_a_package_that_a_function_imports_is_loaded_before_its_time_begins():
    source = right("1.1").replace("    return", "    import torch\n    return")
    with Sandbox(cell_seconds=60) as sandbox:
        cells = [("<c>", IMPORTS), ("<d>", source)]
        verdict = judge(exercises()["1.1"], sandbox, cells, "row_dots", 0.5)
    assert verdict.right, verdict


@needs_confinement
def test_cells_are_given_time_to_compute():
    for waits, earned in ("time.sleep(0.6)", True), ("busy(0.6)", False):
        with Sandbox(512 << 20, cell_seconds=0.5) as sandbox:
            cells = [("<c>", IMPORTS), ("<d>", f"{BUSY}{waits}"), ("<e>", right("1.1"))]
            verdict = judge(exercises()["1.1"], sandbox, cells, "row_dots", 9.0)
        assert verdict.right == earned, verdict


LONG = 100_000
SLOW = {
    "blank lines": "\n" * LONG,
    "blanks": " " * LONG,
    "lines of a blank": " \n" * LONG,
    "question marks": "?" * LONG,
    "question marks and blanks": "? " * LONG,
    "tabs before a word": ("\t" * 99 + "x\n") * 1000,
    "from": "from " * LONG,
}


@pytest.mark.parametrize("what", SLOW)
def test_a_cell_is_read_in_a_moment(what):
    begin = time.process_time()
    cell("<c>", f"1 +{SLOW[what]}x =")
    cell("<c>", f"x = 1{SLOW[what]}" if "from" not in what else SLOW[what])
    assert time.process_time() - begin < 2


@pytest.mark.parametrize(
    ("source", "kept"),
    [("%%time\nx = 1", "\nx = 1"), ("x = 1\n  !ls\ny", "x = 1\n\ny"), ("len?\nx", "\nx"),
     ("x = 1  \n\n y", "x = 1  \n\n y")],
)  # fmt: skip
def test_what_only_a_notebook_understands_is_left_out(source, kept):
    assert MAGIC.sub("", source) == kept


@needs_confinement
def test_what_is_lent_takes_little_at_a_time():
    """3.7 hands over a layer of T² numbers; on a large array it would take the judge's memory."""
    greedy = "def kind_of(layer, x):\n    layer(np.ones((4000, 3)))\n    return 'neither'"
    with Sandbox(512 << 20) as sandbox:
        cells = [("<c>", IMPORTS), ("<d>", greedy)]
        verdict = judge(exercises()["3.7"], sandbox, cells, "kind_of", 30.0)
    assert "4096 numbers at a time" in verdict.text


@needs_confinement
def test_a_notebook_has_a_deadline_and_keeps_what_came_before_it():
    waits = f"{BUSY}busy(0.1)\ndef {{}}(*a):\n    return nowhere\nbusy(1)"
    names = {f"4.{n}": exercises()[f"4.{n}"].table.right.__name__ for n in range(2, 10)}
    stalls = {number: waits.format(name) for number, name in names.items()}
    found = judged(answered(RELEASED, {"4.1": right("4.1")} | stalls), 2.4)
    assert [verdict.right for _, verdict in found] == [True] + [False] * 11
    late = "The time for a whole notebook, 2.4 seconds"
    assert sum(late in verdict.text for _, verdict in found) >= 9  # two take more than all of it


def test_a_file_that_is_made_to_be_slow_or_large_is_read_in_part_or_not(tmp_path):
    path = tmp_path / f"{NAME}.ipynb"
    whole = json.loads(nbformat.writes(RELEASED))
    empty = {"cell_type": "code", "source": "", "metadata": {}}
    path.write_text(json.dumps(whole | {"cells": whole["cells"] + [empty] * 100_000}))
    made = read(path, RELEASED)
    assert len(made.cells) == CELLS + 1
    assert "the rest was left out" in made.cells[0].source
    path.write_text(json.dumps(whole | {"cells": [empty | {"source": "x" * (2 << 20)}]}))
    assert "the rest was left out" in read(path, RELEASED).cells[0].source
    half = [empty | {"source": ["\ud800", "x = '\udfff'"]}]
    path.write_text(json.dumps(whole | {"cells": half + whole["cells"]}))
    nbformat.writes(read(path, RELEASED)).encode()


def test_a_page_that_cannot_be_made_is_shown_as_it_was_typed():
    cells = [new_markdown_cell("# *One* <b>"), new_code_cell("x = '<i>'")]
    about = {"notebook": "n", "student": "s", "score": 0, "max_score": 1}
    made = page(new_notebook(cells=cells), about, plain=True)
    assert "<pre># *One* &lt;b&gt;</pre>" in made
    assert "<pre>x = &#x27;&lt;i&gt;&#x27;</pre>" in made


@needs_confinement
def test_gradescope_finds_the_file_that_it_asks_for(tmp_path, monkeypatch):
    monkeypatch.chdir(ROOT)
    folder, to = tmp_path / "submission", tmp_path / "results.json"
    folder.mkdir()
    path = folder / f"{NAME}-1.ipynb"
    path.write_text(nbformat.writes(answered(RELEASED, {"4.1": right("4.1")})), encoding="utf-8")
    main([NAME, str(folder), str(to)])
    tests = json.loads(to.read_text())["tests"]
    assert [test["score"] for test in tests] == [1] + [0] * 11
    assert sum(test["max_score"] for test in tests) == 24
    assert (tests[0]["name"], tests[0]["status"]) == ("Exercise 4.1", "passed")
    assert "empty template" in tests[1]["output"]
    (folder / "notes").symlink_to(ROOT)
    with pytest.raises(SystemExit, match=r"Not marked\. Refused: 'notes' is a link"):
        main([NAME, str(folder), str(to)])
    assert not to.exists()
    (folder / "notes").unlink()
    (folder / f"{NAME}.ipynb").write_text("no notebook")
    with pytest.raises(
        SystemExit, match=r"Not marked\. The file that was handed in is no notebook"
    ):
        main([NAME, str(folder), str(to)])
    assert not to.exists()


def test_a_notebook_of_nothing_but_blanks_is_mended_in_a_moment():
    blank = new_notebook(cells=[new_markdown_cell("\n" * LONG)])
    assert mend(nbformat.writes(blank).encode(), RELEASED).cells
