# %% [markdown]
# # Exercises for chapter 19: what transformers can compute
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
# without solutions: {download}`19_computation.ipynb <../19_computation.ipynb>`.

# %%
import numpy as np
import scipy.optimize

from tformer_book.exercises import check, hint

text = "1RB 1LB; 1LA 1RH"

# %% [markdown]
# The last line is a machine's table, to try things on. A table has one group for each state, A
# first, and in it one triple for each symbol that may be read, 0 first. 0 is the blank. `1RB` says:
# write 1, go right, go on in state B. `L` goes left, `S` stays, and `H` halts after the step. A
# machine starts in state A on the first cell of its word. Scores are used as they are, without a
# scale. Each exercise has three hints. The first is a nudge, the last comes close to the answer.
# Ask for them one at a time: `hint("19.1")`, then `hint("19.1", 2)`.

# %%
hint("19.1")

# %% [markdown]
# ## 19.1 A mean and nearly a sum
#
# ```{exercise} ★ warm-up, 8 minutes
# :label: ex-19-1
# :nonumber:
#
# An attention head gives each of n tokens the score 0. Their values are the numbers `v`, of shape
# `(n,)`. First it sees these tokens alone. Then one more token stands in front of them, the sink,
# with the score ln M and the value 0, and the output is multiplied by M. Predict both outputs.
#
# Write `reads(v, M)` for a whole number M from 1 to $2^{40}$ and n at least 1. Return three
# numbers: the output without the sink; M times the output with it; and a number of tokens. For
# that, let another text have k tokens of value 1. The head with the sink counts them: its output,
# times M, should be k. Return the largest k for which it is off by less than ½, or 0 if there is
# none.
# ```


# %%
def reads(v, M):
    """Output without a sink and with it, and the largest count: numbers."""
    ### BEGIN SOLUTION
    n = len(v)
    largest = int((1 + np.sqrt(1 + 8 * M)) / 4) + 2
    while 2 * largest * largest - largest >= M:  # the error is ½ or more
        largest -= 1
    return v.mean(), M * v.sum() / (M + n), largest
    ### END SOLUTION


# %%
check("19.1", reads)

# %% [markdown] exercise="why"
# The weights are 1 and M, divided by M + n. Times M, the output is the sum, smaller by the factor
# M/(M + n). A count of k ones is too small by k²/(M + k). So a sink of M counts up to about √(M/2)
# if it is rounded, and a sink of $2^{16}$ up to 181.

# %% [markdown]
# ## 19.2 The table as an embedding
#
# ```{exercise} ★ warm-up, 8 minutes
# :label: ex-19-2
# :nonumber:
#
# In the transformer that runs a machine, each token is a pair of a state and the symbol that is
# read there. Its row of the embedding holds three numbers. The *move* is 1 for right, −1 for left
# and 0 for staying. The *next state* is a number: with Q states, A is 0, B is 1 and so on, and H is
# Q. The *change* is the symbol that is written less the symbol that is read.
#
# Write `rows_of(text)` for the table of a machine with at most 7 states and 10 symbols. Groups are
# separated by a semicolon and a space, triples by a space. For Q states and S symbols return an
# array of shape `(Q * S, 3)`: move, next state, change for each token. All symbols of state A come
# first, from 0 on, then those of B.
# ```


# %%
def rows_of(text):
    """Move, next state and change for each state and symbol: (Q * S, 3)."""
    ### BEGIN SOLUTION
    groups = text.split("; ")
    names = "ABCDEFG"[: len(groups)] + "H"
    rows = []
    for group in groups:
        for symbol, (new, way, state) in enumerate(group.split()):
            move, after = "LSR".index(way) - 1, names.index(state)
            rows.append((move, after, int(new) - symbol))
    return np.array(rows)
    ### END SOLUTION


# %%
check("19.2", rows_of)

# %% [markdown] exercise="why"
# These rows are what the transformer knows of the machine; its two layers are the same for every
# table. Moves add up to the cell where the machine stands. Changes at one cell add up to its
# content, since each change takes away what stood there.

# %% [markdown]
# ## 19.3 A machine that doubles
#
# ```{exercise} ★★★ challenge, 20 minutes
# :label: ex-19-3
# :nonumber:
#
# A number in base b stands on the tape, the leading digit first. Digits 0 to b − 1 are written as
# the symbols 1 to b, since 0 is the blank. The machine starts in state A on the first digit. All
# cells outside the word are blank. Give it a table with which it doubles the number and halts.
#
# Write `doubling(b)` for b from 2 to 9. Return the table as a string, written as in 19.2: groups
# separated by a semicolon and a space, triples by a space. Each group has a triple for each of the
# symbols 0 to b, the one for the blank first. There are at most seven states. When the machine
# halts, the last digit stands where it stood, and other cells than those of the number are blank.
# Where the head halts does not matter. Leading digits 0 of the word (symbols 1) stay. One digit
# comes in front only if a carry is left. Words have 1 to 9 digits, and a run may take at most 1000
# steps.
# ```


