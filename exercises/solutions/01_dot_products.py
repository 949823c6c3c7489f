# %% [markdown]
# # Exercises for chapter 1: dot products
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
# without solutions: {download}`01_dot_products.ipynb <../01_dot_products.ipynb>`.

# %%
import numpy as np

from tformer_book.exercises import check, hint

q, k = np.array([3.0, 4.0]), np.array([4.0, 3.0])

# %% [markdown]
# The last line makes the two vectors of the first worked example, to try things on. Each exercise
# has three hints. The first is a nudge, the last comes close to the answer. Ask for them one at a
# time: `hint("1.1")`, then `hint("1.1", 2)`.

# %%
hint("1.1")

# %% [markdown]
# ## 1.1 One dot product per row
#
# ```{exercise} ★ warm-up, 5 minutes
# :label: ex-1-1
# :nonumber:
#
# The chapter writes $q \cdot k$ for two vectors. In a transformer vectors come in stacks: a batch
# of sentences, each with many words, each with several heads. How can one function serve all of
# them?
#
# Write `row_dots(q, k)`. The arrays q and k have shape `(..., d)`: any number of leading axes,
# none included, and the coordinates along the last axis. Return the dot product of each vector of
# q with the vector of k in the same place, shape `(...)`. A single vector k, of shape `(d,)`,
# serves all vectors of q. Here and below the numbers may also be integers of 64 bits.
# ```

# %%
def row_dots(q, k):
    """Dot products along the last axis: (..., d) and (..., d) to (...)."""
    ### BEGIN SOLUTION
    return (q * k).sum(axis=-1)
    ### END SOLUTION


# %%
check("1.1", row_dots)

# %% [markdown] exercise="why"
# The function counts axes from the end, so it works for any number of axes in front. Every function
# of the library is written this way, and `(...)` in its documentation means this.

# %% [markdown]
# ## 1.2 A cosine that knows the zero vector
#
# ```{exercise} ★ warm-up, 8 minutes
# :label: ex-1-2
# :nonumber:
#
# Padding fills short sentences up with zero vectors, and a zero vector has no direction. The
# formula of the cosine then reads 0/0. The book decides that the cosine of a zero vector with
# anything is 0.
#
# Write `cosine(q, k)` for arrays of shape `(..., d)`, with that decision built in. A vector that
# is merely short is not a zero vector: stretching a vector to a length of $10^9$, or shrinking it
# to one of $10^{-9}$, must not change its cosine.
# ```

# %%
def cosine(q, k):
    """Cosines along the last axis.

    (..., d) and (..., d) to (...); 0 for a zero vector.
    """
    ### BEGIN SOLUTION
    lengths = np.linalg.norm(q, axis=-1) * np.linalg.norm(k, axis=-1)
    return (q * k).sum(axis=-1) / np.where(lengths == 0, 1, lengths)
    ### END SOLUTION


# %%
check("1.2", cosine)

# %% [markdown] exercise="why"
# Where the product of the lengths is zero, so is the numerator, and dividing it by 1 leaves the 0
# that was decided on. Adding a small $\varepsilon$ to the denominator avoids the error as well,
# but it changes every answer a little, and that of two short vectors completely. One limit is
# left: lengths near $10^{-162}$ and below have a product that rounds to 0 and pass for zero
# vectors. Code that must serve them divides each vector by its largest coordinate first.

# %% [markdown]
# ## 1.3 Projection and remainder
#
# ```{exercise} ★ warm-up, 8 minutes
# :label: ex-1-3
# :nonumber:
#
# The projection theorem splits a vector q into a part along k and a remainder orthogonal to k. How
# do you compute the two parts for a whole stack of vectors?
#
# Write `split(q, k)` for arrays of shape `(..., d)`. Return the two parts as a pair, the part
# along k first. If k is the zero vector, nothing of q lies along it: the first part is zero and
# the remainder is q. A very short vector is not a zero vector: only the direction of k counts, for
# lengths from $10^{-100}$ to $10^9$.
# ```

# %%
def split(q, k):
    """Part of q along k, and the remainder.

    Two arrays of shape (..., d).
    """
    ### BEGIN SOLUTION
    squared_length = (k * k).sum(axis=-1, keepdims=True)
    scale = np.where(squared_length == 0, 1, squared_length)
    coefficient = (q * k).sum(axis=-1, keepdims=True) / scale
    along = coefficient * k
    return along, q - along
    ### END SOLUTION


# %%
check("1.3", split)

