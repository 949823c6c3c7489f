"""The trimmed style sheet of the theme draws every page as the whole one does."""

import json
from pathlib import Path

import pydata_sphinx_theme
import pytest

from browsing import Visit

WHOLE = Path(pydata_sphinx_theme.__file__).parent / "theme" / "pydata_sphinx_theme" / "static"
STYLE = WHOLE / "styles" / "pydata-sphinx-theme.css"
PAGES = ["index.html", "search.html?q=softmax", "chapters/glossary.html"]
PAGES += ["chapters/03_attention.html", "exercises/solutions/02_softmax.html"]
# One line for each element: its place, its size and how it is drawn.
DRAWN = """() => {
    document.querySelectorAll("details").forEach((fold) => { fold.open = true; });
    const asked = ["display", "position", "color", "backgroundColor", "font", "margin", "padding",
        "borderTop", "borderLeft", "outline", "opacity", "visibility", "overflow", "zIndex",
        "flex", "gap", "textDecoration", "listStyle", "boxShadow", "content", "transform"];
    return [...document.querySelectorAll("body, body *:not(.katex *, svg *)")].map((el) => {
        const box = el.getBoundingClientRect(), style = getComputedStyle(el);
        const values = asked.map((name) => style[name]);
        return [el.tagName, el.className, box.x, box.y, box.width, box.height, ...values].join("|");
    });
}"""


@pytest.mark.parametrize("name", PAGES)
def test_every_element_is_drawn_as_with_the_whole_sheet(visit: Visit, name: str) -> None:
    drawn = []
    for whole in (False, True):
        page = visit("404.html", reduced_motion="reduce")
        address = page.url.replace("404.html", name)
        if whole:
            page.route("**/pydata-sphinx-theme.css*", lambda route: route.fulfill(path=STYLE))
        page.goto(address)
        page.wait_for_function("document.readyState === 'complete'")
        page.evaluate("document.fonts.ready")
        page.wait_for_timeout(600)
        found = []
        for width in (1440, 800, 390):
            page.set_viewport_size({"width": width, "height": 900})
            for theme in ("light", "dark"):
                page.evaluate("(it) => { document.documentElement.dataset.theme = it; }", theme)
                page.wait_for_timeout(450)
                found += page.evaluate(DRAWN)
        drawn.append(found)
    differing = [pair for pair in zip(*drawn, strict=True) if pair[0] != pair[1]]
    assert differing == [], json.dumps(differing[:3], indent=1)
