"""Sphinx extension: what verified a claim stands as a seal at the foot of its box.

In the notebook a cell calls `verify("thm-…")` after the proof and prints the evidence. On the page
that cell gives way to one line on the box of the statement. Opened, it shows the evidence, for each
mutant of the statement the numbers that refute it, as the ledger's run recorded them, and
the program that the call runs, as its file has it. All of it is HTML; no script is needed.
"""

import re
from collections.abc import Iterator
from functools import cache
from html import escape
from pathlib import Path
from typing import Any, NamedTuple

from docutils import nodes
from docutils.statemachine import StringList
from pygments import highlight
from pygments.formatters import HtmlFormatter
from pygments.lexers import PythonLexer
from sphinx.application import Sphinx
from sphinx.transforms.post_transforms import SphinxPostTransform
from sphinx.util.docutils import SphinxDirective

from tformer_book.claims import Claim, find
from tformer_book.claims.record import Record, records
from tformer_book.pipeline.notebook.myst import stated, unlabelled
from tformer_book.pipeline.site.readable import html as readable

CALL = re.compile(r'\s*verify\("([\w-]+)"\)\s*')
WORDS = {
    "symbolic": ("=", "Verified with symbols"),
    "exhaustive": ("∀", "Verified case by case"),
    "numeric": ("≈", "Verified in numbers"),
    "statistical": ("±", "Verified by sampling"),
    "empirical": ("#", "Verified on stored runs"),
}
"""What stands in the seal of each kind of verification, and the words beside it."""
PETALS = 16
UNCOLOURED = re.compile(r'<span class="(?:n|p|w)">(.*?)</span>')
"""What no style gives a colour of its own: half of what Pygments writes."""


class Sealed(SphinxDirective):
    """`{sealed} label`: the statement of a claim and its seal, away from the page of its proof."""

    required_arguments = 1

    def run(self) -> list[nodes.Node]:
        """Take the statement from its page; a reference to it stands in front."""
        label = self.arguments[0]
        box = nodes.container(classes=["admonition", "theorem"])
        title = nodes.paragraph(classes=["admonition-title"])
        text = f"{{prf:ref}}`{label}`\n\n{unlabelled(stated(Path(self.env.srcdir))[label])}"
        self.state.nested_parse(StringList(text.splitlines()), self.content_offset, box)
        title += box.children.pop(0).children
        box.insert(0, title)
        box += nodes.raw("", seal(find(label), records()[label]), format="html")
        return [box]


class Cell(NamedTuple):
    """A cell of the page that calls `verify`: its node, and the label it asks for."""

    node: nodes.Element
    label: str


class Seals(SphinxPostTransform):
    """Move the evidence of each claim from its cell to the foot of its box."""

    default_priority = 402
    formats = ("html",)

    def run(self, **kwargs: Any) -> None:
        """Seal every box of the page whose label a cell verifies."""
        boxes = {
            box["label"]: box
            for box in self.document.findall(nodes.Element)
            if isinstance(box, nodes.Admonition) and box.get("label")
        }
        recorded = records()
        for cell in list(_cells(self.document)):
            if cell.label in boxes and cell.label in recorded:
                html = seal(find(cell.label), recorded[cell.label])
                boxes[cell.label] += nodes.raw("", html, format="html")
                cell.node.parent.remove(cell.node)


def _cells(document: nodes.document) -> Iterator[Cell]:
    for node in document.findall(nodes.container):
        if node.get("nb_element") == "cell_code":
            source = next(iter(node.findall(nodes.literal_block)), None)
            if source is not None and (call := CALL.fullmatch(source.astext())):
                yield Cell(node, call[1])


def seal(claim: Claim, record: Record) -> str:
    """The seal of one claim, as HTML."""
    glyph, words = WORDS[record.kind]
    mutants = "".join(
        f"<details class='tf-break'><summary>{readable(variant)}</summary>"
        f"<p><span class='tf-refuted'>Refuted</span> {readable(said)}.</p></details>"
        for variant, said in record.refuted.items()
    )
    return (
        f'<details class="tf-seal tf-{record.kind}">'
        f"<summary>{badge(glyph)}<span class='tf-verified'>{words}</span>"
        f"<span class='tf-scope'>{readable(record.scope)}</span></summary>"
        f"<p>{readable(record.evidence)}.</p>"
        f"<div class='tf-breaks'><p>Break it:</p>{mutants}</div>"
        f"<details class='tf-program'><summary><code>verify(\"{escape(claim.label)}\")</code>"
        f" runs a program of <code>{escape(claim.file)}</code></summary>"
        f"<div class='highlight'><pre tabindex='0'>{coloured(claim.program)}</pre></div></details>"
        "</details>"
    )


@cache
def coloured(program: str) -> str:
    """Python as HTML, with the colours of the page's other code."""
    return UNCOLOURED.sub(r"\1", highlight(program, PythonLexer(), HtmlFormatter(nowrap=True)))


def badge(glyph: str) -> str:
    """A rosette with a sign in it; the words beside it say the same to a screen reader."""
    petals = "".join(
        f"<circle cx='0' cy='-8.6' r='2.3' transform='rotate({360 * i / PETALS:g})'/>"
        for i in range(PETALS)
    )
    return (
        "<svg class='tf-rosette' viewBox='-12 -12 24 24' aria-hidden='true'>"
        f"<g>{petals}<circle r='9.2'/></g><text y='4.2'>{glyph}</text></svg>"
    )


def setup(app: Sphinx) -> dict[str, bool]:
    """Connect to Sphinx."""
    app.add_directive("sealed", Sealed)
    app.add_post_transform(Seals)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
