# %% [markdown]
# # Exercises for chapter 22: released models
#
# Each exercise asks for one function. Write it, run its cell, then run the check below it. The
# check tries your function on small inputs and larger ones, and tells you the first thing that is
# wrong, with numbers that you can redo on paper. Any correct way of computing the answer will do.
# Keep the name. A `NameError` means that its cell has not been run, or that the name has changed.
# Whole numbers are also handed over as integers, alone or in arrays. An array that takes their type
# (`np.zeros_like(q)`) cuts fractions off.
#
# One star (★) marks a warm-up, two the core of the chapter, three a challenge. The minutes are
# what a reader needs who has just read the chapter.

# %% [markdown] exercise="book"
# Solutions are folded away below each exercise. To work on them yourself, take the notebook
# without solutions: {download}`22_released.ipynb <../22_released.ipynb>`.

# %%
import numpy as np

from tformer_book.exercises import check, hint

q, k = np.array([[[2.0, 2], [2, 2]]]), np.array([[[5.0, 7], [5, 7]]])
angles = np.array([[0.0], [np.pi / 2]])

# %% [markdown]
# The last two lines make one head with two positions, to try things on. T is the number of tokens,
# and positions count from 0. Arrays have no batch axis. Each exercise has three hints. The first is
# a nudge, the last comes close to the answer. Ask for them one at a time: `hint("22.1")`, then
# `hint("22.1", 2)`.

# %%
hint("22.1")

# %% [markdown]
# ## 22.1 Llama to Qwen3 in one line
#
# ```{exercise} ★ warm-up, 8 minutes
# :label: ex-22-1
# :nonumber:
#
# Llama rotates queries and keys and takes their products. Qwen3 has one line more, and it stands
# *before* the rotation: in each head, every query and every key is divided by the root of (its mean
# square + `eps`) and multiplied by a gain, coordinate by coordinate.
#
# `q` has the shape (H, T, d) and `k` the shape (G, T, d); head h uses the keys of group
# h // (H / G), and G divides H. All heads share `q_gain` and `k_gain`, of shape (d,). RoPE takes
# the coordinates (a, b) at the places i and i + d / 2, for i below d / 2, to (a cos − b sin, a sin
# + b cos), with the angle `angles[t, i]` at position t.
#
# Write `qwen3_scores(q, k, q_gain, k_gain, angles, eps)`. Return the scores of all heads, divided
# by √d, without mask and softmax: an array (H, T, T) with a row for each query.
# ```


# %%
def qwen3_scores(q, k, q_gain, k_gain, angles, eps):
    """Scaled scores of all heads: an array (H, T, T)."""

    ### BEGIN SOLUTION
    def prepared(x, gain):
        x = x / np.sqrt(np.mean(x * x, axis=-1, keepdims=True) + eps) * gain
        half = x.shape[-1] // 2
        turns = np.exp(1j * angles) * (x[..., :half] + 1j * x[..., half:])
        return np.concatenate([turns.real, turns.imag], axis=-1)

    q, k = prepared(q, q_gain), prepared(k, k_gain)
    group = np.arange(len(q)) // (len(q) // len(k))
    return q @ np.swapaxes(k[group], 1, 2) / q.shape[-1] ** 0.5
    ### END SOLUTION


# %%
check("22.1", qwen3_scores)

# %% [markdown] exercise="why"
# Without the gain the order would not matter: a rotation keeps the length of a vector. With it the
# order counts, and no shape tells you. A wrong order loads the same weights without a complaint.

