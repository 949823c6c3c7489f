# %% [markdown]
# # Exercises for chapter 18: learning in context
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
# without solutions: {download}`18_in_context.ipynb <../18_in_context.ipynb>`.

# %%
import numpy as np

from tformer_book.exercises import check, hint

e = np.array([[1.0, 0, 1], [1, 2, 3], [2, 1, 0]])

# %% [markdown]
# The last line holds three tokens, to try things on: two examples and a question. In all exercises
# an example is a vector $x_i$ of width d with a target $y_i$. There are n examples, and the model
# is $y = x \cdot w$. Gradient descent starts at w = 0 and goes down the loss
# $\frac{1}{2n} \sum_i (x_i \cdot w - y_i)^2$. Each exercise has three hints. The first is a nudge,
# the last comes close to the answer. Ask for them one at a time: `hint("18.1")`, then
# `hint("18.1", 2)`.

# %%
hint("18.1")

# %% [markdown]
# ## 18.1 One layer
#
# ```{exercise} ★ warm-up, 8 minutes
# :label: ex-18-1
# :nonumber:
#
# Tokens are rows $(x, r)$: first the d numbers of x, then m numbers r, the residual. The first n
# rows are examples. The others are questions, one or more, and each should be answered as if it
# were alone. In a layer of linear attention every token is a query, and only the examples are keys.
# Queries and keys are the vectors x, and values are the residuals with the sign reversed. Scores
# are dot products, without softmax or scale. What comes out is multiplied by η / n and added to the
# residuals, and the vectors x stay.
#
# Write `layer(e, n, d, eta)` for tokens `e` of shape `(n + number of questions, d + m)`. Return the
# tokens after the layer, of the same shape. A question's residual need not be 0: layers before this
# one may have changed it. n, d and m are 1 or more.
# ```

# %%
def layer(e, n, d, eta):
    """All tokens after one layer: (n + number of questions, d + m)."""
    ### BEGIN SOLUTION
    x, r = e[:, :d], e[:, d:]
    scores = x @ x[:n].T  # no question is a key
    return np.hstack([x, r - eta / n * scores @ r[:n]])
    ### END SOLUTION


# %%
check("18.1", layer)

# %% [markdown] exercise="why"
# The sum of r times x over the examples, divided by n, is the gradient with its sign reversed. A
# query x takes the dot product with it. So the layer changes each residual by what one step of
# gradient descent changes it, and the next layer can make the next step. Questions that are no keys
# do not disturb each other, so many can be asked at once.

# %% [markdown]
# ## 18.2 Read the weight
#
# ```{exercise} ★★ core, 12 minutes
# :label: ex-18-2
# :nonumber:
#
# A stack of the layers of exercise 18.1 holds no weight vector anywhere. But its answer is a linear
# function of the question. So a weight can be read from answers alone: which questions will you
# ask?
#
# Write `read_weight(stack, examples, d)`. `stack` is a function from tokens of shape
# `(n + 1, d + m)`, examples and one question, to the tokens after all its layers, in the same
# shape. It takes the last row for the question and all others for examples. How many layers it has
# and how large their steps are is unknown. `examples` has the shape `(n, d + m)`. Return W, of
# shape `(d, m)`, so that the stack answers any question x with x W. All m residuals of a question
# are 0 before the first layer. Its answer is its residuals after the last layer, with the sign
# reversed. There may be fewer examples than numbers in x.
# ```

# %%
def read_weight(stack, examples, d):
    """The weight that the answers have: (d, m)."""
    ### BEGIN SOLUTION
    m = examples.shape[1] - d
    rows = []
    for unit in np.eye(d):
        question = np.concatenate([unit, np.zeros(m)])
        after = stack(np.vstack([examples, question]))
        rows.append(-after[-1, d:])
    return np.array(rows)
    ### END SOLUTION


# %%
check("18.2", read_weight)

# %% [markdown] exercise="why"
# The answer to a unit vector is one row of W. Questions are asked one at a time, since a second
# question in the same text would be taken for an example with the target 0. For k layers with one
# step size, W is what k steps of gradient descent reach: the stack acts as if it held a weight, and
# no token holds it.

# %% [markdown]
# ## 18.3 The question as a key
#
# ```{exercise} ★★★ challenge, 15 minutes
# :label: ex-18-3
# :nonumber:
#
# Two stacks are built from the layer of exercise 18.1, with m = 1 and one question. In the first
# all is as it should be. In the second a layer lets the question be a key as well, for all tokens,
# with its own residual as its value; it still divides by n, the number of examples. Both start with
# the residuals y for the examples and 0 for the question. Predict which layer is the first after
# which their answers differ. It depends on the data. Does it depend on the step?
#
# Write `differ(x, y, q, eta)` for `x` of shape `(n, d)`, `y` of shape `(n,)`, a question `q` of
# shape `(d,)` and a step `eta` above 0. Return three numbers: that layer, counted from 1, the
# answer of the first stack after it, and the answer of the second. If the answers never differ,
# return 0 three times. A difference below $10^{-9}$ comes from rounding and counts as none. n and d
# are at most 6.
# ```

