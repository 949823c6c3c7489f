"""A student's function in the sandbox, to be called from here as if it were our own.

A reply is a value to be compared, so there is nothing in it to forge.
"""

from __future__ import annotations

import contextlib
import inspect
import json
import os
import select
import signal
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any, NoReturn

import numpy as np

from tformer_book.exercises.answer import CHECK_SECONDS, Wrong, arrays
from tformer_book.exercises.clock import Clock
from tformer_book.exercises.guard import Outcome
from tformer_book.exercises.process import SIGNALS
from tformer_course import confinement, sandbox
from tformer_course.values import (
    KINDS,
    containers,
    decode,
    decode_error,
    encode,
    encode_error,
    refill,
)

CELL_SECONDS = 20.0
START_SECONDS = 60.0
MEMORY = 2 << 30
LONGEST = 16 << 20  # bytes of a reply
HANDED = 4096  # numbers that an answer may hand at once to a function that it was given
THREADS, LOOK = 64, 0.1  # threads at once, and seconds between two looks at how many there are


class Gone(Exception):  # noqa: N818  (an end, not an error)
    """The process in the sandbox has ended; the message says how, "" if it was too slow."""


class NoSandbox(Exception):  # noqa: N818  (nobody can be judged)
    """There is no process for students' code; no mark can be given."""


@contextlib.contextmanager
def _what_anybody_may_send() -> Iterator[None]:
    """Take data that cannot be read for the end of the process that sent it."""
    try:
        yield
    except (Gone, NoSandbox):
        raise
    except Exception:
        raise Gone("its reply cannot be read") from None


class Sandbox:
    """Where students' code runs. It starts with the first exercise and ends with `close`.

    Parameters
    ----------
    memory : int
        Bytes that an answer may use.
    cell_seconds : float
        Seconds of processor time for the cells that an answer needs, together.
    readable : iterable of Path
        What students' code may read beside Python, its packages and our library.
    """

    def __init__(
        self,
        memory: int = MEMORY,
        cell_seconds: float = CELL_SECONDS,
        readable: Iterable[Path] = (),
    ) -> None:
        self.memory = memory
        self.cell_seconds = cell_seconds
        self.readable = list(readable)
        self.used = 0.0  # seconds of processor time of the children that have ended
        self._program: subprocess.Popen[bytes] | None = None

    def __enter__(self) -> Sandbox:
        return self

    def __exit__(self, *reason: object) -> None:
        self.close()

    def close(self) -> None:
        """End the sandbox and whatever runs in it."""
        if self._program:
            self.control.close()
            self._program.wait()
            self._program = None

    @contextlib.contextmanager
    def child(self, cells: list[tuple[str, str]], name: str) -> Iterator[Child]:
        """Let a child run cells and stand ready to call the function of that name."""
        if not self._program or self._program.poll() is not None:
            self._start()
        asked, ask = os.pipe()
        hear, told = os.pipe()
        socket.send_fds(self.control, [sandbox.BEGIN], [asked, told])
        os.close(asked)
        os.close(told)
        child = Child(ask, hear, int(self._said()), self._ending)
        try:
            with _what_anybody_may_send():
                child.allow(self.cell_seconds)
                child.meet(child.exchange({"cells": cells, "function": name}))
            yield child
        finally:
            self.used += child.used()
            child.end()

    def _start(self) -> None:
        if lacking := confinement.missing():
            raise NoSandbox(lacking)
        self.close()
        self.control, other = socket.socketpair()
        settings = {
            "path": [os.path.abspath(place) for place in sys.path if place],
            "readable": [str(place) for place in self.readable],
            "memory": self.memory,
            "seconds": int(self.cell_seconds + 10 * CHECK_SECONDS),
        }
        program = [sys.executable, "-I", "-B", sandbox.__file__, str(other.fileno())]
        quiet = dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"), "1")
        with other, tempfile.TemporaryFile() as errors:
            self._program = subprocess.Popen(
                [*program, json.dumps(settings)],
                pass_fds=[other.fileno()],
                env=quiet | {"LANG": "C.UTF-8", "MPLCONFIGDIR": "/dev/shm"},
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                stderr=errors,
            )
            self.control.settimeout(START_SECONDS)
            if self.control.recv(1) != sandbox.BEGIN:
                errors.seek(0)
                said = errors.read()[-2000:].decode(errors="replace")
                raise NoSandbox(f"The process for students' code did not start. {said}")

    def _ending(self) -> str:
        """End the child if it still runs, and say how it ended."""
        self.control.sendall(sandbox.KILL)
        code = int(self._said())
        name = signal.Signals(-code).name if code < 0 else f"exit code {code}"
        return SIGNALS.get(name, name)

    def _said(self) -> bytes:
        """Return the next line that the sandbox says."""
        said = b""
        while not said.endswith(b"\n"):
            part = self.control.recv(1)
            if not part:
                raise NoSandbox("the process for students' code is gone")
            said += part
        return said