# %% [markdown]
# ## 22.2 A sink with nothing but a bias
#
# ```{exercise} ★ warm-up, 10 minutes
# :label: ex-22-2
# :nonumber:
#
# A program computes softmax(q kᵀ / √d + `bias`) v in each head. It knows no masks and no sinks. You
# want causal attention in which each head h has a learned sink: a score `sinks[h]` that stands
# beside the scores of every query, takes its share of the weight, and adds nothing to the output.
#
# `k` has the shape (H, T, d), `v` the shape (H, T, e), `sinks` the shape (H,). Write
# `sink_as_key(k, v, sinks)`. Return the keys (H, T + 1, d), the values (H, T + 1, e) and the bias
# (H, T, T + 1) to be handed to that program. Query t attends to the keys of tokens 0 to t, and to
# the sink. The check compares outputs for queries of its own.
# ```


# %%
def sink_as_key(k, v, sinks):
    """Keys, values and bias, with a sink: three arrays."""
    ### BEGIN SOLUTION
    T = k.shape[1]
    one_more = [(0, 0), (0, 1), (0, 0)]
    hidden = np.where(np.arange(T) > np.arange(T)[:, None], -np.inf, 0.0)
    bias = np.zeros((len(k), T, T + 1))
    bias[..., :-1] += hidden
    bias[..., -1] += sinks[:, None]
    return np.pad(k, one_more), np.pad(v, one_more), bias
    ### END SOLUTION


# %%
check("22.2", sink_as_key)

# %% [markdown] exercise="why"
# A key of zeros has the score 0 with every query, so the bias alone decides. Its value is zero, so
# it only takes weight: the weights of the tokens add up to less than 1. A mask for later tokens
# must not cover the last column.

# %% [markdown]
# ## 22.3 Attention over latents
#
# ```{exercise} ★★ core, 15 minutes
# :label: ex-22-3
# :nonumber:
#
# In latent attention the key of head h for token s is the vector `latents[s] @ w_k[h]`, followed by
# `k_turned[s]`. Its value is `latents[s] @ w_v[h]`. A query consists of `q[h, t]`, followed by
# `q_turned[h, t]`. Both parts named *turned* have gone through RoPE already.
#
# Shapes: `q` (H, T, d_k), `q_turned` (H, T, d_r), `w_k` (H, d_c, d_k), `w_v` (H, d_c, d_v),
# `latents` (S, d_c), `k_turned` (S, d_r). The scores are divided by √(d_k + d_r), and each query
# attends to all S tokens.
#
# Write `latent_output(q, q_turned, w_k, w_v, latents, k_turned)`. Return the outputs of all heads,
# (H, T, d_v), *without holding the keys or values of any head*, not even those of one head at a
# time: the check measures memory where d_k and d_v are much larger than d_c.
# ```


# %%
def latent_output(q, q_turned, w_k, w_v, latents, k_turned):
    """Outputs of all heads: an array (H, T, d_v)."""
    ### BEGIN SOLUTION
    shared_keys = np.concatenate([latents, k_turned], axis=1)
    scale = (q.shape[2] + q_turned.shape[2]) ** -0.5
    q = np.einsum("htk,hck->htc", q, w_k)
    absorbed = np.concatenate([q, q_turned], axis=2)
    scores = absorbed @ shared_keys.T * scale
    weights = np.exp(scores - scores.max(axis=2)[..., None])
    weights /= weights.sum(axis=2)[..., None]
    return (weights @ latents) @ w_v
    ### END SOLUTION


# %%
check("22.3", latent_output)

# %% [markdown] exercise="why"
# In q · (c W) the brackets may stand elsewhere: (q Wᵀ) · c. All heads then share one key, the
# latent with the turned part, and one value, the latent. It is multi-query attention with wider
# vectors. The scale stays that of the keys that are never computed.