# %%
def differ(x, y, q, eta):
    """First layer that differs, and both answers there: three numbers."""
    ### BEGIN SOLUTION
    n, keys = len(x), np.vstack([x, q])
    right = np.append(y, 0.0)  # residuals, the question's last
    wrong = right.copy()
    for number in range(1, n + 2):
        right = right - eta / n * keys @ x.T @ right[:n]
        wrong = wrong - eta / n * keys @ keys.T @ wrong
        if abs(right[-1] - wrong[-1]) >= 1e-9:
            return number, -right[-1], -wrong[-1]
    return 0, 0.0, 0.0
    ### END SOLUTION


# %%
check("18.3", differ)

# %% [markdown] exercise="why"
# A key with the value 0 adds nothing. So the mistake shows one layer after the first answer that is
# not 0: mostly in layer two. The first answer is 0 if the question is orthogonal to the gradient,
# and then the mistake waits longer. The data decide this and not the step. With n examples there
# are at most n directions, so a question that is answered with 0 by n layers is answered with 0 for
# ever, and no depth shows the mistake. A test with one layer cannot find it at all. What the
# examples read of the question is no part of this: it reaches the answer one layer later still.

# %% [markdown]
# ## 18.4 The best step
#
# ```{exercise} ★★ core, 15 minutes
# :label: ex-18-4
# :nonumber:
#
# A task is drawn: all coordinates are independent, those of w from N(0, 1), and those of the
# examples $x_i$ and of a question x from $N(0, s^2)$. The n targets are
# $y_i = x_i \cdot w + \sigma \varepsilon_i$ with independent $\varepsilon_i$ from N(0, 1). One
# layer makes one step of size η, from 0 to $w_1$, and answers $x \cdot w_1$. The error is the mean
# of $(x \cdot w_1 - x \cdot w)^2$ over tasks and questions, divided by d. The chapter has s = 1.
# Predict how the best η changes if all x are twice as large. And keep this step, and give the layer
# ever more examples: does the error go to 0?
#
# Write `best_step(n, d, sigma, s, n_asked)`. Return three numbers: the step of least error for n
# examples, that error, and the error of the same step with `n_asked` examples. The layer divides by
# the number of examples that it is given. `sigma` may be 0, and s is above 0. Six digits are
# compared.
# ```

# %%
def best_step(n, d, sigma, s, n_asked):
    """Best step, its error, its error with n_asked: three floats."""
    ### BEGIN SOLUTION
    def bend(n):  # the coefficient of step², divided by s²
        return (s**4 * (n + d + 1) + s**2 * sigma**2) / n

    def error(step, n):
        return s**2 * (1 - 2 * s**2 * step + bend(n) * step**2)

    step = s**2 / bend(n)
    return step, error(step, n), error(step, n_asked)
    ### END SOLUTION


# %%
check("18.4", best_step)

# %% [markdown] exercise="why"
# With S = XᵀX / n the step gives w₁ = η (S w + Xᵀε σ / n). The mean of S is s² times the identity,
# that of S² is s⁴ (n + d + 1) / n times it, and the noise brings s² σ² / n. The question's own size
# brings one more s². If x doubles and there is no noise, the best η is a quarter: a step that was
# learnt for one unit is wrong in another. A layer that has learnt a short step keeps it. With ever
# more examples its error falls to s² (1 − η s²)² and no further.

# %% [markdown]
# ## 18.5 The largest step
#
# ```{exercise} ★★ core, 12 minutes
# :label: ex-18-5
# :nonumber:
#
# Many layers have the same step η. If it is too large, residuals grow with every layer. Predict
# from the vectors x alone, before any target is known, how large η may be.
#
# Write `steps(x)` for examples `x` of shape `(n, d)`, not all 0. Return two numbers. For each η
# above 0 and below the first, the weight after k layers converges as k grows, whatever the targets
# are. For each η above the first it diverges for some targets. For the second number look at the
# targets with the slowest convergence: there each layer multiplies what is still missing by some
# factor. The second is the η for which the size of this factor is least. There may be fewer
# examples than coordinates, and rows may repeat. An eigenvalue of XᵀX below $10^{-9}$ times the
# largest counts as 0. Six digits are compared.
# ```

# %%
def steps(x):
    """The bound of η, and the best η for many layers: two floats."""
    ### BEGIN SOLUTION
    curvature = np.linalg.eigvalsh(x.T @ x / len(x))
    curvature = curvature[curvature > 1e-9 * curvature.max()]
    largest, least = curvature.max(), curvature.min()
    return 2 / largest, 2 / (largest + least)
    ### END SOLUTION


# %%
check("18.5", steps)

# %% [markdown] exercise="why"
# Along an eigenvector of XᵀX / n with the eigenvalue λ, each layer multiplies what is still missing
# by 1 − ηλ. That must lie between −1 and 1. The slowest two directions are those of the largest
# and of the least eigenvalue, and at the best η both shrink by the same factor. Directions in which
# no example lies have λ = 0. The weight starts at 0 and never moves along them, so they do not
# matter.

