# %% [markdown]
# # Exercises for chapter 20: scaling laws
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
# without solutions: {download}`20_scaling_laws.ipynb <../20_scaling_laws.ipynb>`.

# %%
import numpy as np
import scipy.optimize

from tformer_book.exercises import check, hint

x = np.array([1e7, 1e8, 1e9])
loss = 1.8 + 400 * x**-0.35

# %% [markdown]
# The last two lines make three runs that follow a law exactly, to try things on. In all exercises
# a law is L = E + A / N^α + B / D^β with N parameters and D tokens, and the compute is C = 6 N D
# FLOPs. Logarithms are natural. Each exercise has three hints. The first is a nudge, the last comes
# close to the answer. Ask for them one at a time: `hint("20.1")`, then `hint("20.1", 2)`.

# %%
hint("20.1")

# %% [markdown]
# ## 20.1 Six for each number?
#
# ```{exercise} ★ warm-up, 8 minutes
# :label: ex-20-1
# :nonumber:
#
# A decoder has `n_layers` blocks, perhaps none, of width d. In each block the four matrices of
# attention are d by d, and two matrices of the feed-forward layer lead to 4 d hidden units and
# back. There are no gates, and biases and norms are not counted. One table of `n_vocab` rows is
# looked up, and another one is the head. The model is trained on texts of T tokens.
#
# Write `flops_a_token(d, n_layers, n_vocab, T)`. Return two numbers. `exact` is what training
# costs for each token, forward and backward, with all products of matrices counted, also those
# that the mask hides. `rule` is 6 N, where N counts the matrices and both tables.
# ```

# %%
def flops_a_token(d, n_layers, n_vocab, T):
    """FLOPs of training on one token: exact, and by the rule of thumb."""
    ### BEGIN SOLUTION
    in_blocks, in_table = 12 * n_layers * d**2, n_vocab * d
    looking = 12 * n_layers * T * d
    rule = 6 * (in_blocks + 2 * in_table)
    return rule - 6 * in_table + looking, rule
    ### END SOLUTION


# %%
check("20.1", flops_a_token)

# %% [markdown] exercise="why"
# The rule is off in two directions. It counts a table that costs nothing, which matters for small
# models, and it leaves out attention, which matters for long texts: T / (6 d) of what the blocks
# cost.

# %% [markdown]
# ## 20.2 A known floor
#
# ```{exercise} ★ warm-up, 6 minutes
# :label: ex-20-2
# :nonumber:
#
# Runs at sizes `x` ended at losses `loss`, all above a floor that is known. A size may stand
# twice. Above the floor the loss should be a power of the size, a / x^power.
#
# Write `exponent(x, loss, floor)`. Return the power of the line of least squares between
# logarithms: positive if the loss falls.
# ```

# %%
def exponent(x, loss, floor):
    """Exponent of the line of least squares above the floor: a float."""
    ### BEGIN SOLUTION
    slope, _ = np.polyfit(np.log(x), np.log(loss - floor), 1)
    return -slope
    ### END SOLUTION


# %%
check("20.2", exponent)

# %% [markdown] exercise="why"
# Only what lies above the floor is a power. The floor of our own source is known exactly, so this
# line needs no guess; for real text the floor has to be fitted along with the rest.

# %% [markdown]
# ## 20.3 Spend it
#
# ```{exercise} ★★ core, 12 minutes
# :label: ex-20-3
# :nonumber:
#
# Write `spend(floor, a, b, alpha, beta, compute)`, with E = `floor`, A = `a` and B = `b`. Return
# the number of parameters and the number of tokens of least loss for that budget, and the loss.
# All constants but the floor are above 0, and A, B, α and β may all be different. Fractions are
# allowed; six digits are compared.
# ```

# %%
def spend(floor, a, b, alpha, beta, compute):
    """Best parameters, best tokens, and the loss there: three floats."""
    ### BEGIN SOLUTION
    product = compute / 6
    n = (alpha * a * product**beta / (beta * b)) ** (1 / (alpha + beta))
    d = product / n
    return n, d, floor + a * n**-alpha + b * d**-beta
    ### END SOLUTION


# %%
check("20.3", spend)

# %% [markdown] exercise="why"
# At the best size a last per cent of compute brings the same whether it buys size or tokens. So α
# times the one term equals β times the other. The terms themselves need not be equal.

# %% [markdown]
# ## 20.4 Three constants, two exponents
#
# ```{exercise} ★★ core, 12 minutes
# :label: ex-20-4
# :nonumber:
#
# If α and β are known, the law is a sum of three columns, and E, A and B can be found without a
# search. Write `constants(n, d, loss, alpha, beta)`. Return E, A and B for which the sum of
# squares of (law − loss) / loss is least, none of them below 0. There are at least three runs, and
# four digits are compared.
# ```

# %%
def constants(n, d, loss, alpha, beta):
    """E, A and B of least squared relative errors: three floats, from 0."""
    ### BEGIN SOLUTION
    terms = [np.ones(len(loss)), 1 / n**alpha, 1 / d**beta]
    columns = np.column_stack([term / loss for term in terms])
    found, _ = scipy.optimize.nnls(columns, np.ones(len(loss)))
    return tuple(found)
    ### END SOLUTION


# %%
check("20.4", constants)

# %% [markdown] exercise="why"
# This problem has one lowest point, whatever the start. A grid over the two exponents, with this
# at each place, finds where a search over all five should begin.

