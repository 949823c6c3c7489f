"""What the widgets share: style, helpers, and a life for readers without JavaScript."""

from importlib.resources import files
from typing import Any

import anywidget

WIDGET_VIEW = "application/vnd.jupyter.widget-view+json"


def asset(name: str, package: str = __package__) -> str:
    """The text of a file that lies in a package, by default in this one."""
    return (files(package) / name).read_text(encoding="utf-8")


def module(name: str) -> str:
    """The JavaScript beside the Python module `name`, behind the helpers that all widgets use."""
    package, _, stem = name.rpartition(".")
    return asset("common.js") + asset(f"{stem}.js", package)


class BookWidget(anywidget.AnyWidget):
    """A widget that also says in text and in plain HTML what it shows."""

    _css = asset("widgets.css")

    def fallback(self) -> str:
        """HTML for a page in which no script runs."""
        raise NotImplementedError

    def _repr_mimebundle_(self, **kwargs: Any) -> tuple[dict[str, Any], dict[str, Any]] | None:
        bundle = super()._repr_mimebundle_(**kwargs)
        return bundle and ({**bundle[0], "text/html": self.fallback()}, bundle[1])


def finite(where: str, values: list[float]) -> list[float]:
    """The values, or a ValueError that names the first one that is not a finite number."""
    for i, value in enumerate(values):
        if not abs(value) < float("inf"):
            raise ValueError(f"{where}[{i}] must be a finite number; got {value}")
    return values
