"""No number in the prose is typed by hand: each is backed by code or an output near it."""

import ast
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from math import isfinite

from nbformat import NotebookNode

from tformer_book.pipeline.notebook.myst import Section, plain, sections
from tformer_book.pipeline.notebook.normalise import code_cells

QUOTED_TAG = "quoted-numbers"
MINUS = "-−–"
SUPERSCRIPTS = str.maketrans("⁰¹²³⁴⁵⁶⁷⁸⁹⁻", "0123456789-")
MATH = re.compile(r"\$\$.*?\$\$|\$[^$\n]+\$|\{math\}`[^`]*`", re.DOTALL)
THIN = re.compile(r"(?<=\d)(?:\{,\}|\\,|[\u202f\u2009\u00a0_])(?=\d{3}(?!\d))")
COMMA = re.compile(r"(?<=\d),(?=\d{3}(?!\d))")
NUMBER = re.compile(
    rf"""(?<![\w.])(?P<mantissa>\d+(?:\.\d+)?)
    (?:[eE](?P<e>[{MINUS}+]?\d+)
      |\s*(?:\\times|\\cdot|×|·)\s*10\s*(?:\^\s*\{{?\s*(?P<power>[{MINUS}]?\d+)\s*\}}?
        |(?P<super>[⁻⁰¹²³⁴⁵⁶⁷⁸⁹]+)))?
    (?P<more>…|\\ldots|\\dots|\.\.\.)?(?P<percent>\s*\\?%)?(?!\w|\.\d)""",
    re.VERBOSE,
)
# Numbers that are names: of a year, a version, a numbered thing, a licence, a quoted string.
NAMES = re.compile(
    r"""\b(?:in|since|until|before|after|from|of|by|and|to|–)\s(?:1[5-9]|20)\d\d\b(?![\d.,]*\d)
    |\((?:[^()]*[\s,])?(?:1[5-9]|20)\d\d\)
    |\b(?:Python|NumPy|PyTorch|torch|SymPy|JupyterLab|Jupyter|BY|version)\s?\d[\d.]*
    |(?i:\b(?:chapter|section|exercise|question|theorem|equation|figure|table|page|pp?\.)|§)
      \s?\d[\d.]*
    |"[^"\n]*"(?=[^`\n]*`)""",
    re.VERBOSE,
)
PRINTED = re.compile(r"(?<![\w.])\d+(?:\.\d*)?(?:[eE][+-]?\d+)?")


@dataclass(frozen=True)
class Written:
    """A number as the prose has it: any value from `low` to `high` backs it."""

    text: str
    low: float
    high: float
    percent: bool = False

    def backed_by(self, values: Iterable[float]) -> bool:
        """Whether one of `values` rounds to this number; a percentage may be a fraction there."""
        scales = (1.0, 100.0) if self.percent else (1.0,)
        low, high = self.low * (1 - 1e-12), self.high * (1 + 1e-12)
        return any(low <= abs(x) * scale <= high for x in values for scale in scales)


def in_prose(text: str) -> Iterator[Written]:
    """The numbers to be backed: decimals, powers of ten and integers from 1000."""
    text = THIN.sub("", plain(text))
    text = "".join(
        part if MATH.fullmatch(part) else COMMA.sub("", part)
        for part in re.split(f"({MATH.pattern})", text, flags=re.DOTALL)
    )
    text = NAMES.sub(" ", text)
    for match in NUMBER.finditer(text):
        mantissa = match["mantissa"]
        exponent = match["e"] or match["power"] or (match["super"] or "").translate(SUPERSCRIPTS)
        if "." not in mantissa and not exponent and float(mantissa) < 1000:
            continue
        scale = 10.0 ** int(re.sub(f"[{MINUS}]", "-", exponent) or 0)
        value, unit = float(mantissa) * scale, scale * 10.0 ** -len(mantissa.partition(".")[2])
        low, high = (0, unit) if match["more"] else (unit / 2, unit / 2)  # cut off, or rounded
        yield Written(match[0].strip(), value - low, value + high, bool(match["percent"]))


def in_code(cell: NotebookNode) -> set[float]:
    """The numbers that a cell's source spells or composes (`10**4`, `1 / 3`), and its outputs."""
    found = set()
    try:
        tree = ast.parse(cell.source)
    except SyntaxError:
        tree = ast.parse("")
    for node in ast.walk(tree):
        value = _constant(node)
        if value is not None:
            found.add(value)
        if isinstance(node, ast.Constant) and isinstance(node.value, str):
            found |= _printed(node.value)
    for text in output_texts(cell):
        found |= _printed(text) | _printed(COMMA.sub("", text))
    return found


def _constant(node: ast.AST) -> float | None:
    if isinstance(node, ast.Constant) and isinstance(node.value, int | float):
        return float(node.value) if abs(node.value) < 1e300 else None
    if isinstance(node, ast.BinOp):
        left, right = _constant(node.left), _constant(node.right)
        if left is None or right is None:
            return None
        try:
            value = _combine(node.op, left, right)
        except ArithmeticError:
            return None
        return value if value is not None and isfinite(value) else None
    return None


def _combine(operator: ast.operator, left: float, right: float) -> float | None:
    match operator:
        case ast.Mult():
            return left * right
        case ast.Div():
            return left / right
        case ast.Pow():
            return float(left**right)
    return None


def _printed(text: str) -> set[float]:
    return {float(match) for match in PRINTED.findall(text)}


def output_texts(cell: NotebookNode) -> list[str]:
    """What a cell shows as text: streams, errors, and every textual form of its results."""
    texts = []
    for out in cell.outputs:
        texts += [out.get("text", ""), out.get("evalue", "")]
        texts += [
            data
            for kind, data in out.get("data", {}).items()
            if isinstance(data, str) and not kind.startswith("image/")
        ]
    return [text for text in texts if text]


def unbacked(nb: NotebookNode) -> Iterator[tuple[Section, Written]]:
    """The numbers in prose that no code or output of their section holds.

    A section without code, such as a summary, is backed by the whole notebook.
    """
    everything = {value for cell in code_cells(nb) for value in in_code(cell)}
    for section in sections(nb, QUOTED_TAG):
        near = {value for cell in section.code for value in in_code(cell)}
        backing = near if section.code else everything
        for number in in_prose("\n".join(section.prose)):
            if not number.backed_by(backing):
                yield section, number
