"""Measure whole models: python benchmarks/models.py [train] [race] [write] [table]

A training step of `fast.decoder` against a small GPT written as modules, in eager PyTorch, of the
same sizes and from the same parameters; and words a second of the real model, ours and those of
the package transformers. Both are written to benchmarks/results/models-cpu.json and
benchmarks/models.md. Where NANOGPT names the file model.py of a checkout of
https://github.com/karpathy/nanoGPT, its model is measured too, with the optimiser that it makes.

Steps are timed in turns, one each, and the median of the ratio to the first counts. A variant
counts only if its loss follows that of the first: the difference at the last step stands beside it.
Turns of one order favour some by a hundredth, so `race` has ours and nanoGPT alone, many steps in
pairs of random order, and gives the interval of the median.
"""

import json
import os
import runpy
import statistics
import sys
import time
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import torch
from attention import ONE_THREAD, RESULTS, _machine
from torch import Tensor, nn
from torch.nn import functional

from tformer import fast, reference
from tformer.configuration import Configuration
from tformer.models.generate import generate
from tformer.models.sizes import Sizes, initialise
from tformer.parameters import BlockParameters, ModelParameters, tree_map

T, BATCH, N_VOCAB, STEPS, WARM = 64, 12, 65, 15, 5
PAIRS = {"4 layers of 128": 300, "6 layers of 384": 60}
RATE, BETAS = 1e-3, (0.9, 0.999)
SHAPES = {"4 layers of 128": (4, 128, 4), "6 layers of 384": (6, 384, 6)}
GPT = Configuration(activation="gelu")
TEXT = "The animal did not cross the street because it was too tired. "
Step = Callable[[Tensor, Tensor], float]


class Block(nn.Module):
    """A block as it is commonly written: one linear map to queries, keys and values."""

    def __init__(self, d_model: int, n_heads: int) -> None:
        super().__init__()
        self.n_heads = n_heads
        self.norms = nn.ModuleList(nn.LayerNorm(d_model) for _ in range(2))
        self.attend, self.project = nn.Linear(d_model, 3 * d_model), nn.Linear(d_model, d_model)
        self.inner, self.outer = nn.Linear(d_model, 4 * d_model), nn.Linear(4 * d_model, d_model)

    def forward(self, x: Tensor) -> Tensor:
        """A block with its norms before the sublayers."""
        batch, n, d = x.shape
        q, k, v = self.attend(self.norms[0](x)).split(d, dim=2)
        q, k, v = (y.view(batch, n, self.n_heads, -1).transpose(1, 2) for y in (q, k, v))
        y = functional.scaled_dot_product_attention(q, k, v, is_causal=True)
        x = x + self.project(y.transpose(1, 2).reshape(batch, n, d))
        return x + self.outer(functional.gelu(self.inner(self.norms[1](x))))


class Modules(nn.Module):
    """A GPT of such blocks, one table for both ends."""

    def __init__(self, n_layers: int, d_model: int, n_heads: int) -> None:
        super().__init__()
        self.words, self.places = nn.Embedding(N_VOCAB, d_model), nn.Embedding(T, d_model)
        self.blocks = nn.ModuleList(Block(d_model, n_heads) for _ in range(n_layers))
        self.norm = nn.LayerNorm(d_model)

    def forward(self, tokens: Tensor) -> Tensor:
        """Logits of the next words."""
        x = self.words(tokens) + self.places(torch.arange(tokens.shape[1]))
        for block in self.blocks:
            x = block(x)
        return functional.linear(self.norm(x), self.words.weight)


def take(into: Any, p: ModelParameters) -> None:
    """Set all parameters of a model of modules to those of a tree."""
    pairs = [(into.words.weight, p.embedding), (into.places.weight, p.positions)]
    pairs += [(into.norm.weight, p.norm.gain), (into.norm.bias, p.norm.bias)]
    for block, one in zip(into.blocks, p.blocks, strict=True):
        pairs += _pairs(block, one)
    with torch.no_grad():
        for parameter, value in pairs:
            parameter.copy_(value)


