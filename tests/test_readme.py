"""The code block of README.md runs as it stands there, and gives what its comments say."""

import re
from pathlib import Path
from typing import Any

import pytest

README = Path(__file__).parents[1] / "README.md"
BLOCK = re.compile(r"^```python\n(.*?)^```$", re.MULTILINE | re.DOTALL)
SHAPE = re.compile(r"^(\w+) = .*  # \(([\d, ]+)\)$", re.MULTILINE)


def test_the_code_block_attends_saves_loads_and_writes(
    checkpoint: Any,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    """`checkpoint` skips it where the model is not installed."""
    (code,) = BLOCK.findall(README.read_text(encoding="utf-8"))
    monkeypatch.chdir(tmp_path)
    found: dict[str, Any] = {}
    exec(code, found)
    shapes = {name: tuple(map(int, axes.split(","))) for name, axes in SHAPE.findall(code)}
    assert shapes == {name: found[name].shape for name in ("y", "logits")}
    assert [x.name for x in tmp_path.iterdir()] == ["model.safetensors"]
    assert capsys.readouterr().out == " Paris.\n"
