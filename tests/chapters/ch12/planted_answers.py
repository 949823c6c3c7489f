"""Mutants of answers to the exercises of chapter 12, and right answers unlike the book's."""

from functools import partial

import numpy as np
import torch

from shared_answers import CUT, cut_among


def _linear_by_autograd(x, w, dy):
    x, w = (torch.tensor(one, dtype=torch.float64, requires_grad=True) for one in (x, w))
    b = torch.zeros(w.shape[1], dtype=torch.float64, requires_grad=True)
    (x @ w + b).backward(torch.tensor(dy, dtype=torch.float64))
    return x.grad.numpy(), w.grad.numpy(), b.grad.numpy()


def _receives_by_steps(t, s, n_blocks, window):
    seen = {t}
    for _ in range(n_blocks):
        seen = {one - back for one in seen for back in range(window)}
    return s in seen


def _loss_by_rows(z, words):
    rows = []
    for row, word in zip(z, words, strict=True):
        p = np.exp(row - np.logaddexp.reduce(row))
        p[word] -= 1
        rows.append(p / len(words))
    return np.array(rows)


def _attention_by_jacobians(q, k, v, dy):
    scale = q.shape[1] ** -0.5
    dq, dk, dv = np.zeros(q.shape), np.zeros(k.shape), np.zeros(v.shape)
    for t in range(len(q)):
        s = q[t] @ k.T * scale
        p = np.exp(s - np.logaddexp.reduce(s))
        ds = (np.diag(p) - np.outer(p, p)) @ (v @ dy[t])
        dq[t] = scale * ds @ k
        dk += scale * np.outer(ds, q[t])
        dv += np.outer(p, dy[t])
    return dq, dk, dv


def _table_by_masks(tokens, dx, x, dz):
    rows = [dx[tokens == word].sum(axis=0) + dz[:, word] @ x for word in range(dz.shape[1])]
    return np.array(rows)


def _step_by_roots(eps, m, central):
    return float(np.cbrt(3 * eps / m)) if central else float(np.sqrt(4 * eps / m))


def _kept_by_sums(T, d, n_heads, n_layers, every):
    block = sum([4 * T * d, 4 * T * d, 2 * T * 4 * d, n_heads * T * T])
    if not every:
        return sum(block for _ in range(n_layers))
    return sum(T * d for _ in range(0, n_layers, every)) + every * block


def _slip_by_sums(a, da, ds):
    da, ds = da / np.abs(da).max(), ds / np.abs(da).max()
    if np.allclose(ds, da):
        return "no softmax"
    if np.allclose(ds / a, da):
        return "no sum"
    if not np.allclose(ds.sum(axis=1), 0):
        return "wrong axis"
    return "right" if (ds * da).sum() > 0 else "turned"


def _loss_in_place(z, words):
    z -= z.max(axis=1, keepdims=True)
    return _loss_by_rows(z, words)


def _subtracted_in_all_rows(z, words):
    p = np.exp(z - np.logaddexp.reduce(z, axis=1)[:, None])
    p[:, words] -= 1
    return p / len(words)


def _largest(s):
    return s.max(axis=1, keepdims=True)


def _attention_back(
    q, k, v, dy, keys=lambda ds, q: ds.T @ q, values=lambda a, dy: a.T @ dy, level=_largest
):
    scale = q.shape[1] ** -0.5
    s = q @ k.T * scale
    a = np.exp(s - level(s))
    a /= a.sum(axis=1, keepdims=True)
    ds = a * (dy @ v.T - (a * (dy @ v.T)).sum(axis=1, keepdims=True)) * scale
    return ds @ k, keys(ds, q), values(a, dy)


def _where_it_fits(ds, q):
    return ds @ q if ds.shape[1] == len(q) else ds.T @ q


def _table_overwritten(tokens, dx, x, dz):
    table = dz.T @ x
    table[tokens] = dx
    return table


def _number_of_paths(t, s, n_blocks, window):
    return max(0, n_blocks * (window - 1) - (t - s) + 1) if t >= s else 0


def _only_the_farthest(t, s, n_blocks, window):
    return bool(0 <= t - s <= n_blocks * (window - 1) and (t - s) % max(1, window - 1) == 0)


def _nothing_through_a_window_of_one(t, s, n_blocks, window):
    return False if window == 1 else bool(0 <= t - s <= n_blocks * (window - 1))


def _loss_below_a_mean(z, words):
    p = np.exp(z - z.max(axis=-1).mean())
    p = p / p.sum(axis=-1, keepdims=True)
    p[np.arange(len(z)), words] -= 1
    return p / len(z)


def _step_on_a_grid(eps, m, central):
    if central:
        return float((3 * eps / m) ** (1 / 3))
    return float(np.clip(2 * (eps / m) ** 0.5, 1e-8, 1))