# %% [markdown]
# ## 22.4 What a cache costs
#
# ```{exercise} ★★ core, 12 minutes
# :label: ex-22-4
# :nonumber:
#
# `layers` is a list of dicts, one for each layer. `layer["kind"]` is one of four names, and the
# other keys are sizes.
#
# - `"full"` attention has `heads`, `groups`, `d_k` and `d_v`: each group has one key of d_k and one
#   value of d_v numbers for every token, and all tokens are kept.
# - `"window"` has the same and a `window` of w: a token attends to itself and to the w − 1 tokens
#   before it. What the *next* token will attend to, apart from itself, is kept.
# - `"latent"` attention keeps for every token one latent of `d_c` numbers and one rotated key of
#   `d_r` numbers for all heads. It has `heads`, `d_k` and `d_v` as well.
# - `"delta"` has `heads`, `groups`, `d_k`, `d_v` and `taps`. Each head keeps a state of d_k by d_v
#   numbers. Before the rule runs, a short convolution mixes each token with those just before it.
#   It reads one row for each token: a query and a key of d_k numbers for each group, and a value of
#   d_v numbers for each head. The rows of the last `taps` tokens are kept, that of the newest
#   included.
#
# A number of a state has 4 bytes, every other number `size` bytes.
#
# Write `cache_bytes(layers, size)` for one text that is longer than all windows. Return two whole
# numbers: the bytes that each further token adds, and the bytes that no longer change.
# ```


# %%
def cache_bytes(layers, size):
    """Bytes that a token adds, and bytes that stay: two whole numbers."""

    ### BEGIN SOLUTION
    def kept(kind, heads, d_k, d_v, groups=0, window=0, taps=0, **d):
        if kind == "latent":
            return size * (d["d_c"] + d["d_r"]), 0
        if kind == "delta":
            rows = taps * (2 * groups * d_k + heads * d_v)
            return 0, 4 * heads * d_k * d_v + size * rows
        token = size * groups * (d_k + d_v)
        return (token, 0) if kind == "full" else (0, (window - 1) * token)

    each = [kept(**layer) for layer in layers]
    return sum(one for one, _ in each), sum(one for _, one in each)
    ### END SOLUTION


# %%
check("22.4", cache_bytes)

# %% [markdown] exercise="why"
# Only full attention and latents grow with the text. A window stops growing when it is full, and a
# state never grows. That is why many released models have a few full layers among many of another
# kind.

# %% [markdown]
# ## 22.5 A router with a choice bias
#
# ```{exercise} ★★ core, 10 minutes
# :label: ex-22-5
# :nonumber:
#
# A router gives each of T tokens `logits` for E experts, an array (T, E). The score of an expert is
# the sigmoid of its logit. For each token those `top_k` experts are chosen whose score plus
# `choice_bias`, of shape (E,), is largest. The weight of a chosen expert is its score, without the
# bias, divided by the sum of the scores of all that are chosen for this token, and then multiplied
# by `factor`.
#
# Write `route(logits, choice_bias, top_k, factor)`. Return the weights, (T, E), with 0 for experts
# that are not chosen. No two biased scores of a token are equal, and logits lie between −30 and 30.
# ```


# %%
def route(logits, choice_bias, top_k, factor):
    """Weights of experts, 0 where not chosen: an array (T, E)."""
    ### BEGIN SOLUTION
    scores = 1 / (1 + np.exp(-logits.astype(float)))
    least = np.sort(scores + choice_bias, axis=1)[:, [-top_k]]
    weights = scores * (scores + choice_bias >= least)
    return factor * weights / weights.sum(axis=1)[:, None]
    ### END SOLUTION


# %%
check("22.5", route)

# %% [markdown] exercise="why"
# A larger bias brings an expert at least as many tokens. Among the same chosen experts it changes
# no weight, so it can balance their load without entering the output itself.

