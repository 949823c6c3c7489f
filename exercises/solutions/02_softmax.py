# %% [markdown]
# # Exercises for chapter 2: softmax
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
# without solutions: {download}`02_softmax.ipynb <../02_softmax.ipynb>`.

# %%
import numpy as np

from tformer_book.exercises import check, hint

x = np.log([1.0, 2.0, 3.0])

# %% [markdown]
# The last line makes the scores of the first worked example, whose weights are 1/6, 1/3 and 1/2.
# Each exercise has three hints. The first is a nudge, the last comes close to the answer. Ask for
# them one at a time: `hint("2.1")`, then `hint("2.1", 2)`.

# %%
hint("2.1")

# %% [markdown]
# ## 2.1 A softmax that does not overflow
#
# ```{exercise} ★ warm-up, 10 minutes
# :label: ex-2-1
# :nonumber:
#
# Typed as it is written in the definition, softmax returns nan for the scores (1000, 1000), whose
# weights are plainly 1/2 and 1/2. Shift invariance repairs it.
#
# Write `softmax_along(x, axis=-1)` for an array of scores with any number of axes. Return the
# weights in the same shape, summing to 1 along the given axis. Finite scores of any size must
# come out right, also in rows that lie far apart from each other. A score of −∞ has weight 0. The
# check tries every axis, ±20 000 and whole numbers. Here and below, scores may also be integers of
# 64 bits, up to a million in size.
# ```

# %%
def softmax_along(x, axis=-1):
    """Weights that sum to 1 along `axis`, in the shape of x."""
    ### BEGIN SOLUTION
    terms = np.exp(x - x.max(axis=axis, keepdims=True))
    return terms / terms.sum(axis=axis, keepdims=True)
    ### END SOLUTION


# %%
check("2.1", softmax_along)

# %% [markdown] exercise="why"
# Each row is shifted by its own maximum, so that its largest term is 1 and its sum lies between 1
# and n. Nothing can overflow, and nothing needs to be added to the denominator.

# %% [markdown]
# ## 2.2 The logarithm of a softmax
#
# ```{exercise} ★ warm-up, 8 minutes
# :label: ex-2-2
# :nonumber:
#
# Training a language model minimises $-\log p$ of the right word. Early on that p can be
# $10^{-400}$, a number that a float64 cannot hold, though its logarithm is a modest −921.
#
# Write `log_softmax_along(x)` for scores of shape `(..., S)`. Return the logarithms of the weights
# along the last axis, accurate even where the weights themselves round to 0. Scores may be as large
# as ±20 000, and a score of −∞ beside others gives −∞.
# ```

# %%
def log_softmax_along(x):
    """Logarithms of the softmax weights along the last axis.

    (..., S) to (..., S).
    """
    ### BEGIN SOLUTION
    shifted = x - x.max(axis=-1, keepdims=True)
    return shifted - np.log(np.exp(shifted).sum(axis=-1, keepdims=True))
    ### END SOLUTION


# %%
check("2.2", log_softmax_along)

# %% [markdown] exercise="why"
# The logarithm of a quotient is a difference, so the exponential of the numerator and the
# logarithm cancel on paper and never meet in the machine. What is left to the machine is the
# logarithm of a sum that is at least 1.

# %% [markdown]
# ## 2.3 Predict: how far ahead?
#
# ```{exercise} ★ warm-up, 10 minutes
# :label: ex-2-3
# :nonumber:
#
# One of n keys leads, and its n − 1 rivals have equal scores. It should get a given share of the
# weight, a half for example. Predict before you compute: at β = 1 a lead of 7 is enough for a half
# among a thousand keys. What lead is needed among a million?
#
# Write `lead_for(share, n, beta)` for a share between 0 and 1, n from 2 to a million million and
# beta above 0. Return the lead of its score over the others at which its weight is the share,
# within a millionth. A share below 1/n needs a negative lead.
# ```

# %%
def lead_for(share, n, beta):
    """Lead over n − 1 equal scores that gives a weight of `share`."""
    ### BEGIN SOLUTION
    of_one_rival = (1 - share) / (n - 1)
    return np.log(share / of_one_rival) / beta
    ### END SOLUTION


# %%
check("2.3", lead_for)

# %% [markdown] exercise="why"
# The leader's weight is $e^{\beta\Delta}$ times that of a rival, and the rivals share what is left.
# So the lead grows like the logarithm of their number: a thousand times as many cost
# $\ln 1000 \approx 6.9$ more, and 14 is enough among a million. However many keys there are, one
# can have half of the weight; and the lead that gives it half among ten gives it about a
# hundred-thousandth among a million.

