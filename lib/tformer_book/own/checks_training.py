"""Checks of parts 12 to 14: derivatives, tokens, the loss, training."""

from __future__ import annotations

from collections.abc import Iterator
from types import ModuleType
from typing import Any

import numpy as np
import torch

from tformer_book.exercises.answer import Answer, Wrong
from tformer_book.exercises.kinds import Name, Parts, Several
from tformer_book.exercises.table import Case, case
from tformer_book.own.checking import checked
from tformer_book.own.samples import arrays, parameters, small

# ---- 12 -----------------------------------------------------------------------------------


def _cubes() -> Iterator[Case]:
    yield case(x=[1.0, 2], index=(1,), step=0.5, want=12.25, why="(2.5³ − 1.5³) / 1 is 12.25.")
    yield case(x=[[1.0, 2], [3, 4]], index=(1, 0), step=0.1)
    yield case(x=[1.0, -2], index=(0,), step=0.01)


@checked(
    "numerical_derivative",
    praise="Of the sum of cubes, by a step forward and a step back.",
    cases=_cubes,
    slips="""
        (loss(x + move) - loss(x - move)) / (2 * step) → (loss(x + move) - loss(x)) / step
            That is a step forward alone; a step forward and one back is far more exact.
        / (2 * step) → / step
            From x − step to x + step it is two steps.
        loss(x + move) - loss(x - move) → loss(x - move) - loss(x + move)
            The sign is wrong.
        / (2 * step) → / 2
            It is not divided by the step.
        torch.zeros_like(x) → torch.full_like(x, step)
            All numbers of x move at once; only the one at `index` may.
        move[index] = step → move[index] = 1e-3
            The argument step has no effect.
        return (loss(x + move) - loss(x - move)) → return (loss(x + move) - loss(x))
            The second loss is taken at x itself. If you keep `old = x[index]` and change x, `old` changes with it: it is a view. Keep `x[index].item()`.
    """,  # noqa: E501
    otherwise="(loss(x + step) − loss(x − step)) / (2 step), where one number moves.",
    hints=(
        "Make a tensor of zeros like x, and put `step` in the place `index`. Which two losses do "
        "you need, and how far apart are their points?",
    ),
)
def _numerical_derivative(my: ModuleType, x: Any, index: Any, step: float) -> Any:
    before = x.clone()
    found = my.numerical_derivative(lambda x: (x**3).sum(), x, index, step)
    if not torch.equal(x, before):
        raise Wrong("x has changed; move a copy of it, x.clone(), or move it back.")
    return found


# ---- 13 -----------------------------------------------------------------------------------

RANKS = {("l", "o"): 0, ("lo", "w"): 1, ("e", "r"): 2, ("w", "er"): 3, ("a", "a"): 4}


def _words() -> Iterator[Case]:
    known = "Known pairs alone are merged, the earliest first."
    for word, want, why in (
        ("lower", ["low", "er"], "Merge (l, o) is earliest, then (lo, w), then (e, r)."),
        ("er", ["er"], known),
        ("x", ["x"], "There is no pair."),
        ("xyz", ["x", "y", "z"], "No merge is known: letters stay."),
        ("aaa", ["aa", "a"], "Of equal pairs the first is merged."),
        ("newer", ["n", "e", "wer"], known),
        ("lololow", ["lo", "lo", "low"], known),
    ):
        yield _word(word, RANKS, want, why)
    yield _word("abc", {("b", "c"): 0, ("a", "b"): 1}, ["a", "bc"], "The pair (b, c) is earliest.")


def _word(word: str, ranks: dict[tuple[str, str], int], want: list[str], why: str) -> Case:
    said = f"word = {word!r} and ranks = {ranks}"
    return case(word=word, ranks=ranks, want=want, why=why, said=said)


class Pieces(Name):
    """The pieces of a word, a list of texts, which is compared as it is written out."""

    def read(self, f: Answer, value: Any, said: str) -> Parts:
        """Return the list in writing, or raise Wrong where there is none."""
        if not isinstance(value, list) or not all(isinstance(piece, str) for piece in value):
            raise Wrong("apply_merges returns a list of texts: the pieces of the word.")
        return self.plain(value)

    def plain(self, value: Any) -> Parts:
        """Return a list of our own in writing."""
        return (str(value),)

    def head(self, f: Answer, got: Parts, want: Parts, said: str, place: int) -> str:
        """Say which pieces were given, and which are right."""
        return f"With {said}, it gives {got[0]}; it should be {want[0]}."


