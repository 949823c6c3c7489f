# %% [markdown]
# # Exercises for the first page: the whole machine
#
# Each exercise asks for one function. Write it, run its cell, then run the check below it. The
# check tries your function on small inputs and larger ones, and tells you the first thing that is
# wrong, with numbers that you can redo on paper. Any correct way of computing the answer will do.
# Keep the name. A `NameError` means that its cell has not been run, or that the name has changed.
# Numbers that are whole may come as integers, alone or in arrays.
#
# One star (★) marks a warm-up, two the core of the page, three a challenge. The minutes are
# what a reader needs who has just read the page.

# %% [markdown] exercise="book"
# Solutions are folded away below each exercise. To work on them yourself, take the notebook
# without solutions: {download}`00_whole_machine.ipynb <../00_whole_machine.ipynb>`.

# %%
import numpy as np

from tformer_book.exercises import check, hint

words = (".", "animal", "because", "it", "street", "the", "tired", "was")

# %% [markdown]
# The last line makes a small vocabulary to try things on. Each exercise has three hints. The first
# is a nudge, the last comes close to the answer. Ask for them one at a time: `hint("0.1")`, then
# `hint("0.1", 2)`.

# %%
hint("0.1")

# %% [markdown]
# ## 0.1 Words become numbers, and come back
#
# ```{exercise} ★ warm-up, 5 minutes
# :label: ex-0-1
# :nonumber:
#
# Before the machine reads a text, each word becomes its place in the list of words, counted from 0.
#
# Write `to_numbers(text, words)` for a text whose words are parted by spaces, and a tuple of words.
# Return the numbers, one for each word of the text, as a list or an array. Every word of the text
# is in the list.
# ```

# %%
def to_numbers(text, words):
    """The places of the words in the list.

    A str and a tuple of str to (T,).
    """
    ### BEGIN SOLUTION
    return [words.index(word) for word in text.split()]
    ### END SOLUTION


# %%
check("0.1", to_numbers)

# %% [markdown] exercise="why"
# A token is only a name that happens to be a number. It says nothing about the word. So the next
# part of the machine takes a row of a table for it.

# %% [markdown]
# ## 0.2 What will it write?
#
# ```{exercise} ★ warm-up, 5 minutes
# :label: ex-0-2
# :nonumber:
#
# Do not move the slider yet. The machine writes 400 stories after 0, 20, 60, 150 and 1000 steps of
# training. What do most of them look like each time? A story is named by the first thing that is
# wrong in it: `"no sentence"`, then `"wrong cure"`, then `"wrong patient"`. It is `"right"` if
# nothing is wrong.
#
# Write `mostly(step)`, which returns one of these four for each of the five numbers of steps. Then
# check, and only then look.
# ```

# %%
def mostly(step):
    """What most stories look like after so many steps."""
    ### BEGIN SOLUTION
    if step <= 20:
        return "no sentence"
    if step <= 60:
        return "wrong cure"
    return "wrong patient" if step <= 150 else "right"
    ### END SOLUTION


# %%
check("0.2", mostly)

# %% [markdown] exercise="why"
# First the machine learns what the nearby words tell: *too* follows *was*. The cure needs one word
# from further back, the trouble. The patient needs more: both nouns, and what tells them apart. And
# it reaches the last word in two steps, through a word in between.

# %% [markdown]
# ## 0.3 A word attends to earlier words
#
# ```{exercise} ★★ core, 12 minutes
# :label: ex-0-3
# :nonumber:
#
# In one layer all words have queries and keys. How much attention does the word at position t give
# to each word? Its scores are the dot products of its query with the keys, divided by √d, where d
# is the width. Each score becomes $e^{\text{score}}$, and is divided by the sum of all these.
# Words after t are hidden. Scores may be as large as a thousand.
#
# Write `look(queries, keys, t)` for two tables of shape `(T, d)` and a position t, counted from 0.
# Return the weights, shape `(T,)`, with zeros for the words after t.
# ```

# %%
def look(queries, keys, t):
    """The weights of the word at position t: (T, d) and (T, d) to (T,)."""
    ### BEGIN SOLUTION
    scores = keys[: t + 1] @ queries[t] / np.sqrt(queries.shape[1])
    terms = np.exp(scores - scores.max())
    later = np.zeros(len(keys) - t - 1)
    return np.concatenate([terms / terms.sum(), later])
    ### END SOLUTION


