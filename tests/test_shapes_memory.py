"""The memory of the shape checks: it lets through what passed before, and nothing else."""

from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
import torch
from torch.fx.experimental.proxy_tensor import make_fx

from tformer import fast, shapes
from tformer.shapes import ShapeError, checked

X, MASK = np.ones((2, 3)), np.ones((1, 3), bool)


def given(x: np.ndarray, mask: np.ndarray | None = None, bias: np.ndarray | None = None) -> int:
    """How many optional arrays there are.

    Parameters
    ----------
    x : (..., T, S) array
    mask : (..., T or 1, S or 1) boolean array, optional
    bias : (T, S) array, optional

    Returns
    -------
    (..., S) array
        A number, in truth.
    """
    return sum(one is not None for one in (mask, bias))


def test_a_call_like_one_that_passed_is_not_checked_again(monkeypatch: pytest.MonkeyPatch) -> None:
    checks: list[str] = []
    monkeypatch.setattr(shapes, "_bind", lambda where, arrays: checks.append(where))
    monkeypatch.setattr(shapes, "REMEMBERED", 2)
    run = checked(given)
    for array, n in [(X, 1), (X + 1, 1), (X[:1], 2), (X, 2), (X[:0], 3), (X, 4)]:
        run(array)
        assert len(checks) == n


WRONG: dict[str, dict[str, Any]] = {
    "another dtype": {"x": X.astype(np.float32)},
    "another type": {"x": SimpleNamespace(dtype=X.dtype, shape=X.shape)},
    "no type that has a shape": {"x": None},
    "a shape without a hash": {"x": SimpleNamespace(dtype=X.dtype, shape=[2, 3])},
    "another dtype of an optional array": {"mask": MASK.astype(float)},
    "names changed about": {"mask": X, "bias": MASK},
    "another shape": {"bias": X[:1]},
    "another shape where 1 is allowed": {"mask": MASK[:, :2]},
}


@pytest.mark.parametrize("wrong", WRONG.values(), ids=WRONG)
def test_a_call_unlike_those_that_passed_is_checked(wrong: dict[str, Any]) -> None:
    run, right = checked(given), {"x": X, "mask": MASK, "bias": X}
    with pytest.raises((TypeError, ShapeError)) as alone:
        checked(given, tracing=lambda: True)(**right | wrong)
    for _ in range(2):
        assert run(X, MASK, X) == run(X, mask=MASK, bias=X) == run(X, bias=X, mask=MASK) == 2
        assert run(X, MASK) == run(X, bias=X) == run(X, None, X) == 1
        for call in (lambda: run(**right | wrong), lambda: run(*(right | wrong).values())):
            with pytest.raises(alone.type) as after:
                call()
            assert str(after.value) == str(alone.value)


def test_a_missing_array_is_missing_every_time() -> None:
    run: Any = checked(given)
    for _ in range(2):
        with pytest.raises(TypeError, match="missing 1 required positional argument: 'x'"):
            run(mask=MASK)


def test_shapes_are_checked_where_pytorch_traces_with_symbols_for_sizes() -> None:
    traced = make_fx(fast.pairwise_dot, tracing_mode="symbolic")(torch.ones(2, 3), torch.ones(4, 3))
    assert traced(torch.ones(5, 6), torch.ones(7, 6)).shape == (5, 7)
    with pytest.raises(ShapeError, match="pairwise_dot: axis K is"):
        make_fx(fast.pairwise_dot, tracing_mode="symbolic")(torch.ones(2, 3), torch.ones(4, 2))


def test_one_compiled_graph_serves_all_sizes() -> None:
    graphs: list[torch.fx.GraphModule] = []

    def keep(graph: torch.fx.GraphModule, _: Any) -> Any:
        graphs.append(graph)
        return graph.forward

    compiled = torch.compile(fast.pairwise_dot, backend=keep, fullgraph=True, dynamic=True)
    for n in (2, 3, 4):
        assert compiled(torch.ones(n, 5), torch.ones(6, 5)).shape == (n, 6)
    assert len(graphs) == 1
