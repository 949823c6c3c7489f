# %% [markdown]
# # Exercises for chapter 7: position
#
# Each exercise asks for one function. Write it, run its cell, then run the check below it. The
# check tries your function on small inputs and larger ones, and tells you the first thing that is
# wrong, with numbers that you can redo on paper. Any correct way of computing the answer will do.
# Keep the name. A `NameError` means that its cell has not been run, or that the name has changed.
# Numbers that are whole may come as integers, alone or in arrays.
#
# One star (★) marks a warm-up, two the core of the chapter, three a challenge. The minutes are
# what a reader needs who has just read the chapter.

# %% [markdown] exercise="book"
# Solutions are folded away below each exercise. To work on them yourself, take the notebook
# without solutions: {download}`07_position.ipynb <../07_position.ipynb>`.

# %%
import numpy as np

from tformer_book.exercises import check, hint

rng = np.random.default_rng(0)
x = rng.standard_normal((12, 8))

# %% [markdown]
# The last line makes twelve rows of width 8, to try things on. Positions are counted from 0. Pair
# number i of a row of width d (hand number i) turns by $\omega_i = 10000^{-2i/d}$ per position.
# Each exercise has three hints. The first is a nudge, the last comes close to the answer. Ask for
# them one at a time: `hint("7.1")`, then `hint("7.1", 2)`.

# %%
hint("7.1")

# %% [markdown]
# ## 7.1 A table of waves
#
# ```{exercise} ★ warm-up, 8 minutes
# :label: ex-7-1
# :nonumber:
#
# Write `waves(n, d)` for one position or more and an even width d. Return the table of shape
# `(n, d)` whose row t holds $\sin(t\,\omega_i)$ in column 2i and $\cos(t\,\omega_i)$ in column
# 2i + 1.
# ```

# %%
def waves(n, d):
    """Waves of the positions 0 to n − 1: (n, d)."""
    ### BEGIN SOLUTION
    angles = np.arange(n)[:, None] * 10000.0 ** (-np.arange(0, d, 2) / d)
    return np.stack([np.sin(angles), np.cos(angles)], axis=-1).reshape(n, d)
    ### END SOLUTION


# %%
check("7.1", waves)

# %% [markdown] exercise="why"
# Many loops count the even columns, so the counter is 2i already, and the exponent is −counter/d,
# without a further 2. All frequencies lie between 1 and 1/10000. The last one is a little faster
# than 1/10000, because the exponent ends at −(d − 2)/d.

# %% [markdown]
# ## 7.2 Who notices?
#
# ```{exercise} ★ warm-up, 8 minutes
# :label: ex-7-2
# :nonumber:
#
# In a first layer a word A attends to two words before it, B and C. The text is B, C, A. The
# matrices can be any. Three things may happen to the text: another word is put `"in front"` of
# all of it, another word is put `"between"` B and C, or B and C are exchanged (`"exchange"`). Can
# the ratio of A's weights on B and on C change? Predict, and then let your function say so.
#
# Write `can_notice(scheme, change)` for the schemes `"none"` (no encoding and no mask), `"causal"`
# (a causal mask only), `"sinusoidal"` (encodings added to the words), `"ALiBi"` and `"RoPE"`.
# Return True or False.
# ```

# %%
def can_notice(scheme, change):
    """Whether A's weights on B and C can change their ratio: a bool."""
    ### BEGIN SOLUTION
    if scheme in ("none", "causal"):
        return False
    return scheme == "sinusoidal" or change != "in front"
    ### END SOLUTION


# %%
check("7.2", can_notice)

# %% [markdown] exercise="why"
# The ratio of two weights depends on the query and two keys alone. Without positions these three
# vectors stay the same, and a mask that hides none of them does not change the ratio. With
# sinusoidal encodings the vectors change at new positions. A scheme that uses distances only
# notices a change of distance, and a word in front of the text changes none.

# %% [markdown]
# ## 7.3 The matrix that moves on
#
# ```{exercise} ★★ core, 12 minutes
# :label: ex-7-3
# :nonumber:
#
# One matrix moves every row of waves by the same number of positions.
#
# Write `shift_matrix(delta, d)` for an even width d and a whole number of positions, which may be
# negative. Return the matrix M of shape `(d, d)` with $p_t M = p_{t + \delta}$ for all t.
# ```