@checked(
    "apply_merges",
    praise="The earliest merge first, until none is left.",
    cases=_words,
    kind=Pieces(),
    slips="""
        min(pairs, key=lambda pair: ranks.get(pair, math.inf)) → next((pair for pair in pairs if pair in ranks), pairs[0])
            You merge from left to right. The merge that was learnt first comes first.
        min(pairs, → max(pairs, ;; math.inf → -1
            You merge what was learnt last. The merge that was learnt first comes first.
        parts[i : i + 2] → parts[i : i + 1]
            The second half of the pair still stands behind the merged piece.
        while len(parts) > 1: → for _ in range(1):
            Only one merge is made; go on until no pair is known.
        i = pairs.index(first) → i = len(pairs) - 1 - pairs[::-1].index(first)
            Of equal pairs the last is merged; it should be the first.
    """,  # noqa: E501
    otherwise="Again and again: find the known pair that was learnt first, and join it.",
)
def _apply_merges(my: ModuleType, word: str, ranks: Any) -> Any:
    return my.apply_merges(word, ranks)


def _batches() -> Iterator[Case]:
    even = np.zeros((1, 3, 4))
    why = "Each of the four tokens has the probability 1/4."
    yield case(logits=even, tokens=np.array([[0, 1, 2]]), want=np.log(4), why=why)
    logits = arrays(1, (2, 4, 5))[0]
    yield case(logits=logits, tokens=np.array([[0, 1, 2, 3], [4, 4, 0, 2]]))
    yield case(logits=logits, tokens=np.array([[3, 1, 1, 0], [2, 0, 4, 4]]))
    filled = np.array([[0, 1, 2, 3], [4, 1, -1, -1]])
    yield case(logits=logits, tokens=filled, why="-1 fills up a shorter text and is no target.")
    large = 1000 * logits
    yield case(logits=large, tokens=filled, why="Logits may be large.")


@checked(
    "next_token_loss",
    praise="Each position predicts the next; what fills up a text does not count.",
    cases=_batches,
    slips="""
        logits[:, :-1], tokens[:, 1:] → logits, tokens
            The logits of a position are compared with its own token; the target is the next one.
        logits[:, :-1], tokens[:, 1:] → logits[:, 1:], tokens[:, :-1]
            The shift is the wrong way round: position t predicts token t + 1.
        .mean() → .sum()
            The losses are added up; their mean is asked for.
        .mean() → .mean() * -1
            The sign is missing: −log p is positive.
        logits[targets >= 0], targets[targets >= 0] → logits.flatten(0, 1), targets.flatten()
            The -1 that fills up a shorter text counts as a target.
        logits.logsumexp(-1) → logits.exp().sum(-1).log()
            Large logits make an exponential ∞ or a probability 0: use logsumexp.
        = torch.nn.functional.cross_entropy(logits[:, :-1], tokens[:, 1:])
            cross_entropy takes a table of logits and a row of targets: flatten first.
    """,
    otherwise="The mean of −log p(next token).",
)
def _next_token_loss(my: ModuleType, logits: Any, tokens: Any) -> Any:
    return my.next_token_loss(logits, tokens)


class Near(Several):
    """Several arrays that agree to five digits: clipping may add a small number to the length."""

    def same(self, got: Any, want: Any) -> bool:
        """Tell whether two arrays agree."""
        return got.shape == want.shape and bool(np.allclose(got, want, rtol=1e-5, atol=1e-6))


# ---- 14 -----------------------------------------------------------------------------------


def _steps() -> Iterator[Case]:
    x, grad, mean, square = arrays(1, (3,), (3,), (3,), (3,))
    zero = np.zeros(3)
    first: dict[str, Any] = {"grad": grad, "mean": zero, "square": zero}
    yield case(x=x, **first, step=1, rate=0.1, decay=0.0)
    yield case(x=x, **first, step=1, rate=0.1, decay=0.5)
    later: dict[str, Any] = {"grad": grad, "mean": mean, "square": square**2}
    yield case(x=x, **later, step=7, rate=0.1, decay=0.5)
    yield case(x=x, **later, step=100, rate=0.01, decay=0.0)


