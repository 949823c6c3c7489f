"""What the widgets share: style, helpers, and a life for readers without JavaScript."""

from importlib import import_module
from importlib.resources import files
from typing import Any

import anywidget

WIDGET_STATE = "application/vnd.jupyter.widget-state+json"
WIDGET_VIEW = "application/vnd.jupyter.widget-view+json"


def asset(name: str, package: str = __package__) -> str:
    """The text of a file that lies in a package, by default in this one."""
    return (files(package) / name).read_text(encoding="utf-8")


COMMON = asset("common.js")
"""The helpers that stand in front of every widget's own module."""
STYLE = asset("widgets.css")
"""The style that stands in front of every widget's own."""


class BookWidget(anywidget.AnyWidget):
    """A widget that also says in text and in plain HTML what it shows.

    A class in `name.py` draws itself with `name.js`, which lies beside it and may use all that
    `common.js` defines; so may it what stands in the files of helpers that the class names with
    `uses`, a blank between two, and the constant HELD: what stands in the JSON file beside it that
    the class names with `holds`. Its style is `name.css`, if that is there, after what all widgets
    share and what lies beside the helpers. A class made from another widget keeps that widget's
    code and style.

    What is too large for that, a class has as bytes in `held`. They are no part of its state: a
    page has them in a file of their own, and JupyterLab asks Python for them. In both the script
    gets them by one message, which `held` of `storyteller.js` sends when it asks.
    """

    _css = STYLE

    def __init__(self, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.on_msg(self._hand_over)

    @classmethod
    def held(cls) -> bytes:
        """What the script may ask for; nothing, unless a widget says otherwise."""
        return b""

    def _hand_over(self, _: Any, content: dict[str, Any], __: Any) -> None:
        if content == {"ask": "held"}:
            self.send(content, [self.held()])

    def __init_subclass__(cls, uses: str = "", holds: str = "", **kwargs: Any) -> None:
        if not hasattr(cls, "_esm"):
            package, _, stem = cls.__module__.rpartition(".")
            held = f"const HELD = {asset(holds, package).strip()};\n" if holds else ""
            helpers = uses.split()
            shared = "".join(map(asset, helpers))
            cls._esm = COMMON + shared + held + asset(f"{stem}.js", package)
            styles = [(__package__, name.removesuffix("js") + "css") for name in helpers]
            for home, name in (*styles, (package, f"{stem}.css")):
                if (files(home) / name).is_file():
                    cls._css += asset(name, home)
        super().__init_subclass__(**kwargs)

    def fallback(self) -> str:
        """HTML for a page in which no script runs."""
        raise NotImplementedError

    def _repr_mimebundle_(self, **kwargs: Any) -> tuple[dict[str, Any], dict[str, Any]] | None:
        bundle = super()._repr_mimebundle_(**kwargs)
        return bundle and ({**bundle[0], "text/html": self.fallback()}, bundle[1])


def is_ours(name: str) -> bool:
    """Whether `_anywidget_id`, as a notebook stores it, names a widget of this library."""
    return name.startswith("tformer_book.")


def library_class(name: str) -> type[BookWidget] | None:
    """The widget that an `_anywidget_id` names; None if it is not here."""
    module, _, cls = name.rpartition(".")
    if not is_ours(name):
        return None
    try:
        return getattr(import_module(module), cls, None)
    except ModuleNotFoundError as error:
        if not f"{module}.".startswith(f"{error.name}."):
            raise  # the widget is here, and something that it needs is not
        return None


def library_code(name: str) -> dict[str, str] | None:
    """The `_esm` and `_css` of the widget that an `_anywidget_id` names; None if it is not here."""
    widget = library_class(name)
    return {"_esm": str(widget._esm), "_css": str(widget._css)} if widget else None


def library_held(name: str) -> bytes:
    """What the widget that an `_anywidget_id` names holds; nothing if it is not here."""
    widget = library_class(name)
    return widget.held() if widget else b""


def finite(where: str, values: list[float]) -> list[float]:
    """The values, or a ValueError that names the first one that is not a finite number."""
    for i, value in enumerate(values):
        if not abs(value) < float("inf"):
            raise ValueError(f"{where}[{i}] must be a finite number; got {value}")
    return values
