"""Exercise 22.8: what a config.json says of the layers, and how far back the last one sees."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import numpy as np

from tformer_book.exercises.kinds import Several
from tformer_book.exercises.registry import exercise
from tformer_book.exercises.table import Case, case

Array = np.ndarray
Config = dict[str, Any]


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
        "The last window begins at 7, and token 7 has seen those from 5 on.",
        want=([3, 3], 5),
        layer_types=[sliding] * 2,
        sliding_window=3,
    )
    each = {"layer_types": [full, sliding, linear], "sliding_window": 3}
    yield of(10, 3, names, want=([10, 3, 0], 0), **each)
    why = "Positions 8 to 10 are in the last chunk of 4, and nothing comes from earlier ones."
    chunks = {"layer_types": [chunked] * 3, "attention_chunk_size": 4}
    yield of(11, 3, why, want=([3, 3, 3], 8), **chunks)
    why = "The last position is 11, and its chunk of 4 begins at 8 and is full."
    yield of(12, 3, why, want=([4, 4, 4], 8), **chunks)
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
    yield of(10, 3, null, want=([4] * 3, 0), sliding_window=4, use_sliding_window=None)
    yield of(20, 2, null, want=([5, 5], 11), sliding_window=5, use_sliding_window=None)
    for rule in ("full_attention_interval", "sliding_window_pattern"):
        yield of(10, 2, null, want=([3, 3], 5), sliding_window=3, **{rule: None})
        yield of(9, 2, null, want=([9, 9], 0), **{rule: None})
    why = "Every third layer is full, counted from 1, and the others slide."
    want = [4, 4, 20, 4, 4, 20, 4]
    yield of(20, 7, why, want=(want, 0), sliding_window=4, sliding_window_pattern=3)
    yield of(20, 2, why, want=([4, 4], 13), sliding_window=4, sliding_window_pattern=3)
    why = "Every fourth layer is full, counted from 1, and the others have a state."
    yield of(9, 5, why, want=([0, 0, 0, 9, 0], 0), full_attention_interval=4)
    before = "The rules apply in their order: the interval comes before pattern and window."
    two: dict[str, Any] = {"full_attention_interval": 2, "sliding_window": 3}
    beside: list[Config] = [{}, {"use_sliding_window": True}]
    beside += [{"sliding_window_pattern": n} for n in (2, 3)]
    for more in beside:
        yield of(10, 4, before, want=([0, 10, 0, 10], 0), **two, **more)
    unread = "Where there is a pattern, `use_sliding_window` is not read."
    two = {"sliding_window_pattern": 2, "sliding_window": 3, "use_sliding_window": False}
    yield of(10, 4, unread, want=([3, 10, 3, 10], 0), **two)
    yield of(10, 1, unread, want=([3], 7), **two)
    both = "Where there is a list, no pattern and no interval is read."
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
    back = "A window begins w − 1 before the query, a chunk at the last multiple of its size."
    rng = np.random.default_rng(1)
    for _ in range(12):
        kinds = rng.choice([sliding, chunked], 4).tolist()
        sizes = {
            "sliding_window": int(rng.integers(1, 6)),
            "attention_chunk_size": int(rng.integers(2, 8)),
        }
        yield of(int(rng.integers(20, 40)), 4, back, layer_types=kinds, **sizes)
    yield of(30, 6, back, layer_types=[sliding] * 6, sliding_window=4)


@exercise(
    "22.8",
    praise="Lists of layers, patterns, intervals and windows that are off, rules in their order; "
    "nulls of all keys, one token, and chunks that begin or end with the last one.",
    hints=(
        "Make the list of kinds first, by the rules in their order; then each kind says at which "
        "position its keys begin.",
        "A position t sees from t − w + 1 on through a window of w, and from the last multiple of "
        "the chunk on in a chunk. Neither is below 0.",
        "For the second answer go from the last layer down: which is the earliest key of the "
        "earliest position so far?",
    ),
    cases=_files,
    kind=Several(names=("count of keys in each layer", "first position")),
    otherwise="Kinds by the rules in their order; then positions, from the last layer down.",
    slips="""
        max(0, t - window + 1) → max(0, t - window)
            Your window is one too wide: it holds the token itself.
        max(0, t - window + 1) → max(0, t - window + 2)
            Your window is one too narrow.
        T - begin(kind, T - 1) for → min(T, window + 1) if kind[0] == "s" else $
            A window of w holds the query itself and w − 1 before it; you counted w before it.
        T - begin(kind, T - 1) for → window if kind[0] == "s" else $
            No query attends to more keys than there are positions: T at most.
        first = begin(kind, first) → first = max(0, begin(kind, first) - (kind[0] == "s"))
            Each window leads back w − 1 positions, not w.
        max(0, t - window + 1) → t - window + 1
            A window may be wider than the text: no position is below 0.
        return t // chunk * chunk → return max(0, t - chunk + 1)
            You took a chunk for a window. Chunks lie side by side, and the first begins at 0.
        return t // chunk * chunk → return (t + 1) // chunk * chunk
            Positions count from 0: the last one is T − 1, and belongs to the chunk in which it
            lies.
        T - begin(kind, T - 1) for → min(T, chunk) if kind[0] == "c" else T - begin(kind, T - 1) for
            The last chunk need not be full: it ends with the last position.
        T - begin(kind, T - 1) for → T % chunk if kind[0] == "c" else $
            Where T is a multiple of the chunk, the last chunk is full, and not empty.
        first = begin(kind, first) → first = begin(kind, first + (kind[0] == "c"))
            Your chunk begins one position late where the next one begins a new chunk. The last
            position is T − 1; position T is not there.
        first = begin(kind, first) → first = max(0, first - (T - 1 - begin(kind, T - 1)))
            You added up how far each layer sees from the last position. Where a chunk begins
            depends on the position.
        0 if kind == "linear_attention" else → 0 if not kind else
            A layer with a state attends to no keys.
        T - begin(kind, T - 1) for → T - 1 if kind[0] == "f" else $
            In a full layer the query attends to itself, too: to T keys.
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
        reversed(kinds) → kinds[-1:]
            You looked at the last layer alone. Its keys have seen earlier tokens in the layers
            below.
        first = begin(kind, first) → first = max(0, T - (T - first) * (T - begin(kind, T - 1)))
            You multiplied the widths of the layers. Each window leads back w − 1 positions, and
            these add up.
        first = begin(kind, first) → first = min(first, begin(kind, T - 1))
            You took the widest layer. What its keys have seen in the layers below reaches further
            back.
        first = begin(kind, first) → first = first if kind[0] == "l" else begin(kind, first)
            A state has read all tokens, from the first on.
        number % every → (number - 1) % every
            Layers count from 1: the first full one is that whose number is the interval.
        if number % every else nth → if not number % every else nth
            The pattern is turned round: every n-th layer is full, and the others are not.
        "linear_attention", interval → "sliding_attention", interval
            Between the full layers of an interval there are states, not windows.
        usual = nth = "sliding_attention" → pass
            A window without a list counts for all layers.
        config.get("use_sliding_window") is not False → True
            `use_sliding_window` was not read: where it is false, the number of the window says
            nothing.
        config.get("use_sliding_window") is not False → config.get("use_sliding_window", False)
            A file without `use_sliding_window` has its window turned on.
        config.get("use_sliding_window") is not False → config.get("use_sliding_window", True)
            You took a null of `use_sliding_window` for false. It counts as if the line were not
            there, and only false turns the window off.
        elif pattern is not None → elif pattern is not None and on
            You turned the pattern off where `use_sliding_window` is false. Only rule 4 reads that
            key.
        if interval is not None → if interval is not None and pattern is None
            Your pattern comes before the interval. Rule 2 is read before rule 3.
        if interval is not None → if interval is not None and not (window is not None and on)
            Your window comes before the interval. Rule 2 is read before rule 4.
        elif pattern is not None → elif pattern is not None and not (window is not None and on)
            Your window comes before the pattern. Rule 3 is read before rule 4.
        elif pattern is not None → elif False
            The pattern of windows was not read.
        if interval is not None → if False
            The interval of full layers was not read.
        if kinds is None → if True
            `layer_types` was not read. Where it is there, it decides.
        return np.array(keys), first → return np.array(keys), T - first
            You return how many tokens can matter; the position of the first is asked for.
        return np.array(keys), first → return np.array(keys), T - 1 - first
            You return how far back the first position lies; the position itself is asked for.
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
    on = config.get("use_sliding_window") is not False
    usual, nth, every = "full_attention", "full_attention", 1
    if interval is not None:
        usual, every = "linear_attention", interval
    elif pattern is not None:
        usual, every = "sliding_attention", pattern
    elif window is not None and on:
        usual = nth = "sliding_attention"
    if kinds is None:
        kinds = [usual if number % every else nth for number in range(1, L + 1)]

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
