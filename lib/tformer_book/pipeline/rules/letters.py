"""A letter means one thing on a page: it is a size or a table, a number or a function.

The letters of the legend are sizes and those of `TABLES` are tables, on every page. Any other
capital may be either, but not both on one page. A small letter keeps its kind and its name. Only
what the page says plainly counts as evidence: a letter of which it says nothing is left alone.
"""

import re
from collections.abc import Iterator
from typing import NamedTuple

from nbformat import NotebookNode

from tformer.axes import LEGEND
from tformer_book.pipeline.notebook.myst import lines

TABLES = frozenset("QKVXYAMPW")
SIZES = frozenset(name for name in LEGEND if len(name) == 1) - TABLES

INDEX = r"(?:_(?:\w|\{[^{}]*\}))"
TOP = r"\s*\^\s*\{?\s*\\top\b\}?"
SIZE = r"(?:[A-Zdn]|\d+|\\[lc]?dots)"  # after `_plain`, in which every width is a d
ALONE = r"(?<![A-Za-z\\_^{])([A-Z])(?![A-Za-z_^({])"


def _each(*patterns: str) -> list[re.Pattern[str]]:
    return [re.compile(pattern) for pattern in patterns]


TUPLE = re.compile(rf"(?<![A-Za-z)\]}}^_])\(\s*({SIZE}(?:\s*,\s*{SIZE})+)\s*\)|\\ \(([A-Z])\)")
SIZE_IN_FORMULA = _each(
    rf"{SIZE}\s*\\times\s*([A-Z])(?![\w^])",
    rf"{ALONE}\s*\\times\s*{SIZE}",
    r"\\sqrt\s*(?:([A-Z])|\{([^{}\\_^(]*)\})",
    rf"{ALONE}\s*(?:=|<|>|\\leq?\b|\\geq?\b)\s*[1-9]\d*(?![\d.]*\s*[\\A-Za-z(])",
    rf"{ALONE}\s*[<>]\s*[A-Zdn]\b",
    r"\\(?:sum|prod)(?:_\w|_\{[^{}]*\})?\^\{?([A-Z])\b",
    r"\\(?:sum|prod)_\{[^{}]*[<>]\s*([A-Z])\s*\}",
    r"\\set\^\{?([A-Z])\b",
)
PRODUCT = re.compile(r"(?<![A-Za-z\\_^{])([A-Z](?:\s*[A-Zdn])+)(?![A-Za-z_^{])")
FACTOR = re.compile(r"([A-Z]+)\s*\(([A-Zdn\d\s]*[+-][A-Zdn\d\s+-]*)\)")
SIZE_IN_WORDS = _each(
    r"\b(?:width|first|at most|size|number)\s\$([A-Z])\$",
    r"\$([A-Z])\$\s(?:rows|columns|keys|queries|coordinates|heads|words|layers|products"
    r"|multiplications|additions|singular values)\b",
)
TABLE_IN_FORMULA = _each(
    rf"([A-Z]){INDEX}?{TOP}",
    rf"([A-Z]){INDEX}?\s*\\Sigma",
    r"(?<![A-Za-z\\])([A-Z])_\{[a-z](?:[a-z]|\\cdot|\s*,\s*[a-z])\}",
    rf"{TOP}\s*[+-]\s*{ALONE}",
    rf"{ALONE}\s*&?=[^=,&]*[A-Z]{INDEX}?{TOP}",
    r"([A-Z])\s*=\s*\\begin\s",
)
MATRICES = re.compile(rf"(?<![A-Za-z\\_^{{])(?:∂?[A-Z]{INDEX}?(?:{TOP})?(?:\s|\\,)*){{2,}}")
BESIDE_SIGMA = re.compile(rf"([A-Z]){INDEX}?\s*(?=\\Sigma)|\\Sigma{INDEX}?\s*([A-Z])")
TABLE_IN_WORDS = _each(
    r"\b(?:table|matrix|table of (?:queries|keys|values)|rows of|columns of|Jacobian)\s\$([A-Z])\$"
)
KIND = r"(?:[a-z-]+\s){0,3}?(?P<kind>function|row|vector|number|matrix|table)\b"
SAME = {"vector": "row", "matrix": "table"}
SMALL = r"\$(?P<letter>\\[a-z]+|[a-z])(?:\s*(?:[<>]|\\(?:ge|le|ne|in)\b)[^$]*)?\$"
KINDS = _each(
    rf"\b(?:a|an|another|every|some)\s{KIND}\s{SMALL}",
    rf"\b[Ll]et\s{SMALL}\sbe\s(?:an?|the|its)\s{KIND}",
)
NAMES = _each(
    rf"{SMALL}[^$.*]{{0,40}},\sthe\s\*(?P<name>[a-z -]+)\*",
    rf"\*(?P<name>[a-z -]+)\*,?\s(?:is\s)?written\s{SMALL}",
)


class Use(NamedTuple):
    """A letter, what it is used as, the number of the cell (from 0), and the words that say so."""

    letter: str
    role: str
    cell: int
    text: str


