"""Run the notebooks in fresh kernels and write back those whose outputs truly changed."""

import asyncio
import os
import re
import sys
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor, as_completed
from dataclasses import dataclass
from pathlib import Path
from textwrap import indent

from nbclient import NotebookClient
from nbclient.exceptions import CellExecutionError, CellTimeoutError, DeadKernelError
from nbformat import NotebookNode

from tformer_book.pipeline import notebooks, one_blas_thread
from tformer_book.pipeline.generators import exercises
from tformer_book.pipeline.notebook.normalise import (
    code_cells,
    dump,
    load,
    normalise,
    parse,
    settle,
    tags,
)

CELL_TIMEOUT = 300
WORKERS = 2
ANSI = re.compile(r"\x1b\[[0-9;]*m")


class NotebookError(Exception):
    """A cell raised, or its kernel died; the message is the report for the author."""


@dataclass(frozen=True)
class Outcome:
    """What became of one notebook: `seconds` it ran, and whether its file was rewritten."""

    path: Path
    seconds: float
    changed: bool = False
    report: str = ""


def execute(path: Path) -> NotebookNode:
    """Run a notebook in a fresh kernel, in its own folder, and return it with its outputs.

    Raises
    ------
    NotebookError
        With the notebook, the cell, its source and the error, if a cell raises that is not
        tagged `raises-exception`, or one so tagged does not raise.
    """
    nb = normalise(load(path))
    client = NotebookClient(
        nb,
        timeout=CELL_TIMEOUT,
        kernel_name="python3",
        resources={"metadata": {"path": str(path.parent)}},
        record_timing=False,
        extra_arguments=["--log-level=ERROR"],
    )
    try:
        asyncio.run(client.async_execute())
    except CellExecutionError:
        pass  # the cell holds the error, and says more than the exception
    except (CellTimeoutError, DeadKernelError) as error:
        raise NotebookError(f"{path.name}: {error}") from error
    for number, cell in enumerate(code_cells(nb)):
        _expect(cell, f"{path.name}, code cell {number}")
    return nb


def _expect(cell: NotebookNode, where: str) -> None:
    errors = [out for out in cell.outputs if out.output_type == "error"]
    for out in cell.outputs:
        if out.get("metadata", {}).get("tformer", {}).get("correct") is False:
            raise NotebookError(f"{where}: the book's own answer is refused\n\n{_plain(out)}")
    expected = "raises-exception" in tags(cell)
    if bool(errors) == expected:
        return
    if not errors:
        raise NotebookError(f"{where} is tagged raises-exception and raised nothing")
    source = indent(cell.source, "    ")
    trace = ANSI.sub("", "\n".join(errors[0].traceback)).splitlines()[-12:]
    raise NotebookError(f"{where} failed\n\n{source}\n\n" + "\n".join(trace))


def _plain(output: NotebookNode) -> str:
    return indent(str(output.data["text/plain"]), "    ")


def run(root: Path, select: str = "", force: bool = False) -> Iterator[Outcome]:
    """Run the selected notebooks, two at a time, and yield each outcome as it is known.

    Parameters
    ----------
    root
        The folder of the book.
    select
        The beginning of a file name, such as "04"; all notebooks if empty.
    force
        Rewrite machine-dependent outputs too when nothing else changed.
    """
    os.environ.pop("ANYWIDGET_HMR", None)
    one_blas_thread()
    with ThreadPoolExecutor(WORKERS) as pool:
        jobs = [pool.submit(_refresh, path, force) for path in notebooks(root, select)]
        for job in as_completed(jobs):
            yield job.result()


def solve_exercises(root: Path) -> None:
    """Write the solved notebooks whose sources changed; the students' are left alone."""
    for source in exercises.sources(root):
        target, nb = source.with_suffix(".ipynb"), exercises.solved(source)
        bare = exercises.without_outputs
        if not target.exists() or bare(load(target)) != bare(nb):
            target.write_text(dump(nb), encoding="utf-8", newline="\n")


def _refresh(path: Path, force: bool) -> Outcome:
    before = path.read_text(encoding="utf-8")
    start = time.perf_counter()
    try:
        nb = normalise(execute(path))
    except NotebookError as failure:
        return Outcome(path, time.perf_counter() - start, report=str(failure))
    if not force:
        nb = settle(nb, normalise(parse(before)))
    text = dump(nb)
    changed = text != before
    if changed:
        path.write_text(text, encoding="utf-8", newline="\n")
    return Outcome(path, time.perf_counter() - start, changed)


def main(root: Path, select: str = "", force: bool = False) -> int:
    """Run, telling on standard output how it goes. Returns the exit status."""
    start, failures, count = time.perf_counter(), [], 0
    solve_exercises(root)
    total = len(notebooks(root, select))
    print(f"running {total} notebooks, {WORKERS} at a time", flush=True)
    for count, outcome in enumerate(run(root, select, force), start=1):
        state = "FAILED" if outcome.report else "rewritten" if outcome.changed else "unchanged"
        name = outcome.path.relative_to(root).as_posix()
        print(f"  {count}/{total}  {outcome.seconds:5.1f} s  {state:9}  {name}", flush=True)
        failures += [outcome.report] if outcome.report else []
    for report in failures:
        print(f"\n{report}", file=sys.stderr)
    print(f"{count - len(failures)} of {count} ran through in {time.perf_counter() - start:.0f} s")
    return 1 if failures else 0
