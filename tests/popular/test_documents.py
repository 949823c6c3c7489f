"""Every number that the five documents print is accounted for, and every verdict is what it was."""

import json
import re
import tomllib
from collections import Counter
from importlib import import_module
from importlib.resources import files
from inspect import isfunction

import numpy as np
import pytest

from browsing import ROOT
from tformer_book.popular import NAMES, documents, page
from tformer_book.popular.lines import VERDICTS, Document

DECIMAL = re.compile(r"(?<![\w.])\d+(?:\.\d+(?:[eE]-?\d+)?|[eE]-?\d+)")
PRINTED = json.loads((files("tformer_book.popular") / "printed.json").read_text(encoding="utf-8"))
DOCUMENTS = documents()
FILES = ("seminar.toml", "notes.toml", "theory.toml", "collection.toml", "post.toml")
each_document = pytest.mark.parametrize("document", DOCUMENTS, ids=lambda d: d.title[:20])

VERDICT_COUNTS = {
    "The Transformer Architecture: A Mathematical Introduction": (42, 2, 14, 5),
    "Transformer ML": (49, 1, 7, 22),
    "Transformer Theory": (59, 0, 20, 2),
    "Transformers": (17, 0, 12, 1),
    "Understanding Transformer Architectures": (24, 0, 26, 3),
    "numbers": (133, 9, 0, 31),
}
"""How many lines agree, are rounded, loose, wrong; counted by hand when the page was written."""
PROMISES = {
    "under mild assumptions, transformers can simulate any Turing machine": (
        "thm-turing prop-finite-automaton"
    ),
    "by reading examples in the prompt": "exm-three-kinds",
    "without changing their weights": "exm-wug",
    "not gradient steps during inference": "thm-linear-step",
    "protein folding, and time-series forecasting": "exm-series",
    "vision (Vision Transformers), audio, and biological structures (AlphaFold)": "21",
    "any data that can be tokenized": "21",
    "matching or exceeding CNNs": "exm-digits",
    "DALL-E, Stable Diffusion use Transformer-based": "21",
    "Whisper, AudioLM": "21",
}
"""What the documents promise beyond a language model, and where the book tries it."""


def test_the_five_documents_are_those_whose_numbers_are_kept():
    assert [name.removesuffix(".toml") for name in FILES] == list(NAMES)
    assert {document.title for document in DOCUMENTS} == set(PRINTED)


@each_document
def test_every_decimal_number_stands_in_a_line_as_often_as_it_is_printed(document: Document):
    found = Counter(n for line in document.lines for n in DECIMAL.findall(line.found))
    assert found == Counter(PRINTED[document.title]["decimals"])


@each_document
def test_every_longer_integer_stands_in_a_line_or_claims_nothing(document: Document):
    said = " ".join(line.found for line in document.lines)
    missing = [n for n in PRINTED[document.title]["integers"] if n not in said]
    assert sorted(missing) == sorted(document.names)


def test_every_demonstration_is_of_a_line():
    folder = files("tformer_book.popular") / "documents"
    tables = [tomllib.loads((folder / name).read_text(encoding="utf-8")) for name in FILES]
    lines = [line for table in tables for section in table["section"] for line in section["line"]]
    named = {line["runs"] for line in lines if "runs" in line}
    written = {
        f"{module}.{name}"
        for module in (*NAMES, "tried", "tried_models", "tried_costs")
        for name, value in vars(import_module(f"tformer_book.popular.{module}")).items()
        if isfunction(value) and value.__module__.endswith(f".{module}")
        if value.__annotations__["return"] == "Cases"
    }
    assert written == named


@each_document
def test_lines_are_complete(document: Document):
    for line in document.lines:
        assert line.found, line
        assert line.verdict in (*VERDICTS, "given"), line.found
        if line.kind == "by a source":
            assert line.why, f"{line.found}: a verdict that is not computed has a reason"
        elif line.kind == "run":
            assert line.tried, line.found
            assert all(type(held) in (bool, np.bool_) for held in line.tried.values()), line.found


@each_document
def test_lines_quote_a_few_words_at_most(document: Document):
    for line in document.lines:
        words = re.findall(r"[A-Za-z’']{3,}", re.sub(r"\\\w+|[A-Za-z_]+\(", " ", line.found))
        assert len(words) < 12, line.found


def test_counts_are_those_of_the_page():
    found = page.counts()
    assert {
        title: tuple(one[verdict] for verdict in VERDICTS) for title, one in found.items()
    } == VERDICT_COUNTS


@each_document
def test_every_line_stands_in_the_table_as_it_is_printed(document: Document):
    text = " ".join(page.table(document.title).data.replace("\u00a0", " ").split())
    for line in document.lines:
        assert f"`{' '.join(line.found.split())}`" in text


def test_the_first_letters_of_no_wrapped_line_make_a_list():
    for document in DOCUMENTS:
        for line in page.table(document.title).data.splitlines():
            assert len(line) <= 76
            assert not re.match(r"    (?:[-+*>#]|\d+[.)])\s", line), line


def test_labels_stand_on_a_page():
    text = "".join(p.read_text(encoding="utf-8") for p in (ROOT / "chapters").glob("*.ipynb"))
    for document in DOCUMENTS:
        for label in {label for line in document.lines for label in line.see.split()}:
            stands = f":label: {label}\\n" in text or f"$$ ({label})" in text
            assert stands or [*(ROOT / "chapters").glob(f"{label:0>2}_*.ipynb")], label


def test_what_the_documents_promise_is_kept_where_the_appendix_says():
    kept = {line.found: line.see for document in DOCUMENTS for line in document.lines}
    assert {found: kept[found] for found in PROMISES} == PROMISES


def test_unknown_titles_are_refused():
    with pytest.raises(LookupError, match="none is called 'Attention'"):
        page.document("Attention")
