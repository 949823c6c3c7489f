"""The process in which students' code runs: it calls their function, and returns data.

The sandbox is started by the judge as a program of its own, so that nothing of the judge is in its
memory: no right answer, no gradebook, no other student. It loads what answers need, confines
itself, and then only forks: one child for each exercise, which runs the cells and makes the calls.
A child can make no other process and outlives nothing. What it sends is read as data, and decides
nothing: whether a value is right is found out by the judge.
"""

from __future__ import annotations

import builtins
import contextlib
import gc
import hashlib
import inspect
import io
import json
import linecache
import os
import re
import select
import signal
import socket
import sys
import sysconfig
import weakref
from collections.abc import Callable
from pathlib import Path
from types import ModuleType
from typing import Any

KILL, BEGIN = b"K", b"B"
LATEST = 4  # arrays that are looked at whenever something is asked; in the end all are
SLOW = re.compile(r"^[ \t]*(import|from)[ \t]+torch\b", re.MULTILINE)
HOME = Path(__file__).resolve().parents[1]
WINGS = [HOME / name for name in ("tformer", "tformer_book", "tformer_course")]
CHAPTERS = HOME / "tformer_book" / "chapters"
HIDDEN = ("checks", "exam", "__pycache__")  # there: the right answers, and what to ask
SYSTEM = ("/lib", "/lib64", "/usr/lib", "/usr/lib64", "/usr/share/fonts", "/usr/share/zoneinfo")
FILES = ("/etc/ld.so.cache", "/etc/localtime", "/dev/urandom", "/dev/random", "/dev/zero")


def main() -> None:
    """Serve the judge at the other end of the socket whose number is the first argument."""
    settings = json.loads(sys.argv[2])
    sys.path[:] = settings["path"]
    import scipy.special  # noqa: F401  (loaded once, for all children)

    import tformer_book.exercises
    from tformer_course import confinement

    for name in tformer_book.exercises.__all__:
        if not isinstance(getattr(tformer_book.exercises, name), type):
            setattr(tformer_book.exercises, name, _nothing)  # the judge asks, not the notebook
    memory = confinement.held() + settings["memory"]
    confinement.no_powers()
    listed = [CHAPTERS, *filter(Path.is_dir, CHAPTERS.iterdir())]
    confinement.read_only(readable([Path(place) for place in settings["readable"]]), listed)
    control = socket.socket(fileno=int(sys.argv[1]))
    control.sendall(BEGIN)
    os.chdir("/")
    gc.freeze()
    _serve(control, memory, settings["seconds"])


def readable(more: list[Path]) -> list[Path]:
    """Return what students' code may read: Python, its packages, our library without the answers.

    The folders of our packages are opened entry by entry, and so are the one around them and those
    of the chapters, from which an answer may import what their pages do.
    """
    paths = sysconfig.get_paths()
    places = {
        Path(paths[name]).resolve() for name in ("stdlib", "platstdlib", "purelib", "platlib")
    }
    places |= {Path(sys.base_prefix, "lib").resolve(), *map(Path, SYSTEM + FILES), *more}
    places -= {HOME}
    around = HOME.iterdir() if HOME.name == "site-packages" else ()
    places |= {place for place in around if place not in WINGS}
    places |= {place for wing in WINGS for place in wing.iterdir() if place != CHAPTERS}
    for folder in CHAPTERS, *filter(Path.is_dir, CHAPTERS.iterdir()):
        files = (place for place in folder.iterdir() if place.is_file())
        places |= {place for place in files if not place.name.startswith(HIDDEN)}
    return sorted(place for place in places if place.exists())


def _serve(control: socket.socket, memory: int, seconds: int) -> None:
    """Fork a child for each pair of pipes that arrives; tell the judge how it ended."""
    from tformer_book.exercises import process
    from tformer_course import confinement

    while True:
        word, pipes, _, _ = socket.recv_fds(control, 1, 2)
        if not word:
            return
        if word == KILL:  # it had ended by itself
            continue
        child = os.fork()
        if child == 0:
            try:
                control.close()
                process.detach()
                confinement.limit(memory, seconds)
                confinement.alone()
                Child(*pipes).work()
            finally:
                os._exit(1)
        for pipe in pipes:
            os.close(pipe)
        control.sendall(b"%d\n" % child)
        control.sendall(b"%d\n" % _ending(child, control))


def _ending(child: int, control: socket.socket) -> int:
    """Wait for a child to end, or for the judge's word to end it; return its exit code."""
    handle = os.pidfd_open(child)
    try:
        awaited: list[Any] = [handle, control]
        if handle not in select.select(awaited, [], [])[0]:
            control.recv(1)
            os.kill(child, signal.SIGKILL)
        return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    finally:
        os.close(handle)


def _to_nowhere(opens: Callable[..., Any]) -> Callable[..., Any]:
    """Return `open`, by which a file beside the notebook is written to memory, and forgotten."""

    def opened(file: Any, mode: str = "r", *rest: Any, **options: Any) -> Any:
        new = isinstance(mode, str) and set(mode) & set("wax")
        if new and isinstance(file, str | os.PathLike) and not os.path.isabs(file):
            return io.BytesIO() if "b" in mode else io.StringIO()
        return opens(file, mode, *rest, **options)

    return opened


def _nothing(*arguments: Any, **options: Any) -> None:
    """Stand for what shows something in a notebook."""