# %% [markdown] exercise="why"
# `keepdims=True` leaves an axis of length one where the coordinates were, so that the coefficient
# of each row multiplies the whole row. Without it the coefficients of a square stack would line up
# with the columns, without any error message.

# %% [markdown]
# ## 1.4 How long must it be to win?
#
# ```{exercise} ★★ core, 12 minutes
# :label: ex-1-4
# :nonumber:
#
# Fewer than half of the words of the corpus score highest with themselves: for *milk* it is
# *cheese*. How can a key in another direction score higher with q than q itself? Before you compute
# anything, guess: how many times as long as q must a key at 60 degrees to it be? And one at 89
# degrees?
#
# Write `length_to_win(norms, degrees)`. The two arrays have the same shape. They hold the lengths
# of some queries, none zero, and for each the angle of a key to it, from 0 to 180 degrees: a right
# angle, or at least $10^{-4}$ degrees away from one. Return the length at which the dot product of
# that key with the query reaches $q \cdot q$, so that every longer key wins. Where no length is
# enough, return ∞, which is `np.inf`.
# ```

# %%
def length_to_win(norms, degrees):
    """How long a key must be to score as high with q as q does.

    Two arrays of one shape to an array of that shape.
    """
    ### BEGIN SOLUTION
    ahead = degrees < 90
    cosines = np.where(ahead, np.cos(np.radians(degrees)), 1)
    return np.where(ahead, norms / cosines, np.inf)
    ### END SOLUTION


# %%
check("1.4", length_to_win)

# %% [markdown] exercise="why"
# The score of a key with q is the length of q times the signed length of the key's shadow on q. So
# both score the same when the shadow is as long as q. At 60 degrees the key must be twice as long
# as q, at 89 degrees 57 times. At a right angle or beyond, no length is enough. The vector of
# *cheese* makes an angle of 28 degrees with that of *milk*, which has length 6.55. It needs a
# length of 7.39 to win, and has 7.44. With the cosine it could never win.

# %% [markdown]
# ## 1.5 A table with no loop
#
# ```{exercise} ★★ core, 10 minutes
# :label: ex-1-5
# :nonumber:
#
# With T queries and S keys there are $T \cdot S$ dot products. A Python loop needs some dozen
# instructions for each. Can you compute the whole table with a few instructions?
#
# Write `score_table(q, k)` for queries of shape `(..., T, d)` and keys of shape `(..., S, d)`.
# Return the table of shape `(..., T, S)` whose row t and column s hold $q_t \cdot k_s$. Leading
# axes are batches: each has a table of its own. Do not loop in Python; the check counts
# instructions.
# ```

# %%
def score_table(q, k):
    """Table of dot products: (..., T, d) and (..., S, d) to (..., T, S)."""
    ### BEGIN SOLUTION
    return q @ k.mT
    ### END SOLUTION


# %%
check("1.5", score_table)

# %% [markdown] exercise="why"
# `k.mT` exchanges the last two axes and leaves batches alone. `k.T` reverses all axes. On a single
# table the two agree, so tests with one table do not find the mistake.

# %% [markdown]
# ## 1.6 All distances from one table
#
# ```{exercise} ★★ core, 15 minutes
# :label: ex-1-6
# :nonumber:
#
# The differences $q_t - k_s$ of all pairs fill an array of shape `(T, S, d)`. For a thousand
# queries and keys of width a thousand that is a billion numbers, to compute a million distances.
# The law of cosines offers another way.
#
# Write `squared_distances(q, k)` for arrays of shape `(..., T, d)` and `(..., S, d)`. Return the
# table of $\lVert q_t - k_s \rVert^2$, shape `(..., T, S)`, without holding all the differences
# at once. The result is used under a square root later, so rounding must not leave a negative
# entry.
# ```

# %%
def squared_distances(q, k):
    """Table of squared distances.

    (..., T, d) and (..., S, d) to (..., T, S).
    """
    ### BEGIN SOLUTION
    of_q = (q * q).sum(axis=-1)[..., :, np.newaxis]
    of_k = (k * k).sum(axis=-1)[..., np.newaxis, :]
    return np.maximum(of_q + of_k - 2 * q @ k.mT, 0)
    ### END SOLUTION


# %%
check("1.6", squared_distances)

# %% [markdown] exercise="why"
# A column of squared lengths plus a row of squared lengths fills the table by broadcasting. The
# shortcut has a price. For points that lie close together and far from the origin, three large
# numbers almost cancel, and their rounding errors remain. Raising negative entries to zero repairs
# the sign, but not the digits.

