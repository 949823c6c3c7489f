"""Measure the book: python benchmarks/run.py [build] [notebooks] [pages] [touch].

Each measurement is written to benchmarks/results, and all of them to the table that people read,
benchmarks/README.md. These are reports, not tests: a number belongs to its machine.
"""

import json
import sys
import time
from pathlib import Path
from typing import Any

import build
import machine
import notebooks
import pages
import touch

from tformer_book.pipeline import find_root, one_blas_thread

HERE = Path(__file__).parent
RESULTS = HERE / "results"
PARTS = {
    "build": build.measure,
    "notebooks": notebooks.measure,
    "pages": pages.measure,
    "touch": touch.measure,
}


def main(chosen: list[str]) -> None:
    """Measure the chosen parts, or all."""
    one_blas_thread()
    root = find_root(HERE)
    RESULTS.mkdir(exist_ok=True)
    for name in chosen or PARTS:
        start = time.perf_counter()
        print(f"measuring: {name}", flush=True)
        found = {"machine": machine.describe(), **PARTS[name](root)}
        text = json.dumps(found, indent=1, ensure_ascii=False) + "\n"
        (RESULTS / f"{name}.json").write_text(text, encoding="utf-8")
        print(f"  {time.perf_counter() - start:.0f} s", flush=True)
    results = {path.stem: json.loads(path.read_text("utf-8")) for path in RESULTS.glob("*.json")}
    (HERE / "README.md").write_text(summary(results), encoding="utf-8")


def summary(results: dict[str, Any]) -> str:
    """The table for people, as Markdown."""
    parts = [
        "# Benchmarks\n",
        "Written by `make bench`, together with [the numbers in full](results). They say how far",
        "the book is from its budgets on one machine; they are not tests. Attention against its",
        "yardstick and PyTorch's kernels has [a page of its own](attention.md), and so have",
        "[masks, heads and positions](layers.md).",
    ]
    tellers = {"build": _build, "notebooks": _notebooks, "pages": _pages, "touch": _touch}
    machines: dict[str, str] = {}
    for name, tell in tellers.items():
        if name in results:
            machines[name] = _machine(results[name]["machine"])
            parts += ["", *tell(results[name])]
    if len(set(machines.values())) == 1:
        machines = {"": next(iter(machines.values()))}
    parts += ["", "## Machine\n"]
    parts += [f"{name}: {machine}\n".removeprefix(": ") for name, machine in machines.items()]
    return "\n".join(parts)


def _machine(found: dict[str, Any]) -> str:
    packages = ", ".join(f"{name} {number}" for name, number in found["packages"].items())
    return (
        f"{found['processor']}, {found['cores']} cores, {found['memory_gib']} GiB, "
        f"{found['system']}; Python {found['python']}, {packages}."
    )


def _build(found: dict[str, Any]) -> list[str]:
    return [
        "## Building (budget: 180 s from a fresh clone with packages cached, 20 s after an edit)\n",
        "| | seconds |",
        "|---|--:|",
        f"| `make book` in a fresh clone: environment, library, pages "
        f"| {found['make_book_fresh_clone_s']} |",
        f"| `make book` again | {found['make_book_again_s']} |",
        f"| all {found['pages']} pages from nothing | {found['cold_s']} |",
        f"| after an edit of one chapter | {found['after_one_edit_s']} |",
        f"| pages when nothing changed | {found['nothing_changed_s']} |",
    ]


def _notebooks(found: dict[str, Any]) -> list[str]:
    parts = found["parts"]
    lines = [
        "## Running the notebooks again and comparing (budget: 30 s a chapter, 5 s a cell)\n",
        "| | seconds |",
        "|---|--:|",
        f"| all, two workers | {found['two_workers_s']} |",
        f"| all, one worker | {found['one_worker_s']} |",
        f"| of that: starting and stopping kernels | {parts.get('kernels_s', 0)} |",
        f"| of that: first cells, mostly imports | {parts.get('first_cells_s', 0)} |",
        f"| of that: all other cells | {parts.get('other_cells_s', 0)} |",
        f"| of that: pytest, comparing, waiting | {parts['comparing_and_waiting_s']} |",
    ]
    lines += [f"| {path} | {seconds} |" for path, seconds in found["notebooks"].items()]
    lines += ["", "| slowest cells | last line | seconds |", "|---|---|--:|"]
    lines += [
        f"| {cell['notebook']}, cell {cell['cell']} | `{cell['line'].strip()}` "
        f"| {cell['seconds']} |"
        for cell in found["slowest_cells"]
    ]
    return lines


def _pages(found: dict[str, Any]) -> list[str]:
    title = f"## What a reader meets, {found['browser']} (budget: 400 kB compressed)\n"
    return [title, *pages.table(found)]


def _touch(found: dict[str, Any]) -> list[str]:
    lines = [
        "## Figures to touch, before they are touched (budget: 700 px at 1440)\n",
        "| page, figure | px high at 1440 | at 390 | numbers at first sight | tab stops |",
        "|---|--:|--:|--:|--:|",
    ]
    for name, widths in found["figures"].items():
        wide, narrow = widths["1440"], widths["390"]
        seen = f"{wide['numbers']} | {wide['stops']}"
        lines.append(f"| {name} | {wide['height']} | {narrow['height']} | {seen} |")
    return lines


if __name__ == "__main__":
    main(sys.argv[1:])
