"""Mutants of answers to the exercises of chapter 21, and right answers unlike the book's."""

from collections import deque
from itertools import product

import numpy as np
import scipy.sparse.csgraph

SITUATIONS = [(c, n) for n in range(9) for c in (0, 1)]

# Right answers unlike the book's


def _patches_by_loops(image, p):
    H, W = image.shape
    return [
        [image[p * i + a, p * j + b] for a in range(p) for b in range(p)]
        for i in range(H // p)
        for j in range(W // p)
    ]


def _patches_by_windows(image, p):
    windows = np.lib.stride_tricks.sliding_window_view(image, (p, p))
    return windows[::p, ::p].reshape(-1, p * p)


def _patches_by_splits(image, p):
    strips = np.split(image, len(image) // p, axis=0)
    return np.stack([s.ravel() for x in strips for s in np.split(x, x.shape[1] // p, axis=1)])


def _image_by_pixels(patches, places, H, W):
    p = int(np.sqrt(patches.shape[1]))
    row, column = places[:, None] // (W // p), places[:, None] % (W // p)
    a, b = np.divmod(np.arange(p * p), p)
    image = np.zeros((H, W), dtype=patches.dtype)
    image[p * row + a, p * column + b] = patches
    return image


def _image_by_blocks(patches, places, H, W):
    p = int(patches.shape[1] ** 0.5)
    known = dict(zip(places.tolist(), patches, strict=True))
    none = np.zeros(p * p)
    rows = [
        [known.get(i * (W // p) + j, none).reshape(p, p) for j in range(W // p)]
        for i in range(H // p)
    ]
    return np.block(rows)


def _torus_by_loops(h, w, r):
    mask = np.zeros((h * w, h * w), dtype=bool)
    for i, j, a, b in product(range(h), range(w), range(-r, r + 1), range(-r, r + 1)):
        mask[i * w + j, (i + a) % h * w + (j + b) % w] = True
    return mask


def _torus_by_rolls(h, w, r):
    cells = np.eye(h * w).reshape(h * w, h, w)
    steps = range(-r, r + 1)
    return sum(np.roll(cells, (a, b), (1, 2)) for a in steps for b in steps).reshape(h * w, -1) > 0


def _torus_in_numbers(h, w, r):
    return _torus_by_loops(h, w, r).astype(float)


def _layer_of_tents(births, survivals):
    """A tent of three ReLUs for each number that leads to life; the tents share their ReLUs."""
    w_out = np.zeros(20)
    for c, n in SITUATIONS:
        if (births, survivals)[c][n]:
            w_out[2 * n + c : 2 * n + c + 3] += [1, -2, 1]
    return np.array([[-1] * 18, [18] * 18]), 1 - np.arange(18), w_out[:18]


def _layer_of_halves(births, survivals):
    """Half of the numbers, and the ReLUs that are not needed left out."""
    f = np.zeros(20)
    for c, n in SITUATIONS:
        f[2 + 2 * n + c] = (births, survivals)[c][n]
    bends = np.diff(f, 2)
    used = np.flatnonzero(bends)
    w_in, b, w_out = np.zeros((2, 18)), np.zeros(18), np.zeros(18)
    w_in[:, : len(used)] = [[-0.5], [9.0]]
    b[: len(used)], w_out[: len(used)] = (1 - used) / 2, 2 * bends[used]
    return w_in, b, w_out


def _layer_from_the_right(births, survivals):
    """ReLUs that fall: each of them ends where the others begin."""
    f = np.array([(births, survivals)[c][n] for c, n in SITUATIONS[::-1]], dtype=float)
    bends = np.diff(np.concatenate([[0.0, 0.0], f]), 2)
    return np.array([[1.0], [-18.0]]) * np.ones(18), 18.0 - np.arange(18), bends


def _hops_by_queues(n, edges):
    near = {t: {t} for t in range(n)}
    for a, b in edges.tolist():
        near[a].add(b)
        near[b].add(a)
    layers = np.full((n, n), np.inf)
    for t in range(n):
        layers[t, t], queue = 0, deque([t])
        while queue:
            s = queue.popleft()
            for u in near[s]:
                if layers[t, u] == np.inf:
                    layers[t, u] = layers[t, s] + 1
                    queue.append(u)
    return np.array([[s in near[t] for s in range(n)] for t in range(n)]), layers


def _hops_by_scipy(n, edges):
    table = np.zeros((n, n))
    for a, b in edges:
        table[a, b] = table[b, a] = 1
    return table + np.eye(n) > 0, scipy.sparse.csgraph.shortest_path(table, unweighted=True)


def _hops_by_three_loops(n, edges):
    away = np.where(np.eye(n) > 0, 0.0, np.inf)
    away[edges[:, 0], edges[:, 1]] = away[edges[:, 1], edges[:, 0]] = 1
    for u in range(n):
        away = np.minimum(away, away[:, u : u + 1] + away[u : u + 1])
    return away <= 1, away


def _dispersed_by_search(B, most, n):
    def largest(count, bound):
        return np.exp(bound) / (np.exp(bound) + (count - 1) * np.exp(-bound))

    low, high = 1, 2
    while largest(high, B) >= most:
        low, high = high, 2 * high
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (middle, high) if largest(middle, B) >= most else (low, middle)
    return high, max(0.0, np.log(most * (n - 1) / (1 - most)) / 2)


def _dispersed_one_by_one(B, most, n):
    count = 1
    while 1 / (1 + (count - 1) * np.exp(-2 * B)) >= most:
        count += 1
    return np.array([count, max(0, 0.5 * np.log((n - 1) / (1 / most - 1)))])


def _article_by_loops(which):
    B, T = which.shape
    mask = np.zeros((B, T, T), dtype=bool)
    for i, t, s in product(range(B), range(T), range(T)):
        a, b = which[i, t], which[i, s]
        mask[i, t, s] = t == s or (a >= 0 and b >= 0 and (s < t or (a > 0 and a == b)))
    return mask


def _article_by_ends(which):
    """Each patch sees up to the last one of its image."""
    B, T = which.shape
    last = np.tile(np.arange(T), (B, 1))
    for t in range(T - 2, -1, -1):
        same = (which[:, t] > 0) & (which[:, t] == which[:, t + 1])
        last[:, t] = np.where(same, last[:, t + 1], t)
    mask = np.arange(T) <= last[:, :, None]
    mask[which < 0] = False
    mask.mT[which < 0] = False
    mask[:, range(T), range(T)] = True
    return mask


def _hops_in_numbers(n, edges):
    mask, layers = _hops_by_queues(n, edges)
    return mask.astype(int), layers


def _article_in_numbers(which):
    return _article_by_ends(which).astype(int)


def _repaired_in_numbers(order, *arrays):
    table, bias, mask, read, differ = _repaired_by_products(order, *arrays)
    return table, bias, mask.astype(float), read, differ.astype(int)


def _repaired_by_products(order, table, bias, mask, read):
    move = np.eye(len(order))[order]
    moved = move @ table, move @ bias @ move.T, move @ mask @ move.T > 0, move @ read
    differ = [(a != b).any() for a, b in zip(moved, (table, bias, mask, read), strict=True)]
    return *moved, np.array(differ)


def _repaired_by_loops(order, table, bias, mask, read):
    T = len(order)
    new = [np.empty_like(x) for x in (table, bias, mask, read)]
    for t in range(T):
        new[0][t], new[3][t] = table[order[t]], read[order[t]]
        for s in range(T):
            new[1][t, s], new[2][t, s] = bias[order[t], order[s]], mask[order[t], order[s]]
    pairs = zip(new, (table, bias, mask, read), strict=True)
    return (*new, [not np.array_equal(a, b) for a, b in pairs])


RIGHT = {
    "21.1": [_patches_by_loops, _patches_by_windows, _patches_by_splits],
    "21.2": [_image_by_pixels, _image_by_blocks],
    "21.3": [_torus_by_loops, _torus_by_rolls, _torus_in_numbers],
    "21.4": [_layer_of_tents, _layer_of_halves, _layer_from_the_right],
    "21.5": [_hops_by_queues, _hops_by_scipy, _hops_by_three_loops, _hops_in_numbers],
    "21.6": [_dispersed_by_search, _dispersed_one_by_one],
    "21.7": [_article_by_loops, _article_by_ends, _article_in_numbers],
    "21.8": [_repaired_by_products, _repaired_by_loops, _repaired_in_numbers],
}


# Wrong answers, written out


def _patches_of_columns_first(image, p):
    H, W = image.shape
    return np.stack(
        [image[i : i + p, j : j + p].ravel() for j in range(0, W, p) for i in range(0, H, p)]
    )


def _patches_as_squares(image, p):
    H, W = image.shape
    return np.stack([image[i : i + p, j : j + p] for i in range(0, H, p) for j in range(0, W, p)])


def _patches_that_overlap(image, p):
    H, W = image.shape
    return np.stack(
        [image[i : i + p, j : j + p].ravel() for i in range(H - p + 1) for j in range(W - p + 1)]
    )


def _patches_in_place(image, p):
    out = _patches_by_windows(image, p).copy()
    image -= image.mean()
    return out


def _patches_of_a_square_image(image, p):
    H = image.shape[0]
    return np.stack(
        [image[i : i + p, j : j + p].ravel() for i in range(0, H, p) for j in range(0, H, p)]
    )


def _patches_of_integers(image, p):
    return _patches_by_windows(image, p).astype(int)


def _image_by_fetching(patches, places, H, W):
    return _image_by_blocks(patches, np.argsort(places), H, W)


def _image_by_fetching_what_is_there(patches, places, H, W):
    tokens = np.zeros((H * W // patches.shape[1], patches.shape[1]))
    tokens[: len(patches)] = patches
    fetched = np.zeros_like(tokens)
    fetched[: len(places)] = tokens[places]
    return _image_by_blocks(fetched, np.arange(len(tokens)), H, W)


def _image_in_rows_of_pixels(patches, places, H, W):
    p = int(np.sqrt(patches.shape[1]))
    image = np.zeros((H, W))
    for square, place in zip(patches, places, strict=True):
        i, j = np.divmod(place, W)
        part = image[p * i : p * i + p, p * j : p * j + p]
        part[:] = square.reshape(p, p)[: part.shape[0], : part.shape[1]]
    return image


def _image_of_places_by_columns(patches, places, H, W):
    p = int(np.sqrt(patches.shape[1]))
    image = np.zeros((H, W))
    for square, place in zip(patches, places, strict=True):
        i, j = p * (place % (H // p)), p * (place // (H // p))
        image[i : i + p, j : j + p] = square.reshape(p, p)
    return image


def _image_of_integers(patches, places, H, W):
    return _image_by_blocks(patches, places, H, W).astype(int)


def _image_as_it_comes(patches, places, H, W):
    return _image_by_blocks(patches, np.arange(len(places)), H, W)


def _image_with_a_transposed_square(patches, places, H, W):
    p = int(np.sqrt(patches.shape[1]))
    turned = patches.reshape(-1, p, p).mT.reshape(len(patches), -1)
    return _image_by_blocks(turned, places, H, W)


def _image_from_place_one(patches, places, H, W):
    places -= 1
    return _image_by_blocks(patches, places, H, W)


def _torus_with_edges(h, w, r):
    i, j = np.divmod(np.arange(h * w), w)
    return np.maximum(abs(i[:, None] - i), abs(j[:, None] - j)) <= r


def _torus_by_a_modulus(h, w, r):
    i, j = np.divmod(np.arange(h * w), w)
    return ((i[:, None] - i) % h <= r) & ((j[:, None] - j) % w <= r)


def _torus_in_four_axes(h, w, r):
    mask = np.zeros((h, w, h, w), dtype=bool)
    for i, j, a, b in product(range(h), range(w), range(-r, r + 1), range(-r, r + 1)):
        mask[i, j, (i + a) % h, (j + b) % w] = True
    return mask


def _torus_without_itself(h, w, r):
    return _torus_by_loops(h, w, r) & ~np.eye(h * w, dtype=bool)


def _torus_by_steps_of_the_index(h, w, r):
    mask = np.zeros((h * w, h * w), dtype=bool)
    for t, a, b in product(range(h * w), range(-r, r + 1), range(-r, r + 1)):
        mask[t, (t + a * w + b) % (h * w)] = True
    return mask


def _torus_that_is_long(h, w, r):
    i, j = np.divmod(np.arange(h * w), h)
    down, across = abs(i[:, None] - i), abs(j[:, None] - j)
    return (np.minimum(down, h - down) <= r) & (np.minimum(across, w - across) <= r)


def _layer_of_life(births, survivals):
    w_in = np.zeros((2, 18))
    w_in[:, :4] = [[-1], [18]]
    b, w_out = np.zeros(18), np.zeros(18)
    b[:4], w_out[:4] = [-4, -5, -7, -8], [1, -1, -1, 1]
    return w_in, b, w_out


def _layer_of_ramps(births, survivals):
    f = np.array([(births, survivals)[c][n] for c, n in SITUATIONS], dtype=float)
    return _layer_of_tents(births, survivals)[:2] + (np.diff(f, prepend=0),)


def _layer_that_counts_the_cell(births, survivals):
    """A living cell is one of its k."""
    f = np.zeros(20)
    f[2::2][:9] = births
    for k in range(1, 9):
        f[2 + 2 * k - 1] = survivals[k]
    return *_layer_of_tents(births, survivals)[:2], np.diff(f, 2)


def _layer_of_neighbours_alone(births, survivals):
    _, b, w_out = _layer_of_tents(births, survivals)
    return np.array([[-1.0], [9.0]]) * np.ones(18), b, w_out


def _layer_that_differences_truth(births, survivals):
    f = np.stack([births, survivals], axis=1).ravel()
    bends = np.diff(np.concatenate([[False, False], f]), 2)
    return *_layer_of_tents(births, survivals)[:2], bends.astype(float)


def _layer_of_as_few_as_needed(births, survivals):
    w_in, b, w_out = _layer_of_tents(births, survivals)
    used = w_out != 0
    return w_in[:, used], b[used], w_out[used]


def _hops_one_way(n, edges):
    away = np.where(np.eye(n) > 0, 0.0, np.inf)
    away[edges[:, 0], edges[:, 1]] = 1
    mask = away <= 1
    for u in range(n):
        away = np.minimum(away, away[:, u : u + 1] + away[u : u + 1])
    return mask, away


def _hops_with_a_mask_of_one_way(n, edges):
    return _hops_one_way(n, edges)[0], _hops_by_queues(n, edges)[1]


def _hops_that_turn_edges_over(n, edges):
    mask = np.eye(n, dtype=bool)
    for a, b in edges:
        mask[a, b] ^= True
        mask[b, a] ^= True
    return mask, _hops_by_queues(n, edges)[1]


def _hops_of_five_rounds(n, edges):
    mask, _ = _hops_by_queues(n, edges)
    layers, known = np.full((n, n), np.inf), np.eye(n, dtype=bool)
    for step in range(6):
        layers[known & np.isinf(layers)] = step
        known = mask @ known
    return mask, layers


def _hops_without_the_diagonal(n, edges):
    mask, layers = _hops_by_queues(n, edges)
    return mask & ~np.eye(n, dtype=bool), layers


def _hops_by_powers(n, edges):
    mask, _ = _hops_by_queues(n, edges)
    layers, power = np.full((n, n), np.inf), mask.astype(int)
    for step in range(1, n + 1):
        layers[(power > 0) & np.isinf(layers)] = step
        power = power @ mask.astype(int)
    return mask, layers


def _hops_that_stop_at_zero(n, edges):
    mask, layers = _hops_by_queues(n, edges)
    return mask, np.where(np.isinf(layers), 0, layers)


def _hops_of_reach(n, edges):
    layers = _hops_by_queues(n, edges)[1]
    return np.isfinite(layers), layers


def _dispersed_for_one_bound(B, most, n):
    return int(np.exp(B) * (1 - most) / most) + 2, np.log((n - 1) * most / (1 - most)) / 2


def _dispersed_one_too_early(B, most, n):
    count, bound = _dispersed_by_search(B, most, n)
    return count - 1, bound


def _dispersed_at_equality(B, most, n):
    others = np.exp(2 * B) * (1 - most) / most
    return int(np.ceil(1 + others)), _dispersed_by_search(B, most, n)[1]


def _dispersed_in_parts(B, most, n):
    return 1 + np.exp(2 * B) * (1 - most) / most, _dispersed_by_search(B, most, n)[1]


def _dispersed_alone(B, most, n):
    return _dispersed_by_search(B, most, n)[0]


def _article_causal(which):
    real = which >= 0
    causal = np.tri(which.shape[1], dtype=bool)
    eye = np.eye(which.shape[1], dtype=bool)
    return causal & real[:, None] & real[:, :, None] | eye


def _article_where_words_see_all_words(which):
    same = which[:, :, None] == which[:, None, :]
    real = which >= 0
    eye = np.eye(which.shape[1], dtype=bool)
    return (np.tri(which.shape[1], dtype=bool) | same) & real[:, None] & real[:, :, None] | eye


def _article_with_a_prefix(which):
    """All images are a prefix that everybody sees."""
    real = which >= 0
    eye = np.eye(which.shape[1], dtype=bool)
    seen = np.tri(which.shape[1], dtype=bool) | (which > 0)[:, None, :]
    return seen & real[:, None] & real[:, :, None] | eye


def _article_of_one_image(which):
    """Only what has the number 1 is a patch."""
    real = which >= 0
    same = (which == 1)[:, :, None] & (which == 1)[:, None, :]
    seen = np.tri(which.shape[1], dtype=bool) | same
    return seen & real[:, None] & real[:, :, None] | np.eye(which.shape[1], dtype=bool)


def _article_that_counts_padding(which):
    B, T = which.shape
    mask = np.tile(np.eye(T, dtype=bool), (B, 1, 1))
    for row, kept in zip(mask, which, strict=True):
        n = int((kept >= 0).sum())
        part = kept[:n]
        row[:n, :n] = np.tri(n) + ((part[:, None] == part) & (part > 0)) > 0
    return mask


def _article_without_a_diagonal(which):
    made = _article_by_loops(which)
    made[which < 0] = False
    return made


def _article_of_one_row(which):
    return _article_by_loops(which)[0]


def _article_to_be_added(which):
    return np.where(_article_by_loops(which), 0.0, -np.inf)


def _article_of_large_numbers(which):
    return np.where(_article_by_loops(which), 0.0, -1e9)


def _repaired_by_the_inverse(order, *arrays):
    return _repaired_by_loops(np.argsort(order), *arrays)


def _repaired_in_rows(order, table, bias, mask, read):
    moved = tuple(x[order] for x in (table, bias, mask, read))
    pairs = zip(moved, (table, bias, mask, read), strict=True)
    return *moved, np.array([(a != b).any() for a, b in pairs])


def _repaired_but_for_columns_of_the_bias(order, *arrays):
    table, _, mask, read, _ = _repaired_by_products(order, *arrays)
    moved = table, arrays[1][order], mask, read
    return *moved, np.array([(a != b).any() for a, b in zip(moved, arrays, strict=True)])


def _repaired_by_the_inverse_for_the_mask(order, *arrays):
    table, bias, _, read, differ = _repaired_by_products(order, *arrays)
    back = np.argsort(order)
    return table, bias, arrays[2][back][:, back], read, differ


def _repaired_with_brackets(order, table, bias, mask, read):
    moved = table[order], bias[order][order], mask[order][order], read[order]
    pairs = zip(moved, (table, bias, mask, read), strict=True)
    return *moved, np.array([(a != b).any() for a, b in pairs])


def _repaired_by_scattering(order, table, bias, mask, read):
    new = [np.empty_like(x) for x in (table, bias, mask, read)]
    new[0][order], new[3][order] = table, read
    new[1][np.ix_(order, order)], new[2][np.ix_(order, order)] = bias, mask
    pairs = zip(new, (table, bias, mask, read), strict=True)
    return *new, np.array([(a != b).any() for a, b in pairs])


def _repaired_all(order, *arrays):
    return *_repaired_by_products(order, *arrays)[:4], np.ones(4, dtype=bool)


def _repaired_in_place(order, table, bias, mask, read):
    out = _repaired_by_products(order, table, bias, mask, read)
    table[:] = table[order]
    return out


def _repaired_in_words(order, *arrays):
    return *_repaired_by_products(order, *arrays)[:4], ["table", "bias", "mask", "read"]


MUTANTS = {
    "21.1": {
        "The squares come column by column": _patches_of_columns_first,
        "Each token is still a square": _patches_as_squares,
        "Your squares overlap": _patches_that_overlap,
        "changes the image it was given": _patches_in_place,
        "You cut as many columns of squares as rows": _patches_of_a_square_image,
        "The numbers are cut to whole ones": _patches_of_integers,
        "Each token is a run of": lambda image, p: np.reshape(image, (-1, p * p)),
    },
    "21.2": {
        "You read the places the other way round": _image_by_fetching,
        "it is token t that goes to places[t]": _image_by_fetching_what_is_there,
        "You divided by W, and left out": _image_in_rows_of_pixels,
        "You counted places column by column": _image_of_places_by_columns,
        "your squares stand in the order in which they came": _image_as_it_comes,
        "Each square is turned over": _image_with_a_transposed_square,
        "changes the places it was given": _image_from_place_one,
        "Numbers need not be whole": _image_of_integers,
    },
    "21.3": {
        "Your board ends at its edges": _torus_with_edges,
        "You went one way round only, up and left": _torus_by_a_modulus,
        "A cell attends to itself as well": _torus_without_itself,
        "flatten them into one axis": _torus_in_four_axes,
        "compare them with something": lambda h, w, r: 2.0 * _torus_by_loops(h, w, r),
        "You added steps to the index": _torus_by_steps_of_the_index,
        "A row has w cells": _torus_that_is_long,
    },
    "21.4": {
        "That is Life, whatever the rule": _layer_of_life,
        "With these weights the slope is what the rule says": _layer_of_ramps,
        "9 m − a is the number of neighbours": _layer_of_neighbours_alone,
        "is treated as one with k + 1": _layer_that_counts_the_cell,
        "make numbers of them first": _layer_that_differences_truth,
        "it should be an array of shape (2, 18)": _layer_of_as_few_as_needed,
        "returns a string": lambda *_: "Conway",
    },
    "21.5": {
        "only the first node of each attend": _hops_one_way,
        "In your mask only the first node": _hops_with_a_mask_of_one_way,
        "An edge that is named twice has gone": _hops_that_turn_edges_over,
        "You stopped after five layers": _hops_of_five_rounds,
        "In your mask no node attends to itself": _hops_without_the_diagonal,
        "the diagonal is 0": _hops_by_powers,
        "as if it were known from the beginning": _hops_that_stop_at_zero,
        "Your mask holds all that can ever be known": _hops_of_reach,
    },
    "21.6": {
        "Two scores differ by up to 2 B, and you took B": _dispersed_for_one_bound,
        "With that many tokens a weight can still be as large": _dispersed_one_too_early,
        "Where a weight can be exactly": _dispersed_at_equality,
        "the number is not whole": _dispersed_in_parts,
        "it should return two numbers": _dispersed_alone,
    },
    "21.7": {
        "Every token is treated as a word": _article_causal,
        "Every number from 1 on is an image": _article_of_one_image,
        "Padding may stand anywhere": _article_that_counts_padding,
        "All words see one another": _article_where_words_see_all_words,
        "Words and patches see all images": _article_with_a_prefix,
        "The rows of padding are empty": _article_without_a_diagonal,
        "an axis of length one is missing": _article_of_one_row,
        "numbers to add to scores": _article_to_be_added,
        "compare them with something": _article_of_large_numbers,
    },
    "21.8": {
        "You used the inverse of the order everywhere": (
            _repaired_by_the_inverse,
            _repaired_by_scattering,
        ),
        "Of bias and mask only the rows are moved": _repaired_in_rows,
        "Of the bias only the rows are moved": _repaired_but_for_columns_of_the_bias,
        "The mask alone is moved by the inverse order": _repaired_by_the_inverse_for_the_mask,
        "You say that every model has to be changed": _repaired_all,
        "changes the table it was given": _repaired_in_place,
        "cannot be read as an array of numbers": _repaired_in_words,
        "the rows are moved twice": _repaired_with_brackets,
    },
}
