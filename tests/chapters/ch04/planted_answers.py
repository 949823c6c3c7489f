"""Mutants of answers to the exercises of chapter 4, and right answers unlike the book's."""

import math

import numpy as np
import scipy.integrate
import scipy.special
import scipy.stats

from shared_answers import softmax


def _scores(d, scale, trials, rng):
    q, k = rng.standard_normal((2, trials, d))
    return scale * (q * k).sum(-1)


def _one_query(d, scale, trials, rng):
    return (scale * rng.standard_normal((trials, d)) @ rng.standard_normal(d)).var()


def _every_pair(d, scale, trials, rng):
    q, k = rng.standard_normal((2, trials, d))
    return scale**2 * np.var(q @ k.T)


def _by_loop(d, scale, trials, rng):
    scores = [scale * (rng.normal(size=d) @ rng.normal(size=d)) for _ in range(trials)]
    return sum(s * s for s in scores) / trials


def _moments(d, mq, mk, vq, vk, rho):
    c = rho * math.sqrt(vq * vk)
    return d * (mq * mk + c), d * (vq * vk + c * c + mq * mq * vk + mk * mk * vq + 2 * c * mq * mk)


def _maximum_dropped(q, k):
    scores = q @ k.mT / k.shape[-1] ** 0.5
    terms = np.exp(scores - scores.max(-1))
    return terms / terms.sum(-1, keepdims=True)


def _in_place(q, k):
    q /= math.sqrt(q.shape[-1])
    return softmax(q @ k.mT)


def _by_heads(q, k):
    if q.ndim > 2:
        return np.array([_by_heads(a, b) for a, b in zip(q, k, strict=True)])
    scores = q @ k.T / len(k.T) ** 0.5
    return np.exp(scores - np.logaddexp.reduce(scores, axis=-1)[:, None])


def _unit(x, eps=0.0, safe=False):
    length = np.linalg.norm(x, axis=-1, keepdims=True) + eps
    return x / (np.where(length == 0, 1, length) if safe else length)


def _qk_norm(q, k, gain, eps=0.0):
    return softmax(gain * _unit(q, eps) @ _unit(k, eps).mT)


def _qk_norm_by_table(q, k, gain):
    sizes = np.linalg.norm(q, axis=-1)[..., :, None] * np.linalg.norm(k, axis=-1)[..., None, :]
    with np.errstate(all="ignore"):
        cosine = np.where(sizes > 0, q @ k.mT / sizes, 0.0)
    return softmax(gain * cosine).tolist()


def _name(q, k, tails=True, shift=0.2):
    if np.linalg.norm(q, axis=-1).std() < 1e-6:
        return "normalised"
    if tails and max(scipy.stats.kurtosis(q.ravel()), scipy.stats.kurtosis(k.ravel())) > 2:
        return "heavy"
    if max(abs(q.mean(0)).max(), abs(k.mean(0)).max()) > shift:
        return "shifted"
    return np.str_("aligned" if abs((q * k).mean(0)).max() > 0.2 else "fine")


def _maximum(n, sigma, points=20_001):
    x = np.linspace(-10, 10, points)
    below = scipy.special.ndtr(x) ** (n - 1)
    return sigma * n * np.trapezoid(x * scipy.stats.norm.pdf(x) * below, x)


def _maximum_by_quad(n, sigma):
    def above(x):
        return -math.expm1(n * scipy.special.log_ndtr(x))

    upper = scipy.integrate.quad(above, 0, 12, epsabs=1e-10, limit=500)[0]
    lower = scipy.integrate.quad(lambda x: 1 - above(x), -12, 0, epsabs=1e-10, limit=500)[0]
    return [sigma * (upper - lower)]


