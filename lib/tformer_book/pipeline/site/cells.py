"""Sphinx extension: on a page, a cell that only shows something shows it and hides its own line.

The notebook keeps every line. On the page, what a reader should read is never hidden: a cell that
computes anything keeps its code.
"""

import ast
from typing import Any

from docutils import nodes
from sphinx.application import Sphinx
from sphinx.transforms.post_transforms import SphinxPostTransform

SHOWS = {"show", "source"}


def only_shows(code: str) -> bool:
    """Whether a cell only imports and names constants, or only shows something.

    It may show a figure, a figure to touch, a quiz or a source.
    A figure to touch is a class; its name begins with a capital letter.
    """
    try:
        body = ast.parse(code).body
    except SyntaxError:
        return False
    if any(isinstance(line, ast.Import | ast.ImportFrom) for line in body):
        return all(_prepares(line) for line in body)
    return len(body) == 1 and isinstance(body[0], ast.Expr) and _shows(body[0].value)


def _prepares(line: ast.stmt) -> bool:
    if isinstance(line, ast.Assign):
        made = ast.unparse(line.value).startswith("np.random.default_rng")
        return made or isinstance(line.value, ast.Tuple | ast.Constant)
    return isinstance(line, ast.Import | ast.ImportFrom)


def _shows(call: ast.expr) -> bool:
    if not isinstance(call, ast.Call):
        return False
    name = ast.unparse(call.func).partition(".")[0]
    return name in SHOWS or name[:1].isupper()


class HideInputs(SphinxPostTransform):
    """Take the input of such cells off the page."""

    default_priority = 403
    formats = ("html",)

    def run(self, **kwargs: Any) -> None:
        """Look at every code cell of the page."""
        for cell in list(self.document.findall(nodes.container)):
            code = cell.children[0] if cell.get("nb_element") == "cell_code" else None
            if isinstance(code, nodes.container) and only_shows(code.astext()):
                cell.remove(code)
                if not cell.children:
                    cell.parent.remove(cell)


def setup(app: Sphinx) -> dict[str, bool]:
    """Connect to Sphinx."""
    app.add_post_transform(HideInputs)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