# %%
check("0.3", look)

# %% [markdown] exercise="why"
# The zeros hide later words. In training, every word of a story must guess the next one at the same
# time, and none may see it. Large scores overflow `np.exp`. Subtract the largest score first: this
# changes no weight, because all terms are divided by the same number.

# %% [markdown]
# ## 0.4 Cut the arc that carries the patient
#
# ```{exercise} ★★ core, 12 minutes
# :label: ex-0-4
# :nonumber:
#
# You have the weights of one layer and want to know whether an arc matters (an *ablation*). So you
# hide one word from another. You do not have the scores.
#
# Write `cut(weights, asks, asked)` for weights of shape `(T, T)`, whose rows add up to one. Return
# new weights, shape `(T, T)`, as the layer would have computed them if the word at place `asks`
# could not see the word at place `asked`. It sees others, too, so its weight there is less than 1,
# if only by $10^{-15}$.
# Leave the given weights as they are.
# ```

# %%
def cut(weights, asks, asked):
    """The weights with one arc cut: (T, T) to (T, T)."""
    ### BEGIN SOLUTION
    after = weights.copy()
    after[asks, asked] = 0
    after[asks] /= after[asks].sum()
    return after
    ### END SOLUTION


# %%
check("0.4", cut)

# %% [markdown] exercise="why"
# A hidden word has no term in the sum. So the terms of the others are divided by a smaller number,
# and all grow by the same factor. On the page we hide the second noun from “it”, and *street* falls
# from 0.913 to 0.098: the arc carried the patient.

# %% [markdown]
# ## 0.5 The floor of another world
#
# ```{exercise} ★★ core, 15 minutes
# :label: ex-0-5
# :nonumber:
#
# A world has stories, and each is told with some probability. The smallest mean loss belongs to a
# machine that gives each story exactly this probability. How large is it, in nats?
#
# Write `floor(p)` for the probabilities of all stories, shape `(n,)`; they add up to one, and some
# may be 0. Return one number. Use the natural logarithm.
# ```

# %%
def floor(p):
    """The smallest mean loss of a story, in nats: (n,) to a number."""
    ### BEGIN SOLUTION
    p = np.asarray(p, dtype=float)
    told = p[p > 0]
    return -(told * np.log(told)).sum()
    ### END SOLUTION


# %%
check("0.5", floor)

# %% [markdown] exercise="why"
# With n equally likely stories this is log n, the floor of the page. A story with probability p has
# the loss −log p and comes with probability p. A story that is never told adds nothing. Chapter 2
# calls this number the entropy.

# %% [markdown]
# ## 0.6 Stories of your own
#
# ```{exercise} ★★★ challenge, 20 minutes
# :label: ex-0-6
# :nonumber:
#
# To train the machine on a world of your own, you list its stories. You have nouns by kind, and
# troubles with their cures by kind. Each verb comes with two kinds: that of the noun which did not
# do it, and that of the noun to which it was not done.
#
# Write `tell(who, cures, did)`. `who` maps a kind to a tuple of nouns, `cures` maps a kind to a
# dictionary from troubles to cures, and `did` maps a verb to a pair of kinds. Return all stories,
# as a list of texts, in any order, each once:
#
# `"the N did not V the M because it was too A . so they C the X ."`
#
# N and M are nouns of the two kinds of the verb V. X, the patient, is N or M. A is a trouble of the
# kind of X, and C is its cure. There is no story in which N and M are the same word.
# ```

# %%
def tell(who, cures, did):
    """All stories of a world, as texts."""
    ### BEGIN SOLUTION
    listed = []
    for verb, (one, other) in did.items():
        pairs = [(a, b) for a in who[one] for b in who[other] if a != b]
        for a, b in pairs:
            start = f"the {a} did not {verb} the {b} because it was too"
            for kind, noun in ((one, a), (other, b)):
                for why, cure in cures[kind].items():
                    end = f"so they {cure} the {noun} ."
                    listed.append(f"{start} {why} . {end}")
    return listed
    ### END SOLUTION


# %%
check("0.6", tell)

# %% [markdown] exercise="why"
# Now train on them: on the page, let `told` be `Stories(texts, p)`, from
# `tformer_book.world.stories`, with your texts and their probabilities, for example
# `np.full(n, 1 / n)`. Each story has 19 words and full stops, as many as the machine has positions.
# Then your floor is `floor(p)`, and you can see how close the loss comes to it.
