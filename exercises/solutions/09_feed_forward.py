# %% [markdown]
# # Exercises for chapter 9: feed-forward layers
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
# without solutions: {download}`09_feed_forward.ipynb <../09_feed_forward.ipynb>`.

# %%
import numpy as np

from tformer_book.exercises import check, hint

w = np.array([-3.0, -1, 1, 3])

# %% [markdown]
# The last line has the four mixtures of the chapter. Each exercise has three hints. The first is a
# nudge, the last comes close to the answer. Ask for them one at a time: `hint("9.1")`, then
# `hint("9.1", 2)`.

# %%
hint("9.1")

# %% [markdown]
# ## 9.1 Take a mixture apart
#
# ```{exercise} ★ warm-up, 8 minutes
# :label: ex-9-1
# :nonumber:
#
# Two signs, *who* and *whom*, each 1 or −1, arrive as w = who + 2 whom.
#
# Write `unmix(w)` for an array of any shape `(...)`, or a single number, of the values −3, −1, 1
# and 3. Return *who* and *whom* along a new last axis, shape `(..., 2)`. Try to use nothing but
# sums and `np.maximum(0, ·)`, as a layer would.
# ```


# %%
def unmix(w):
    """Who and whom: (...) to (..., 2)."""
    ### BEGIN SOLUTION
    whom = np.maximum(0, w + 1) - np.maximum(0, w - 1) - 1
    return np.stack([w - 2 * whom, whom], axis=-1)
    ### END SOLUTION


# %%
check("9.1", unmix)

# %% [markdown] exercise="why"
# Two bends read both signs, because *who* is what is left of w. In a layer the term w comes from
# the sum with the vector itself: the residual connection.

# %% [markdown]
# ## 9.2 All of them
#
# ```{exercise} ★ warm-up, 6 minutes
# :label: ex-9-2
# :nonumber:
#
# A hidden unit is to answer only if all of n facts hold. Each is a number from 0 to 1.
#
# Write `all_of(p)` for an array of shape `(..., n)`, with n at least 1. Return what one ReLU makes
# of their sum, shape `(...)`: 1 if all facts are 1, and 0 if any of them is 0. In between it is the
# sum less n − 1, where that is above 0.
# ```


# %%
def all_of(p):
    """AND of facts: (..., n) to (...)."""
    ### BEGIN SOLUTION
    rest = p.sum(axis=-1) - (p.shape[-1] - 1)
    return np.maximum(0, rest)
    ### END SOLUTION


# %%
check("9.2", all_of)

# %% [markdown] exercise="why"
# The more facts, the closer to 1 all of them have to be: with ten facts of 0.9 the sum is 9, and
# the unit is off. A word that has heard everything in part has heard nothing for this unit.

# %% [markdown]
# ## 9.3 The layer
#
# ```{exercise} ★★ core, 10 minutes
# :label: ex-9-3
# :nonumber:
#
# Write `layer(x, w_in, b_in, w_out, b_out)`, a feed-forward layer with ReLU: x has the shape
# `(..., d)`, the matrices `(d, f)` and `(f, d)`, the biases `(f,)` and `(d,)`. Return what the
# layer makes, shape `(..., d)`, without adding x.
# ```


# %%
def layer(x, w_in, b_in, w_out, b_out):
    """A feed-forward layer with ReLU: (..., d)."""
    ### BEGIN SOLUTION
    inner = x @ w_in + b_in
    hidden = np.maximum(0, inner)
    return hidden @ w_out + b_out
    ### END SOLUTION


# %%
check("9.3", layer)

# %% [markdown] exercise="why"
# Nothing in it speaks of words, so one line serves a word, a text and a batch of texts
# ({prf:ref}`thm-each-word`).

# %% [markdown]
# ## 9.4 Gates
#
# ```{exercise} ★★ core, 12 minutes
# :label: ex-9-4
# :nonumber:
#
# Write `swiglu(x, w_gate, w_in, w_out)`, a layer with gates and without biases: the gates are SiLU
# of one reading of the vector, and multiply another. Shapes are `(..., d)`, `(d, f)`, `(d, f)` and
# `(f, d)`. Readings may be as large as a few thousand in size; no NaN may come out.
# ```


# %%
def swiglu(x, w_gate, w_in, w_out):
    """A feed-forward layer with gates: (..., d)."""
    ### BEGIN SOLUTION
    gate = x @ w_gate
    sigmoid = np.exp(-np.logaddexp(0, -gate))
    return (gate * sigmoid * (x @ w_in)) @ w_out
    ### END SOLUTION


# %%
check("9.4", swiglu)

# %% [markdown] exercise="why"
# A unit multiplies two readings of the vector, so doubling a vector of large numbers makes the
# result four times as large. With ReLU it would be twice as large. This is one reason why such
# layers stand after a norm.

