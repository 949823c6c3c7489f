# %% [markdown]
# # Exercises for chapter 4: why divide by √d
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
# without solutions: {download}`04_why_sqrt_d.ipynb <../04_why_sqrt_d.ipynb>`.

# %%
import numpy as np
import scipy.special

from tformer_book.exercises import check, hint

rng = np.random.default_rng(0)
q, k = rng.standard_normal((2, 1000, 64))

# %% [markdown]
# The last line makes a thousand queries and keys of width 64, to try things on. The distribution
# function Φ of the standard normal distribution is `scipy.special.ndtr`. Each exercise has three
# hints. The first is a nudge, the last comes close to the answer. Ask for them one at a time:
# `hint("4.1")`, then `hint("4.1", 2)`.

# %%
hint("4.1")

# %% [markdown]
# ## 4.1 The width that counts
#
# ```{exercise} ★ warm-up, 5 minutes
# :label: ex-4-1
# :nonumber:
#
# A model of width 512 with eight heads holds several numbers whose root one might take. Which one
# belongs under the root?
#
# Write `scale_for(d_model, n_heads)`. The width of the model is shared out equally among the
# heads. Return the number by which a score is to be multiplied, so that it has variance 1 if all
# coordinates are independent with mean 0 and variance 1.
# ```

# %%
def scale_for(d_model, n_heads):
    """Scale of the scores in each head: a number."""
    ### BEGIN SOLUTION
    return 1 / np.sqrt(d_model / n_heads)
    ### END SOLUTION


# %%
check("4.1", scale_for)

# %% [markdown] exercise="why"
# A query meets a key inside one head, and there they have `d_model / n_heads` coordinates. With
# the width of the model instead, the standard deviation of the scores falls to one over the root
# of the number of heads, and no error message says so.

# %% [markdown]
# ## 4.2 Measure it first
#
# ```{exercise} ★ warm-up, 10 minutes
# :label: ex-4-2
# :nonumber:
#
# A theorem about a variance can be put to the test in three lines.
#
# Write `simulated_variance(d, scale, trials, rng)`. Draw `trials` pairs of a query and a key of
# width d, all coordinates independent and standard normal, from the NumPy generator `rng`. Return
# the variance of the scores, scale times $q \cdot k$, as a number. The same generator state gives
# the same estimate.
# ```

# %%
def simulated_variance(d, scale, trials, rng):
    """Variance of scale · q·k over random pairs: a number."""
    ### BEGIN SOLUTION
    queries = rng.standard_normal((trials, d))
    keys = rng.standard_normal((trials, d))
    return (scale * (queries * keys).sum(axis=-1)).var()
    ### END SOLUTION


# %%
check("4.2", simulated_variance)

# %% [markdown] exercise="why"
# With ten thousand trials the estimate is off by one or two percent. If one query served all
# trials, the scores would have the variance $\lVert q \rVert^2$ of that query, exactly as a row of
# attention has, and the estimate would scatter with its length.

# %% [markdown]
# ## 4.3 How many keys should share
#
# ```{exercise} ★ warm-up, 8 minutes
# :label: ex-4-3
# :nonumber:
#
# How many of n keys does a row attend to? The chapter counts by the entropy, $e^H$. Another count
# is stricter: one over the chance that two keys drawn from the weights are the same one. For scores
# of variance $\sigma^2$ and many keys it is about $n e^{-\sigma^2}$. Turned round, this says how to
# choose the scale.
#
# Write `scale_for_keys(n, d, keys)`. The coordinates of queries and keys of width d are
# independent with mean 0 and variance 1. Return the scale at which the stricter count leaves the
# number `keys`, at most n.
# ```

# %%
def scale_for_keys(n, d, keys):
    """Scale that leaves a given number of keys: a number."""
    ### BEGIN SOLUTION
    return np.sqrt(np.log(n / keys) / d)
    ### END SOLUTION


# %%
check("4.3", scale_for_keys)

# %% [markdown] exercise="why"
# The scaled scores have variance $c^2 d$, so $\log(n / \text{keys}) = c^2 d$. For one key in e the
# answer is $1/\sqrt d$: the usual scale leaves a bit more than a third of all keys. For few keys
# out of many the formula promises too much, because then the weights begin to freeze.

# %% [markdown]
# ## 4.4 Mean and variance of related vectors
#
# ```{exercise} ★★ core, 15 minutes
# :label: ex-4-4
# :nonumber:
#
# A query and a key are made from the same words. If their coordinates are correlated, the score
# has a mean, and its spread changes too.
#
# Write `moments(d, mean_q, mean_k, var_q, var_k, rho)`. The d pairs of coordinates are independent
# of each other; each pair is jointly normal with these means and variances and the correlation
# rho. Return the mean and the variance of $q \cdot k$, in this order.
# ```

