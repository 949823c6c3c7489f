"""Mistakes people make in the exercises of chapter 4, and right answers unlike the book's."""

import math

import numpy as np
import scipy.integrate
import scipy.special
import scipy.stats


def _softmax(x):
    with np.errstate(all="ignore"):
        e = np.exp(x - x.max(-1, keepdims=True))
        return e / e.sum(-1, keepdims=True)


def _scores(d, scale, trials, rng, draw="standard_normal"):
    q, k = getattr(rng, draw)((2, trials, d))
    return scale * (q * k).sum(-1)


def _one_query(d, scale, trials, rng):
    return (scale * rng.standard_normal((trials, d)) @ rng.standard_normal(d)).var()


def _by_loop(d, scale, trials, rng):
    scores = [scale * (rng.normal(size=d) @ rng.normal(size=d)) for _ in range(trials)]
    return sum(s * s for s in scores) / trials


def _tied(d, scale, trials, rng):
    q = rng.standard_normal((trials, d))
    return (scale * (q * q).sum(-1)).var()


def _moments(d, mq, mk, vq, vk, rho, square=1, cross=2, shared=1):
    c = rho * math.sqrt(vq * vk)
    spread = vq * vk + square * c * c + mq * mq * vk + mk * mk * vq + cross * c * mq * mk
    return d * (mq * mk + shared * c), d * spread


def _weights(q, k, power=-0.5):
    return _softmax(q @ k.mT * k.shape[-1] ** power)


def _one_maximum(q, k):
    scores = q @ k.mT / math.sqrt(k.shape[-1])
    terms = np.exp(scores - scores.max())
    return terms / terms.sum(-1, keepdims=True)


def _model_width(q, k):
    return _softmax(q @ k.mT / math.sqrt(q.shape[-3] * q.shape[-1]))


def _in_place(q, k):
    q /= math.sqrt(q.shape[-1])
    return _softmax(q @ k.mT)


def _by_heads(q, k):
    if q.ndim > 2:
        return np.array([_by_heads(a, b) for a, b in zip(q, k, strict=True)])
    scores = q @ k.T / len(k.T) ** 0.5
    return np.exp(scores - np.logaddexp.reduce(scores, axis=-1)[:, None])


def _unit(x, eps=0.0, safe=False):
    length = np.linalg.norm(x, axis=-1, keepdims=True) + eps
    return x / (np.where(length == 0, 1, length) if safe else length)


def _qk_norm(q, k, gain, eps=0.0):
    return _softmax(gain * _unit(q, eps) @ _unit(k, eps).mT)


def _qk_norm_by_table(q, k, gain):
    sizes = np.linalg.norm(q, axis=-1)[..., :, None] * np.linalg.norm(k, axis=-1)[..., None, :]
    with np.errstate(all="ignore"):
        cosine = np.where(sizes > 0, q @ k.mT / sizes, 0.0)
    return _softmax(gain * cosine).tolist()


def _name(q, k, tails=True, shift=0.1, lengths=True, product=0.1, signed=False):
    sizes = np.linalg.norm(q, axis=-1)
    if lengths and sizes.std() < 1e-6:
        return "normalised"
    if tails and max(scipy.stats.kurtosis(q.ravel()), scipy.stats.kurtosis(k.ravel())) > 2:
        return "heavy"
    if max(abs(q.mean()), abs(k.mean())) > shift:
        return "shifted"
    together = (q * k).mean() if signed else abs((q * k).mean())
    return np.str_("aligned" if together > product else "fine")


def _maximum(n, sigma, points=20_001, magnitude=False, power=None):
    x = np.linspace(-10, 10, points)
    below = scipy.special.ndtr(x) ** (n - 1 if power is None else power)
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


def _largest_magnitude(n, sigma):
    x = np.linspace(0, 10, 20_001)
    density = 2 * n * scipy.stats.norm.pdf(x) * (2 * scipy.special.ndtr(x) - 1) ** (n - 1)
    return sigma * np.trapezoid(x * density, x)


def _norm(d, scale, factor=2.0, half=2.0, deviation=None):
    s = math.sqrt(factor * d) * scale if deviation is None else deviation
    z = np.linspace(-1, 1, 40_001) * min(60, 12 * s)
    p = scipy.special.expit(z)
    return np.trapezoid(half * p * (1 - p) * scipy.stats.norm.pdf(z, scale=s), z)


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


def _gap(d, root=math.sqrt, middle=0.0, reduce=np.max):
    j = np.arange(d + 1)
    weights = scipy.special.comb(d, j) / 2.0**d
    normal = scipy.special.ndtr((2 * j - d) / root(d))
    return reduce(np.abs(weights.cumsum() - middle * weights - normal))


def _gap_by_binomial(d):
    j = np.arange(d + 1)
    law, normal = scipy.stats.binom(d, 0.5), scipy.special.ndtr((2 * j - d) / d**0.5)
    return [max(np.abs(law.cdf(j) - normal).max(), np.abs(law.cdf(j - 1) - normal).max())]


