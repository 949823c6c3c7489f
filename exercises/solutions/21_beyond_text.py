# %% [markdown]
# # Exercises for chapter 21: beyond text
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
# without solutions: {download}`21_beyond_text.ipynb <../21_beyond_text.ipynb>`.

# %%
import numpy as np

from tformer_book.exercises import check, hint

image = np.array([[1.0, 2, 3, 4], [5, 6, 7, 8]])
which = np.array([[0, 1, 1, 0, -1]])

# %% [markdown]
# The last lines make a small image, and a row of words and patches for 21.7, to try things on. In
# every mask True in row t and column s means that token t attends to token s; 1 and 0 will do for
# True and False. Each exercise has three hints. The first is a nudge, the last comes close to the
# answer. Ask for them one at a time: `hint("21.1")`, then `hint("21.1", 2)`.

# %%
hint("21.1")

# %% [markdown]
# ## 21.1 An image as tokens
#
# ```{exercise} ★ warm-up, 8 minutes
# :label: ex-21-1
# :nonumber:
#
# Write `patches(image, p)` for an image of shape `(H, W)` whose two sides are multiples of p. Cut
# it into squares of p × p pixels and return them as tokens, in an array of shape `(T, p * p)`, with
# T = H W / p². The squares come row by row, from the top left, and so do the pixels of each square.
# Nothing else may happen to the numbers. p is 1 or more.
# ```


