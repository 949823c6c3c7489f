"""Sphinx extension: the book as an app that can be installed and read without a network.

The build writes a manifest, and a service worker that knows every file of the book by its checksum.
"""

import gzip
import hashlib
import json
from pathlib import Path
from typing import Any

from sphinx.application import Sphinx

from tformer_book.pipeline.site.check import CSS_URL, Page, target_of
from tformer_book.pipeline.site.feed import FILE as FEED

WORKER, MANIFEST = "worker.js", "manifest.webmanifest"
COMPRESSED = {".woff2", ".png"}
# What scripts fetch when a reader asks for it, and so no page names.
LATE = [f"_static/{name}" for name in ("book-search.js", "search.js", "lecture.js", "lecture.css")]
LATE += ["_static/icon-192.png", "_static/icon-512.png", MANIFEST, FEED]
INK, PAPER = "#14548c", "#fdfdfb"


def files(root: Path) -> dict[str, str]:
    """The files that the pages of a site show, by name, each with its checksum of 12 digits.

    Sources and downloads are not among them, nor what no page loads.
    """
    root = root.resolve()
    pages = sorted(root.rglob("*.html"))
    pages = [page for page in pages if not page.relative_to(root).parts[0].startswith("_")]
    found = {*pages, *root.glob("_static/widgets/*"), *(root / name for name in LATE)}
    for page in pages:
        found.update(target_of(page, url) for url in Page(page).loads)
    for style in [path for path in found if path.suffix == ".css" and path.is_file()]:
        urls = CSS_URL.findall(style.read_text(encoding="utf-8"))
        found.update(target_of(style, url) for url in urls if not url.startswith("data:"))
    names = {path.relative_to(root).as_posix(): path for path in found if path.is_file()}
    return {name: _sum(names[name].read_bytes()) for name in sorted(names)}


def _sum(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()[:12]


def manifest(title: str) -> dict[str, Any]:
    """What a browser must know to install the book."""
    icon = {"type": "image/png", "purpose": "any maskable"}
    return {
        "name": title,
        "short_name": "Transformer",
        "lang": "en-GB",
        "id": "executable-transformer",
        "start_url": "index.html",
        "scope": "./",
        "display": "standalone",
        "background_color": PAPER,
        "theme_color": INK,
        "icons": [
            {"src": f"_static/icon-{size}.png", "sizes": f"{size}x{size}", **icon}
            for size in (192, 512)
        ],
    }


def worker(root: Path, code: str) -> str:
    """The script of the service worker: what it must know of the files, and its code."""
    sums = files(root)
    version = _sum(json.dumps([sums, code]).encode())
    light = [root / name for name in sums if not name.endswith(".held.js")]
    size = round(sum(map(_moved, light)) / 1e6, 1)
    book = json.dumps({"version": version, "megabytes": size, "files": sums}, indent=0)
    return f'"use strict";\nconst BOOK = {book};\n{code}'


def _moved(path: Path) -> int:
    data = path.read_bytes()
    return len(data if path.suffix in COMPRESSED else gzip.compress(data, 6))


def write(app: Sphinx, exception: Exception | None) -> None:
    """Write both into the built book, when all else is there."""
    if exception is not None or app.builder.format != "html":
        return
    root = Path(app.outdir)
    about = json.dumps(manifest(app.config.html_title), indent=1)
    (root / MANIFEST).write_text(f"{about}\n", encoding="utf-8")
    code = Path(app.srcdir, "assets", WORKER).read_text(encoding="utf-8")
    (root / WORKER).write_text(worker(root, code), encoding="utf-8")


def setup(app: Sphinx) -> dict[str, Any]:
    """Write after the pages have got their last form."""
    app.connect("build-finished", write, priority=850)
    return {"version": "1", "parallel_read_safe": True, "parallel_write_safe": True}
