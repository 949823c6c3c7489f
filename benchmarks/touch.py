"""What a reader meets in each figure to touch of each page before touching it, at two widths."""

from pathlib import Path
from typing import Any

from pages import FLAGS, chromium, serve
from playwright.sync_api import Browser, Page, sync_playwright

SIGHT = (Path(__file__).parent / "first_sight.js").read_text("utf-8").split("\n", 1)[1]
WIDTHS = {"1440": {}, "390": {"is_mobile": True, "has_touch": True}}
HIGH = 900
FIGURES = ".tf-widget:not(.tf-quiz)"


def measure(root: Path) -> dict[str, Any]:
    """For each page with figures to touch: each figure's height, numbers and tab stops."""
    folder = root / "_build" / "html"
    found = [folder / "index.html", *sorted(folder.glob("chapters/[0-9]*.html"))]
    figures: dict[str, Any] = {}
    with serve(folder) as address, sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=chromium(), args=FLAGS)
        for path in found:
            if "widget-view+json" not in path.read_text("utf-8"):
                continue
            name = path.relative_to(folder).as_posix()
            for width, device in WIDTHS.items():
                for one in _seen(browser, f"{address}/{name}", int(width), device):
                    figures.setdefault(f"{name}, {one.pop('label')}", {})[width] = one
        browser.close()
    return {"figures": figures}


def _seen(browser: Browser, address: str, width: int, device: dict[str, Any]) -> list[Any]:
    page = browser.new_page(viewport={"width": width, "height": HIGH}, **device)
    page.goto(address, wait_until="networkidle")
    _draw(page)
    found = [
        {"label": one.get_attribute("aria-label"), **one.evaluate(SIGHT)}
        for one in page.locator(FIGURES).all()
    ]
    page.close()
    return found


def _draw(page: Page) -> None:
    """Come near each figure once: some are drawn, or fetch what they need, when a reader does."""
    for place in page.locator("script[type$='widget-view+json']").all():
        place.evaluate("(el) => el.nextElementSibling?.scrollIntoView({ behavior: 'instant' })")
    page.wait_for_load_state("networkidle")
