"""Answers to exercises 4.9 to 4.12: which assumption fails, and three numbers known exactly."""

import math

import numpy as np
import scipy.integrate
import scipy.special
import scipy.stats


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


def _maximum(n, sigma, points=20_001, least=-10, power=None):
    x = np.linspace(least, 10, points)
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


def _gap(
    d,
    root=math.sqrt,
    middle=0.0,
    reduce=np.max,
    steps=lambda j, d: 2 * j - d,
    cumulate=np.cumsum,
    curve=scipy.special.ndtr,
):
    j = np.arange(d + 1)
    weights = scipy.special.comb(d, j) / 2.0**d
    normal = curve(steps(j, d) / root(d))
    return reduce(np.abs(cumulate(weights) - middle * weights - normal))


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
    "4.9": {
        "larger than normal ones ever come": lambda q, k: _name(
            q, k, tails=abs(q).max() > 1000, shift=9.0 if abs(q).max() > 8 else 0.1
        ),
        "its median stays at 0": lambda q, k: _name(q, k, tails=False),
        "make up the mean product": lambda q, k: "aligned" if abs(q).max() > 1000 else _name(q, k),
        "Subtract the means": lambda q, k: (
            "aligned" if 0.1 < abs((q * k).mean()) < 2 else _name(q, k)
        ),
        "all vectors have the length 4": lambda q, k: _name(q, k, lengths=False),
        "many standard errors away": lambda q, k: (
            "heavy" if abs(q.mean()) > 0.1 and abs(q).max() < 9 else _name(q, k)
        ),
        "at negative means too": lambda q, k: (
            "fine" if q.mean() < -0.1 and abs(q).max() < 9 else _name(q, k)
        ),
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
        "The exponent n makes it": lambda n, sigma: _maximum(n, sigma, power=n),
        "lacks its factor 1/√(2π)": lambda n, sigma: _maximum(n, sigma) * math.sqrt(2 * math.pi),
        "you took its root": lambda n, sigma: _maximum(n, math.sqrt(sigma)),
        "integral of the density": lambda n, sigma: 1.0,
        "in the place of the function": lambda n, sigma: -_maximum(n, sigma),
        "The scores below 0 are left out": lambda n, sigma: _maximum(n, sigma, least=0),
        "at least 0 and at most": lambda n, sigma: 1000 * _maximum(n, sigma),
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
        "not with d. For": lambda d, scale: _norm(d, scale, deviation=math.sqrt(2) * scale * d),
        "lacks the division": lambda d, scale: _norm(d, scale) * math.sqrt(2 * d) * scale,
        "expectation of 2p²": lambda d, scale: 1 - _norm(d, scale),
        "at most 1/2 and at most": lambda d, scale: 1000 * _norm(d, scale),
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
        "the sum is not j": lambda d: _gap(d, steps=lambda j, d: j),
        "half a step further on": lambda d: _gap(d, steps=lambda j, d: 2 * j + 1 - d),
        "positive signs half of it": lambda d: _gap(d, steps=lambda j, d: j - d / 2),
        "probabilities of single values": lambda d: _gap(d, cumulate=lambda weights: weights),
        "you took the density": lambda d: _gap(d, curve=scipy.stats.norm.pdf),
        "the number of all": lambda d: _gap(d, cumulate=lambda w: (w * 2.0**d).cumsum()),
        "For d = 1 the staircase": lambda d: -1.0,
        "one finite number": lambda d: _gap(d, reduce=lambda gaps: gaps),
    },
}

RIGHT = {
    "4.9": [_name],
    "4.10": [_maximum_by_quad],
    "4.11": [_norm_by_quad],
    "4.12": [_gap_by_binomial, lambda d: np.array(_gap(d))],
}
