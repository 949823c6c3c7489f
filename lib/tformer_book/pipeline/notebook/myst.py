"""The little that the book's tools need to know of MyST: prose, directives, statements."""

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

from nbformat import NotebookNode

from tformer_book.pipeline import notebooks
from tformer_book.pipeline.notebook.normalise import load

CLAIM_TYPES = ("theorem", "proposition", "lemma", "corollary", "example")
# Directives whose body is text for the reader to read; all others are set aside.
NOT_PROSE = re.compile(
    r"first-reading|code|literalinclude|toctree|bibliography|image|figure|raw|mermaid|embed"
)
FENCE = re.compile(r"^\s*(`{3,}|:{3,}|~{3,})\s*(?:\{([\w:-]+)\})?(.*)$")
OPTION = re.compile(r"^\s*:([\w-]+):(.*)$")
STATEMENT = re.compile(
    rf"^(?P<fence>:{{3,}}|`{{3,}})\{{prf:(?:{'|'.join(CLAIM_TYPES)})\}}[^\n]*\n"
    r"(?P<options>(?:\s*:[\w-]+:[^\n]*\n)*)(?P<body>.*?)^(?P=fence)[ \t]*$",
    re.DOTALL | re.MULTILINE,
)
HEADING = re.compile(r"^(#{1,6})\s+(.*)$")
QUIET = re.compile(r"^\s*(%|\([^)]+\)=\s*$|\+\+\+)")
# Roles and links keep their words and lose their targets.
ROLE = re.compile(r"\{(?!math\b)[\w:-]+\}`(?:([^`<]+)<)?[^`]*`")
LINK = re.compile(
    r"\]\([^)]*\)|\]\{\.[^}]*\}|<https?:[^>]*>|https?://\S+|<!--.*?-->|</?[a-zA-Z][^<>\n]*>",
    re.DOTALL,
)


@dataclass
class Directive:
    """One directive with its options, such as a theorem and its label."""

    name: str
    options: dict[str, str] = field(default_factory=dict)


@dataclass
class Section:
    """What stands between two headings of level one or two: prose, and code cells."""

    title: str = ""
    prose: list[str] = field(default_factory=list)
    code: list[NotebookNode] = field(default_factory=list)


def lines(source: str) -> Iterator[tuple[str, str | Directive]]:
    """The lines of a markdown cell, each with its kind.

    Kinds: "heading", "prose", "math", and "directive" with its options read; the rest, such as
    listings, targets and comments, is left out.
    """
    open_fences: list[tuple[str, str]] = []  # how it opened, and the kind of what it holds
    pending: Directive | None = None
    for line in source.splitlines():
        fence = FENCE.match(line)
        if fence and open_fences and fence[1] == open_fences[-1][0] and not fence[2]:
            open_fences.pop()
        elif open_fences and open_fences[-1][1] == "listing":
            continue
        elif fence:
            pending = Directive(fence[2] or "code")
            open_fences.append((fence[1], _holds(pending.name)))
            yield "directive", pending
        elif pending and (option := OPTION.match(line)):
            pending.options[option[1]] = option[2].strip()
        else:
            pending = None
            if HEADING.match(line):
                yield "heading", line
            elif not QUIET.match(line):
                yield open_fences[-1][1] if open_fences else "prose", line


def _holds(name: str) -> str:
    return "listing" if NOT_PROSE.match(name) else "math" if name == "math" else "prose"


def directives(nb: NotebookNode) -> Iterator[Directive]:
    """The directives of a notebook, in order."""
    for cell in nb.cells:
        if cell.cell_type == "markdown":
            found = list(lines(cell.source))  # options come after the line that opens
            yield from (item for _, item in found if isinstance(item, Directive))


def claim_labels(nb: NotebookNode) -> list[str]:
    """The labels of the theorems, propositions, lemmas, corollaries and examples on a page."""
    return [
        found.options.get("label", f"(a {name} without a label)")
        for found in directives(nb)
        if (name := found.name.removeprefix("prf:")) in CLAIM_TYPES
    ]


def statements(nb: NotebookNode) -> Iterator[tuple[str, str]]:
    """What the labelled theorems, lemmas and so on of a notebook state: label and Markdown."""
    for cell in nb.cells:
        for found in STATEMENT.finditer(cell.source if cell.cell_type == "markdown" else ""):
            options = {option[1]: option[2].strip() for option in _options(found["options"])}
            if "label" in options:
                yield options["label"], found["body"].strip()


def _options(text: str) -> list[re.Match[str]]:
    return [option for line in text.splitlines() if (option := OPTION.match(line))]


def plain(text: str) -> str:
    """Prose without roles, link targets and tags."""
    return LINK.sub(" ", ROLE.sub(" ", text))


def words(source: str) -> int:
    """How many words of prose a markdown cell holds, or a caption.

    A formula counts as one, and so does a reference that the page writes out ("Theorem 3.1").
    """
    prose = "\n".join(str(line) for kind, line in lines(source) if kind == "prose")
    prose = plain(ROLE.sub(lambda role: role[1] or "reference", prose))
    prose = re.sub(r"\$\$.*?\$\$|\$[^$\n]*\$", " formula ", prose, flags=re.DOTALL)
    return len(re.findall(r"[^\W\d_][\w'’-]*", prose))


def sections(nb: NotebookNode, skip_tag: str) -> list[Section]:
    """The sections of a notebook; markdown cells tagged `skip_tag` add no prose."""
    result = [Section()]
    for cell in nb.cells:
        if cell.cell_type == "code":
            result[-1].code.append(cell)
        if cell.cell_type != "markdown":
            continue
        skipped = skip_tag in cell.metadata.get("tags", [])
        for kind, line in lines(cell.source):
            heading = HEADING.match(line) if isinstance(line, str) and kind == "heading" else None
            if heading and len(heading[1]) <= 2:
                result.append(Section(heading[2]))
            elif kind in ("prose", "math") and not skipped:
                result[-1].prose.append(str(line))
        result[-1].prose.append("")
    return result


def stated(root: Path) -> dict[str, str]:
    """What each claim states: label -> Markdown, read from the pages of the book."""
    return {
        label: body
        for path in notebooks(root)
        if path.parent.name == "chapters"
        for label, body in statements(load(path))
    }


def unlabelled(statement: str) -> str:
    """A statement whose equations have no labels, for every place but its own page."""
    return re.sub(r"^(\$\$) *\([\w-]+\) *$", r"\1", statement, flags=re.MULTILINE)