# %% [markdown]
# ## 18.6 How sure may it be?
#
# ```{exercise} ★★ core, 12 minutes
# :label: ex-18-6
# :nonumber:
#
# The coordinates of w are independent and from N(0, 1). Each target is $x_i \cdot w$ plus noise
# from N(0, σ²). The examples are known and w is not. For a new question q the best answer is the
# mean of $q \cdot w$ given the examples. Its uncertainty is the variance of $q \cdot w$ given the
# examples. Predict: does this variance depend on the targets?
#
# Write `posterior(x, y, q, sigma)` for `x` of shape `(n, d)`, `y` of shape `(n,)`, `q` of shape
# `(d,)` and `sigma` above 0. Return the mean and the variance. Noise of the answer itself is not
# counted. n may be 0, and it may be smaller than d.
# ```

# %%
def posterior(x, y, q, sigma):
    """Mean and variance of q · w given the examples: two floats."""
    ### BEGIN SOLUTION
    matrix = x.T @ x + sigma**2 * np.eye(len(q))
    pulls = np.linalg.solve(matrix, q)
    return pulls @ x.T @ y, sigma**2 * pulls @ q
    ### END SOLUTION


# %%
check("18.6", posterior)

# %% [markdown] exercise="why"
# The mean is the answer of ridge regression with λ = σ². Without examples it is 0, and the variance
# is q · q. Each example lowers the variance or leaves it, and only its vector x decides by how
# much. So the targets do not enter: a surprising target changes what is answered, and not how sure
# this model is. Least squares has no λ. At n = d it follows the noise in directions that the
# examples hardly cover, and there ridge stays near 0.

# %% [markdown]
# ## 18.7 A word born in this text
#
# ```{exercise} ★★ core, 12 minutes
# :label: ex-18-7
# :nonumber:
#
# A document has T words, given by ids. An id below V is a known word, and row id of `table`, of
# shape `(V, d)`, is its vector. Every id from V on is a nonce word. The first nonce word that
# appears in the document gets row 0 of `fresh`, the next *different* one row 1, and so on. It keeps
# its vector throughout the document, and the ids of nonce words mean nothing else. The embedding is
# tied: the logit of a word is the dot product of its vector with the state `h`, of shape `(d,)`.
#
# Write `born(ids, table, fresh, h)`. Return two arrays: the different ids of the document in the
# order in which they first appear, and the softmax of their logits, taken over these words alone.
# `ids` is an array of T whole numbers, T is 1 or more, and `fresh` has rows enough. Logits may be
# as large as 1000.
# ```

# %%
def born(ids, table, fresh, h):
    """Different ids as they appear, and their probabilities: two arrays."""
    ### BEGIN SOLUTION
    words = list(dict.fromkeys(ids.tolist()))  # in order, each once
    rows = iter(fresh)
    known = len(table)
    vectors = [table[w] if w < known else next(rows) for w in words]
    logits = np.array(vectors) @ h
    terms = np.exp(logits - logits.max())
    return np.array(words), terms / terms.sum()
    ### END SOLUTION


# %%
check("18.7", born)

# %% [markdown] exercise="why"
# Number the nonce words otherwise, and every probability stays. The model can have learnt nothing
# about such a word before: its vector was drawn for this document. What it knows of the word when
# it answers, it has read in this text, and no parameter has changed.

# %% [markdown]
# ## 18.8 Sudden by its metric
#
# ```{exercise} ★★★ challenge, 20 minutes
# :label: ex-18-8
# :nonumber:
#
# The loss of models of size N is $(c / N)^\alpha$ nats a token, which falls to 0 as N grows. The
# probability that a token is right is $p = e^{-(c / N)^\alpha}$. A task counts as solved if all k
# tokens of its answer are right, and tokens are right independently: the score is $p^k$. Predict:
# at the size where the score passes one half, does it rise more steeply in log N for large k? And
# does p itself do anything unusual there?
#
# Write `emerges(c, alpha, k, level)` with `c` and `alpha` above 0, k from 1 on and `level` between
# 0 and 1. Return three numbers: the size at which the score is `level`; the slope of the score
# there, its derivative by log N; and the slope of p at the same size. Logarithms are natural. Four
# digits are compared.
# ```

# %%
def emerges(c, alpha, k, level):
    """Size at that score, slope of the score, slope of p: three floats."""
    ### BEGIN SOLUTION
    loss = -np.log(level) / k  # nats a token
    size = c * loss ** (-1 / alpha)
    return size, alpha * k * loss * level, alpha * loss * np.exp(-loss)
    ### END SOLUTION


# %%
check("18.8", emerges)

# %% [markdown] exercise="why"
# The slope of the score at a given level is α · level · ln(1 / level), and k is not in it. A larger
# k moves the curve to larger sizes, by (ln k) / α in log N, and leaves its form. The slope of p at
# that size falls nearly as 1 / k once k is large. So p changes slowly there, while the score goes
# from nearly 0 to nearly 1. Among sizes that are all too small, a score with a large k stays near
# 0, and it seems to emerge when larger ones are added. That is the metric: this law has no jump.
