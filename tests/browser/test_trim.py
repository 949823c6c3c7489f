"""The trimmed style sheet of the theme draws every page as the whole one does."""

import json
from pathlib import Path

import pydata_sphinx_theme
import pytest

from browsing import Visit, settled

WHOLE = Path(pydata_sphinx_theme.__file__).parent / "theme" / "pydata_sphinx_theme" / "static"
STYLE = WHOLE / "styles" / "pydata-sphinx-theme.css"
PAGES = ["index.html", "search.html?q=softmax", "chapters/glossary.html"]
PAGES += ["chapters/03_attention.html", "exercises/solutions/02_softmax.html"]
# Both sheets in the place of the first, of which one at a time is on.
BOTH = """(address) => new Promise((resolve) => {
    document.querySelectorAll("details").forEach((fold) => { fold.open = true; });
    const trimmed = document.querySelector("link[href*='pydata-sphinx-theme.css']");
    const whole = Object.assign(trimmed.cloneNode(), { href: address, onload: resolve });
    trimmed.after(whole);
    window.sheets = [trimmed, whole];
})"""
# One line for each element: its place, its size and how it is drawn. What differs under the sheets.
DIFFERING = """(theme) => {
    const asked = ["display", "position", "color", "backgroundColor", "font", "margin", "padding",
        "borderTop", "borderLeft", "outline", "opacity", "visibility", "overflow", "zIndex",
        "flex", "gap", "textDecoration", "listStyle", "boxShadow", "content", "transform"];
    const elements = [...document.querySelectorAll("body, body *:not(.katex *, svg *)")];
    const line = (el) => {
        const box = el.getBoundingClientRect(), style = getComputedStyle(el);
        const values = asked.map((name) => style[name]);
        return [el.tagName, el.className, box.x, box.y, box.width, box.height, ...values].join("|");
    };
    document.documentElement.dataset.theme = theme;
    const [few, all] = window.sheets.map((one) => {
        window.sheets.forEach(({ sheet }) => { sheet.disabled = sheet !== one.sheet; });
        return elements.map(line);
    });
    return [elements.length, few.map((drawn, i) => [drawn, all[i]]).filter(([a, b]) => a !== b)];
}"""


@pytest.mark.parametrize("name", PAGES)
def test_every_element_is_drawn_as_with_the_whole_sheet(visit: Visit, name: str) -> None:
    page = settled(visit(name, reduced_motion="reduce"))
    page.evaluate(BOTH, STYLE.as_uri())
    for width in (1440, 800, 390):
        page.set_viewport_size({"width": width, "height": 900})
        for theme in ("light", "dark"):
            count, differing = page.evaluate(DIFFERING, theme)
            assert count > 100
            assert differing == [], json.dumps(differing[:3], indent=1)
