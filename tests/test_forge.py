"""The workflow of a forge, which cannot run here: its structure, and what it calls."""

import os
import re
from pathlib import Path
from typing import Any

import pytest
import yaml

from browsing import ROOT

WORKFLOWS = sorted((ROOT / ".github" / "workflows").glob("*.yml"))
KEYS = {"name", "on", "permissions", "concurrency", "jobs"}
OF_A_JOB = {"if", "needs", "runs-on", "container", "timeout-minutes", "permissions", "environment"}
OF_A_JOB |= {"continue-on-error"}
OF_A_STEP = {"name", "id", "if", "uses", "with", "run"}
COMMANDS = re.compile(r"(?:^|&& |\" )(make [\w-]+|\.ci/\w+)", re.MULTILINE)


class Once(yaml.BaseLoader):
    """Reads every scalar as text, so that `on` is no truth value; refuses a key met twice."""

    def construct_mapping(self, node: yaml.MappingNode, deep: bool = False) -> dict[Any, Any]:
        keys = [key.value for key, _ in node.value]
        if len(set(keys)) < len(keys):
            raise ValueError(f"a key stands twice: {keys}")
        return super().construct_mapping(node, deep)


def faults(text: str) -> list[str]:
    """What a forge would refuse, or what would not be there when it calls it."""
    flow = yaml.load(text, Once)
    found = [f"unknown: {key}" for key in flow.keys() - KEYS]
    if flow["permissions"] != {"contents": "read"}:
        found.append("more is permitted to every job than to read")
    for name, job in flow["jobs"].items():
        found += [f"{name}: unknown: {key}" for key in job.keys() - OF_A_JOB - {"steps"}]
        if "runs-on" not in job:
            found.append(f"{name}: runs nowhere")
        if (needed := job.get("needs")) and needed not in flow["jobs"]:
            found.append(f"{name}: needs {needed}, which is not there")
        for step in job["steps"]:
            found += [f"{name}: {fault}" for fault in _of_step(step)]
    return found


def _of_step(step: dict[str, Any]) -> list[str]:
    found = [f"unknown: {key}" for key in step.keys() - OF_A_STEP]
    if ("run" in step) == ("uses" in step):
        found.append("a step either runs or uses")
    if "uses" in step and not re.fullmatch(r"[\w-]+/[\w-]+@v\d+", step["uses"]):
        found.append(f"no version: {step['uses']}")
    makefile = (ROOT / "Makefile").read_text(encoding="utf-8")
    for command in COMMANDS.findall(step.get("run", "")):
        kind, _, target = command.partition(" ")
        if kind != "make" and not os.access(ROOT / command, os.X_OK):
            found.append(f"{command} cannot be run")
        elif kind == "make" and not re.search(rf"^{target}:", makefile, re.MULTILINE):
            found.append(f"{command}: no such target")
    if folder := step.get("with", {}).get("path"):
        found += (
            []
            if f"the book is at {folder}/index.html;" in makefile
            else [f"nothing is in {folder}"]
        )
    return found


@pytest.mark.parametrize("path", WORKFLOWS, ids=lambda path: path.name)
def test_a_workflow_is_one(path: Path) -> None:
    assert faults(path.read_text(encoding="utf-8")) == []


def test_what_is_published_was_checked_and_only_from_main() -> None:
    flow = yaml.load(WORKFLOWS[0].read_text(encoding="utf-8"), Once)
    jobs, when = flow["jobs"], flow["on"]
    assert when["push"] == {"branches": ["main"]}
    assert "pull_request" in when
    assert jobs["publish"]["needs"] == "check"
    only = "github.ref == 'refs/heads/main' && github.event_name != 'pull_request'"
    assert jobs["publish"]["if"] == only == jobs["check"]["steps"][-1]["if"]
    runs = [step.get("run") for step in jobs["check"]["steps"]]
    assert ".ci/run" in runs
    assert jobs["publish"]["permissions"] == {"pages": "write", "id-token": "write"}


def test_once_a_week_the_newest_versions_are_tried_and_not_published() -> None:
    flow = yaml.load(WORKFLOWS[0].read_text(encoding="utf-8"), Once)
    (cron,) = (entry["cron"] for entry in flow["on"]["schedule"])
    assert re.fullmatch(r"\d{1,2} \d{1,2} \* \* [0-6]", cron)
    jobs = flow["jobs"]
    assert jobs["newest"]["if"] == "github.event_name == 'schedule'"
    assert jobs["check"]["if"] == "github.event_name != 'schedule'"
    runs = [step.get("run", "") for step in jobs["newest"]["steps"]]
    anew = next(run for run in runs if "make lock" in run)
    assert anew.index("rm requirements.lock") < anew.index("make lock")
    assert runs[-1] == ".ci/run"
    named = next(run for run in runs if "jupyter-book<2" in run)
    assert runs.index(anew) < runs.index(named)
    assert jobs["sphinx"]["continue-on-error"] == "true"
    assert jobs["sphinx"]["if"] == jobs["newest"]["if"]
    assert jobs["sphinx"]["steps"][-1]["run"] == ".ci/sphinx"


def test_the_newest_sphinx_gets_all_extensions_but_those_of_jupyter_book() -> None:
    """What `.ci/sphinx` takes out of the list of extensions stands there as it is written."""
    config = yaml.safe_load((ROOT / "_config.yml").read_text(encoding="utf-8"))
    listed = ", ".join(repr(one) for one in config["sphinx"]["config"]["extensions"])
    script = (ROOT / ".ci" / "sphinx").read_text(encoding="utf-8")
    out = re.search(r"s/(.*)//", script)
    assert out
    assert out[1] in listed


@pytest.mark.parametrize(
    ("right", "wrong"),
    [
        ("needs: check", "needs: checks"),
        ("run: .ci/run", "run: .ci/go"),
        ("make lock", "make locks"),
        ("path: _build/html", "path: _build"),
        ("actions/checkout@v4", "actions/checkout"),
        ("  contents: read", "  contents: write"),
        ("timeout-minutes: 120", "timeout: 120"),
    ],
)
def test_a_slip_is_found(right: str, wrong: str) -> None:
    text = WORKFLOWS[0].read_text(encoding="utf-8")
    assert right in text
    assert faults(text.replace(right, wrong))
