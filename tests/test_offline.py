"""What the service worker is told of a built site, and what goes into the zip file."""

import hashlib
import json
import zipfile
from pathlib import Path

import pytest

from tformer_book.pipeline.site import archive
from tformer_book.pipeline.site.offline import LATE, WORKER, files, manifest, worker

ROOT = Path(__file__).parents[1]
SITE = {
    "index.html": '<link rel="stylesheet" href="_static/a.css?v=1"><a href="_sources/x.ipynb">x</a>'
    '<a href="deep/page.html#there">page</a><a href="https://example.org/">away</a>',
    "deep/page.html": '<script src="../_static/a.js?v=2"></script><img src="../_images/a.png">',
    "_static/a.css": "@font-face { src: url(fonts/f.woff2) } i { mask: url('data:image/svg+xml,')}",
    "_static/fonts/f.woff2": "font",
    "_static/a.js": "1",
    "_static/unused.js": "2",
    "_static/theme.html": "a part of a theme",
    "_static/widgets/w.js": "3",
    "_static/widgets/w.held.js": "weights",
    "_images/a.png": "picture",
    "_sources/x.ipynb": "{}",
    WORKER: "worker",
    **dict.fromkeys(LATE, "late"),
}
SHOWN = set(SITE) - {"_static/unused.js", "_static/theme.html", "_sources/x.ipynb", WORKER}


@pytest.fixture
def site(tmp_path: Path) -> Path:
    for name, text in SITE.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(text)
    return tmp_path


def book(script: str) -> dict:
    """What a worker is told of the files."""
    return json.loads(script.partition("const BOOK = ")[2].partition(";\n")[0])


def test_the_worker_knows_what_pages_show_and_nothing_else(site: Path) -> None:
    found = files(site)
    assert set(found) == SHOWN
    digest = hashlib.sha256(SITE["_static/a.js"].encode()).hexdigest()
    assert found["_static/a.js"] == digest[:12]


def test_another_content_is_another_version(site: Path) -> None:
    told = book(worker(site, "code();"))
    assert book(worker(site, "code();")) == told
    assert book(worker(site, "other();"))["version"] != told["version"]
    (site / "_static" / "fonts" / "f.woff2").write_text("another font")
    changed = book(worker(site, "code();"))
    assert changed["version"] != told["version"]
    differ = {name for name in SHOWN if changed["files"][name] != told["files"][name]}
    assert differ == {"_static/fonts/f.woff2"}


def test_the_book_tells_browsers_its_icons_in_their_sizes() -> None:
    for icon in manifest("A book")["icons"]:
        data = (ROOT / "assets" / Path(icon["src"]).name).read_bytes()
        size = f"{int.from_bytes(data[16:20], 'big')}x{int.from_bytes(data[20:24], 'big')}"
        assert size == icon["sizes"]


def test_the_zip_file_has_what_pages_show_or_link_to(site: Path, tmp_path: Path) -> None:
    target = tmp_path / "a.zip"
    count = archive.write(site, target)
    with zipfile.ZipFile(target) as file:
        names = {name.removeprefix(f"{archive.NAME}/") for name in file.namelist()}
        assert names == SHOWN | {"_sources/x.ipynb", WORKER}
        assert count == len(names)
    again = tmp_path / "b.zip"
    archive.write(site, again)
    assert again.read_bytes() == target.read_bytes()
