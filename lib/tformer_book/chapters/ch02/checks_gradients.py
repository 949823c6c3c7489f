"""Exercises 2.3, 2.4 and 2.7: leads and races, and back through the softmax."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from tformer import reference
from tformer_book.exercises.kinds import Number
from tformer_book.exercises.registry import Test, exercise
from tformer_book.exercises.samples import integers
from tformer_book.exercises.table import Case, case, each, memory_test

Array = np.ndarray


def _leads() -> Iterator[Case]:
    yield case(share=0.5, n=3, beta=1.0, want=np.log(2))
    yield case(share=0.75, n=4, beta=2.0, want=np.log(3))
    yield case(share=0.5, n=2, beta=3.0, want=0.0, why="Two equal scores share alike.")
    yield case(share=0.1, n=10, beta=1.0, want=0.0, why="Ten equal scores share alike.")
    less = "Less than an equal share asks for a score below the others: the lead is negative."
    yield case(share=0.01, n=10, beta=0.5, why=less)
    yield case(share=1e-9, n=2, beta=1.0, said="share = 10⁻⁹, n = 2 and beta = 1", why=less)
    for n in (1000, 1_000_000, 10**12):
        many = "The rivals share one weight: no array of n numbers is needed."
        yield case(share=0.5, n=n, beta=1.0, why=many)
    small = "What is left for the others is small, and nothing may be added to it."
    said = "share = 1 − 10⁻⁹, n = 100 and beta = 0.01"
    yield case(share=1 - 1e-9, n=100, beta=0.01, said=said, why=small)
    yield case(share=0.3, n=7, beta=1000.0)


def _ends_at(most: float, share: float, n: int, beta: float) -> float:
    return float(np.clip(lead_for(share, n, beta), -most, most))


@exercise(
    "2.3",
    praise="The lead is right for two keys and for a million million, for shares near 0 and near "
    "1. A thousand times as many rivals cost ln 1000 more, wherever you start.",
    hints=(
        "All rivals have the same weight. What is it, if the leader has `share`?",
        "The ratio of two weights depends on the difference of their scores alone.",
        "e to the power β times the lead is the leader's weight over the weight of one rival.",
    ),
    cases=_leads,
    kind=Number(within=1e-6, relative=1e-9, near=0.0),
    slips="""
        n - 1 → n
            The rest is shared by the n − 1 others; the leader is not among them.
        * (n - 1) →
            That is the lead over a single rival; there are n − 1.
        / beta →
            β is left out.
        / beta → * beta
            You multiplied by β: the sharper softmax is, the smaller the lead that is needed.
        odds * (n - 1) → (n - 1) / (1 - share)
            That lead is enough and more than is needed: you solved the bound of the chapter and not
            the definition.
        np.log(odds * (n - 1)) → odds * (n - 1)
            A ratio of weights belongs to a difference of scores by way of a logarithm.
        np.log → np.log2
            The logarithm is the natural one; you took the one to base 2.
        np.log → np.log10
            The logarithm is the natural one; you took the one to base 10.
        np.log → -np.log
            The sign is reversed.
        * (n - 1) → / (n - 1)
            You compared the leader with the rest as a whole, and divided where there are more
            rivals to beat.
        share / (1 - share) → (1 - share) / share
            The share of the leader stands over what is left, not under it.
        odds * (n - 1) → n - 1
            The share has no effect: that is the lead for a half.
        (1 - share) → (1 - share + 1e-9)
            A small number is added to what is left for the others, and it is felt where little is
            left.
        odds * (n - 1) → share * (n - 1)
            The share is compared with the whole; compare it with what it leaves for the others.
        = np.log(share * n) / beta
            You set e^(lead) against all n keys; it is the odds, share over 1 − share, against n −
            1 rivals.
        = np.log(share / (1 - share)) / beta + np.log(n - 1)
            β multiplies the whole lead, and divides both logarithms.
        = lead_for(share, max(n - 1, 2), beta)
            You counted n − 2 rivals; beside the leader there are n − 1.
    """,
    mutants=each(
        _ends_at,
        {
            f"The search ends at {size} on both sides, and the lead may lie beyond.": size
            for size in (20, 50, 100, 1000)
        },
    ),
    otherwise="Write down the weight of the leader, and solve for the lead.",
)
def lead_for(share: float, n: int, beta: float) -> float:
    """The lead over n − 1 equal scores that gives the weight `share`."""
    odds = share / (1 - share)
    return float(np.log(odds * (n - 1)) / beta)


def _races() -> Iterator[Case]:
    yield case(scores=[1.0, 0, -2], want=np.log(2) / 3)
    yield case(scores=[-8.0, 1, 0], want=np.log(8) / 9)
    never = "Its score lies below the mean of all, so its weight falls from the start: β = 0."
    yield case(scores=[3.0, 1, 0], want=0.0, why=never)
    yield case(scores=[0.0, 1], want=0.0, why=never)
    yield case(scores=[0.0, -3, 1, -2, -6])
    yield case(scores=[5.0, 2, 4.5, 1])
    together = "Scores that lie close together need a large β."
    yield case(scores=[0.0, 0.001, -0.002], want=np.log(2) / 0.003, why=together)
    yield case(scores=[0.0, -2000, 1000], want=np.log(2) / 3000)
    for far in (1000.0, -1000.0, 20_000.0):
        over = "Without a shift the exponentials are all ∞ or all 0. Subtract the largest score."
        yield case(scores=far + np.array([-2.0, 0, 1]), want=np.log(2) / 3, why=over)
    yield case(scores=[0, 10.0, 9.9, -5, 3, 1])
    apart = "Scores that lie far apart need a small β, right within a millionth of itself."
    yield case(scores=[0.0, 900, 1000], why=apart)
    yield case(scores=[0.001, -1000, 0], want=np.log(1e6) / 1000.001, why="Near and far in one.")
    barely = "Its score lies a little above the mean of all, so its weight rises a little."
    for above in ([0, 0.5001, 1], [-1.8, -1.7, -1, 0]):
        yield case(scores=np.array(above), why=barely)
    for below in ([0, 0.4999, 1], [-1.2, 2, -1, 0, 0.1]):
        yield case(scores=np.array(below), why=never)
    many = np.random.default_rng(3).permutation(np.sqrt(np.arange(60.0)))
    yield case(scores=many, said="60 scores, the roots of 0 to 59 in no order")
    yield case(scores=[-2.0, 1, 0], want=np.log(2) / 3, whole=True)


def _crossing(gaps: Array, low: float, most: float, shift: float) -> float:
    """The β from `low` up at which the mean of the gaps under softmax is 0; `low` if it is not."""

    def behind(beta: float) -> bool:
        return not float((np.exp(beta * (gaps - shift)) * gaps).sum()) >= 0

    if not behind(low):
        return low
    high = 1.0
    while behind(high):
        low, high = high, 2 * high
        if high > most:
            return most
    for _ in range(200):
        middle = (low + high) / 2
        low, high = (middle, high) if behind(middle) else (low, middle)
    return (low + high) / 2


@exercise(
    "2.4",
    praise="Your β is right for two scores and for six, close together and far apart, and 0 where "
    "the second best never rises.",
    hints=(
        "How does a weight change with β? The derivative of log p with respect to β is short.",
        "The slope of a weight is the weight times (its score − the mean score under the weights). "
        "When is that zero?",
        "The mean score rises with β, from the plain mean to the largest score. So it passes the "
        "second score once or, if it begins above it, never. Double and halve.",
    ),
    cases=_races,
    kind=Number(within=1e-12, relative=1e-6),
    slips="""
        low=0.0 → low=-50.0
            A negative β turns the order of the scores round. From 0 on this weight only falls.
        return → return 1 /
            That is the temperature; β is its inverse.
        = 0.0
            The second score lies above the mean of all scores here, so its weight rises at first:
            β = 0 is not its best.
        [-2] → [1]
            That is the second score from below; the second best is the second from above.
        [-2] → [-3]
            That is for the third best.
        np.sort(scores)[-2] → scores[1]
            You took the second score as it stands in the list; sort first.
        most=1e9 → most=10.0
            The search ends at 10, and the best β may lie far beyond.
        shift=gaps.max() → shift=-np.sort(scores)[-2]
            Without a shift the exponentials are all ∞ or all 0, and nothing is found.
        = _share(scores, second_best(scores))
            That is a share and no β: the largest one that the second best gets.
        = second_best(np.sort(scores)[-3:])
            You kept the three best scores; the others pull the mean down as well.
        = round(second_best(scores), 6)
            The search ends within a millionth; a millionth of β itself is asked for, and β may be
            small.
        = np.inf
            The weight of the largest score grows without an end; that of the second has a best β.
        = 1 / np.diff(np.sort(scores)[-2:])[0]
            That is one over the lead of the best; the other scores count too.
        = second_best(-scores)
            You followed the second smallest score.
        = second_best(np.sort(scores)[[0, -2, -1]]) if len(scores) > 2 else 0.0
            Only the best, the second and the worst count there; all scores have weight.
        = max(second_best(scores), 0.01) if second_best(scores) > 0 else 0.0
            You began at 0.01; where scores lie far apart β is smaller.
        = second_best(scores) if scores[1] == np.sort(scores)[-2] else 0.0
            You followed the second entry; the second largest score may stand elsewhere.
    """,
    otherwise="The right β is the one at which the mean score, weighted by the softmax, equals the "
    "second score.",
)
def second_best(scores: Array) -> float:
    """The β at which the weight of the second largest score is largest."""
    gaps = scores - np.sort(scores)[-2]
    return _crossing(gaps, low=0.0, most=1e9, shift=gaps.max())


def _share(scores: Array, beta: float) -> float:
    return float(np.sort(reference.softmax(scores, beta=beta))[-2])


def _gradients() -> Iterator[Case | Test]:
    p, grad = [0.5, 0.25, 0.25], [4.0, 0, -2]
    yield case(p=p, grad=grad, beta=1.0, want=(1.25, -0.375, -0.875))
    yield case(p=p, grad=grad, beta=2.0, want=(2.5, -0.75, -1.75))
    yield case(p=[0.5, 0.5, 0], grad=[1.0, 3, 9], beta=1.0, want=(-0.5, 0.5, 0))
    yield case(p=[0.0, 1, 0], grad=[1.0, -2, 4], beta=3.0, want=np.zeros(3))
    yield case(p=p, grad=np.full(3, 7.0), beta=1.0, want=np.zeros(3))
    yield case(p=p, grad=[1000.0, -1000, 2000], beta=0.1)
    shapes = [(2, 2), (2, 3), (3, 2), (2, 2, 3), (3, 2, 4), (3, 1, 4), (4, 1), (1, 5)]
    for seed, shape in enumerate(shapes):
        q = reference.softmax(integers(seed, shape))
        yield case(p=q, grad=integers(seed + 7, shape), beta=0.5, why="Rows do not mix.")
    q = reference.softmax(integers(3, (2, 3, 2, 2)) / 3)
    yield case(p=q, grad=integers(4, (2, 3, 2, 2)) / 3, beta=1.5, why="Rows do not mix.")
    why = "the whole Jacobian, 1500 × 1500. Multiply its two terms by grad on paper first."
    even, ones = np.full(1500, 1 / 1500), np.ones(1500)
    yield memory_test(4e6, "one row of 1500 weights", why, p=even, grad=ones, beta=1.0)


@exercise(
    "2.7",
    praise="The same numbers as with the full Jacobian, for several β and stacks of rows, and in "
    "memory that grows with S instead of S².",
    hints=(
        "Write the product of grad with β(diag p − pᵀp) as two terms. What does diag p do to a row "
        "vector?",
        "The second term contains grad·p, one number for each row. It is the mean of grad under "
        "the weights p.",
        "Both terms have the factor p. What is left in the bracket is how far each gradient lies "
        "above that mean.",
    ),
    cases=_gradients,
    slips="""
        grad - mean → grad
            That is p times grad alone, the diagonal term of the Jacobian. One weight can only grow
            at the cost of the others: the second term is missing.
        = beta * p * (1 - p) * grad
            You used p(1 − p), the diagonal of the Jacobian; its other entries −p_i p_j count too.
        (p * grad).sum → grad.mean
            The mean of grad is taken with equal weights; weigh it with p.
        beta * p * → beta *
            The factor p in front is missing.
        grad - mean → mean - grad
            The sign is reversed.
        grad - mean → grad + mean
            grad is added to its mean; the Jacobian has a minus there.
        (p * grad).sum → grad.sum
            The sum of grad is subtracted; it is to be weighed with p.
        = beta * (p * grad - (p * grad).sum(axis=-1, keepdims=True))
            The factor p is missing at the mean: both terms have it.
        beta * p * → beta * p * p *
            The factor p stands in front twice.
        beta * p * → p *
            β is left out: scores that are multiplied by β pass on β times the gradient.
        beta * p * → p / beta *
            β divides; the chain rule multiplies by it.
        beta * p * → beta**2 * p *
            β enters once; here it is applied twice.
        beta * p * (grad → p * (beta * grad
            β multiplies the first term alone; it belongs to both.
        = beta * (p - grad)
            That is the gradient of the cross-entropy with respect to the scores; here any gradient
            may arrive at the weights.
        = softmax_backward(reference.softmax(p), grad, beta)
            p holds the weights already; you took their softmax once more.
        = beta * reference.softmax_jacobian(p)
            That is the full Jacobian; its product with grad is asked for.
        (axis=-1, keepdims=True) → ()
            One mean was taken over the whole array; each row has its own.
        , keepdims=True →
            The mean of each row was laid along the columns. Keep the axis with keepdims=True.
        axis=-1, keepdims=True → axis=0
            The means of the columns were subtracted; each row has its own.
    """,
    otherwise="A gradient counts by how far it lies above the mean of its row.",
)
def softmax_backward(p: Array, grad: Array, beta: float) -> Array:
    """grad · β(diag p − pᵀp) without the matrix."""
    mean = (p * grad).sum(axis=-1, keepdims=True)
    return np.asarray(beta * p * (grad - mean))