# %% [markdown]
# ## 1.7 Three measures, three favourites
#
# ```{exercise} ★★ core, 20 minutes
# :label: ex-1-7
# :nonumber:
#
# For keys of equal length, dot product, cosine and distance agree on which key is best. How badly
# can they disagree when the lengths differ?
#
# Write `favourites(q)` for a vector q that is not zero, of any width d from 2. Return three keys,
# shape `(3, d)`, such that the dot product with q is largest for key 0, the cosine for key 1, and
# the distance is smallest for key 2. There are many right answers.
# ```

# %%
def favourites(q):
    """Three keys of the width of q, one for each measure.

    (d,) to (3, d).
    """
    ### BEGIN SOLUTION
    aside = np.zeros_like(q)
    aside[np.abs(q).argmin()] = np.linalg.norm(q)
    return np.array([4 * q + 3 * aside, q / 2, q + 0.3 * aside])
    ### END SOLUTION


# %%
check("1.7", favourites)

# %% [markdown] exercise="why"
# The first key is long and so wins the dot product. The second points exactly along q, which no
# other key does. The third lies beside the tip of q, nearer to it than half of q is. The vector
# `aside` lies along the coordinate axis on which q is smallest, so it is never a multiple of q.

# %% [markdown]
# ## 1.8 Predict the spread of a dot product
#
# ```{exercise} ★★ core, 15 minutes
# :label: ex-1-8
# :nonumber:
#
# The chapter proves $\operatorname{Var}[q \cdot k] = d$ for independent coordinates of mean 0 and
# variance 1. Trained vectors need not have mean 0. How does a mean change the variance?
#
# Write `predicted_variance(mean_q, var_q, mean_k, var_k)`. The four arrays have shape `(d,)` and
# hold the mean and the variance of each coordinate; all 2d coordinates are independent. Return the
# variance of $q \cdot k$, a number. Derive the formula before you write it.
# ```

# %%
def predicted_variance(mean_q, var_q, mean_k, var_k):
    """Variance of q·k for independent coordinates.

    Four arrays (d,) to a number.
    """
    ### BEGIN SOLUTION
    return (var_q * var_k + mean_q**2 * var_k + var_q * mean_k**2).sum()
    ### END SOLUTION


# %%
check("1.8", predicted_variance)

# %% [markdown] exercise="why"
# For one coordinate, $\mathrm{E}[q^2]\,\mathrm{E}[k^2] - \mathrm{E}[q]^2\,\mathrm{E}[k]^2$ with
# $\mathrm{E}[q^2] = \sigma^2 + \mu^2$ leaves three of four terms. With both means zero only
# $\sigma_q^2 \sigma_k^2$ is left, which is 1 for each of the d coordinates of the theorem.

# %% [markdown]
# ## 1.9 Surprise from counts
#
# ```{exercise} ★★ core, 15 minutes
# :label: ex-1-9
# :nonumber:
#
# That *the* stands near *cat* says little, because *the* stands near everything. Pointwise mutual
# information compares how often two words meet with how often they would meet by chance, and the
# positive part keeps the pairs that meet more often.
#
# Write `positive_pmi(counts)` for a table of counts of shape `(N, N)`, up to a million each and at
# least one of them positive. Return the PPMI of each pair in nats, shape `(N, N)`. A pair that was
# never seen gets 0, and so do all pairs of a word that was never seen.
# ```

# %%
def positive_pmi(counts):
    """Positive pointwise mutual information in nats: (N, N) to (N, N)."""
    ### BEGIN SOLUTION
    rows, columns = counts.sum(axis=1, keepdims=True), counts.sum(axis=0)
    expected = rows * columns / counts.sum()
    ratio = counts / np.where(expected == 0, 1, expected)
    return np.log(np.maximum(ratio, 1))
    ### END SOLUTION


# %%
check("1.9", positive_pmi)

# %% [markdown] exercise="why"
# A pair that is rarer than chance has a ratio below 1. Raising the ratio to 1 before the logarithm
# gives the positive part and never takes the logarithm of 0. For the counts of the worked example
# the table is $\log\frac43$ and $\log 2$ on the diagonal and 0 elsewhere.