# %% [markdown]
# ## 2.4 Predict: the best time of the second best
#
# ```{exercise} ★★ core, 15 minutes
# :label: ex-2-4
# :nonumber:
#
# At β = 0 all keys share alike, and for large β the best takes everything. In between, the weight
# of the second best may rise before it falls. For which scores does it rise, and at which β is it
# largest?
#
# Write `second_best(scores)` for scores of shape `(S,)`, S from 2, no two of them equal. Return the
# β from 0 up at which the weight of the second largest score is largest, within a millionth of
# itself, and 0 if that weight falls from the start. Scores may lie a thousandth apart or a
# thousand, and all of them far from 0.
# ```

# %%
def second_best(scores):
    """The β at which the second largest score has its largest weight."""
    ### BEGIN SOLUTION
    gaps = scores - np.sort(scores)[-2]

    def above(beta):
        return (np.exp(beta * (gaps - gaps.max())) * gaps).sum() >= 0

    if above(0.0):
        return 0.0
    low, high = 0.0, 1.0
    while not above(high):
        low, high = high, 2 * high
    for _ in range(60):
        middle = (low + high) / 2
        low, high = (low, middle) if above(middle) else (middle, high)
    return high
    ### END SOLUTION


# %%
check("2.4", second_best)

# %% [markdown] exercise="why"
# The slope of a weight is $\mathrm{d}p_i/\mathrm{d}\beta = p_i (s_i - m)$, where m is the mean
# score under the weights. So a weight rises as long as its score is above the mean. At β = 0 that
# is the plain mean; it rises with β, because its own slope is a variance, and it tends to the
# largest score. So it passes every other score once, unless it begins above it.

# %% [markdown]
# ## 2.5 A softmax with hidden keys
#
# ```{exercise} ★★ core, 12 minutes
# :label: ex-2-5
# :nonumber:
#
# Some keys may not be attended to: they are padding, or they lie in the future. Their weights
# should be 0, and the others should still sum to 1. And what if a row is fully masked?
#
# Write `masked_softmax(x, keep)` for scores of shape `(..., S)` and a boolean mask that broadcasts
# to that shape; True means that the key may be attended to. Return the weights along the last axis.
# A hidden key has no influence, however large its finite score is, and however low the visible
# ones lie.
# A visible score of −∞ beside others has weight 0. A fully masked row is all zeros.
# ```

# %%
def masked_softmax(x, keep):
    """Weights over the visible keys.

    Scores (..., S) and a mask to (..., S).
    """
    ### BEGIN SOLUTION
    visible = np.where(keep, x, -np.inf)
    largest = visible.max(axis=-1, keepdims=True)
    terms = np.exp(visible - np.where(np.isfinite(largest), largest, 0))
    total = terms.sum(axis=-1, keepdims=True)
    return terms / np.where(total == 0, 1, total)
    ### END SOLUTION


# %%
check("2.5", masked_softmax)

# %% [markdown] exercise="why"
# A score of −∞ has the weight 0 exactly. A large negative number such as −10⁹ has too, as long as
# a visible score lies well above it. In a fully masked row all scores are equally low and the
# weights become uniform over keys that nobody may see.

# %% [markdown]
# ## 2.6 Repair this softmax
#
# ```{exercise} ★★ core, 15 minutes
# :label: ex-2-6
# :nonumber:
#
# The function `broken` below runs without an error and returns positive numbers. It has five
# faults, each of them a mistake that people make. For which inputs do they show?
#
# Write `repaired(x, beta=1.0)`: the softmax of β times the scores along the last axis of an array
# of shape `(..., S)`, for β above 0. Scores are of the same kinds as in 2.1.
# ```

# %%
def broken(x, beta=1.0):
    """Return weights that may or may not sum to 1: (..., S) to (..., S)."""
    x -= x.max()
    terms = np.exp(x / beta)
    return terms / (terms.sum(axis=0) + 1e-12)


# %%
def repaired(x, beta=1.0):
    """Softmax of beta times the scores along the last axis.

    (..., S) to (..., S).
    """
    ### BEGIN SOLUTION
    terms = np.exp(beta * (x - x.max(axis=-1, keepdims=True)))
    return terms / terms.sum(axis=-1, keepdims=True)
    ### END SOLUTION


# %%
check("2.6", repaired)

