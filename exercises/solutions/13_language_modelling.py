# %% [markdown]
# # Exercises for chapter 13: language modelling
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
# without solutions: {download}`13_language_modelling.ipynb <../13_language_modelling.ipynb>`.

# %%
import numpy as np

from tformer_book.exercises import check, hint

tokens = np.array([7, 7, 7, -1, 7, 7])

# %% [markdown]
# The last line is a small text of two words, to try things on. Each exercise has three hints. The
# first is a nudge, the last comes close to the answer. Ask for them one at a time: `hint("13.1")`,
# then `hint("13.1", 2)`.

# %%
hint("13.1")

# %% [markdown]
# ## 13.1 As uncertain as a fair choice
#
# ```{exercise} ★ warm-up, 6 minutes
# :label: ex-13-1
# :nonumber:
#
# Write `uncertain(p)` for probabilities of shape `(..., N)`, each row of which adds up to 1; some
# may be 0. Return two arrays of shape `(...)`: the entropy of each row in *bits*, that is with
# logarithms to base 2, and its perplexity. Rows may come as whole numbers or in float32.
# ```

# %%
def uncertain(p):
    """Entropy in bits, and perplexity: two arrays (...)."""
    ### BEGIN SOLUTION
    sure = np.where(p > 0, p, 1)
    bits = -(p * np.log2(sure)).sum(axis=-1)
    return bits, 2**bits
    ### END SOLUTION


# %%
check("13.1", uncertain)

# %% [markdown] exercise="why"
# A word that never comes adds nothing to the mean, not even with −log 0. The perplexity is the same
# for every logarithm, if the power has the same base.

# %% [markdown]
# ## 13.2 What must be known?
#
# ```{exercise} ★★ core, 12 minutes
# :label: ex-13-2
# :nonumber:
#
# The rows of an array of shape `(n, T)` are the stories of a world, one of which is drawn, each row
# as likely as the others. A row may occur several times. Words are whole numbers from 0 to a
# million, and the last word of each row is its patient. A model sees the last k words before the
# patient, knows all stories, and learns to name the patient. Predict the least mean loss in nats
# that it can reach, for each k from 0 to T − 1.
#
# Write `left(stories)`. Return an array of shape `(T,)`. T and n may be 1.
# ```

# %%
def left(stories):
    """What the last k words leave open, for each k: (T,)."""
    ### BEGIN SOLUTION
    n, T = stories.shape

    def entropy(rows):
        rows = [str(row) for row in rows.tolist()]
        _, counts = np.unique(rows, return_counts=True)
        return -(counts * np.log(counts / n)).sum() / n

    seen = [stories[:, T - 1 - k :] for k in range(T)]
    return np.array([entropy(x) - entropy(x[:, :-1]) for x in seen])
    ### END SOLUTION


# %%
check("13.2", left)

# %% [markdown] exercise="why"
# The entropy of all words together, minus that of the known words: the chain rule of the chapter.
# The numbers never rise with k. If a word tells something only together with another one, they
# stay where they are until both are known.

# %% [markdown]
# ## 13.3 One merge
#
# ```{exercise} ★★ core, 12 minutes
# :label: ex-13-3
# :nonumber:
#
# A text is an array of tokens, whole numbers from 0 to 50 000, with −1 between two words. BPE makes
# one merge. Find the most frequent pair of neighbours; no pair has a −1 in it. Count all places,
# also those that overlap: in 7 7 7 the pair 7 7 stands twice. If two pairs are equally frequent,
# take the one whose first token is smaller, and if these are equal too, the one whose second token
# is smaller.
#
# Write `one_merge(tokens, new)`. Return the text in which each place of the pair has become the one
# token `new`, which did not occur before; of places that overlap, the one further left is merged.
# The −1 stay. A text without any pair stays as it is, and so does an empty one.
# ```

# %%
def one_merge(tokens, new):
    """The text after one merge: an array of tokens."""
    ### BEGIN SOLUTION
    row = tokens.tolist()
    pairs = [tuple(row[i : i + 2]) for i in range(len(row) - 1)]
    pairs = [pair for pair in pairs if -1 not in pair]
    ordered = sorted(pairs, key=lambda pair: (-pairs.count(pair), pair))
    best = ordered[0] if pairs else None
    found = []
    for token in row:
        found.append(token)
        if tuple(found[-2:]) == best:
            found[-2:] = [new]
    return np.array(found, dtype=int)
    ### END SOLUTION


# %%
check("13.3", one_merge)

# %% [markdown] exercise="why"
# Do this 400 times and you have a tokenizer like the chapter's. `pairs.count` reads the whole text
# for every pair; a program that learns from much text keeps the counts, and changes only those
# around a merge.

# %% [markdown]
# ## 13.4 Cut a new text
#
# ```{exercise} ★★ core, 12 minutes
# :label: ex-13-4
# :nonumber:
#
# Merges were learnt, an array of shape `(m, 2)`, m perhaps 0: merge i makes one token of the pair
# in its row, with the number 256 + i. Tokens below 256 are bytes; a merge may use what earlier ones
# have made. Cut a new text: begin with its bytes in UTF-8, and make the merges in the order in
# which they were learnt. Of places that overlap, the one further left is merged. Here a merge may
# also join the end of a word and a space.
#
# Write `encode(text, merges)` for a string, perhaps an empty one. Return the tokens as an array.
# ```

