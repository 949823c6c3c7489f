"""Hold the reader's transformer beside other small ones: python benchmarks/own.py [FOLDER]

Four public repositories, at the commits in `THEIRS`, are cloned into the folder (a temporary one
if none is named). Counted are the lines of code that a reader of each would own; measured is the
processor's time of one training step at two sizes. Written to results/own.json and own.md.

The other files run as they are; the step around a model is ours where a repository has none for a
single batch: forward, backward, clipping to 1, AdamW.
"""

import contextlib
import io
import json
import os
import subprocess
import sys
import tempfile
import time
import tokenize
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import torch
from attention import ONE_THREAD, RESULTS
from machine import describe
from torch.nn.functional import cross_entropy, scaled_dot_product_attention

from tformer_book.own.lending import load
from tformer_book.own.parts import BOOK

THEIRS = {
    "nanoGPT": ("karpathy/nanoGPT", "3adf61e154c3fe3fca428ad6bc3818b27a3b8291"),
    "LLMs-from-scratch": (
        "rasbt/LLMs-from-scratch",
        "28c65cdfbc3338e2e040016eea4b7fdf556e4d57",
    ),
    "picoGPT": ("jaymody/picoGPT", "817292baea75f194fb0bb8ba2aa5f947af4e45ee"),
    "microgpt": ("jli05/microgpt", "92c48419743f70a0c1752c4f74c13ca7c528eff7"),
}
"""Repository and commit; the last holds the published file of 200 lines as it is."""
PACKAGE = "pkg/llms_from_scratch"
COUNTED = {
    "nanoGPT": ("model.py", "train.py"),
    "LLMs-from-scratch": tuple(
        f"{PACKAGE}/{name}.py" for name in ("ch03", "ch04", "ch05", "kv_cache/gpt2", "llama3")
    ),
    "picoGPT": ("gpt2.py", "encoder.py", "utils.py"),
    "microgpt": ("microgpt.py",),
}
CAN = ("trains", "cache", "GPT-2", "Llama", "heads seen", "cuts text")
ABLE = {
    "my_transformer.py": "yes yes yes yes yes merges",
    "nanoGPT": "yes no yes no no no",
    "LLMs-from-scratch": "yes yes yes yes no package",
    "picoGPT": "no no yes no no yes",
    "microgpt": "yes yes no no no letters",
}
"""Read from the files: opens released parameters of GPT-2 or Llama; shows or edits patterns."""


class Shape(NamedTuple):
    """Sizes of a model and of a batch."""

    n_vocab: int
    d_model: int
    n_layers: int
    n_heads: int
    d_ff: int
    n_tokens: int
    n_texts: int


SHAPES = {
    "first page": Shape(88, 32, 2, 4, 88, 19, 48),
    "storyteller": Shape(605, 64, 2, 4, 176, 128, 32),
}
TURNS, STEPS = 6, {"first page": 8, "storyteller": 2}
Step = Callable[[torch.Tensor], Any]
MARKS = {
    *(tokenize.COMMENT, tokenize.NL, tokenize.NEWLINE),
    *(tokenize.INDENT, tokenize.DEDENT, tokenize.ENDMARKER),
}


def count_lines(path: Path) -> int:
    """Count the lines that hold code: no blank lines, comments or docstrings."""
    found: set[int] = set()
    before = tokenize.NEWLINE
    for token in tokenize.generate_tokens(io.StringIO(path.read_text("utf-8")).readline):
        documentation = token.type == tokenize.STRING and before in MARKS
        if token.type not in MARKS and not documentation:
            found |= set(range(token.start[0], token.end[0] + 1))
        if token.type not in (tokenize.COMMENT, tokenize.NL):
            before = token.type
    return len(found)


def ours(shape: Shape, attend: Any = None) -> tuple[Step, int]:
    """Return a step of the reader's `train`, and the number of parameters."""
    my = load(BOOK)
    c = my.Config(
        *(shape.n_vocab, shape.d_model, shape.n_layers, shape.n_heads, shape.n_heads, shape.d_ff),
        tied=False,
    )
    p, held = my.initialise(c), {}

    def model(tokens: torch.Tensor, p: Any, c: Any) -> Any:
        return my.transformer(tokens, p, c, attend=attend)

    steps = my.train(p, c, lambda _: held["tokens"], 10**6, model=model)

    def step(tokens: torch.Tensor) -> None:
        held["tokens"] = tokens
        next(steps)

    return step, sum(x.numel() for x in p.values())


