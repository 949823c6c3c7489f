"""The checks of arguments where PyTorch traces or compiles a function."""

from typing import Any

import pytest
import torch
from torch.fx.experimental.proxy_tensor import make_fx

from tformer import fast
from tformer.parameters import HeadParameters
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


WEIGHTS = HeadParameters(torch.ones(4, 6, 2), *[torch.ones(2, 6, 2)] * 2, torch.ones(4, 2, 6))
LAYERS = {
    "causal attention": lambda x: fast.causal_attention(x, x, x),
    "many heads": lambda x: fast.multi_head_attention(x, WEIGHTS),
    "neighbours turned": lambda x: fast.rope(x, x.cos()),
}


@pytest.mark.parametrize("layer", LAYERS.values(), ids=LAYERS)
def test_layers_compile_to_one_graph_that_gives_the_same(layer: Any) -> None:
    graphs: list[torch.fx.GraphModule] = []

    def keep(graph: torch.fx.GraphModule, _: Any) -> Any:
        graphs.append(graph)
        return graph.forward

    compiled = torch.compile(layer, backend=keep, fullgraph=True, dynamic=True)
    for n in (20, 21, 24):
        x = torch.arange(2.0 * n * 6).view(2, n, 6).sin()
        torch.testing.assert_close(compiled(x), layer(x), rtol=0, atol=1e-6)
    assert len(graphs) == 1
