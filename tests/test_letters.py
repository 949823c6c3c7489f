"""A letter means one thing on a page, and what a page says of a letter is read as it is meant."""

from pathlib import Path

import pytest

from tformer_book.pipeline import notebooks
from tformer_book.pipeline.notebook.normalise import load
from tformer_book.pipeline.rules.letters import SIZES, TABLES, clashes, in_texts
from tiny import code, notebook, text

ROOT = Path(__file__).parents[1]
SIZE = [
    "of shape $(T, C)$",
    "turn it into $(\\ldots, S, C)$",
    "of shape $(C, 3)$",
    "of shape $(C, E)$",
    "$x\\ (C)$",
    "a $C \\times 3$ matrix",
    "a $3 \\times C$ matrix",
    "$1 / \\sqrt C$",
    "$1 / \\sqrt{2 C}$",
    "with $C = 3$",
    "where $C \\ge 1$",
    "if $C > E$",
    "$\\sum_{i=1}^{C} x_i$",
    "$\\sum_{i > C} \\sigma_i^2$",
    "in $\\mathbb{R}^C$",
    "$TSC$ multiplications",
    "$TS(C + 1)$",
    "the width $C$",
    "of rank at most $C$",
    "the first $C$ of them",
    "the $C$ rows of it",
]
TABLE = [
    "$C^\\top$",
    "$C_d^\\top$",
    "$C\\, Q^\\top$",
    "$C \\Sigma$",
    "$C_{ti}$",
    "$C_{w\\cdot}$",
    "$\\operatorname{softmax}(c\\, Q K^\\top + C)$",
    "$C = x W_Q^\\top$",
    "$C = \\begin{bmatrix} 1 & 0 \\end{bmatrix}$",
    "$\\mathrm{d}C\\, K$",
    "the table $C$",
    "the rows of $C$",
    "a table of keys $C$",
]
NEITHER = [
    "$(Q, C)$",
    "$\\cos(C, Q)$",
    "$C(3)$",
    "$\\operatorname{C}[x]$ and $\\mathbb{C}^3$",
    "$d_C$ and $\\sigma_{C}$",
    "$C \\ge \\log n$",
    "$C = 0.5$",
    "$H(C)$",
    "$\\mathrm{d} C / \\mathrm{d} \\beta$",
    "Language C and `(T, C)`",
    "```\n$C^\\top$ and $(T, C)$\n```",
]


def found(*words: str) -> list[str]:
    return list(clashes(notebook(*map(text, words))))


def test_no_letter_is_both_by_decree():
    assert set("BTSHGNL") <= SIZES
    assert not SIZES & TABLES


@pytest.mark.parametrize("said", SIZE)
def test_a_size(said):
    assert found(said) == []
    assert "C is a table in 'C^\\top', and a size in" in "".join(found(said, "$C^\\top$"))
    assert "K, a table on every page, is a size in" in "".join(found(said.replace("C", "K")))


@pytest.mark.parametrize("said", TABLE)
def test_a_table(said):
    assert found(said) == []
    assert "C is a size in '\\sqrt C', and a table in" in "".join(found(said, "$\\sqrt C$"))
    assert "S, a size by the legend, is a table in" in "".join(found(said.replace("C", "S")))


@pytest.mark.parametrize("said", NEITHER)
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


SMALL = [
    ("a positive function $g$", "a row $g$, the gradient", "g is a row"),
    ("Let $g$ be a function of it.", "a vector $g \\in \\mathbb{R}^n$", "g is a row"),
    ("every number $\\beta > 0$", "Let $\\beta$ be the right matrix.", "\\beta is a table"),
    ("a number $c > 0$, the *scale*", "a number $c$, the *shift*", "the name of c is *shift*"),
    ("its *width*, written $d$", "let $d$ be small, the *distance*", "the name of d is *distance*"),
]


@pytest.mark.parametrize(("one", "other", "says"), SMALL)
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
