"""Small books built by Sphinx: a process loads it once, and each build runs in a fork of it.

A plugin that `conftest.py` loads.
"""

import json
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

Sphinx = Callable[..., tuple[int, str]]
SERVER = """
import json, os, sys
import myst_nb, sphinx.builders.html, sphinx.cmd.build, sphinx_book_theme, sphinx_proof
from tformer_book.pipeline.lab import launch
from tformer_book.pipeline.site import claims_ext, formulas, page, search

for line in sys.stdin:
    arguments, complaints = json.loads(line)
    child = os.fork()
    if child == 0:
        status = 1
        try:
            os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
            os.dup2(os.open(complaints, os.O_WRONLY | os.O_CREAT), 2)
            status = sphinx.cmd.build.main(arguments)
        finally:
            sys.stderr.flush()
            os._exit(status)
    print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]), flush=True)
"""


@pytest.fixture(scope="session")
def sphinx() -> Iterator[Sphinx]:
    """Build the book in a folder into its folder `out`: the exit status, and the complaints."""
    command, pipe = [sys.executable, "-c", SERVER], subprocess.PIPE
    with subprocess.Popen(command, stdin=pipe, stdout=pipe, text=True) as server:
        assert server.stdin is not None
        assert server.stdout is not None

        def build(folder: Path, *options: str) -> tuple[int, str]:
            complaints = folder / "complaints.txt"
            arguments = ["-q", *options, str(folder), str(folder / "out")]
            print(json.dumps([arguments, str(complaints)]), file=server.stdin, flush=True)
            return int(server.stdout.readline()), complaints.read_text(encoding="utf-8")

        yield build
        server.stdin.close()
