"""Call somebody else's function safely: its output caught, its errors kept, its time limited."""

from __future__ import annotations

import contextlib
import contextvars
import ctypes
import functools
import gc
import io
import sys
import threading
import time
import tracemalloc
import warnings
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from types import FrameType
from typing import Any

from tformer_book.exercises.clock import Clock


class _Stop(BaseException):
    """Raised inside a call that has run too long; `except Exception` does not catch it."""


@dataclass
class Outcome:
    """What became of a guarded call.

    Attributes
    ----------
    value : object
        What the call returned (None if it did not return).
    error : BaseException or None
        What it raised.
    timed_out : bool
        It was still running when its time was up.
    printed : str
        What it wrote to standard output and standard error.
    died : str
        How it ended the process that it ran in; "" if it did not.
    seconds : float
        What it used of its time: seconds of computing, or a share of those of waiting.
    measured : int
        On request, the Python instructions that were executed, or the most bytes held at once.
    """

    value: Any = None
    error: BaseException | None = None
    timed_out: bool = False
    printed: str = ""
    died: str = ""
    seconds: float = 0.0
    measured: int = 0


def in_thread(call: Callable[[], Any], seconds: float, measure: str = "") -> Outcome:
    """Run `call` in a thread of its own for at most `seconds`; measure its "steps" or "bytes".

    The seconds are those of a `Clock`, of the whole process: the caller waits meanwhile.
    A call that is stuck in Python is interrupted; one that is stuck in compiled code or asleep is
    left behind, and the caller goes on. A browser has no threads: there the call runs to its end.
    """
    if sys.platform == "emscripten":
        return in_place(call, seconds, measure)
    outcome = Outcome()
    context = contextvars.copy_context()
    target = functools.partial(_fill, outcome, call, measure)
    thread = threading.Thread(target=context.run, args=(target,), daemon=True)
    with _caught_output(outcome):
        clock = Clock(seconds)
        thread.start()
        while thread.is_alive() and (left := clock.left()):
            thread.join(left)
        outcome.timed_out, outcome.seconds = thread.is_alive(), clock.used()
        if outcome.timed_out:
            _interrupt(thread)
    return outcome


def in_place(call: Callable[[], Any], seconds: float, measure: str = "") -> Outcome:
    """Run `call` here and now. Whoever watches this process ends it after `seconds`."""
    outcome, clock = Outcome(), Clock(seconds)
    with _caught_output(outcome):
        _fill(outcome, call, measure)
    outcome.seconds = clock.used()
    return outcome


def _fill(outcome: Outcome, call: Callable[[], Any], measure: str) -> None:
    collecting = gc.isenabled()
    try:
        if measure == "steps":
            gc.disable()  # what others left behind is no step of this call
            sys.settrace(_counter(outcome))
        with _peak(outcome) if measure == "bytes" else contextlib.nullcontext():
            outcome.value = call()
    except _Stop:
        pass
    except BaseException as error:  # an exit() or a KeyboardInterrupt is a wrong answer too
        outcome.error = error
    finally:
        sys.settrace(None)
        if collecting:
            gc.enable()


@contextlib.contextmanager
def _peak(outcome: Outcome) -> Iterator[None]:
    """Measure the most memory that is held at once, beyond what is held already."""
    already = tracemalloc.is_tracing()
    if not already:
        tracemalloc.start()
    try:
        tracemalloc.reset_peak()
        before = tracemalloc.get_traced_memory()[0]
        yield
        outcome.measured = tracemalloc.get_traced_memory()[1] - before
    finally:
        if not already:
            tracemalloc.stop()


@contextlib.contextmanager
def _caught_output(outcome: Outcome) -> Iterator[None]:
    caught = io.StringIO()
    with warnings.catch_warnings(), contextlib.redirect_stdout(caught):
        warnings.simplefilter("ignore")
        with contextlib.redirect_stderr(caught):
            yield
    outcome.printed = caught.getvalue()


def _interrupt(thread: threading.Thread, patience: float = 1.0) -> None:
    """Raise _Stop in `thread` until it ends, or until `patience` seconds have gone."""
    give_up = time.monotonic() + patience
    while thread.is_alive() and time.monotonic() < give_up:
        ident = ctypes.c_ulong(thread.ident or 0)
        ctypes.pythonapi.PyThreadState_SetAsyncExc(ident, ctypes.py_object(_Stop))
        thread.join(0.05)


def _counter(outcome: Outcome) -> Callable[[FrameType, str, Any], Any]:
    """Return a trace function that counts Python instructions in `outcome.measured`."""

    def trace(frame: FrameType, event: str, arg: Any) -> Any:
        frame.f_trace_opcodes = True
        outcome.measured += event == "opcode"
        return trace

    return trace
