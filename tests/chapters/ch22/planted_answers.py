"""Mutants of answers to the exercises of chapter 22, and right answers unlike the book's."""

import numpy as np

from tformer import reference
from tformer.parameters import NormParameters

FULL, SLIDING, LINEAR = "full_attention", "sliding_attention", "linear_attention"


def _qwen3_by_the_library(q, k, q_gain, k_gain, angles, eps):
    sinusoids = np.stack([np.sin(angles), np.cos(angles)], axis=-1).reshape(len(angles), -1)
    given = ((q, NormParameters(1.0 * q_gain)), (k, NormParameters(1.0 * k_gain)))
    q, k = (
        reference.rope(reference.rms_norm(1.0 * x, norm, eps), sinusoids, "half")
        for x, norm in given
    )
    rows = [q[h] @ k[h * len(k) // len(q)].T for h in range(len(q))]
    return np.array(rows) / np.sqrt(q.shape[2])


def _sink_in_front(k, v, sinks):
    """The sink stands before all tokens, and a large number hides in place of ∞."""
    H, T = k.shape[:2]
    nothing = np.zeros((H, 1, 1))
    bias = np.full((H, T, T + 1), -1e30)
    for h in range(H):
        for t in range(T):
            bias[h, t, 0] = sinks[h]
            bias[h, t, 1 : t + 2] = 0
    k, v = (np.concatenate([nothing.repeat(x.shape[2], axis=2), x], axis=1) for x in (k, v))
    return k, v, bias


def _sink_shifted(k, v, sinks):
    """All scores of a row less the sink: the weights are the same."""
    k, v, bias = _sink_in_front(k, v, sinks)
    return k, v, bias - np.asarray(sinks)[:, None, None]


def _latents_by_heads(q, q_turned, w_k, w_v, latents, k_turned):
    outputs = []
    for h in range(len(q)):
        scores = (q[h] @ w_k[h].T) @ latents.T + q_turned[h] @ k_turned.T
        weights = reference.softmax(scores / np.sqrt(q.shape[2] + q_turned.shape[2]))
        outputs.append((weights @ latents) @ w_v[h])
    return np.array(outputs)


def _keys_and_values(q, q_turned, w_k, w_v, latents, k_turned):
    """Right, and all keys and values of the heads are computed."""
    turned = np.broadcast_to(k_turned, (len(q), *k_turned.shape))
    k = np.concatenate([latents @ w_k, turned], axis=2)
    q = np.concatenate([q, q_turned], axis=2)
    return reference.attention(*(x.astype(float) for x in (q, k, latents @ w_v)))


def _keys_of_one_head(q, q_turned, w_k, w_v, latents, k_turned):
    """Right, and the keys of one head at a time are computed."""
    outputs = []
    for h in range(len(q)):
        k = np.concatenate([latents @ w_k[h], k_turned], axis=1).astype(float)
        query = np.concatenate([q[h], q_turned[h]], axis=1).astype(float)
        weights = reference.attention_weights(query, k)
        outputs.append(weights @ latents @ w_v[h])
    return np.array(outputs)


def _values_of_one_head(q, q_turned, w_k, w_v, latents, k_turned):
    """Right, and the values of one head at a time are computed."""
    outputs = []
    for h in range(len(q)):
        scores = q[h] @ w_k[h].T @ latents.T + q_turned[h] @ k_turned.T
        weights = reference.softmax(scores / np.sqrt(q.shape[2] + q_turned.shape[2]))
        outputs.append(weights @ (latents @ w_v[h]))
    return np.array(outputs)


def _cache_by_arrays(layers, size):
    """Count arrays of two texts, one a token longer."""

    def held(T):
        total = 0
        for layer in layers:
            if layer["kind"] == "latent":
                total += size * np.zeros((T, layer["d_c"] + layer["d_r"]), dtype=bool).size
                continue
            shapes = [(layer["groups"], layer["d_k"]), (layer["groups"], layer["d_k"])]
            values = (layer["heads"], layer["d_v"])
            if layer["kind"] == "delta":
                rows = sum(g * d for g, d in [*shapes, values])
                total += size * layer["taps"] * rows
                total += 4 * layer["heads"] * layer["d_k"] * layer["d_v"]
                continue
            kept = min(T, layer["window"] - 1) if layer["kind"] == "window" else T
            total += size * kept * layer["groups"] * (layer["d_k"] + layer["d_v"])
        return total

    grows = held(1001) - held(1000)
    return grows, held(1000) - 1000 * grows


def _cache_in_place(layers, size):
    for layer in layers:
        layer["window"] = layer.get("window", 1) - 1
    return 0, 0


def _cache_by_total(layers, size):
    return sum(_cache_by_arrays(layers, size))


def _route_by_loops(logits, choice_bias, top_k, factor):
    table = np.zeros(logits.shape)
    for t, row in enumerate(logits):
        scores = [1 / (1 + np.exp(-float(x))) for x in row]
        order = sorted(range(len(row)), key=lambda e: scores[e] + choice_bias[e])[-top_k:]
        for e in order:
            table[t, e] = factor * scores[e] / sum(scores[i] for i in order)
    return table


def _route_above_a_bound(logits, choice_bias, top_k, factor):
    """A bound for all experts of all tokens."""
    scores = 1 / (1 + np.exp(-logits))
    biased = scores + choice_bias
    kept = scores * (biased > np.sort(biased, axis=None)[-top_k * len(logits) - 1])
    return factor * kept / kept.sum(axis=1, keepdims=True)


def _delta_by_inverse(q, k, v, log_decay, beta):
    """By another system, with the logarithms of gaps summed one by one."""
    T = len(q)
    inside = np.tri(T)[:, None, :] - np.tri(T)[None, :, :]  # (t, s, n): s < n ≤ t
    gaps = (inside > 0) @ log_decay
    fade = np.tri(T) * np.exp(gaps)
    system = np.tril(fade * (k @ k.T), -1) * np.reshape(beta, (-1, 1)) + np.eye(T)
    return (fade * (q @ k.T)) @ np.linalg.inv(system) @ (v * np.reshape(beta, (-1, 1)))


def _delta_by_steps(q, k, v, log_decay, beta):
    state, outputs = np.zeros((k.shape[1], v.shape[1])), []
    for t in range(len(q)):
        state = state * np.exp(log_decay[t])
        state = state + beta[t] * np.outer(k[t], v[t] - state.T @ k[t])
        outputs.append(state.T @ q[t])
    return np.array(outputs)


def _delta_by_scaled_rows(q, k, v, log_decay, beta):
    """Rows multiplied and divided by products of decays: right while these are not 0."""
    total = np.exp(np.cumsum(log_decay))[:, None]
    near = np.tril((k * total) @ (k / total).T, -1)
    written = np.linalg.solve(np.eye(len(q)) + beta[:, None] * near, beta[:, None] * v)
    return np.tril((q * total) @ (k / total).T) @ written


def _suspects_by_the_library(q, k, v, gain, angles, sink, head, logits):
    def rotated(x, pairing="half"):
        sinusoids = np.stack([np.sin(angles), np.cos(angles)], axis=-1).reshape(len(x), -1)
        return reference.rope(x.astype(float), sinusoids, pairing)

    def normed(x, more=0):
        return reference.rms_norm(x.astype(float), NormParameters(1.0 * gain + more), 1e-6)

    made = [
        (*(rotated(normed(x)) for x in (q, k)), sink),
        (*(normed(rotated(x)) for x in (q, k)), sink),
        (*(rotated(normed(x), "adjacent") for x in (q, k)), sink),
        (*(rotated(normed(x)) for x in (q, k)), None),
        (*(rotated(normed(x)) for x in (q, k)), sink / q.shape[1] ** 0.5),
        (*(rotated(normed(x, 1)) for x in (q, k)), sink),
    ]
    errors = []
    for queries, keys, score in made:
        seen = np.tri(len(q), dtype=bool)
        weights = reference.attention_weights(queries, keys, seen)
        if score is not None:
            scores = np.where(seen, queries @ keys.T / q.shape[1] ** 0.5, -np.inf)
            total = np.exp(scores).sum(axis=1, keepdims=True)
            weights = weights * total / (total + np.exp(score))
        errors.append(np.max(np.abs(weights @ v @ head - logits)) / np.max(np.abs(logits)))
    return errors


def _number_of_the_suspect(q, k, v, gain, angles, sink, head, logits):
    return int(np.argmin(_suspects_by_the_library(q, k, v, gain, angles, sink, head, logits)))


def _last_sees_by_masks(config, T):
    """By the masks themselves, and their products."""
    n = config["num_hidden_layers"]
    kinds, w = config.get("layer_types"), config.get("sliding_window")
    interval, pattern = config.get("full_attention_interval"), config.get("sliding_window_pattern")
    if kinds is None and interval:
        kinds = [LINEAR if (i + 1) % interval else FULL for i in range(n)]
    if kinds is None and pattern:
        kinds = [SLIDING if (i + 1) % pattern else FULL for i in range(n)]
    if kinds is None:
        on = w is not None and config.get("use_sliding_window") is not False
        kinds = [SLIDING if on else FULL] * n
    t, s = np.arange(T)[:, None], np.arange(T)
    counts, reach = [], np.eye(T, dtype=bool)
    for kind in kinds:
        mask = s <= t
        if kind == SLIDING:
            mask = mask & (t - s < w)
        if kind == "chunked_attention":
            size = config["attention_chunk_size"]
            mask = mask & (t // size == s // size)
        counts.append(0 if kind == LINEAR else int(mask[-1].sum()))
        reach = mask @ reach
    return counts, int(reach[-1].argmax())


RULED = ("layer_types", "sliding_window", "full_attention_interval", "sliding_window_pattern")


def _with_a_null(key):
    """A null of this one key is taken for a value."""

    def last_sees(config, T):
        if key in config and config[key] is None:
            return [1] * len(config[key]), 0
        return _last_sees_by_masks(config, T)

    return last_sees


def _bias_second(k, v, sinks):
    k, v, bias = _sink_in_front(k, v, sinks)
    return k, bias, v


MUTANTS = {
    "22.2": {"the second array is your bias": _bias_second},
    "22.3": {
        "Let the query and the output go": (
            _keys_and_values,
            _keys_of_one_head,
            _values_of_one_head,
        )
    },
    "22.4": {
        "changes the layers it was given": _cache_in_place,
        "returns a number; it should return two numbers": _cache_by_total,
    },
    "22.5": {"of all tokens together": _route_above_a_bound},
    "22.6": {
        "it still goes from token to token": _delta_by_steps,
        "With strong decay these are 0": _delta_by_scaled_rows,
    },
    "22.7": {"You return the number of a version": _number_of_the_suspect},
    "22.8": {"A null says nothing": tuple(map(_with_a_null, RULED))},
}

RIGHT = {
    "22.1": [_qwen3_by_the_library],
    "22.2": [_sink_in_front, _sink_shifted],
    "22.3": [_latents_by_heads],
    "22.4": [_cache_by_arrays],
    "22.5": [_route_by_loops],
    "22.6": [_delta_by_inverse],
    "22.7": [_suspects_by_the_library],
    "22.8": [_last_sees_by_masks],
}
