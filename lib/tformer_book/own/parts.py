"""The parts of a reader's own transformer: which names make each, and what it lets the file do."""

from __future__ import annotations

import ast
import re
import tomllib
from collections.abc import Collection, Iterator
from functools import cache
from pathlib import Path
from typing import NamedTuple

FILE = "my_transformer.py"
BOOK = Path(__file__).with_name(FILE)
BEGIN = Path(__file__).with_name("begin.txt")
"""What a reader's file begins with."""
ACCEPTED = Path(__file__).with_name("accepted.toml")
"""What the exercises take of a reader's file."""


class Part(NamedTuple):
    """What one chapter adds to the file.

    Attributes
    ----------
    chapter : int
        The chapter that teaches it.
    names : tuple of str
        The functions and classes of the part.
    gives : str
        What the file can do with it.
    """

    chapter: int
    names: tuple[str, ...]
    gives: str


PARTS = (
    Part(2, ("softmax",), "its softmax runs inside SmolLM2"),
    Part(4, ("attention_weights", "attention"), "queries, keys and values; the scale 1/√d"),
    Part(5, ("causal_mask",), "no position sees a later token"),
    Part(6, ("split_heads", "merge_heads", "grouped_attention"), "several heads, in groups"),
    Part(7, ("rope",), "texts longer than those it was trained on"),
    Part(8, ("rms_norm", "layer_norm"), "many layers"),
    Part(9, ("swiglu", "gelu"), "feed-forward layers with gates"),
    Part(
        10,
        (
            *("Config", "parameter_shapes", "initialise"),
            *("self_attention", "block", "transformer"),
        ),
        "a whole model, which opens SmolLM2",
    ),
    Part(11, ("gpt2",), "models in the form of GPT-2"),
    Part(12, ("numerical_derivative",), "a test of backward"),
    Part(13, ("apply_merges", "next_token_loss"), "text in tokens, and what a model is worth"),
    Part(14, ("adamw", "learning_rate", "train"), "training"),
    Part(15, ("sample", "generate"), "generation with a cache"),
    Part(16, ("blockwise_attention",), "long texts without a table of scores"),
    Part(17, ("attention_patterns",), "a view of every head, and its ablation"),
    Part(20, ("n_parameters", "training_flops"), "the bill before the training"),
)
"""In the order of the chapters."""


class Definition(NamedTuple):
    """A function or class of a file: its node, and how many lines of code it has."""

    node: ast.FunctionDef | ast.ClassDef
    n_lines: int


def definitions(source: str, filename: str = FILE) -> dict[str, Definition]:
    """Return what a file defines at its top level, by name; of two with one name the last.

    Lines of code are those that are neither empty nor a comment, nor within a docstring.

    Raises
    ------
    SyntaxError
        If the source is no Python.
    """
    lines = source.splitlines()
    return {
        node.name: Definition(node, sum(1 for _ in _code(node, lines)))
        for node in ast.parse(source, filename).body
        if isinstance(node, ast.FunctionDef | ast.ClassDef)
    }


def _code(node: ast.FunctionDef | ast.ClassDef, lines: list[str]) -> Iterator[str]:
    documented = ast.get_docstring(node) is not None
    text = node.body[0] if documented else None
    first = min([node.lineno, *(mark.lineno for mark in node.decorator_list)])
    for number in range(first, (node.end_lineno or first) + 1):
        line = lines[number - 1].strip()
        within = text and text.lineno <= number <= (text.end_lineno or text.lineno)
        if line and not line.startswith("#") and not within:
            yield line


def defined_in(path: Path) -> dict[str, Definition]:
    """Return what a file defines at its top level now, by name."""
    return definitions(path.read_text(encoding="utf-8"), str(path))


@cache
def of_the_book() -> dict[str, Definition]:
    """Return the parts of the book's own file by name, in their order."""
    return defined_in(BOOK)


@cache
def accepted() -> dict[str, str]:
    """Return, for each exercise that takes functions of a reader's file, what `check` is handed."""
    return tomllib.loads(ACCEPTED.read_text(encoding="utf-8"))


def answered_with(names: Collection[str]) -> list[str]:
    """Return the exercises that take nothing but functions of these names."""
    return [
        number
        for number, answer in accepted().items()
        if {*re.findall(r"\bmine\.(\w+)", answer)} <= {*names}
    ]