# %%
def encode(text, merges):
    """The tokens of a text: an array."""
    ### BEGIN SOLUTION
    row = list(text.encode())
    for i, pair in enumerate(merges.tolist()):
        found = []
        for token in row:
            found.append(token)
            if found[-2:] == pair:
                found[-2:] = [256 + i]
        row = found
    return np.array(row, dtype=int)
    ### END SOLUTION


# %%
check("13.4", encode)

# %% [markdown] exercise="why"
# This is how the text was cut from which the merges were learnt: all places of an older pair were
# merged before a newer pair was looked at. So the tokens are not the longest that fit. A tokenizer
# with 50 000 merges does not try them all. Of the pairs that stand in a word it makes the oldest,
# again and again, and comes to the same tokens.

# %% [markdown]
# ## 13.5 The loss of a batch
#
# ```{exercise} ★★ core, 12 minutes
# :label: ex-13-5
# :nonumber:
#
# Texts of different lengths stand in an array of tokens of shape `(B, T)`, filled up with −1 at
# their ends. A decoder gave the logits z, of shape `(B, T, N)`; those at position t predict the
# token at position t + 1. Each text has a token or more, and at least one has two or more. Logits
# may be thousands, of either sign.
#
# Write `next_loss(z, tokens)`. Return the mean loss in nats over all tokens that are asked.
# ```

# %%
def next_loss(z, tokens):
    """Mean loss over all tokens that are asked: a float."""
    ### BEGIN SOLUTION
    z, wanted = z[:, :-1], tokens[:, 1:]
    asked = wanted >= 0
    z, wanted = z[asked], wanted[asked]
    z = z - z.max(axis=1, keepdims=True)
    logs = z - np.log(np.exp(z).sum(axis=1, keepdims=True))
    return -logs[np.arange(len(wanted)), wanted].mean()
    ### END SOLUTION


# %%
check("13.5", next_loss)

# %% [markdown] exercise="why"
# Two mistakes here give numbers that look fine. With targets that are not moved the loss falls
# to 0. And −1 as an index is no error in NumPy: it asks for the last word of the vocabulary.

# %% [markdown]
# ## 13.6 A report
#
# ```{exercise} ★ warm-up, 8 minutes
# :label: ex-13-6
# :nonumber:
#
# A model has read a text. `losses`, of shape `(n,)`, are the losses of its tokens in nats, each
# given those before it; they may come as whole numbers or in float32. The text is a string in any
# script, and at least one letter long.
#
# Write `report(losses, text)`. Return two numbers: how many bits the model spends on a byte of the
# text in UTF-8, and a prediction: the perplexity of a token if each byte were a token, and the text
# had the same probability. A text may be so long that its probability is too small for a float.
# ```

# %%
def report(losses, text):
    """Bits per byte, and perplexity of a byte: two numbers."""
    ### BEGIN SOLUTION
    bits = losses.sum() / np.log(2)
    bits_per_byte = bits / len(text.encode())
    return bits_per_byte, 2**bits_per_byte
    ### END SOLUTION


# %%
check("13.6", report)

# %% [markdown] exercise="why"
# Both numbers come from the loss of the whole text and the size of the text, and neither depends on
# the tokens. The perplexity of a token, which reports often give, has no place here.

# %% [markdown]
# ## 13.7 Spans that leave marks
#
# ```{exercise} ★★ core, 10 minutes
# :label: ex-13-7
# :nonumber:
#
# From a text, an array of n tokens, spans are taken: an array of shape `(m, 2)`, m perhaps 0, with
# the place at which a span begins, and the place after its last token. Spans stand in the order of
# the text, have a token at least, and do not overlap; one may begin where another ends. There are
# m + 1 marks.
#
# Write `corrupt(tokens, spans, marks)`. Return the source, which has a mark in the place of each
# span, and the target, which has each mark, followed by its span, and the last mark at its end.
# ```

# %%
def corrupt(tokens, spans, marks):
    """Source and target: two arrays."""
    ### BEGIN SOLUTION
    source, target, place = [], [], 0
    for (start, end), mark in zip(spans, marks[:-1], strict=True):
        source += [*tokens[place:start], mark]
        target += [mark, *tokens[start:end]]
        place = end
    source += [*tokens[place:]]
    return np.array(source), np.array([*target, marks[-1]])
    ### END SOLUTION


# %%
check("13.7", corrupt)

# %% [markdown] exercise="why"
# Nothing is lost: source and target together have every token once and every mark but the last
# twice. What a decoder must write is short, since it need not repeat what the encoder has read.

# %% [markdown]
# ## 13.8 A smaller perplexity, and worse
#
# ```{exercise} ★★★ challenge, 15 minutes
# :label: ex-13-8
# :nonumber:
#
# “Your model reads words, mine reads characters. Mine has the smaller perplexity, so mine is
# better.” Show why this does not follow. A text has at least two words, parted by single spaces.
# The first model reads its words; spaces are no tokens for it. The second one reads its characters,
# spaces among them.
#
# Write `mislead(text)`. Return two arrays of losses in nats, each 0 or more and finite: one for
# each word, and one for each character. The model of characters shall have the smaller perplexity
# of a token, by more than one in a hundred, and yet the larger loss of the whole text, by more than
# one in a hundred.
# ```

# %%
def mislead(text):
    """Losses of words and of characters: two arrays."""
    ### BEGIN SOLUTION
    n, m = len(text.split()), len(text)
    return np.ones(n), np.full(m, (1 + n / m) / 2)
    ### END SOLUTION


# %%
check("13.8", mislead)

# %% [markdown] exercise="why"
# A perplexity is that of one question, and the second model answers more questions. It can lose
# less on each character and still more on all of them, as soon as there are more characters than
# words.
