"""Mutants of answers to the exercises of chapter 18, and right answers unlike the book's."""

import numpy as np
import scipy.optimize
import torch


def _layer_by_loops(e, n, d, eta):
    out = [[float(number) for number in row] for row in e]
    for t, query in enumerate(e):
        for key in e[:n]:
            score = sum(a * b for a, b in zip(query[:d], key[:d], strict=True))
            for j in range(d, len(query)):
                out[t][j] -= eta / n * score * key[j]
    return out


def _layer_by_a_gradient(e, n, d, eta):
    x, r = e[:, :d], e[:, d:]
    new = np.array(e, dtype=float)
    new[:, d:] = r - x @ (eta * x[:n].T @ r[:n] / n)
    return new


def _layer_in_torch(e, n, d, eta):
    rows = torch.tensor(np.asarray(e, dtype=float))
    x, r = rows[:, :d], rows[:, d:]
    mask = torch.arange(len(rows)) < n
    return torch.cat([x, r - eta / n * (x @ x.T * mask) @ r], dim=1)


def _layer_in_place(e, n, d, eta):
    e[:, d:] -= eta / n * e[:, :d] @ e[:n, :d].T @ e[:n, d:]
    return e


def _layer_of_a_copy(e, n, d, eta):
    """Writes the residuals into a copy, which stays whole if whole numbers came."""
    new = e.copy()
    new[:, d:] = e[:, d:] - eta / n * e[:, :d] @ e[:n, :d].T @ e[:n, d:]
    return new


def _layer_of_the_page(e, n, d, eta):
    """The chapter's listing, for one question."""
    x, r = e[:, :d], e[:, d:]
    scores = x @ x[:-1].T
    return np.hstack([x, r - eta / (len(e) - 1) * scores @ r[:-1]])


def _weight_by_random_questions(stack, examples, d):
    rng, m = np.random.default_rng(0), examples.shape[1] - d
    questions = rng.normal(size=(d, d))
    answers = [-stack(np.vstack([examples, np.append(q, np.zeros(m))]))[-1, d:] for q in questions]
    return np.linalg.solve(questions, np.array(answers))


def _weight_by_residuals(stack, examples, d):
    """What the examples have lost is X W, and W lies in the rows of X."""
    after = stack(np.vstack([examples, 0 * examples[:1]]))[:-1, d:]
    return np.linalg.pinv(examples[:, :d]) @ (examples[:, d:] - after)


def _weight_from_half_a_unit(stack, examples, d):
    m = examples.shape[1] - d
    rows = [
        np.concatenate([0.5 * unit, np.ones(m)]) @ np.eye(d + m, dtype=float) for unit in np.eye(d)
    ]
    return np.array([2 * (1 - stack(np.vstack([examples, q]))[-1, d:]) for q in rows])


def _weight_without_examples(stack, examples, d):
    m = examples.shape[1] - d
    return np.array([-stack(np.append(unit, np.zeros(m))[None])[-1, d:] for unit in np.eye(d)])


def _weight_asked_without_residuals(stack, examples, d):
    return np.array([stack(np.vstack([examples[:, :d], unit]))[-1] for unit in np.eye(d)])


def _differ_by_powers(x, y, q, eta):
    """From the first power of XᵀX whose product with Xᵀy the question sees."""
    n = len(x)
    vector, first = x.T @ y / n, None
    for power in range(n):
        if abs(q @ vector) > 1e-9:
            first = power + 1
            break
        vector = x.T @ (x @ vector) / n
    if first is None:
        return [0, 0, 0]
    w = np.zeros(len(q))
    for _ in range(first):
        w = w - eta / n * x.T @ (x @ w - y)
    before, w = q @ w, w - eta / n * x.T @ (x @ w - y)
    wrong = q @ w - eta / n * (q @ q) * before
    if abs(wrong - q @ w) >= 1e-9:
        return first + 1, q @ w, wrong
    return _differ_by_many_layers(x, y, q, eta)


