"""What the browser tests share: sizes, pages, and how a widget is shown and asked."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import yaml

if TYPE_CHECKING:  # the tests that need no browser need no Playwright either
    from playwright.sync_api import ConsoleMessage, Locator, Page, Route

    from tformer_book.widgets.base import BookWidget

Visit = Callable[..., "Page"]

ROOT = Path(__file__).parents[1]
HOST = ROOT / "assets" / "widget-host.js"
STYLE = ROOT / "assets" / "book.css"
FONTS = ROOT / "vendor" / "web" / "source-serif-4"
AXE = ROOT / "tests" / "browser" / "vendor" / "axe-core" / "axe.min.js"
DESKTOP = {"width": 1280, "height": 900}
PHONE = {"width": 360, "height": 740}
IN_THE_HAND = {"viewport": PHONE, "has_touch": True, "is_mobile": True}
ELSEWHERE = re.compile(r"^(?!file:|data:|blob:|http://127\.0\.0\.1:)")
COLOUR = ["color-contrast", "link-in-text-block"]

WIDGET = "application/vnd.jupyter.widget"


def toc_pages() -> list[str]:
    """Every page of the table of contents, as the address of its file in the built book."""
    toc = yaml.safe_load((ROOT / "_toc.yml").read_text(encoding="utf-8"))
    chapters = [entry for part in toc["parts"] for entry in part["chapters"]]
    pages = [page["file"] for entry in chapters for page in [entry, *entry.get("sections", [])]]
    return [f"{name}.html" for name in [toc["root"], *pages]]


def watch(page: Page, troubles: list[str]) -> None:
    """Refuse every other host, and note that and each error."""

    def refuse(route: Route) -> None:
        troubles.append(f"asked another host: {route.request.url}")
        route.abort()

    def hear(message: ConsoleMessage) -> None:
        if message.type == "error":
            troubles.append(f"console: {message.text}")

    page.context.route(ELSEWHERE, refuse)
    page.on("console", hear)
    page.on("pageerror", lambda error: troubles.append(f"error: {error}"))


def settled(page: Page) -> Page:
    """Wait for fonts and formulas."""
    page.wait_for_function("document.readyState === 'complete'")
    page.evaluate("document.fonts.ready")
    return page


# ---- widgets ----------------------------------------------------------------------------


def page_of(*widgets: BookWidget) -> str:
    """A page with these widgets, their state written in it, the book's colours and the host."""
    states = {f"m{i}": {"state": widget.get_state()} for i, widget in enumerate(widgets)}
    state = json.dumps({"state": states}, default=str).replace("</", "<\\/")
    view = f'<script type="{WIDGET}-view+json">{{"model_id": "%s"}}</script>'
    return (
        '<!doctype html><html lang="en"><meta charset="utf-8"><title>widgets</title>'
        '<meta name="viewport" content="width=device-width"><link rel="stylesheet" href="book.css">'
        "<style>body { background: var(--pst-color-background) }</style>"
        f"<body>{''.join(view % name for name in states)}"
        f'<script type="{WIDGET}-state+json">{state}</script><script src="widget-host.js"></script>'
    )


def value(widget: Locator, name: str) -> list[float]:
    """The exact numbers behind what a widget shows."""
    text = widget.locator(f"data.tf-{name}").first.get_attribute("value")
    return [math.nan if part == "NaN" else float(part) for part in text.split(",")]


def values(widget: Locator, name: str) -> list[float]:
    """The exact numbers behind all that a widget shows under a name."""
    texts = widget.locator(f"data.tf-{name}").evaluate_all("(all) => all.map((it) => it.value)")
    return [float(text) for text in texts]


SEEN = """(widget) => {
    const texts = [], walk = document.createTreeWalker(widget, NodeFilter.SHOW_TEXT);
    while (walk.nextNode()) {
        const { parentElement: el } = walk.currentNode, range = document.createRange();
        range.selectNodeContents(walk.currentNode);
        const seen = el.checkVisibility({ visibilityProperty: true }) && !el.closest(".tf-voice");
        if (seen && range.getClientRects().length) texts.push(walk.currentNode.textContent);
    }
    const fields = [...widget.querySelectorAll("input[type=number]")];
    return [...texts, ...fields.filter((e) => e.checkVisibility()).map((e) => e.value)];
}"""


def numerals(widget: Locator) -> list[str]:
    """The numbers that a widget shows to the eye, what is folded away apart."""
    return [n for text in widget.evaluate(SEEN) for n in re.findall(r"\d+(?:\.\d+)?", text)]


def tab_stops(widget: Locator) -> int:
    """How many times Tab stops in a widget; radio buttons of one group are one stop."""
    return widget.evaluate("""(widget) => {
        const kinds = "button, input, select, textarea, summary, [tabindex]";
        const all = [...widget.querySelectorAll(kinds)]
            .filter((e) => e.tabIndex >= 0 && !e.disabled && e.checkVisibility());
        return new Set(all.map((e) => (e.type === "radio" ? e.name : e))).size;
    }""")


def violations(page: Page) -> list[list[str]]:
    """What axe finds in the widgets of the page: all rules in the light theme, colours in both."""
    page.emulate_media(reduced_motion="reduce")  # colours are judged at rest
    page.evaluate(AXE.read_text(encoding="utf-8"))
    code = """async ([theme, options]) => {
        document.documentElement.dataset.theme = theme;
        const shared = { preload: false, resultTypes: ["violations"] };
        const found = await axe.run({ include: [".tf-widget"] }, { ...shared, ...options });
        const told = found.violations.map((v) => [theme, v.id, v.nodes[0].html]);
        return found.passes.length ? told : [...told, [theme, "axe has looked at nothing"]];
    }"""
    tried = [("light", {}), ("dark", {"runOnly": COLOUR})]
    return [told for theme, options in tried for told in page.evaluate(code, [theme, options])]


LOAD = """async ([code, name, calls]) => {
    const url = URL.createObjectURL(new Blob([code], { type: "text/javascript" }));
    const { core } = await import(url);
"""
AS_TEXT = """
    const read = (_, x) => typeof x === "string" ? Number(x) : x;
    const write = (_, x) => typeof x === "number" ? String(x) : x;
    return JSON.stringify(JSON.parse(calls, read).map((call) => core[name](...call)), write);
}"""


def evaluate(page: Page, widget: type[BookWidget], function: str, calls: list) -> list:
    """Call an exported function of a widget's module once for each list of numbers.

    Numbers travel as text, both ways, because JSON has no NaN and no infinity.
    """
    sent = json.dumps([_written(call) for call in calls])
    return json.loads(page.evaluate(LOAD + AS_TEXT, [widget._esm, function, sent]))


def call(page: Page, widget: type[BookWidget], function: str, calls: list) -> list:
    """`evaluate` for arguments that also hold text, which stays text, and for finite numbers."""
    code = LOAD + "return JSON.stringify(JSON.parse(calls).map((call) => core[name](...call))); }"
    return json.loads(page.evaluate(code, [widget._esm, function, json.dumps(calls)]))


def _written(x: Any) -> Any:
    if isinstance(x, list):
        return [_written(item) for item in x]
    return x if isinstance(x, bool) else repr(x).replace("inf", "Infinity").replace("nan", "NaN")


def numbers(texts: object) -> np.ndarray:
    """The numbers that `evaluate` gives as texts."""
    return np.array(texts, dtype=float)
