"""A quiz in JupyterLab: an answer reaches Python. What is a chapter's own is tried with it."""

from collections.abc import Callable

from playwright.sync_api import expect


def test_answers_reach_python(notebook: Callable) -> None:
    lab = notebook(
        "from tformer_book.widgets import Quiz",
        "quiz = Quiz([dict(question='Why?', options=['a', 'b', 'c'], answer=1,"
        " why=['A', 'B', 'C'])])\nquiz",
        "print('python', quiz.chosen, quiz.score)",
    )
    lab.run(0)
    widget = lab.run(1).locator(".tf-quiz")
    widget.get_by_role("radio").nth(1).check()
    widget.get_by_role("button", name="check").click()
    expect(widget.get_by_role("status")).to_have_text("Right. B")
    lab.says(2, "python [1] 1")