# %%
def doubling(b):
    """The table of a machine that doubles a number in base b: a string."""

    ### BEGIN SOLUTION
    def digits(carry):
        for digit in range(b):
            onward, kept = divmod(2 * digit + carry, b)
            yield f"{kept + 1}L{'BC'[onward]}"

    to_the_end = ["0LB"] + [f"{symbol}RA" for symbol in range(1, b + 1)]
    groups = [to_the_end, ["0SH", *digits(0)], ["2SH", *digits(1)]]
    return "; ".join(" ".join(group) for group in groups)
    ### END SOLUTION


# %%
check("19.3", doubling)

# %% [markdown] exercise="why"
# What the machine must keep in mind is its state: on the way to the end, or on the way back with a
# carry of 0 or 1. Twice a digit and a carry is at most 2b − 1, so no other carry occurs. The adder
# of the chapter finds its carry on the page instead, from what has been written.

# %% [markdown]
# ## 19.4 At the second visit
#
# ```{exercise} ★★ core, 10 minutes
# :label: ex-19-4
# :nonumber:
#
# At step t a machine stands at the cell `cells[t]` and writes the symbol `writes[t]`. A new cell
# holds 0. An attention head without a sink looks only at earlier steps at the same cell, and gives
# all of them the same score. Its values are the symbols that were written, so it reads their mean.
# The chapter's machine has changes as values: those of earlier steps at a cell add up to what it
# holds.
#
# Write `second_visits(cells, writes)` for two arrays of T whole numbers, T at least 1. Cells may
# have numbers below 0. Return two arrays of shape `(T,)`. The first one is what the averaging head
# reads at each step, before the step writes; it is 0 if no earlier step stood at the cell. The
# second one is the change of each step: the symbol that it writes less what its cell holds.
# ```


# %%
def second_visits(cells, writes):
    """The mean that is read at each step, and its change: (T,) and (T,)."""
    ### BEGIN SOLUTION
    averages, changes = [], []
    for t in range(len(cells)):
        earlier = [writes[s] for s in range(t) if cells[s] == cells[t]]
        averages.append(sum(earlier) / len(earlier) if earlier else 0)
        changes.append(writes[t] - (earlier[-1] if earlier else 0))
    return np.array(averages), np.array(changes)
    ### END SOLUTION


# %%
check("19.4", second_visits)

# %% [markdown] exercise="why"
# After one visit the mean is the content. After two it is halfway between two symbols, and does not
# tell which one is the newer. Changes need no order: their sum is the last symbol, in
# whatever order they are added. So the ledger works without knowing which visit was the last.

# %% [markdown]
# ## 19.5 The first address that fails
#
# ```{exercise} ★★ core, 18 minutes
# :label: ex-19-5
# :nonumber:
#
# The machine stands at the cell P. Layer 2 gives the cell C the score −β(P − C)², multiplied
# out: 2βP·C − βP² − βC². A float of p bits holds numbers of p significant bits. A result is rounded
# to the nearest of these, and if two are as near, to the one whose last bit is 0. Round each
# square, then β times the square. Round 2βP, then its product with C. Subtract βP² from that and
# round, then subtract βC² and round.
#
# Write `first_failure(beta, p)` for whole numbers, β from 1 to 15 and p from 4 to 22. Return the
# least P from 1 on for which the cell P + 1 or the cell P − 1 gets a score as large as the cell P,
# or larger.
# ```


# %%
def first_failure(beta, p):
    """The least P at which a neighbour scores as much: a number."""

    ### BEGIN SOLUTION
    def rounded(x):
        fraction, exponent = np.frexp(x)
        return np.ldexp(np.rint(np.ldexp(fraction, p)), exponent - p)

    P = np.arange(1.0, 2 ** (p / 2 + 2))
    squares = rounded(beta * rounded(P * P))

    def score(C):
        others = rounded(beta * rounded(C * C))
        products = rounded(rounded(2 * beta * P) * C)
        return rounded(rounded(products - squares) - others)

    worst = np.maximum(score(P - 1), score(P + 1))
    return int(P[worst >= score(P)][0])
    ### END SOLUTION


# %%
check("19.5", first_failure)

# %% [markdown] exercise="why"
# A float32 has p = 24 bits, and the function works there as well. With β = 1 all squares up to
# 4096² are exact, and at 4096 a neighbour ties. With β = 12 it is over at 3345: the products have
# two bits more, those of the factor 3. A power of two costs nothing. Added in another order, the
# same terms may fail elsewhere.