def fused(q: torch.Tensor, k: torch.Tensor, v: torch.Tensor, mask: Any) -> torch.Tensor:
    """Attend by PyTorch's own kernel: chapter 16's exchange of one argument."""
    return scaled_dot_product_attention(q, k, v, attn_mask=mask)


def nano(shape: Shape) -> tuple[Step, int]:
    """Return a step of nanoGPT's model with nanoGPT's optimiser."""
    from model import GPT, GPTConfig  # type: ignore[import-not-found]

    with contextlib.redirect_stdout(io.StringIO()):
        module = GPT(
            GPTConfig(
                block_size=shape.n_tokens,
                vocab_size=shape.n_vocab,
                n_layer=shape.n_layers,
                n_head=shape.n_heads,
                n_embd=shape.d_model,
                dropout=0.0,
                bias=False,
            )
        )
        optimiser = module.configure_optimizers(0.1, 1e-3, (0.9, 0.95), "cpu")
    return _step(lambda x, y: module(x, y)[1], module, optimiser)


def scratch(shape: Shape) -> tuple[Step, int]:
    """Return a step of LLMs-from-scratch's GPT-2, chapter 4, with PyTorch's AdamW."""
    from llms_from_scratch.ch04 import (  # type: ignore[import-not-found]
        GPTModel,
    )

    module = GPTModel(
        {
            "vocab_size": shape.n_vocab,
            "context_length": shape.n_tokens,
            "emb_dim": shape.d_model,
            "n_heads": shape.n_heads,
            "n_layers": shape.n_layers,
            "drop_rate": 0.0,
            "qkv_bias": False,
        }
    )
    optimiser = torch.optim.AdamW(module.parameters(), lr=1e-3, weight_decay=0.1)
    return _step(
        lambda x, y: cross_entropy(module(x).flatten(0, 1), y.flatten()), module, optimiser
    )


def _step(loss_of: Any, module: Any, optimiser: Any) -> tuple[Step, int]:
    def step(tokens: torch.Tensor) -> None:
        loss_of(tokens[:, :-1], tokens[:, 1:].contiguous()).backward()
        torch.nn.utils.clip_grad_norm_(module.parameters(), 1.0)
        optimiser.step()
        optimiser.zero_grad(set_to_none=True)

    return step, sum(x.numel() for x in module.parameters())


MADE = {
    "my_transformer.py": ours,
    "my_transformer.py, PyTorch's attention": lambda shape: ours(shape, fused),
    "nanoGPT": nano,
    "LLMs-from-scratch": scratch,
}


def measure(shape: Shape, n_steps: int) -> dict[str, dict[str, float]]:
    """Milliseconds of the processor a step, the least of several turns, and the parameters."""
    rng = torch.Generator().manual_seed(0)
    tokens = torch.randint(shape.n_vocab, (shape.n_texts, shape.n_tokens + 1), generator=rng)
    steps = {name: make(shape) for name, make in MADE.items()}
    least = dict.fromkeys(steps, float("inf"))
    for step, _ in steps.values():
        step(tokens)
    for _ in range(TURNS):  # in turns, since the machine may be busy
        for name, (step, _) in steps.items():
            began = time.process_time()
            for _ in range(n_steps):
                step(tokens)
            least[name] = min(least[name], (time.process_time() - began) / n_steps)
    return {
        name: {"ms": round(1000 * least[name], 1), "n_parameters": n}
        for name, (_, n) in steps.items()
    }


def scalars(path: Path, n_steps: int = 12) -> float:
    """Milliseconds of a step of microgpt: one name of six letters, 1 layer of width 16."""
    source = path.read_text("utf-8").replace("num_steps = 1000", f"num_steps = {n_steps}")
    source = source.partition("# Inference")[0]
    with tempfile.TemporaryDirectory() as folder:
        Path(folder, "input.txt").write_text("abcdef\n", encoding="utf-8")
        code = "import time; began = time.process_time()\n" + source
        code += "\nprint(); print(time.process_time() - began)\n"
        ended = subprocess.run(
            [sys.executable, "-c", code], cwd=folder, capture_output=True, text=True, check=True
        )
    return round(1000 * float(ended.stdout.split()[-1]) / n_steps, 1)