# %% [markdown]
# ## 22.6 A delta step against all at once
#
# ```{exercise} ★★★ challenge, 25 minutes
# :label: ex-22-6
# :nonumber:
#
# The state of a head is a table M, a matrix (d_k, d_v), and zero at first. Vectors are rows. For
# token t, in this order:
#
# 1. M is multiplied by exp(`log_decay[t]`), a number above 0 and at most 1.
# 2. With the key k_t = `k[t]`, the table reads r = k_t M. Then `beta[t]` · k_tᵀ (v_t − r) is added
#    to M, a matrix of d_k by d_v numbers.
# 3. The output is q_t M, with q_t = `q[t]` and without a scale.
#
# `q` and `k` have the shape (T, d_k), `v` the shape (T, d_v), `log_decay` and `beta` the shape
# (T,); beta is from 0 to 1. Keys need not have length 1.
#
# Write `delta_at_once(q, k, v, log_decay, beta)`. Return the outputs, (T, d_v), *without a loop
# over tokens*: the number of Python instructions must not grow like T. `log_decay` is finite, and
# may be −60 at each of many tokens.
# ```


# %%
def delta_at_once(q, k, v, log_decay, beta):
    """What each query reads: an array (T, d_v)."""
    ### BEGIN SOLUTION
    upto, b = np.cumsum(log_decay), beta[:, None]
    gap = np.minimum(upto[:, None] - upto, 0)
    fade = np.tril(np.exp(gap))
    system = b * fade * (k @ k.T)
    np.fill_diagonal(system, 1)
    corrected = np.linalg.solve(system, b * v)
    return (fade * (q @ k.T)) @ corrected
    ### END SOLUTION


# %%
check("22.6", delta_at_once)

# %% [markdown] exercise="why"
# Each token writes a difference, and the difference depends on what earlier tokens wrote. These
# dependences form a triangle, so one system of equations holds all of them. Chunks of a text are
# computed so, and the state goes from chunk to chunk.

# %% [markdown]
# ## 22.7 Find the planted line
#
# ```{exercise} ★★★ challenge, 20 minutes
# :label: ex-22-7
# :nonumber:
#
# A head without groups has queries, keys and values `q`, `k`, `v`, all (T, d), with an even d. As
# it should be, every query and key is divided by the root of (its mean square + 10⁻⁶) and
# multiplied by `gain`, (d,). Then RoPE turns both as in exercise 22.1, with `angles` (T, d / 2).
# Scores are divided by √d. Query t attends to the keys 0 to t and to a learned sink, the number
# `sink`, as in exercise 22.2. The logits are the output times `head`, a matrix (d, N).
#
# You are given `logits`, (T, N), of a program with perhaps one wrong line. Compute the logits of
# six versions:
#
# 0. all as it should be,
# 1. RoPE first, then the division and the gain, for queries and keys,
# 2. RoPE turns the coordinates 2i and 2i + 1 by `angles[t, i]`,
# 3. no sink at all,
# 4. the sink is divided by √d as well,
# 5. 1 + `gain` in place of `gain`, for queries and keys.
#
# Write `suspects(q, k, v, gain, angles, sink, head, logits)`. Return the error of each version, an
# array (6,): the largest absolute difference to `logits`, divided by the largest absolute value in
# `logits`. If one of these lines is planted, its error is 0 up to rounding.
# ```


# %%
def suspects(q, k, v, gain, angles, sink, head, logits):
    """Error of each version: an array (6,)."""
    ### BEGIN SOLUTION
    T, d = q.shape
    halves = np.arange(d).reshape(2, -1)
    pairs = np.arange(d).reshape(-1, 2).T

    def normed(x, gain):
        mean = np.mean(x * x, axis=1)[:, None]
        return x * gain / np.sqrt(mean + 1e-6)

    def turned(x, where=halves):
        both = (x[:, where[0]] + 1j * x[:, where[1]]) * np.exp(1j * angles)
        y = np.empty((T, d))
        y[:, where[0]], y[:, where[1]] = both.real, both.imag
        return y

    def usual(x, gain=gain, where=halves):
        return turned(normed(x, gain), where)

    def error(made, sink):
        exps = np.tril(np.exp(made(q) @ made(k).T / np.sqrt(d)))
        said = exps @ v @ head / (exps.sum(axis=1) + np.exp(sink))[:, None]
        return abs(said - logits).max() / abs(logits).max()

    return np.array(
        [
            error(usual, sink),
            error(lambda x: normed(turned(x), gain), sink),
            error(lambda x: usual(x, where=pairs), sink),
            error(usual, -np.inf),
            error(usual, sink / np.sqrt(d)),
            error(lambda x: usual(x, gain + 1), sink),
        ]
    )
    ### END SOLUTION


