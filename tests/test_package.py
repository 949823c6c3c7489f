"""An installed copy of the library has every file that the code reads."""

import tomllib
from pathlib import Path

ROOT = Path(__file__).parents[1]


def test_every_file_beside_the_code_is_installed() -> None:
    settings = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    patterns = settings["tool"]["setuptools"]["package-data"]["tformer"]
    library = ROOT / "lib" / "tformer"
    files = {path for path in library.rglob("*") if path.is_file() and path.suffix != ".py"}
    files = {path for path in files if path.suffix != ".pyc"}
    installed = {path for pattern in patterns for path in library.glob(pattern)}
    assert {path.suffix for path in files} >= {".js", ".css", ".toml", ".txt"}
    assert sorted(files - installed) == []
