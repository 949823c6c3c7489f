# %% [markdown]
# # Exercises for chapter 8: residual stream and normalisation
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
# without solutions: {download}`08_residual_stream.ipynb <../08_residual_stream.ipynb>`.

# %%
import numpy as np

from tformer_book.exercises import check, hint

rng = np.random.default_rng(0)
x = rng.standard_normal((5, 8))

# %% [markdown]
# The last line makes five vectors of width 8, to try things on. Norms here have no gain and no bias
# unless they are given. Each exercise has three hints. The first is a nudge, the last comes close
# to the answer. Ask for them one at a time: `hint("8.1")`, then `hint("8.1", 2)`.

# %%
hint("8.1")

# %% [markdown]
# ## 8.1 LayerNorm
#
# ```{exercise} ★ warm-up, 6 minutes
# :label: ex-8-1
# :nonumber:
#
# Write `normed(x, eps)` for a table of shape `(T, d)` and eps above 0. Return LayerNorm of every
# row, without gain and bias, with the variance over all d coordinates.
# ```

# %%
def normed(x, eps):
    """LayerNorm of every row: (T, d)."""
    ### BEGIN SOLUTION
    centred = x - x.mean(axis=-1, keepdims=True)
    variance = (centred**2).mean(axis=-1, keepdims=True)
    return centred / np.sqrt(variance + eps)
    ### END SOLUTION


# %%
check("8.1", normed)

# %% [markdown] exercise="why"
# The mean and the variance belong to one word: both run over the last axis, and `keepdims` keeps
# them beside their rows. The eps stands under the root, so a row of equal numbers becomes 0.

# %% [markdown]
# ## 8.2 What is forgotten?
#
# ```{exercise} ★ warm-up, 6 minutes
# :label: ex-8-2
# :nonumber:
#
# A vector of five different numbers, of which none is 0, goes through a norm with eps = 0. Then the
# vector is changed: `"double"` (every number), `"negate"` (every number), `"shift"` (1 is added to
# every number), `"raise one"` (1 is added to the first number only). Predict whether the norm
# forgets the change, whatever the numbers are.
#
# Write `forgets(norm, change)` for the norms `"layer"` and `"rms"`. Return True or False.
# ```

# %%
def forgets(norm, change):
    """Whether the norm gives the same for the changed vector: a bool."""
    ### BEGIN SOLUTION
    return change == "double" or (change == "shift" and norm == "layer")
    ### END SOLUTION


# %%
check("8.2", forgets)

# %% [markdown] exercise="why"
# Both forget a positive factor, LayerNorm also what is added to all. A negative factor turns the
# result round. To raise one number moves the vector in a direction that is neither its own nor
# (1, …, 1), and this is what a norm lets through.

# %% [markdown]
# ## 8.3 Three orders
#
# ```{exercise} ★★ core, 10 minutes
# :label: ex-8-3
# :nonumber:
#
# Each layer of a stack multiplies vectors by a matrix, `x @ w`, and adds the result to them. Norm
# is RMSNorm with eps = 0.
#
# Write `stack(x, layers, order)` for a table of vectors, shape `(T, d)`, and layers of shape
# `(L, d, d)`. Return the vectors after all layers. The order is `"none"` (no norm), `"pre"` (before
# each layer, on the branch; none after the last) or `"post"` (after each sum).
# ```

# %%
def stack(x, layers, order):
    """Vectors after all layers: (T, d)."""
    ### BEGIN SOLUTION
    def norm(x):
        return x / np.sqrt((x**2).mean(axis=-1, keepdims=True))

    for w in layers:
        x = x + (norm(x) if order == "pre" else x) @ w
        x = norm(x) if order == "post" else x
    return x
    ### END SOLUTION


# %%
check("8.3", stack)

# %% [markdown] exercise="why"
# With norms before, the sum itself is never touched: `x = norm(x)` on a line of its own would make
# it post-norm. With norms after the sums, nothing goes past them. (As these layers are linear, a
# norm after the last sum alone would give the same: each norm forgets what the last one divided
# by.)

# %% [markdown]
# ## 8.4 Backwards through RMSNorm
#
# ```{exercise} ★★ core, 12 minutes
# :label: ex-8-4
# :nonumber:
#
# Write `passed_back(x, dy)` for a table of vectors x and an upstream gradient dy, both of shape
# `(T, d)`. Return the gradient with respect to x of RMSNorm without gain, with eps = 0.
# ```

# %%
def passed_back(x, dy):
    """Gradient with respect to x: (T, d)."""
    ### BEGIN SOLUTION
    size = np.sqrt((x**2).mean(axis=-1, keepdims=True))
    n = x / size
    return (dy - n * (n * dy).mean(axis=-1, keepdims=True)) / size
    ### END SOLUTION


