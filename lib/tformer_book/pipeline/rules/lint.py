"""The rules that every notebook of the book keeps, each a small function.

A rule yields findings: the number of a code cell (or None) and one sentence. Rules for chapters
hold for the notebooks that teach; the others hold for solved exercises too.
"""

import ast
import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from itertools import pairwise
from pathlib import Path
from statistics import median

from nbformat import NotebookNode

from tformer_book.pipeline.notebook.myst import claim_labels, words
from tformer_book.pipeline.notebook.normalise import (
    KERNEL,
    MACHINE_TAG,
    NOTEBOOK_KEYS,
    STATE,
    code_cells,
    dump,
    load,
    normalise,
    tags,
)
from tformer_book.pipeline.rules.letters import clashes
from tformer_book.pipeline.rules.limits import OPENING, excesses, main_page, opening_excesses
from tformer_book.pipeline.rules.plain import EDITED, faults
from tformer_book.pipeline.rules.prose import output_texts, unbacked
from tformer_book.widgets.base import is_ours, library_code

MEDIAN_LINES, MOST_LINES, WORDS_A_LINE, MACHINE_CELLS = 5, 20, 8, 3
PAGE_WIDTH = 76
APPENDIX = "appendix_"
RNG = "rng = np.random.default_rng(0)"
NORMALISE = "`python -m tformer_book.pipeline normalise`"
Found = Iterator[tuple[int | None, str]]


@dataclass(frozen=True)
class Page:
    """A notebook to be linted.

    With it come the claims of its chapter, those that other pages of the chapter state, and whether
    it is the chapter's main page, or the page that opens the book.
    """

    nb: NotebookNode
    text: str = ""
    claims: frozenset[str] = frozenset()
    elsewhere: frozenset[str] = frozenset()
    main: int = 0
    opening: bool = False
    code: list[NotebookNode] = field(init=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "code", code_cells(self.nb))


RULES: dict[str, Callable[[Page], Found]] = {}
CHAPTER_RULES: set[str] = set()


def rule(name: str, chapter: bool = False) -> Callable[[Callable[[Page], Found]], None]:
    """Register a rule; with `chapter` it does not hold for exercises."""

    def register(check: Callable[[Page], Found]) -> None:
        RULES[name] = check
        if chapter:
            CHAPTER_RULES.add(name)

    return register


def lint(page: Page, exercise: bool = False) -> list[str]:
    """All findings on a page, one line each: the cell, the rule in brackets, what is wrong."""
    return [
        (f"code cell {cell}: " if cell is not None else "") + f"[{name}] {message}"
        for name, check in RULES.items()
        if not (exercise and name in CHAPTER_RULES)
        for cell, message in check(page)
    ]


def lint_file(path: Path, chapters: Mapping[str, str]) -> list[str]:
    """Lint one notebook; `chapters` maps the label of each registered claim to its chapter.

    An appendix may state claims of any chapter.
    """
    chapter, appendix = path.name[:2], path.name.startswith(APPENDIX)
    claims = frozenset(label for label, home in chapters.items() if appendix or home == chapter)
    own = "*.ipynb" if appendix else f"{chapter}_*.ipynb"
    others = {*path.parent.glob(own), *path.parent.glob(f"{APPENDIX}*.ipynb")} - {path}
    elsewhere = frozenset(label for other in others for label in claim_labels(load(other)))
    text = path.read_text(encoding="utf-8")
    main, opening = main_page(path.stem), path.stem == OPENING
    page = Page(load(path), text, claims, elsewhere, main, opening)
    return lint(page, exercise=path.parent.name == "solutions")


def _lines(cell: NotebookNode) -> int:
    return sum(
        bool(line.strip()) and not line.strip().startswith("#") for line in cell.source.splitlines()
    )


def _tree(cell: NotebookNode) -> ast.Module:
    """The syntax tree of a cell, without its magics; empty if it is not Python."""
    source = "\n".join(
        "pass" if re.match(r"[%!]", line) else line for line in cell.source.splitlines()
    )
    try:
        return ast.parse(source)
    except SyntaxError:
        return ast.parse("")


@rule("imports", chapter=True)
def _imports(page: Page) -> Found:
    for number, cell in enumerate(page.code):
        body = _tree(cell).body
        imports = [x for x in body if isinstance(x, ast.Import | ast.ImportFrom)]
        if not imports and not number:
            yield number, "the first code cell imports what the chapter uses"
        if imports and number and len(imports) < len(body):
            yield number, "imports belong in the first code cell, or late in a cell of their own"
        elif imports and number and not _slow(imports):
            yield number, "only what loads PyTorch may be imported late"


def _slow(imports: list[ast.Import | ast.ImportFrom]) -> bool:
    """Whether what is imported loads PyTorch, which takes seconds."""
    names = " ".join(ast.unparse(x) for x in imports)
    return bool(re.search(r"\btorch\b|\bfast\b|\bmy_transformer\b|tformer_book\.chapters\.", names))