def _differ_by_many_layers(x, y, q, eta):
    """A loop over fifty layers, with whole tokens and masks."""
    e = np.vstack([np.column_stack([x, y]), np.append(q, 0.0)])
    right, wrong, n = e, e, len(x)
    hidden = np.append(np.ones(n), 0.0)
    for number in range(1, 51):
        right, wrong = (
            np.column_stack(
                [t[:, :-1], t[:, -1] - eta / n * (t[:, :-1] @ t[:, :-1].T * m) @ t[:, -1]]
            )
            for t, m in ((right, hidden), (wrong, np.ones(n + 1)))
        )
        if not abs(right[-1, -1] - wrong[-1, -1]) < 1e-9:
            return number, -right[-1, -1], -wrong[-1, -1]
    return np.zeros(3)


def _differ_by_the_question_alone(x, y, q, eta):
    """The question is its own key only: what the examples hear comes one layer later."""
    n, r, own, other = len(x), np.array(y, dtype=float), 0.0, 0.0
    for number in range(1, n + 2):
        change = eta / n * (x @ q) @ r
        own, other = own + change, other + change - eta / n * (q @ q) * other
        if abs(own - other) >= 1e-9:
            return number, own, other
        r = r - eta / n * x @ (x.T @ r)
    return 0, 0, 0


def _differ_only_if_the_first_answer_is_not_0(x, y, q, eta):
    if abs(y @ x @ q) < 1e-9:
        return 0, 0, 0
    return _differ_by_many_layers(x, y, q, eta)


def _best_step_without_noise_in_its_errors(n, d, sigma, s, n_asked):
    step, *_ = _best_step_by_search(n, d, sigma, s, n_asked)
    errors = (s**2 * ((1 - s**2 * step) ** 2 + s**4 * step**2 * (d + 1) / k) for k in (n, n_asked))
    return step, *errors


def _emerges_where_p_is_the_level(c, alpha, k, level):
    u = -np.log(level)
    return c / u ** (1 / alpha), alpha * k * u * np.exp(-k * u), alpha * u * level


def _posterior_with_the_identity(x, y, q, sigma):
    return _posterior_by_kernels(x, y, q, 1.0)


def _steps_by_the_longest_example(x):
    return 2 / (x**2).sum(1).max(), _steps_by_svd(x)[1]


def _best_step_by_search(n, d, sigma, s, n_asked):
    def error(step, n):
        # bias, scatter of S = XᵀX / n, and noise, each for a coordinate
        bias, scatter = (1 - s**2 * step) ** 2, s**4 * step**2 * (d + 1) / n
        return s**2 * (bias + scatter + s**2 * step**2 * sigma**2 / n)

    step = scipy.optimize.minimize_scalar(lambda u: error(u, n), tol=1e-14).x
    return [step, error(step, n), error(step, n_asked)]


def _steps_by_svd(x):
    s = np.linalg.svd(x / np.sqrt(len(x)), compute_uv=False)
    s = s[s > s[0] * 3e-5] ** 2
    return np.array([2 / s[0], 2 / (s[0] + s[-1])])


def _steps_by_the_gram_matrix(x):
    values = sorted(np.linalg.eigvals(x @ x.T / len(x)).real)
    values = [v for v in values if v > 1e-9 * values[-1]]
    return 2 / values[-1], 2 / (values[0] + values[-1])


def _posterior_by_kernels(x, y, q, sigma):
    gram = x @ x.T + sigma**2 * np.eye(len(x))
    k = x @ q
    return k @ np.linalg.solve(gram, y), q @ q - k @ np.linalg.solve(gram, k)


def _posterior_by_one_example_at_a_time(x, y, q, sigma):
    mean, cov = np.zeros(len(q)), np.eye(len(q))
    for row, target in zip(x, y, strict=True):
        gain = cov @ row / (row @ cov @ row + sigma**2)
        mean = mean + gain * (target - row @ mean)
        cov = cov - np.outer(gain, row @ cov)
    return q @ mean, q @ cov @ q


def _posterior_by_stacked_rows(x, y, q, sigma):
    rows = np.vstack([x, sigma * np.eye(len(q))])
    w = np.linalg.lstsq(rows, np.append(y, np.zeros(len(q))), rcond=None)[0]
    return q @ w, sigma**2 * q @ np.linalg.inv(rows.T @ rows) @ q