# %%
def moments(d, mean_q, mean_k, var_q, var_k, rho):
    """Mean and variance of q·k for d correlated normal pairs.

    Two numbers.
    """
    ### BEGIN SOLUTION
    shared = rho * np.sqrt(var_q * var_k)
    mean = mean_q * mean_k + shared
    second = (var_q + mean_q**2) * (var_k + mean_k**2) + 2 * shared**2
    return d * mean, d * (second + 4 * shared * mean_q * mean_k - mean**2)
    ### END SOLUTION


# %%
check("4.4", moments)

# %% [markdown] exercise="why"
# The solution takes $\operatorname{E}[q^2 k^2]$ minus the square of the mean; multiplied out, it
# is the formula of the chapter. The mean grows like d and the standard deviation like $\sqrt d$,
# so for wide heads a correlation shows in the mean long before it shows in the spread.

# %% [markdown]
# ## 4.5 A scale from the scores themselves
#
# ```{exercise} ★★ core, 8 minutes
# :label: ex-4-5
# :nonumber:
#
# Every formula for the scale rests on assumptions. A measurement rests on none.
#
# Write `fitted_scale(q, k)` for queries of shape `(T, d)` and keys of shape `(S, d)`. Return the
# number by which all $T \cdot S$ scores must be multiplied, so that their standard deviation
# is 1. Divide by the number of scores when you take their variance. Their mean may lie far from 0:
# the checks try queries with coordinates near 10⁶.
# ```

# %%
def fitted_scale(q, k):
    """Scale that gives the scores of (T, d) and (S, d) the deviation 1.

    A number.
    """
    ### BEGIN SOLUTION
    return 1 / (q @ k.T).std()
    ### END SOLUTION


# %%
check("4.5", fitted_scale)

# %% [markdown] exercise="why"
# For independent standard coordinates this comes out near $1/\sqrt d$. Some models learn such a
# number for each head. What a measurement cannot do is to hold for the *next* batch, or at another
# width: for that one needs their distribution.

# %% [markdown]
# ## 4.6 Why is it dark?
#
# ```{exercise} ★★ core, 15 minutes
# :label: ex-4-6
# :nonumber:
#
# In the figure at the head of the chapter two lamps go dark at the query, for different reasons.
# You are handed a head and asked for the reason.
#
# Write `why_dark(q, k, scale)` for one query of shape `(d,)` and keys of shape `(S, d)`. With the
# Jacobian $J$ of the softmax at the scaled scores, the lamp at the scores shows the root of the
# sum of the squares of the entries of $J$, and the lamp at the query that of $c\, J K$, for the
# scale $c$. A lamp is lit at 0.05 and above. Return `"lit"` if the lamp at the query is lit.
# Otherwise return `"frozen"` if the lamp at the scores is dark as well, because nothing gets
# through the softmax, and `"faint"` if it is lit, because what gets through is lost on the way.
# There may be one key or hundreds, and scores may be in the thousands.
# ```

# %%
def why_dark(q, k, scale):
    """Whether the query of a head gets a gradient, and why not.

    One of three words.
    """
    ### BEGIN SOLUTION
    terms = np.exp(scale * (k @ q) - (scale * (k @ q)).max())
    p = terms / terms.sum()
    jacobian = np.diag(p) - np.outer(p, p)
    if np.linalg.norm(scale * jacobian @ k) >= 0.05:
        return "lit"
    return "frozen" if np.linalg.norm(jacobian) < 0.05 else "faint"
    ### END SOLUTION


# %%
check("4.6", why_dark)

# %% [markdown] exercise="why"
# A wide head without a scale is frozen in most draws and brightly lit in a few, those whose two
# best keys happen to be nearly level. With scale 1/d a wide head is faint in every draw: the
# softmax answers as well as ever, and the answer is multiplied by a scale that is too small for
# the length of the keys. Short keys make a head faint under any scale.

# %% [markdown]
# ## 4.7 Repair these weights
#
# ```{exercise} ★★ core, 15 minutes
# :label: ex-4-7
# :nonumber:
#
# The function `broken` below runs without an error. It divides by a root in three places, and that
# is not all: it has five faults. For which inputs do they show?
#
# Write `repaired(q, k)` for the queries and keys of several heads, shapes `(..., H, T, d_k)` and
# `(..., H, S, d_k)`. Return the attention weights of each head, shape `(..., H, T, S)`, with scores
# multiplied by $1/\sqrt{d_k}$. The model is H times as wide as a head.
# ```

# %%
def broken(q, k):
    """Weights of several heads that add up to less than 1.

    (..., H, T, S).
    """
    n_heads, width = q.shape[-3], q.shape[-1]
    q /= (n_heads * width) ** 0.5
    scores = q @ k.mT / width**0.5
    terms = np.exp(scores - scores.max())
    return terms / terms.sum(axis=-1, keepdims=True) / width**0.5


