"""Checks of parts 15 to 20: sampling, generation, blockwise attention, patterns, costs."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from types import ModuleType
from typing import Any

import numpy as np
import torch
from torch.overrides import TorchFunctionMode

from tformer_book.exercises import describe
from tformer_book.exercises.answer import Wrong
from tformer_book.exercises.kinds import Several
from tformer_book.exercises.table import Case, case
from tformer_book.own.checking import checked
from tformer_book.own.checks_attention import VISIBLE
from tformer_book.own.samples import arrays, parameters, small

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
    other = np.log([0.3, 0.6, 0.1])
    yield case(logits=other, temperature=0.5, top_p=0.7, want=[0.0, 1, 0])
    yield case(logits=2 * np.log([0.6, 0.4]), temperature=2.0, top_p=0.65, want=[0.6, 0.4])


@checked(
    "sample",
    praise="The likeliest at temperature 0; else as often as the probabilities say.",
    cases=_choices,
    slips="""
        logits / temperature → logits
            The temperature has no effect.
        if temperature == 0: → if False:
            At temperature 0 take the likeliest token; do not divide by 0.
        logits / temperature → logits * temperature
            The logits are multiplied by the temperature; divide them.
        (p.cumsum(-1) - p < top_p) → (p.cumsum(-1) < top_p)
            top_p leaves out the token that reaches it; that token is kept.
        p = p * (p.cumsum(-1) - p < top_p) → p = p
            top_p has no effect.
        logits / temperature → logits ;; return int(order[ → p = p ** (1 / temperature); return int(order[
            top_p cuts before the temperature; it cuts softmax(logits / temperature).
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
    if any(isinstance(token, torch.Tensor) for token in drawn):
        raise Wrong("sample returns a tensor; a whole number is asked for: int(…).")
    one, other = (torch.Generator().manual_seed(3) for _ in range(2))
    if any(
        my.sample(logits, temperature, top_p, one) != my.sample(logits, temperature, top_p, other)
        for _ in range(50)
    ):
        raise Wrong("Two equal generators as `rng` give different tokens: draw with generator=rng.")
    return np.array([drawn[i] / 2000 for i in range(len(logits))]).round(1)


def _beginnings() -> Iterator[Case]:
    for tokens in ([3], [3, 1, 4, 1, 5]):
        yield case(tokens=np.array(tokens), n=1, stop=None, top_p=1.0)
        yield case(tokens=np.array(tokens), n=6, stop=None, top_p=1.0)
    why = "The token `stop` ends the text."
    yield case(tokens=np.array([2, 7]), n=6, stop=True, top_p=1.0, why=why)
    yield case(tokens=np.array([3, 1, 4]), n=4, stop=None, top_p=1.0)
    why = "With so small a top_p the likeliest token alone is kept, at any temperature."
    for tokens in ([3, 1, 4], [5]):
        yield case(tokens=np.array(tokens), n=6, stop=None, top_p=1e-9, why=why)


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
        sample(logits[-1], temperature, → sample(logits[-1], 1,
            The argument temperature has no effect.
        temperature, top_p, rng) → temperature, rng=rng)
            The argument top_p has no effect.
        torch.as_tensor(tokens), None → torch.as_tensor(tokens), None; yield from tokens.tolist()
            The tokens that were handed over come out too; only new ones are asked for.
    """,
    otherwise="Logits and caches of what is new, a sample of the last row, yield it, go on.",
    hints=(
        "The model reads the text once. From then on it reads one token at a time: where does what "
        "it read before come from?",
        "Begin with caches = None, and hand the model its own caches again at each call. Only the "
        "last row of logits says what comes next.",
        "(model or transformer)(tokens, p, c, caches) returns logits and caches. Yield "
        "sample(logits[-1], temperature, top_p, rng); end if it is stop; else go on with "
        "torch.tensor([token]) in the place of tokens.",
    ),
)
def _generate(my: ModuleType, tokens: Any, n: int, stop: Any, top_p: float) -> Any:
    c = small(my, tied=False)
    p = parameters(my, c, seed=5)
    torch.manual_seed(0)
    if stop:
        stop = list(my.generate(tokens, p, c, n, temperature=0))[2]
    handed: list[int] = []

    def model(tokens: Any, *rest: Any, **more: Any) -> Any:
        handed.append(len(tokens))
        return my.transformer(tokens, *rest, **more)

    temperature = 0 if top_p == 1 else 1.0
    text = my.generate(tokens, p, c, n, temperature, top_p, stop=stop, model=model)
    if not isinstance(text, Iterator):
        raise Wrong(f"generate returns {describe.kind(text)}; it yields one token after another.")
    found = list(text)
    if found and not handed:
        raise Wrong("The argument `model` has no effect: call it, or transformer if it is None.")
    if max(handed[1:], default=1) > 1:
        raise Wrong(
            f"The model is handed {', '.join(map(str, handed))} tokens, one call after another. "
            "After the first call hand over the new token alone, and the caches."
        )
    one, other = (
        list(my.generate(tokens, p, c, 8, rng=torch.Generator().manual_seed(3))) for _ in range(2)
    )
    if one != other:
        raise Wrong("Two equal generators as `rng` give different texts: hand rng on to sample.")
    return np.array(found, dtype=float)


# ---- 16, 17, 20 ---------------------------------------------------------------------------


class _Shapes(TorchFunctionMode):
    """Gathers the last two axes of every array of floats that is computed."""

    def __init__(self) -> None:
        super().__init__()
        self.shapes: set[tuple[int, ...]] = set()

    def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        """Call a function of torch, and remember what shape came out."""
        found = func(*args, **(kwargs or {}))
        if isinstance(found, torch.Tensor) and found.is_floating_point():
            self.shapes.add(tuple(found.shape[-2:]))
        return found


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
    with _Shapes() as seen:
        found = my.blockwise_attention(q, k, v, mask, size)
    table = (q.shape[-2], k.shape[-2])
    if size < k.shape[-2] and table in seen.shapes:
        raise Wrong(
            f"With size = {size} there is still a table of all {table[0]} by {table[1]} scores: "
            "compute the scores of one block of keys after another."
        )
    return found


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
        pattern = edit(len(patterns), attention_weights(q, k, mask).flatten(-4, -3)) → pattern = attention_weights(q, k, mask).flatten(-4, -3) ;; patterns.append(pattern) → patterns.append(pattern); pattern = edit(len(patterns) - 1, pattern)
            The list has the patterns before edit; it has what edit returns.
        attention_weights(q, k, mask).flatten(-4, -3)) → attention_weights(q, k, mask)) ;; pattern.unflatten(-3, (k.shape[-4], -1)) → pattern
            The patterns still have an axis of groups; heads stand on one axis, (…, heads, T, S).
        , attend=attend)[0] → )[0]
            The model is not handed `attend`, so the list stays empty.
        return pattern.unflatten(-3, (k.shape[-4], -1)) @ v → return attention_weights(q, k, mask) @ v
            The edited weights are listed, but the model goes on with those before edit.
    """,  # noqa: E501
    otherwise="attend keeps the (edited) weights of each layer and multiplies them by the values.",
    hints=(
        "The model calls `attend`, if it is handed one, in the place of attention, once a layer. "
        "So a function that also keeps its weights sees all of them.",
        "Write attend(q, k, v, mask) inside attention_patterns, where it can append to a list. The "
        "length of this list is the number of the layer.",
        "attention_weights(q, k, mask) has an axis of groups and one of heads in a group: "
        ".flatten(-4, -3) makes one of them, for edit and the list. Before `@ v` unflatten it "
        "again, to k.shape[-4] groups.",
    ),
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
