"""The widgets in JupyterLab: what moves on the screen moves in Python, and back."""

import os
import socket
import subprocess
import sys
import time
import urllib.request
from collections.abc import Iterator
from pathlib import Path

import nbformat
import pytest
from playwright.sync_api import Browser, Locator, Page, expect

from tformer.chapters.ch01.dot_product import DotProduct
from tformer.chapters.ch02.softmax_temperature import SoftmaxTemperature
from tformer.chapters.ch03.attention_map import AttentionMap

CELLS = [
    "from tformer.chapters.ch01.dot_product import DotProduct\n"
    "from tformer.chapters.ch02.softmax_temperature import SoftmaxTemperature\n"
    "from tformer.chapters.ch03.attention_map import AttentionMap\n"
    "from tformer.widgets import Quiz",
    "vectors = DotProduct()\nvectors",
    "print('python', vectors.q, vectors.dot)",
    "vectors.k = [0.0, 2.0]",
    "weights = SoftmaxTemperature([2.0, 1.0, 0.0])\nweights",
    "weights.temperature = 0.5\nweights.mask = [True, True, False]",
    "print('python', weights.scores, max(weights.weights))",
    "quiz = Quiz([dict(question='Why?', options=['a', 'b', 'c'], answer=1, why=['A', 'B', 'C'])])",
    "quiz",
    "print('python', quiz.chosen, quiz.score)",
    "words = AttentionMap()\nwords",
    "print('python', words.sentence, words.selected, words.layer, words.biases)",
    "words.biases = [[1, 1, 3, -1.5]]",
    "words.sentence, words.selected, words.layer = 'The cat sat because it was tired', 4, 2",
]
RUN = """async (number) => {
    await jupyterapp.restored;
    const panel = jupyterapp.shell.currentWidget;
    await panel.sessionContext.ready;
    panel.content.activeCellIndex = number;
    await jupyterapp.commands.execute("notebook:run-cell");
}"""