@rule("rng", chapter=True)
def _rng(page: Page) -> Found:
    spelled = 0
    for number, cell in enumerate(page.code):
        spelled += cell.source.count(RNG)
        rest = cell.source.replace(RNG, "")
        if re.search(r"default_rng\(|np\.random\.(?!Generator)|\brandom\.\w+\(|\.seed\(", rest):
            yield number, f"chance comes from one generator: `{RNG}`"
    if spelled > 1:
        yield None, f"`{RNG}` is spelled {spelled} times; once is enough"


@rule("cell-length", chapter=True)
def _cell_length(page: Page) -> Found:
    lengths = [_lines(cell) for cell in page.code]
    for number, length in enumerate(lengths):
        if length > MOST_LINES:
            yield number, f"{length} lines of code; a cell has at most {MOST_LINES}"
    if lengths and median(lengths) > MEDIAN_LINES:
        yield None, f"half of the code cells have over {MEDIAN_LINES} lines ({median(lengths):g})"


@rule("line-width")
def _line_width(page: Page) -> Found:
    for number, cell in enumerate(page.code):
        printed = [out.get("text", "") for out in cell.outputs]
        listed = [out.get("data", {}).get("text/markdown", "") for out in cell.outputs]
        for line in "\n".join([cell.source, *printed, *listed]).splitlines():
            if len(line) > PAGE_WIDTH:
                yield number, f"a page shows {PAGE_WIDTH} characters; {len(line)} in '{line}'"


@rule("prose-ratio", chapter=True)
def _prose_ratio(page: Page) -> Found:
    code = sum(_lines(cell) for cell in page.code)
    prose = sum(words(cell.source) for cell in page.nb.cells if cell.cell_type == "markdown")
    if prose < WORDS_A_LINE * code:
        yield None, f"{prose} words to {code} lines of code; a line needs {WORDS_A_LINE} words"


@rule("stray-list")
def _stray_list(page: Page) -> Found:
    for cell in page.nb.cells:
        if cell.cell_type != "markdown":
            continue
        starts = {int(n) for n in re.findall(r"^ *(\d+)[.)] ", cell.source, re.MULTILINE)}
        for number in sorted(starts):
            if not starts & {number - 1, number + 1}:
                yield (
                    None,
                    f"'{number}.' at the start of a line makes a list of one; wrap elsewhere",
                )


@rule("prose-number", chapter=True)
def _prose_number(page: Page) -> Found:
    for section, number in unbacked(page.nb):
        where = f"'{section.title}'" if section.title else "the opening"
        yield None, f"{number.text} in {where} is in no code cell or output there"


@rule("letters")
def _letters(page: Page) -> Found:
    for clash in clashes(page.nb):
        yield None, clash


@rule("claims", chapter=True)
def _claims(page: Page) -> Found:
    stated = claim_labels(page.nb)
    verified = {
        node.args[0].value
        for cell in page.code
        for node in ast.walk(_tree(cell))
        if isinstance(node, ast.Call) and ast.unparse(node.func).endswith("verify")
        if node.args and isinstance(node.args[0], ast.Constant)
    }
    for label in sorted(set(stated) - page.claims):
        yield None, f"{label} is stated here and no claim of this chapter has that label"
    for label in sorted(page.claims - page.elsewhere - set(stated)):
        yield None, f"{label} is a claim of this chapter and is not stated here"
    for label in sorted(set(stated) & page.claims - verified):
        yield None, f'{label} is stated and the page never calls verify("{label}")'
    for label in sorted({x for x in stated if x in page.elsewhere or stated.count(x) > 1}):
        yield None, f"{label} is stated more than once"


@rule("limits", chapter=True)
def _limits(page: Page) -> Found:
    if page.main:
        for excess in excesses(page.nb, page.main):
            yield None, excess
    if page.opening:
        for excess in opening_excesses(page.nb):
            yield None, excess


@rule("plain", chapter=True)
def _plain(page: Page) -> Found:
    if page.main in EDITED:
        for fault in faults(page.nb):
            yield None, fault


@rule("figure", chapter=True)
def _figure(page: Page) -> Found:
    for number, cell in enumerate(page.code):
        kinds = {kind for out in cell.outputs for kind in out.get("data", {})}
        if kinds & {"image/png", "image/jpeg"}:
            yield number, "a figure is published as SVG, through tformer_book.figures.show"
        if not any(kind.startswith("image/") for kind in kinds):
            continue
        meta = cell.metadata.get("mystnb", {})
        figure = meta.get("figure", {})
        if not meta.get("image", {}).get("alt", "").strip():
            yield number, "a figure has alt text: mystnb.image.alt in the cell's metadata"
        if not figure.get("caption", "").strip():
            yield number, "a figure has a caption: mystnb.figure.caption in the cell's metadata"
        if not figure.get("name", "").startswith("fig-"):
            yield number, "a figure has a name that begins with fig-: mystnb.figure.name"