class Child:
    """A child: runs the cells of one exercise once, then calls the function as often as asked."""

    def __init__(self, asked: int, told: int) -> None:
        self.asked = os.fdopen(asked, "rb")
        self.told = os.fdopen(told, "wb")
        self.function: Any = None
        self.handed: list[Any] = []
        self.given: list[tuple[weakref.ref[Any], bytes]] = []

    def work(self) -> None:
        """Do what the judge asks, until it ends this process."""
        first = self._next()
        self._tell(self._define(first["cells"], first["function"]))
        while True:
            self._tell(self._call(**self._next()))

    def _next(self) -> Any:
        return json.loads(self.asked.readline())

    def _tell(self, message: dict[str, Any]) -> None:
        first = len(self.given) - LATEST if "ask" in message else 0
        self.told.write(json.dumps(message | {"changed": self._changed(first)}).encode() + b"\n")
        self.told.flush()

    def _define(self, cells: list[tuple[str, str]], name: str) -> dict[str, Any]:
        """Run the cells in order, whatever one of them does, and say what the name stands for."""
        module = ModuleType("__main__")
        sys.modules["__main__"] = module
        builtins.open = io.open = _to_nowhere(open)
        vars(module).update(display=_nothing, __builtins__=builtins)
        failed = None
        if any(SLOW.search(source) for _, source in cells):
            with contextlib.suppress(Exception):
                import torch  # noqa: F401  (its seconds are no call's)
        for place, source in cells:
            linecache.cache[place] = (len(source), None, source.splitlines(True), place)
            try:
                exec(compile(source, place, "exec", dont_inherit=True), vars(module))
            except BaseException as error:
                failed = _error(error, place)
        if name not in vars(module):
            return {"missing": True, "failed": failed}
        self.function = vars(module)[name]
        return described(self.function)

    def _call(self, arguments: list[Any], raised: list[str], measure: str) -> dict[str, Any]:
        """Call the function, and return what became of it.

        `raised` are the kinds of floating-point error of NumPy that stop it.
        """
        import numpy as np

        from tformer_book.exercises import guard
        from tformer_book.exercises.answer import outline
        from tformer_book.exercises.habits import TRIED
        from tformer_course.values import containers, encode

        self.given.clear()
        self.handed = [self._received(argument) for argument in arguments]
        held = list(containers(tuple(self.handed)))
        before = list(map(outline, held))
        for habit in TRIED:
            habit.used = False
        stops: Any = dict.fromkeys(raised, "raise")
        with np.errstate(all="ignore"):
            with np.errstate(**stops):
                outcome = guard.in_place(lambda: self.function(*self.handed), 0, measure)
            code = getattr(self.function, "__code__", None)
            place = code.co_filename if code else ""
            return {
                "value": encode(outcome.value),
                "error": outcome.error and _error(outcome.error, place),
                "printed": bool(outcome.printed),
                "measured": outcome.measured,
                "refilled": {
                    place: encode(value)
                    for place, value in enumerate(held)
                    if not _same(outline, value, before[place])
                },
                "used": [habit.__name__ for habit in TRIED if habit.used],
            }

    def _received(self, coded: Any) -> Any:
        """Return a value that the judge sent, and remember the arrays in it."""
        from tformer_book.exercises.answer import arrays
        from tformer_course.values import decode

        value = decode(coded, self._borrowed)
        self.given += [(weakref.ref(array), _digest(array)) for array in arrays(value)]
        return value

    def _changed(self, first: int) -> dict[int, Any]:
        """Return the judge's arrays from the first on that are not what they were, by place."""
        from tformer_course.values import encode

        found = {}
        for place in range(max(first, 0), len(self.given)):
            reference, digest = self.given[place]
            array = reference()
            if array is not None and _digest(array) != digest:
                found[place] = encode(array)
                self.given[place] = reference, _digest(array)
        return found

    def _borrowed(self, kind: str, number: int) -> Any:
        return Items(self._ask, number) if kind == "items" else self._caller(number)

    def _caller(self, number: int) -> Callable[..., Any]:
        return lambda *arguments: self._ask("call", number, *arguments)

    def _ask(self, what: str, number: int, *arguments: Any) -> Any:
        """Have the judge call a function of its own, or take the next item of an iterator."""
        from tformer_course.values import encode, raised_again

        self._tell({"ask": what, "of": number, "with": [encode(part) for part in arguments]})
        answer = self._next()
        if answer["error"]:
            raise raised_again(answer["error"])
        return self._received(answer["value"])


class Items:
    """An iterator whose items the judge has."""

    def __init__(self, ask: Callable[..., Any], number: int) -> None:
        self.ask, self.number = ask, number

    def __iter__(self) -> Items:
        self.ask("iter", self.number)
        return self

    def __next__(self) -> Any:
        return self.ask("next", self.number)


def _digest(array: Any) -> bytes:
    return hashlib.blake2b(array.tobytes(), digest_size=16).digest()


def _same(outline: Callable[[Any], Any], value: Any, before: Any) -> bool:
    try:
        return bool(outline(value) == before)
    except RecursionError:  # it holds itself
        return False


def _error(error: BaseException, place: str) -> dict[str, str]:
    from tformer_book.exercises import describe
    from tformer_course.values import encode_error

    return encode_error(error, describe.own_line(error, place))


def described(function: Any) -> dict[str, Any]:
    """Return what can be told of a function: its name, its arguments, or that it is none."""
    from tformer_book.exercises import describe

    if not callable(function):
        return {"kind": describe.kind(function)}
    told: dict[str, Any] = {"name": getattr(function, "__name__", None), "signature": None}
    try:
        signature = inspect.signature(function)
    except (TypeError, ValueError):
        return told
    empty = inspect.Parameter.empty
    told["signature"] = [
        (
            part.name,
            int(part.kind),
            None if part.default is empty else repr(part.default),
            None if part.annotation is empty else inspect.formatannotation(part.annotation),
        )
        for part in signature.parameters.values()
    ]
    result = signature.return_annotation
    told["returns"] = None if result is empty else inspect.formatannotation(result)
    return told


if __name__ == "__main__":
    main()