def _born_by_a_dict(ids, table, fresh, h):
    vectors, rows = {}, iter(fresh)
    for word in ids:
        if int(word) not in vectors:
            vectors[int(word)] = table[word] if word < len(table) else next(rows)
    scores = [float(np.dot(v, h)) for v in vectors.values()]
    terms = [np.exp(s - max(scores)) for s in scores]
    return list(vectors), [t / sum(terms) for t in terms]


def _born_by_unique(ids, table, fresh, h):
    _, first = np.unique(ids, return_index=True)
    words = ids[np.sort(first)]
    new = words >= len(table)
    vectors = np.zeros((len(words), len(h)))
    vectors[~new], vectors[new] = table[words[~new]], fresh[: new.sum()]
    logits = torch.tensor(vectors @ h)
    return words, torch.softmax(logits, 0).numpy()


def _born_without_a_shift(ids, table, fresh, h):
    words, _ = _born_by_a_dict(ids, table, fresh, h)
    nonce = [w for w in words if w >= len(table)]
    logits = np.array([h @ (fresh[nonce.index(w)] if w in nonce else table[w]) for w in words])
    return np.array(words), np.exp(logits) / np.exp(logits).sum()


def _emerges_by_differences(c, alpha, k, level):
    def p(log_n):
        return np.exp(-((c / np.exp(log_n)) ** alpha))

    def gap(log_n):
        return -k * (c / np.exp(log_n)) ** alpha - np.log(level)

    at = scipy.optimize.brentq(gap, np.log(c) - 60, np.log(c) + 200, xtol=1e-12)
    step = 1e-4
    score = (p(at + step) ** k - p(at - step) ** k) / (2 * step)
    return np.exp(at), score, (p(at + step) - p(at - step)) / (2 * step)


def _emerges_from_p(c, alpha, k, level):
    p = level ** (1 / k)
    slope = -alpha * p * np.log(p)
    return [c / (-np.log(p)) ** (1 / alpha), k * p ** (k - 1) * slope, slope]


def _emerges_on_a_grid(c, alpha, k, level):
    sizes = np.logspace(-3, 25, 2000)
    p = np.exp(-((c / sizes) ** alpha))
    at = np.abs(p**k - level).argmin()
    slopes = np.gradient(p**k, np.log(sizes)), np.gradient(p, np.log(sizes))
    return sizes[at], slopes[0][at], slopes[1][at]


MUTANTS = {
    "18.1": {
        "changes the e it was given": _layer_in_place,
        "goes wrong only where whole numbers are handed over": _layer_of_a_copy,
        "There may be more questions.": _layer_of_the_page,
    },
    "18.2": {
        "without an example to learn from": _weight_without_examples,
        "It takes tokens in rows of d + m": _weight_asked_without_residuals,
    },
    "18.3": {"If the first answer is 0, or": _differ_only_if_the_first_answer_is_not_0},
    "18.4": {"it is missing in the error": _best_step_without_noise_in_its_errors},
    "18.5": {"the longest example": _steps_by_the_longest_example},
    "18.6": {"so λ = 1 for you": _posterior_with_the_identity},
    "18.7": {"measure them from the largest": _born_without_a_shift},
    "18.8": {
        "That is close, and more digits are compared.": _emerges_on_a_grid,
        "for the probability of one token": _emerges_where_p_is_the_level,
    },
}

RIGHT = {
    "18.1": [_layer_by_loops, _layer_by_a_gradient, _layer_in_torch],
    "18.2": [_weight_by_random_questions, _weight_by_residuals, _weight_from_half_a_unit],
    "18.3": [_differ_by_powers, _differ_by_many_layers, _differ_by_the_question_alone],
    "18.4": [_best_step_by_search],
    "18.5": [_steps_by_svd, _steps_by_the_gram_matrix],
    "18.6": [
        _posterior_by_kernels,
        _posterior_by_one_example_at_a_time,
        _posterior_by_stacked_rows,
    ],
    "18.7": [_born_by_a_dict, _born_by_unique],
    "18.8": [_emerges_by_differences, _emerges_from_p],
}
