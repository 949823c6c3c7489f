"""A Sphinx extension: what a published page does with the widgets of its notebook.

A page loads their code and style from files that all pages share, and a reader without JavaScript
finds each widget's fallback in its place. A page that is no notebook can show a widget too.
"""

import ast
import base64
import json
from importlib import import_module
from pathlib import Path
from typing import Any

from docutils import nodes
from myst_nb.sphinx_ import NbMetadataCollector
from sphinx.application import Sphinx
from sphinx.util.docutils import SphinxDirective

from tformer_book.widgets.base import (
    COMMON,
    STYLE,
    WIDGET_STATE,
    WIDGET_VIEW,
    library_code,
    library_held,
)

HELD = ".held.js"
"""How the name of a file ends that is loaded when a widget asks for it."""


class Touch(SphinxDirective):
    """`{touch} module.Class`: the widget as the library makes it now; the body holds its arguments.

    Each line of the body is `name = value`, the value a Python literal.
    """

    required_arguments = 1
    has_content = True

    def run(self) -> list[nodes.Node]:
        """Make the widget, keep its state for the page, and stand its view here."""
        module, _, name = self.arguments[0].rpartition(".")
        pairs = (line.split("=", 1) for line in self.content if line.strip())
        arguments = {key.strip(): ast.literal_eval(value.strip()) for key, value in pairs}
        widget = getattr(import_module(module), name)(**arguments)
        number = self.env.new_serialno("touch")
        model_id = f"{number:032d}"
        state = {k: v for k, v in widget.get_state().items() if k != "layout"}
        docname = self.env.docname
        kept = self.env.temp_data.setdefault("touch", {})
        kept[model_id] = {"model_module": "anywidget", "model_name": "AnyModel", "state": state}
        body = json.dumps({"state": kept, "version_major": 2, "version_minor": 0})
        script = {"type": WIDGET_STATE, "body": body}
        NbMetadataCollector.add_js_file(self.env, docname, "ipywidgets_state", None, script)
        for i, (path, options) in enumerate(self.config.nb_ipywidgets_js.items()):
            NbMetadataCollector.add_js_file(self.env, docname, f"ipywidgets_{i}", path, options)
        view = json.dumps({"model_id": model_id, "version_major": 2, "version_minor": 0})
        html = (
            f'<script type="{WIDGET_VIEW}">{view}</script><noscript>{widget.fallback()}</noscript>'
        )
        return [nodes.raw("", html, format="html")]


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
            data = library_held(name)
            if data:  # the page knows that something will come
                files[f"{name}.js"] += f'(window.widgetHeld ??= {{}})["{name}"] ??= "";\n'
                files[f"{name}{HELD}"] = held_script(name, data)
            files["widgets.css"] = STYLE
            if css := code["_css"].removeprefix(STYLE):
                files[f"{name}.css"] = css
    return json.dumps(embedded).replace("</", r"<\/"), files


def held_script(name: str, data: bytes) -> str:
    """The script by which a page gets what a widget holds: bytes as base64."""
    text = base64.b64encode(data).decode()
    return f'(window.widgetHeld ??= {{}})["{name}"] = "{text}";\n'


def _publish(app: Sphinx, name: str, text: str) -> None:
    # Scripts come before the host (priority 500), the style after the book's own (800).
    path = Path(app.outdir, "_static", "widgets", name)
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8", newline="\n")
    if name.endswith(HELD):
        return  # it is loaded when a reader comes near the figure
    if path.suffix == ".js":
        app.add_js_file(f"widgets/{name}", priority=400, defer="defer")
    else:
        app.add_css_file(f"widgets/{name}", priority=900)


def setup(app: Sphinx) -> dict[str, bool]:
    """Connect to Sphinx."""
    app.add_directive("touch", Touch)
    app.connect("doctree-read", keep_fallbacks)
    app.connect("html-page-context", share_code, priority=600)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
