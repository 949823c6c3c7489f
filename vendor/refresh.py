"""Fetch the third-party files again and record their checksums.

Run from anywhere, with npm on the path: `python vendor/refresh.py`. Versions stand in
vendor.json; what was fetched stands in checksums.json, which the tests compare with the files.
"""

import fnmatch
import hashlib
import json
import re
import subprocess
import tarfile
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
VENDOR = ROOT / "vendor"


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
        path.write_bytes(only_woff2(data) if path.suffix == ".css" else data)
        paths.append(path)
    if not paths:
        raise ValueError(f"nothing in the package matches {pattern}")
    return paths


def only_woff2(css: bytes) -> bytes:
    """Drop the font formats that no current browser asks for."""
    return re.sub(rb',url\([^)]*\.(woff|ttf)\) format\("[a-z]+"\)', b"", css)


if __name__ == "__main__":
    main()
