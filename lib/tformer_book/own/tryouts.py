"""What a part makes possible: a run for each chapter, in the first page's world or in SmolLM2.

Each run takes a module, so that the same one tries the reader's file and the book's. It yields
lines of text that are equal on every processor; so there are no times among them.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from types import ModuleType
from typing import Any
from unittest.mock import patch

import numpy as np
import torch

from tformer import reference
from tformer.models.pretrained import from_pretrained
from tformer.pretrained import checkpoint
from tformer.tokens.bpe import LETTERS
from tformer.tokens.pretokenizer import pretokenize
from tformer_book.own.parts import BOOK
from tformer_book.own.world import World, small_world

TRYOUTS: dict[int, tuple[Callable[..., Iterator[str]], bool]] = {}
"""The run of each chapter, and whether it needs SmolLM2."""
PROMPT = "The capital of France is"


def tryout(chapter: int, real: bool = False) -> Callable[..., Any]:
    """Register the run of a chapter; `real` if it needs SmolLM2."""

    def register(run: Callable[..., Iterator[str]]) -> Callable[..., Iterator[str]]:
        TRYOUTS[chapter] = run, real
        return run

    return register


def smollm2(my: ModuleType) -> tuple[dict[str, torch.Tensor], Any, Any]:
    """Return SmolLM2's parameters by name, its configuration and its tokenizer."""
    found = checkpoint()
    a = found.architecture
    c = my.Config(a.n_vocab, a.d_model, a.n_layers, a.n_heads, a.n_groups, a.d_ff, a.base, a.eps)
    named = found.common("adjacent").items()
    return {name: torch.from_numpy(x) for name, x in named}, c, found.tokenizer


def initial(my: ModuleType, c: Any) -> dict[str, torch.Tensor]:
    """Return parameters to begin with, in double precision, which processors round alike enough."""
    return {name: x.detach().double().requires_grad_() for name, x in my.initialise(c).items()}


def trained(my: ModuleType, world: World, c: Any, steps: int) -> tuple[Any, float]:
    """Train a model in a world; return its parameters and the last loss, in nats a story."""
    p = initial(my, c)
    *_, (_, loss) = my.train(p, c, world.batch, steps, peak=8e-3, warmup=20)
    return p, (world.length - 1) * loss


def continued(my: ModuleType, text: str, n: int) -> str:
    """Let SmolLM2 continue a text, always with the likeliest token."""
    p, c, tokenizer = smollm2(my)
    return str(tokenizer.decode(list(my.generate(tokenizer.encode(text), p, c, n, 0))))


# ---- attention ----------------------------------------------------------------------------


@tryout(2, real=True)
def softmax_inside(my: ModuleType) -> Iterator[str]:
    """The real model with this softmax, and with one over the wrong axis."""
    calls, softmax = 0, my.softmax

    def counted(x: Any, axis: int = -1) -> Any:
        nonlocal calls
        calls += 1
        return softmax(x, axis)

    with patch.multiple(my, softmax=counted):
        yield f"{PROMPT}{continued(my, PROMPT, 4)}"
    yield f"Your softmax was called {calls} times."
    with patch.multiple(my, softmax=lambda x, axis=-1: softmax(x, -2)):
        yield f"Over the wrong axis: {PROMPT}{continued(my, PROMPT, 4)}"


@tryout(4)
def scales(my: ModuleType) -> Iterator[str]:
    """Training with the scale 1/√d, and with none: chaotic, so kernels differ in the tenths."""
    world = small_world()
    c = world.config(my, n_heads=1, n_groups=1)

    def no_scale(q: Any, k: Any, mask: Any = None) -> Any:
        scores = q @ k.mT
        return my.softmax(scores if mask is None else scores.masked_fill(~mask, -math.inf))

    yield f"60 steps with your attention: {trained(my, world, c, 60)[1]:.1f} nats a story"
    with patch.multiple(my, attention_weights=no_scale):
        yield f"60 steps without the scale: {trained(my, world, c, 60)[1]:.0f}"