# %% [markdown]
# ## 1.10 Where the promise begins to pay
#
# ```{exercise} ★★ core, 15 minutes
# :label: ex-1-10
# :nonumber:
#
# The theorem promises $e^{d \varepsilon^2 / 4}$ nearly orthogonal directions. At small widths this
# is less than d, and d orthogonal ones always exist. The smaller $\varepsilon$, the larger the
# width from which the theorem promises more. Before you compute anything, guess: if $\varepsilon$
# is halved, does this width become twice as large, four times, or more than that?
#
# Write `pays_from(eps)` for $0.03 \le \varepsilon \le 1$. Return the smallest whole number D such
# that $e^{d \varepsilon^2 / 4} > d$ at every width $d \ge D$.
# ```

# %%
def pays_from(eps):
    """The width from which on exp(d eps² / 4) exceeds d."""
    ### BEGIN SOLUTION
    d = 2
    while np.exp(d * eps**2 / 4) <= d:
        d += 1
    return d
    ### END SOLUTION


# %%
check("1.10", pays_from)

# %% [markdown] exercise="why"
# At d = 1 the promise is ahead, since $e^{\varepsilon^2/4} > 1$. At d = 2 it is behind, because
# $e^{\varepsilon^2/2} \le e^{1/2} < 2$. An exponential is convex and meets a straight line at most
# twice, so the next time it is ahead is for good. Halving $\varepsilon$ divides the exponent by
# four. If the promise only had to reach a fixed number, four times the width would make up for
# that; but d has grown as well, and so it takes more: from 68 to 381 for 0.5 and 0.25.

# %% [markdown]
# ## 1.11 The vectors behind a table
#
# ```{exercise} ★★★ challenge, 20 minutes
# :label: ex-1-11
# :nonumber:
#
# A rotation of all vectors changes no dot product. So the table does not determine the vectors. How
# much does it determine?
#
# Write `vectors_behind(table, width)`. The table has shape `(S, S)` and holds the dot products of
# S unknown vectors with each other; they fit into `width` dimensions. Return an array X of shape
# `(S, width)` with $X X^\top$ equal to the table. Any such X is right. The unknown vectors may
# fill fewer than `width` dimensions, and `width` may be larger than S. You need the spectral
# theorem: a symmetric matrix has real eigenvalues and orthonormal eigenvectors.
# `numpy.linalg.eigh` finds them.
# ```

# %%
def vectors_behind(table, width):
    """Vectors with the given dot products: (S, S) to (S, width)."""
    ### BEGIN SOLUTION
    stretch, directions = np.linalg.eigh(table)
    points = directions * np.sqrt(np.maximum(stretch, 0))
    points = points[:, ::-1][:, :width]
    return np.pad(points, ((0, 0), (0, width - points.shape[1])))
    ### END SOLUTION


# %%
check("1.11", vectors_behind)

# %% [markdown] exercise="why"
# A table of dot products is symmetric with no negative eigenvalue, so
# $W \operatorname{diag}(\lambda) W^\top$ can be shared out as $W \sqrt\lambda$ times its
# transpose. If two sets of vectors have the same table, a rotation or reflection takes one to the
# other. So the table determines all lengths and angles, and nothing else.

# %% [markdown]
# ## 1.12 More directions than dimensions
#
# ```{exercise} ★★★ challenge, 25 minutes
# :label: ex-1-12
# :nonumber:
#
# In d dimensions only d vectors are exactly orthogonal to each other. If nearly orthogonal is
# enough, the theorem of the chapter promises $e^{d \varepsilon^2 / 4}$ of them. It proves that they
# exist, but it does not construct them.
#
# Write `crowd(n, d, eps)`. Return n sign vectors, shape `(n, d)`, all entries 1 or −1, such that
# every two of them have a cosine below eps in magnitude. The check keeps to the promise: n is at
# most $e^{d \varepsilon^2 / 4}$.
# ```

# %%
def crowd(n, d, eps):
    """Sign vectors with all |cosines| below eps.

    An array (n, d) of 1 and −1.
    """
    ### BEGIN SOLUTION
    rng = np.random.default_rng(0)
    while True:
        signs = rng.choice([-1, 1], size=(n, d))
        cosines = signs @ signs.T / d - np.eye(n)
        if np.abs(cosines).max() < eps:
            return signs
    ### END SOLUTION


# %%
check("1.12", crowd)

# %% [markdown] exercise="why"
# The proof shows that a random draw fails with a probability below one. Draw again until a draw
# succeeds, and the proof becomes a program. You need not choose the vectors cleverly: in many
# dimensions two random directions are nearly always almost orthogonal.
