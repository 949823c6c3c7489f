"""A notebook is written the same way every time, and nothing of the machine is in it."""

import copy
import json
import uuid

import pytest

from tformer_book.pipeline import __main__ as commands
from tformer_book.pipeline.notebook.normalise import (
    MACHINE_TAG,
    STATE,
    VIEW,
    dump,
    load,
    normalise,
    parse,
    sanitise,
    settle,
)
from tformer_book.widgets.quiz import Quiz
from tiny import code, notebook, printed, raised, result, text, v4


def with_widgets(names: list[str], shown: list[str]):
    """A notebook that shows the models `shown`; each has a layout, and one child."""
    state = {}
    for name in names:
        layout, child = f"{name}-aa", f"{name}-cc"
        common = {"_model_module": "anywidget", "empty": None}
        state[name] = {
            "model_name": "AnyModel",
            "model_module": "anywidget",
            "model_module_version": "1",
            "state": common
            | {
                "_esm": "export default {}",
                "_css": ".a {}",
                "layout": f"IPY_MODEL_{layout}",
                "children": [f"IPY_MODEL_{child}"],
            },
            "buffers": [
                {"path": ["z"], "data": "eg==", "encoding": "base64"},
                {"path": ["b"], "data": "Yg==", "encoding": "base64"},
            ],
        }
        state[layout] = {"model_name": "LayoutModel", "state": {"width": None, "height": "1em"}}
        state[child] = {"model_name": "AnyModel", "state": {"x": None}}
    views = [
        code("w", v4.new_output("display_data", {VIEW: {"model_id": name}, "text/plain": "W()"}))
        for name in shown
    ]
    nb = notebook(*views)
    nb.metadata["widgets"] = {STATE: {"state": state, "version_major": 2, "version_minor": 0}}
    return nb


@pytest.fixture
def messy():
    nb = notebook(
        text("# Words  \n\nMore.\n\n"),
        code("print(1)\n", printed("1\n"), printed("2\n"), execution={"iopub.status.busy": "now"}),
        code("f()", raised(), tags=["raises-exception"], collapsed=True, scrolled=False),
        code("2", result("2")),
    )
    nb.metadata = {
        "kernelspec": {"name": "my-env"},
        "language_info": {"version": "3.12.1"},
        "jupytext": {"default_lexer": "ipython3"},
        "title": "Words",
    }
    for count, cell in zip((7, 9, 12), nb.cells[1:], strict=True):
        cell.execution_count = count
    return nb


def test_twice_is_once(messy):
    once = normalise(messy)
    assert dump(normalise(once)) == dump(once)
    assert dump(normalise(parse(dump(once)))) == dump(once)


def test_the_given_notebook_is_left_alone(messy):
    before = copy.deepcopy(messy)
    normalise(messy)
    assert messy == before


def test_clock_machine_and_editor_leave_no_trace(messy):
    nb = normalise(messy)
    assert "3.12.1" not in dump(nb)
    assert nb.metadata.kernelspec.name == "python3"
    assert sorted(nb.metadata) == ["kernelspec", "language_info", "title"]
    assert [cell.metadata for cell in nb.cells] == [{}, {}, {"tags": ["raises-exception"]}, {}]
    assert nb.cells[0].source == "# Words  \n\nMore."


def test_cells_are_counted_from_one(messy):
    nb = normalise(messy)
    assert [cell.execution_count for cell in nb.cells[1:]] == [1, 2, 3]
    assert nb.cells[3].outputs[0].execution_count == 3


def test_a_cell_that_was_not_run_stays_so():
    nb = notebook(code("1"), code("2"))
    nb.cells[0].execution_count = None
    assert [cell.execution_count for cell in normalise(nb).cells] == [None, 1]


def test_pieces_of_a_stream_are_joined_and_then_sanitised():
    nb = notebook(
        code("p()", printed("/home/me/l"), printed("b", "stderr"), printed("ib/tformer/a.py"))
    )
    outputs = normalise(nb).cells[0].outputs
    assert [(out.name, out.text) for out in outputs] == [
        ("stdout", "lib/tformer/a.py"),
        ("stderr", "b"),
    ]


def test_a_bar_that_grew_is_kept_as_it_stands_in_the_end():
    nb = notebook(
        code(
            "p()",
            printed("\r░░ 1"),
            printed("\r█░ 2\n  a sample\n\r█░ 3"),
            printed("\r██ 4\nend\r\n"),
        )
    )
    (out,) = normalise(nb).cells[0].outputs
    assert out.text == "█░ 2\n  a sample\n██ 4\nend\r\n"


def test_an_error_keeps_its_message_only(messy):
    (error,) = normalise(messy).cells[2].outputs
    assert error.traceback == ["ValueError: no"]


@pytest.mark.parametrize(
    ("found", "kept"),
    [
        ("/home/me/book/lib/tformer/shapes.py:3", "lib/tformer/shapes.py:3"),
        (r"C:\Users\me\book\lib\tformer\shapes.py", r"lib/tformer\shapes.py"),
        ("see /opt/v/lib/python3.11/site-packages/numpy/x.py", "see site-packages/numpy/x.py"),
        ("File /tmp/ipykernel_12/345.py:1", "File <cell>:1"),
        ("<dc:date>2025-01-01</dc:date>", "<dc:date/>"),
        ("<dc:title>Matplotlib v3.10.1, https://x</dc:title>", "<dc:title>Matplotlib</dc:title>"),
        ("and/or 1/2 /lib/other", "and/or 1/2 /lib/other"),
    ],
)
def test_what_differs_between_machines_is_not_stored(found, kept):
    assert sanitise(found) == kept
    assert sanitise(kept) == kept


