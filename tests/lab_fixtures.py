"""JupyterLab with a notebook of a test's own: a plugin, as `browser_fixtures` is.

The server is started once, and the browser stays at it; each test opens one more notebook there.
"""

from __future__ import annotations

import os
import socket
import subprocess
import sys
import time
import urllib.request
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import nbformat
import pytest

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Locator, Page

RUN = """async (number) => {
    const panel = jupyterapp.shell.currentWidget;
    panel.content.activeCellIndex = number;
    await jupyterapp.commands.execute("notebook:run-cell");
}"""
OPEN = """async (path) => {
    await jupyterapp.restored;
    const panel = await jupyterapp.commands.execute("docmanager:open", { path });
    await panel.sessionContext.ready;
}"""
CLOSE = """async () => {
    const panel = jupyterapp.shell.currentWidget;
    await panel.sessionContext.shutdown();
    panel.dispose();
}"""


@dataclass
class Notebook:
    """A notebook that is open in JupyterLab."""

    page: Page

    def run(self, number: int) -> Locator:
        """Run one cell and give its output."""
        self.page.evaluate(RUN, number)
        return self.output(number)

    def output(self, number: int) -> Locator:
        """The output of one cell."""
        shown = self.page.locator(".jp-NotebookPanel:not(.lm-mod-hidden) .jp-Cell")
        return shown.nth(number).locator(".jp-OutputArea").first

    def says(self, number: int, text: str) -> None:
        """A cell comes to print this text: the front end sends a burst of changes with a delay."""
        for _ in range(20):
            printed = self.run(number).inner_text().strip()
            if printed == text:
                return
            self.page.wait_for_timeout(100)
        raise AssertionError(f"expected {text!r}; got {printed!r}")


@pytest.fixture
def notebook(lab: tuple[Page, Path], request: pytest.FixtureRequest) -> Iterator[Callable]:
    """Open a notebook, or one of these code cells, in JupyterLab; close it after the test."""
    page, folder = lab

    def open_notebook(*cells: str, whole: nbformat.NotebookNode | None = None) -> Notebook:
        kernel = {"name": "python3", "display_name": "Python 3", "language": "python"}
        nb = whole or nbformat.v4.new_notebook(metadata={"kernelspec": kernel})
        nb.cells += [nbformat.v4.new_code_cell(code) for code in cells]
        path = folder / f"{request.node.path.parent.name}_{request.node.name}.ipynb"
        nbformat.write(nb, path)
        page.evaluate(OPEN, path.name)
        return Notebook(page)

    yield open_notebook
    page.evaluate(CLOSE)


@pytest.fixture(scope="session")
def lab(browser: Browser, tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Page, Path]]:
    """A JupyterLab of our own in the browser, and the folder that it serves."""
    home = tmp_path_factory.mktemp("lab")
    (home / "work").mkdir()
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
    command += ["--LabApp.expose_app_in_browser=True", "--ServerApp.ip=127.0.0.1"]
    command += [f"--ServerApp.port={port}", "--ServerApp.port_retries=0"]
    command += ["--LabApp.check_for_updates_class=jupyterlab.NeverCheckForUpdate"]
    command += ["--IdentityProvider.token=", f"--ServerApp.root_dir={home / 'work'}"]
    environment = {**os.environ, **folders, "HOME": str(home)}
    with (home / "log").open("w") as log:
        server = subprocess.Popen(command, stdout=log, stderr=log, env=environment)
        try:
            wait_for(address, server, home / "log")
            page = browser.new_page(viewport={"width": 1300, "height": 1000})
            page.goto(f"{address}/lab")
            page.wait_for_function("window.jupyterapp", timeout=40_000)
            yield page, home / "work"
            page.close()
        finally:
            server.terminate()
            server.wait(timeout=20)


def wait_for(address: str, server: subprocess.Popen, log: Path) -> None:
    """Return once the server answers."""
    for _ in range(600):
        try:
            urllib.request.urlopen(f"{address}/api", timeout=5).close()
            return
        except OSError:
            assert server.poll() is None, log.read_text()
            time.sleep(0.2)
    raise TimeoutError(f"JupyterLab did not answer: {log.read_text()}")
