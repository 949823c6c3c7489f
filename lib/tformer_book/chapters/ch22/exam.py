"""Exam questions of chapter 22: a norm before a rotation, a cache, two kinds of shares, a state."""

from __future__ import annotations

import numpy as np

from tformer import reference
from tformer.parameters import NormParameters
from tformer_book.exams import Item, distinct, draw, question, tex

Rng = np.random.Generator


@question("A norm before a rotation", minutes=10, asks="why")
def norm_order(rng: Rng) -> Item:
    """A query with a norm and a gain, before a right angle and behind it; equal gains."""
    pair = np.array([(1, 7), (7, 1), (2, 14), (7, 17), (17, 7), (14, 2)][rng.integers(6)], float)
    pair *= rng.choice([-1, 1], 2)
    gain = np.array(distinct(rng, 2, 1, 6), float)
    sinusoids = np.array([[1.0, 0.0]])

    def turn(x: np.ndarray) -> np.ndarray:
        return reference.rope(x[None], sinusoids)[0]

    def norm(x: np.ndarray, gain: np.ndarray = gain) -> np.ndarray:
        return reference.rms_norm(x, NormParameters(gain), 1e-30).round(12)

    before, behind = turn(norm(pair)), norm(turn(pair))
    same = norm(turn(pair), gain[:1].repeat(2))
    return Item(
        statement=rf"""
A head has two coordinates. A query is $q = {tex(pair)}$. Its RMSNorm divides by the root of the
mean square, with $\varepsilon = 0$, and has the gain ${tex(gain)}$. RoPE turns the query by a
right angle, from $(a, b)$ to $(-b, a)$.

**(a)** Give the query if the norm with its gain comes first, as in Qwen3.

**(b)** Give it if the rotation comes first.

**(c)** Both gains become ${tex(gain[0])}$. Give the query in both orders.

**(d)** Why does the order matter in (a) and (b), and not in (c)?

**(e)** A program has the wrong order and loads the published weights. Why is there no error
message, and how is the mistake found?""",
        answer=rf"""
The root of the mean square is ${tex(np.sqrt((pair**2).mean()))}$.

**(a)** ${tex(before)}$. **(b)** ${tex(behind)}$. **(c)** ${tex(same)}$ both times.

**(d)** A rotation keeps the mean square, so the division commutes with it. A gain with two
different numbers stretches one axis more than the other, and a rotation exchanges the axes. With
equal gains it only multiplies the vector.

**(e)** No shape depends on the order. Logits have to be compared with those of the published
program, for the same weights and tokens.""",
        marking=(
            (2, "the norm and the gain, then the rotation"),
            (2, "the gain multiplies the coordinates that have been turned"),
            (1, "equal gains"),
            (2, "lengths are kept by a rotation; unequal gains do not commute with it"),
            (2, "shapes fit in both orders; numbers are compared"),
        ),
        given={"pair": pair, "gain": gain},
        values={"before": before, "behind": behind, "same": same},
        traps={
            "the other order": ("before", behind),
            "turned the other way": ("before", -before),
            "squares added up": ("before", turn(gain * pair / np.hypot(*pair))),
            "no gain": ("before", turn(norm(pair, np.ones(2)))),
            "the gain's numbers exchanged": ("behind", behind * gain[::-1] / gain),
        },
    )


def _sizes(rng: Rng) -> tuple[int, ...]:
    """Heads, groups, width of a head, full layers, layers with a window, window, tokens."""
    G = int(rng.integers(1, 4))
    n_full, n_local, w, T = (
        int(rng.integers(low, high)) for low, high in ((1, 4), (2, 6), (3, 8), (10, 30))
    )
    return G * int(rng.choice([2, 3, 4])), G, int(rng.choice([4, 8])), n_full, n_local, w, T


