"""A Sphinx extension: what a published page does with the widgets of its notebook.

A page loads their code and style from files that all pages share, and a reader without JavaScript
finds each widget's fallback in its place.
"""

import json
from pathlib import Path
from typing import Any

from docutils import nodes
from sphinx.application import Sphinx

from tformer.widgets.base import COMMON, WIDGET_STATE, WIDGET_VIEW, library_code


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


def share_code(
    app: Sphinx, pagename: str, templatename: str, context: dict[str, Any], doctree: Any
) -> None:
    """Leave the code of our widgets out of the state that a page embeds; load it from files."""
    for script in list(context["script_files"]):
        if script.attributes.get("type") == WIDGET_STATE:
            script.attributes["body"], files = without_code(script.attributes["body"])
            for name, text in files.items():
                _publish(app, name, text)


def without_code(body: str) -> tuple[str, dict[str, str]]:
    """Return an embedded state without the code of our widgets, and that code as files by name."""
    embedded, files = json.loads(body), {}
    for model in embedded["state"].values():
        name = model["state"].get("_anywidget_id", "")
        if code := library_code(name):
            model["state"] = {key: text for key, text in model["state"].items() if key not in code}
            own = code["_esm"].removeprefix(COMMON)
            files["common.js"] = f"var widgetCode = {{ common: {json.dumps(COMMON)} }};\n"
            files[f"{name}.js"] = f'widgetCode["{name}"] = widgetCode.common + {json.dumps(own)};\n'
            files["widgets.css"] = code["_css"]
    return json.dumps(embedded).replace("</", r"<\/"), files


def _publish(app: Sphinx, name: str, text: str) -> None:
    # Scripts come before the host (priority 500), the style after the book's own (800).
    path = Path(app.outdir, "_static", "widgets", name)
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8", newline="\n")
    if path.suffix == ".js":
        app.add_js_file(f"widgets/{name}", priority=400, defer="defer")
    else:
        app.add_css_file(f"widgets/{name}", priority=900)


def setup(app: Sphinx) -> dict[str, bool]:
    """Connect to Sphinx."""
    app.connect("doctree-read", keep_fallbacks)
    app.connect("html-page-context", share_code, priority=600)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
