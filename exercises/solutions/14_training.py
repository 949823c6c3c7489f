# %% [markdown]
# # Exercises for chapter 14: training
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
# without solutions: {download}`14_training.ipynb <../14_training.ipynb>`.

# %%
import numpy as np

from tformer_book.exercises import check, hint

grads = np.array([1.0, 2.0**-26, 0.0])

# %% [markdown]
# The last line is a list of gradients, to try things on; 2⁻²⁶ is a number that float16 does not
# have. Each exercise has three hints. The first is a nudge, the last comes close to the answer. Ask
# for them one at a time: `hint("14.1")`, then `hint("14.1", 2)`.

# %%
hint("14.1")

# %% [markdown]
# ## 14.1 One step of AdamW
#
# ```{exercise} ★ warm-up, 8 minutes
# :label: ex-14-1
# :nonumber:
#
# Write `adamw(x, grad, mean, square, step, rate, betas, eps, decay)` for four arrays of one shape,
# which may be single numbers: parameters, their gradients, and the means of gradients and of their
# squares before this step. Steps count from 1. Return the new x, the new mean and the new square,
# the last two as they are kept, without correction. `eps`, which is above 0, is added to the root.
# The decay takes `rate * decay` times x, as it was before the step. Gradients may be 0, and may
# have been 0 always; `decay` may be 0, and so may both of `betas`. Numbers may come as whole ones
# or in float32.
# ```

# %%
def adamw(x, grad, mean, square, step, rate, betas, eps, decay):
    """One step of AdamW: new x, mean and square."""
    ### BEGIN SOLUTION
    beta1, beta2 = betas
    mean = beta1 * mean + (1 - beta1) * grad
    square = beta2 * square + (1 - beta2) * grad**2
    typical = np.sqrt(square / (1 - beta2**step)) + eps
    x = x - rate * mean / (1 - beta1**step) / typical - rate * decay * x
    return x, mean, square
    ### END SOLUTION


# %%
check("14.1", adamw)

# %% [markdown] exercise="why"
# At the first step the corrected means are the gradient and its square, so every number moves by
# the rate, whatever its gradient. The decay stands outside of the quotient: it is the same share of
# each parameter, also of those whose gradients are large.

# %% [markdown]
# ## 14.2 A line up, half a wave down
#
# ```{exercise} ★ warm-up, 8 minutes
# :label: ex-14-2
# :nonumber:
#
# Write `rates(steps, warmup, rate, last)`. Return the learning rates of the steps 1 to `steps`.
# They rise in a line that is 0 at step 0 and `rate` at step `warmup`. From there they fall as half
# a wave of the cosine does, and at the last step `last` times `rate` is left. `warmup` may be 0:
# then the wave begins at step 0. It may also be `steps`: then the last step has the full rate.
# There may be one step alone, and `last` may be anything from 0 to 1.
# ```

# %%
def rates(steps, warmup, rate, last):
    """Learning rates of steps 1 to `steps`: (steps,)."""
    ### BEGIN SOLUTION
    found = np.empty(steps)
    for step in range(1, steps + 1):
        if step < warmup:
            found[step - 1] = rate * step / warmup
        else:
            done = (step - warmup) / max(steps - warmup, 1)
            wave = (1 + np.cos(np.pi * done)) / 2
            found[step - 1] = rate * (last + (1 - last) * wave)
    return found
    ### END SOLUTION


# %%
check("14.2", rates)

# %% [markdown] exercise="why"
# A schedule is a function of the step and of nothing else. So a training that was killed needs no
# memory of it: the number of the step is enough.

# %% [markdown]
# ## 14.3 One norm for all
#
# ```{exercise} ★★ core, 12 minutes
# :label: ex-14-3
# :nonumber:
#
# The gradients of a layer are a matrix `w` and a vector `b`, neither of them empty. Write
# `clipped(w, b, largest)`. Return both, clipped, and the norm that they had before. The norm is
# that of all their numbers as one long vector. If it is larger than `largest`, which is 10⁻⁶ or
# more, one factor brings it down to `largest` exactly; if not, both stay as they are. All may be
# zeros, and numbers may be as large as 1e200. If any of them is ∞, −∞ or nan, no step should be
# made: return zeros for both, and ∞ as the norm. Whole numbers are allowed.
# ```