@pytest.fixture(scope="module")
def lab(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The address of a JupyterLab of our own, on a free port, that shows one notebook."""
    home = tmp_path_factory.mktemp("lab")
    cells = [nbformat.v4.new_code_cell(code) for code in CELLS]
    kernel = {"kernelspec": {"name": "python3", "display_name": "Python 3", "language": "python"}}
    (home / "work").mkdir()
    nbformat.write(nbformat.v4.new_notebook(cells=cells, metadata=kernel), home / "work/w.ipynb")
    # Cells out of sight stay in the page, so that any of them can be found at any time.
    settings = home / "CONFIG/lab/user-settings/@jupyterlab/notebook-extension"
    settings.mkdir(parents=True)
    (settings / "tracker.jupyterlab-settings").write_text('{"windowingMode": "none"}')
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    address = f"http://127.0.0.1:{port}"
    folders = {f"JUPYTER_{name}_DIR": str(home / name) for name in ("CONFIG", "RUNTIME")}
    command = [sys.executable, "-m", "jupyterlab", "--no-browser", "--allow-root"]
    command += ["--LabApp.expose_app_in_browser=True"]
    command += [
        f"--ServerApp.port={port}",
        "--ServerApp.port_retries=0",
        "--ServerApp.ip=127.0.0.1",
    ]
    command += [
        "--IdentityProvider.token=",
        "--LabApp.check_for_updates_class=jupyterlab.NeverCheckForUpdate",
        f"--ServerApp.root_dir={home / 'work'}",
    ]
    log = (home / "log").open("w")
    server = subprocess.Popen(
        command, stdout=log, stderr=log, env={**os.environ, **folders, "HOME": str(home)}
    )
    try:
        wait_for(address, server, home / "log")
        yield f"{address}/lab/tree/w.ipynb"
    finally:
        server.terminate()
        server.wait(timeout=20)
        log.close()


def wait_for(address: str, server: subprocess.Popen, log: Path) -> None:
    for _ in range(150):
        try:
            urllib.request.urlopen(f"{address}/api", timeout=5).close()
            return
        except OSError:
            assert server.poll() is None, log.read_text()
            time.sleep(0.2)
    raise TimeoutError(f"JupyterLab did not answer: {log.read_text()}")


@pytest.fixture(scope="module")
def notebook(browser: Browser, lab: str) -> Iterator[Page]:
    """The notebook, opened, its first cell run."""
    page = browser.new_page(viewport={"width": 1300, "height": 1000})
    page.goto(lab)
    page.locator(".jp-Notebook .jp-CodeCell").nth(len(CELLS) - 1).wait_for(timeout=40000)
    run(page, 0)
    yield page
    page.close()


def run(page: Page, number: int) -> Locator:
    """Run one cell and give its output."""
    page.evaluate(RUN, number)
    return page.locator(".jp-Notebook .jp-CodeCell").nth(number).locator(".jp-OutputArea").first


def says(page: Page, number: int, text: str) -> None:
    """A cell comes to print this text: the front end sends a burst of changes with a delay."""
    for _ in range(20):
        printed = run(page, number).inner_text().strip()
        if printed == text:
            return
        page.wait_for_timeout(100)
    raise AssertionError(f"expected {text!r}; got {printed!r}")


def value(widget: Locator, name: str) -> float:
    return float(widget.locator(f"data.tf-{name}").first.get_attribute("value"))


def test_dragging_reaches_python_and_python_moves_the_arrow(notebook: Page) -> None:
    widget = run(notebook, 1).locator(".tf-dot-product")
    widget.get_by_role("slider", name="Tip of q").focus()
    for key in ["Shift+ArrowLeft", "ArrowDown", "ArrowDown"]:
        notebook.keyboard.press(key)
    python = DotProduct(q=[2.0, 3.8])
    expect(widget.locator("data.tf-dot")).to_have_text(f"{python.dot:.2f}")
    assert value(widget, "dot") == pytest.approx(python.dot, abs=1e-12)
    says(notebook, 2, f"python [2.0, 3.8] {python.dot}")
    run(notebook, 3)
    expect(widget.locator("data.tf-dot")).to_have_text("7.60")
    widget.locator(".tf-plane").scroll_into_view_if_needed()
    box = widget.locator(".tf-tip.tf-k .tf-halo").bounding_box()
    notebook.mouse.move(box["x"] + box["width"] / 2, box["y"] + box["height"] / 2)
    notebook.mouse.down()
    notebook.mouse.move(box["x"] + box["width"] / 2, box["y"] + 400, steps=5)
    notebook.mouse.up()
    expect(widget.locator("data.tf-dot")).to_have_text("−19.00")
    assert value(widget, "norm-k") == 5


def test_sliders_reach_python_and_python_moves_the_bars(notebook: Page) -> None:
    widget = run(notebook, 4).locator(".tf-softmax")
    widget.get_by_label("Score of c").focus()
    notebook.keyboard.press("End")
    expect(widget.locator("data.tf-score").nth(2)).to_have_text("5.0")
    python = SoftmaxTemperature([2.0, 1.0, 5.0])
    assert value(widget, "largest") == pytest.approx(max(python.weights), rel=1e-12)
    run(notebook, 5)
    python.temperature, python.mask = 0.5, [True, True, False]
    expect(widget.locator("data.tf-largest")).to_have_text(f"{max(python.weights):.3f}")
    assert value(widget, "largest") == pytest.approx(max(python.weights), rel=1e-12)
    assert value(widget, "entropy") == pytest.approx(python.entropy, rel=1e-12)
    says(notebook, 6, f"python [2.0, 1.0, 5.0] {max(python.weights)}")


def test_answers_reach_python(notebook: Page) -> None:
    run(notebook, 7)
    widget = run(notebook, 8).locator(".tf-quiz")
    widget.get_by_role("radio").nth(1).check()
    widget.get_by_role("button", name="check").click()
    expect(widget.get_by_role("status")).to_have_text("Right. B")
    says(notebook, 9, "python [1] 1")


def test_words_reach_python_and_python_changes_the_sentence(notebook: Page) -> None:
    widget = run(notebook, 10).locator(".tf-map")
    field = widget.get_by_label("Your own sentence")
    field.fill("The dog ate it")
    widget.get_by_role("button", name="dog").click()
    widget.get_by_label("layer 1").check()
    widget.get_by_text("Change a score").click()
    widget.get_by_label("add to the score that").select_option("it")
    widget.get_by_label("Added to the score of it").fill("2.5")
    says(notebook, 11, "python The dog ate it 1 1 [[1, 1, 3, 2.5]]")
    run(notebook, 12)
    expect(widget.get_by_label("Added to the score of it")).to_have_value("-1.5")
    widget.get_by_label("Added to the score of it").fill("0")
    says(notebook, 11, "python The dog ate it 1 1 []")
    run(notebook, 13)
    expect(field).to_have_value("The cat sat because it was tired")
    python = AttentionMap("The cat sat because it was tired", selected=4)
    expect(widget.locator(".tf-said")).to_contain_text(repr(python).split("in layer 2, ")[1])