# %% [markdown] exercise="why"
# The five: `x -=` overwrites the caller's scores; one maximum serves the whole array, so a low row
# turns into zeros; an inverse temperature multiplies; the sum runs down the columns; and the small
# number in the denominator keeps the rows from summing to 1.

# %% [markdown]
# ## 2.7 Backwards without the Jacobian
#
# ```{exercise} ★★ core, 15 minutes
# :label: ex-2-7
# :nonumber:
#
# The Jacobian $\beta(\operatorname{diag} p - p^\top p)$ has $S^2$ entries, for every row of every
# head. Training needs only its product with one row vector, the upstream gradient.
#
# Write `softmax_backward(p, grad, beta=1.0)`. Both arrays have shape `(..., S)`: the weights that
# softmax returned, and the gradient of the loss with respect to them. Return the gradient with
# respect to the scores, shape `(..., S)`, in memory that grows with S and not with S².
# ```

# %%
def softmax_backward(p, grad, beta=1.0):
    """Gradient with respect to the scores.

    (..., S) and (..., S) to (..., S).
    """
    ### BEGIN SOLUTION
    mean = (p * grad).sum(axis=-1, keepdims=True)
    return beta * p * (grad - mean)
    ### END SOLUTION


# %%
check("2.7", softmax_backward)

# %% [markdown] exercise="why"
# A score is pushed up if its gradient lies above the average under p, and down if it lies below.
# The entries of the result sum to zero, as they must: adding a constant to all scores changes
# nothing.

# %% [markdown]
# ## 2.8 Where softmax is most sensitive
#
# ```{exercise} ★★ core, 8 minutes
# :label: ex-2-8
# :nonumber:
#
# For β = 1 the norm of the Jacobian is at most 1/2, for any number of scores (deeper page). A bound
# that is never reached could be improved. Is it reached?
#
# Write `sensitive_scores(n)` for n from 2 to 1000. Return n finite scores, shape `(n,)`, at which
# the norm of the Jacobian is 1/2 to within a millionth. There are many right answers.
# ```

# %%
def sensitive_scores(n):
    """Scores at which softmax changes fastest: an array (n,)."""
    ### BEGIN SOLUTION
    scores = np.full(n, -100.0)
    scores[:2] = 0
    return scores
    ### END SOLUTION


# %%
check("2.8", sensitive_scores)

# %% [markdown] exercise="why"
# Two equal scores far above the rest have weights 1/2 and 1/2. There the matrix is
# $\frac14\begin{pmatrix}1 & -1\\ -1 & 1\end{pmatrix}$ with largest eigenvalue 1/2. Softmax is most
# sensitive when it is undecided between two, and least when it has decided.

# %% [markdown]
# ## 2.9 The temperature for a given entropy
#
# ```{exercise} ★★ core, 15 minutes
# :label: ex-2-9
# :nonumber:
#
# How sharp should the weights be? An entropy says that more directly than β does: $\log 2$ means
# as uncertain as a fair coin, whatever the scores are.
#
# Write `beta_for_entropy(scores, target)`. The scores have shape `(S,)`, and the target is an
# entropy in nats that some β reaches. Return that β, a number above 0, so that the entropy of
# softmax meets the target within a millionth. Scores may lie a thousandth apart, or a thousand, and
# all of them far from 0.
# ```

# %%
def beta_for_entropy(scores, target):
    """Inverse temperature at which softmax has the target entropy."""
    ### BEGIN SOLUTION
    def entropy(beta):
        terms = np.exp(beta * (scores - scores.max()))
        p = terms / terms.sum()
        return -(p * np.log(np.where(p == 0, 1, p))).sum()

    low, high = 0.0, 1.0
    while entropy(high) > target:
        high *= 2
    for _ in range(60):
        middle = (low + high) / 2
        if entropy(middle) > target:
            low = middle
        else:
            high = middle
    return (low + high) / 2
    ### END SOLUTION


# %%
check("2.9", beta_for_entropy)

# %% [markdown] exercise="why"
# Since $\mathrm{d}H/\mathrm{d}\beta = -\beta \operatorname{Var}_p(s)$ is never positive, each
# trial tells on which side the answer lies. Doubling finds an interval and halving shrinks it;
# neither needs to know how large the scores are.