@question("What a cache keeps", minutes=10)
def kept(rng: Rng) -> Item:
    """Full layers and windows, bytes a token and bytes that stay, and latents in their place."""
    H, G, d, n_full, n_local, w, T = draw(
        lambda: _sizes(rng),
        lambda x: 4 * x[1] * x[2] * (x[3] * x[6] + x[4] * (x[5] - 1)) < 10_000,
    )
    token = 4 * G * d
    grows, stays = n_full * token, n_local * (w - 1) * token
    d_c, d_r = int(rng.integers(5, 20)), int(rng.choice([2, 4]))
    latent = 2 * (d_c + d_r) * n_full
    groups = "one group" if G == 1 else f"{G} groups"
    return Item(
        statement=rf"""
A decoder has {n_full + n_local} layers. Each has {H} heads in {groups}, and the heads of a group
share keys and values. A key or value is {d} numbers wide, and a number has 2 bytes. {n_full} of the
layers attend to all tokens before. The other {n_local} have a window of {w}: a token attends to
itself and to the {w - 1} before it. The cache keeps what the next token can attend to besides
itself.

**(a)** How many bytes does each further token add, if the text is longer than {w} tokens?

**(b)** How many bytes of the layers with a window no longer change then?

**(c)** How many bytes has the cache after {T} tokens?

**(d)** The layers that attend to all tokens keep latents of {d_c} numbers in place of keys and
values, beside one rotated key of {d_r} numbers for all heads. What is the answer to (a) now?

**(e)** Why need the rotated key be kept, though the other part of a key is computed from the
latent?""",
        answer=rf"""
A layer keeps $2 \cdot {G} \cdot {d}$ numbers of a token, ${tex(token)}$ bytes.

**(a)** ${n_full} \cdot {token}$, which is ${tex(grows)}$.

**(b)** ${n_local} \cdot {w - 1} \cdot {token}$, which is ${tex(stays)}$.

**(c)** ${T} \cdot {grows} + {stays}$, which is ${tex(T * grows + stays)}$.

**(d)** ${n_full} \cdot 2 \cdot ({d_c} + {d_r})$, which is ${tex(latent)}$.

**(e)** It is computed from the hidden state, and not from the latent. The other part is a product
of the latent with a matrix, which can be moved to the query. A rotation that depends on the
position stands in the way of that.""",
        marking=(
            (2, "groups count, and not heads; keys and values; bytes"),
            (2, "the window without the token itself"),
            (1, "both together"),
            (2, "one latent and one rotated key for all heads"),
            (2, "where the rotated key comes from, or what a rotation prevents"),
        ),
        given={
            "sizes": (H, G, d, n_full, n_local, w, T),
            "latent": (d_c, d_r),
        },
        values={"grows": grows, "stays": stays, "total": T * grows + stays, "latent": latent},
        traps={
            "heads": ("grows", n_full * 4 * H * d),
            "keys alone": ("grows", grows // 2),
            "all layers": ("grows", (n_full + n_local) * token),
            "the token itself": ("stays", n_local * w * token),
            "a rotated key for each head": ("latent", 2 * (d_c + H * d_r) * n_full),
            "keys and values from two latents": ("latent", 2 * (2 * d_c + d_r) * n_full),
        },
    )


@question("Who gets the weight", minutes=10)
def shares(rng: Rng) -> Item:
    """Weights beside a sink, and those of experts that a biased router has chosen."""
    a, b, sink = distinct(rng, 3, 2, 9)
    values = draw(lambda: rng.integers(-4, 10, 2), lambda v: bool(v[0] != v[1]))
    weights = reference.softmax(np.log([a, b, sink]))
    output = float((weights[:2] @ values).round(12))
    scores = np.array(distinct(rng, 4, 2, 9))
    order = np.argsort(-scores)
    gap = int(scores[order[1]] - scores[order[3]])
    bias = np.zeros(4, dtype=int)
    bias[order[3]] = gap + 1
    plain, chosen = (np.where(np.isin(np.arange(4), x), scores, 0) for x in (order[:2], order[::3]))
    return Item(
        statement=rf"""
A query has the scores $\log {a}$ and $\log {b}$ with two tokens, whose values are ${tex(values)}$.
Its head has a learned sink with the score $\log {sink}$.

**(a)** Give the weights of the two tokens, and the output.

**(b)** The sink is to be made by an attention that knows only keys, values and a bias of scores.
Which key, which value and which bias are added?

A router gives four experts the scores ${tex(scores)}$, in tenths. It chooses two and divides their
scores by the sum of both.

**(c)** Give the weights of all four experts.

**(d)** A choice bias of ${tex(bias)}$, in tenths, is added for the choice only. Give the weights
now.

**(e)** One kind of weights adds up to 1 and the other does not. Which, and what does that let the
layer do?""",
        answer=rf"""
**(a)** The exponentials are {a}, {b} and {sink}: the weights are ${tex(weights[:2])}$, and the
output is ${tex(output)}$.

**(b)** A key of zeros, a value of zeros, and the bias $\log {sink}$ for it.

**(c)** ${tex(plain / plain.sum())}$. **(d)** ${tex(chosen / chosen.sum())}$: the bias has changed
who is chosen and stands in no weight.

**(e)** The weights of the experts do. Those of the tokens leave a rest to the sink, so that a head
can add little or nothing to the residual stream.""",
        marking=(
            (2, "the exponential of the sink stands below the line, and its value is zero"),
            (2, "zero, zero and the score as a bias"),
            (1, "the two largest over their sum"),
            (2, "the choice with the bias, the weights without it"),
            (2, "the sink leaves a rest, which is nothing in the output"),
        ),
        given={"exps": (a, b, sink), "v": values, "scores": scores, "bias": bias},
        values={
            "weights": weights[:2],
            "output": output,
            "plain": plain / plain.sum(),
            "biased": chosen / chosen.sum(),
        },
        traps={
            "without the sink": ("weights", np.array([a, b]) / (a + b)),
            "a sum of the values": ("output", float(values.sum())),
            "the output without a sink": ("output", float(values @ [a, b] / (a + b))),
            "shares of all experts": ("plain", scores / scores.sum()),
            "the bias as a weight": (
                "biased",
                np.where(chosen > 0, scores + bias, 0) / (chosen + bias).sum(),
            ),
            "the bias has no effect": ("biased", plain / plain.sum()),
        },
    )


@question("A state that is corrected", minutes=12, asks="why")
def corrected(rng: Rng) -> Item:
    """Two values under orthonormal keys, a third under a key between them, with a smaller step."""
    first, second = (5 * x for x in distinct(rng, 2, -4, 6))
    third = int(rng.integers(-20, 31))
    key = np.array([(3, 4), (4, 3), (-3, 4), (4, -3)][rng.integers(4)]) / 5
    state = np.array([first, second], float)
    read = float((state @ key).round(12))
    step = float(rng.choice([0.5, 0.25]))
    new = (state + step * (third - read) * key).round(12)
    added = (state + step * third * key).round(12)
    again = float((new @ key).round(12))
    return Item(
        statement=rf"""
A state of the delta rule has two rows and one column, and is zero at first. There is no decay. A
key $k$ with the value $v$ adds $\beta\, k\, (v - r)$, where $r$ is what $k$ reads from the state.

**(a)** Under the key $(1, 0)$ the value ${first}$ is written, and under $(0, 1)$ the value
${second}$, both with $\beta = 1$. What does $k = {tex(key)}$ read then?

**(b)** Under this $k$ the value ${third}$ is written, with $\beta = {tex(step)}$. Give the new
state, and what $k$ reads from it.

**(c)** Give the state if in (b) nothing is taken away before writing: plain linear attention, with
the same $\beta$.

**(d)** Why do the keys of (a) return their own values exactly, and no longer after (b)?""",
        answer=rf"""
**(a)** The state is ${tex(state)}$. The key reads ${tex(read)}$.

**(b)** The difference is ${tex(third - read)}$, so the state becomes ${tex(new)}$. The key then
reads ${tex(again)}$.

**(c)** ${tex(added)}$.

**(d)** The keys of (a) have length 1 and are orthogonal, so what is written under one does not
show in what the other reads. The third key has a part along both. What it writes changes what
they read, and two rows have no place for three independent values.""",
        marking=(
            (2, "the state and the product with the key"),
            (3, "the difference times the step, along the key"),
            (1, "nothing taken away"),
            (3, "orthonormal keys; a third one overlaps with both"),
        ),
        given={"values": (first, second, third), "key": key, "step": step},
        values={"read": read, "new": new, "again": again, "added": added},
        traps={
            "a sum in place of the difference": ("new", added),
            "the step left out": ("new", (state + (third - read) * key).round(12)),
            "the value itself": ("new", (third * key).round(12)),
            "the old values stay": ("again", float(third) + read),
            "read by the largest": ("read", float(state[np.abs(key).argmax()])),
        },
    )
