"""The speed-run: entries that train the storyteller in less time, and what each of them took.

``python benchmarks/speedrun/check.py`` measures an entry and writes the file.
"""

import csv
import json
from pathlib import Path
from typing import Any

from tformer_book.storyteller.stored import HERE

__all__ = [
    "FILE",
    "IDEAS",
    "LIMITS",
    "ideas",
    "joined",
    "line",
    "ratio",
    "reference",
    "stored",
    "table",
    "worst",
]

FILE = Path(__file__).with_name("speedrun.json")
IDEAS = Path(__file__).with_name("speedrun_ideas.json")
LIMITS = {"name again": 1e-5, "cure": 1e-5, "patient": 0.002}
"""Nats that words may cost which follow from what was read."""
HEAD = f"{'entry':24} {'seeds':>5} {'time':>6}  {'name':>7} {'cure':>7} {'patient':>7}  reached"


def stored() -> list[dict[str, Any]]:
    """The records, in the order in which they were made."""
    return list(json.loads(FILE.read_text(encoding="utf-8"))) if FILE.exists() else []


def joined(records: list[dict[str, Any]], new: dict[str, Any]) -> list[dict[str, Any]]:
    """The records with one more; other seeds of an entry that is there are added to its own."""
    old = next((one for one in records if one["name"] == new["name"]), None)
    if old:
        seeds = {run["seed"] for run in new["runs"]}
        runs = [run for run in old["runs"] if run["seed"] not in seeds]
        starts = tuple(f"seed {run['seed']}: " for run in runs)
        missed = [x for x in old["missed"] if x.startswith(starts)]
        runs = sorted([*runs, *new["runs"]], key=lambda run: run["seed"])
        new = new | {"runs": runs, "missed": [*missed, *new["missed"]]}
    kept = [one for one in records if one is not old]
    return sorted([*kept, new], key=lambda one: str(one["name"]))


def ratio(record: dict[str, Any]) -> float:
    """Processor time of an entry, as a share of the reference's beside it, over all seeds."""
    runs = record["runs"]
    return float(sum(run["seconds"] for run in runs) / sum(run["reference"] for run in runs))


def worst(record: dict[str, Any]) -> dict[str, float]:
    """The largest loss of any seed, for each kind of word that has a limit."""
    return {kind: max(run[kind] for run in record["runs"]) for kind in LIMITS}


def line(record: dict[str, Any]) -> str:
    """A record as a line of the table."""
    name, cure, patient = worst(record).values()
    reached = "no" if record["missed"] else "yes"
    return (
        f"{record['name']:24} {len(record['runs']):5} {ratio(record):6.2f}  "
        f"{name:7.1e} {cure:7.1e} {patient:7.4f}  {reached}"
    )


def reference() -> dict[str, Any]:
    """The stored training as a record: its last losses, and its own time."""
    with (HERE / "measured.csv").open(encoding="utf-8") as file:
        last = [*csv.DictReader(file)][-1]
    run = {"seconds": 1.0, "reference": 1.0} | {kind: float(last[kind]) for kind in LIMITS}
    return {"name": "00_reference", "runs": [run], "missed": []}


def table(records: list[dict[str, Any]]) -> str:
    """All records: time relative to the reference, and each loss of the worst seed."""
    return "\n".join([HEAD, *map(line, [reference(), *records])])


def ideas() -> str:
    """What short trainings gave: the plan of entry 02, one idea left out, or another one tried."""
    found = json.loads(IDEAS.read_text(encoding="utf-8"))
    base = sum(x["seconds"] for x in found if x["idea"].startswith("the plan")) / 2
    lines = [f"{'400 steps, seed 1':30} {'time':>5} {'name':>8} {'cure':>8} {'patient':>8}"]
    for x in found:
        nats = " ".join(f"{x[kind]:8.1e}" for kind in LIMITS)
        lines.append(f"{x['idea']:30} {x['seconds'] / base:5.2f} {nats}")
    return "\n".join(lines)