# %%
def clipped(w, b, largest):
    """Gradients of norm `largest` at most, and the norm before."""
    ### BEGIN SOLUTION
    every = np.concatenate([w.ravel(), b])
    if not np.isfinite(every).all():
        return np.zeros(w.shape), np.zeros(b.shape), np.inf
    top = np.abs(every).max()
    norm = top and top * np.sqrt(((every / top) ** 2).sum())
    factor = largest / norm if norm > largest else 1
    return factor * w, factor * b, norm
    ### END SOLUTION


# %%
check("14.3", clipped)

# %% [markdown] exercise="why"
# One factor keeps the direction: the step becomes shorter and goes where it would have gone. A norm
# for each array, or a bound for each number, would turn it.

# %% [markdown]
# ## 14.4 Parts of different size
#
# ```{exercise} ★★ core, 12 minutes
# :label: ex-14-4
# :nonumber:
#
# R processes read a batch, each of them in K parts. Part k of process r has `counts[r, k]` targets,
# perhaps none. Of each part its process computes the *mean* loss over the part's targets,
# multiplies it by a factor, and lets gradients flow back; those of its parts are added up. Then the
# gradients of all processes are *averaged*. What comes out shall be the gradient of the mean loss
# over all targets of the batch. Predict first what comes out if every factor is 1 / K.
#
# Write `factors(counts)`. Return all factors, of shape (R, K); that of a part without targets is 0.
# R and K may be 1, a process may have no target at all, and the batch has one at least.
# ```

# %%
def factors(counts):
    """What each part's mean loss is multiplied by: (R, K)."""
    ### BEGIN SOLUTION
    share = counts / counts.sum()
    return len(counts) * share
    ### END SOLUTION


# %%
check("14.4", factors)

# %% [markdown] exercise="why"
# With 1 / K a target counts the more the fewer others its part has. Nothing fails: the loss falls,
# and what is made small is another loss. Two runs that cut one batch differently then differ.

# %% [markdown]
# ## 14.5 Too small for float16
#
# ```{exercise} ★★ core, 12 minutes
# :label: ex-14-5
# :nonumber:
#
# Gradients are multiplied by a scale and then kept in float16. Write `saved(grads)` for an array of
# any shape. Return three numbers: how many gradients that are not 0 become 0 with the scale 1; the
# smallest scale among 1, 2, 4, 8, … with which none does; and how many are infinite with that
# scale. Gradients have any sign. They may be 0, all of them; those that are not are at least 1e-25
# in size.
# ```

# %%
def saved(grads):
    """Lost without a scale, the scale, infinite with it: three numbers."""
    ### BEGIN SOLUTION
    def half(scale):
        return (scale * grads).astype(np.float16)

    def lost(scale):
        return np.count_nonzero(grads) - np.count_nonzero(half(scale))

    scale = 1.0
    while lost(scale):
        scale *= 2
    return lost(1.0), scale, np.isinf(half(scale)).sum()
    ### END SOLUTION


# %%
check("14.5", saved)

# %% [markdown] exercise="why"
# Between the smallest number of float16 and its largest lie 40 powers of 2. Gradients that are
# farther apart cannot all be kept, whatever the scale. One that is lost is missing in one sum; one
# that is infinite spoils the step, and so a scale is halved as soon as that happens.

# %% [markdown]
# ## 14.6 How much longer the first steps are
#
# ```{exercise} ★★ core, 12 minutes
# :label: ex-14-6
# :nonumber:
#
# Gradients of one parameter are nothing but noise: each is 1 or −1 with equal probability,
# independently of the others. Adam begins to train on them, with eps = 0, a constant rate and any
# β₂. Predict: which step will be longest on average, the first or a late one? By what factor?
#
# Write `noise(beta1, T)`, with `beta1` from 0 to 0.9999. Return, for the steps 1 to T, the root of
# the mean square of Adam's moves, in units of the rate. The mean is over all sequences of
# gradients; none need be drawn, and eight digits are compared.
# ```

