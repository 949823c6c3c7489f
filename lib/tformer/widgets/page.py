"""A Sphinx extension: a reader without JavaScript finds each widget's fallback in its place."""

from docutils import nodes
from sphinx.application import Sphinx

from tformer.widgets.base import WIDGET_VIEW


def keep_fallbacks(app: Sphinx, doctree: nodes.document) -> None:
    """Put the HTML of a widget's output, which myst-nb would drop, into a noscript element."""
    for bundle in doctree.findall(nodes.container):
        if bundle.get("nb_element") != "mime_bundle":
            continue
        inner = [part for part in bundle.children if isinstance(part, nodes.container)]
        parts = {part["mime_type"]: part for part in inner}
        if WIDGET_VIEW in parts and "text/html" in parts:
            html = "".join(raw.astext() for raw in parts["text/html"].findall(nodes.raw))
            parts[WIDGET_VIEW].append(nodes.raw("", f"<noscript>{html}</noscript>", format="html"))


def setup(app: Sphinx) -> dict[str, bool]:
    """Connect to Sphinx."""
    app.connect("doctree-read", keep_fallbacks)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