def _drawn_maximum(n, sigma):
    rng = np.random.default_rng(0)
    return sigma * rng.standard_normal((min(10**6 // n + 1, 10**5), n)).max(-1).mean()


def _norm_by_quad(d, scale):
    s = math.sqrt(2 * d) * scale

    def integrand(z):
        return 0.5 / math.cosh(z / 2) ** 2 * math.exp(-0.5 * (z / s) ** 2)

    end = min(60, 12 * s)
    whole = scipy.integrate.quad(integrand, 0, end, epsabs=0, epsrel=1e-10, limit=500)[0]
    return np.array(2 * whole / s / math.sqrt(2 * math.pi))


def _norm_by_hermite(d, scale):
    z, w = np.polynomial.hermite_e.hermegauss(40)
    p = scipy.special.expit(math.sqrt(2 * d) * scale * z)
    return (w * 2 * p * (1 - p)).sum() / w.sum()


def _jacobian(p):
    return np.diag(p) - np.outer(p, p)


def _why(q, k, scale, lit=0.05):
    p = softmax(scale * (k @ q))
    jacobian = _jacobian(p)
    at_query = np.sqrt((scale**2 * (jacobian @ k @ k.T @ jacobian)).trace())
    if at_query >= lit:
        return "lit"
    return "faint" if np.sqrt((jacobian**2).sum()) >= lit else "frozen"


def _length(z, u):
    p = softmax(z)
    return np.linalg.norm(p * (u - p @ u))


def _from_the_widest(z, u):
    alone = 1.001 * _length(z, u)
    return next((d for d in range(4096, 0, -1) if _length(d**0.5 * z, u) > alone), 0)


def _with_matrices(z, u):
    last, alone = 0, 1.001 * np.linalg.norm(u @ _jacobian(softmax(z)))
    for d in range(1, 4097):
        if np.linalg.norm(u @ _jacobian(softmax(np.sqrt(d) * z))) > alone:
            last = d
    return np.array([last])


MUTANTS = {
    "4.1": {
        "Which vectors meet in a score": lambda d_model, n_heads: d_model + n_heads,
    },
    "4.2": {
        "of its own": _one_query,
        "the second time": lambda d, scale, trials, rng: _scores(
            d, scale, trials, np.random.default_rng()
        ).var(),
        "Estimate the variance from draws": lambda d, scale, trials, rng: scale**2 * d,
        "one number is asked for": _scores,
        "is never negative": lambda *inputs: _scores(*inputs).mean(),
        "has the variance 0": (
            lambda *inputs: _scores(*inputs).sum().var(),
            lambda *inputs: np.var([_scores(*inputs)[0]] * 10),
        ),
        "as many pairs as `trials` says": lambda d, scale, trials, rng: _scores(
            d, scale, 10_000, rng
        ).var(),
        "also when they are many": lambda d, scale, trials, rng: _scores(
            d, scale, min(trials, 1000), rng
        ).var(),
        "A trial is one query and one key": _every_pair,
        "a shape is one argument": lambda d, scale, trials, rng: rng.standard_normal(trials, d),
    },
    "4.3": {
        "leaves another number of keys": lambda n, d, keys: 2.0,
    },
    "4.4": {
        "The mean is right, the variance is not": lambda *inputs: (_moments(*inputs)[0], 7),
        "The variance is right, the mean is not": lambda *inputs: (7, _moments(*inputs)[1]),
        "Multiply out one product": lambda *inputs: (3, 5),
        "Two numbers are asked for": lambda *inputs: _moments(*inputs)[0],
    },
    "4.5": {
        "times your scale, should be 1": lambda q, k: 0.25,
    },
    "4.6": {
        "Compare your two numbers with these": lambda q, k, scale: "frozen",
        "none of the three names": lambda q, k, scale: "dark",
    },
    "4.7": {
        "Counted from the front": lambda q, k: softmax(q @ k.mT * k.shape[-1] ** -0.5, axis=2),
        "reverses all axes": lambda q, k: softmax(q @ k.T / k.shape[-1] ** 0.5),
        "`keepdims=True` keeps it": _maximum_dropped,
        "changes the q it was given": _in_place,
    },
    "4.8": {
        "reverses all axes": lambda q, k, gain: softmax(
            gain * _unit(q, safe=True) @ _unit(k, safe=True).T
        ),
        "Counted from the front": lambda q, k, gain: softmax(
            gain * _unit(q, safe=True) @ _unit(k, safe=True).mT, axis=1
        ),
        "`keepdims=True` keeps it": lambda q, k, gain: softmax(
            gain * (q / np.linalg.norm(q, axis=-1)) @ (k / np.linalg.norm(k, axis=-1)).mT
        ),
        "felt by short vectors": lambda q, k, gain: _qk_norm(q, k, gain, eps=1e-12),
    },
    "4.9": {
        "larger than normal ones ever come": lambda q, k: _name(
            q, k, tails=abs(q).max() > 1000, shift=9.0 if abs(q).max() > 8 else 0.1
        ),
        "many standard errors away": lambda q, k: (
            "heavy" if abs(q.mean()) > 0.1 and abs(q).max() < 9 else _name(q, k)
        ),
        "none of the five names": lambda q, k: "broken",
    },
    "4.10": {
        "at least 0 and at most": lambda n, sigma: 7 + 2 * _maximum(n, sigma),
        "close, but not close enough": (
            _drawn_maximum,
            lambda n, sigma: _maximum(n, sigma, points=16),
        ),
    },
    "4.11": {
        "at most 1/2 and at most": lambda d, scale: 7 + 2 * _norm_by_quad(d, scale),
        "close, but not close enough": _norm_by_hermite,
    },
    "4.12": {
        "the better one only gets farther ahead": lambda z, u: 4096,
        "tie at every width": lambda z, u: 0,
    },
}


RIGHT = {
    "4.1": [lambda d_model, n_heads: [math.sqrt(n_heads) / math.sqrt(d_model)][0]],
    "4.2": [_by_loop, lambda *inputs: float(_scores(*inputs).var(ddof=1))],
    "4.3": [lambda n, d, keys: np.float32(math.sqrt((math.log(n) - math.log(keys)) / d))],
    "4.4": [lambda *inputs: list(_moments(*inputs)), lambda *inputs: np.array(_moments(*inputs))],
    "4.5": [lambda q, k: 1 / np.sqrt(np.cov(np.outer(q @ k.T, 1).T, ddof=0))],
    "4.6": [_why],
    "4.7": [_by_heads],
    "4.8": [_qk_norm_by_table],
    "4.9": [_name],
    "4.10": [_maximum_by_quad],
    "4.11": [_norm_by_quad],
    "4.12": [_from_the_widest, _with_matrices],
}
