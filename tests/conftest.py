"""Settings for all tests, and the choice of one chapter's: pytest --chapter 04."""

import gc
import re
from collections.abc import Iterator
from itertools import groupby

import pytest
from _pytest.nodeid import NodeId
from hypothesis import settings

import chapters
from tformer_book.chapters import numbers

BROWSING = re.compile(r"tests/browser/|/test_browser\w*\.py$")  # what `make browser` runs

pytest_plugins = [f"{of}_fixtures" for of in ("browser", "course", "lab", "model", "own", "sphinx")]

# Generated examples are the same on every run and every machine.
settings.register_profile("book", derandomize=True, deadline=None, max_examples=30, database=None)
settings.load_profile("book")


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add the option."""
    parser.addoption("--chapter", metavar="NN", help="only the tests of what belongs to a chapter")


def pytest_configure(config: pytest.Config) -> None:
    """Refuse a chapter that does not exist."""
    chosen, there = config.getoption("chapter"), [f"{number:02d}" for number in numbers()]
    if chosen is not None and chosen not in there:
        raise pytest.UsageError(f"there is no chapter {chosen!r}; there are {', '.join(there)}")


@pytest.hookimpl(wrapper=True)
def pytest_collection() -> Iterator[None]:
    """Look for no garbage while modules are loaded, nor ever again among what they hold.

    What is imported and collected stays until the end: nearly a million objects, which every full
    pass would visit.
    """
    gc.disable()
    try:
        return (yield)
    finally:
        gc.freeze()
        gc.enable()


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Keep the tests of one chapter, and those of JupyterLab together on one worker.

    Where a module says `TOGETHER`, tests that have that argument in common stand side by side: one
    worker is then given them all, and computes once what they share.
    """
    items[:] = [
        item
        for module, group in groupby(items, lambda item: getattr(item, "module", None))
        for item in side_by_side([*group], getattr(module, "TOGETHER", ""))
    ]
    for item in items:
        if "browser" in getattr(item, "fixturenames", ()) and not BROWSING.search(str(item.path)):
            raise pytest.UsageError(f"{item.path.name} asks for the browser; see BROWSING")
        if "notebook" in getattr(item, "fixturenames", ()):
            item.add_marker(pytest.mark.xdist_group("lab"))
        if config.getoption("loadgroup", False):
            keep_together(item)
    if (chosen := config.getoption("chapter")) is not None:
        groups: dict[bool, list[pytest.Item]] = {True: [], False: []}
        for item in items:
            groups[int(chosen) in belongs_to(item)].append(item)
        config.hook.pytest_deselected(items=groups[False])
        items[:] = groups[True]


def side_by_side(items: list[pytest.Item], name: str) -> list[pytest.Item]:
    """Tests in the order of one argument; those that do not have it come first."""
    given = [getattr(item, "callspec", None) for item in items]
    keys = [str(one.params.get(name, "")) if one else "" for one in given]
    return [items[place] for place in sorted(range(len(items)), key=keys.__getitem__)]


def keep_together(item: pytest.Item) -> None:
    """Write the group of a test after its id, where xdist's scheduler looks for it.

    xdist 3.8 writes it where pytest 9.2 no longer reads it, and groups nothing (its issue 1386).
    """
    if group := item.get_closest_marker("xdist_group"):
        item._id = NodeId.parse(f"{item.nodeid}@{group.args[0]}")


def belongs_to(item: pytest.Item) -> set[int | None]:
    """The chapters of a test: that of its folder, and those of what it is called with."""
    folder = re.fullmatch(r"ch(\d\d)", item.path.parent.name)
    called = item.callspec.params.values() if hasattr(item, "callspec") else ()
    return {int(folder[1]) if folder else None, *map(chapters.of, called)}
