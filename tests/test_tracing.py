"""The checks of arguments where PyTorch traces or compiles a function."""

from typing import Any

import pytest
import torch
from torch.fx.experimental.proxy_tensor import make_fx

from tformer import fast
from tformer.shapes import ShapeError


def test_shapes_are_checked_where_pytorch_traces_with_symbols_for_sizes() -> None:
    traced = make_fx(fast.pairwise_dot, tracing_mode="symbolic")(torch.ones(2, 3), torch.ones(4, 3))
    assert traced(torch.ones(5, 6), torch.ones(7, 6)).shape == (5, 7)
    with pytest.raises(ShapeError, match="pairwise_dot: axis d_k is"):
        make_fx(fast.pairwise_dot, tracing_mode="symbolic")(torch.ones(2, 3), torch.ones(4, 2))


@pytest.mark.parametrize(
    ("function", "given"),
    [(fast.pairwise_dot, {}), (fast.attention_weights, {}), (fast.attention_weights, {"scale": 2})],
)
def test_one_compiled_graph_serves_all_sizes(function: Any, given: dict[str, Any]) -> None:
    graphs: list[torch.fx.GraphModule] = []

    def keep(graph: torch.fx.GraphModule, _: Any) -> Any:
        graphs.append(graph)
        return graph.forward

    compiled = torch.compile(function, backend=keep, fullgraph=True, dynamic=True)
    for n in (2, 3, 4):
        assert compiled(torch.ones(n, 5), torch.ones(6, 5), **given).shape == (n, 6)
    assert len(graphs) == 1