# %%
def repaired(q, k):
    """Attention weights of several heads.

    (..., H, T, d_k) and (..., H, S, d_k) to (..., H, T, S).
    """
    ### BEGIN SOLUTION
    logits = q @ k.mT / k.shape[-1] ** 0.5
    raised = np.exp(logits - logits.max(axis=-1, keepdims=True))
    return raised / raised.sum(axis=-1, keepdims=True)
    ### END SOLUTION


# %%
check("4.7", repaired)

# %% [markdown] exercise="why"
# The five: `q /=` overwrites the caller's queries; the width of the model stands where none is
# needed; the scores are scaled a second time; one maximum serves all rows of all heads, so that a
# low row turns into zeros; and the last division shrinks the weights. Only the fourth can produce
# a nan. The others merely make a model that learns worse.

# %% [markdown]
# ## 4.8 Lengths taken out
#
# ```{exercise} ★★ core, 10 minutes
# :label: ex-4-8
# :nonumber:
#
# QK-norm replaces the scale: the score is a gain g times the cosine of query and key, and so it
# lies between −g and g, whatever the width.
#
# Write `qk_norm_weights(q, k, gain)` for arrays of shape `(..., T, d_k)` and `(..., S, d_k)`.
# Return the softmax of the gain times the cosines, shape `(..., T, S)`. A zero vector has cosine 0
# with everything. The gain is 0 or more, up to 1000, and other lengths lie between 10⁻⁹⁰ and 10⁹⁰.
# ```

# %%
def qk_norm_weights(q, k, gain):
    """Softmax of gain times cosine.

    (..., T, d_k) and (..., S, d_k) to (..., T, S).
    """
    ### BEGIN SOLUTION
    def direction(x):
        length = np.linalg.norm(x, axis=-1, keepdims=True)
        return x / np.where(length == 0, 1, length)

    scores = gain * (direction(q) @ direction(k).mT)
    weights = np.exp(scores - scores.max(axis=-1, keepdims=True))
    return weights / weights.sum(axis=-1, keepdims=True)
    ### END SOLUTION


# %%
check("4.8", qk_norm_weights)

# %% [markdown] exercise="why"
# Two weights of a row differ by a factor of at most $e^{2g}$, so no row can freeze unless the gain
# learns to be large. The price: a head that should pick one of n keys needs a gain of the order of
# $\log n$.

# %% [markdown]
# ## 4.9 Which assumption failed?
#
# ```{exercise} ★★ core, 20 minutes
# :label: ex-4-9
# :nonumber:
#
# You are handed a thousand queries and keys from some layer, and asked whether $1/\sqrt d$ fits
# them.
#
# Write `diagnose(q, k)` for arrays of shape `(1000, 16)`; row i of q and row i of k belong
# together. Return one of five words. They speak of the distribution that the coordinates were
# drawn from, so a mean is the mean of that distribution and not of the thousand rows.
# `"normalised"`: all vectors have length 4. `"shifted"`: coordinates of q or of k, all or some,
# have a mean of 0.3 to 1 in magnitude. `"aligned"`: coordinates of q and k, all or some, are
# correlated by 0.3 or more in magnitude. `"heavy"`: in q or in k or in both, the coordinates come
# from a distribution with heavy tails (Student with
# $\nu = 3$, or Cauchy, which has no mean at all). `"fine"`: independent coordinates with mean 0
# and variance 1, from a normal or a uniform distribution. Each sample has one fault at most.
# ```

# %%
def diagnose(q, k):
    """Name the assumption that a sample of pairs breaks.

    One of five words.
    """
    ### BEGIN SOLUTION
    lengths = np.linalg.norm(np.concatenate([q, k]), axis=-1)
    if np.ptp(lengths) < 1e-6:
        return "normalised"
    if max(np.abs(q).max(), np.abs(k).max()) > 8:
        return "heavy"
    if np.abs([q.mean(axis=0), k.mean(axis=0)]).max() > 0.2:
        return "shifted"
    return "aligned" if np.abs((q * k).mean(axis=0)).max() > 0.2 else "fine"
    ### END SOLUTION


# %%
check("4.9", diagnose)

# %% [markdown] exercise="why"
# Over a thousand rows the mean of a fine coordinate, and the mean product of a fine pair, have a
# standard error of 0.03, so 0.2 is far from chance and below 0.3. Means that differ in sign cancel
# if all coordinates are thrown together. The order matters: Cauchy coordinates have no mean, and
# means that are not zero move the mean product as well.