# %% [markdown]
# ## 9.5 Who moves?
#
# ```{exercise} ★★ core, 10 minutes
# :label: ex-9-5
# :nonumber:
#
# A stack is a list of parts, each `"feed-forward"`, `"norm"`, `"attention"` or `"causal
# attention"`, and each adds to the vectors what it makes of them. A norm is over the coordinates of
# a vector. Word s of n, counted from 0, is exchanged for another. Predict which vectors at the end
# can differ from before, for some choice of the parameters.
#
# Write `who_moves(parts, n, s)`. Return an array of True and False, shape `(n,)`: True for those
# that can.
# ```


# %%
def who_moves(parts, n, s):
    """Which vectors can change with word s: (n,)."""
    ### BEGIN SOLUTION
    moved = np.zeros(n, dtype=bool)
    moved[s] = True
    for part in parts:
        if part == "attention":
            moved[:] = True
        elif part == "causal attention":
            moved[s:] = True
    return moved
    ### END SOLUTION


# %%
check("9.5", who_moves)

# %% [markdown] exercise="why"
# Of four kinds of parts two let words meet. All that a deep stack knows of the neighbours of a
# word has passed through those two, however much is computed in between.

# %% [markdown]
# ## 9.6 The bill
#
# ```{exercise} ★★ core, 8 minutes
# :label: ex-9-6
# :nonumber:
#
# A block of width d has attention of 4 d² parameters and a feed-forward layer of f = `d_ff` hidden
# units, without biases. Predict what the layer costs.
#
# Write `bill(d, d_ff, gated)`. Return two numbers: the parameters of the layer, which has gates if
# `gated` is True, and their share in those of the block.
# ```


# %%
def bill(d, d_ff, gated):
    """Parameters of the layer, and its share of the block."""
    ### BEGIN SOLUTION
    size = (3 if gated else 2) * d * d_ff
    return size, size / (size + 4 * d * d)
    ### END SOLUTION


# %%
check("9.6", bill)

# %% [markdown] exercise="why"
# With f = 4 d the share is two thirds, and with gates three quarters; 8/3 d with gates brings it
# back to two thirds ({prf:ref}`prop-share`). Comparisons of activations at the same f are therefore
# comparisons of size as well.

# %% [markdown]
# ## 9.7 How many pieces?
#
# ```{exercise} ★★★ challenge, 20 minutes
# :label: ex-9-7
# :nonumber:
#
# A layer reads one number x and returns the sum of $v_i \operatorname{relu}(w_i x + b_i)$. Predict
# how many straight pieces its graph has.
#
# Write `pieces(w, b, v)` for three arrays of integers of shape `(n,)`, from −10⁹ to 10⁹, zeros
# among them; n may be 0. Return the number of pieces as an int. Two pieces that continue each
# other in one line are one piece. Units may bend at the same place; decide exactly whether they do.
# ```


# %%
def pieces(w, b, v):
    """Straight pieces of the sum of v relu(w x + b)."""
    ### BEGIN SOLUTION
    changes = {}
    units = np.stack([w, b, v], axis=1).tolist()
    for a, c, value in units:
        if a:
            shared = np.gcd(int(a), int(c)) * np.sign(a)
            place = (int(c // shared), int(a // shared))
            changes[place] = changes.get(place, 0) + value * abs(a)
    return 1 + sum(change != 0 for change in changes.values())
    ### END SOLUTION


# %%
check("9.7", pieces)

# %% [markdown] exercise="why"
# The bound n + 1 of {prf:ref}`thm-folds` is for units whose bends differ and are seen. Two units
# with opposite keys and opposite values bend nothing: together they pass x on
# ({prf:ref}`prop-odd-part`).

# %% [markdown]
# ## 9.8 Dead for certain
#
# ```{exercise} ★★ core, 12 minutes
# :label: ex-9-8
# :nonumber:
#
# After a norm no vector is longer than r. A ReLU is on where $x \cdot k + b$ is above 0. Which
# hidden units are on for no vector that can arrive?
#
# Write `dead(w_in, b_in, r)` for a matrix of shape `(d, f)`, biases `(f,)` and r above 0. Return an
# array of True and False, shape `(f,)`: True for a unit that no vector of length at most r turns
# on. Numbers are such that rounding does not matter.
# ```


# %%
def dead(w_in, b_in, r):
    """Units that no vector of length up to r turns on: (f,)."""
    ### BEGIN SOLUTION
    lengths = np.sqrt((w_in * w_in).sum(axis=0))
    return r * lengths + b_in <= 0
    ### END SOLUTION


# %%
check("9.8", dead)

# %% [markdown] exercise="why"
# The vector that turns a unit on most is its own key, made as long as vectors are: Cauchy and
# Schwarz. The units that you find are dead for every text. Those that are dead for the texts at
# hand are more, and no formula knows them without the texts.
