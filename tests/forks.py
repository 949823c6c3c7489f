"""A process that loads a tool once; each of its commands then runs in a fork of it."""

import json
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

SERVER = """
import importlib, json, os, sys

tool, *needed = map(importlib.import_module, sys.argv[2:])
for line in sys.stdin:
    arguments, folder, said = json.loads(line)
    child = os.fork()
    if child == 0:
        status = 1
        try:
            os.chdir(folder)
            for stream in 1, 2:
                os.dup2(os.open(said, os.O_WRONLY | os.O_CREAT | os.O_APPEND), stream)
            status = eval("tool." + sys.argv[1])(arguments) or 0
        except SystemExit as end:
            status = end.code or 0
        finally:
            sys.stdout.flush()
            sys.stderr.flush()
            os._exit(status)
    print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]), flush=True)
"""
Tool = Callable[[Path, list[str], Path], int]


@contextmanager
def forked(function: str, *modules: str) -> Iterator[Tool]:
    """A tool: the function of the first module that takes arguments, and what else it loads.

    It is called with a folder to run in, arguments, and a file for all that it says; it returns the
    exit status.
    """
    command, pipe = [sys.executable, "-c", SERVER, function, *modules], subprocess.PIPE
    with subprocess.Popen(command, stdin=pipe, stdout=pipe, text=True) as server:
        assert server.stdin is not None
        assert server.stdout is not None

        def run(folder: Path, arguments: list[str], said: Path) -> int:
            print(json.dumps([arguments, str(folder), str(said)]), file=server.stdin, flush=True)
            return int(server.stdout.readline())

        yield run
        server.stdin.close()
