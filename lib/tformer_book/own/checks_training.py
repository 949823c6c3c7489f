"""Checks of parts 12 to 20: derivatives, tokens, the loss, training, generation, costs."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from types import ModuleType
from typing import Any

import numpy as np
import torch

from tformer_book.exercises.answer import Wrong
from tformer_book.exercises.kinds import Several
from tformer_book.exercises.table import Case, case
from tformer_book.own.checking import checked
from tformer_book.own.checks_attention import VISIBLE
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
    """,
    otherwise="(loss(x + step) − loss(x − step)) / (2 step), where one number moves.",
)
def _numerical_derivative(my: ModuleType, x: Any, index: Any, step: float) -> Any:
    return my.numerical_derivative(lambda x: (x**3).sum(), x, index, step)


# ---- 13 -----------------------------------------------------------------------------------

RANKS = {("l", "o"): 0, ("lo", "w"): 1, ("e", "r"): 2, ("w", "er"): 3, ("a", "a"): 4}


def _words() -> Iterator[Case]:
    why = "Merge (l, o) is earliest, then (lo, w), then (e, r)."
    yield case(word="lower", ranks=RANKS, want=[3, 2], why=why)
    yield case(word="er", ranks=RANKS, want=[2])
    yield case(word="x", ranks=RANKS, want=[1])
    yield case(word="xyz", ranks=RANKS, want=[1, 1, 1], why="No merge is known: letters stay.")
    yield case(word="aaa", ranks=RANKS, want=[2, 1], why="Of equal pairs the first is merged.")
    yield case(word="newer", ranks=RANKS, want=[1, 1, 3])
    yield case(word="lololow", ranks=RANKS)
    yield case(word="abc", ranks={("b", "c"): 0, ("a", "b"): 1}, want=[1, 2])


