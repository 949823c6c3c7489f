"""Call somebody else's function safely: with a time limit, its output caught, its errors kept."""

from __future__ import annotations

import contextlib
import contextvars
import ctypes
import io
import sys
import threading
import time
import warnings
from collections.abc import Callable
from dataclasses import dataclass, field
from types import FrameType
from typing import Any


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
    steps : int
        Python instructions executed; counted only on request.
    """

    value: Any = None
    error: BaseException | None = None
    timed_out: bool = False
    printed: str = ""
    steps: int = field(default=0)


def run(call: Callable[[], Any], seconds: float, count_steps: bool = False) -> Outcome:
    """Run `call` in a thread of its own for at most `seconds`.

    A thread rather than a signal, because signals exist neither on Windows nor outside the main
    thread of a notebook kernel. A call that is stuck in Python is interrupted; one that is stuck
    in compiled code or asleep is left behind, and the caller goes on.
    """
    outcome = Outcome()

    def target() -> None:
        try:
            if count_steps:
                sys.settrace(_counter(outcome))
            outcome.value = call()
        except _Stop:
            pass
        except BaseException as error:  # an exit() or a KeyboardInterrupt is a wrong answer too
            outcome.error = error
        finally:
            sys.settrace(None)

    context = contextvars.copy_context()
    thread = threading.Thread(target=context.run, args=(target,), daemon=True)
    caught = io.StringIO()
    with warnings.catch_warnings(), contextlib.redirect_stdout(caught):
        warnings.simplefilter("ignore")
        with contextlib.redirect_stderr(caught):
            thread.start()
            thread.join(seconds)
            outcome.timed_out = thread.is_alive()
            if outcome.timed_out:
                _interrupt(thread)
    outcome.printed = caught.getvalue()
    return outcome


def _interrupt(thread: threading.Thread, patience: float = 1.0) -> None:
    """Raise _Stop in `thread` until it ends, or until `patience` seconds have gone."""
    give_up = time.monotonic() + patience
    while thread.is_alive() and time.monotonic() < give_up:
        ident = ctypes.c_ulong(thread.ident or 0)
        ctypes.pythonapi.PyThreadState_SetAsyncExc(ident, ctypes.py_object(_Stop))
        thread.join(0.05)


def _counter(outcome: Outcome) -> Callable[[FrameType, str, Any], Any]:
    """Return a trace function that counts Python instructions in `outcome.steps`."""

    def trace(frame: FrameType, event: str, arg: Any) -> Any:
        frame.f_trace_opcodes = True
        outcome.steps += event == "opcode"
        return trace

    return trace