@checked(
    "adamw",
    praise="The first step and later ones, with decay and without.",
    cases=_steps,
    kind=Several(names=("new x", "mean", "mean square")),
    slips="""
        - rate * decay * x → - decay * x
            The decay is not multiplied by the rate.
        (1 - betas[0]) * grad → (1 - betas[0]) * (grad + decay * x) ;; grad**2 → (grad + decay * x)**2 ;; - rate * decay * x → - 0 * x
            The decay is added to the gradient, as in Adam with L2; AdamW takes it off x directly.
        rate * mean / (1 - betas[0] ** step) → rate * mean
            The mean is not corrected for its start at 0.
        (square / (1 - betas[1] ** step)) → square
            The mean square is not corrected for its start at 0.
        rate * mean / (1 - betas[0] ** step) → rate * mean ;; (square / (1 - betas[1] ** step)) → square
            Both means start at 0: divide mean by 1 − β₁^step and mean square by 1 − β₂^step.
        , mean, square → , mean / (1 - betas[0] ** step), square / (1 - betas[1] ** step)
            The corrected means are returned; the next step needs them uncorrected.
        mean = betas[0] → betas = betas[::-1]; mean = betas[0]
            The betas are exchanged: betas[0] belongs to the mean, betas[1] to the mean square.
        (1 - betas[1]) * grad**2 → (1 - betas[1]) * grad
            The mean square is one of squares; the square of the gradient is missing.
        return x - rate → return x + rate
            The step goes uphill.
    """,  # noqa: E501
    otherwise="x − rate · mean / typical − rate · decay · x, both means corrected.",
)
def _adamw(
    my: ModuleType, x: Any, grad: Any, mean: Any, square: Any, step: int, rate: float, decay: float
) -> Any:
    return my.adamw(x, grad, mean, square, step, rate, decay=decay)


def _schedule() -> Iterator[Case]:
    for step, want in ((1, 0.1), (9, 0.9), (10, 1.0), (110, 0.1), (60, 0.55)):
        yield case(step=step, steps=110, warmup=10, peak=1.0, last=0.1, want=want)
    yield case(step=35, steps=110, warmup=10, peak=2.0, last=0.0)
    for step, want in ((110, 0.0003), (60, 0.00165)):
        yield case(step=step, steps=110, warmup=10, peak=0.003, last=0.1, want=want)
    yield case(step=1, steps=3, warmup=0, peak=1.0, last=0.5)
    yield case(step=5, steps=5, warmup=5, peak=1.0, last=0.1, want=1.0)


@checked(
    "learning_rate",
    praise="Up to the peak in a straight line, and down by half a cosine.",
    cases=_schedule,
    slips="""
        if step < warmup → if False
            There is no warm-up: before step `warmup` the rate is peak · step / warmup.
        (last + (1 - last) * cosine) → cosine
            The rate falls to 0; it ends at last · peak.
        peak * (last + (1 - last) * cosine) → last + (peak - last) * cosine
            last is a share of the peak: the rate ends at last · peak.
        (step - warmup) / max(steps - warmup, 1) → step / steps
            The cosine begins at step 0; it begins where the warm-up ends.
        peak * step / warmup → peak * (step - 1) / warmup
            The first step has the rate 0; steps count from 1.
        (1 + math.cos(math.pi * (step - warmup) / max(steps - warmup, 1))) / 2 → 1 - (step - warmup) / max(steps - warmup, 1)
            The rate falls in a straight line; it should fall by half a cosine.
    """,  # noqa: E501
    otherwise="peak · step / warmup, then peak · (last + (1 − last) · half a cosine).",
)
def _learning_rate(
    my: ModuleType, step: int, steps: int, warmup: int, peak: float, last: float
) -> Any:
    return my.learning_rate(step, steps, warmup, peak, last)


def _trainings() -> Iterator[Case]:
    yield case(steps=1, peak=0.5, warmup=1)
    yield case(steps=4, peak=0.05, warmup=2)
    yield case(steps=3, peak=1.0, warmup=0)