# %% [markdown]
# ## 20.5 The floor ignored
#
# ```{exercise} ★★ core, 10 minutes
# :label: ex-20-5
# :nonumber:
#
# The loss is `floor + a * x**-power`, with a floor of 0 or more. Somebody draws a straight line
# through the logarithms of two runs, at two different sizes x1 and x2, and reads off an exponent
# and the loss of a third size x3, which may lie anywhere. Predict the signs first: is the exponent
# too large, and does the line promise too much?
#
# Write `misled(floor, a, power, x1, x2, x3)`. Return two numbers: the line's exponent less `power`,
# and the line's loss at x3 less the true one.
# ```

# %%
def misled(floor, a, power, x1, x2, x3):
    """Bias of the exponent, and of the loss at x3: two floats."""
    ### BEGIN SOLUTION
    one, two, true = floor + a / np.array([x1, x2, x3]) ** power
    slope = (np.log(two) - np.log(one)) / (np.log(x2) - np.log(x1))
    said = np.exp(np.log(one) + slope * (np.log(x3) - np.log(x1)))
    return -slope - power, said - true
    ### END SOLUTION


# %%
check("20.5", misled)

# %% [markdown] exercise="why"
# Between logarithms the curve is bent upwards. So the line is too flat as a law, and yet beyond
# the runs it lies below the curve: it promises a loss that will not come. Between the two runs it
# lies above.

# %% [markdown]
# ## 20.6 Runs that are related
#
# ```{exercise} ★★★ challenge, 20 minutes
# :label: ex-20-6
# :nonumber:
#
# Runs at `x` ended at `y`; `group[i]` is a whole number that says to which group run i belongs, say
# because they are places on one training curve. Runs of a group are related, groups are not.
# A bootstrap interval for the slope of y over x then draws *groups*: as many as there are, with
# replacement. All runs of a drawn group come along, twice if it is drawn twice. To each draw
# belongs a slope of least squares.
#
# Write `width(x, y, group, times, rng)`. Return how far the quantiles 0.025 and 0.975 of `times`
# such slopes lie apart. Draw with `rng`, a generator of NumPy. There are at least two groups, and
# in each draw the runs stand at more than one place.
# ```

# %%
def width(x, y, group, times, rng):
    """Width of the 95% bootstrap interval of the slope: a float."""
    ### BEGIN SOLUTION
    members = [np.flatnonzero(group == name) for name in np.unique(group)]
    slopes = np.empty(times)
    for t in range(times):
        chosen = rng.integers(len(members), size=len(members))
        i = np.concatenate([members[g] for g in chosen])
        away = x[i] - x[i].mean()
        slopes[t] = away @ y[i] / (away @ away)
    return np.diff(np.quantile(slopes, [0.025, 0.975]))[0]
    ### END SOLUTION


# %%
check("20.6", width)

# %% [markdown] exercise="why"
# Four runs that repeat each other say as much as one. If you draw single runs, you count four times
# as many, and your interval is half as wide.

# %% [markdown]
# ## 20.7 A parabola through one budget
#
# ```{exercise} ★★ core, 12 minutes
# :label: ex-20-7
# :nonumber:
#
# Runs of one budget stand at `away`: log N less the logarithm of the best N. Their losses follow a
# law with exponents α and β exactly. A parabola of least squares goes through the losses. Predict
# where its vertex lies, although neither E, A, B nor the budget is given: why are they not needed?
#
# Write `missed(alpha, beta, away)` for at least three different places, in any order. Return the
# vertex on the scale of `away`; 0 would be right. Four digits are compared.
# ```

# %%
def missed(alpha, beta, away):
    """Where the vertex lies; 0 is the best log N: a float."""
    ### BEGIN SOLUTION
    curve = np.exp(-alpha * away) / alpha + np.exp(beta * away) / beta
    parabola = np.polynomial.Polynomial.fit(away, curve, 2)
    return parabola.deriv().roots()[0]
    ### END SOLUTION


# %%
check("20.7", missed)

# %% [markdown] exercise="why"
# At the best size the two terms above the floor are in the ratio of 1/α to 1/β. A common factor
# only stretches the parabola, and E only lifts it, so the vertex stays. With unequal exponents one
# side is steeper and pulls the vertex over.

# %% [markdown]
# ## 20.8 Two laws, two advisers
#
# ```{exercise} ★★★ challenge, 15 minutes
# :label: ex-20-8
# :nonumber:
#
# Two laws are given as arrays [E, A, B, α, β]. Each advises D / N, tokens a parameter at the best
# size, and its advice changes with the budget. Predict where the two advise the same, and who asks
# for more tokens a parameter when the budget is larger than that. The advice of the two does not
# change at the same rate.
#
# Write `crossing(one, other)`. Return the budget in FLOPs, the tokens a parameter there, and the
# number of the law that asks for more beyond it: 1 for `one`, 2 for `other`. Six digits are
# compared.
# ```

# %%
def crossing(one, other):
    """Budget, tokens a parameter there, and who asks for more beyond."""
    ### BEGIN SOLUTION
    def advice(law):
        _, a, b, alpha, beta = law
        ratio = np.log(alpha * a) - np.log(beta * b)
        return (alpha - beta) / (alpha + beta), -2 * ratio / (alpha + beta)

    (steep, high), (steep2, high2) = advice(one), advice(other)
    log_product = (high2 - high) / (steep - steep2)
    tokens_each = np.exp(high + steep * log_product)
    return 6 * np.exp(log_product), tokens_each, 1 + (steep2 > steep)
    ### END SOLUTION


# %%
check("20.8", crossing)

# %% [markdown] exercise="why"
# The floor is the same for every size and does not matter. Tokens a parameter grow as
# C^((α − β) / (α + β)): with equal exponents the advice is a constant, and a difference of a few
# hundredths turns “twenty” into another number a few powers of ten later.
