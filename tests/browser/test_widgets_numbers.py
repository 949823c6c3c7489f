"""The arithmetic of the widgets' JavaScript, against the library, to 1e-12."""

import json
import math
from collections.abc import Iterator

import numpy as np
import pytest
from playwright.sync_api import Browser, Page

from tformer import reference
from tformer.chapters.ch01.dot_product import DotProduct
from tformer.chapters.ch02.softmax_temperature import SoftmaxTemperature

CALL = """async ([code, name, calls]) => {
    const url = URL.createObjectURL(new Blob([code], { type: "text/javascript" }));
    const { core } = await import(url);
    const read = (_, x) => typeof x === "string" ? Number(x) : x;
    const write = (_, x) => typeof x === "number" ? String(x) : x;
    return JSON.stringify(JSON.parse(calls, read).map((call) => core[name](...call)), write);
}"""


@pytest.fixture(scope="module")
def page(browser: Browser) -> Iterator[Page]:
    """An empty page to run JavaScript in."""
    page = browser.new_page()
    yield page
    page.close()


def evaluate(page: Page, widget: type, function: str, calls: list) -> list:
    """Call an exported function of a widget's module once for each list of arguments.

    Numbers travel as text, both ways, because JSON has no NaN and no infinity.
    """
    sent = json.dumps([written(call) for call in calls])
    return json.loads(page.evaluate(CALL, [widget._esm, function, sent]))


def written(x: object) -> object:
    if isinstance(x, list):
        return [written(item) for item in x]
    return x if isinstance(x, bool) else repr(x).replace("inf", "Infinity").replace("nan", "NaN")


def numbers(texts: object) -> np.ndarray:
    return np.array(texts, dtype=float)


def test_vectors_agree_with_the_library(page: Page) -> None:
    rng = np.random.default_rng(0)
    q, k = rng.normal(size=(2, 600, 2)) * 10.0 ** rng.integers(-60, 60, size=(2, 600, 1))
    q[:3], k[2:5] = 0, 0
    q[5:20] = k[5:20] * rng.choice([-2, -1, 0.5, 3], size=(15, 1))
    found = evaluate(page, DotProduct, "measure", np.stack([q, k], axis=1).tolist())
    scale = np.maximum(reference.norm(q) * reference.norm(k), 1e-300)
    ours = numbers([m["dot"] for m in found])
    np.testing.assert_allclose(ours / scale, reference.dot(q, k) / scale, atol=1e-12)
    for name, theirs in [("normQ", reference.norm(q)), ("normK", reference.norm(k))]:
        np.testing.assert_allclose(numbers([m[name] for m in found]), theirs, rtol=1e-12)
    cosine = numbers([m["cosine"] for m in found])
    np.testing.assert_allclose(cosine, reference.cosine_similarity(q, k), atol=1e-12)
    length = np.maximum(reference.norm(q), 1e-300)[:, None]
    foot = reference.projection(q, k)
    projection, rest = (numbers([m[name] for m in found]) for name in ("projection", "remainder"))
    np.testing.assert_allclose(projection / length, foot / length, atol=1e-12)
    np.testing.assert_allclose(rest / length, (q - foot) / length, atol=1e-12)
    zero = (reference.norm(q) == 0) | (reference.norm(k) == 0)
    angle = numbers([m["angle"] for m in found])
    assert (np.isnan(angle) == zero).all()
    np.testing.assert_allclose(np.cos(np.radians(angle[~zero])), cosine[~zero], atol=1e-12)


def softmax_calls() -> list[tuple[list[float], float]]:
    rng = np.random.default_rng(1)
    rows = [(rng.normal(size=n) * s).tolist() for n in range(1, 7) for s in (1, 30, 1e4)] * 20
    inf = math.inf
    rows += [[], [-inf], [-inf, -inf], [-inf, 0.0, 1.0], [inf, 0.0], [math.nan, 1.0], [1e4, -1e4]]
    return [(row, float(10 ** rng.uniform(-2, 2))) for row in rows]


def test_softmax_agrees_with_the_library(page: Page) -> None:
    calls = softmax_calls()
    found = evaluate(page, SoftmaxTemperature, "softmax", [[x, beta] for x, beta in calls])
    weights = [numbers(p) for p in found]
    for ours, (x, beta) in zip(weights, calls, strict=True):
        theirs = reference.softmax(np.array(x, dtype=float), beta=beta)
        np.testing.assert_allclose(ours, theirs, rtol=1e-12, atol=1e-300)
    entropies = evaluate(page, SoftmaxTemperature, "entropy", [[p.tolist()] for p in weights])
    theirs = [reference.entropy(p) for p in weights]
    np.testing.assert_allclose(numbers(entropies), theirs, rtol=1e-12, atol=1e-12)


def test_masked_and_shifted_weights_agree_with_the_widget_in_python(page: Page) -> None:
    rng = np.random.default_rng(2)
    calls = [
        [rng.normal(size=4).tolist(), (rng.random(4) < 0.7).tolist(), float(c), float(10**t)]
        for c, t in zip(rng.uniform(-9, 9, 200), rng.uniform(-2, 2, 200), strict=True)
    ]
    found = evaluate(page, SoftmaxTemperature, "weights", calls)
    for ours, (scores, mask, shift, T) in zip(found, calls, strict=True):
        widget = SoftmaxTemperature(scores, mask=mask, shift=shift, temperature=T)
        np.testing.assert_allclose(numbers(ours), widget.weights, rtol=1e-12, atol=1e-300)
        bound = evaluate(page, SoftmaxTemperature, "jacobianBound", [[widget.weights, 1 / T]])
        np.testing.assert_allclose(numbers(bound), [widget.jacobian_bound], rtol=1e-12)