# %%
check("8.4", passed_back)

# %% [markdown] exercise="why"
# The part of dy along the vector is taken away, since a longer vector gives the same; the rest is
# divided by the size. What comes out is orthogonal to x, which is a quick test of such code.

# %% [markdown]
# ## 8.5 How large will it be?
#
# ```{exercise} ★★ core, 8 minutes
# :label: ex-8-5
# :nonumber:
#
# In a stack as in exercise 8.3 all entries of all layers are independent, with mean 0 and variance
# a/d (a is the α² of the theorem). The first vector has the mean square m. Predict the expected
# mean square after `depth` layers.
#
# Write `mean_square(m, a, depth, order)` for one layer or more. Return a number.
# ```

# %%
def mean_square(m, a, depth, order):
    """Expected mean square of the coordinates: a number."""
    ### BEGIN SOLUTION
    if order == "post":
        return 1.0
    return m + a * depth if order == "pre" else m * (1 + a) ** depth
    ### END SOLUTION


# %%
check("8.5", mean_square)

# %% [markdown] exercise="why"
# What a layer adds is uncorrelated with what is there, so mean squares add up. Without a norm it
# adds a times what is there; with a norm before, a times 1.

# %% [markdown]
# ## 8.6 When have they melted?
#
# ```{exercise} ★★ core, 10 minutes
# :label: ex-8-6
# :nonumber:
#
# Tokens go through attention layers. Each layer replaces a token's vector by a weighted mean of all
# vectors. In every layer all weights are at least delta, and 0 < delta < 1/T. Predict: after how
# many layers is it certain that no spread (largest less smallest number of a column) is more than a
# given share of what it was at first?
#
# Write `layers_until(share, T, delta)` for a share above 0 and below 1. Return the least whole
# number for which the theorem of the chapter promises it; here it is less than a million.
# ```

# %%
def layers_until(share, T, delta):
    """Least number of layers: an int."""
    ### BEGIN SOLUTION
    n, spread = 0, 1.0
    while spread > share:
        n, spread = n + 1, spread * (1 - T * delta)
    return n
    ### END SOLUTION


# %%
check("8.6", layers_until)

# %% [markdown] exercise="why"
# Each layer leaves at most 1 − Tδ of a spread. For weights that are nearly equal, δ is near 1/T and
# one layer is enough; for sharp weights δ is tiny and the promise is far away.

# %% [markdown]
# ## 8.7 A norm that fits into float16
#
# ```{exercise} ★★★ challenge, 12 minutes
# :label: ex-8-7
# :nonumber:
#
# A vector holds finite float16 numbers, as large as 60000, and not only zeros. You have float16
# arithmetic only, as on a small chip. A norm forgets a factor: use this.
#
# Write `fits(x)` for a float16 vector of shape `(d,)` with d ≤ 64. Return the vector, divided in
# float16 by a number above 0, such that no square, and no sum of the squares, can overflow. Apart
# from rounding, RMSNorm (eps = 0) then gives the same as for x. The largest absolute value of what
# you return should be 1.
# ```

# %%
def fits(x):
    """The vector, made small: (d,)."""
    ### BEGIN SOLUTION
    return x / np.abs(x).max()
    ### END SOLUTION


# %%
check("8.7", fits)

# %% [markdown] exercise="why"
# The squares are then at most 1 and their sum at most d. To divide by the root mean square itself
# would need the squares first. Libraries compute in float32 instead: it costs little, and it keeps
# more digits of the small numbers, which here are rounded once more.

# %% [markdown]
# ## 8.8 Gain and bias, folded away
#
# ```{exercise} ★★ core, 10 minutes
# :label: ex-8-8
# :nonumber:
#
# A norm is followed by a matrix: a vector becomes `(gain * n + bias) @ w`. The gain and the bias
# can be put into the matrix and a vector that is added, so that a norm without them will do.
#
# Write `folded(gain, bias, w)` for gain and bias of shape `(d,)` and w of shape `(d, k)`. Return
# one table of shape `(d + 1, k)`: first the matrix that multiplies n, and in the last row the
# vector that is added.
# ```

# %%
def folded(gain, bias, w):
    """The matrix, and below it the vector: (d + 1, k)."""
    ### BEGIN SOLUTION
    return np.concatenate([gain[:, None] * w, (bias @ w)[None]])
    ### END SOLUTION


# %%
check("8.8", folded)

# %% [markdown] exercise="why"
# The gain multiplies the coordinates of n, which meet the rows of w. So a gain adds nothing to what
# a linear layer can do; what it changes is the way that training takes.