def _pairs(block: Any, p: BlockParameters) -> list[tuple[Tensor, Tensor]]:
    w_q, w_k, w_v, w_o, b_q, b_k, b_v, b_o = p.heads.fused()
    feed, norms = p.feed_forward, (p.heads_norm, p.feed_forward_norm)
    pairs = [(block.attend.weight, torch.cat([w_q, w_k, w_v], dim=1).T)]
    pairs += [(block.attend.bias, torch.cat([b_q, b_k, b_v]))]
    pairs += [(block.project.weight, w_o.T), (block.project.bias, b_o)]
    pairs += [(block.inner.weight, feed.w_in.T), (block.inner.bias, feed.b_in)]
    pairs += [(block.outer.weight, feed.w_out.T), (block.outer.bias, feed.b_out)]
    for norm, one in zip(block.norms, norms, strict=True):
        pairs += [(norm.weight, one.gain), (norm.bias, one.bias)]
    return pairs


class NanoGPT(nn.Module):
    """The model of nanoGPT, from the file that NANOGPT names; its parts by our names too."""

    def __init__(self, n_layers: int, d_model: int, n_heads: int) -> None:
        super().__init__()
        file = runpy.run_path(os.environ["NANOGPT"], run_name="nanogpt")
        sizes = file["GPTConfig"](T, N_VOCAB, n_layers, n_heads, d_model)
        self.model = file["GPT"](sizes)
        parts = self.model.transformer
        self.words, self.places, self.norm = parts.wte, parts.wpe, parts.ln_f
        self.blocks = [
            SimpleNamespace(
                attend=block.attn.c_attn,
                project=block.attn.c_proj,
                inner=block.mlp.c_fc,
                outer=block.mlp.c_proj,
                norms=(block.ln_1, block.ln_2),
            )
            for block in parts.h
        ]

    def loss(self, tokens: Tensor, targets: Tensor) -> Tensor:
        """The mean cross-entropy, as its file has it."""
        return self.model(tokens, targets)[1]


def loss_of(module: nn.Module, tokens: Tensor, targets: Tensor) -> Tensor:
    """The mean cross-entropy of what a module says."""
    return functional.cross_entropy(module(tokens).float().flatten(0, 1), targets.flatten())


def of_module(module: nn.Module, half: bool = False, loss_of: Any = loss_of) -> Step:
    """A step of training of a module by PyTorch's AdamW, fused unless its authors choose."""
    if isinstance(module, NanoGPT):
        optimiser = module.model.configure_optimizers(0.0, RATE, BETAS, "cpu")
    else:
        parameters = module.parameters()
        optimiser = torch.optim.AdamW(parameters, RATE, BETAS, weight_decay=0.0, fused=True)

    def step(given: Tensor, comes: Tensor) -> float:
        with torch.autocast("cpu", dtype=torch.bfloat16, enabled=half):
            loss = loss_of(module, given, comes)
        optimiser.zero_grad()
        loss.backward()
        optimiser.step()
        return loss.item()

    return step


def by_hand(p: ModelParameters) -> Step:
    """A step by the gradients that `reference` derives, in NumPy, without an optimiser's work."""

    def step(given: Tensor, comes: Tensor) -> float:
        words, targets = given.numpy(), comes.numpy()
        logits = reference.decoder(words, p, GPT)
        loss = reference.cross_entropy(logits, targets).mean()
        each = np.full(targets.shape, 1 / targets.size, dtype=logits.dtype)
        grad = reference.cross_entropy_vjp(logits, targets, each)
        gradients, _ = reference.decoder_vjp(words, p, GPT, grad)
        tree_map(lambda x, g: np.subtract(x, RATE * g, out=x), p, gradients)
        return float(loss)

    return step


def entrants(name: str) -> tuple[ModelParameters, Callable[..., Any], Callable[[], Any]]:
    """The first parameters of a shape, and what makes modules of them: theirs, and ours."""
    n_layers, d_model, n_heads = SHAPES[name]
    sizes = Sizes(N_VOCAB, d_model, n_layers, n_heads, 4 * d_model, n_positions=T)
    first = initialise(sizes, GPT, np.random.default_rng(0))
    first = tree_map(lambda x: x.astype(np.float32), first)

    def theirs(kind: type[nn.Module]) -> nn.Module:
        made = kind(n_layers, d_model, n_heads)
        take(made, tree_map(torch.from_numpy, first))
        return made

    def ours() -> nn.Module:
        copied = tree_map(lambda x: torch.from_numpy(x.copy()), first)
        return fast.Module(fast.decoder, copied, configuration=GPT)

    return first, theirs, ours


