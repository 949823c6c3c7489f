"""Measure experts beside a loop over all of them and transformers: python benchmarks/experts.py.

Written to benchmarks/results/experts.json and benchmarks/experts.md. Eight experts, two a token,
d_model 256, hidden width 1,024, float32, forward only. One thread, and time of the processor. What
is compared is timed in turns, and the smallest time of each counts. Before each timed call the same
call is made untimed, so that all find in the caches what they left there: at few tokens this
decides. The published class is that of Mixtral in transformers, with the same weights; its logits
are compared before anything is timed.

Two more times say what is possible: that of the products alone (three for each expert that is
chosen, with its rows), and that of reading the weights of these experts once.
"""

import json
import os
import time
from collections.abc import Callable
from pathlib import Path

ONE_THREAD = {f"{x}_NUM_THREADS": "1" for x in ("OMP", "OPENBLAS", "MKL", "VECLIB_MAXIMUM")}
os.environ.update(ONE_THREAD)

import machine  # noqa: E402
import torch  # noqa: E402
from torch import Tensor  # noqa: E402
from transformers import MixtralConfig  # noqa: E402
from transformers.models.mixtral.modeling_mixtral import MixtralSparseMoeBlock  # noqa: E402

from tformer import fast  # noqa: E402
from tformer.configuration import Configuration  # noqa: E402
from tformer.layer_configuration import Routing  # noqa: E402
from tformer.layers import ExpertParameters  # noqa: E402
from tformer.parameters import FeedForwardParameters  # noqa: E402

HERE = Path(__file__).parent
RESULT = HERE / "results" / "experts.json"
WIDTH, HIDDEN, EXPERTS, CHOSEN = 256, 1024, 8, 2
TOKENS = (1, 16, 128, 1024)
SECONDS = 40.0
"""For all that is compared, at each number of tokens."""
ROUTING = Routing(CHOSEN, renormalise=True)
LIBRARY, LOOP, PUBLISHED = "library", "loop over all experts", "transformers"
PRODUCTS, READING = "products alone", "reading"


def published() -> MixtralSparseMoeBlock:
    """Mixtral's block of experts with random weights."""
    config = MixtralConfig(
        hidden_size=WIDTH,
        intermediate_size=HIDDEN,
        num_local_experts=EXPERTS,
        num_experts_per_tok=CHOSEN,
    )
    config._experts_implementation = "eager"
    block = MixtralSparseMoeBlock(config).eval()
    generator = torch.Generator().manual_seed(0)
    for x in block.parameters():
        torch.nn.init.normal_(x, std=WIDTH**-0.5, generator=generator)
    return block


def parameters(block: MixtralSparseMoeBlock) -> ExpertParameters:
    """The same weights in the library's form."""
    gate, up = block.experts.gate_up_proj.detach().chunk(2, dim=1)
    down = block.experts.down_proj.detach()
    w_in, w_gate, w_out = (x.mT.contiguous() for x in (up, gate, down))
    return ExpertParameters(block.gate.weight.detach().mT, w_in, w_gate, w_out)


def by_library(x: Tensor, p: ExpertParameters) -> Tensor:
    weights = fast.top_k_routing(x @ p.w_router, ROUTING)
    return fast.mixture_of_experts(x, p, weights)


def by_loop(x: Tensor, p: ExpertParameters) -> Tensor:
    """Every expert for every token, times its weight."""
    weights = fast.top_k_routing(x @ p.w_router, ROUTING)
    arrays = zip(p.w_in, p.w_out, p.w_gate, strict=True)
    layers = (FeedForwardParameters(w_in, w_out, w_gate=gate) for w_in, w_out, gate in arrays)
    silu = Configuration(activation="silu")
    return sum(
        weights[..., e : e + 1] * fast.feed_forward(x, one, silu) for e, one in enumerate(layers)
    )


def least_work(x: Tensor, p: ExpertParameters) -> dict[str, Callable[[], object]]:
    """The products of the chosen experts with their rows, and reading the weights of these."""
    weights = fast.top_k_routing(x @ p.w_router, ROUTING)
    work = []
    for e in weights.any(dim=1)[0].nonzero()[:, 0]:
        rows = x[weights[..., e] != 0]
        work.append((rows, torch.randn(len(rows), HIDDEN), p.w_in[e], p.w_gate[e], p.w_out[e]))

    def products() -> None:
        for a, b, w_in, w_gate, w_out in work:
            _ = a @ w_in, a @ w_gate, b @ w_out

    def reading() -> None:
        for _, _, *matrices in work:
            _ = [matrix.sum() for matrix in matrices]

    return {PRODUCTS: products, READING: reading}


def measure(calls: dict[str, Callable[[], object]], seconds: float) -> dict[str, float]:
    """The least milliseconds of each call, timed in turns."""
    least = dict.fromkeys(calls, float("inf"))
    end = time.perf_counter() + seconds
    while time.perf_counter() < end:
        for name, call in calls.items():
            call()
            start = time.process_time()
            call()
            least[name] = min(least[name], 1e3 * (time.process_time() - start))
    return least


@torch.no_grad()
def main() -> None:
    """Measure, and write both files."""
    torch.set_num_threads(1)
    block = published()
    p, rows = parameters(block), []
    for n in TOKENS:
        x = torch.randn(1, n, WIDTH, generator=torch.Generator().manual_seed(n))
        calls = {
            LIBRARY: lambda x=x: by_library(x, p),
            LOOP: lambda x=x: by_loop(x, p),
            PUBLISHED: lambda x=x: block(x),
            **least_work(x, p),
        }
        for name in (LOOP, PUBLISHED):
            torch.testing.assert_close(calls[name](), calls[LIBRARY](), rtol=1e-4, atol=1e-5)
        rows.append({"tokens": n} | measure(calls, SECONDS))
    result = {"machine": machine.describe(("numpy", "torch", "transformers")), "rows": rows}
    RESULT.write_text(json.dumps(result, indent=1) + "\n", encoding="utf-8")
    (HERE / "experts.md").write_text(table(result), encoding="utf-8")


def table(result: dict) -> str:
    """The result as Markdown."""
    about = result["machine"]
    versions = ", ".join(f"{name} {version}" for name, version in about["packages"].items())
    lines = [
        "# Experts, measured\n",
        "Written by `python benchmarks/experts.py`.\n",
        f"{about['processor']}; one thread; Python {about['python']}, {versions}.\n",
        f"{EXPERTS} experts, {CHOSEN} a token, d_model {WIDTH}, hidden width {HIDDEN}, float32,",
        "forward. Milliseconds of the processor, the least of many turns, routing included.",
        "Two columns are no layer: the products of the chosen experts alone, and reading their",
        "weights once. *limit* is the loop's time over that of the products: a layer that computes",
        "them by PyTorch's products cannot be more times as fast as the loop.\n",
        "| tokens | library | loop over all experts | transformers | products alone | reading "
        "| times the loop | limit | times transformers |",
        "|--:|--:|--:|--:|--:|--:|--:|--:|--:|",
    ]
    for row in result["rows"]:
        ours, loop, theirs = (row[x] for x in (LIBRARY, LOOP, PUBLISHED))
        lines.append(
            f"| {row['tokens']:,} | {ours:.2f} | {loop:.2f} | {theirs:.2f} | {row[PRODUCTS]:.2f} "
            f"| {row[READING]:.2f} | {loop / ours:.2f} | {loop / row[PRODUCTS]:.2f} "
            f"| {theirs / ours:.2f} |"
        )
    return "\n".join(lines) + "\n"


if __name__ == "__main__":
    main()