class Child:
    """A student's function in another process, to be called from here as if it were our own."""

    __name__: str
    __signature__: inspect.Signature

    def __init__(self, ask: int, hear: int, process: int, ending: Callable[[], str]) -> None:
        self._ask, self._hear, self._ending = ask, hear, ending
        self._tasks = f"/proc/{process}/task"
        self._clock, self._used = (~process << 3) | 2, 0.0  # that of another process
        os.set_blocking(ask, False)
        self._rest = b""
        self._ended: str | None = None
        self._lent: list[Any] = []
        self._given: list[np.ndarray] = []
        self._complaints: set[str] = set()
        self.measured: set[str] = set()
        self.missing = self.unnamed = False
        self.failed: Exception | None = None
        self.kind = ""

    def used(self) -> float:
        """Return the seconds of processor time that it has used until now, or until its end."""
        with contextlib.suppress(OSError):  # it has ended
            self._used = time.clock_gettime(self._clock)
        return self._used

    def allow(self, seconds: float) -> None:
        """Give it seconds of processor time; other work of a machine may slow it down."""
        self._time = Clock(seconds, self.used)

    def meet(self, told: dict[str, Any]) -> None:
        """Take in what the child says of the function."""
        self.missing, self.kind = bool(told.get("missing")), str(told.get("kind", ""))[:80]
        if told.get("failed"):
            self.failed = decode_error(told["failed"])
        if told.get("name"):
            self.__name__ = str(told["name"])[:80]
        if told.get("signature") is not None:
            self.__signature__ = _signature(told["signature"], told["returns"])

    def call(self, thunk: Callable[[], Outcome], seconds: float, measure: str = "") -> Outcome:
        """Make one guarded call, as `guard.in_place` does; `thunk` calls this object."""
        self.allow(seconds)
        self._measure, begin = measure, self.used()
        outcome = thunk()
        vars(outcome)["seconds"] = max(self.used() - begin, 1e-9)  # of computing, all its own
        return outcome

    def __call__(self, *arguments: Any) -> Outcome:
        self._lent, self._given, self._complaints = [], [], set()
        self.measured |= {self._measure} - {""}
        request = {"arguments": [self._sent(value) for value in arguments]}
        request["raised"] = [kind for kind, way in np.geterr().items() if way == "raise"]
        try:
            with _what_anybody_may_send():
                told = self.exchange(request | {"measure": self._measure})
                while "ask" in told:
                    told = self.exchange(self._answer(told))
                return self._outcome(told, arguments)
        except Gone as gone:
            return Outcome(timed_out=not str(gone), died=str(gone))

    def _sent(self, value: Any) -> Any:
        """Encode a value, and remember the arrays in it, in the order in which they arrive."""
        self._given += arrays(value)
        return encode(value, self._lend)

    def _lend(self, value: Any) -> int:
        self._lent.append(value)
        return len(self._lent) - 1

    def _answer(self, told: dict[str, Any]) -> dict[str, Any]:
        """Call a function of ours, or take the next item, for the child."""
        thing, handed = self._lent[told["of"]], [decode(part) for part in told["with"]]
        if sum(array.size for array in arrays(handed)) > HANDED:
            why = f"what was handed over takes {HANDED} numbers at a time where it is marked"
            return {"error": encode_error(ValueError(why)), "value": None}
        asked = {"next": next, "iter": iter, "call": thing}[told["ask"]]
        try:
            value = asked(*handed) if asked is thing else asked(thing)
        except Exception as error:
            self._complaints |= {str(error)} if isinstance(error, Wrong) else set()
            return {"error": encode_error(error), "value": None}
        return {"error": None, "value": self._sent(None if value is thing else value)}

    def _outcome(self, told: dict[str, Any], arguments: tuple[Any, ...]) -> Outcome:
        held = list(containers(arguments))
        for place, coded in told["refilled"].items():
            refill(held[int(place)], decode(coded))
        error = decode_error(told["error"], self._complaints) if told["error"] else None
        self.unnamed |= type(error).__name__ == "NameError"
        for name in told["used"]:
            KINDS[name].used = True  # type: ignore[attr-defined]
        value = None if error else decode(told["value"])
        printed = "something" * bool(told["printed"])
        return Outcome(value, error, printed=printed, measured=int(told["measured"]))

    def exchange(self, message: dict[str, Any]) -> dict[str, Any]:
        """Send a message, and return the next one that arrives before the time is up.

        Raises
        ------
        Gone
            None arrived.
        """
        if self._ended is not None:
            raise Gone(self._ended)
        data = json.dumps(message).encode() + b"\n"
        with contextlib.suppress(BrokenPipeError):  # then it has ended, which reading tells
            while data:
                self._wait(writing=True)
                data = data[os.write(self._ask, data) :]
        told = json.loads(self._line())
        for place, coded in told["changed"].items():
            array = self._given[int(place)]
            array[...] = np.reshape(decode(coded), array.shape)
        return dict(told)

    def _line(self) -> bytes:
        parts = [self._rest]
        while b"\n" not in parts[-1]:
            self._wait()
            parts.append(os.read(self._hear, 1 << 20))
            if not parts[-1]:
                raise Gone(self.end())
            if sum(map(len, parts)) > LONGEST:
                self._stop(f"it sent more than {LONGEST >> 20} MB")
        line, _, self._rest = b"".join(parts).partition(b"\n")
        return line

    def _wait(self, writing: bool = False) -> None:
        ways = ([], [self._ask]) if writing else ([self._hear], [])
        while self._time.left():
            ready = any(select.select(*ways, [], LOOK))
            with contextlib.suppress(FileNotFoundError):  # it has just ended, which reading tells
                if os.stat(self._tasks).st_nlink - 2 > THREADS:
                    self._stop(f"it started more than {THREADS} threads")
            if ready:
                return
        self._stop("")

    def _stop(self, why: str) -> NoReturn:
        self.end()
        self._ended = why
        raise Gone(why)

    def end(self) -> str:
        """End the child if it still runs; say how it ended."""
        if self._ended is None:
            self._ended = self._ending()
            os.close(self._ask)
            os.close(self._hear)
        return self._ended


class _As:
    """Something that is written as this text."""

    def __init__(self, text: str) -> None:
        self.text = str(text)[:80]

    def __repr__(self) -> str:
        return self.text


def _signature(parts: list[Any], returns: str | None) -> inspect.Signature:
    empty = inspect.Parameter.empty
    made = [
        inspect.Parameter(
            str(name)[:80],
            inspect._ParameterKind(kind),
            default=empty if default is None else _As(default),
            annotation=empty if annotation is None else _As(annotation),
        )
        for name, kind, default, annotation in parts[:80]
    ]
    result = empty if returns is None else _As(returns)
    return inspect.Signature(made, return_annotation=result)