@tryout(5)
def no_mask(my: ModuleType) -> Iterator[str]:
    """Training with the mask, and without: the loss falls below what is possible."""
    world = small_world()
    yield f"No model can do better than {world.floor:.2f} nats a story."
    for words, causal in (("With your mask", True), ("Without a mask", False)):
        c = world.config(my, causal=causal)
        p, loss = trained(my, world, c, 100)
        c.causal = True  # nothing later is there when it generates
        text = world.text(my.generate(world.start, p, c, 12, temperature=0))
        yield f"{words}: {loss:.1f} nats, and it writes: {text}"


@tryout(6)
def groups(my: ModuleType) -> Iterator[str]:
    """Heads and groups: parameters, the cache of a token, and the loss after some steps."""
    world = small_world()
    for n_heads, n_groups in ((1, 1), (4, 4), (4, 2)):
        c = world.config(my, n_heads=n_heads, n_groups=n_groups)
        p, loss = trained(my, world, c, 60)
        caches = my.transformer(torch.tensor([0]), p, c)[1]
        size = sum(x.numel() for cache in caches for x in cache)
        yield (
            f"{n_heads} heads, {n_groups} groups: {sum(x.numel() for x in p.values())} parameters, "
            f"{size} cached numbers a token; {loss:.1f} nats"
        )
    if world.leaks(my, p, c):
        yield (
            "But a change of the last token changes earlier logits. Tokens are mixed up, as when "
            "split_heads takes a reshape alone: a low loss here means that the answer was seen."
        )


@tryout(7)
def longer(my: ModuleType) -> Iterator[str]:
    """A text longer than any it was trained on."""
    world = small_world()
    c = world.config(my)
    p, _ = trained(my, world, c, 150)
    text = world.text(my.generate(world.start, p, c, 38, temperature=0))
    yield f"Trained on {world.length} tokens a text, it writes 38:"
    yield text


# ---- the block ----------------------------------------------------------------------------


@tryout(8)
def many_layers(my: ModuleType) -> Iterator[str]:
    """Four layers with norms, and without."""
    world = small_world()
    c = world.config(my, n_layers=4)
    yield f"4 layers with your norm: {trained(my, world, c, 40)[1]:.1f} nats after 40 steps"
    with patch.multiple(my, rms_norm=lambda x, gain, eps=1e-5: gain * x):
        yield f"4 layers without a norm: {trained(my, world, c, 40)[1]:.1f}"


@tryout(9)
def gates(my: ModuleType) -> Iterator[str]:
    """Gated units, and ReLU units without gates."""
    world = small_world()
    c = world.config(my)
    p, loss = trained(my, world, c, 80)
    yield f"With your SwiGLU: {loss:.1f} nats, {world.right(my, p, c)} right patients"
    with patch.multiple(
        my, swiglu=lambda x, gate, w_in, w_out: torch.relu(x @ (w_in + 0 * gate)) @ w_out
    ):
        p, loss = trained(my, world, c, 80)
        yield f"With ReLU and no gates: {loss:.1f} nats, {world.right(my, p, c)}"


@tryout(10, real=True)
def whole(my: ModuleType) -> Iterator[str]:
    """SmolLM2 read by this file, compared with the book's library."""
    p, c, tokenizer = smollm2(my)
    shapes = my.parameter_shapes(c)
    yield f"SmolLM2: {sum(math.prod(shape) for shape in shapes.values()):,} parameters"
    text = f"{PROMPT} Paris, and that of Italy is"
    tokens = torch.tensor(tokenizer.encode(text))
    with torch.inference_mode():
        logits = my.transformer(tokens, p, c)[0]
        found = from_pretrained()
        wanted = reference.decoder(tokens.numpy(), found.parameters, found.configuration)
    error = np.abs(logits.numpy() - wanted).max()
    yield f"Your logits and the library's differ by less than 0.001: {error < 1e-3}"
    likeliest = tokenizer.decode([int(logits[-1].argmax())])
    yield f"The likeliest token after “{text}”:{likeliest}"


