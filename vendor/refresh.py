"""Fetch the third-party files again and record their checksums.

Run from anywhere, with npm on the path and the book's Python: `.venv/bin/python vendor/refresh.py`.
Versions stand in vendor.json; what was fetched stands in checksums.json, which the tests compare
with the files.
"""

import fnmatch
import hashlib
import io
import json
import re
import subprocess
import tarfile
import tempfile
from pathlib import Path

from fontTools import subset
from fontTools.ttLib import TTFont

ROOT = Path(__file__).resolve().parent.parent
VENDOR = ROOT / "vendor"
FIGURE_FONT = "Book Serif"
# Latin, Greek, punctuation and raised or lowered digits, arrows and signs of mathematics.
FIGURE_LETTERS = "20-7E A0-FF 370-3FF 2010-204F 2070-209C 2190-2199 2200-22FF 2113 2713"
FIGURE_FEATURES = ["kern", "liga", "mark"]


def main() -> None:
    """Fetch every package of vendor.json and write checksums.json."""
    sums = {}
    for package in json.loads((VENDOR / "vendor.json").read_text()):
        for path in fetch(package):
            sums[path.relative_to(ROOT).as_posix()] = hashlib.sha256(path.read_bytes()).hexdigest()
    text = json.dumps(dict(sorted(sums.items())), indent=2)
    (VENDOR / "checksums.json").write_text(text + "\n")


def fetch(package: dict) -> list[Path]:
    """Unpack the wanted files of one package where vendor.json says."""
    with tempfile.TemporaryDirectory() as folder:
        name = f"{package['package']}@{package['version']}"
        packed = subprocess.run(
            ["npm", "pack", "--json", name], cwd=folder, check=True, capture_output=True, text=True
        )
        archive = Path(folder, json.loads(packed.stdout)[0]["filename"])
        with tarfile.open(archive) as tar:
            return [path for item in package["files"].items() for path in extract(tar, *item)]


def extract(tar: tarfile.TarFile, pattern: str, target: str) -> list[Path]:
    """Write the members that match; a target that ends in / keeps their names."""
    paths = []
    for member in tar.getmembers():
        if not fnmatch.fnmatch(member.name, f"package/{pattern}"):
            continue
        path = ROOT / target / Path(member.name).name if target.endswith("/") else ROOT / target
        path.parent.mkdir(parents=True, exist_ok=True)
        source = tar.extractfile(member)
        if source is None:
            raise ValueError(f"{member.name} is not a plain file")
        data = source.read()
        path.write_bytes(REWRITTEN.get(path.suffix, bytes)(data))
        paths.append(path)
    if not paths:
        raise ValueError(f"nothing in the package matches {pattern}")
    return paths


def only_woff2(css: bytes) -> bytes:
    """Drop the font formats that no current browser asks for."""
    return re.sub(rb',url\([^)]*\.(woff|ttf)\) format\("[a-z]+"\)', b"", css)


def figure_font(data: bytes) -> bytes:
    """The letters that figures use, for matplotlib, under a name of their own.

    The licence reserves the name of the typeface for the whole of it; and a font of another name is
    never taken for one that the machine has.
    """
    font = TTFont(io.BytesIO(data), recalcTimestamp=False)
    options = subset.Options(hinting=False, layout_features=FIGURE_FEATURES)
    options.name_IDs = [0, 1, 2, 3, 4, 5, 6, 13, 14]
    subsetter = subset.Subsetter(options)
    subsetter.populate(unicodes=subset.parse_unicodes(FIGURE_LETTERS))
    subsetter.subset(font)
    style = font["CFF "].cff.fontNames[0].rpartition("-")[2]
    style, weight = {"It": ("Italic", 400), "Semibold": ("Bold", 700)}.get(style, ("Regular", 400))
    font["OS/2"].usWeightClass = weight
    own = {1: FIGURE_FONT, 2: style, 3: f"{FIGURE_FONT} {style}", 4: f"{FIGURE_FONT} {style}"}
    own[6] = f"{FIGURE_FONT.replace(' ', '')}-{style}"
    font["CFF "].cff.fontNames[0] = own[6]
    for record in font["name"].names:
        record.string = own.get(record.nameID, record.toUnicode())
    top = font["CFF "].cff.topDictIndex[0]
    top.FullName, top.FamilyName = own[4], FIGURE_FONT
    packed = io.BytesIO()
    font.save(packed)
    return packed.getvalue()


REWRITTEN = {".css": only_woff2, ".otf": figure_font}


if __name__ == "__main__":
    main()
