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
# The last line has the four sums of the chapter. Each exercise has three hints. The first is a
# nudge, the last comes close to the answer. Ask for them one at a time: `hint("9.1")`, then
# `hint("9.1", 2)`.

# %%
hint("9.1")

# %% [markdown]
# ## 9.1 Take a sum apart
#
# ```{exercise} ★ warm-up, 8 minutes
# :label: ex-9-1
# :nonumber:
#
# *Who* and *whom* are 1 or −1 each. A layer receives only the sum w = who + 2 whom.
#
# Write `unmix(w)` for an array of any shape `(...)`, or a single number, of the values −3, −1, 1
# and 3. Return *who* and *whom* along a new last axis, shape `(..., 2)`. Try to use only sums and
# `np.maximum(0, ·)`, as a layer does.
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
# Two ReLUs give *whom*, and *who* = w − 2 whom needs no more of them. In a block the term w comes
# from the residual connection.

# %% [markdown]
# ## 9.2 All of them
#
# ```{exercise} ★ warm-up, 6 minutes
# :label: ex-9-2
# :nonumber:
#
# A hidden unit should answer only if all of n facts hold. Each fact is a number from 0 to 1.
#
# Write `all_of(p)` for an array of shape `(..., n)`, with n at least 1. Return the output of one
# ReLU, shape `(...)`: 1 if all facts are 1, and 0 if any of them is 0. In between it is the sum of
# the facts minus (n − 1), or 0 if that is below 0.
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
# The more facts there are, the closer to 1 each of them has to be. With ten facts of 0.9 the sum is
# 9, and the unit is off. Attention often brings facts in part only, so thresholds matter.

# %% [markdown]
# ## 9.3 The layer
#
# ```{exercise} ★★ core, 10 minutes
# :label: ex-9-3
# :nonumber:
#
# Write `layer(x, w_in, b_in, w_out, b_out)`, a feed-forward layer with ReLU: x has the shape
# `(..., d)`, the matrices `(d, f)` and `(f, d)`, the biases `(f,)` and `(d,)`. Return the layer's
# output, shape `(..., d)`, without adding x.
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
# The layer works on the last axis only. So the same lines serve one token, a text, and a batch of
# texts ({prf:ref}`thm-each-word`).

# %% [markdown]
# ## 9.4 Gates
#
# ```{exercise} ★★ core, 12 minutes
# :label: ex-9-4
# :nonumber:
#
# Write `swiglu(x, w_gate, w_in, w_out)`, a layer with gates and without biases. Each hidden unit is
# SiLU of x W_gate times x W_in, number by number. Shapes are `(..., d)`, `(d, f)`, `(d, f)` and
# `(f, d)`. Numbers before SiLU may be a few thousand in size; no NaN may come out.
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
# Each unit multiplies two numbers that it has read from the vector. So doubling a vector of large
# numbers can make the result four times as large, where a layer of ReLUs only doubles it. A norm
# before the layer keeps the vectors from growing.

# %% [markdown]
# ## 9.5 Who moves?
#
# ```{exercise} ★★ core, 10 minutes
# :label: ex-9-5
# :nonumber:
#
# A stack is a list of parts, each `"feed-forward"`, `"norm"`, `"attention"` or `"causal
# attention"`. Each part adds its result to the vectors. A norm is over the coordinates of one
# vector. You replace word s of n, counted from 0. Predict which vectors at the end can change, for
# some choice of the parameters.
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
# Only the two kinds of attention move information between words. Everything that a vector of a deep
# stack knows of other words has passed through them.

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
# With f = 4 d the share is two thirds, and with gates three quarters. With gates and f = 8/3 d it
# is
# two thirds again ({prf:ref}`prop-share`). So if you compare a gated layer with a plain one at the
# same f, you compare sizes as well.

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
# other in one line are one piece. Units may bend at the same point; decide exactly whether they do.
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
# The bound n + 1 of {prf:ref}`thm-folds` is reached if all units bend at different points, with
# values that are not 0. Two units with opposite keys and opposite values do not bend the line at
# all: together they pass x on ({prf:ref}`prop-odd-part`).

# %% [markdown]
# ## 9.8 Dead for certain
#
# ```{exercise} ★★ core, 12 minutes
# :label: ex-9-8
# :nonumber:
#
# After a norm no vector is longer than r. A ReLU is on if $x \cdot k + b$ is above 0. Which hidden
# units cannot be on, whatever arrives?
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
# By Cauchy and Schwarz, the vector that excites a unit most points along its key and has length r.
# The units that you find are dead for every text. Others may be dead for the texts at hand. To find
# those, you have to run the texts.