# %% [markdown]
# ## 2.10 A sum that arrives in pieces
#
# ```{exercise} ★★★ challenge, 20 minutes
# :label: ex-2-10
# :nonumber:
#
# A long row of scores may not fit into fast memory at once. It comes in chunks, each seen only
# once. The shift by the maximum seems to need all scores before the first exponential. Does it?
#
# Write `streamed_lse(chunks)`. The argument is an iterator over arrays of shape `(S,)`, of any
# lengths, empty ones included. Return $\log \sum e^x$ over all scores of all chunks, a number.
# Keep no more than one chunk in memory, and change none. Scores may lie thousands apart or be −∞;
# with nothing to add up, the result is −∞.
# ```

# %%
def streamed_lse(chunks):
    """Log-sum-exp over an iterator of arrays (S,), each of any length.

    A number.
    """
    ### BEGIN SOLUTION
    largest, total = -np.inf, 0.0
    for chunk in chunks:
        chunk = np.asarray(chunk, dtype=float)
        new = max(largest, chunk.max(initial=-np.inf))
        if new == -np.inf:
            continue
        total = total * np.exp(largest - new) + np.exp(chunk - new).sum()
        largest = new
    return largest + np.log(total) if total > 0 else -np.inf
    ### END SOLUTION


# %%
check("2.10", streamed_lse)

# %% [markdown] exercise="why"
# When the maximum rises from m to m′, every old term was too large by the same factor
# $e^{m' - m}$, so one multiplication corrects the whole sum. Attention over long texts is computed
# this way, and a later chapter builds on it.

# %% [markdown]
# ## 2.11 Draw without normalising
#
# ```{exercise} ★★★ challenge, 15 minutes
# :label: ex-2-11
# :nonumber:
#
# To draw a word, must one first compute all weights? There is a stranger way: add a random number
# to each score and take the largest. If $U$ is uniform between 0 and 1, the noise
# $G = -\log(-\log U)$ gives score i the largest sum with exactly its softmax probability.
#
# Write `draw(x, rng, size)` for scores of shape `(S,)` and a NumPy random generator. Return `size`
# independent draws, an array of positions from 0 to S − 1. Scores may be large, and a score of −∞
# is never drawn. All chance comes from `rng`: the same state gives the same draws, another state
# gives others. Another correct way is welcome too.
# ```

# %%
def draw(x, rng, size):
    """Positions drawn with the probabilities of softmax.

    (S,) to (size,).
    """
    ### BEGIN SOLUTION
    noise = rng.gumbel(size=(size, len(x)))
    return (x + noise).argmax(axis=-1)
    ### END SOLUTION


# %%
check("2.11", draw)

# %% [markdown] exercise="why"
# Read each score as a clock that rings after an exponential time. Score i wins exactly when its
# exponential clock, of rate $e^{x_i}$, rings first: $x_i + G_i$ is minus the logarithm of that
# time, and of several such clocks each is first with the share that its rate has in the sum. No
# maximum is subtracted and no sum is formed: a constant added to all scores moves all sums alike.
# NumPy's generator knows the Gumbel distribution; `-np.log(-np.log(rng.uniform(size=...)))`
# is the same noise by hand.

# %% [markdown]
# ## 2.12 Climb to the softmax
#
# ```{exercise} ★★★ challenge, 25 minutes
# :label: ex-2-12
# :nonumber:
#
# The chapter proves that softmax is the one maximiser of $\langle p, s \rangle + H(p)/\beta$ over
# the simplex, the set of weights that are at least 0 and sum to 1. If so, a climber who has never
# seen the formula, and feels only the slope at each point, should end there.
#
# Write `climb(gradient, n)`. The argument `gradient` is a function: given n weights p, shape
# `(n,)`, it returns the gradient at p of some concave objective. Start from equal weights, stay on
# the simplex, and return the maximiser, shape `(n,)`, to within $10^{-5}$. The check tries the
# objective of the theorem and two others. For all of them 2000 small steps are enough, and no
# weight of the maximiser is below 0.05.
# ```

# %%
def climb(gradient, n):
    """Maximiser over the simplex of a concave function with this gradient.

    An array (n,).
    """
    ### BEGIN SOLUTION
    p = np.full(n, 1 / n)
    for _ in range(2000):
        p = p * np.exp(0.1 * gradient(p))
        p = p / p.sum()
    return p
    ### END SOLUTION


# %%
check("2.12", climb)

# %% [markdown] exercise="why"
# A step that multiplies keeps weights positive, and dividing by the sum brings them back to the
# simplex. Such steps add the gradient to the logarithms of the weights: softmax is built into the
# way the climber walks as well as into the summit.
