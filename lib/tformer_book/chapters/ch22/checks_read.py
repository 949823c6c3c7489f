"""Exercises 22.7 and 22.8: a wrong line found by its logits, and what a config.json says."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import numpy as np

from tformer import reference
from tformer.parameters import NormParameters
from tformer_book.exercises.kinds import Several
from tformer_book.exercises.promises import whole
from tformer_book.exercises.registry import exercise
from tformer_book.exercises.samples import integers
from tformer_book.exercises.table import Case, case

Array = np.ndarray
Config = dict[str, Any]

# ---- 22.7 ---------------------------------------------------------------------------------

VERSIONS = 6
MISSING_SCALE = 6


def _logits(
    guess: int, q: Array, k: Array, v: Array, gain: Array, angles: Array, sink: float, head: Array
) -> Array:
    """The logits of the head with one of its lines changed, by the library."""
    sinusoids = np.stack([np.sin(angles), np.cos(angles)], axis=-1).reshape(q.shape)
    pairing = "adjacent" if guess == 2 else "half"
    norm = NormParameters(gain + (guess == 5))
    root = np.sqrt(q.shape[1])
    rows = []
    for x in (q, k):
        if guess == 1:
            x = reference.rms_norm(reference.rope(x, sinusoids, pairing), norm, 1e-6)
        else:
            x = reference.rope(reference.rms_norm(x, norm, 1e-6), sinusoids, pairing)
        rows.append(x)
    later = np.triu(np.full((len(q), len(q)), -np.inf), 1)
    score = {3: -np.inf, 4: sink / root}.get(guess, sink)
    bias = np.column_stack([np.full(len(q), score), later])
    k, v = (np.vstack([0 * x[:1], x]) for x in (rows[1], v))
    scale = 1.0 if guess == MISSING_SCALE else 1 / root
    return reference.attention(rows[0], k, v, bias=bias, scale=scale) @ head


def _errors(logits: Array, *given: Any) -> Array:
    """The errors of all guesses, by the library."""
    off = [np.abs(_logits(guess, *given) - logits).max() for guess in range(VERSIONS)]
    return np.array(off) / np.abs(logits).max()


def _plants() -> Iterator[Case]:
    rng = np.random.default_rng(3)
    sizes = ((4, 4, 2), (5, 4, 3), (5, 6, 4), (4, 8, 3), (6, 4, 5), (5, 4, 2))
    for guess, (T, d, n) in enumerate(sizes):
        given: dict[str, Any] = {
            "q": rng.normal(size=(T, d)),
            "k": rng.normal(size=(T, d)),
            "v": rng.normal(size=(T, d)),
            "gain": rng.uniform(0.3, 2, d),
            "angles": np.arange(1.0, T + 1)[:, None] * 0.5 ** np.arange(d // 2),
            "sink": float(rng.normal(1, 1)),
            "head": rng.normal(size=(d, n)),
        }
        planted = (guess + 3) % VERSIONS
        logits = _logits(planted, *given.values())
        want = _errors(logits, *given.values())
        said = f"logits of version {planted}, T = {T}, d = {d} and N = {n}"
        why = f"The error of version {planted} is 0 here, and no other."
        yield case(**given, logits=logits, want=want, why=why, said=said)
    logits = -3 * _logits(MISSING_SCALE, *given.values())
    why = "None of these lines is planted, so no error is 0."
    want = _errors(logits, *given.values())
    said = "logits of another mistake, times −3"
    yield case(**given, logits=logits, want=want, why=why, said=said)
    given |= {"q": integers(1, (5, 4)) + 0.5, "k": 0.01 * given["k"], "sink": -2.0}
    logits = _logits(1, *given.values())
    small = "Keys may be small, and 10⁻⁶ counts below the root."
    want = _errors(logits, *given.values())
    yield case(**given, logits=logits, want=want, why=small, said="keys near 0.01 and a sink of −2")
    names = ("q", "k", "v", "head")
    given |= {name: integers(n, given[name].shape) + 4 for n, name in enumerate(names)}
    given |= {"gain": np.array([1.0, 2, 1, 3]), "sink": 1.0}
    yield from whole(given | {"logits": integers(9, (5, 2)) + 5})


@exercise(
    "22.7",
    praise="Each of the six lines has been planted once, and once none of them.",
    hints=(
        "Write the head once, as a function of what is handed to attention: queries, keys, sink.",
        "The six versions differ in how queries and keys are made, or in the number for the sink. "
        "A sink of −∞ is none.",
        "Put the sink as one more column beside the scores, take softmax, and leave the column out "
        "before the values. The error is the largest difference over the largest logit.",
    ),
    cases=_plants,
    otherwise="Each version changes one line of the head, and all others stay as they should be.",
    slips="""
        error / np.abs(logits).max() → error
            The errors are not divided by the largest logit.
        np.abs(found - logits).max() → np.abs(found - logits).mean()
            You took the mean difference; the largest is asked for.
        np.abs(found - logits).max() → (found - logits).max()
            You took differences with their signs, so the largest may be one of many.
        error / np.abs(logits).max() → error / np.abs(found).max()
            You divided by your own largest logit; the published one is the measure.
        error / np.abs(logits).max() → error / logits.max()
            You divided by the largest logit with its sign; its size is meant.
        error / np.abs(logits).max() → np.abs((found - logits) / logits).max()
            You divided each difference by its own logit; the largest logit is the measure of all.
        error / np.abs(logits).max() → np.linalg.norm(found - logits) / np.linalg.norm(logits)
            You compared lengths of all differences together; the largest difference is asked for.
        np.abs(found - logits).max() → np.abs(found[-1] - logits[-1]).max()
            You looked at the last position only.
        np.tri(len(q)) > 0 → np.tri(len(q)) >= 0
            Later positions are not hidden.
        q @ k.T / np.sqrt(d) → q @ k.T
            The scale is missing: scores are divided by the root of d.
        d = q.shape[1] → d = q.shape[1] ; sink = np.log(abs(sink))
            You took the sink for an exponential. It is a score, and softmax takes its exponential.
        off(*usual, -np.inf) → off(*usual, 0.0)
            Without a sink there is no further key. A sink of 0 is one, and takes weight.
        off(*usual, sink / np.sqrt(d)) → off(*usual, sink * np.sqrt(d))
            The fifth version divides the sink by the root of d; you multiplied.
        off(*usual, sink / np.sqrt(d)) → off(*usual, sink / d)
            The fifth version divides the sink by the root of d; you divided by d.
        turn(norm(k, 1 + gain)) → turn(norm(k, gain))
            In the sixth version both gains change, that of the keys too.
        norm(turn(q), gain), norm(turn(k), gain) → norm(usual[0], gain), norm(usual[1], gain)
            In the second version the norm stands behind RoPE and no longer before it; yours has
            both.
        norm(turn(k), gain), sink → usual[1], sink
            In the second version queries and keys go through the norm behind RoPE.
        turn(norm(k, gain), True) → turn(norm(k, gain))
            In the third version queries and keys are both turned in pairs of neighbours.
        (x**2).mean(axis=1, keepdims=True) + 1e-6 → (x**2).mean(axis=1, keepdims=True) + 1e-5
            The number below the root is 10⁻⁶.
        (x**2).mean(axis=1, keepdims=True) + 1e-6 → (x**2).mean(axis=1, keepdims=True)
            10⁻⁶ is missing below the root.
        (x**2).mean(axis=1, keepdims=True) → (x**2).sum(axis=1, keepdims=True)
            You divided by the length of the vector: squares were added up. RMSNorm takes their
            mean.
        weights[:, :-1] @ v @ head → $ / weights[:, :-1].sum(axis=1)[:, None]
            You made the weights of the tokens add up to 1. The sink keeps its share.
        return errors → return errors.argmin()
            You return the number of a version; the errors of all six are asked for.
        return errors → return errors < 1e-9
            You return which version fits; the errors of all six are asked for.
    """,
)
def suspects(
    q: Array,
    k: Array,
    v: Array,
    gain: Array,
    angles: Array,
    sink: float,
    head: Array,
    logits: Array,
) -> Array:
    """How far each of six versions is from the logits."""
    d = q.shape[1]

    def norm(x: Array, gain: Array) -> Array:
        return gain * x / np.sqrt((x**2).mean(axis=1, keepdims=True) + 1e-6)

    def turn(x: Array, neighbours: bool = False) -> Array:
        a, b = (x[:, 0::2], x[:, 1::2]) if neighbours else np.split(x, 2, axis=1)
        cosine, sine = np.cos(angles), np.sin(angles)
        return np.concatenate([a * cosine - b * sine, a * sine + b * cosine], axis=1)

    def off(q: Array, k: Array, sink: float) -> float:
        scores = np.where(np.tri(len(q)) > 0, q @ k.T / np.sqrt(d), -np.inf)
        scores = np.column_stack([scores, np.full(len(q), sink)])
        exps = np.exp(scores - scores.max(axis=1, keepdims=True))
        weights = exps / exps.sum(axis=1, keepdims=True)
        found = weights[:, :-1] @ v @ head
        error = np.abs(found - logits).max()
        return float(error / np.abs(logits).max())

    usual = turn(norm(q, gain)), turn(norm(k, gain))
    errors = np.array(
        [
            off(*usual, sink),
            off(norm(turn(q), gain), norm(turn(k), gain), sink),
            off(turn(norm(q, gain), True), turn(norm(k, gain), True), sink),
            off(*usual, -np.inf),
            off(*usual, sink / np.sqrt(d)),
            off(turn(norm(q, 1 + gain)), turn(norm(k, 1 + gain)), sink),
        ]
    )
    return errors


# ---- 22.8 ---------------------------------------------------------------------------------


def _files() -> Iterator[Case]:
    def of(T: int, n_layers: int, why: str, want: Any = None, **rest: Any) -> Case:
        config = {"num_hidden_layers": n_layers, **rest}
        return case(
            config=config, T=T, want=want, why=why, said=f"{json.dumps(config)} and T = {T}"
        )

    full, sliding = "full_attention", "sliding_attention"
    linear, chunked = "linear_attention", "chunked_attention"
    names = "`layer_types` names the kind of each layer."
    yield of(
        10,
        2,
        f"{names} The last window begins at 7, and token 7 has seen those from 5 on.",
        want=([3, 3], 5),
        layer_types=[sliding] * 2,
        sliding_window=3,
    )
    yield of(
        10, 3, names, want=([10, 3, 0], 0), layer_types=[full, sliding, linear], sliding_window=3
    )
    why = "Positions 8 to 10 are in the last chunk of 4, and nothing comes from earlier ones."
    yield of(11, 3, why, want=([3, 3, 3], 8), layer_types=[chunked] * 3, attention_chunk_size=4)
    why = "The chunk begins at 8; the layer below has a window, and 8 has seen 6 and 7 there."
    mixed: dict[str, Any] = {"sliding_window": 3, "attention_chunk_size": 4}
    yield of(11, 2, why, want=([3, 3], 6), layer_types=[sliding, chunked], **mixed)
    why = "The window begins at 8, where a chunk begins as well."
    yield of(11, 2, why, want=([3, 3], 8), layer_types=[chunked, sliding], **mixed)
    yield of(9, 2, "The last position begins a chunk.", layer_types=[chunked, sliding], **mixed)
    yield of(7, 2, "No list and no window: all layers are full.", want=([7, 7], 0))
    why = "There is a window and no list: each layer slides."
    yield of(10, 3, why, want=([4, 4, 4], 0), sliding_window=4)
    yield of(20, 3, why, want=([4, 4, 4], 10), sliding_window=4, use_sliding_window=True)
    off = "`use_sliding_window` is false, so that the number of the window is not read."
    yield of(20, 3, off, want=([20] * 3, 0), sliding_window=4, use_sliding_window=False)
    state = "A state has read the whole text, and windows above it pass that on."
    mixed = {"layer_types": [sliding, linear, sliding], "sliding_window": 3}
    yield of(20, 3, state, want=([3, 0, 3], 0), **mixed)
    yield of(20, 3, state, layer_types=[linear, sliding, sliding], sliding_window=3)
    null = "A null says nothing, as if the line were not there."
    yield of(20, 3, null, want=([20] * 3, 0), sliding_window=None)
    yield of(20, 2, null, want=([5, 5], 11), sliding_window=5, layer_types=None)
    why = "Every third layer is full, counted from 1, and the others slide."
    want = [4, 4, 20, 4, 4, 20, 4]
    yield of(20, 7, why, want=(want, 0), sliding_window=4, sliding_window_pattern=3)
    yield of(20, 2, why, want=([4, 4], 13), sliding_window=4, sliding_window_pattern=3)
    why = "Every fourth layer is full, counted from 1, and the others have a state."
    yield of(9, 5, why, want=([0, 0, 0, 9, 0], 0), full_attention_interval=4)
    both = "Where there is a list, the pattern is not read."
    yield of(9, 2, both, layer_types=[full, sliding], sliding_window=2, sliding_window_pattern=5)
    yield of(9, 2, both, layer_types=[linear, full], full_attention_interval=1)
    same = "With `layer_types` there, `use_sliding_window` is not read."
    yield of(9, 2, same, layer_types=[sliding] * 2, sliding_window=2, use_sliding_window=False)
    one = "A window of 1 sees the token itself."
    yield of(9, 2, one, want=([1, 1], 8), sliding_window=1)
    yield of(
        1, 3, "A text may have one token.", layer_types=[full, sliding, linear], sliding_window=3
    )
    short = "A text may be shorter than a window and than a chunk."
    yield of(
        5,
        2,
        short,
        want=([5, 5], 0),
        layer_types=[sliding, chunked],
        sliding_window=9,
        attention_chunk_size=8,
    )
    rng = np.random.default_rng(1)
    for _ in range(12):
        kinds = rng.choice([sliding, chunked], 4).tolist()
        sizes = {
            "sliding_window": int(rng.integers(1, 6)),
            "attention_chunk_size": int(rng.integers(2, 8)),
        }
        yield of(int(rng.integers(20, 40)), 4, names, layer_types=kinds, **sizes)
    yield of(30, 6, names, layer_types=[sliding] * 6, sliding_window=4)


@exercise(
    "22.8",
    praise="Lists of layers, patterns, intervals and windows that are off; nulls, one token, and "
    "chunks that begin with the last one.",
    hints=(
        "Make the list of kinds first, by the rules in their order; then each kind says at which "
        "position its keys begin.",
        "A position t sees from t − w + 1 on through a window of w, and from the last multiple of "
        "the chunk on in a chunk. Neither is below 0.",
        "For the second answer go from the last layer down: which is the earliest key of the "
        "earliest position so far?",
    ),
    cases=_files,
    kind=Several(names=("numbers of keys", "first position")),
    otherwise="Kinds by the rules in their order; then positions, from the last layer down.",
    slips="""
        max(0, t - window + 1) → max(0, t - window)
            Your window is one too wide: it holds the token itself.
        max(0, t - window + 1) → max(0, t - window + 2)
            Your window is one too narrow.
        max(0, t - window + 1) → t - window + 1
            A window may be wider than the text: no position is below 0.
        return t // chunk * chunk → return max(0, t - chunk + 1)
            You took a chunk for a window. Chunks lie side by side, and the first begins at 0.
        return t // chunk * chunk → return (t + 1) // chunk * chunk
            Positions count from 0: the last one is T − 1, and belongs to the chunk in which it
            lies.
        T - begin(kind, T - 1) for → min(T, chunk) if kind[0] == "c" else T - begin(kind, T - 1) for
            The last chunk need not be full: it ends with the last position.
        first = begin(kind, first) → first = max(0, first - (T - 1 - begin(kind, T - 1)))
            You added up how far each layer sees from the last position. Where a chunk begins
            depends on the position.
        0 if kind == "linear_attention" else → 0 if not kind else
            A layer with a state attends to no keys.
        T - begin(kind, T - 1) for → T - 1 - begin(kind, T - 1) for
            A query attends to itself as well.
        0 if kind == "linear_attention" else → 1 if kind == "linear_attention" else
            A layer with a state attends to no keys, not even to one.
        T - begin(kind, T - 1) for → begin(kind, T - 1) for
            You return where the keys begin; how many there are is asked for.
        reversed(kinds) → kinds
            You went from the first layer up. The last query looks at the layer below through the
            last layer, so this one comes first.
        first = begin(kind, first) → first = begin(kind, T - 1)
            You went back through one layer only; its keys have seen earlier tokens in the layers
            below.
        first = begin(kind, first) → first = min(first, begin(kind, T - 1))
            You took the widest layer. What its keys have seen in the layers below reaches further
            back.
        first = begin(kind, first) → first = first if kind[0] == "l" else begin(kind, first)
            A state has read all tokens, from the first on.
        number % every → (number - 1) % every
            Layers count from 1: the first full one is that whose number is the interval.
        if number % every else "full_attention" → if not number % every else "full_attention"
            The pattern is turned round: every n-th layer is full, and the others are not.
        "linear_attention", interval → "sliding_attention", interval
            Between the full layers of an interval there are states, not windows.
        "sliding_attention", L + 1 → "full_attention", 1
            A window without a list counts for all layers.
        config.get("use_sliding_window", True) → True
            `use_sliding_window` was not read: where it is false, the number of the window says
            nothing.
        config.get("use_sliding_window", True) → config.get("use_sliding_window", False)
            A file without `use_sliding_window` has its window turned on.
        elif pattern is not None → elif False
            The pattern of windows was not read.
        if interval is not None → if False
            The interval of full layers was not read.
        if kinds is None → if True
            `layer_types` was not read. Where it is there, it decides.
        return np.array(keys), first → return np.array(keys), T - first
            You return how many tokens can matter; the position of the first is asked for.
        return np.array(keys), first → return np.array(keys), first + 1
            Positions count from 0.
        return np.array(keys), first → return np.array(keys[::-1]), first
            The layers stand in the wrong order: the first comes first.
    """,
)
def last_sees(config: Config, T: int) -> tuple[Array, int]:
    """How many keys the last query has in each layer, and the first token that matters to it."""
    L, kinds = config["num_hidden_layers"], config.get("layer_types")
    interval, pattern = config.get("full_attention_interval"), config.get("sliding_window_pattern")
    window: Any = config.get("sliding_window")
    chunk: Any = config.get("attention_chunk_size")
    usual, every = "full_attention", 1
    if interval is not None:
        usual, every = "linear_attention", interval
    elif pattern is not None:
        usual, every = "sliding_attention", pattern
    elif window is not None and config.get("use_sliding_window", True):
        usual, every = "sliding_attention", L + 1
    if kinds is None:
        kinds = [usual if number % every else "full_attention" for number in range(1, L + 1)]

    def begin(kind: str, t: int) -> int:
        if kind == "sliding_attention":
            return max(0, t - window + 1)
        if kind == "chunked_attention":
            return t // chunk * chunk
        return 0

    keys = [0 if kind == "linear_attention" else T - begin(kind, T - 1) for kind in kinds]
    first = T - 1
    for kind in reversed(kinds):
        first = begin(kind, first)
    return np.array(keys), first