def rows_of_a_text(rng: torch.Generator) -> Callable[[], tuple[Tensor, Tensor]]:
    """What gives the rows of each step, and what comes after every token."""
    text = torch.randint(5, (10_000,), generator=rng).cumsum(0) % N_VOCAB

    def rows() -> tuple[Tensor, Tensor]:
        starts = torch.randint(len(text) - T - 1, (BATCH,), generator=rng)
        found = torch.stack([text[i : i + T + 1] for i in starts.tolist()])
        return found[:, :-1].contiguous(), found[:, 1:].contiguous()

    return rows


def timed(step: Step, given: Tensor, comes: Tensor) -> tuple[float, float]:
    """The seconds and the loss of a step."""
    start = time.perf_counter()
    loss = step(given, comes)
    return time.perf_counter() - start, loss


def train(name: str) -> dict[str, Any]:
    """Steps of all variants in turns."""
    first, theirs, ours = entrants(name)
    steps = {
        "modules, eager": of_module(theirs(Modules)),
        "the same again": of_module(theirs(Modules)),
        "fast.decoder, eager": of_module(ours()),
        "fast.decoder, compiled": of_module(torch.compile(ours())),
        "fast.decoder, bfloat16": of_module(ours(), half=True),
        "reference, by hand": by_hand(tree_map(np.copy, first)),
    }
    if "NANOGPT" in os.environ:
        steps["nanoGPT, eager"] = of_module(theirs(NanoGPT), loss_of=NanoGPT.loss)
    seconds: dict[str, list[float]] = {x: [] for x in steps}
    rows, losses = rows_of_a_text(torch.Generator().manual_seed(0)), {}
    for _ in range(STEPS):
        given, comes = rows()
        for variant, step in steps.items():
            took, losses[variant] = timed(step, given, comes)
            seconds[variant].append(took)
    base = seconds["modules, eager"][WARM:]
    speed = {
        variant: statistics.median(b / x for b, x in zip(base, taken[WARM:], strict=True))
        for variant, taken in seconds.items()
    }
    gap = {variant: abs(loss - losses["modules, eager"]) for variant, loss in losses.items()}
    return {
        "name": name,
        "milliseconds": 1e3 * statistics.median(base),
        "speed": speed,
        "difference of loss": gap,
    }


def race(name: str) -> dict[str, Any]:
    """How many times as fast as nanoGPT a step of `fast.decoder` is, in pairs of random order."""
    _, theirs, ours = entrants(name)
    steps = (of_module(theirs(NanoGPT), loss_of=NanoGPT.loss), of_module(ours()))
    rows, rng = rows_of_a_text(torch.Generator().manual_seed(0)), np.random.default_rng(0)
    ratios: list[float] = []
    for _ in range(WARM + PAIRS[name]):
        given, comes = rows()
        taken = {i: timed(steps[i], given, comes) for i in rng.permutation(2).tolist()}
        ratios.append(taken[0][0] / taken[1][0])
        gap = abs(taken[0][1] - taken[1][1])
    drawn = np.median(rng.choice(ratios[WARM:], (2000, PAIRS[name])), axis=1)
    return {
        "name": name,
        "pairs": PAIRS[name],
        "ratio": statistics.median(ratios[WARM:]),
        "interval": np.quantile(drawn, [0.025, 0.975]).tolist(),
        "difference of loss": gap,
    }


def write(n_tokens: int = 60) -> dict[str, float]:
    """Words a second of the real model, with a cache and without: ours, and another library's."""
    sys.path.append(str(Path(__file__).parents[1] / "tests"))
    from other_llama import theirs_of
    from tformer.models.pretrained import from_checkpoint
    from tformer.pretrained import checkpoint

    found = checkpoint()
    model, theirs = from_checkpoint(found), theirs_of(found)
    words, in_torch = model.tokenizer.encode(TEXT), tree_map(torch.from_numpy, model.parameters)
    few = n_tokens // 6

    def cached(module: Any, start: Any, p: ModelParameters) -> list[int]:
        return [*generate(module.cached_decoder, start, p, model.configuration, n_tokens)]

    def full(module: Any, start: Any, p: ModelParameters) -> list[int]:
        written = list(words)
        for _ in range(few):
            logits = module.decoder(_like(start, written), p, model.configuration)
            written.append(int(logits[-1].argmax()))
        return written[len(words) :]

    def of_theirs(count: int, cache: bool) -> list[int]:
        start = torch.tensor([words])
        made = theirs.generate(start, max_new_tokens=count, do_sample=False, use_cache=cache)
        return made[0, len(words) :].tolist()

    numpy_start, start = np.array(words), torch.tensor(words)
    runs: dict[str, Callable[[], list[int]]] = {
        "NumPy, cache": lambda: cached(reference, numpy_start, model.parameters),
        "PyTorch, cache": lambda: cached(fast, start, in_torch),
        "transformers, cache": lambda: of_theirs(n_tokens, cache=True),
        "NumPy, no cache": lambda: full(reference, numpy_start, model.parameters),
        "PyTorch, no cache": lambda: full(fast, start, in_torch),
        "transformers, no cache": lambda: of_theirs(few, cache=False),
    }
    speeds, right = {}, None
    for name, run in runs.items():
        began = time.perf_counter()
        written = run()
        speeds[name] = len(written) / (time.perf_counter() - began)
        right = right or written
        if written != right[: len(written)]:
            raise ValueError(f"{name} writes other words")
    return speeds


