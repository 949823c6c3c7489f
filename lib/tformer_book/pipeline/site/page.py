"""Sphinx extension: what a published page loads, says about itself and draws."""

import re
from pathlib import Path
from typing import Any, cast
from urllib.parse import urljoin

from docutils import nodes
from sphinx.application import Sphinx
from sphinx.builders.html._assets import _JavaScript
from sphinx.transforms.post_transforms import SphinxPostTransform
from sphinx.util import logging
from sphinx.util.display import progress_message

from tformer_book.pipeline.site.check import check_site
from tformer_book.pipeline.site.search import INDEX
from tformer_book.pipeline.site.svg import Letters, inline_svg

LOGGER = logging.getLogger(__name__)

# Loaded only where the page's HTML has the mark: a file no page needs has the mark "".
NEEDED_BY = {
    "katex/katex.min.css": 'class="math',
    "clipboard.min.js": "highlight",
    "copybutton.js": "highlight",
    "copybutton.css": "highlight",
    "seal.css": 'class="tf-seal',
    "library.css": 'class="tf-api-',
    "ledger.js": 'id="sec-ledger"',
    "bibtex.js": "data-bibtex",
    "sphinx-design.min.css": 'class="sd-',
    "design-tabs.js": "sd-tab",
    "proof.css": "",
    "exercise.css": "",
    "doctools.js": "",
    "sphinx_highlight.js": "",
    "translations.js": "",
}
ONLY_ON = {
    "search": (f"_static/{INDEX}", "_static/search.js"),
    "record": ("_static/record-page.js",),
}
"""The scripts of pages that are no documents."""
DESCRIPTION_LENGTH = 155
CITATION = re.compile(r" ?\[\w+(, \w+)*\]")
# sphinx-proof and sphinx-exercise give these ids to every box of a page.
REPEATED_IDS = {"proof-content", "exercise-content", "solution-content", "proof"}
# What tells a screen reader something false: a fold named other than what it shows, and a list
# of references that is no list in today's ARIA.
FALSE_ROLES = {
    '<summary aria-label="Toggle hidden content">': "<summary>",
    '<div role="list" class="citation-list">': '<div class="citation-list">',
    ' role="doc-biblioentry"': "",
}


class InlineFigures(SphinxPostTransform):
    """Put the SVG outputs of code cells into the page; ask every image for a text."""

    default_priority = 400
    formats = ("html",)

    def run(self, **kwargs: Any) -> None:
        """Replace each SVG output of the document."""
        outputs = Path(cast(Any, self.env).mystnb_config.output_folder)
        letters: Letters = {}
        for number, image in enumerate(list(self.document.findall(nodes.image))):
            label = image.get("alt", "")
            if not label:
                LOGGER.warning("an image has no alt text", location=image, type="book")
            path = Path(self.env.srcdir, image["uri"]).resolve()
            if path.suffix == ".svg" and path.parent == outputs:
                text, width = path.read_text(encoding="utf-8"), image.get("width", "")
                drawing = inline_svg(text, f"d{number}-", label, width, letters)
                frame = f'<div class="drawing-frame">{drawing}</div>'
                image.replace_self(nodes.raw("", frame, format="html"))


class Mend(SphinxPostTransform):
    """No id twice on a page, no line that starts with a full stop; Proof and messages set apart."""

    default_priority = 401
    formats = ("html",)

    def run(self, **kwargs: Any) -> None:
        """Clean every element of the document."""
        for formula in self.document.findall(nodes.math):
            _bind_punctuation(formula)
        for figure in self.document.findall(nodes.figure):
            for caption in figure.findall(nodes.caption):
                _set_apart_message(caption)
        for element in list(self.document.findall(nodes.Element)):
            ids: list[str] = element.get("ids", [])
            if "proof" in ids:
                _set_apart_proof(element)
            if REPEATED_IDS.intersection(ids):
                element["ids"] = [name for name in ids if name not in REPEATED_IDS]


def _bind_punctuation(formula: nodes.math) -> None:
    # A browser may break a line after a formula; a mark inside the formula stays with it.
    after = formula.next_node(descend=False, siblings=True)
    if not isinstance(after, nodes.Text):
        return
    if marks := re.match(r"[.,;:)?!]+", after):
        # Text nodes with the same text are equal, so this one is found by its place.
        formula.parent[formula.parent.index(formula) + 1] = nodes.Text(after[marks.end() :])
        formula += nodes.Text(rf"\text{{{marks[0]}}}")


def _set_apart_proof(box: nodes.Element) -> None:
    """Set the word Proof in italics; in front of a fold it is the handle."""
    for text in box.findall(nodes.Text):
        if text.startswith("Proof. "):
            word = nodes.inline("", "Proof. ", classes=["proof-word"])
            if folded := "dropdown" in box["classes"]:
                box.insert(0, nodes.paragraph("", "", word, classes=["admonition-title"]))
            rest = nodes.Text(text.removeprefix("Proof. "))
            text.parent.replace(text, [rest] if folded else [word, rest])
        return