# %%
check("22.7", suspects)

# %% [markdown] exercise="why"
# All six versions have the same shapes, and each gives plausible numbers. The logits of one small
# input tell them apart. If no version fits, the wrong line is another one.

# %% [markdown]
# ## 22.8 Read a config.json
#
# ```{exercise} ★★ core, 15 minutes
# :label: ex-22-8
# :nonumber:
#
# `config` is a dict, as `json.load` makes it from a config.json: `null` has become None. A key
# whose value is None counts as if it were not there. `num_hidden_layers` is always there, and
# so are the sizes that are needed. The kinds of the layers, from the first to the last, come from
# the first of these rules that applies:
#
# 1. If there is `layer_types`, it is the list of the kinds.
# 2. If there is `full_attention_interval`, a number n: the layers n, 2n, 3n, …, counted from 1, are
#    `"full_attention"`, and all others `"linear_attention"`.
# 3. If there is `sliding_window_pattern`, a number n: the layers n, 2n, 3n, …, counted from 1, are
#    `"full_attention"`, and all others `"sliding_attention"`.
# 4. If there is `sliding_window`, and `use_sliding_window` is not False (a key that is missing or
#    null is not False): all are `"sliding_attention"`.
# 5. All are `"full_attention"`.
#
# (Each published class has some of these rules, and other ones besides.)
#
# Positions are 0 to T − 1, and no query attends to later ones. In `"full_attention"` a query
# attends to all positions up to its own; in `"sliding_attention"` to its own and the
# `sliding_window` − 1 before it; in `"chunked_attention"` to those up to its own that lie in its
# chunk, where chunks of `attention_chunk_size` positions begin at 0; in `"linear_attention"` to no
# key, but a state has read all tokens up to its own.
#
# Write `last_sees(config, T)`. Return two things about the query of the *last* position: an array
# of `num_hidden_layers` whole numbers, to how many keys it attends in each layer; and the first
# position whose token can change its logits at all, through all layers together.
# ```


# %%
def last_sees(config, T):
    """Numbers of keys (L,), and the first position that matters."""
    ### BEGIN SOLUTION
    known = {a: b for a, b in config.items() if b is not None}
    number = np.arange(1, known["num_hidden_layers"] + 1)
    w, c = known.get("sliding_window"), known.get("attention_chunk_size")
    full, other, n = "full_attention", "full_attention", 1
    if "full_attention_interval" in known:
        other, n = "linear_attention", known["full_attention_interval"]
    elif "sliding_window_pattern" in known:
        other, n = "sliding_attention", known["sliding_window_pattern"]
    elif w is not None and known.get("use_sliding_window") is not False:
        full = other = "sliding_attention"
    kinds = np.where(number % n == 0, full, other)
    kinds = known.get("layer_types", kinds)

    def begin(kind, t):
        if kind == "sliding_attention":
            return max(t + 1 - w, 0)
        return t - t % c if kind == "chunked_attention" else 0

    keys = [T - begin(kind, T - 1) for kind in kinds]
    keys = np.where(np.array(kinds) == "linear_attention", 0, keys)
    earliest = T - 1
    for kind in kinds[::-1]:
        earliest = begin(kind, earliest)
    return keys, earliest
    ### END SOLUTION


# %%
check("22.8", last_sees)

# %% [markdown] exercise="why"
# A number in a config.json counts only where the code reads it. And a window of w does not bound
# what a model can know: each layer passes on what the layer below has seen, so a stack of L windows
# reaches back L (w − 1) tokens.
