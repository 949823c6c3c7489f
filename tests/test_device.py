"""The choice of a device: CUDA, then MPS, then CPU, unless told otherwise."""

import pytest
import torch

from tformer.fast import pick_device


def pretend(monkeypatch: pytest.MonkeyPatch, cuda: int, mps: bool, asked: str | None) -> None:
    monkeypatch.setattr(torch.cuda, "device_count", lambda: cuda)
    monkeypatch.setattr(torch.backends.mps, "is_available", lambda: mps)
    monkeypatch.delenv("TFORMER_DEVICE", raising=False)
    if asked is not None:
        monkeypatch.setenv("TFORMER_DEVICE", asked)


@pytest.mark.parametrize(
    ("cuda", "mps", "asked", "name", "expected"),
    [
        (2, True, None, None, "cuda"),
        (0, True, None, None, "mps"),
        (0, False, None, None, "cpu"),
        (2, True, "mps", None, "mps"),
        (2, True, "", None, "cuda"),
        (2, True, "mps", "cpu", "cpu"),
        (2, False, None, "cuda:1", "cuda:1"),
    ],
)
def test_order_of_choice(
    monkeypatch: pytest.MonkeyPatch,
    cuda: int,
    mps: bool,
    asked: str | None,
    name: str | None,
    expected: str,
) -> None:
    pretend(monkeypatch, cuda, mps, asked)
    assert pick_device(name) == torch.device(expected)


@pytest.mark.parametrize("name", ["cuda:2", "mps", "xpu", "abacus"])
def test_a_device_that_is_not_there_is_refused(monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    pretend(monkeypatch, cuda=2, mps=False, asked=None)
    with pytest.raises(ValueError, match=f"pick_device: '{name}' is not"):
        pick_device(name)
