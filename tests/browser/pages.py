"""Names that the browser tests share."""

from collections.abc import Callable
from pathlib import Path

import yaml
from playwright.sync_api import Page

ROOT = Path(__file__).parents[2]
DESKTOP = {"width": 1280, "height": 900}
PHONE = {"width": 360, "height": 740}

Visit = Callable[..., Page]


def toc_pages() -> list[str]:
    """Every page of the table of contents, as the address of its file in the built book."""
    toc = yaml.safe_load((ROOT / "_toc.yml").read_text(encoding="utf-8"))
    files = [toc["root"]] + [entry["file"] for part in toc["parts"] for entry in part["chapters"]]
    return [f"{name}.html" for name in files]
