"""The pages of the library: every public function is there, with an example that runs."""

from functools import cache

import pytest

from browsing import ROOT
from every import every
from tformer import fast, pretrained, reference, tokens, training
from tformer_book.pipeline.notebook.normalise import load
from tformer_book.pipeline.notebook.numbering import EQUATION, pages
from tformer_book.pipeline.site.library import Entry, examples, library, places, run, source

PAGES = library(ROOT)
ENTRIES = {entry.path: (page, entry) for page in PAGES for entry in page.entries}
FUNCTIONS = [path for path, (_, entry) in ENTRIES.items() if not isinstance(entry.thing, type)]
PACKAGES = {"reference": reference, "fast": fast, "tokens": tokens, "training": training}
PACKAGES["pretrained"] = pretrained


@cache
def equations() -> set[str]:
    """The labels of all numbered equations of the book."""
    paths = [ROOT / f"{page}.ipynb" for page in pages(ROOT)]
    texts = (
        cell.source
        for path in paths
        if path.exists()
        for cell in load(path).cells
        if cell.cell_type == "markdown"
    )
    return {found["label"] for text in texts for found in EQUATION.finditer(text)}


def test_a_public_name_has_its_place() -> None:
    known = places(ROOT)
    wanted = {f"{name}.{x}" for name, package in PACKAGES.items() for x in package.__all__}
    assert wanted - known.keys() == set()


def test_a_function_stands_on_one_page_and_every_page_shows_some() -> None:
    paths = [entry.path for page in PAGES for entry in page.entries]
    assert sorted(paths) == sorted(set(paths))
    assert [page.docname for page in PAGES if not page.entries] == []


def test_a_function_of_the_reference_is_an_equation_of_the_book() -> None:
    found = {name: ENTRIES[f"tformer.reference.{name}"][1].equation for name in reference.__all__}
    assert {name: label for name, label in found.items() if label not in equations()} == {}


def test_a_function_has_an_example_and_an_example_has_a_function() -> None:
    without = [x for x in FUNCTIONS if ENTRIES[x][1].name not in there(ENTRIES[x][0].stem)]
    assert without == []
    names = {page.stem: {entry.name for entry in page.entries} for page in PAGES}
    assert {stem: there(stem) - known for stem, known in names.items() if there(stem) - known} == {}


def there(stem: str) -> set[str]:
    """The names that a page has examples of."""
    return set(examples(stem).by_name)


def test_an_example_calls_what_it_is_an_example_of() -> None:
    odd = []
    for path in FUNCTIONS:
        page, entry = ENTRIES[path]
        text = examples(page.stem).by_name[entry.name]
        code = "\n".join(line for line in text.splitlines() if line.startswith((">>>", "...")))
        if f"{entry.name}(" not in code and f"@{entry.name}" not in code:
            odd.append(path)
    assert odd == []


@every("stem", [page.stem for page in PAGES])
def test_an_example_gives_what_is_printed(stem: str) -> None:
    found = examples(stem)
    for name, text in found.by_name.items():
        if name in found.with_model and not pretrained.available():
            continue
        assert run(found.before, text, name) == "", name


def test_an_example_that_prints_something_else_is_told_by_name() -> None:
    assert run(">>> x = 1", ">>> x + 1\n2") == ""
    said = run(">>> x = 1", ">>> x + 1\n3", "two")
    assert "Expected:\n    3\nGot:\n    2" in said
    assert "in two" in said


def test_a_source_is_without_what_the_page_says_above_it() -> None:
    code, file, first, last = source(reference.softmax)
    assert code.splitlines()[:2] == [
        "@equation",
        "def softmax(x: np.ndarray, axis: int = -1, beta: float = 1.0) -> np.ndarray:",
    ]
    assert '"""' not in code
    lines = (ROOT / file).read_text(encoding="utf-8").splitlines()[first - 1 : last]
    assert lines[0] == "@equation"
    assert lines[-1].strip() == code.splitlines()[-1].strip()


def test_a_twin_is_the_function_of_the_same_name() -> None:
    twin = Entry("tformer.reference.softmax", reference.softmax).twin
    assert twin == Entry("tformer.fast.softmax", fast.softmax)
    assert ENTRIES["tformer.fast.Module"][1].twin is None


@pytest.mark.parametrize("name", ["layer_norm", "reference.layer_norm", "tformer.fast.layer_norm"])
def test_a_name_in_a_docstring_leads_to_its_place(name: str) -> None:
    page, anchor = places(ROOT)[name]
    assert page == "api/norms"
    assert anchor == f"tformer.{'fast' if 'fast' in name else 'reference'}.layer_norm"
