"""Exercises 22.5 and 22.6: a router with a choice bias, and a delta rule all at once."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from tformer import reference
from tformer.layer_configuration import Routing
from tformer_book.exercises.answer import Answer, Wrong
from tformer_book.exercises.promises import promised, single, whole
from tformer_book.exercises.registry import exercise
from tformer_book.exercises.samples import integers
from tformer_book.exercises.table import Case, case, each

Array = np.ndarray

# ---- 22.5 ---------------------------------------------------------------------------------


def _routed() -> Iterator[Case]:
    log = np.log
    why = (
        "The scores are .9, .6 and .5, and with the bias .9, .6 and .7: the first and the third "
        "are chosen, with weights .9/1.4 and .5/1.4, times 2."
    )
    logits = [[log(9), log(1.5), 0.0]]
    want = np.array([[1.8, 0, 1.0]]) / 1.4
    yield case(logits=logits, choice_bias=[0.0, 0, 0.2], top_k=2, factor=2.0, want=want, why=why)
    alone = "One expert alone has the weight 1, times the factor."
    want = np.array([[0.0, 0, 3]])
    yield case(logits=logits, choice_bias=[0.0, 0, 5], top_k=1, factor=3.0, want=want, why=alone)
    rng = np.random.default_rng(2)
    for T, E, top_k in ((1, 4, 2), (3, 5, 2), (4, 4, 3), (6, 8, 3), (2, 6, 1), (5, 3, 2)):
        given: dict[str, Any] = {
            "logits": rng.normal(0, 1.5, (T, E)),
            "choice_bias": rng.normal(0, 0.3, E),
        }
        rule = Routing(top_k, scores="sigmoid", renormalise=True, factor=2.5)
        want = reference.top_k_routing(given["logits"], rule, given["choice_bias"])
        yield case(**given, top_k=top_k, factor=2.5, want=want)
    low: dict[str, Any] = {"logits": rng.normal(-6, 1, (3, 6)), "choice_bias": rng.normal(0, 1, 6)}
    yield case(**low, top_k=2, factor=1.0, why="A bias may be below 0, and larger than all scores.")
    negative = "All biased scores may be negative; the largest is still chosen."
    bias, want = np.full(3, -3.0), np.array([[0.0, 0, 1]])
    only: dict[str, Any] = {"logits": [[0.0, 1, 2]], "choice_bias": bias}
    yield case(**only, top_k=1, factor=1.0, want=want, why=negative)
    negated = low | {"choice_bias": low["choice_bias"] - 4}
    for top_k in (1, 3):
        yield case(**negated, top_k=top_k, factor=1.0, why=negative)
    above: dict[str, Any] = {"logits": low["logits"], "choice_bias": np.arange(6.0) + 2}
    yield case(**above, top_k=2, factor=1.0, why="All biased scores may be above 1.")
    yield case(**low, top_k=6, factor=1.0, why="All experts may be chosen.")
    zero = "Without a bias the largest scores are chosen."
    yield case(logits=low["logits"], choice_bias=np.zeros(6), top_k=2, factor=1.0, why=zero)
    large = "Logits may be as large as ±30."
    huge = np.array([[30.0, 20, -30, -20], [-30, -25, -28, -29]])
    yield case(logits=huge, choice_bias=[0.1, 0.3, 0.2, 0.0], top_k=2, factor=1.0, why=large)
    one = np.array([[3.0, -2, 1, 0], [0, 2, -1, 1]])
    yield from promised(
        whole, single, logits=one, choice_bias=np.array([0.0, 1, 3, 5]), top_k=2, factor=2.0
    )


def _one_by_one(
    taken: float, logits: Array, choice_bias: Array, top_k: int, factor: float
) -> Array:
    """The largest biased score, again and again; that of a chosen expert is set to `taken`."""
    scores = 1 / (1 + np.exp(-logits))
    biased, kept = scores + choice_bias, np.zeros(logits.shape)
    for _ in range(top_k):
        best = biased.argmax(axis=1)[:, None]
        np.put_along_axis(kept, best, np.take_along_axis(scores, best, axis=1), axis=1)
        np.put_along_axis(biased, best, taken, axis=1)
    return factor * kept / kept.sum(axis=1, keepdims=True)


@exercise(
    "22.5",
    praise="One expert, a few and all of them, biases far above all scores and far below, and "
    "logits of ±30.",
    hints=(
        "Two tables are needed: one to choose by, one to weigh by. In which does the bias stand?",
        "`np.argsort` along the last axis says who is chosen, once the bias has been added to the "
        "sigmoids.",
        "Put zeros where nobody is chosen in the table without the bias. Then divide each row by "
        "its sum, and multiply by the factor.",
    ),
    cases=_routed,
    mutants=each(
        _one_by_one,
        {
            f"An expert is chosen twice: those that are taken are set to {taken}, and biased "
            "scores may lie below that. Set them to −∞.": float(taken.replace("−", "-"))
            for taken in ("0", "−1")
        },
    ),
    otherwise="Choose with the bias; weigh without it, over the sum of the chosen, times factor.",
    slips="""
        np.where(chosen, scores, 0.0) → np.where(chosen, biased, 0.0)
            The bias stands in the weights. It decides who is chosen, and nothing else.
        biased = scores + choice_bias → biased = scores
            The bias has no effect on the choice.
        np.argsort(-biased, axis=-1) → np.argsort(-np.maximum(biased, 0), axis=-1)
            You cut biased scores off at 0. They may all be negative; the largest is still chosen.
        np.argsort(-biased, axis=-1) → np.argsort(-np.clip(biased, 0, 1), axis=-1)
            You cut biased scores off at 0 and 1. They may lie anywhere; the largest are chosen.
        biased = scores + choice_bias → biased = scores - choice_bias
            The bias is subtracted; a larger one makes an expert more likely to be chosen.
        biased = scores + choice_bias → biased = scores * choice_bias
            The bias is multiplied with the scores; it is added.
        biased = scores + choice_bias → biased = scores * (1 + choice_bias)
            The bias makes scores larger by a share of them; it is added.
        biased = scores + choice_bias → biased = logits + choice_bias
            You added the bias to the logits. It is added to the sigmoids, from 0 to 1.
        scores = 1 / (1 + np.exp(-logits)) → scores = 1 / (1 + np.exp(-logits - choice_bias))
        biased = scores + choice_bias → biased = scores
            You added the bias before the sigmoid, so that it changes weights as well.
        1 / (1 + np.exp(-logits)) → (1 + np.tanh(logits / 2)) / 2
            For logits near −30 your sigmoid loses its digits: 1 + tanh cancels there.
        1 / (1 + np.exp(-logits)) → np.exp(logits) / np.exp(logits).sum(axis=-1, keepdims=True)
            Your scores are a softmax over all experts. Here each score is a sigmoid of its own.
        np.where(chosen, scores, 0.0) → np.where(chosen, np.exp(logits), 0.0)
            Your weights are a softmax over the chosen logits; they are sigmoids over their sum.
        biased = scores + choice_bias → biased = scores / scores.sum(-1)[:, None] + choice_bias
            You divided the scores by their sum before you added the bias.
        np.where(chosen, scores, 0.0) → np.where(chosen, logits, 0.0)
            You weighed by the logits themselves.
        np.where(chosen, scores, 0.0) → np.where(chosen, np.exp(scores), 0.0)
            You took a softmax of the scores; they are divided by their sum, without exponentials.
        np.where(chosen, scores, 0.0) → np.take_along_axis(scores, best, axis=-1)
            You return the chosen experts alone; every expert has a column, with 0 if not chosen.
        np.where(chosen, scores, 0.0) → 0 * scores
        return → kept[:, :top_k] = np.take_along_axis(scores, best, -1) ; return
            The weights stand in the first columns; each belongs into that of its expert.
        np.where(chosen, scores, 0.0) → np.where(chosen, 1.0, 0.0)
            All chosen experts have equal weights; they are weighed by their scores.
        np.where(chosen, scores, 0.0) → scores
            Nobody is left out: experts that are not chosen have the weight 0.
        factor * kept / kept.sum(axis=-1, keepdims=True) → factor * kept
            The weights are not divided by their sum.
        factor * kept / kept.sum(axis=-1, keepdims=True) → kept / kept.sum(axis=-1, keepdims=True)
            The factor is missing, or is divided out again: it multiplies after the division.
        factor * kept → kept / factor
            You divided by the factor.
        kept.sum(axis=-1, keepdims=True) → scores.sum(axis=-1, keepdims=True)
            You divided by the sum over all experts; the chosen ones share the weight.
        kept.sum(axis=-1, keepdims=True) → kept.sum(axis=0, keepdims=True)
            The weights of an expert add up over the tokens; those of a token should, over experts.
        kept.sum(axis=-1, keepdims=True) → kept.sum()
            The weights of all tokens together add up to the factor; those of each should.
        kept.sum(axis=-1, keepdims=True) → np.where(chosen, biased, 0.0).sum(axis=-1)[:, None]
            You divided by a sum with the bias in it.
        np.argsort(-biased, axis=-1)[:, :top_k] → np.argsort(biased, axis=-1)[:, :top_k]
            The smallest scores are chosen.
        np.argsort(-biased, axis=-1)[:, :top_k] → np.argsort(-biased, axis=-1)[:, : top_k + 1]
            One expert too many is chosen.
        np.argsort(-biased, axis=-1)[:, :top_k] → np.argsort(-biased, axis=-1)[:, : top_k - 1]
            One expert too few is chosen.
        np.argsort(-biased, axis=-1)[:, :top_k] → np.argsort(np.argsort(-biased, axis=0), axis=0)
        (best[:, :, None] == np.arange(logits.shape[-1])).any(axis=1) → best < top_k
            You sorted over tokens (axis 0); the experts of a token stand along the last axis.
        np.argsort(-biased, axis=-1)[:, :top_k] → np.argsort(-biased, axis=-1)[:1, :top_k]
            The choice of the first token served all tokens.
        np.argsort(-biased, axis=-1)[:, :top_k] → np.argsort(-biased.sum(axis=0))[None, :top_k]
            One choice served all tokens; each chooses its own experts.
        np.argsort(-biased, axis=-1)[:, :top_k] → np.argsort(-np.abs(biased), axis=-1)[:, :top_k]
            You chose by size without the sign; a bias may make a score negative.
        kept = → chosen = biased >= np.sort(biased, axis=None)[-top_k * len(biased)] ; kept =
            You chose the largest scores of all tokens together. Each token has top_k experts.
    """,
)
def route(logits: Array, choice_bias: Array, top_k: int, factor: float) -> Array:
    """The weight of each expert for each token."""
    scores = 1 / (1 + np.exp(-logits))
    biased = scores + choice_bias
    best = np.argsort(-biased, axis=-1)[:, :top_k]
    chosen = (best[:, :, None] == np.arange(logits.shape[-1])).any(axis=1)
    kept = np.where(chosen, scores, 0.0)
    return factor * kept / kept.sum(axis=-1, keepdims=True)


# ---- 22.6 ---------------------------------------------------------------------------------


def _by_library(q: Array, k: Array, v: Array, log_decay: Array, beta: Array) -> Array:
    return reference.gated_delta_rule(q, k, v, log_decay[:, None], beta)[0]


def _ruled() -> Iterator[Any]:
    why = (
        "The state is 4 after the first token. The second halves it to 2, reads 2 and writes half "
        "of 6 − 2: the state is 4. The queries are 1 and 3."
    )
    given: dict[str, Any] = {"q": [[1.0], [3]], "k": [[1.0], [1]], "v": [[8.0], [6]]}
    decay = np.log([0.25, 0.5])
    yield case(**given, log_decay=decay, beta=[0.5, 0.5], want=np.array([[4.0], [12]]), why=why)
    why = "Keys of length 1, a step of 1 and no decay: each query reads what was written last."
    given = {"q": [[1.0, 0], [1, 0], [1, 0], [0, 1]], "k": [[1.0, 0], [0, 1], [1, 0], [0, 1]]}
    want = np.array([[2.0], [2], [7], [9]])
    v, none = [[2.0], [5], [7], [9]], np.zeros(4)
    yield case(**given, v=v, log_decay=none, beta=np.ones(4), want=want, why=why)
    rng = np.random.default_rng(7)
    for T, d_k, d_v in ((1, 2, 3), (3, 2, 1), (4, 3, 2), (6, 4, 5), (9, 2, 2), (20, 3, 4)):
        shapes = {"q": (T, d_k), "k": (T, d_k), "v": (T, d_v)}
        more: dict[str, Any] = {name: rng.normal(size=shape) for name, shape in shapes.items()}
        more["k"] /= np.linalg.norm(more["k"], axis=1, keepdims=True)
        more |= {"log_decay": -rng.uniform(0, 1, T), "beta": rng.uniform(0, 1, T)}
        yield case(**more, want=_by_library(**more))
        long = more | {"k": more["k"] * rng.uniform(0.3, 1.4, (T, 1))}
        yield case(**long, want=_by_library(**long), why="Keys need not have length 1.")
    yield case(**more | {"log_decay": np.zeros(T)}, why="There may be no decay.")
    yield case(**more | {"beta": np.zeros(T)}, why="A step of 0 writes nothing.")
    strong = (
        "A logarithm of a decay may be −60, token after token: do not divide by products of decays."
    )
    more["log_decay"] = np.full(T, -60.0)
    yield case(**more, want=_by_library(**more), why=strong)
    small = {"q": integers(1, (4, 3)), "k": integers(2, (4, 3)), "v": integers(3, (4, 2))}
    steps = {"log_decay": np.array([0.0, -1, 0, -2]), "beta": np.array([1.0, 0, 1, 1])}
    yield from promised(whole, single, **small, **steps)
    yield _check_steps


def _logarithms_as_decays(q: Array, k: Array, v: Array, log_decay: Array, beta: Array) -> Array:
    state, outputs = np.zeros((k.shape[1], v.shape[1])), []
    for t in range(len(q)):
        state = state * log_decay[t]
        state = state + beta[t] * np.outer(k[t], v[t] - k[t] @ state)
        outputs.append(q[t] @ state)
    return np.array(outputs)


def _check_steps(f: Answer) -> None:
    few, many = (f.steps(**_of_length(T)) for T in (8, 128))
    if many > 1.5 * few + 100:
        raise Wrong(
            f"The numbers are right, but {f.name} runs {few} Python instructions for 8 tokens and "
            f"{many} for 128: it still goes from token to token. All that is to be written follows "
            "from one triangular system of equations."
        )


def _of_length(T: int) -> dict[str, Array]:
    rng = np.random.default_rng(T)
    k = rng.normal(size=(T, 3))
    return {
        "q": rng.normal(size=(T, 3)),
        "k": k / np.linalg.norm(k, axis=1, keepdims=True),
        "v": rng.normal(size=(T, 2)),
        "log_decay": -rng.uniform(0, 0.1, T),
        "beta": rng.uniform(0, 1, T),
    }


@exercise(
    "22.6",
    praise="One token and twenty, steps of 0 and 1, no decay and one of −60 at each token, and no "
    "loop over tokens.",
    hints=(
        "Call what token t adds to the state k_t u_tᵀ. Write u_t with the earlier u_s: what does "
        "k_t read before it writes?",
        "What token s wrote is multiplied by the decays of the tokens s + 1 to t. So "
        "u_t = β_t (v_t − Σ D_ts (k_t · k_s) u_s), over s < t, with these products D.",
        "That is (I + strictly lower triangle) U = β V: solve it. The output is attention without "
        "softmax, with weights D (q_t · k_s) for s ≤ t, and values U.",
    ),
    cases=_ruled,
    mutants={
        "You multiplied by the logarithm of the decay; it is its exponential that multiplies.": (
            _logarithms_as_decays
        )
    },
    otherwise="Decay, read with the key, write the difference times the step, read with the query.",
    slips="""
        np.linalg.solve(np.eye(len(q)) + read, step * v) → step * v
            Nothing is read before it is written: that is linear attention with decay. The delta
            rule writes the difference to what the key returns.
        fade * (k @ k.T), -1 → k @ k.T, -1
            What a key reads before it writes has no decay in it.
        step * np.tril(fade * (k @ k.T), -1) → np.tril(fade * (k @ k.T), -1)
            The step is missing in what is taken away: it multiplies the whole difference.
        + read, step * v → + read, v
            The step is missing in what is written: it multiplies the whole difference.
        step * np.tril(fade * (k @ k.T), -1) → np.tril(fade * (k @ k.T), -1)
        + read, step * v → + read, v
            The step has no effect; you wrote with a step of 1.
        step * np.tril(fade * (k @ k.T), -1) → beta * np.tril(fade * (k @ k.T), -1)
            The step of an earlier token multiplies what is read; it is that of the token itself.
        np.tril(fade * (k @ k.T), -1) → np.tril(fade * (k @ k.T))
            A token reads itself before it writes: your triangle holds the diagonal.
        np.tril(fade * (k @ k.T), -1) → np.tril(fade * (q @ k.T), -1)
            What is taken away is read with the query; it is what the key returns.
        read = step * → read = -step *
            What the key returns is added; it is taken away.
        (fade * (q @ k.T)) @ written → np.tril(fade * (q @ k.T), -1) @ written
            You read before the token has written; the query reads afterwards.
        fade * (q @ k.T) → np.exp(np.minimum(total[:, None] - total, 0)) * (q @ k.T)
            The query also reads what later tokens write. What token s wrote counts for s ≤ t.
        (fade * (q @ k.T)) @ written → np.tril(q @ k.T) @ written
            What the query reads has no decay in it.
        (fade * (q @ k.T)) @ written → (fade * (q @ k.T)) @ written / q.shape[1] ** 0.5
            You divided by the root of the width; there is no scale here.
        (fade * (q @ k.T)) @ written → (fade * (k @ k.T)) @ written
            You read with the keys; the output is read with the queries.
        return (fade * (q @ k.T)) @ written → return written
            You return what each token writes; the output is what its query reads.
        np.cumsum(log_decay) → np.cumsum(log_decay) - log_decay
            The decay comes too late: a token forgets first, and then reads and writes. You let the
            state fade after the output.
        total[:, None] - total → total[:, None] - (total - log_decay)
        fade * (k @ k.T), -1 → fade * np.exp(-log_decay)[:, None] * (k @ k.T), -1
            You let the state fade after it was written, so that a new value fades at once. It fades
            before the key reads.
        fade * (k @ k.T), -1 → fade * np.exp(-log_decay)[:, None] * (k @ k.T), -1
            The key reads what stood there before it faded. First the state fades.
        step, total = → k = k / np.linalg.norm(k, axis=1, keepdims=True) ; step, total =
            You made keys of length 1. They are used as they come.
        np.eye(len(q)) + read → np.eye(len(q)) + read.T
            Your system runs from the last token to the first: the triangle is turned round.
        return (fade → return (k * fade[-1][:, None]).T @ written ; (fade
            You return the state after the last token; the outputs of all tokens are asked for.
        total[:, None] - total → total[:, None] - (total - log_decay)
            What a token has just written is multiplied by its own decay; it is what stood there
            before that fades.
        total[:, None] - total → log_decay[:, None] + 0 * total
            You multiplied by the decay of the last token alone; all that came since it was written
            count.
        total[:, None] - total → 0 * total
            Nothing fades: the decay has no effect.
        np.exp(np.where(upto, total[:, None] - total, -np.inf)) → upto * np.exp(total)[:, None]
        fade * (k @ k.T), -1 → fade / np.exp(total) * (k @ k.T), -1
        (fade * (q @ k.T)) @ written → (fade / np.exp(total) * (q @ k.T)) @ written
            You divided by products of decays. With strong decay these are 0 in floating point.
            Subtract logarithms first.
        np.cumsum(log_decay) → np.cumsum(np.exp(log_decay))
            You added up the decays themselves; the logarithms are given.
        np.cumsum(log_decay) → -np.cumsum(log_decay)
            The decay has the wrong sign: the state grows.
        np.linalg.solve(np.eye(len(q)) + read, step * v) → step * v - read @ v
            You took away what earlier values would return, as if they had been written whole. Each
            of them was itself a difference, so a system has to be solved.
        np.linalg.solve(np.eye(len(q)) + read, step * v) → step * v - read @ (step * v)
            That is the system solved in one round. What earlier tokens wrote was itself a
            difference to what stood there.
    """,
)
def delta_at_once(q: Array, k: Array, v: Array, log_decay: Array, beta: Array) -> Array:
    """What each query reads, without a loop over tokens."""
    step, total = beta[:, None], np.cumsum(log_decay)
    upto = np.tri(len(q)) > 0
    fade = np.exp(np.where(upto, total[:, None] - total, -np.inf))
    read = step * np.tril(fade * (k @ k.T), -1)
    written = np.linalg.solve(np.eye(len(q)) + read, step * v)
    return (fade * (q @ k.T)) @ written