# %%
def noise(beta1, T):
    """Root mean square of Adam's moves at steps 1 to T: (T,)."""
    ### BEGIN SOLUTION
    found = []
    for t in range(1, T + 1):
        weights = beta1 ** np.arange(t)
        weights = weights / weights.sum()
        found.append(np.sqrt((weights**2).sum()))
    return np.array(found)
    ### END SOLUTION


# %%
check("14.6", noise)

# %% [markdown] exercise="why"
# The first mean is a single toss, so the first step has the full rate; later ones average some
# (1 + β₁) / (1 − β₁) tosses, 19 for β₁ = 0.9, and are √19 times shorter. On pure noise a training
# without warm-up goes its longest steps where it knows least. Whether that is why warm-up helps is
# another question: gradients of a real training are not noise alone.

# %% [markdown]
# ## 14.7 Where will the loss stand still?
#
# ```{exercise} ★★★ challenge, 15 minutes
# :label: ex-14-7
# :nonumber:
#
# In a small world two words come, i and then j, and then n. `p[i, j, n]` is the probability of all
# three, of shape (V, V, N); some are 0, and together they are 1. A model that is trained to name n
# often learns in steps. Predict the losses at which it may stand still.
#
# Write `plateaus(p)`. Return the least mean loss, in nats, of three models: one that uses neither
# word; one that sees which two words there are, and not in which order; one that sees both in their
# order. V and N may be 1.
# ```

# %%
def plateaus(p):
    """Least losses: knowing nothing, the bag, the order: three floats."""
    ### BEGIN SOLUTION
    def least(rows):  # what can be known, by what comes
        known = np.broadcast_to(rows.sum(axis=1, keepdims=True), rows.shape)
        some = rows > 0
        return (rows[some] * np.log(known[some] / rows[some])).sum()

    V, _, N = p.shape
    bags = [p[i, i] for i in range(V)]
    bags += [p[i, j] + p[j, i] for j in range(V) for i in range(j)]
    known = p.sum(axis=(0, 1))[None], np.array(bags), p.reshape(-1, N)
    return tuple(least(rows) for rows in known)
    ### END SOLUTION


# %%
check("14.7", plateaus)

# %% [markdown] exercise="why"
# These are conditional entropies, and each is no larger than the one before. A loss that stands at
# one of them suggests what the model has found out; other knowledge may have the same loss. Whether
# it will stand there, and for how long, the entropies do not say.

# %% [markdown]
# ## 14.8 A spike is remembered
#
# ```{exercise} ★★★ challenge, 15 minutes
# :label: ex-14-8
# :nonumber:
#
# Adam has seen a gradient of 1 for so long that both of its means are 1, and that the corrections
# do nothing any more. Now comes a single gradient `size`, from 0 to 10⁶, and after it always 1
# again. There is no decay, eps is 0. Predict: is the damage done by the step at the spike, or by
# those after it?
#
# Write `spike(size, beta1, beta2, steps)` for betas from 0 to less than 1; `size` and `beta2` are
# not both 0. Take `steps` steps, of which the spike is the first. Return the longest of their
# moves, in units of the rate, and how many of them are shorter than half of the rate.
# ```

# %%
def spike(size, beta1, beta2, steps):
    """The longest move, and how many are below one half."""
    ### BEGIN SOLUTION
    t = np.arange(steps)
    mean = 1 + (1 - beta1) * (size - 1) * beta1**t
    square = 1 + (1 - beta2) * (size**2 - 1) * beta2**t
    moves = mean / np.sqrt(square)
    return moves.max(), (moves < 0.5).sum()
    ### END SOLUTION


# %%
check("14.8", spike)

# %% [markdown] exercise="why"
# With β₁ = 0.9 and β₂ = 0.999, a spike of 100 makes fourteen steps too long, the first by a factor
# of 3.3, and 1177 later ones shorter than half: the mean forgets it in some ten steps, the squares
# in some thousand. Clipping keeps it out of both.
