"""An afternoon at the desk, in JupyterLab: right, wrong, broken and not begun."""

from collections.abc import Callable

import pytest
from playwright.sync_api import expect

from browsing import ROOT
from tformer_book.pipeline.generators.exercises import sources, student
from tformer_book.pipeline.lab.desk import opened
from tformer_book.pipeline.notebook.normalise import parse

ANSWERS = {
    "ex-2-1-solution": """def softmax_along(x, axis=-1):
    terms = np.exp(x - x.max(axis=axis, keepdims=True))
    return terms / terms.sum(axis=axis, keepdims=True)""",
    "ex-2-2-solution": """def log_softmax_along(x):
    return np.log(np.exp(x) / np.exp(x).sum(-1, keepdims=True))""",
    "ex-2-3-solution": "def lead_for(share, n, beta)",
}


def test_run_all_goes_on_and_progress_outlives_the_kernel(notebook: Callable) -> None:
    exercises = student(next(path for path in sources(ROOT) if path.stem.startswith("02")))
    names = [cell["id"] for cell in exercises.cells]
    for cell in exercises.cells:
        cell.source = ANSWERS.get(cell["id"], cell.source)
    lab = notebook(whole=exercises)
    lab.page.evaluate("jupyterapp.commands.execute('notebook:run-all-cells')")
    progress = lab.output(names.index("ex-02-progress"))
    expect(progress).to_contain_text("1 of 12 exercises done, 1 not yet.")
    right = lab.output(names.index("ex-2-1-check"))
    expect(right).to_contain_text("✓ Exercise 2.1, correct.")
    wrong = lab.output(names.index("ex-2-2-check"))
    expect(wrong).to_contain_text("✗ Exercise 2.2, not yet.")
    expect(wrong.locator("code")).to_have_text(["log_softmax_along", 'hint("2.2")'])
    expect(lab.output(names.index("ex-2-3-solution"))).to_contain_text("SyntaxError")
    begun = lab.output(names.index("ex-2-4-check"))
    expect(begun).to_contain_text("○ Exercise 2.4, not yet. second_best is still the empty")
    lab.page.evaluate("jupyterapp.commands.execute('docmanager:save')")
    lab.page.evaluate("jupyterapp.shell.currentWidget.sessionContext.session.kernel.restart()")
    again = lab.run(names.index("ex-02-progress"))
    first = again.locator("xpath=ancestor::*[contains(@class, 'jp-CodeCell')]")
    expect(first.locator(".jp-InputPrompt").first).to_have_text("[1]:")
    expect(again).to_contain_text("1 of 12 exercises done, 1 not yet.")
    expect(again.locator("tr").first).to_have_text("✓2.1 A softmax that does not overflowdone")


# JupyterLab writes what the kernel says of itself once it has said so.
STATE = """async () => {
    const panel = jupyterapp.shell.currentWidget;
    await panel.sessionContext.session.kernel.info;
    await new Promise((then) => setTimeout(then, 500));
    return [panel.context.model.cells.length, panel.context.model.dirty];
}"""


@pytest.mark.parametrize(
    ("folder", "name"), [("exercises", "01_dot_products"), ("chapters", "00_notation")]
)
def test_to_open_a_notebook_changes_nothing_in_it(
    notebook: Callable, folder: str, name: str
) -> None:
    whole = parse(opened((ROOT / folder / f"{name}.ipynb").read_text(encoding="utf-8")))
    lab = notebook(whole=whole)
    assert lab.page.evaluate(STATE) == [len(whole.cells), False]