def _kept_in_32_bits(T, d, n_heads, n_layers, every):
    T, d, n_heads, n_layers, every = np.array([T, d, n_heads, n_layers, every], dtype=np.int32)
    block = 16 * T * d + n_heads * T**2
    return int(n_layers // every * T * d + every * block if every else n_layers * block)


def _slip_at(where, a, da, ds):
    right = a * (da - (a * da).sum(axis=-1, keepdims=True))
    wrong = a * (da - (a * da).sum(axis=0, keepdims=True))
    tables = {"right": right, "no sum": a * da, "wrong axis": wrong}
    tables |= {"no softmax": da, "turned": -right}
    return min(tables, key=lambda name: np.abs((tables[name] - ds)[where]).sum())


def _alike(x, y):
    return np.allclose(x / np.abs(y).max(), y / np.abs(y).max())


def _within(**tolerance):
    return _slip_by_tables(partial(np.allclose, **tolerance))


def _slip_by_tables(same=_alike, names=("right", "wrong axis")):
    def slip(a, da, ds):
        sums = {n: (a * da).sum(axis=i, keepdims=True) for n, i in zip(names, (1, 0), strict=True)}
        tables = {name: a * (da - one) for name, one in sums.items()}
        tables |= {"no sum": a * da, "no softmax": da}
        tables["turned"] = a * ((a * da).sum(axis=1, keepdims=True) - da)
        return next((name for name, one in tables.items() if same(ds, one)), "wrong axis")

    return slip


def _slip_by_direction(a, da, ds):
    right = a * (da - (a * da).sum(axis=1, keepdims=True))
    wrong = a * (da - (a * da).sum(axis=0, keepdims=True))
    tables = {"right": right, "no sum": a * da, "wrong axis": wrong}
    tables |= {"no softmax": da, "turned": -right}

    def cosine(name):
        size = np.linalg.norm(tables[name]) * np.linalg.norm(ds)
        return round((tables[name] * ds).sum() / size, 9) if size else -1.0

    return max(tables, key=cosine)


def _slip_digit_by_digit(a, da, ds):
    """Each entry right to nine digits of its own, however small it is beside the others."""
    sums = {"right": (a * da).sum(axis=1, keepdims=True), "wrong axis": (a * da).sum(axis=0)}
    made = {name: a * (da - of) for name, of in sums.items()}
    made |= {"no sum": a * da, "no softmax": da, "turned": -made["right"]}
    found = [name for name, g in made.items() if np.allclose(g, ds, rtol=1e-9, atol=1e-300)]
    return found[0] if found else "right"


MUTANTS = {
    "12.2": {
        "Numbers came, and True or False is asked": _number_of_paths,
        "those between the farthest ones are reached": _only_the_farthest,
        "A window of 1 holds the word itself": _nothing_through_a_window_of_one,
    },
    "12.3": {
        "A mean of the rows' largest logits is taken off": _loss_below_a_mean,
        "changes the z it was given": _loss_in_place,
        "each has one word that came": _subtracted_in_all_rows,
    },
    "12.4": {
        "its columns belong to them": lambda *given: _attention_back(
            *given, keys=lambda ds, q: ds @ q
        ),
        "the keys still need the transposed": lambda *given: _attention_back(
            *given, keys=_where_it_fits
        ),
        "gathers from all that attended to it": lambda *given: _attention_back(
            *given, values=lambda a, dy: a @ dy
        ),
        "They stand in reverse order": lambda *given: _attention_back(*given)[::-1],
        "take the largest score of each row off before": lambda *given: _attention_back(
            *given, level=lambda s: 0
        ),
        "One number is taken off the scores": lambda *given: _attention_back(*given, level=np.max),
    },
    "12.5": {"has replaced that of the head": _table_overwritten},
    "12.6": {
        "The one-sided step is kept between two bounds": _step_on_a_grid,
        "rule of thumb, without m": lambda eps, m, central: eps ** (1 / (2 + central)),
        "has no effect": lambda eps, m, central: np.cbrt(3 * eps) if central else 2 * eps**0.5,
        "was taken for both": lambda eps, m, central: float(np.cbrt(3 * eps / m)),
        "one of them was lost": lambda eps, m, central: (
            np.cbrt(3 * eps / m) if central else np.sqrt(2 * eps / m)
        ),
    },
    "12.7": {
        "an int is asked for": lambda T, d, n_heads, n_layers, every: (
            (n_layers / every * T * d if every else 0)
            + (every or n_layers) * (16 * T * d + n_heads * T * T)
        ),
        "than 32 bits can count": _kept_in_32_bits,
    },
    "12.8": {
        "Where large numbers cancel": _slip_digit_by_digit,
        "sizes count": _slip_by_direction,
        "are exchanged: a softmax's sum": _slip_by_tables(names=("wrong axis", "right")),
        "leave a tolerance": _slip_by_tables(np.array_equal),
        "small beside the numbers that it judges": (
            _within(),
            _within(atol=1e-3),
            _within(atol=1e-6),
            _within(atol=1e-10),
        ),
        "compare all entries": (
            partial(_slip_at, (0, 0)),
            partial(_slip_at, (0,)),
            partial(_slip_at, (-1,)),
            partial(_slip_at, (..., -1)),
        ),
    },
}

RIGHT = {
    "12.1": [_linear_by_autograd],
    "12.2": [_receives_by_steps],
    "12.3": [_loss_by_rows],
    "12.4": [_attention_by_jacobians],
    "12.5": [_table_by_masks],
    "12.6": [_step_by_roots],
    "12.7": [_kept_by_sums],
    "12.8": [_slip_by_sums],
}

MUTANTS.setdefault("12.1", {})[CUT] = cut_among("12.1", 0, 1, 2, results=(0, 1, 2))
MUTANTS.setdefault("12.4", {})[CUT] = cut_among("12.4", 0, 1, 2, 3)
MUTANTS.setdefault("12.5", {})[CUT] = cut_among("12.5", 1, 2, 3, results=(1, 2, 3))