# %% [markdown]
# ## 4.10 The largest of n scores
#
# ```{exercise} ★★★ challenge, 20 minutes
# :label: ex-4-10
# :nonumber:
#
# The expected maximum of n scores is at most $\sigma \sqrt{2 \log n}$. How much less?
#
# Write `expected_max(n, sigma)` for n independent normal scores with mean 0 and standard deviation
# sigma. Return the expectation of the largest, to within a millionth of sigma. The number n lies
# between 1 and a million; random draws will not be accurate enough.
# ```

# %%
def expected_max(n, sigma):
    """Mean of the largest of n normal scores: a number."""
    ### BEGIN SOLUTION
    x = np.linspace(-10, 10, 20001)
    density = np.exp(-(x**2) / 2) / np.sqrt(2 * np.pi)
    largest = n * density * scipy.special.ndtr(x) ** (n - 1)
    return sigma * np.trapezoid(x * largest, x)
    ### END SOLUTION


# %%
check("4.10", expected_max)

# %% [markdown] exercise="why"
# The largest lies below x with probability $\Phi(x)^n$, and differentiating gives its density. For
# two scores the integral is $\sigma/\sqrt\pi$. For a thousand it is $3.24\,\sigma$, where the
# bound says $3.72\,\sigma$: right in order, a seventh too high.

# %% [markdown]
# ## 4.11 What reaches two keys
#
# ```{exercise} ★★★ challenge, 20 minutes
# :label: ex-4-11
# :nonumber:
#
# For two keys the norm of the softmax Jacobian is $2p(1-p)$. Its expectation decides how much of a
# gradient gets through on average, and the chapter bounds it by $1/(\sigma\sqrt\pi)$.
#
# Write `mean_norm(d, scale)`. The two scores are independent and normal with mean 0 and the
# variance $\sigma^2 = \text{scale}^2 \cdot d$. Return the expectation of $2p(1-p)$, accurate to a
# millionth of itself. The standard deviation σ of a score lies between 0.1 and 100.
# ```

# %%
def mean_norm(d, scale):
    """Expected norm of the softmax Jacobian for two random scores.

    A number.
    """
    ### BEGIN SOLUTION
    deviation = np.sqrt(2 * d) * scale
    end = min(60, 12 * deviation)
    z = np.linspace(-end, end, 20001)
    density = np.exp(-((z / deviation) ** 2) / 2)
    density /= np.sqrt(2 * np.pi) * deviation
    p = scipy.special.expit(z)
    return np.trapezoid(2 * p * (1 - p) * density, z)
    ### END SOLUTION


# %%
check("4.11", mean_norm)

# %% [markdown] exercise="why"
# The integrand is a product of two bells, one of width about 2 and one of width $\sqrt2\,\sigma$,
# and the grid must resolve the narrower. At d = 100 without a scale the mean is 0.056. It is made
# of the few draws whose two scores happen to lie close together.

# %% [markdown]
# ## 4.12 Where a scale stops winning
#
# ```{exercise} ★★★ challenge, 20 minutes
# :label: ex-4-12
# :nonumber:
#
# More of a gradient gets through when a few keys have most of the weight, and almost nothing when
# one key has all of it. So many rows let more through without a scale, up to some width. The width
# depends on the row. Predict first: for which rows is it never, and for which always?
#
# Write `last_width(z, u)` for a row of scores z at width 1 and an upstream gradient u,
# both of shape `(S,)`. At width d the scores are $\sqrt d\, z$ without a scale, and $z$ with the
# scale $1/\sqrt d$. Return the largest whole d, from 1 to 4096, at which what arrives at the scores
# is more than 1.001 times as long without a scale as with it, or 0 if there is none.
# Scores may be as large as 100, and u may be as short as 10⁻¹⁰. Its entries at the two best keys
# differ.
# ```

# %%
def last_width(z, u):
    """Last width at which more of u arrives without a scale.

    A whole number.
    """
    ### BEGIN SOLUTION
    def arriving(row):
        raised = np.exp(row - row.max())
        p = raised / raised.sum()
        return np.linalg.norm(p * (u - (p * u).sum()))

    ahead = [d for d in range(1, 4097)
             if arriving(np.sqrt(d) * z) > 1.001 * arriving(z)]
    return ahead[-1] if ahead else 0
    ### END SOLUTION


# %%
check("4.12", last_width)

# %% [markdown] exercise="why"
# With two keys it is never: their Jacobian is largest when they tie. With more keys scale 1 often
# gains at first: it takes weight from the many keys and gives it to a few. It loses once a single
# key has nearly all the weight. The closer the two best scores are, the later that happens. If
# they tie, and u differs at them, something arrives at every width. For a row of 64 random scores
# and a random u, half a hundred is an ordinary answer, and several hundred is not rare. This is why
# mean and median differ.
