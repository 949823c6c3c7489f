"""A numpydoc docstring as nodes of a page: text with links, lists of parameters, a signature."""

import inspect
import re
from collections.abc import Callable, Iterator
from types import ModuleType
from typing import Any

from docutils import nodes

from tformer.docstrings import sections

PIECE = re.compile(
    r"``(?P<literal>[^`]+)``|`(?P<code>[^`]+)`|\[(?P<cite>[a-z]+\d{4}[a-z]?)\]"
    r"|\b(?P<equation>eq-[\w-]*\w)"
)
SHAPE = re.compile(r"(\([^()]*\)) (?:\w+ )?array$|((?:tuple of )?[A-Z]\w+)$")
MODULES = re.compile(r"\b(?:\w+\.)+(?=\w)")
LISTS = ("Parameters", "Attributes", "Yields", "Returns", "Raises")
WIDEST = 60

Link = Callable[[str, nodes.Node], nodes.Node | None]
"""Makes a link around a node to what a name stands for; None if it stands for nothing public."""
Role = Callable[[str, str], nodes.Node]
"""What a role of the page makes of a text: of "eq" and a label, a link with its number."""


class Docstring:
    """A docstring on a page.

    Parameters
    ----------
    text : str
    link, role : callable
        What makes the links of its page.
    """

    def __init__(self, text: str, link: Link, role: Role) -> None:
        self.link, self.role = link, role
        self.parts = sections(text)

    @property
    def summary(self) -> list[nodes.Node]:
        """The first sentence and what explains it."""
        return self.paragraphs(self.parts.get("", ""))

    def body(self) -> Iterator[nodes.Node]:
        """Each section of it: its name, and a list or text."""
        for heading in (*LISTS, *(x for x in self.parts if x and x not in LISTS)):
            if text := self.parts.get(heading):
                yield nodes.paragraph("", heading, classes=["tf-heading"])
                if heading in LISTS:
                    yield self.entries(text, heading == "Raises")
                elif heading == "Examples":
                    yield nodes.literal_block(text, text, language="pycon")
                else:
                    yield from self.paragraphs(text)

    def paragraphs(self, text: str) -> list[nodes.Node]:
        """Paragraphs of text."""
        parts = re.split(r"\n\s*\n", inspect.cleandoc(text))
        return [nodes.paragraph("", "", *self.inline(part)) for part in parts if part]

    def entries(self, text: str, quiet: bool = False) -> nodes.definition_list:
        """The list of what stands as `name : type` and text below it."""
        made = nodes.definition_list(classes=["tf-entries", *(["tf-raises"] * quiet)])
        for head, said in entries(text):
            name, colon, kind = head.partition(" : ")
            if not colon and not (name[:1].isupper() or quiet):
                name, kind = "", head
            term = nodes.term()
            if name:
                term += self.code(name)
            term += nodes.Text(" " if name and kind else "")
            term += self.typed(kind)
            item = nodes.definition_list_item("", term)
            item += nodes.definition("", *self.paragraphs(said))
            made += item
        return made

    def typed(self, kind: str) -> list[nodes.Node]:
        """What is told of a type, with links to our classes."""
        found: list[nodes.Node] = []
        for i, piece in enumerate(re.split(r"\b([A-Z]\w+)\b", kind)):
            text = nodes.Text(piece)
            found.append((self.link(piece, text) if i % 2 else None) or text)
        return found

    def inline(self, text: str) -> Iterator[nodes.Node]:
        """A paragraph: code with links, works cited and equations by their numbers."""
        text, end = " ".join(text.split()), 0
        for piece in PIECE.finditer(text):
            yield nodes.Text(text[end : piece.start()])
            yield self._piece(piece)
            end = piece.end()
        yield nodes.Text(text[end:])

    def _piece(self, piece: re.Match[str]) -> nodes.Node:
        if piece["equation"]:
            return self.role("eq", piece["equation"])
        if piece["cite"]:
            return self.role("cite", piece["cite"])
        return self.code(piece["literal"] or piece["code"])

    def code(self, text: str) -> nodes.Node:
        """Code, and a link around it if it is a public name."""
        literal = nodes.literal("", text)
        return self.link(text, literal) or literal


def entries(text: str) -> Iterator[tuple[str, str]]:
    """The entries of a section: the line that is not indented, and the text below it."""
    for entry in re.split(r"^(?=\S)", text, flags=re.MULTILINE):
        head, _, said = entry.partition("\n")
        if head:
            yield head.strip(), inspect.cleandoc(said)


def signature(name: str, thing: Any) -> str:
    """How a function is called: its parameters with their shapes, and the shapes of its results."""
    try:
        found = inspect.signature(thing)
    except (ValueError, TypeError):
        return name
    parts = sections(thing.__doc__ or "")
    said = {
        one: kind
        for head, _ in entries(parts.get("Parameters", ""))
        for names, _, kind in [head.partition(" : ")]
        for one in names.split(", ")
    }
    parameters = [x for x in found.parameters.values() if x.name not in ("self", "cls")]
    given = _marked([_parameter(x, said) for x in parameters], [x.kind for x in parameters])
    back = [] if isinstance(thing, type) else _results(parts.get("Returns", ""))
    back = back or [*filter(None, [_annotation(found.return_annotation)])]
    line = f"{name}({', '.join(given)})" + (f" → {', '.join(back)}" if back else "")
    if len(line) <= WIDEST:
        return line
    line = f"{name}(\n" + "".join(f"    {one},\n" for one in given) + ")"
    if len(back) > 1:
        return f"{line} → (\n" + "".join(f"    {one},\n" for one in back) + ")"
    return line + (f" → {back[0]}" if back else "")


def _marked(given: list[str], kinds: list[Any]) -> list[str]:
    """The parameters with a star before those that must be named."""
    if inspect.Parameter.KEYWORD_ONLY in kinds and inspect.Parameter.VAR_POSITIONAL not in kinds:
        given.insert(kinds.index(inspect.Parameter.KEYWORD_ONLY), "*")
    return given


def _parameter(x: inspect.Parameter, said: dict[str, str]) -> str:
    stars = "*" * (x.kind == x.VAR_POSITIONAL) + "**" * (x.kind == x.VAR_KEYWORD)
    kind = _shape(said.get(x.name, "")) or _annotation(x.annotation, True)
    default = "" if x.default is x.empty else f"{x.default!r}"
    if x.default is Ellipsis or isinstance(x.default, ModuleType):
        default = getattr(x.default, "__name__", "...").rpartition("tformer.")[2]
    default = re.sub(r"e-0(?=\d)", "e-", default)
    if kind:
        return f"{stars}{x.name}: {kind}" + (f" = {default}" if default else "")
    return f"{stars}{x.name}" + (f"={default}" if default else "")


def _shape(kind: str) -> str:
    """The shape in what is told of a type, or the class of ours that it is."""
    found = SHAPE.match(kind.removesuffix(", optional"))
    return found[1] or found[2] if found else ""


def _results(text: str) -> list[str]:
    found = []
    for head, _ in entries(text):
        name, _, kind = head.rpartition(" : ")
        found.append(" ".join(filter(None, (name, _shape(kind) or kind))))
    return found


def _annotation(kind: Any, brief: bool = False) -> str:
    """An annotation without modules; a brief one only if it is a class."""
    if kind in (inspect.Parameter.empty, inspect.Signature.empty, Any, None):
        return ""
    text = MODULES.sub("", inspect.formatannotation(kind)).strip("'~")
    return text if not brief or re.fullmatch(r"[A-Z]\w+", text) else ""