# %%
def shift_matrix(delta, d):
    """Matrix that moves rows of waves by delta positions: (d, d)."""
    ### BEGIN SOLUTION
    matrix = np.zeros((d, d))
    for i in range(0, d, 2):
        angle = delta * 10000.0 ** (-i / d)
        matrix[i, i] = matrix[i + 1, i + 1] = np.cos(angle)
        matrix[i + 1, i], matrix[i, i + 1] = np.sin(angle), -np.sin(angle)
    return matrix
    ### END SOLUTION


# %%
check("7.3", shift_matrix)

# %% [markdown] exercise="why"
# The sine of a sum needs the old cosine, which stands one column further. So the entry below the
# diagonal is positive. The transposed matrix moves rows back; it would be right for column
# vectors.

# %% [markdown]
# ## 7.4 Turn them
#
# ```{exercise} ★★ core, 12 minutes
# :label: ex-7-4
# :nonumber:
#
# Write `turn(x, places)` for rows of shape `(..., T, d)`, d even, and their positions, T whole
# numbers, also negative ones. Turn each pair of neighbours, $(a, b)$ in columns 2i and 2i + 1, by
# the angle $\varphi$, position times $\omega_i$, to $(a \cos \varphi - b \sin
# \varphi,\ a \sin \varphi + b \cos \varphi)$. Return the rows in their shape.
# ```

# %%
def turn(x, places):
    """Rows (..., T, d) turned by their positions: (..., T, d)."""
    ### BEGIN SOLUTION
    d = x.shape[-1]
    frequencies = 10000.0 ** (-np.arange(0, d, 2) / d)
    angles = np.asarray(places)[:, None] * frequencies
    a, b = x[..., 0::2], x[..., 1::2]
    pairs = [a * np.cos(angles) - b * np.sin(angles),
             a * np.sin(angles) + b * np.cos(angles)]
    return np.stack(pairs, axis=-1).reshape(x.shape)
    ### END SOLUTION


# %%
check("7.4", turn)

# %% [markdown] exercise="why"
# The axis of positions is the last but one, so the table of angles has shape (T, d/2) and
# broadcasts over whatever stands in front: batches and heads. Queries and keys go through the same
# function; values do not go through it.

# %% [markdown]
# ## 7.5 Which pairing is it?
#
# ```{exercise} ★★★ challenge, 20 minutes
# :label: ex-7-5
# :nonumber:
#
# You are handed a function f and told that it turns rows by their positions. Does it pair
# neighbours or halves?
#
# Write `which_pairing(f, d)`. `f(x, t)` takes one row of even width d, at least 4, and returns it
# as it is turned at position t, by any frequencies and in either direction. Every hand moves, by
# between 0.0001 and 1 radian per position, and what should be 0 may be 0 up to rounding. Return
# `"neighbours"`, `"halves"` or `"neither"`.
# ```