def _gap_on_a_grid(d):
    x = np.linspace(-4, 4, 1001)
    law = scipy.stats.binom.cdf(np.floor((x * d**0.5 + d) / 2), d, 0.5)
    return np.abs(law - scipy.special.ndtr(x)).max()


def _gap_drawn(d):
    sums = 2 * np.random.default_rng(0).binomial(d, 0.5, 20_000) - d
    x = np.arange(-d, d + 1, 2)
    law = (sums[:, None] <= x).mean(0) if d < 50 else np.ones(d + 1)
    return np.abs(law - scipy.special.ndtr(x / d**0.5)).max()


WRONG = {
    "4.1": {
        "made of the width of the model": lambda d_model, n_heads: d_model**-0.5,
        "by which the scores are divided": lambda d_model, n_heads: (d_model / n_heads) ** 0.5,
        "with its root, and once": lambda d_model, n_heads: n_heads / d_model,
        "made of the number of heads": lambda d_model, n_heads: n_heads**-0.5,
        "the scale is made from it": lambda d_model, n_heads: d_model // n_heads,
    },
    "4.2": {
        "near the standard deviation": lambda *inputs: _scores(*inputs).std(),
        "near the variance of one product": lambda d, scale, trials, rng: (
            scale * rng.standard_normal((trials, d)) * rng.standard_normal((trials, d))
        ).var(),
        "without the scale": lambda d, scale, trials, rng: _scores(d, 1, trials, rng).var(),
        "as its square": lambda d, scale, trials, rng: scale * _scores(d, 1, trials, rng).var(),
        "between 0 and 1 would give": lambda *inputs: _scores(*inputs, draw="random").var(),
        "equals its query": _tied,
        "of its own": _one_query,
        "the second time": lambda d, scale, trials, rng: _scores(
            d, scale, trials, np.random.default_rng()
        ).var(),
        "for six different generators": lambda d, scale, trials, rng: scale**2 * d,
        "one number is asked for": _scores,
    },
    "4.3": {
        "the square of the scale": lambda n, d, keys: math.log(n / keys) / d,
        "The width d is missing": lambda n, d, keys: math.sqrt(math.log(n / keys)),
        "half as large": lambda n, d, keys: math.sqrt(math.log(n / keys) / 2 / d),
        "twice as large": lambda n, d, keys: math.sqrt(2 * math.log(n / keys) / d),
        "natural one": lambda n, d, keys: math.sqrt(math.log10(n / keys) / d),
        "Divide by √d": lambda n, d, keys: math.sqrt(math.log(n / keys) * d),
    },
    "4.4": {
        "ρ changes both": lambda *inputs: _moments(*inputs[:-1], 0),
        "The mean lacks": lambda *inputs: _moments(*inputs, shared=0),
        "The variance is that of independent": lambda *inputs: (
            _moments(*inputs)[0],
            _moments(*inputs[:-1], 0)[1],
        ),
        "lacks the term with ρ²": lambda *inputs: _moments(*inputs, square=0),
        "are correlated: their": lambda *inputs: _moments(*inputs, cross=0),
        "you have it once": lambda *inputs: _moments(*inputs, cross=1),
        "for one coordinate": lambda d, *inputs: _moments(1, *inputs),
        "not with d²": lambda d, *inputs: (
            _moments(d, *inputs)[0],
            d * _moments(d, *inputs)[1],
        ),
        "standard deviation beside": lambda *inputs: (
            _moments(*inputs)[0],
            math.sqrt(_moments(*inputs)[1]),
        ),
        "comes second": lambda *inputs: _moments(*inputs)[::-1],
    },
    "4.5": {
        "divide by its root": lambda q, k: 1 / (q @ k.T).var(),
        "That is the standard deviation": lambda q, k: (q @ k.T).std(),
        "root of the mean square": lambda q, k: ((q @ k.T) ** 2).mean() ** -0.5,
        "four scores, not two": lambda q, k: 1 / (q[: len(k)] * k[: len(q)]).sum(-1).std(),
        "relies on assumptions": lambda q, k: q.shape[-1] ** -0.5,
        "not by 3": lambda q, k: 1 / (q @ k.T).std(ddof=1),
        "means matter": lambda q, k: 1 / (q.std() * k.std()) / q.shape[-1] ** 0.5,
    },
    "4.6": {
        "half of it is lost": lambda n, d, scale: max(0, math.log(n) - scale**2 * d),
        "whatever the scale": lambda n, d, scale: max(0, math.log(n) - 0.5),
        "as its square": lambda n, d, scale: max(0, math.log(n) - scale * d / 2),
        "The width is missing": lambda n, d, scale: max(0, math.log(n) - scale**2 / 2),
        "cannot be negative": lambda n, d, scale: math.log(n) - scale**2 * d / 2,
        "in bits": lambda n, d, scale: max(0, math.log(n) - scale**2 * d / 2) / math.log(2),
        "half of the standard deviation": lambda n, d, scale: math.log(n) - scale * d**0.5 / 2,
    },
    "4.7": {
        "both roots are √4": lambda q, k: _weights(q, k, power=-1),
        "still divided by √4": lambda q, k: _weights(q, k) / math.sqrt(k.shape[-1]),
        "once more after": lambda q, k: _weights(q, k, power=-1) / math.sqrt(k.shape[-1]),
        "not scaled at all": lambda q, k: _weights(q, k, power=0),
        "the width of the model; the scale": _model_width,
        "a maximum of its own": _one_maximum,
        "changes the q it was given": _in_place,
    },
    "4.8": {
        "The gain has no effect": lambda q, k, gain: _qk_norm(gain * q, k, 1),
        "divided by √K as well": lambda q, k, gain: _qk_norm(q, k, gain / q.shape[-1] ** 0.5),
        "came in twice": lambda q, k, gain: _qk_norm(q, k, gain**2),
        "not divided by the lengths": lambda q, k, gain: _softmax(gain * q @ k.mT),
        "length of the key only": lambda q, k, gain: _softmax(gain * q @ _unit(k).mT),
        "length of the query only": lambda q, k, gain: _softmax(gain * _unit(q) @ k.mT),
        "0/0 is nan": _qk_norm,
        "felt by short vectors": lambda q, k, gain: _qk_norm(q, k, gain, eps=1e-12),
        "exp(1000) is more": lambda q, k, gain: (
            np.exp(gain * _unit(q, safe=True) @ _unit(k, safe=True).mT)
            / np.exp(gain * _unit(q, safe=True) @ _unit(k, safe=True).mT).sum(-1, keepdims=True)
        ),
    },
    "4.9": {
        "larger than normal ones ever come": lambda q, k: _name(q, k, tails=False),
        "all vectors have the length 4": lambda q, k: _name(q, k, lengths=False),
        "many standard errors away": lambda q, k: _name(q, k, shift=9.0),
        "pair by pair": (
            lambda q, k: _name(q, k, signed=True),
            lambda q, k: _name(q, k, product=0.4),
        ),
        "need not be normal": lambda q, k: (
            ("heavy" if abs(scipy.stats.kurtosis(q.ravel())) > 1 else _name(q, k))
            if np.linalg.norm(q, axis=-1).std() > 1e-6
            else "normalised"
        ),
        "none of the five names": lambda q, k: "broken",
    },
    "4.10": {
        "That is the bound": lambda n, sigma: sigma * math.sqrt(2 * math.log(n)),
        "for standard deviation 1": lambda n, sigma: _maximum(n, 1.0),
        "not with its square": lambda n, sigma: _maximum(n, sigma**2),
        "one score in n exceeds": lambda n, sigma: sigma * scipy.special.ndtri(1 - 1 / n),
        "the median of the maximum": lambda n, sigma: sigma * scipy.special.ndtri(0.5 ** (1 / n)),
        "largest magnitude": _largest_magnitude,
        "lacks the factor n": lambda n, sigma: _maximum(n, sigma) / n,
        "close and not close enough": (
            _drawn_maximum,
            lambda n, sigma: _maximum(n, sigma, points=16),
        ),
    },
    "4.11": {
        "varies twice as much": lambda d, scale: _norm(d, scale, factor=1),
        "the 2 is missing": lambda d, scale: _norm(d, scale, half=1),
        "at equal scores": lambda d, scale: 0.5,
        "only in the limit": lambda d, scale: 1 / (scale * math.sqrt(d * math.pi)),
        "its root is the standard": lambda d, scale: _norm(d, scale, deviation=2 * scale**2 * d),
        "The scale is missing": lambda d, scale: _norm(d, 1.0),
        "one typical difference": lambda d, scale: 0.5 / math.cosh(scale * math.sqrt(d / 2)) ** 2,
        "close and not close enough": _norm_by_hermite,
    },
    "4.12": {
        "to be divided by √d before": lambda d: _gap(d, root=lambda d: 1),
        "was divided by d; √d": lambda d: _gap(d, root=lambda d: d),
        "middle of each step": lambda d: _gap(d, middle=0.5),
        "That is the bound": lambda d: 1 / math.sqrt(2 * math.pi * d),
        "sum of the gaps": lambda d: _gap(d, reduce=np.sum),
        "mean of the gaps": lambda d: _gap(d, reduce=np.mean),
        "close and not close enough": (_gap_on_a_grid, _gap_drawn),
    },
}

RIGHT = {
    "4.1": [lambda d_model, n_heads: [math.sqrt(n_heads) / math.sqrt(d_model)][0]],
    "4.2": [_by_loop],
    "4.3": [lambda n, d, keys: np.float32(math.sqrt((math.log(n) - math.log(keys)) / d))],
    "4.4": [lambda *inputs: list(_moments(*inputs))],
    "4.5": [lambda q, k: 1 / np.sqrt(np.cov(np.outer(q @ k.T, 1).T, ddof=0))],
    "4.6": [lambda n, d, scale: np.maximum(math.log(n) - (scale * math.sqrt(d)) ** 2 / 2, 0)],
    "4.7": [_by_heads],
    "4.8": [_qk_norm_by_table],
    "4.9": [_name],
    "4.10": [_maximum_by_quad],
    "4.11": [_norm_by_quad],
    "4.12": [_gap_by_binomial, lambda d: np.array(_gap(d))],
}