# %%
def patches(image, p):
    """The squares of an image, row by row: (T, p * p)."""
    ### BEGIN SOLUTION
    H, W = image.shape
    grid = image.reshape(H // p, p, W // p, p).swapaxes(1, 2)
    return grid.reshape(-1, p * p)
    ### END SOLUTION


# %%
check("21.1", patches)

# %% [markdown] exercise="why"
# The first reshape names four axes: the row of the square, the row inside it, the column of the
# square, and the column inside it. Swapping the middle two puts both axes of a square together. A
# single reshape would cut along the rows of the image, and each token would be a thin strip.

# %% [markdown]
# ## 21.2 An image from tokens
#
# ```{exercise} ★★ core, 12 minutes
# :label: ex-21-2
# :nonumber:
#
# The tokens of an image come in any order, and some may be missing. Row t of `patches`, of shape
# `(T, p * p)`, holds the pixels of one square, row by row. Its place in the image is `places[t]`.
# Places are counted from 0, square by square along each row of squares. No place occurs twice.
#
# Write `image_of(patches, places, H, W)`. Return the image, of shape `(H, W)`, with 0 wherever a
# square is missing. T is at least 1, and p, which you are not told, divides H and W.
# ```


# %%
def image_of(patches, places, H, W):
    """The image whose squares stand at these places: (H, W)."""
    ### BEGIN SOLUTION
    p = round(patches.shape[1] ** 0.5)
    image = np.zeros((H, W))
    for square, place in zip(patches, places, strict=True):
        top, left = p * (place // (W // p)), p * (place % (W // p))
        image[top : top + p, left : left + p] = square.reshape(p, p)
    return image
    ### END SOLUTION


# %%
check("21.2", image_of)

# %% [markdown] exercise="why"
# The tokens alone do not say where they belong: the places hold all that is left of the image's
# shape. Square t goes *to* `places[t]`. To take square `places[t]` *from* the list is the inverse
# permutation. It is the same only if squares have changed places in pairs.

# %% [markdown]
# ## 21.3 Neighbours on a torus
#
# ```{exercise} ★★ core, 12 minutes
# :label: ex-21-3
# :nonumber:
#
# A board of h × w cells is a torus: above the first row comes the last one, and left of the first
# column the last. Its cells are tokens, row by row. A cell attends to the cells of the square of
# side 2 r + 1 around it, and so to itself.
#
# Write `neighbourhood(h, w, r)` for whole numbers, h and w from 1 on and r from 0 on. Return the
# mask, of shape `(h * w, h * w)`, True where token t attends to token s. A large r may reach around
# the whole torus.
# ```


# %%
def neighbourhood(h, w, r):
    """Who attends to whom on a torus: (h * w, h * w)."""

    ### BEGIN SOLUTION
    def ring(n):
        apart = (np.arange(n)[:, None] - np.arange(n)) % n
        return np.minimum(apart, n - apart) <= r

    return np.kron(ring(h), ring(w))
    ### END SOLUTION


# %%
check("21.3", neighbourhood)

# %% [markdown] exercise="why"
# Along each side the cells form a ring, and the distance on a ring of n cells is the shorter way
# round. A cell is in the square if both distances are at most r, so the mask is a product of two
# smaller masks. The index alone does not know the board: cell 0 and cell w − 1 are neighbours,
# although w − 2 tokens stand between them.

# %% [markdown]
# ## 21.4 Another rule of life
#
# ```{exercise} ★★★ challenge, 20 minutes
# :label: ex-21-4
# :nonumber:
#
# The head averages the nine cells of each 3 × 3 square. A cell's vector is now $(a, m)$: a is 1 if
# the cell is alive and 0 if not, and m is the mean of the nine cells of its square. A feed-forward
# layer is to return 1 if the cell is alive in the next generation, and 0 if not. A dead cell with k
# living cells among the eight around it is born if `births[k]` is True, and a living one stays
# alive if `survivals[k]` is True, for k from 0 to 8.
#
# Write `rule_layer(births, survivals)` for two arrays of True and False, of shape `(9,)`. Return
# three arrays: `w_in` of shape `(2, 18)`, `b` of shape `(18,)` and `w_out` of shape `(18,)`. Let
# `x`, of shape `(2,)`, be the vector of a cell: a first, and then m. For each x that can occur,
# `np.maximum(x @ w_in + b, 0) @ w_out` has to be 1 or 0 as above, up to rounding. 18 ReLUs are
# enough for any rule. Those that you do not need may have the weight 0.
# ```


# %%
def rule_layer(births, survivals):
    """Weights of a layer that follows a rule: (2, 18), (18,) and (18,)."""
    ### BEGIN SOLUTION
    u = np.arange(18)  # 18 m - a, which is 2 k + a
    alive = np.where(u % 2 == 1, survivals[u // 2], births[u // 2])
    kinks = np.maximum(u[:, None] + 1 - u, 0)  # what 18 ReLUs say of each u
    w_in = np.array([[-1.0], [18.0]]) * np.ones(18)
    return w_in, 1.0 - u, np.linalg.solve(kinks, alive.astype(float))
    ### END SOLUTION


# %%
check("21.4", rule_layer)

# %% [markdown] exercise="why"
# With k living neighbours, 9 m = k + a, so u = 18 m − a = 2 k + a. It is even for dead cells and
# odd for living ones, and each of the 18 cases has a number of its own. A sum of ReLUs is a line
# that bends where each of them starts. With one bend before each number it can meet any 18 values.
# Life needs only four, since its three numbers 5, 6 and 7 stand side by side.

# %% [markdown]
# ## 21.5 A graph is a mask
#
# ```{exercise} ★★ core, 12 minutes
# :label: ex-21-5
# :nonumber:
#
# The n nodes of a graph are tokens. Each attends to itself and to the nodes it has an edge with, in
# every layer, and layers add their output to the residual stream. Predict how many layers it takes
# until the vector of node t can depend on the input of node s.
#
# Write `hops(n, edges)`. `edges`, of shape `(m, 2)`, holds whole numbers from 0 to n − 1. An edge
# joins two different nodes and has no direction. It may be named twice, in either order, and m may
# be 0. n is at least 1. Return two arrays of shape `(n, n)`: the mask, and the least number of
# layers after which the vector of t can depend on the input of s. That is 0 for t itself, and
# `np.inf` if no number is enough.
# ```


# %%
def hops(n, edges):
    """Mask of a graph, and layers until t knows of s: (n, n) twice."""
    ### BEGIN SOLUTION
    mask = np.eye(n, dtype=bool)
    for a, b in edges:
        mask[a, b] = mask[b, a] = True
    layers = np.where(np.eye(n, dtype=bool), 0, np.inf)
    for _ in range(n):
        nearest = np.where(mask[:, :, None], layers, np.inf).min(axis=1)
        layers = np.minimum(layers, nearest + 1)
    return mask, layers
    ### END SOLUTION


# %%
check("21.5", hops)

# %% [markdown] exercise="why"
# A layer hands on what the nodes next to t knew before it. So one layer adds one edge to how far a
# node can see, and the least number of layers is the distance in the graph. Depth is what a sparse
# mask costs: on a path of n nodes the two ends need n − 1 layers. A token that has an edge with all
# others brings it down to two.

# %% [markdown]
# ## 21.6 One among many
#
# ```{exercise} ★★ core, 12 minutes
# :label: ex-21-6
# :nonumber:
#
# All scores of a head lie from −B to B, whatever the tokens are. So in a large set no token can
# have a large weight. Predict from which size on.
#
# Write `dispersed(B, most, n)`. B is from 0 to 5, `most` from 0.01 to 0.99, and n a whole number
# from 2 on. Return two numbers. The first belongs to B and `most`: the least number of tokens, all
# counted, with which every weight is below `most`, whatever the scores. The second belongs to n and
# `most`: the least b, 0 or more, such that with scores from −b to b one of n tokens can have the
# weight `most` or more.
# ```


# %%
def dispersed(B, most, n):
    """Least number of tokens, and least bound of scores: two numbers."""
    ### BEGIN SOLUTION
    others = np.exp(2 * B) * (1 - most) / most  # leave a weight of most
    apart = np.log(n - 1) + np.log(most) - np.log(1 - most)
    return int(others) + 2, max(apart / 2, 0)
    ### END SOLUTION


# %%
check("21.6", dispersed)

# %% [markdown] exercise="why"
# A weight is largest if its own score is B and all others are −B: then it is
# 1 / (1 + (n − 1) e^(−2B)). The second number solves this for the bound. It grows like half the
# logarithm of n: a head that is to find one token among more and more needs larger scores. A head
# whose scores stay as they were on small sets spreads its weights on large ones.

# %% [markdown]
# ## 21.7 An article with pictures
#
# ```{exercise} ★★★ challenge, 15 minutes
# :label: ex-21-7
# :nonumber:
#
# Words and patches of images stand in one row. `which`, of shape `(B, T)`, says for each token of B
# rows what it is: 0 for a word, a whole number k from 1 on for a patch of image k, and −1 for
# padding, which may stand anywhere but within an image. The patches of an image stand side by side.
# A model learns to write the words of these rows.
#
# Write `article_mask(which)`. Each word and each patch attends to all words and patches before it
# and to itself; a patch also attends to all patches of its own image. Padding attends to itself
# alone, so that its softmax has a key, and nobody else attends to it. Return the mask of each row,
# in an array of shape `(B, T, T)`, True where token t attends to token s.
# ```


# %%
def article_mask(which):
    """Who attends to whom among words and patches: (B, T, T)."""
    ### BEGIN SOLUTION
    asks, asked = which[:, :, None], which[:, None, :]
    place = np.arange(which.shape[1])
    visible = (place <= place[:, None]) | ((asks > 0) & (asks == asked))
    padding = (asks < 0) | (asked < 0)
    return np.where(padding, place == place[:, None], visible)
    ### END SOLUTION


# %%
check("21.7", article_mask)

# %% [markdown] exercise="why"
# A picture has no order of reading, so its patches may see one another. No patch is predicted, so
# this gives nothing away. But no patch may see a later word: it would tell the words before that
# one, in the next layer, what they are asked to predict.

# %% [markdown]
# ## 21.8 Patches in another order
#
# ```{exercise} ★★★ challenge, 15 minutes
# :label: ex-21-8
# :nonumber:
#
# Four image models read T patches. Each knows of places by one array. The first adds row t of
# `table`, of shape `(T, d)`, to the patch at place t. The second adds `bias[t, s]`, of shape
# `(T, T)`, to the score that place t gives place s. The third lets place t attend to place s only
# if `mask[t, s]` is True. The fourth sums the last vectors with the weights `read`, of shape
# `(T,)`, where the others take their mean. Nothing else in them depends on places.
#
# Now the patches come in another order: at place t stands the patch that stood at place `order[t]`.
# `order` holds each of 0 to T − 1 once. Which models must be changed, and how?
#
# Write `repaired(order, table, bias, mask, read)`. Return five arrays: the four arrays, with their
# entries moved so that the logits of every image are what they were before, and an array of shape
# `(4,)`, True for each of the four arrays that is now different from what it was.
# ```


# %%
def repaired(order, table, bias, mask, read):
    """Four arrays for the new order, and which of them differ: (4,)."""
    ### BEGIN SOLUTION
    pairs = order[:, None], order
    new = table[order], bias[pairs], mask[pairs], read[order]
    old = table, bias, mask, read
    differ = [(a != b).any() for a, b in zip(old, new, strict=True)]
    return *new, np.array(differ)
    ### END SOLUTION


# %%
check("21.8", repaired)

# %% [markdown] exercise="why"
# What belonged to place `order[t]` now belongs to place t, since its patch has moved there. An
# array over pairs of places moves along both axes. The attention layers move their outputs along
# with their inputs, and the sum at the end does not see the order. Where nothing differs, the model
# never knew of that change: equal weights for all places, or a bias of distances on a ring that is
# turned.