def test_ids_stay_and_missing_ones_come_from_the_text():
    first, second = code("1"), code("1")
    nb = notebook(text("a"), first, second)
    nb.cells[0]["id"] = "kept"
    del first["id"], second["id"]
    ids = [cell.id for cell in normalise(nb).cells]
    assert ids[0] == "kept"
    assert len(set(ids)) == 3
    assert ids == [cell.id for cell in normalise(nb).cells]


def test_a_file_without_ids_gets_the_same_ones_each_time(tmp_path):
    nb = notebook(code("1"))
    nb.nbformat_minor = 4
    del nb.cells[0]["id"]
    path = tmp_path / "a.ipynb"
    path.write_text(json.dumps(nb), encoding="utf-8")
    assert dump(normalise(load(path))) == dump(normalise(load(path)))


def test_widget_models_are_named_by_their_place():
    def random():
        return [uuid.uuid4().hex for _ in range(3)]

    texts = set()
    for names in (random(), random()):
        hidden, a, b = names
        texts.add(dump(normalise(with_widgets(sorted(names), shown=[a, b]))))
        assert hidden not in next(iter(texts))
    assert len(texts) == 1
    nb = parse(texts.pop())
    state = nb.metadata.widgets[STATE].state
    assert len(state) == 6  # two shown models, their layouts and their children
    assert [cell.outputs[0].data[VIEW].model_id for cell in nb.cells] == [
        "0" * 31 + "1",
        "0" * 31 + "2",
    ]
    for cell in nb.cells:
        model = state[cell.outputs[0].data[VIEW].model_id]
        assert model.state["_esm"] == "export default {}"
        assert model.state["_css"] == ".a {}"
        assert model.state["empty"] is None
        assert [buffer.path for buffer in model.buffers] == [["b"], ["z"]]
        assert state[model.state.layout.removeprefix("IPY_MODEL_")].state == {"height": "1em"}
        assert model.state.children[0].removeprefix("IPY_MODEL_") in state
    assert dump(normalise(nb)) == dump(nb)


def stored(name: str):
    """The state of a widget with old code, of the class `name`, in a normalised notebook."""
    nb = with_widgets(["a"], shown=["a"])
    old = nb.metadata.widgets[STATE].state["a"].state
    old.update({"_anywidget_id": name, "_esm": "old", "_css": "old", "chosen": [2]})
    return normalise(nb).metadata.widgets[STATE].state["0" * 31 + "1"].state


def test_a_widget_of_ours_gets_the_librarys_code_and_keeps_what_it_shows():
    state = stored("tformer_book.widgets.quiz.Quiz")
    assert (state["_esm"], state["_css"], state["chosen"]) == (Quiz._esm, Quiz._css, [2])


@pytest.mark.parametrize(
    "name", ["elsewhere.Widget", "tformer_book.widgets.quiz.Riddle", "tformer_book.nowhere.Quiz"]
)
def test_a_widget_that_is_not_in_the_library_keeps_its_code(name):
    state = stored(name)
    assert (state["_esm"], state["_css"]) == ("old", "old")


def test_a_widget_whose_module_cannot_be_imported_is_no_widget_that_is_gone(monkeypatch):
    def fail(name: str):
        raise ModuleNotFoundError("No module named 'torch'", name="torch")

    monkeypatch.setattr("tformer_book.widgets.base.import_module", fail)
    with pytest.raises(ModuleNotFoundError, match="torch"):
        stored("tformer_book.widgets.quiz.Quiz")


def test_the_command_writes_new_code_without_a_run(tmp_path, monkeypatch, capsys):
    nb = with_widgets(["a"], shown=["a"])
    nb.metadata.widgets[STATE].state["a"].state["_anywidget_id"] = "tformer_book.widgets.quiz.Quiz"
    (tmp_path / "chapters").mkdir()
    (tmp_path / "pyproject.toml").touch()
    path = tmp_path / "chapters" / "01_square.ipynb"
    path.write_text(dump(nb), encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    assert commands.main(["normalise"]) == 0
    assert capsys.readouterr().out == "normalised chapters/01_square.ipynb\n"
    assert load(path).cells[0].outputs[0].data["text/plain"] == "W()"
    assert path.read_text(encoding="utf-8").count(json.dumps(Quiz._css, ensure_ascii=False)) == 1
    assert commands.main(["normalise"]) == 0
    assert capsys.readouterr().out == ""


def test_state_that_nothing_shows_is_dropped():
    nb = with_widgets([uuid.uuid4().hex], shown=[])
    assert "widgets" not in normalise(nb).metadata


def test_a_timing_alone_does_not_change_a_notebook():
    def timed(seconds: str, value: str):
        return normalise(
            notebook(code("t()", result(seconds), tags=[MACHINE_TAG]), code("v", result(value)))
        )

    old = timed("1.0 s", "7")
    assert settle(timed("2.0 s", "7"), old) is old
    new = timed("2.0 s", "8")
    assert settle(new, old) is new