@tryout(11)
def three_forms(my: ModuleType) -> Iterator[str]:
    """The same parts as a decoder, as an encoder and in the form of GPT-2."""
    world = small_world()
    p, c = my.initialise(world.config(my)), world.config(my)
    text = torch.tensor(world.asked[:1, :6])
    other = text.clone()
    other[0, -1] = 0
    for words, causal in (("decoder", True), ("encoder", False)):
        c.causal = causal
        moved = (my.transformer(text, p, c)[0] != my.transformer(other, p, c)[0]).any(-1)
        yield f"{words}: another last token changes {int(moved.sum())} of 6 rows of logits"
    c = world.config(my, n_groups=4, base=0.0)
    p = world.gpt2(c)
    *_, (_, loss) = my.train(p, c, world.batch, 100, peak=8e-3, warmup=20, model=my.gpt2)
    yield f"in the form of GPT-2: {(world.length - 1) * loss:.1f} nats after 100 steps"


@tryout(12)
def backward(my: ModuleType) -> Iterator[str]:
    """A derivative by backward, and by moving one number."""
    world = small_world()
    c = world.config(my)
    p = initial(my, c)
    name = "model.layers.0.self_attn.k_proj.weight"

    def loss(x: Any) -> Any:
        return my.next_token_loss(
            my.transformer(world.batch(1), p | {name: x}, c)[0], world.batch(1)
        )

    (gradient,) = torch.autograd.grad(loss(p[name]), [p[name]])
    place = divmod(int(gradient.abs().argmax()), gradient.shape[1])
    number = my.numerical_derivative(loss, p[name].detach(), place)
    yield f"backward: {gradient[place]:.6f}"
    yield f"moved:    {number:.6f}"


# ---- training, generation, and after ------------------------------------------------------


@tryout(13, real=True)
def tokens_and_bits(my: ModuleType) -> Iterator[str]:
    """SmolLM2's merges by this file, and what the model makes of a text."""
    p, c, tokenizer = smollm2(my)
    text = "Transformers turn text into numbers, and numbers into text."
    merges = checkpoint().metadata["tokenizer.ggml.merges"]
    ranks = {tuple(merge.split(" ")): rank for rank, merge in enumerate(merges)}
    words = ["".join(LETTERS[byte] for byte in word.encode()) for word in pretokenize(text)]
    pieces = [piece for word in words for piece in my.apply_merges(word, ranks)]
    tokens = torch.tensor([tokenizer.encode(text)])
    yield " | ".join(pieces).replace(LETTERS[ord(" ")], "_")
    same = pieces == [tokenizer.tokens[token] for token in tokens[0].tolist()]
    yield f"{len(pieces)} tokens; SmolLM2's own tokenizer gives the same: {same}"
    with torch.inference_mode():
        loss = my.next_token_loss(my.transformer(tokens, p, c)[0], tokens).item()
    predicted = text.removeprefix(tokenizer.decode([int(tokens[0, 0])])).encode()  # after the first
    bits = loss * (tokens.shape[1] - 1) / math.log(2) / len(predicted)
    yield f"{loss:.2f} nats a token, {bits:.2f} bits a byte"


@tryout(14)
def training(my: ModuleType) -> Iterator[str]:
    """A training from nothing, and what it knows of new stories."""
    world = small_world()
    c = world.config(my)
    p = initial(my, c)
    for step, loss in my.train(p, c, world.batch, 300, peak=8e-3, warmup=20):
        if step % 100 == 0:
            yield f"step {step}: {(world.length - 1) * loss:.1f} nats a story"
    yield f"{world.right(my, p, c)} new patients are right."