@rule("machine")
def _machine(page: Page) -> Found:
    tagged = [cell for cell in page.code if MACHINE_TAG in tags(cell)]
    if len(tagged) > MACHINE_CELLS:
        yield None, f"{len(tagged)} cells are tagged {MACHINE_TAG}; at most {MACHINE_CELLS} are"
    measure = re.compile(r"\b(?:perf_counter|timeit|time\.time|tracemalloc|psutil|process_time)\b")
    unit = re.compile(r"\d\s?(?:ns|µs|us|ms|KiB|MiB|GiB|[GT]FLOP/s|GB/s|it/s)\b")
    for number, cell in enumerate(page.code):
        if MACHINE_TAG in tags(cell):
            continue
        if measure.search(cell.source) and cell.outputs:
            yield number, f"measures the machine and is not tagged {MACHINE_TAG}"
        elif any(unit.search(text) for text in output_texts(cell)):
            yield number, f"prints times or memory and is not tagged {MACHINE_TAG}"


@rule("run")
def _run(page: Page) -> Found:
    counts = [cell.execution_count for cell in page.code]
    for number, cell in enumerate(page.code):
        if not cell.source.strip():
            yield number, "is empty"
        elif cell.execution_count is None:
            yield number, "has not been run"
    if None not in counts and any(b != a + 1 for a, b in pairwise([0, *counts])):
        yield None, f"was not run from top to bottom: {counts}"


@rule("error")
def _error(page: Page) -> Found:
    for number, cell in enumerate(page.code):
        raised = any(out.output_type == "error" for out in cell.outputs)
        if raised and "raises-exception" not in tags(cell):
            yield number, "raises, and is not tagged raises-exception"


@rule("stderr")
def _stderr(page: Page) -> Found:
    for number, cell in enumerate(page.code):
        for out in cell.outputs:
            if out.get("name") == "stderr":
                yield number, f"writes to stderr: {out.text.strip()[:60]}"


@rule("address")
def _address(page: Page) -> Found:
    for number, cell in enumerate(page.code):
        if any(re.search(r"\bat 0x[0-9a-fA-F]{5,}", text) for text in output_texts(cell)):
            yield number, "prints an object's address, which differs at each run"


@rule("path")
def _path(page: Page) -> Found:
    local = re.compile(r"(?:^|[\s'\"(])(?:/(?:home|Users|root|tmp|var|opt|mnt)/|[A-Z]:\\)")
    for number, cell in enumerate(page.code):
        if any(local.search(text) for text in [cell.source, *output_texts(cell)]):
            yield number, "holds a path of one machine"


@rule("semicolon")
def _semicolon(page: Page) -> Found:
    for number, cell in enumerate(page.code):
        if cell.source.rstrip().endswith(";"):
            yield number, "ends with a semicolon, which nbval does not honour"


@rule("magic")
def _magic(page: Page) -> Found:
    for number, cell in enumerate(page.code):
        for line in cell.source.splitlines():
            install = re.search(r"\b(?:pip|conda|mamba|apt|brew)3?\b.*\binstall\b", line)
            if install or line.lstrip().startswith("!"):
                yield number, f"a notebook installs nothing and calls no shell: {line.strip()}"
            elif number and re.match(r"%%?\w", line):
                yield number, f"magics belong in the first code cell: {line.strip()}"


@rule("network")
def _network(page: Page) -> Found:
    modules = r"urllib|requests|httpx|aiohttp|socket|http\.client|huggingface_hub|datasets"
    network = re.compile(rf"^\s*(?:import|from)\s+(?:{modules})\b|https?://", re.MULTILINE)
    for number, cell in enumerate(page.code):
        if network.search(cell.source):
            yield number, "reaches for the network"


@rule("widget")
def _widget(page: Page) -> Found:
    models = page.nb.metadata.get("widgets", {}).get(STATE, {}).get("state", {})
    for model in models.values():
        name = model["state"].get("_anywidget_id", "")
        code = library_code(name)
        if is_ours(name) and code is None:
            yield None, f"the library has no {name}: run it again"
        stale = [trait for trait, text in (code or {}).items() if text != model["state"].get(trait)]
        for trait in stale:
            yield None, f"the {trait} stored for {name} is not the library's: {NORMALISE} writes it"


@rule("metadata")
def _metadata(page: Page) -> Found:
    for key in sorted(set(page.nb.metadata) - {*NOTEBOOK_KEYS, *KERNEL, "widgets"}):
        yield None, f"metadata.{key} is of another tool, and {NORMALISE} drops it"


@rule("normalised")
def _normalised(page: Page) -> Found:
    if page.text and page.text != dump(normalise(page.nb)):
        yield None, f"is not as `make run`, or {NORMALISE} without running, writes it"
