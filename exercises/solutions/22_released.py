# %% [markdown]
# # Exercises for chapter 22: released
#
# Each exercise asks for one function. Write it, run its cell, then run the check below it. The
# check tries your function on small inputs and larger ones, and tells you the first thing that is
# wrong, with numbers that you can redo on paper. Any correct way of computing the answer will do.

# %% [markdown] exercise="book"
# Solutions are folded away below each exercise. To work on them yourself, take the notebook
# without solutions: {download}`22_released.ipynb <../22_released.ipynb>`.

# %%
import numpy as np

from tformer_book.exercises import check, hint

v = np.array([[1.0, 3.0], [3.0, 9.0]])

# %% [markdown]
# The last line makes two values, to try things on. Each exercise has three hints:
# `hint("22.1")`, then `hint("22.1", 2)`.

# %%
hint("22.1")

# %% [markdown]
# ## 22.1 Equal scores
#
# ```{exercise} ★ warm-up, 4 minutes
# :label: ex-22-1
# :nonumber:
#
# A query has the same score with all keys. Write `mean_of_values(v)` for the values `v` of shape
# `(S, d)`. Return the output of attention, of shape `(d,)`.
# ```

# %%
def mean_of_values(v):
    """The output of attention where all scores are equal: (d,)."""
    ### BEGIN SOLUTION
    return v.mean(axis=0)
    ### END SOLUTION


# %%
check("22.1", mean_of_values)

# %% [markdown] exercise="why"
# Softmax gives each of the S keys the weight 1/S. The sum of the values with these weights is their
# mean, number by number.