def clone(folder: Path) -> None:
    """Bring the other repositories at their commits, where they are not there yet."""
    for name, (repository, commit) in THEIRS.items():
        if not (folder / name).exists():
            url = f"https://github.com/{repository}"
            subprocess.run(["git", "clone", "-q", url, str(folder / name)], check=True)
        subprocess.run(["git", "checkout", "-q", commit], cwd=folder / name, check=True)


def compare(folder: Path) -> dict[str, Any]:
    """Count and measure all of it."""
    clone(folder)
    sys.path[:0] = [str(folder / "nanoGPT"), str(folder / "LLMs-from-scratch" / "pkg")]
    lines = {"my_transformer.py": {"my_transformer.py": count_lines(BOOK)}}
    for name, files in COUNTED.items():
        lines[name] = {
            Path(file).name if "kv_cache" not in file else "kv_cache/gpt2.py": count_lines(
                folder / name / file
            )
            for file in files
        }
    return {
        "machine": describe(("torch", "numpy")),
        "lines": lines,
        "steps": {name: measure(shape, STEPS[name]) for name, shape in SHAPES.items()},
        "microgpt": scalars(folder / "microgpt" / "microgpt.py"),
    }


def table(found: dict[str, Any]) -> str:
    """The tables for people, as Markdown."""
    about = found["machine"]
    parts = [
        "# Your own transformer beside other small ones\n",
        "Written by `python benchmarks/own.py`, at the commits that it names.",
        "The comparison is of files that one person can own, not of what each teaches.\n",
        "## Lines of code, and what they do\n",
        f"| | lines | of them | {' | '.join(CAN)} |",
        "|:--|--:|:--" + "|:--" * len(CAN) + "|",
    ]
    for name, files in found["lines"].items():
        each = ", ".join(f"{file} {n}" for file, n in files.items())
        parts.append(
            f"| {name} | {sum(files.values())} | {each} | {' | '.join(ABLE[name].split())} |"
        )
    parts += [
        "\nNo blank lines, comments or docstrings are counted. *GPT-2* and *Llama*: opens",
        "parameters released in that form. *Heads seen*: attention patterns are returned,",
        "and can be edited. *Cuts text*: *yes* the whole tokenizer, *merges* the merges of a word,",
        "*package* by another package. nanoGPT's `train.py` also trains on several GPUs;",
        "LLMs-from-scratch has the cache and Llama in files of their own.\n",
        "## One training step\n",
        f"{about['processor']}; one thread; Python {about['python']}, PyTorch "
        f"{about['packages']['torch']}; float32;",
        f"the processor's time, the least of {TURNS} turns. A step is forward, backward, clipping",
        "and AdamW.\n",
        "| ms a step (parameters) | " + " | ".join(found["steps"]) + " |",
        "|:--" + "|--:" * len(found["steps"]) + "|",
    ]
    for name in MADE:
        rows = [row[name] for row in found["steps"].values()]
        cells = [f"{row['ms']} ({row['n_parameters']:,})" for row in rows]
        parts.append(f"| {name} | {' | '.join(cells)} |")
    parts += [
        "",
        *(f"- *{name}*: {_words(shape)}." for name, shape in SHAPES.items()),
        "\nThe others have GPT-2's form: learned positions, and a feed-forward layer of four times",
        "the width, without gates. nanoGPT uses PyTorch's attention, too. microgpt computes with",
        "scalars: a step on one name of six letters, with one layer of width 16, takes",
        f"{found['microgpt']:.0f} ms.",
    ]
    return "\n".join(parts) + "\n"


def _words(shape: Shape) -> str:
    return (
        f"{shape.n_layers} layers of width {shape.d_model}, {shape.n_heads} heads, "
        f"{shape.n_vocab} words, {shape.n_texts} texts of {shape.n_tokens} tokens"
    )


def main(arguments: list[str]) -> None:
    """Compare, and write what was found."""
    torch.set_num_threads(1)
    with tempfile.TemporaryDirectory() as folder:
        found = compare(Path(arguments[0]) if arguments else Path(folder))
    (RESULTS / "own.json").write_text(json.dumps(found, indent=1) + "\n", encoding="utf-8")
    (RESULTS.parent / "own.md").write_text(table(found), encoding="utf-8")


if __name__ == "__main__":
    if os.environ.get("OPENBLAS_NUM_THREADS") != "1":
        os.execve(sys.executable, [sys.executable, *sys.argv], os.environ | ONE_THREAD)
    main(sys.argv[1:])
