"""Answers to exercises 4.9 to 4.11: which assumption fails, and two numbers known exactly."""

import math

import numpy as np
import scipy.integrate
import scipy.special
import scipy.stats


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


WRONG = {
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
        "at least 0 and at most": lambda n, sigma: 7 + _maximum(n, sigma),
        "close and not close enough": (
            _drawn_maximum,
            lambda n, sigma: _maximum(n, sigma, points=16),
        ),
    },
    "4.11": {
        "at most 1/2 and at most": lambda d, scale: 7 + _norm_by_quad(d, scale),
        "close and not close enough": _norm_by_hermite,
    },
}

RIGHT = {
    "4.9": [_name],
    "4.10": [_maximum_by_quad],
    "4.11": [_norm_by_quad],
}