@checked(
    "train",
    praise="The losses, and the parameters after the last step.",
    cases=_trainings,
    kind=Near(names=("list of losses", "output matrix", "vector of gains", "list of steps")),
    slips="""
        x, clip * g, mean → x, g, mean
            The gradients are not clipped: all together have a length of at most 1.
        clip * g, mean → g / max(1, g.norm() + 1e-6), mean
            Each gradient is clipped for itself; all together are one vector.
        min(1, 1 / (length + 1e-6)) → 1 / (length + 1e-6)
            Gradients that are shorter than 1 are made longer; they stay as they are.
        0.1 if x.ndim > 1 else 0 → 0.1
            Gains decay too; only matrices do.
        0.1 if x.ndim > 1 else 0 → 0
            Nothing decays; matrices decay by 0.1.
        x[...], mean[name], square[name] = adamw → x[...], *_ = adamw
            The means are forgotten after each step.
        square[name], step, rate → square[name], 1, rate
            adamw is always told step 1; hand it the step.
        with torch.no_grad(): → if True:
            x[...] = new belongs inside `with torch.no_grad():`.
        yield step, loss.item() → yield step, next_token_loss((model or transformer)(tokens, p, c)[0], tokens).item()
            The loss is taken after the step; the one before it is asked for.
        learning_rate(step, steps, warmup, peak) → peak
            The rate is the same at all steps; learning_rate says it.
        learning_rate(step, steps, warmup, peak) → learning_rate(step - 1, steps, warmup, peak)
            learning_rate is asked about the step before.
        batch(step) → batch(0)
            All steps read the same batch: ask for batch(step), with steps from 1.
        batch(step) → batch(step - 1)
            The first batch is batch(1): ask for batch(step), with steps from 1.
        list(p.values())) → list(p.values())); grads = [g + mean.get((name, 0), 0) for name, g in zip(p, grads)]; mean.update({(name, 0): g for name, g in zip(p, grads)})
            The gradients of earlier steps are still in it: after `backward()`, `.grad` adds up. Set it to None before each step, or use torch.autograd.grad.
    """,  # noqa: E501
    otherwise="Loss, gradients, clip to length 1, adamw for each parameter, then yield.",
    hints=(
        "Five things happen at each step: a loss, its gradients, one clipping for all of them, a "
        "step of adamw for each parameter, and a yield. What has to be kept from step to step?",
        "Each parameter has a mean and a mean square, zeros at the start. The gradients come from "
        "torch.autograd.grad(loss, list(p.values())). Their common length is the root of the sum "
        "of all their squares; where it is above 1, divide every gradient by it.",
        "Change the parameters inside `with torch.no_grad():`, by x[...] = …, since p belongs to "
        "the caller. decay is 0.1 where x.ndim is above 1, else 0. The rate is learning_rate(step, "
        "steps, warmup, peak), with steps from 1. Yield step and loss.item().",
    ),
)
def _train(my: ModuleType, steps: int, peak: float, warmup: int) -> Any:
    c = small(my, n_layers=1)
    p = {name: x.requires_grad_() for name, x in parameters(my, c).items()}
    before, handed = dict(p), 0
    rows = torch.tensor([[1, 2, 3, 4], [5, 6, 7, -1]])

    def batch(step: int) -> torch.Tensor:
        return (rows + step) % 11 * (rows >= 0) - (rows < 0) * 1

    def model(*inputs: Any, **more: Any) -> Any:
        nonlocal handed
        handed += 1
        return my.transformer(*inputs, **more)

    given = None if warmup else model
    told = list(my.train(p, c, batch, steps, peak, warmup, model=given))
    if not told or any(not isinstance(row, tuple) or len(row) != 2 for row in told):
        raise Wrong("train yields two numbers at each step: the step and its loss.")
    if given and not handed:
        raise Wrong("The argument `model` has no effect: call it, or transformer if it is None.")
    if told[0][0] == 0:
        raise Wrong("Steps count from 1; yours begin at 0.")
    if any(isinstance(loss, torch.Tensor) for _, loss in told):
        raise Wrong("train yields the loss as a tensor; a number is asked for: loss.item().")
    if any(p[name] is not x for name, x in before.items()):
        raise Wrong("p holds other tensors than before; change its own in place: x[...] = new.")
    place = "model.layers.0."
    gains = torch.stack([p[f"{place}input_layernorm.weight"], p["model.norm.weight"]])
    losses, numbers = (torch.tensor([row[i] for row in told]) for i in (1, 0))
    return losses, p[f"{place}self_attn.o_proj.weight"].detach().clone(), gains, numbers
