"""The model in JupyterLab: Python hands over the weights, and learns what was typed."""

from collections.abc import Callable

from playwright.sync_api import expect

from tformer_book.chapters.ch15.teller import EXAMPLES


def test_the_weights_come_from_python_and_the_text_goes_back(notebook: Callable) -> None:
    lab = notebook(
        "from tformer_book.chapters.ch15.teller import Teller",
        "teller = Teller()\nteller",
        "print('python', repr(teller.text[-12:]), teller.off)",
    )
    lab.run(0)
    widget = lab.run(1).locator(".tf-teller")
    expect(widget).to_have_attribute("data-ready", "true")
    widget.get_by_role("button", name="who helps?").click()
    widget.get_by_label("head 1.2 is on").uncheck()
    lab.says(2, f"python {EXAMPLES['who helps?'][-12:]!r} [1]")
