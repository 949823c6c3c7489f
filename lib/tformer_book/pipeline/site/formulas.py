"""Sphinx extension: formulas are set by KaTeX when the book is built, as HTML and MathML."""

import atexit
import re
import xml.etree.ElementTree as ET
from html import escape
from pathlib import Path
from typing import Any

import sphinxcontrib.katex
from docutils import nodes
from py_mini_racer import JSEvalException, MiniRacer
from sphinx.application import Sphinx
from sphinx.util import logging
from sphinx.util.math import get_node_equation_number
from sphinx.writers.html5 import HTML5Translator

LOGGER = logging.getLogger(__name__)

KATEX = Path(sphinxcontrib.katex.__file__).with_name("katex.min.js")
STYLE = "katex/katex.min.css"
MATHML = re.compile(r"<math.*</math>", re.DOTALL)
NAMESPACE = ' xmlns="http://www.w3.org/1998/Math/MathML"'  # HTML knows it without being told
MESSAGE = re.compile(r"KaTeX parse error: (.*)")
# How many children an element of MathML has, and which ones hold text alone.
ARITY = {"mfrac": 2, "mroot": 2, "msub": 2, "msup": 2, "munder": 2, "mover": 2}
ARITY |= {"msubsup": 3, "munderover": 3}
TOKENS = {"mi", "mn", "mo", "ms", "mtext"}
APPLY = "\u2061"
# What asks, what answers to it and what is handed over have one colour each.
ROLES = {"q": "query", "k": "key", "v": "value"}
LETTER = re.compile(r'"mord (?:mathnormal|mathbf)( mtight)?"[^>]*>([A-Za-z]+)<')


class Typesetter:
    """KaTeX in a JavaScript engine that starts with the first formula; sets each formula once."""

    def __init__(self) -> None:
        self._engine: MiniRacer | None = None
        self._done: dict[tuple[str, bool], str] = {}

    def html(self, tex: str, display: bool = False) -> str:
        """A formula as HTML for the eye and MathML for a screen reader.

        Raises
        ------
        ValueError
            If KaTeX cannot read the formula, in its words.
        """
        if (tex, display) not in self._done:
            self._done[tex, display] = self._set(tex, display)
        return self._done[tex, display]

    def _set(self, tex: str, display: bool) -> str:
        if self._engine is None:
            self._engine = MiniRacer()
            self._engine.eval(KATEX.read_text(encoding="utf-8"))
        options = {"displayMode": display, "strict": "error", "throwOnError": True}
        try:
            html = str(self._engine.call("katex.renderToString", tex, options))
        except JSEvalException as error:
            message = MESSAGE.search(str(error))
            raise ValueError(message[1] if message else str(error)) from None
        return LETTER.sub(_coloured, MATHML.sub(lambda math: mend_mathml(math[0]), html, count=1))

    def close(self) -> None:
        """Stop the engine: one that still runs when Python ends can keep it from ending."""
        if self._engine is not None:
            self._engine.close()
            self._engine = None


def _coloured(letter: re.Match[str]) -> str:
    """A letter of queries, keys or values gets the class of its role.

    So does the index of a matrix, as in W_Q; the index of a width, as in d_k, does not.
    """
    coloured = "QKV" if letter[1] else "qkvQKV"
    words = "".join(
        f'<span class="tf-{ROLES[x.lower()]}">{x}</span>' if x in coloured else x for x in letter[2]
    )
    return letter[0].removesuffix(f"{letter[2]}<") + f"{words}<"


def mend_mathml(text: str) -> str:
    r"""KaTeX's MathML made valid, and without the copy of its TeX.

    After the name of a function KaTeX writes an invisible "apply". In an index, as in p_{\max},
    it stands where `msub` has no third place, and nothing is applied there: it goes. An operator
    made of elements, as in \overset, is a row.

    Raises
    ------
    ValueError
        If an element still has too many or too few parts.
    """
    math = ET.fromstring(text.replace(NAMESPACE, ""))
    if (semantics := math.find("semantics")) is not None:
        math[:] = [child for child in semantics if child.tag != "annotation"]
    for element in math.iter():
        if element.tag in TOKENS and len(element):
            element.tag = "mrow"
        if len(element) > ARITY.get(element.tag, len(element)):
            element[:] = [child for child in element if child.text != APPLY]
        if len(element) != ARITY.get(element.tag, len(element)):
            raise ValueError(f"its MathML is invalid: {element.tag} of {len(element)} parts")
    return ET.tostring(math, encoding="unicode")


TYPESETTER = Typesetter()
atexit.register(TYPESETTER.close)


def _formula(node: nodes.Element, display: bool) -> str:
    try:
        return TYPESETTER.html(node.astext(), display)
    except ValueError as error:
        LOGGER.warning("formula: %s", error, location=node, type="book", subtype="formula")
        return f'<code class="katex-error">{escape(node.astext())}</code>'


def write_inline(writer: HTML5Translator, node: nodes.math) -> None:
    """Write a formula in a line of text."""
    writer.body.append(writer.starttag(node, "span", "", CLASS="math"))
    writer.body.append(_formula(node, False) + "</span>")
    raise nodes.SkipNode


def write_display(writer: HTML5Translator, node: nodes.math_block) -> None:
    """Write a formula of its own line, with its number if it has one."""
    writer.body.append(writer.starttag(node, "div", CLASS="math"))
    if node["number"]:
        writer.body.append(f'<span class="eqno">({get_node_equation_number(writer, node)})')
        writer.add_permalink_ref(node, "Permalink to this equation")
        writer.body.append("</span>")
    writer.body.append(_formula(node, True) + "</div>\n")
    raise nodes.SkipNode


def setup(app: Sphinx) -> dict[str, Any]:
    """Register the renderer and its style."""
    app.add_html_math_renderer("book", (write_inline, None), (write_display, None))
    app.add_css_file(STYLE)
    app.connect("build-finished", lambda *_: TYPESETTER.close())
    # A forked process has no share in the engine's threads.
    return {"version": "1", "parallel_read_safe": True, "parallel_write_safe": False}
