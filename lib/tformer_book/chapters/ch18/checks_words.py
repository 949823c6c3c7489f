"""Exercises 18.6 to 18.8: a posterior, words of one document, and a curve under a metric."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from tformer_book.chapters.ch18.checks import Digits
from tformer_book.exercises.kinds import Several
from tformer_book.exercises.promises import promised, whole
from tformer_book.exercises.registry import exercise
from tformer_book.exercises.samples import integers
from tformer_book.exercises.table import Case, case

Array = np.ndarray


def _evidence() -> Iterator[Case]:
    one = "With d = 1: XᵀX + σ² = 5 + 4, Xᵀy = 9, so w has the mean 1 and the variance 4 / 9."
    yield case(x=[[1], [2]], y=[1.0, 4], q=[3.0], sigma=2.0, want=(3.0, 4.0), why=one)
    beside = "The question is orthogonal to the example: nothing is learnt about it."
    yield case(x=[[1, 1]], y=[4.0], q=[1.0, -1], sigma=0.5, want=(0.0, 2.0), why=beside)
    few = "One example, two coordinates: x · x + σ² = 2.25, and σ² lets the matrix be inverted."
    yield case(x=[[1, 1]], y=[4.5], q=[1.0, 0], sigma=0.5, want=(2.0, 5 / 9), why=few)
    sure = "Other targets, the same vectors: the mean changes and the variance does not."
    yield case(x=[[1, 1]], y=[0.0], q=[1.0, 0], sigma=0.5, want=(0.0, 5 / 9), why=sure)
    for seed, (n, d, sigma) in enumerate(((5, 2, 0.3), (3, 5, 1.5), (4, 4, 0.1), (30, 3, 2.0))):
        rng = np.random.default_rng(seed)
        x, w = np.round(rng.normal(size=(n, d)), 2), rng.normal(size=d)
        y = np.round(x @ w + sigma * rng.normal(size=n), 2)
        q = np.round(rng.normal(size=d), 2)
        why = f"{n} examples, d = {d}: XᵀX + σ² times the identity is the matrix to be inverted."
        yield case(x=x, y=y, q=q, sigma=sigma, why=why)
    none = "Without examples the mean is 0 and the variance q · q."
    yield case(x=np.zeros((0, 2)), y=np.zeros(0), q=[1.0, 3], sigma=0.5, want=(0, 10), why=none)
    given: dict[str, Any] = {"x": integers(1, (4, 3)), "y": integers(2, (4,))}
    yield from promised(whole, **given, q=integers(4, (3,)), sigma=2.0)


def _ridge(x: Array, y: Array, penalty: float) -> Array:
    matrix = x.T @ x + max(penalty, 1e-9) * np.eye(x.shape[1])
    return np.linalg.solve(matrix, x.T @ y)


def _scatter(x: Array, y: Array, matrix: Array) -> float:
    return float(np.mean((y - x @ np.linalg.solve(matrix, x.T @ y)) ** 2))


@exercise(
    "18.6",
    praise="No example and many, fewer than coordinates, questions that no example speaks of.",
    hints=(
        "Multiply the densities of w and of y given w. Which sum of squares is in the exponent?",
        "|y − Xw|² / σ² + |w|²: ridge regression with λ = σ². The curvature gives the variance.",
        "w has the covariance σ² (XᵀX + σ² I)⁻¹; the variance of q · w is q times that times q.",
    ),
    cases=_evidence,
    otherwise="The mean is ridge regression's answer, and the variance comes from the same matrix.",
    kind=Digits(names=("mean", "variance"), relative=1e-8),
    slips="""
        x.T @ x + sigma**2 * np.eye(len(q)) → x.T @ x + sigma * np.eye(len(q))
            λ is the variance of the noise, the square of `sigma`.
        x.T @ x + sigma**2 * np.eye(len(q)) → x.T @ x + sigma * np.eye(len(q))
        sigma**2 * (pulls @ q) → sigma * (pulls @ q)
            `sigma` stands for the variance of the noise in both numbers; it is its root.
        pulls @ (x.T @ y) → q @ _ridge(x, y, len(x) * sigma**2)
            λ = n σ²: XᵀX is a sum over the examples here, and not a mean.
        x.T @ x + sigma**2 * np.eye(len(q)) → x.T @ x + np.eye(len(q)) / sigma**2
            λ is σ² and not 1 / σ²: the more noise, the more the answer stays near 0.
        pulls @ (x.T @ y) → q @ _ridge(x, y, 1.0)
            You add the identity to XᵀX, so λ = 1 for you. It is σ².
        = q @ np.linalg.pinv(x) @ y, sigma**2 * q @ np.linalg.pinv(x.T @ x) @ q
            That is least squares, with the variance that the noise gives it. What is known of w
            before any example is missing.
        = (q @ np.linalg.inv(x.T @ x) @ x.T @ y, sigma**2 * q @ np.linalg.inv(x.T @ x) @ q)
            The matrix XᵀX alone is inverted: that is least squares, and with fewer examples than
            coordinates there is no inverse.
        x.T @ x + sigma**2 * np.eye(len(q)) → x.T @ x + sigma**2
            σ² is added to every entry of XᵀX; it belongs on the diagonal.
        solve(matrix, q) → solve(np.diag(np.diag(matrix)), q)
            The coordinates of w are treated one by one; examples tie them together.
        return pulls @ (x.T @ y) → return pulls @ (x.T @ (y - y.mean()))
            The targets were centred first; the model has no constant.
        return pulls @ (x.T @ y) → return pulls @ (x.T @ y) / sigma**2
            The mean is divided by σ² once more.
        return pulls @ (x.T @ y) → return sigma**2 * pulls @ (x.T @ y)
            The mean is multiplied by σ². If the matrix is XᵀX / σ² + I, divide Xᵀy by σ² as well.
        sigma**2 * (pulls @ q) → _scatter(x, y, matrix) * (pulls @ q)
            You estimated the noise from the residuals. It is known, so the targets do not enter.
        sigma**2 * (pulls @ q) → _scatter(x, y, matrix)
            That is the mean squared residual of the examples. The variance of q · w depends on
            the vectors, and not on the targets.
        sigma**2 * (pulls @ q) → pulls @ q
            The variance lacks the factor σ².
        sigma**2 * (pulls @ q) → sigma * (pulls @ q)
            The factor of the variance is σ² and not σ.
        sigma**2 * (pulls @ q) → sigma * np.sqrt(pulls @ q)
            That is the standard deviation; the variance is its square.
        sigma**2 * (pulls @ q) → sigma**2 * (1 + pulls @ q)
            The noise of a new answer is counted, and the variance of q · w alone is asked for.
        sigma**2 * (pulls @ q) → sigma**2 * np.trace(np.linalg.inv(matrix))
            That is the total variance of w; along the question it is another.
        sigma**2 * (pulls @ q) → sigma**2 * (q**2 @ np.diag(np.linalg.inv(matrix)))
            Covariances are left out: the coordinates of w are not independent any more.
        sigma**2 * (pulls @ q) → sigma**2 * (pulls @ pulls)
            The inverse stands in the variance once, between q and q; you have it twice.
        sigma**2 * (pulls @ q) → sigma**2 * (pulls @ x.T @ x @ pulls)
            That is how much the answer scatters if w is fixed and the noise is drawn again. Here w
            itself is uncertain.
        sigma**2 * (pulls @ q) → q @ q - sigma**2 * (pulls @ q)
            That is by how much the examples have lowered the variance.
        sigma**2 * (pulls @ q) → q @ q
            That is the variance before any example.
        sigma**2 * (pulls @ q) → sigma**2 * (q @ np.linalg.pinv(x.T @ x) @ q)
            That is the variance of least squares. What is known of w beforehand lowers it, and
            directions without an example keep the variance 1.
    """,
)
def posterior(x: Array, y: Array, q: Array, sigma: float) -> tuple[float, float]:
    """Mean and variance of an answer given the examples."""
    matrix = x.T @ x + sigma**2 * np.eye(len(q))
    pulls = np.linalg.solve(matrix, q)
    return pulls @ (x.T @ y), sigma**2 * (pulls @ q)


def _documents() -> Iterator[Case]:
    table = np.array([[0.0, 0], [1, 1]])
    fresh = np.array([[1.0, 0], [0, 1], [1, -1]])
    h = np.array([0.0, np.log(3)])
    two = (
        "Words 7, 1 and 4 have the vectors (1, 0), (1, 1) and (0, 1), and the logits 0, ln 3 and "
        "ln 3."
    )
    want = [7, 1, 4], np.array([1, 3, 3]) / 7
    yield case(ids=np.array([7, 1, 7, 4, 1]), table=table, fresh=fresh, h=h, want=want, why=two)
    other = "The same document with the ids 2 and 9 for its nonce words: the same probabilities."
    want = [2, 1, 9], np.array([1, 3, 3]) / 7
    yield case(ids=np.array([2, 1, 2, 9, 1]), table=table, fresh=fresh, h=h, want=want, why=other)
    edge = "Ids 0 and 1 are known, and 2 = V is the first id of a nonce word."
    yield case(ids=np.array([0, 2, 1]), table=table, fresh=fresh, h=np.array([1.0, 2]), why=edge)
    one = "A document of one word: its probability is 1."
    yield case(ids=np.array([5]), table=table, fresh=fresh, h=h, want=([5], [1.0]), why=one)
    known = "All words are known."
    yield case(ids=np.array([1, 0, 1]), table=table, fresh=fresh, h=h, why=known)
    for size in (1000.0, -1000.0):
        why = f"Logits lie near {size:g}".replace("-", "−") + ": measure them from the largest."
        far = np.array([size, size + 1])
        yield case(ids=np.array([1, 3, 0, 6]), table=table + 1, fresh=fresh + 1, h=far, why=why)
    for seed, (T, V, d, most) in enumerate(((9, 3, 4, 8), (20, 6, 3, 12), (30, 2, 8, 40))):
        rng = np.random.default_rng(seed)
        ids = rng.integers(0, most, T)
        vectors = np.round(rng.normal(size=(V, d)), 2), np.round(rng.normal(size=(T, d)), 2)
        h = np.round(rng.normal(size=d), 2)
        why = "Nonce words get their rows in the order in which they first appear."
        yield case(ids=ids, table=vectors[0], fresh=vectors[1], h=h, why=why)
    given: dict[str, Any] = {"table": integers(1, (3, 2)), "fresh": integers(2, (5, 2))}
    for part in promised(whole, **given, h=integers(3, (2,))):
        inputs = {"ids": np.array([4, 0, 8, 4, 2, 3]), **part.inputs}
        yield case(**inputs, whole=True, why=part.why)


def _new_each_time(ids: Array, table: Array, fresh: Array, h: Array) -> tuple[Array, Array]:
    vectors, used = {}, 0
    for word in ids.tolist():
        vectors[word] = table[word] if word < len(table) else fresh[used]
        used += word >= len(table)
    logits = np.array(list(vectors.values())) @ h
    terms = np.exp(logits - logits.max())
    return np.array(list(vectors)), terms / terms.sum()


def _among_all(ids: Array, table: Array, fresh: Array, h: Array) -> tuple[Array, Array]:
    words, _ = born(ids, table, fresh, h)
    nonce = [word for word in words if word >= len(table)]
    logits = np.concatenate([table, fresh[: len(nonce)]]) @ h
    places = [nonce.index(w) + len(table) if w in nonce else w for w in words]
    terms = np.exp(logits - logits.max())
    return words, (terms / terms.sum())[places]


@exercise(
    "18.7",
    praise="Ids in any order, documents of one word, nonce words and none, large logits.",
    hints=(
        "Go through the document once. When does a word get a vector, and which?",
        "list(dict.fromkeys(…)) has each id once, in the order in which they first appear.",
        "Nonce words alone count for the rows of `fresh`. Then a softmax over the words' logits.",
    ),
    cases=_documents,
    otherwise="A word has one vector in its document, and one probability.",
    kind=Several(names=("array of words", "array of probabilities")),
    mutants={
        "A nonce word gets a new vector each time it appears; it keeps its first one.": (
            _new_each_time
        ),
        "Known words that are not in the document share in your softmax; it is taken over the "
        "words of the document alone.": _among_all,
    },
    slips="""
        words = list(dict.fromkeys(ids.tolist())) → words = np.unique(ids).tolist()
            The words are sorted by their ids. The order of the document is asked for, and the rows
            of `fresh` go by it.
        for word in words if word >= len(table)] → for word in sorted(words) if word >= len(table)]
            The rows of `fresh` go by the size of the ids. The first nonce word of the document gets
            row 0.
        fresh[nonce.index(word)] → fresh[word - len(table)]
            Id V gets row 0, id V + 1 row 1: ids of nonce words mean nothing, and the order of
            their first appearance decides.
        fresh[nonce.index(word)] → np.vstack([table, fresh])[word]
            You joined the tables and took ids for rows. The row of a nonce word goes by its first
            appearance, and not by its id.
        fresh[nonce.index(word)] → fresh[words.index(word)]
            Known words are counted as well: row 0 belongs to the first nonce word, and not to the
            first word.
        fresh[nonce.index(word)] → fresh[ids.tolist().index(word)]
            The place in the document is no row of `fresh`; nonce words are counted, each once.
        fresh[nonce.index(word)] → fresh[0]
            All nonce words share one vector, so nothing tells them apart.
        fresh[nonce.index(word)] → 0 * table[0]
            Nonce words have the vector 0, as an unknown word would; each has a row of `fresh`.
        word >= len(table)] → word > len(table)]
            Id V is a nonce word too: known are 0 to V − 1.
        words = list(dict.fromkeys(ids.tolist())) → words = ids.tolist()
            Words that repeat are counted each time they appear.
        words = list(dict.fromkeys(ids.tolist())) → words = list(dict.fromkeys(ids[::-1].tolist()))
            The words are in the order of their last appearance, from the end.
        words = list(dict.fromkeys(ids.tolist())) → words = list(dict.fromkeys(ids[:-1].tolist()))
            The last word is missing, unless it appears before.
        logits = np.array(vectors) @ h → logits = np.array(vectors) @ h / np.sqrt(len(h))
            The logits are divided by the root of d; here they are plain dot products.
        np.exp(logits - logits.max()) → $ * np.array([(ids == w).sum() for w in words])
            A word that appears twice counts twice in your softmax; each word has one logit.
        terms / terms.sum() → logits
            Those are logits; a softmax over the words is asked for.
        terms / terms.sum() → terms
            The exponentials are not divided by their sum.
        terms / terms.sum() → np.log(terms / terms.sum())
            Those are logarithms of the probabilities.
        terms / terms.sum() → logits / logits.sum()
            The logits were divided by their sum without the exponential.
    """,
)
def born(ids: Array, table: Array, fresh: Array, h: Array) -> tuple[Array, Array]:
    """The different words of a document, and the probability of each."""
    words = list(dict.fromkeys(ids.tolist()))
    nonce = [word for word in words if word >= len(table)]
    vectors = [fresh[nonce.index(word)] if word in nonce else table[word] for word in words]
    logits = np.array(vectors) @ h
    terms = np.exp(logits - logits.max())
    return np.array(words), terms / terms.sum()


def _metrics() -> Iterator[Case]:
    half = (
        "One token is right with probability ½ where (c / N)^α = ln 2 = 0.6931. The slope there is "
        "½ ln 2, of the score and of p, which is the same for k = 1."
    )
    two = float(np.log(2))
    want = (10 / two, two / 2, two / 2)
    yield case(c=10.0, alpha=1.0, k=1, level=0.5, want=want, why=half)
    four = "With k = 2 and a score of ¼ each token is right with probability ½."
    yield case(c=10.0, alpha=1.0, k=2, level=0.25, want=want, why=four)
    power = "With α = ½ the size goes with the square of k / ln(1 / level)."
    yield case(c=10.0, alpha=0.5, k=8, level=0.5, why=power)
    for c, alpha, k, level in (
        (8.8e13, 0.076, 1, 0.5),
        (8.8e13, 0.076, 10, 0.5),
        (3.0, 2.0, 5, 0.9),
        (400.0, 0.3, 100, 0.05),
        (2e5, 0.25, 3, 0.99),
        (50.0, 0.4, 1000, 1e-3),
    ):
        why = "At this size each token brings ln(1 / level) / k nats."
        yield case(c=c, alpha=alpha, k=k, level=level, why=why)


@exercise(
    "18.8",
    praise="One token and a thousand, levels near 0 and near 1, flat laws and steep ones.",
    hints=(
        "The score is e^(−k (c / N)^α). For which loss a token is it `level`?",
        "Let u = (c / N)^α. By log N it has the derivative −α u.",
        "By log N the score has the slope α k u e^(−k u), and p has α u e^(−u).",
    ),
    cases=_metrics,
    otherwise="The score is e^(−k u) with u = (c / N)^α, whose derivative by log N is −α u.",
    kind=Digits(names=("size", "slope of the score", "slope of p"), near=0.01, relative=1e-4),
    slips="""
        return c * loss ** (-1 / alpha), → return c * (k * loss) ** (-1 / alpha),
            You took `level` for the probability of one token; it is that of all k.
        return c * loss ** (-1 / alpha), → return c * (k**2 * loss) ** (-1 / alpha),
            k tokens are harder than one: each has to be right with the k-th root of `level`.
        return c * loss ** (-1 / alpha), → return c * (loss / np.log(10)) ** (-1 / alpha),
            You took a logarithm to base 10. The natural logarithm undoes a power of e.
        return c * loss ** (-1 / alpha), → return c * (loss / np.log(2)) ** (-1 / alpha),
            You took a logarithm to base 2. The natural logarithm undoes a power of e.
        loss ** (-1 / alpha), → (-np.log(1 - (1 - level) ** (1 / k))) ** (-1 / alpha),
            You took the score for the probability that one of k tokens is right; all have to be.
        -np.log(level) / k → 1 - level ** (1 / k)
            p is e to the minus loss, and not 1 minus the loss.
        loss ** (-1 / alpha), → loss ** (1 / alpha),
            The size is upside down: a smaller loss asks for a larger model.
        loss ** (-1 / alpha), → loss ** (-alpha),
            Solve (c / N)^α = loss for N: the exponent is turned over.
        return c * loss ** (-1 / alpha), → return loss ** (-1 / alpha),
            The size lacks its unit c.
        return c * loss ** (-1 / alpha), → return np.log(c) - np.log(loss) / alpha,
            That is the logarithm of the size.
        alpha * k * loss * level → k * loss * level
            The slope of the score lacks α: by log N the loss falls as α times itself.
        alpha * k * loss * level → alpha * loss * level
            The slope of the score lacks the factor k of the exponent.
        alpha * k * loss * level → -alpha * k * loss * level
            The score rises with the size.
        alpha * k * loss * level → alpha * k * loss
            The derivative of an exponential keeps the exponential, here `level`.
        alpha * k * loss * level → alpha * k * loss * level / (c * loss ** (-1 / alpha))
            That is the derivative by N; it is asked for by log N.
        alpha * k * loss * level → alpha * k * loss * level * np.log(10)
            That is the slope for each power of ten; logarithms are natural.
        alpha * k * loss * level → k * level
            That is how fast the score changes with the loss. How fast does the loss change with
            log N?
        alpha * k * loss * level → k * level ** ((k - 1) / k)
            That is the derivative of the score by p, and not by log N.
        alpha * loss * np.exp(-loss) → loss * np.exp(-loss)
            The slope of p lacks α.
        alpha * loss * np.exp(-loss) → alpha * loss
            The slope of p lacks p itself.
        alpha * loss * np.exp(-loss) → alpha * loss * level
            The derivative of p keeps p, which is the k-th root of `level`.
        alpha * loss * np.exp(-loss) → -alpha * level * np.log(level)
            That is the slope of p where p is `level`. It is asked for at the size where the score
            is.
        alpha * loss * np.exp(-loss) → alpha * k * loss * np.exp(-loss)
            The slope of p holds a k, and p does not know of it.
        alpha * loss * np.exp(-loss) → np.exp(-loss)
            That is p itself; its slope is asked for.
        alpha * loss * np.exp(-loss) → -alpha * loss * np.exp(-loss)
            p rises with the size.
        alpha * loss * np.exp(-loss) → alpha * loss * np.exp(-loss) / (c * loss ** (-1 / alpha))
            The slope of p is taken by N; it is asked for by log N.
    """,
)
def emerges(c: float, alpha: float, k: int, level: float) -> tuple[float, float, float]:
    """The size at which a score reaches a level, and the slopes of the score and of p there."""
    loss = -np.log(level) / k
    return c * loss ** (-1 / alpha), alpha * k * loss * level, alpha * loss * np.exp(-loss)
