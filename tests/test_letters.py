"""A letter means one thing on a page, and what a page says of a letter is read as it is meant."""

import tomllib
from pathlib import Path

import pytest

from tformer_book.pipeline import notebooks
from tformer_book.pipeline.notebook.normalise import load
from tformer_book.pipeline.rules.letters import SIZES, TABLES, clashes, in_texts
from tiny import code, notebook, text

ROOT = Path(__file__).parents[1]
SAID = tomllib.loads(Path(__file__).with_name("letters.toml").read_text(encoding="utf-8"))


def found(*words: str) -> list[str]:
    return list(clashes(notebook(*map(text, words))))


def test_no_letter_is_both_by_decree():
    assert set("BTSHGNL") <= SIZES
    assert not SIZES & TABLES


@pytest.mark.parametrize("said", SAID["size"])
def test_a_size(said):
    assert found(said) == []
    assert "C is a table in 'C^\\top', and a size in" in "".join(found(said, "$C^\\top$"))
    assert "K, a table on every page, is a size in" in "".join(found(said.replace("C", "K")))


@pytest.mark.parametrize("said", SAID["table"])
def test_a_table(said):
    assert found(said) == []
    assert "C is a size in '\\sqrt C', and a table in" in "".join(found(said, "$\\sqrt C$"))
    assert "S, a size by the legend, is a table in" in "".join(found(said.replace("C", "S")))


@pytest.mark.parametrize("said", SAID["neither"])
def test_neither(said):
    assert found(said, "$C^\\top$") == []
    assert found(said, "$\\sqrt C$") == []


def test_the_cell_is_named():
    nb = notebook(text("$R^\\top$"), code("R = 1"), text("of width $R$"))
    (said,) = clashes(nb)
    assert said == "cell 2: R is a size in 'width $R$', and a table in 'R^\\top' in cell 0"


def test_a_width_with_its_name_is_no_letter():
    shapes = r"$(T, d_k)$, $d_{\text{model}} \times d_v$, $TSd_k$ and $TS(d_k + d_v + 1)$"
    assert found("Keys $K$, $Q K^\\top V$, of shapes " + shapes) == []


def test_the_values_are_no_factor_of_a_decomposition():
    assert found("$M = U \\Sigma Z^\\top$") == []
    (said,) = found("$M = U_d \\Sigma_d V_d^\\top$")
    assert "V, a table on every page, is a factor of a decomposition" in said


@pytest.mark.parametrize(("one", "other", "says"), SAID["small"])
def test_a_small_letter_keeps_its_kind_and_its_name(one, other, says):
    assert found(one, one) == found(other, other) == []
    assert says in "".join(found(one, other))


def test_a_small_letter_in_a_formula_is_not_introduced():
    assert found("a number $x M y^\\top$", "a row $x$", "a row $v$", "a vector $v$") == []


@pytest.mark.parametrize("page", ["index.md", "README.md", "chapters/glossary.md"])
def test_the_pages_that_are_no_notebooks(page):
    blocks = (ROOT / page).read_text(encoding="utf-8").split("\n\n")
    assert list(in_texts(list(enumerate(blocks)))) == []


@pytest.mark.parametrize("path", notebooks(ROOT), ids=lambda p: f"{p.parent.name}-{p.stem}")
def test_the_notebooks(path):
    assert list(clashes(load(path))) == []