def _like(words: Any, values: list[int]) -> Any:
    return np.array(values) if isinstance(words, np.ndarray) else torch.tensor(values)


def table(found: dict[str, Any]) -> str:
    """The tables for people, as Markdown."""
    about, half = found["machine"], found["machine"]["bfloat16"]
    packages = ", ".join(f"{name} {number}" for name, number in about["packages"].items())
    parts = [
        "# Whole models, measured\n",
        "Written by `python benchmarks/models.py`, as are [the numbers in full](results).\n",
        f"{about['processor']}; one thread; Python {about['python']}, {packages}.\n",
        f"A training step, {BATCH} texts of {T} tokens, {N_VOCAB} words, AdamW, float32: how many",
        "times as fast as a GPT of common modules in eager PyTorch, from the same parameters;",
        f"after it how far its loss is from theirs after {STEPS} steps. `reference` takes plain",
        "steps, so its loss is another. nanoGPT makes its own optimiser, which is not fused;",
        f"others' is. bfloat16 by autocast; the processor {'has' if half else 'lacks'} it.\n",
    ]
    for one in found.get("train", []):
        names = list(one["speed"])
        parts += [f"| {one['name']} (ms) | {' | '.join(names)} |", "|--:|" + "--:|" * len(names)]
        cells = [f"{one['speed'][x]:.2f} ({one['difference of loss'][x]:.0e})" for x in names]
        parts += [f"| {one['milliseconds']:.3g} | {' | '.join(cells)} |\n"]
    for one in found.get("race", []):
        low, high = one["interval"]
        parts += [
            f"{one['name']}, ours and nanoGPT alone, {one['pairs']} pairs in random order: "
            f"{one['ratio']:.3f} times as fast [{low:.3f}, {high:.3f}] (95 %); "
            f"losses apart by {one['difference of loss']:.0e}.\n"
        ]
    if words := found.get("write"):
        parts += ["Words a second of the real model, 135 million parameters in float32:\n"]
        parts += [f"| {' | '.join(words)} |", "|" + "--:|" * len(words)]
        parts += [f"| {' | '.join(f'{x:.1f}' for x in words.values())} |"]
    return "\n".join(parts) + "\n"


def main(chosen: list[str]) -> None:
    """Measure what is chosen, or all, and write the table."""
    torch.set_num_threads(1)
    path = RESULTS / "models-cpu.json"
    found = json.loads(path.read_text("utf-8")) if path.exists() else {}
    if not chosen or chosen != ["table"]:
        flags = Path("/proc/cpuinfo").read_text(encoding="utf-8")
        found["machine"] = _machine("cpu") | {"bfloat16": "bf16" in flags}
    if not chosen or "train" in chosen:
        found["train"] = [train(name) for name in SHAPES]
    if "NANOGPT" in os.environ and (not chosen or "race" in chosen):
        found["race"] = [race(name) for name in SHAPES]
    if not chosen or "write" in chosen:
        found["write"] = write()
    path.write_text(json.dumps(found, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")
    (RESULTS.parent / "models.md").write_text(table(found), encoding="utf-8")


if __name__ == "__main__":
    if os.environ.get("OPENBLAS_NUM_THREADS") != "1":
        os.execve(sys.executable, [sys.executable, *sys.argv], os.environ | ONE_THREAD)
    main(sys.argv[1:])