@checked(
    "apply_merges",
    praise="The earliest merge first, until none is left.",
    cases=_words,
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
    pieces = my.apply_merges(word, ranks)
    if not isinstance(pieces, list) or not all(isinstance(piece, str) for piece in pieces):
        raise Wrong("apply_merges returns a list of texts: the pieces of the word.")
    return np.array([len(piece) for piece in pieces])


def _batches() -> Iterator[Case]:
    even = np.zeros((1, 3, 4))
    yield case(logits=even, tokens=np.array([[0, 1, 2]]), want=np.log(4), why="All are alike.")
    logits = arrays(1, (2, 4, 5))[0]
    yield case(logits=logits, tokens=np.array([[0, 1, 2, 3], [4, 4, 0, 2]]))
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
        logits[targets >= 0], targets[targets >= 0] → logits.flatten(0, 1), targets.flatten()
            The -1 that fills up a shorter text counts as a target.
        logits.logsumexp(-1) → logits.exp().sum(-1).log()
            Large logits overflow: use logsumexp.
    """,
    otherwise="The mean of −log p(next token).",
)
def _next_token_loss(my: ModuleType, logits: Any, tokens: Any) -> Any:
    return my.next_token_loss(logits, tokens)


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
    yield case(steps=3, peak=0.5, warmup=0)


@checked(
    "train",
    praise="The losses, and the parameters after the last step.",
    cases=_trainings,
    kind=Several(names=("losses", "output matrix", "gains", "steps")),
    slips="""
        adamw(x, clip * g, → adamw(x, g,
            The gradients are not clipped: all together have a length of at most 1.
        0.1 if x.ndim > 1 else 0 → 0.1
            Gains decay too; only matrices do.
        0.1 if x.ndim > 1 else 0 → 0
            Nothing decays; matrices decay by 0.1.
        x[...], (mean[name], square[name]) = new, state → x[...] = new
            The means are forgotten after each step.
        learning_rate(step, steps, warmup, peak) → peak
            The rate is the same at all steps; learning_rate says it.
        learning_rate(step, steps, warmup, peak) → learning_rate(step - 1, steps, warmup, peak)
            learning_rate is asked about the step before.
    """,
    otherwise="Loss, gradients, clip to length 1, adamw for each parameter, then yield.",
)
def _train(my: ModuleType, steps: int, peak: float, warmup: int) -> Any:
    c = small(my, n_layers=1)
    p = {name: x.requires_grad_() for name, x in parameters(my, c).items()}
    rows = torch.tensor([[1, 2, 3, 4], [5, 6, 7, -1]])
    told = list(my.train(p, c, lambda step: (rows + step) % 11 * (rows >= 0) - (rows < 0) * 1,
                         steps, peak, warmup))  # fmt: skip
    if not told or any(not isinstance(row, tuple) or len(row) != 2 for row in told):
        raise Wrong("train yields two numbers at each step: the step and its loss.")
    place = "model.layers.0."
    gains = torch.stack([p[f"{place}input_layernorm.weight"], p["model.norm.weight"]])
    losses, numbers = (torch.tensor([row[i] for row in told]) for i in (1, 0))
    return losses, p[f"{place}self_attn.o_proj.weight"].detach().clone(), gains, numbers


# ---- 15 -----------------------------------------------------------------------------------


def _choices() -> Iterator[Case]:
    logits = np.log([0.2, 0.5, 0.3])
    yield case(logits=logits, temperature=0.0, top_p=1.0, want=[0.0, 1, 0])
    yield case(logits=logits, temperature=1.0, top_p=1.0, want=[0.2, 0.5, 0.3])
    why = "0.5 is less than 0.7, so the second token is still kept."
    yield case(logits=logits, temperature=1.0, top_p=0.7, want=[0.0, 0.6, 0.4], why=why)
    yield case(logits=logits, temperature=1.0, top_p=0.4, want=[0.0, 1, 0])
    yield case(logits=np.log([0.1, 0.2, 0.7]), temperature=0.5, top_p=1.0)
    yield case(logits=np.log([0.6, 0.4]), temperature=5.0, top_p=1.0)


@checked(
    "sample",
    praise="The likeliest at temperature 0; else as often as the probabilities say.",
    cases=_choices,
    slips="""
        logits / temperature → logits
            The temperature has no effect.
        logits / temperature → logits * temperature
            The logits are multiplied by the temperature; divide them.
        (p.cumsum(-1) - p < top_p) → (p.cumsum(-1) < top_p)
            top_p leaves out the token that reaches it; that token is kept.
        p = p * (p.cumsum(-1) - p < top_p) → p = p
            top_p has no effect.
        int(order[torch.multinomial(p, 1, generator=rng)]) → int(torch.multinomial(p, 1, generator=rng))
            That is a place in the sorted order; the token that stands there is asked for.
        int(order[torch.multinomial(p, 1, generator=rng)]) → int(order[0])
            It is always the likeliest token; sample from the probabilities.
    """,  # noqa: E501
    otherwise="softmax(logits / temperature), the likeliest up to top_p, and one drawn of them.",
)
def _sample(my: ModuleType, logits: Any, temperature: float, top_p: float) -> Any:
    torch.manual_seed(0)
    drawn = Counter(my.sample(logits, temperature, top_p) for _ in range(2000))
    return np.array([drawn[i] / 2000 for i in range(len(logits))]).round(1)


def _beginnings() -> Iterator[Case]:
    for tokens in ([3], [3, 1, 4, 1, 5]):
        yield case(tokens=np.array(tokens), n=1, stop=None)
        yield case(tokens=np.array(tokens), n=6, stop=None)
    yield case(tokens=np.array([2, 7]), n=6, stop=True, why="The token `stop` ends the text.")
    yield case(tokens=np.array([3, 1, 4]), n=4, stop=None)


@checked(
    "generate",
    praise="Token by token with caches, until n or stop.",
    cases=_beginnings,
    slips="""
        (tokens, p, c, caches) → (tokens, p, c)
            After the first token the text before is forgotten: hand the caches on.
        if token == stop: → if False:
            The token `stop` does not end the text.
        sample(logits[-1], → sample(logits[0],
            The next token goes by the last row of logits.
        for _ in range(n) → for _ in range(n - 1)
            One token is missing.
    """,
    otherwise="Logits and caches of what is new, a sample of the last row, yield it, go on.",
)
def _generate(my: ModuleType, tokens: Any, n: int, stop: Any) -> Any:
    c = small(my, tied=False)
    p = parameters(my, c, seed=5)
    if stop:
        stop = list(my.generate(tokens, p, c, n, temperature=0))[2]
    return np.array(list(my.generate(tokens, p, c, n, temperature=0, stop=stop)), dtype=float)


# ---- 16, 17, 20 ---------------------------------------------------------------------------


def _long() -> Iterator[Case]:
    q, k, v = arrays(1, (2, 4), (3, 4), (3, 5))
    yield case(q=q, k=k, v=v, mask=None, size=3)
    yield case(q=q, k=k, v=v, mask=None, size=2)
    yield case(q=q, k=k, v=v, mask=VISIBLE, size=2)
    late = np.array([[False, False, True], [True, False, True]])
    yield case(q=q, k=k, v=v, mask=late, size=1, why="A query may see no key of the first block.")
    q, k, v = arrays(2, (2, 4, 4), (2, 7, 4), (2, 7, 5))
    yield case(q=60 * q, k=k, v=v, mask=None, size=3, why="Scores may be large.")


@checked(
    "blockwise_attention",
    praise="The same as attention, in blocks of any size, with masks and large scores.",
    cases=_long,
    slips="""
        shrink * total → total
            The sum of weights is not put to the new maximum.
        shrink * y → y
            The output so far is not put to the new maximum.
        return y / total → return y
            The output is not divided by the sum of weights.
        v[..., s : s + size, :] → v[..., :size, :]
            Every block takes the values of the first.
        / math.sqrt(q.shape[-1]) → / 1
            The scores are not divided by √d.
    """,
    otherwise="For each block: the new maximum, what was is put to it, the block is added.",
)
def _blockwise_attention(my: ModuleType, q: Any, k: Any, v: Any, mask: Any, size: int) -> Any:
    return my.blockwise_attention(q, k, v, mask, size)


def _to_watch() -> Iterator[Case]:
    for layer in (None, 0, 1):
        yield case(tokens=np.array([3, 1, 4, 1, 5]), layer=layer)
        yield case(tokens=np.array([[3, 1, 4], [2, 2, 0]]), layer=layer)


@checked(
    "attention_patterns",
    praise="Logits and the pattern of every head, as they are and with one head edited.",
    cases=_to_watch,
    kind=Several(names=("logits", "patterns")),
    slips="""
        edit(len(patterns), attention_weights(q, k, mask).flatten(-4, -3)) → attention_weights(q, k, mask).flatten(-4, -3)
            edit has no effect.
        edit(len(patterns), → edit(0,
            edit is always told layer 0.
        attention_weights(q, k, mask) → attention_weights(q, k)
            The mask has no effect.
    """,  # noqa: E501
    otherwise="attend keeps the (edited) weights of each layer and multiplies them by the values.",
)
def _attention_patterns(my: ModuleType, tokens: Any, layer: int | None) -> Any:
    def first_token_alone(now: int, pattern: Any) -> Any:
        if now != layer:
            return pattern
        pattern = pattern.clone()
        pattern[..., 2, :, :] = torch.eye(pattern.shape[-1])[0]
        return pattern

    c = small(my)
    logits, patterns = my.attention_patterns(tokens, parameters(my, c), c, first_token_alone)
    return logits, torch.stack(list(patterns))


def _bills() -> Iterator[Case]:
    yield case(sizes=(10, 4, 1, 2, 1, 6), tied=True)
    yield case(sizes=(10, 4, 3, 2, 2, 6), tied=False)


@checked(
    "n_parameters",
    praise="For tied and other models.",
    cases=_bills,
    slips="""
        math.prod(shape) → sum(shape)
            A matrix has rows times columns numbers.
        math.prod(shape) for shape in parameter_shapes(c).values() → math.prod(shape) for shape in parameter_shapes(c).values() if len(shape) > 1
            The gains are missing.
        math.prod(shape) for shape in parameter_shapes(c).values() → math.prod(shape) for name, shape in parameter_shapes(c).items() if "embed" not in name
            The embedding is missing; here all parameters count.
    """,  # noqa: E501
    otherwise="The sum over all shapes of rows times columns.",
)
def _n_parameters(my: ModuleType, sizes: Any, tied: bool) -> Any:
    return my.n_parameters(my.Config(*sizes, tied=tied))


def _to_train() -> Iterator[Case]:
    yield case(sizes=(10, 4, 1, 2, 1, 6), n_tokens=1, T=1)
    yield case(sizes=(10, 4, 3, 2, 2, 6), n_tokens=1000, T=50)


@checked(
    "training_flops",
    praise="6 a parameter and token, and the scores.",
    cases=_to_train,
    slips="""
        6 * n_parameters(c) → 2 * n_parameters(c)
            2 is the forward pass alone; the backward pass costs twice as much, so 6 in all.
        + 12 * c.n_layers * c.d_model * T → + 0
            The scores and the weighted values are missing: 12 n_layers d_model T a token.
        n_tokens * → 1 *
            The number of tokens has no effect.
    """,
    otherwise="n_tokens · (6 n_parameters + 12 n_layers d_model T).",
)
def _training_flops(my: ModuleType, sizes: Any, n_tokens: int, T: int) -> Any:
    return my.training_flops(my.Config(*sizes), n_tokens, T)