def clashes(nb: NotebookNode) -> Iterator[str]:
    """One sentence for each letter that a notebook's Markdown uses in two roles."""
    texts = [
        (number, " ".join(_prose(cell.source)))
        for number, cell in enumerate(nb.cells)
        if cell.cell_type == "markdown"
    ]
    yield from in_texts(texts)


def in_texts(texts: list[tuple[int, str]]) -> Iterator[str]:
    """The same for numbered texts that together are one page."""
    first: dict[str, dict[str, Use]] = {}
    for cell, text in texts:
        for use in [*_capitals(cell, text), *_small(cell, text)]:
            first.setdefault(use.letter, {}).setdefault(use.role, use)
    for letter, uses in sorted(first.items()):
        expected = "a size" if letter in SIZES else "a table" if letter in TABLES else None
        wrong = [use for role, use in uses.items() if expected and role != expected]
        if wrong:
            where = "by the legend" if letter in SIZES else "on every page"
            yield f"cell {wrong[0].cell}: {letter}, {expected} {where}, is {_said(wrong[0])}"
        elif len(uses) > 1:
            one, two = list(uses.values())[:2]
            yield f"cell {two.cell}: {letter} is {_said(two)}, and {_said(one)} in cell {one.cell}"


def _said(use: Use) -> str:
    return f"{use.role} in '{' '.join(use.text.split())}'"


def _prose(source: str) -> Iterator[str]:
    for kind, line in lines(source):
        if isinstance(line, str):
            yield f"$${line}$$" if kind == "math" else line


def _plain(formula: str) -> str:
    r"""A formula without words and fonts: a width is d, a derivative \mathrm{d} is ∂."""
    formula = re.sub(r"(?<![a-z\\])d_(?:\w|\{\s*\\text\s*\{[^{}]*\}\s*\})", "d", formula)
    formula = re.sub(r"\\mathrm\s*\{d\}\s*", "∂", formula)
    formula = re.sub(r"\\mathbb\s*\{\w\}", r"\\set", formula)
    formula = re.sub(r"\\begin\s*\{[a-z]*matrix\}", r"\\begin ", formula)
    formula = re.sub(r"\\operatorname\s*\{[^{}]*\}", "f", formula)
    return re.sub(r"\\(?:text|mathrm|mathbf|begin|end)\s*\{[^{}]*\}", " ", formula)


def _capitals(cell: int, text: str) -> Iterator[Use]:
    for match in re.finditer(r"\$\$(.*?)\$\$|\$([^$]+)\$", text):
        formula = _plain(match[1] or match[2])
        shape = bool(re.search(r"\bshapes?\s$", text[: match.start()]))
        for letters, said in _sizes(formula, shape):
            yield from (Use(letter, "a size", cell, said) for letter in letters)
        for letters, said in _tables(formula):
            yield from (Use(letter, "a table", cell, said) for letter in letters)
        for match in BESIDE_SIGMA.finditer(formula):
            if (letter := match[1] or match[2]) in TABLES:
                yield Use(letter, "a factor of a decomposition", cell, match[0])
    for role, patterns in (("a size", SIZE_IN_WORDS), ("a table", TABLE_IN_WORDS)):
        for pattern in patterns:
            yield from (Use(m[1], role, cell, m[0]) for m in pattern.finditer(text))


def _sizes(formula: str, shape: bool) -> Iterator[tuple[str, str]]:
    """The letters that are sizes in a formula, with the piece of it that says so."""
    for match in TUPLE.finditer(formula):
        items = match[1] or match[2]
        sure = SIZES & set(items) or re.search(r"[dn\d]", items) or match[2]
        if shape or sure:
            yield "".join(re.findall("[A-Z]", items)), match[0]
    for pattern in SIZE_IN_FORMULA:
        for match in pattern.finditer(formula):
            yield "".join(re.findall("[A-Z]", "".join(filter(None, match.groups())))), match[0]
    for match in PRODUCT.finditer(formula):
        if SIZES & set(match[1]):
            yield "".join(re.findall("[A-Z]", match[1])), match[0]
    for match in FACTOR.finditer(formula):
        if SIZES & set(match[1]):
            yield "".join(re.findall("[A-Z]", match[0])), match[0]


def _tables(formula: str) -> Iterator[tuple[str, str]]:
    """The letters that are tables in a formula, with the piece of it that says so."""
    for pattern in TABLE_IN_FORMULA:
        for match in pattern.finditer(formula):
            yield match[1], match[0]
    for match in MATRICES.finditer(formula):
        factors = re.findall(rf"([A-Z]){INDEX}?", match[0])
        sure = "∂" in match[0] or r"\top" in match[0] or not SIZES & set(factors)
        if sure and TABLES & set(factors):
            yield "".join(factors), match[0]


def _small(cell: int, text: str) -> Iterator[Use]:
    for pattern in KINDS:
        for match in pattern.finditer(text):
            kind = SAME.get(match["kind"], match["kind"])
            yield Use(match["letter"], f"a {kind}", cell, match[0])
    for pattern in NAMES:
        for match in pattern.finditer(text):
            yield Use(f"the name of {match['letter']}", f"*{match['name']}*", cell, match[0])