# %% [markdown]
# ## 19.6 One token of n
#
# ```{exercise} ★★ core, 12 minutes
# :label: ex-19-6
# :nonumber:
#
# An attention head sees n tokens. Their values lie between −V and V, and their scores between −B
# and B. One token can move the output from −a to a for $a = V/(1 + (n - 1) e^{-2B})$, and no
# further. For n = 1 that is from −V to V. A later layer says yes if the output is γ or more, and no
# if it is −γ or less.
#
# Write `steep_enough(n, V, gamma)` for n from 1 to $10^9$, V and γ above 0. Return three things.
#
# - First, n tokens vote with 1 or −1, and all scores are equal. How close to 0 may the output be,
#   if there is no tie?
# - Second, the smallest B from 0 on for which one token can turn a no into a yes, or `np.inf` if no
#   B is enough.
# - Third, True or False: the votes are V or −V, and all scores are equal. Is the output always γ or
#   more, or −γ or less, if there is no tie?
# ```


# %%
def steep_enough(n, V, gamma):
    """The closest vote, the smallest B, and whether votes reach γ."""
    ### BEGIN SOLUTION
    closest = 1 / n if n % 2 else 2 / n
    if n == 1:
        return closest, 0 if gamma <= V else np.inf, gamma <= V
    decay = (V / gamma - 1) / (n - 1)  # e^(−2B)
    B = max(-np.log(decay) / 2, 0) if decay > 0 else np.inf
    return closest, B, closest * V >= gamma
    ### END SOLUTION


# %%
check("19.6", steep_enough)

# %% [markdown] exercise="why"
# A mean decides a majority, but its margin falls as 1/n. If one token of n is to decide with a
# fixed margin, the scores have to grow as half of the logarithm of n. That is little: B = 10.4 for
# V = 1, a margin of ½ and a billion tokens.

# %% [markdown]
# ## 19.7 The second carry
#
# ```{exercise} ★★★ challenge, 20 minutes
# :label: ex-19-7
# :nonumber:
#
# m numbers are added in binary, from the lowest column on. In each column the m bits and the carry
# are summed. Written is the last bit of that sum, and half of it, rounded down, is carried on. The
# adder of the chapter has m = 2: it sees the bits of one earlier column and the digit written
# there, and finds the carry from them. For three summands one column does not tell the carry.
#
# Write `carries(m, sums, digits)` for m from 2 to 1000. `sums` holds the sums of the m bits in n
# neighbouring columns, the lowest first, without carries; `digits` are the digits written there.
# There is at least one column. Any carry from 0 to m − 1 may have come into the first one, and at
# least one of them fits. Return three whole numbers: the least and the largest carry out of the
# last column that fit what is seen; and the smallest k for which the sums and digits of k columns,
# whatever the bits are, leave only one carry out of the last of them. This k depends on m alone.
# ```


# %%
def carries(m, sums, digits):
    """Least and largest carry, and how many columns always tell it."""
    ### BEGIN SOLUTION
    possible = range(m)
    for total, digit in zip(sums, digits, strict=True):
        within = [total + carry for carry in possible]
        possible = [whole // 2 for whole in within if whole % 2 == digit]
    columns = 1
    while 2**columns < m:
        columns += 1
    return min(possible), max(possible), columns
    ### END SOLUTION


# %%
check("19.7", carries)

# %% [markdown] exercise="why"
# A digit tells whether the carry that came in was even or odd. So two carries that fit n columns
# differ by a multiple of 2ⁿ on the way in, and by one or more on the way out. With 2ⁿ ≥ m there are
# no two such carries. Two summands need one column, and three or four need two. So an adder of
# three numbers that finds its carry in this way needs two columns.

# %% [markdown]
# ## 19.8 How sharp for S symbols?
#
# ```{exercise} ★★ core, 10 minutes
# :label: ex-19-8
# :nonumber:
#
# The attention head of layer 2 gives each cell a weight: $e^{-\beta k^2}$ for a cell that is k
# cells away from where the machine stands, and 1 for the cell there. Thanks to the sink it adds up
# contents times weights, without dividing by the sum of the weights. Cells hold the symbols 0 to S
# − 1, and the tape is endless to both sides. What the other cells add is the leak.
#
# Write `sharp_enough(S, error)` for S from 2 to 1000, and an error from 0.001 to 10. Return the
# smallest β with which the leak is at most `error` on every tape. Five digits of β are enough: it
# may be off by a part in 10,000.
# ```


# %%
def sharp_enough(S, error):
    """The smallest β that keeps the leak within the error on every tape."""

    ### BEGIN SOLUTION
    def excess(beta):
        distances = np.arange(1, 2 + int(np.sqrt(40 / beta)))
        return 2 * (S - 1) * np.exp(-beta * distances**2.0).sum() - error

    return scipy.optimize.brentq(excess, 1e-3, 40)
    ### END SOLUTION


# %%
check("19.8", sharp_enough)

# %% [markdown] exercise="why"
# The worst tape holds the largest symbol in every other cell. A reading is rounded right if it is
# off by less than ½, which β = 4 secures for 14 symbols. The nearest cells leak most by far, so β
# is about ln (4 (S − 1)): a thousand symbols need less than 9.