def _set_apart_message(caption: nodes.caption) -> None:
    """Make the first sentence of a caption, which says what the figure shows, strong."""
    if isinstance(caption.next_node(), nodes.strong):
        return
    message = nodes.strong()
    for child in list(caption):
        caption.remove(child)
        if isinstance(child, nodes.Text) and (end := re.search(r"[.!?](?=\s|$)", child)):
            message += nodes.Text(child[: end.end()])
            caption.insert(0, [message, nodes.Text(child[end.end() :])])
            return
        message += child
    caption += message


def prepare_page(
    app: Sphinx, pagename: str, templatename: str, context: dict[str, Any], doctree: Any
) -> None:
    """Defer scripts, leave out what the page does not need, and describe the page."""
    body = context.get("body", "")
    for false, true in FALSE_ROLES.items():
        body = body.replace(false, true)
    context["body"] = body
    scripts = [script for script in context["script_files"] if _needed(script, body)]
    scripts += [_JavaScript(name, priority=900) for name in ONLY_ON.get(pagename, ())]
    context["script_files"] = [_deferred(script) for script in scripts]
    context["css_files"] = [style for style in context["css_files"] if _needed(style, body)]
    context["metatags"] = context.get("metatags", "") + _meta(app, pagename, context, doctree)


def _needed(asset: Any, body: str) -> bool:
    if asset.filename is None:
        # The theme's notes to a version switcher; it would have to load a script before it.
        return not asset.attributes.get("body", "").startswith("DOCUMENTATION_OPTIONS")
    name = str(asset.filename).removeprefix("_static/").partition("?")[0]
    mark = NEEDED_BY.get(name)
    return mark is None or (mark != "" and mark in body)


def _deferred(script: Any) -> Any:
    if script.filename is None:
        return script
    attributes = {**script.attributes, "defer": "defer"}
    return _JavaScript(script.filename, priority=script.priority, **attributes)


def _meta(app: Sphinx, pagename: str, context: dict[str, Any], doctree: Any) -> str:
    described = 'name="description"' in context.get("metatags", "")
    description = _description(doctree) if doctree is not None else ""
    title = nodes.unescape(context.get("pagetitle", "") or context.get("title", ""))
    address = urljoin(app.config.html_baseurl, f"{pagename}.html")
    image = context["pathto"]("_static/social.png", resource=True)
    if app.config.html_baseurl:
        image = urljoin(app.config.html_baseurl, "_static/social.png")
    tags = {
        "og:type": "article",
        "og:site_name": app.config.html_title,
        "og:title": title or app.config.html_title,
        "og:description": description,
        "og:image": image,
        "og:url": address if app.config.html_baseurl else "",
    }
    lines = [f'<meta property="{key}" content="{_quoted(text)}"/>' for key, text in tags.items()]
    lines = [line for line in lines if 'content=""' not in line]
    if description and not described:
        lines.insert(0, f'<meta name="description" content="{_quoted(description)}"/>')
    icon = context["pathto"]("_static/favicon.png", resource=True)
    lines.append(f'<link rel="apple-touch-icon" href="{icon}"/>')
    return "\n" + "\n".join(lines)


def _description(doctree: nodes.document) -> str:
    """The first paragraph without mathematics, cut at a word."""
    for paragraph in doctree.findall(nodes.paragraph):
        told = "tf-path" not in paragraph["classes"] and len(paragraph.astext()) > 40
        if told and next(paragraph.findall(nodes.math), None) is None:
            text = CITATION.sub("", " ".join(paragraph.astext().split()))
            break
    else:
        return ""
    if len(text) <= DESCRIPTION_LENGTH:
        return text
    return text[:DESCRIPTION_LENGTH].rsplit(" ", 1)[0].rstrip(",;:") + "…"


def _quoted(text: str) -> str:
    return text.replace("&", "&amp;").replace('"', "&quot;").replace("<", "&lt;")


def refuse_broken_site(app: Sphinx, exception: Exception | None) -> None:
    """Let the build fail on a broken link, a missing file or a request to another host."""
    if exception is not None or app.builder.format != "html":
        return
    names = [*sorted(app.env.found_docs), *app.config.html_additional_pages, "search", "404"]
    pages = [f"{name}.html" for name in names]
    with progress_message("checking links, files and hosts"):
        problems = check_site(Path(app.outdir), pages)
    # An error raised here would be lost: it makes Sphinx call these hooks a second time.
    for problem in problems:
        LOGGER.warning(problem, type="book", subtype="site")
        app.statuscode = 1


def setup(app: Sphinx) -> dict[str, Any]:
    """Register the transforms and hooks."""
    app.add_post_transform(InlineFigures)
    app.add_post_transform(Mend)
    app.connect("html-page-context", prepare_page, priority=900)
    app.connect("build-finished", refuse_broken_site, priority=900)
    return {"version": "1", "parallel_read_safe": True, "parallel_write_safe": True}