# %%
def which_pairing(f, d):
    """Which coordinates f turns together: a word."""
    ### BEGIN SOLUTION
    pairs = {"neighbours": [(i, i + 1) for i in range(0, d, 2)],
             "halves": [(i, i + d // 2) for i in range(d // 2)]}
    reached = np.array([f(row, 1) for row in np.eye(d)])
    for name, wanted in pairs.items():
        allowed = np.eye(d, dtype=bool)
        for i, j in wanted:
            allowed[i, j] = allowed[j, i] = True
        if not (np.abs(reached) > 1e-9)[~allowed].any():
            return name
    return "neither"
    ### END SOLUTION


# %%
check("7.5", which_pairing)

# %% [markdown] exercise="why"
# A row with a single 1 shows where its coordinate goes. One such row is not enough; all of them
# together are the matrix of the rotation. Position 0 shows nothing, since nothing is rotated
# there. At width 2 both pairings are the same.

# %% [markdown]
# ## 7.6 Convert the parameters
#
# ```{exercise} ★★ core, 15 minutes
# :label: ex-7-6
# :nonumber:
#
# A model was trained with neighbours as pairs, and your code pairs halves: coordinates i and
# $i + d_k/2$ of each head. The matrix W of the queries of all heads lies before you, of shape
# $(d_{\text{model}}, H \cdot d_k)$: first the columns of head 0, then those of head 1, and so on.
#
# Write `converted(w, n_heads)`. Return the matrix that makes, in your code, the same scores as w
# made where it was trained, if the keys are converted alike: the columns of w in another order.
# ```

# %%
def converted(w, n_heads):
    """Columns of w in the order for halves, head by head: w's shape."""
    ### BEGIN SOLUTION
    heads = w.reshape(len(w), n_heads, -1)
    halves = [heads[..., 0::2], heads[..., 1::2]]
    return np.concatenate(halves, axis=-1).reshape(w.shape)
    ### END SOLUTION


# %%
check("7.6", converted)

# %% [markdown] exercise="why"
# Each head has its own pairs, so each is reordered by itself. A permutation of all columns at once
# mixes the heads. Applied twice it is not the identity, unless a head has at most four
# coordinates: to go back, take the inverse.

# %% [markdown]
# ## 7.7 The favourite distance
#
# ```{exercise} ★★ core, 12 minutes
# :label: ex-7-7
# :nonumber:
#
# A head has one pair of coordinates, a single hand that turns by ω for each position. Before you
# compute, predict: does a query always score the nearest key highest?
#
# Write `favourite(q, k, omega, reach)` for a query and a key of shape `(2,)`. The key may stand
# any number of positions before the query, from 0 to `reach`. Both are turned by their positions as
# in 7.4. Return the distance at which their score is largest, a whole number; of several, the
# smallest. (Scores that differ by less than $10^{-9}$ count as equal.)
# ```

# %%
def favourite(q, k, omega, reach):
    """Distance at which the turned query likes the turned key best.

    A whole number.
    """
    ### BEGIN SOLUTION
    angles = omega * np.arange(reach + 1)
    along, across = q @ k, q[0] * k[1] - q[1] * k[0]
    scores = along * np.cos(angles) + across * np.sin(angles)
    return int(np.flatnonzero(scores > scores.max() - 1e-9)[0])
    ### END SOLUTION


# %%
check("7.7", favourite)

# %% [markdown] exercise="why"
# The score is a cosine of the distance. The angle between query and key before the rotation
# decides where it is largest. If they point the same way, the nearest key scores highest. If they
# are a quarter turn apart, the best distance is a quarter of the hand's round, before the query
# or behind it.

# %% [markdown]
# ## 7.8 A table of distances
#
# ```{exercise} ★★ core, 12 minutes
# :label: ex-7-8
# :nonumber:
#
# Write `distance_bias(table, T, S, offset)` for a table of 2m + 1 numbers, for the distances
# −m, …, 0, …, m in this order. Return the biases of T queries and S keys, of shape `(T, S)`: query
# t stands at position t + offset, key s at position s, and their entry is that of the distance
# s − (t + offset). The offset is 0 or more. What is farther than m on either side gets the entry of
# m, or of −m.
# ```

# %%
def distance_bias(table, T, S, offset):
    """Bias of each query and key by their distance: (T, S)."""
    ### BEGIN SOLUTION
    m = len(table) // 2
    distance = np.arange(S) - (np.arange(T)[:, None] + offset)
    return table[np.clip(distance, -m, m) + m]
    ### END SOLUTION


# %%
check("7.8", distance_bias)

# %% [markdown] exercise="why"
# Along each diagonal the distance is the same, so the table of biases has few different numbers,
# at most T + S − 1 of them. With a cache T is 1 and the offset is the number of words before.

# %% [markdown]
# ## 7.9 How far does it read?
#
# ```{exercise} ★★ core, 10 minutes
# :label: ex-7-9
# :nonumber:
#
# A head with ALiBi subtracts `slope` for each position of distance. All scores without the bias
# are equal, and the text has no beginning: the query sees itself and endlessly many tokens before
# it. Predict first: how does the answer change if the slope is halved?
#
# Write `keys_for(slope, share)`. Return the smallest number of nearest keys, the query's own among
# them, that together have at least the share of the weight, for a positive slope and a share of at
# least 0 and below 1. At least one key is asked for. (What is reached up to rounding is reached.)
# ```

# %%
def keys_for(slope, share):
    """Number of nearest keys that have a share of the weight."""
    ### BEGIN SOLUTION
    keys = -np.log1p(-share) / slope
    return int(max(1, np.ceil(keys - 1e-9)))
    ### END SOLUTION


# %%
check("7.9", keys_for)

# %% [markdown] exercise="why"
# The weights are a geometric series, and what lies beyond the first n of them is $e^{-\mu n}$ of
# the whole. So n is the logarithm of one over the rest, divided by the slope and rounded up: with
# half the slope the head reads about twice as far.

# %% [markdown]
# ## 7.10 Count, and not so faintly
#
# ```{exercise} ★★★ challenge, 15 minutes
# :label: ex-7-10
# :nonumber:
#
# A layer that attends to all words alike gives word t = 1, 2, 3, … the output 1/t, and later
# words can hardly be told apart. Let the first word have more weight.
#
# Write `counting_head(marks, a)`. `marks` has shape `(T,)`: 1 for the first word of the text and 0
# for all others. Return queries, keys and values, of shapes `(T, d_k)`, `(T, d_k)` and `(T, 1)`,
# such that causal attention with the scale 1 and nothing that knows positions gives word t the
# output $a / (a + t - 1)$, for the given a > 0. The row of a word may depend on its mark only.
# ```

# %%
def counting_head(marks, a):
    """Queries, keys and values of a layer that counts."""
    ### BEGIN SOLUTION
    k = np.log(a) * marks[:, None]
    return np.ones_like(k), k, 1.0 * marks[:, None]
    ### END SOLUTION


# %%
check("7.10", counting_head)

# %% [markdown] exercise="why"
# The first key scores log a and all others 0, so the first word counts as much as a others. At t
# = a + 1 the output is one half: choose a about as large as the positions that you want to tell
# apart. A large a has its price near the beginning, where all outputs are close to 1.

# %% [markdown]
# ## 7.11 A slower clock
#
# ```{exercise} ★★ core, 10 minutes
# :label: ex-7-11
# :nonumber:
#
# The texts have become longer by a factor, and the slowest hand of a head of width d should slow
# down by that factor. The fastest hand should stay as it is: it tells neighbours apart.
#
# Write `base_for(factor, d)` for even d of at least 4 and a positive factor, below 1 if texts
# have become shorter. Return the base that must replace 10000.
# ```

# %%
def base_for(factor, d):
    """Base that slows the slowest hand by a factor: a number."""
    ### BEGIN SOLUTION
    return 10000.0 * factor ** (d / (d - 2))
    ### END SOLUTION


# %%
check("7.11", base_for)

# %% [markdown] exercise="why"
# The slowest hand has the exponent −(d − 2)/d, not −1, so the base must grow by a little more than
# the factor. The hands between slow down by powers of the factor, more the slower they are.

# %% [markdown]
# ## 7.12 What went wrong?
#
# ```{exercise} ★★★ challenge, 20 minutes
# :label: ex-7-12
# :nonumber:
#
# A program that uses RoPE writes nonsense. You have its queries and keys before the rotation, and
# the scores that it computed from them. In a right program the scores are $(q_t R_t) \cdot (k_s
# R_s)$, unscaled, with neighbours as pairs, as in 7.4.
#
# Write `diagnosis(q, k, scores)` for queries and keys of shape `(T, d)` and scores of shape
# `(T, T)`. Return `"right"`, `"not turned"` (neither queries nor keys), `"keys not turned"`,
# `"queries at 0"` (keys are turned, and all queries treated as if they stood at position 0),
# `"halves"` (both turned, with halves as pairs) or `"backwards"` (both turned, the queries the
# wrong way round). The scores are rounded to nine decimals. Those of two programs differ by at
# least 0.001, though maybe in one entry only.
# ```

# %%
def diagnosis(q, k, scores):
    """What a program does with its positions: one of six names."""
    ### BEGIN SOLUTION
    t, d = np.arange(len(q)), q.shape[-1]
    halves = np.arange(d).reshape(-1, 2).T.ravel()
    back = np.argsort(halves)

    def turned(x, places):
        angles = places[:, None] * 10000.0 ** (-np.arange(0, d, 2) / d)
        z = (x[:, 0::2] + 1j * x[:, 1::2]) * np.exp(1j * angles)
        return np.stack([z.real, z.imag], axis=-1).reshape(x.shape)

    causes = {
        "right": (turned(q, t), turned(k, t)),
        "not turned": (q, k),
        "keys not turned": (turned(q, t), k),
        "queries at 0": (q, turned(k, t)),
        "halves": (turned(q[:, back], t), turned(k[:, back], t)),
        "backwards": (turned(q, -t), turned(k, t)),
    }
    gaps = {name: abs(one @ two.T - scores).max()
            for name, (one, two) in causes.items()}
    return min(gaps, key=gaps.get)
    ### END SOLUTION


# %%
check("7.12", diagnosis)

# %% [markdown] exercise="why"
# Each mistake has a mark of its own. If keys are not rotated, a score depends on the query's
# position. At position 0 all programs agree. The diagonal is right with the wrong pairing, and
# wrong if queries are rotated backwards. The surest way is to compute all of them.
