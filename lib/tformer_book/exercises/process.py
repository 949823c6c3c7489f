"""Run a check in a process of its own, which can be ended whatever the answer does.

A thread cannot be ended while it is inside compiled code, as in ``sum(range(10**12))``. A child
process can. It is forked, so that it has the reader's function without sending it anywhere, and it
reports to its parent through a pipe, one line of JSON at a time: before each call what it is about
to try, and how many seconds it may compute. Where there is no safe fork, the check runs where it
is, and each call in a thread. Windows has no fork, and on macOS the system's own mathematics may
stop in a forked child.
"""

from __future__ import annotations

import builtins
import contextlib
import faulthandler
import gc
import json
import math
import os
import selectors
import signal
import sys
import time
import warnings
from collections.abc import Callable
from functools import partial
from typing import Any, NoReturn

from tformer_book.exercises.clock import WALL, Clock, computed_by

Report = Callable[..., None]
Work = Callable[[Report], None]
CAN_FORK = hasattr(os, "fork") and sys.platform not in ("darwin", "emscripten")
BETWEEN_CALLS = 60.0  # seconds that our own code may take between two calls of an answer
SIGNALS = {
    "SIGKILL": "the system ended it, as it does when memory runs out",
    "SIGSEGV": "a segmentation fault, as after a recursion without end",
}


def run(work: Work) -> dict[str, Any]:
    """Let `work` report from a child process, and return all that it reported, later over earlier.

    The keys are those that `work` used, and of ours ``call`` (what was being tried when the child
    ended; None between calls), ``overdue`` (its time was up) and ``died`` (how it ended by itself,
    in words).
    """
    reader, writer = os.pipe()
    child = _fork()
    if child == 0:
        _work_and_exit(work, writer)
    os.close(writer)
    try:
        told = _listen(reader, child)
        if told.get("finished") or told.get("overdue"):
            return told
        return told | {"died": _ending(child)}
    finally:
        os.close(reader)
        _end(child)


def _fork() -> int:
    with warnings.catch_warnings():  # the child runs one thread and leaves the others' locks alone
        warnings.filterwarnings("ignore", r".*use of fork\(\)", DeprecationWarning)
        return os.fork()


def _work_and_exit(work: Work, writer: int) -> NoReturn:
    """Be the child: do the work, report, and leave without any of the parent's farewells."""
    try:
        detach()

        def report(**told: Any) -> None:
            limit = told["call"]["limit"] if told.get("call") else 0
            signal.alarm(math.ceil(BETWEEN_CALLS + WALL * limit))  # should the parent be gone
            os.write(writer, json.dumps(told).encode() + b"\n")

        with contextlib.suppress(BrokenPipeError):
            work(report)
            report(finished=True)
    finally:
        os._exit(0)


def detach() -> None:
    """Leave the parent's objects, streams and signals alone."""
    gc.freeze()
    faulthandler.disable()
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the parent ends us
    nothing = os.open(os.devnull, os.O_RDWR)
    for stream in range(3):
        os.dup2(nothing, stream)
    builtins.input = _nobody_answers
    if "torch" in sys.modules:  # its pool of threads does not survive a fork
        sys.modules["torch"].set_num_threads(1)
    warnings.simplefilter("ignore")


def _nobody_answers(*prompt: Any) -> str:
    raise RuntimeError("nobody can be asked here; the arguments hold all that is given")


def _listen(reader: int, child: int) -> dict[str, Any]:
    """Gather what the child reports until it ends, or until its time is up."""
    told: dict[str, Any] = {"call": None}
    computed = partial(computed_by, child)
    clock, rest = Clock(BETWEEN_CALLS, time.monotonic), b""
    with selectors.DefaultSelector() as selector:
        selector.register(reader, selectors.EVENT_READ)
        while left := clock.left():
            if not selector.select(left):
                continue
            chunk = os.read(reader, 65536)
            if not chunk:
                return told
            *lines, rest = (rest + chunk).split(b"\n")
            for line in lines:
                told |= json.loads(line)
            limit = told["call"]["limit"] if told["call"] else BETWEEN_CALLS
            counted = told["call"] and told["call"].get("name")  # by seconds of computing
            clock = Clock(limit, computed if counted else time.monotonic)
    return told | {"overdue": True}


def _ending(child: int) -> str:
    """Say in words how a child ended that reports no more."""
    for _ in range(100):
        ended, status = os.waitpid(child, os.WNOHANG)
        if ended:
            code = os.waitstatus_to_exitcode(status)
            name = signal.Signals(-code).name if code < 0 else f"exit code {code}"
            return SIGNALS.get(name, name)
        time.sleep(0.01)
    return "it went on as another program"


def _end(child: int) -> None:
    with contextlib.suppress(ProcessLookupError, ChildProcessError):
        os.kill(child, signal.SIGKILL)
        os.waitpid(child, 0)
