"""Exercise 22.7: a wrong line found by its logits."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from tformer import reference
from tformer.parameters import NormParameters
from tformer_book.exercises.promises import whole
from tformer_book.exercises.registry import exercise
from tformer_book.exercises.samples import integers
from tformer_book.exercises.table import Case, case

Array = np.ndarray

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
        why = f"Version {planted} is planted here: its error is 0, and no other is."
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
        "A sink of −∞ is none. For version 2, slices with a step of 2 take the coordinates apart.",
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
        np.abs(found - logits).max() → np.abs(found - logits).max(axis=1).mean()
            You averaged over positions. The largest difference of all positions is asked for.
        np.abs(found - logits).max() → np.abs(found - logits).max() ** 2
            You squared the differences; their sizes are compared.
        np.abs(found - logits).max() → (found - logits).max()
            You took differences with their signs, so the largest may be one of many.
        error / np.abs(logits).max() → error / np.abs(found).max()
            You divided by your own largest logit; the largest of the given logits is the measure.
        error / np.abs(logits).max() → error / logits.max()
            You divided by the largest logit with its sign; its size is meant.
        error / np.abs(logits).max() → np.abs((found - logits) / logits).max()
            You divided each difference by its own logit; the largest logit is the measure of all.
        error = → rows = np.abs(found - logits).max(axis=1) / np.abs(logits).max(axis=1) ; error =
        error / np.abs(logits).max() → rows.max()
            You divided each position by its own largest logit; the largest of all positions is
            the measure.
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
        off(*usual, sink) → off(*usual, -np.inf)
            In version 0 the sink is missing. That is the head as it should be, with its sink.
        off(*usual, sink) → off(turn(norm(q, 1.0)), turn(norm(k, 1.0)), sink)
            In version 0 the gain is missing. That is the head as it should be, with its gain.
        off(*usual, -np.inf) → off(*usual, sink)
            Version 3 still divides by e^sink. Without a sink the weights of the tokens sum to 1.
        off(*usual, -np.inf) → off(*usual, 0.0)
            Without a sink there is no further key. A sink of 0 is one, and takes weight.
        off(*usual, sink / np.sqrt(d)) → off(*usual, sink * np.sqrt(d))
            Version 4 divides the sink by the root of d; you multiplied.
        off(*usual, sink / np.sqrt(d)) → off(*usual, sink / d)
            Version 4 divides the sink by the root of d; you divided by d.
        d = q.shape[1] → d = q.shape[1] ; sink = sink / np.sqrt(d)
        off(*usual, sink / np.sqrt(d)) → off(*usual, sink * np.sqrt(d))
            Versions 0 and 4 are exchanged: you divided the sink by the root of d in all but
            version 4.
        if neighbours else np.split → if not neighbours else np.split
        if neighbours: → if not neighbours:
            Versions 0 and 2 are exchanged: version 0 turns i and i + d / 2, and only version 2
            neighbours.
        errors = → both = [norm(turn(x, True), gain) for x in (q, k)] ; errors =
        errors = → last = [norm(turn(x, True), 1 + gain) for x in (q, k)] ; errors =
        turn(norm(q, gain), True), turn(norm(k, gain), True), sink → *both, sink
        off(*usual, -np.inf) → off(*both, -np.inf)
        off(*usual, sink / np.sqrt(d)) → off(*both, sink / np.sqrt(d))
        turn(norm(q, 1 + gain)), turn(norm(k, 1 + gain)), sink → *last, sink / np.sqrt(d)
            Your versions add up. Each has one wrong line, and all others as they should be.
        norm(q, 1 + gain) → norm(q, gain - 1)
        norm(k, 1 + gain) → norm(k, gain - 1)
            Version 5 multiplies by 1 + gain; you multiplied by gain − 1.
        turn(norm(k, 1 + gain)) → turn(norm(k, gain))
            In version 5 both gains change, that of the keys too.
        norm(turn(q), gain), norm(turn(k), gain) → norm(usual[0], gain), norm(usual[1], gain)
            In version 1 the norm stands behind RoPE and no longer before it; yours has
            both.
        norm(turn(q), gain), norm(turn(k), gain) → norm(turn(q), 1.0), norm(turn(k), 1.0)
            In version 1 the gain is missing: it multiplies behind the division.
        norm(turn(k), gain), sink → usual[1], sink
            In version 1 queries and keys go through the norm behind RoPE.
        turn(norm(k, gain), True) → turn(norm(k, gain))
            In version 2 queries and keys are both turned in pairs of neighbours.
        turn(norm(q, gain), True), turn(norm(k, gain), True) → norm(q, gain), norm(k, gain)
            Your version 2 turns nothing. It turns pairs of neighbours.
        np.cos(angles), np.sin(angles) → np.cos(angles), (-1) ** neighbours * np.sin(angles)
            Your version 2 turns the other way round. Only the pairs change, not the angles.
        cosine, sine = → turns = angles[:, ::-1] if neighbours else angles ; cosine, sine =
        np.cos(angles), np.sin(angles) → np.cos(turns), np.sin(turns)
            Your version 2 takes the angles in another order. The pair of 2i and 2i + 1 has the
            angle i.
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
        turned = [a * cosine - b * sine, a * sine + b * cosine]
        if neighbours:
            return np.stack(turned, axis=2).reshape(x.shape)
        return np.concatenate(turned, axis=1)

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