@tryout(15, real=True)
def writing(my: ModuleType) -> Iterator[str]:
    """SmolLM2 writes, with the cache and by reading everything again."""
    p, c, tokenizer = smollm2(my)
    start = tokenizer.encode("Once upon a time, there was a")
    rows: list[int] = []

    def watched(tokens: Any, *rest: Any, **options: Any) -> Any:
        rows.append(len(tokens))
        return transformer(tokens, *rest, **options)

    transformer = my.transformer
    with patch.multiple(my, transformer=watched):
        found = list(my.generate(start, p, c, 20, temperature=0))
    yield tokenizer.decode([*start, *found])
    tokens = list(start)
    with torch.inference_mode():
        for _ in range(5):
            tokens.append(int(my.transformer(torch.tensor(tokens), p, c)[0][-1].argmax()))
    yield f"Without the cache the first 5 tokens are the same: {tokens[len(start) :] == found[:5]}"
    total = sum(len(start) + i for i in range(20))
    yield f"Rows through the model: {sum(rows)} with the cache, {total} without"


@tryout(16, real=True)
def in_blocks(my: ModuleType) -> Iterator[str]:
    """SmolLM2 with blockwise attention: the same logits from smaller tables."""
    p, c, tokenizer = smollm2(my)
    text = BOOK.read_text(encoding="utf-8")
    tokens = torch.tensor(tokenizer.encode(text)[:320])
    with torch.inference_mode():
        whole = my.transformer(tokens, p, c)[0]
        blocks = my.transformer(
            tokens, p, c, attend=lambda *inputs: my.blockwise_attention(*inputs, size=64)
        )[0]
    yield f"The logits differ by less than 0.001: {bool((whole - blocks).abs().max() < 1e-3)}"
    n = len(tokens)
    yield f"A table of all scores has {n * n:,} numbers a head; a block of 64 keys {n * 64:,}"


@tryout(17, real=True)
def induction(my: ModuleType) -> Iterator[str]:
    """SmolLM2's induction heads, found on a row of random tokens that stands there twice."""
    p, c, _ = smollm2(my)
    n = 30
    row = torch.randint(100, 40000, (n,), generator=torch.Generator().manual_seed(0))
    twice = torch.cat([row, row])
    later = torch.arange(n, 2 * n)
    with torch.inference_mode():
        logits, patterns = my.attention_patterns(twice, p, c)
        found = torch.stack([x[:, later, later - n + 1].mean(-1) for x in patterns])
        order = found.flatten().argsort(descending=True).tolist()
        best, others = ([divmod(i, c.n_heads) for i in order[s : s + 3]] for s in (0, 100))

        def cost(logits: Any) -> float:
            return float(my.next_token_loss(logits[None, n - 1 :], twice[None, n - 1 :]))

        def without(heads: Any) -> float:
            def edit(layer: int, pattern: Any) -> Any:
                pattern = pattern.clone()
                for one, head in heads:
                    if one == layer:
                        pattern[head] = torch.eye(pattern.shape[-1])[0]
                return pattern

            return cost(my.attention_patterns(twice, p, c, edit)[0])

        for layer, head in best:
            yield f"layer {layer}, head {head}: {found[layer, head]:.2f} of its weight"
        yield f"The repetition costs {cost(logits):.1f} nats a token,"
        yield f"{without(best):.1f} without these three, {without(others):.1f} without three others"


@tryout(20, real=True)
def bill(my: ModuleType) -> Iterator[str]:
    """What a training costs, before it begins."""
    world = small_world()
    small, (_, large, _) = world.config(my), smollm2(my)
    flops = my.training_flops(small, 300 * 48 * world.length, world.length)
    yield f"The training of chapter 14: {my.n_parameters(small):,} parameters, {flops:.1e} FLOPs"
    flops = my.training_flops(large, 1e12, 2048)
    yield f"SmolLM2: {my.n_parameters(large):,} parameters; a trillion tokens {flops:.1e} FLOPs"
