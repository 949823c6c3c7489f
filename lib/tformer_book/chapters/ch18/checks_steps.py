"""Exercises 18.3 to 18.5: the question as a key, the best step and the largest one."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from tformer_book.chapters.ch18.checks import Digits
from tformer_book.exercises.promises import promised, whole
from tformer_book.exercises.registry import exercise
from tformer_book.exercises.samples import integers
from tformer_book.exercises.table import Case, case

Array = np.ndarray


def _questions() -> Iterator[Case]:
    usual = (
        "After layer 1 both answer 2: the question's value is 0. Then it is −(−2), times its "
        "square 4 and divided by n = 2."
    )
    yield case(x=[[1], [1]], y=[1.0, 1.0], q=[2.0], eta=1.0, want=(2, 2.0, -2.0), why=usual)
    waits = (
        "The first gradient is (0, −1), so the answer after layer 1 is 0, and after layer 2 it is "
        "not: the mistake shows one layer later."
    )
    chain = [[1, 1], [0, 1]]
    yield case(x=chain, y=[0.0, 1.0], q=[1.0, 0.0], eta=1.0, why=waits)
    third = "After layer 1 the answer is 0, after layer 2 it is not, and layer 3 differs."
    yield case(x=[*chain, [0, 2]], y=[0.0, 1.0, 1.0], q=[1.0, 0.0], eta=0.5, why=third)
    small = "A small step: the answers differ by less than 10⁻⁶, and by more than 10⁻⁹."
    yield case(x=[[1, 2], [2, 1]], y=[3.0, 1], q=[0.5, 0.5], eta=1e-4, why=small)
    never = "The question is orthogonal to all examples: both stacks answer 0 for ever."
    yield case(x=[[1, 1], [2, 2]], y=[1.0, 3], q=[1.0, -1], eta=0.1, want=(0, 0, 0), why=never)
    yield case(x=[[1, 2]], y=[5.0], q=[0.0, 0.0], eta=0.5, want=(0, 0, 0), why="q is 0.")
    yield case(x=[[1, 2]], y=[0.0], q=[1.0, 1.0], eta=0.5, want=(0, 0, 0), why="All targets are 0.")
    block = "The targets hang on coordinates that no example ties to the question's, which is 1."
    x: Any = [[1, 0, 0], [0, 1, 1], [0, 0, 2]]
    yield case(x=x, y=[0.0, 1, 1], q=[1.0, 0, 0], eta=0.2, want=(0, 0, 0), why=block)
    for size in (3, 4, 6):
        x = np.eye(size) + np.eye(size, k=1)
        y = np.linalg.solve(x.T, np.eye(size)[-1])  # the gradient lies along the last coordinate
        why = (
            f"Each example ties two neighbouring coordinates. What the targets say reaches the "
            f"first one after {size} layers, and the mistake shows in the next."
        )
        yield case(x=x, y=y, q=np.eye(size)[0], eta=0.5, why=why)
    for seed, (n, d) in enumerate(((5, 2), (2, 4), (6, 6), (4, 1))):
        rng = np.random.default_rng(seed)
        x, y = np.round(rng.normal(size=(n, d)), 2), np.round(rng.normal(size=n), 2)
        q = np.round(rng.normal(size=d), 2)
        yield case(x=x, y=y, q=q, eta=0.3, why="The first answer is not 0, so layer 2 differs.")
    tiny = (
        "The first answer is 2 · 10⁻¹³, as rounding might leave it. After layer 2 the answers "
        "differ by less than 10⁻⁹, which counts as no difference."
    )
    x = [[1, 1], [1, 2], [1, -1]]
    yield case(x=x, y=[1.0, 1.0, -2 + 1e-12], q=[1.0, 0.0], eta=0.7, why=tiny)
    given: dict[str, Any] = {"x": integers(8, (3, 2)), "y": integers(9, (3,))}
    yield from promised(whole, **given, q=integers(5, (2,)), eta=0.5)


@exercise(
    "18.3",
    praise="Mistakes that show in layer 2, in layer 7 and never, and steps of every size.",
    hints=(
        "What does a key add whose value is 0?",
        "The question's value is its own answer. Which is the first layer whose answer is not 0?",
        "Run both on residuals, the question's last; stop at the first difference, or after n + 1 "
        "layers.",
    ),
    cases=_questions,
    otherwise="The mistake shows in the layer after the first answer that is not 0.",
    kind=Digits(
        names=("layer", "answer of the first stack", "answer of the second"),
        relative=1e-6,
        within=1e-13,
    ),
    slips="""
        return layer, -right[-1], -wrong[-1] → return layer - 1, -right[-1], -wrong[-1]
            Layers are counted from 1.
        if abs(right[-1] - wrong[-1]) >= 1e-9 → if layer == 2 or n == 0
            You take it to be layer 2 always. If the first answer is 0, the question's value is 0
            once more.
        if abs(right[-1] - wrong[-1]) >= 1e-9 → if abs(right[-1]) >= 1e-9
            That is the first layer with an answer other than 0. There both stacks answer the same:
            what the layer read of the question was 0.
        range(1, n + 2) → range(1, n + 1)
            You stop after n layers, and the difference may show in the next.
        range(1, n + 2) → range(1, 3)
            If the first answer is 0, or after two layers, you say that the answers never differ.
            They may differ later.
        range(1, n + 2) → range(1, 4)
            You stop after three layers, and the difference may show later.
        range(1, n + 2) → range(1, len(q) + 1)
            You stop after d layers, and the difference may show in the next.
        eta / n * keys @ (keys.T @ wrong) → eta / (n + 1) * keys @ (keys.T @ wrong)
            The second stack divides by n + 1, and so differs from the first layer on. Here both
            divide by n.
        eta / n * keys @ (x.T @ right[:n]) → eta / (n + 1) * keys @ (x.T @ right[:n])
        eta / n * keys @ (keys.T @ wrong) → eta / (n + 1) * keys @ (keys.T @ wrong)
            Both stacks divide by the number of tokens; n is the number of examples.
        eta / n * keys @ (x.T @ right[:n]) → eta * keys @ (x.T @ right[:n])
        eta / n * keys @ (keys.T @ wrong) → eta * keys @ (keys.T @ wrong)
            The step is not divided by n.
        eta / n * keys @ (x.T @ right[:n]) → keys @ (x.T @ right[:n]) / n
        eta / n * keys @ (keys.T @ wrong) → keys @ (keys.T @ wrong) / n
            The step is 1, whatever `eta` says.
        return layer, -right[-1], -wrong[-1] → return layer, right[-1], wrong[-1]
            Those are residuals; the answer is the question's residual with the sign reversed.
        return layer, -right[-1], -wrong[-1] → return layer, -right[-1], wrong[-1] - right[-1]
            The third number is the second stack's answer, and not the difference.
        return layer, -right[-1], -wrong[-1] → return layer, -wrong[-1], -right[-1]
            The two answers have changed places: first comes that of the stack that is right.
        >= 1e-9 → > 0
            Any difference counts for you, also one that rounding has left; below 10⁻⁹ none counts.
        >= 1e-9 → >= 1e-6
            You let a difference count from 10⁻⁶ on; it counts from 10⁻⁹ on.
        >= 1e-9 → > 1e-8 + 1e-5 * abs(right[-1])
            `np.isclose` and its like take more than 10⁻⁹ for equal, unless told otherwise.
        return 0, 0.0, 0.0 → return layer, -right[-1], -wrong[-1]
            The answers never differ here, and then three zeros are asked for.
        right = np.append(y, 0.0) → right = np.append(y, 1.0)
            The question starts with the residual 0 in both stacks.
        keys.T @ wrong) → x.T @ wrong[:n]) - eta / n * np.append(x @ q, 0) * wrong[n]
            In your second stack the examples see the question, and the question does not see
            itself. It is a key for all tokens.
        wrong - eta → wrong + eta
            In the second stack the residuals grow; the sign is the same in both.
    """,
)
def differ(x: Array, y: Array, q: Array, eta: float) -> tuple[int, float, float]:
    """The first layer at which a question that is a key is noticed, and both answers."""
    n, keys = len(x), np.vstack([x, q])
    right = np.append(y, 0.0)
    wrong = right
    for layer in range(1, n + 2):
        right = right - eta / n * keys @ (x.T @ right[:n])
        wrong = wrong - eta / n * keys @ (keys.T @ wrong)
        if abs(right[-1] - wrong[-1]) >= 1e-9:
            return layer, -right[-1], -wrong[-1]
    return 0, 0.0, 0.0


def _tasks() -> Iterator[Case]:
    small = (
        "With d = 1 the mean of x⁴ is 3. The error is 1 − 2η + η² (2 + 2) / 2 for n = 2, and with "
        "4 examples 1 − 2η + η² (4 + 2) / 4."
    )
    yield case(n=2, d=1, sigma=0.0, s=1.0, n_asked=4, want=(0.5, 0.5, 0.375), why=small)
    noisy = "Noise adds η² σ² / n to the error for each coordinate: σ² = 4 stands beside n + d + 1."
    yield case(n=3, d=2, sigma=2.0, s=1.0, n_asked=1, want=(0.3, 0.7, 1.12), why=noisy)
    double = (
        "The same as in the first case with x twice as large: a quarter of the step, and answers "
        "that are off by twice as much."
    )
    yield case(n=2, d=1, sigma=0.0, s=2.0, n_asked=4, want=(0.125, 2.0, 1.5), why=double)
    page = "The error with 160 examples stays near (1 − η)²."
    want = (0.625, 0.375, 0.1552734375)
    yield case(n=10, d=5, sigma=0.0, s=1.0, n_asked=160, want=want, why=page)
    same = "Asked with as many examples as before, the error is the same."
    yield case(n=7, d=3, sigma=0.5, s=0.5, n_asked=7, why=same)
    for n, d, sigma, s, n_asked in (
        (1, 1, 0.1, 1.5, 1000),
        (40, 8, 1.5, 0.3, 5),
        (5, 30, 0.7, 4.0, 50),
    ):
        why = "Look at three means: of S, of S², and of what the noise adds. How does s enter each?"
        yield case(n=n, d=d, sigma=sigma, s=s, n_asked=n_asked, why=why)
    many = "Many examples: the step is nearly 1 / s²."
    yield case(n=1000, d=2, sigma=0.3, s=3.0, n_asked=10, why=many)


@exercise(
    "18.4",
    praise="One example and many, noise and none, three units, and other numbers of examples.",
    hints=(
        "Write w₁ = η Xᵀy / n with y = Xw + noise. What is the mean of XᵀX / n, and of its square?",
        "For s = 1 these means are I and (n + d + 1) / n times I. With x = s x′ the first gets the "
        "factor s², the second s⁴.",
        "The error is s² (1 − 2 η s² + η² (s⁴ (n + d + 1) + s² σ²) / n): where is it least?",
    ),
    cases=_tasks,
    otherwise="The error is a parabola in η, whose coefficients depend on n, d, σ and s.",
    kind=Digits(names=("step", "error", "error as asked"), near=0.03),
    slips="""
        count + d + 1 → count + d
            You took the mean of S² to be (n + d) / n. With d = 1 and n = 1 it is the mean of x⁴,
            which is 3.
        count + d + 1 → count + d - 1
            In S² the terms with twice the same coordinate have the mean of x⁴, 3, and not 1.
        return step, → return n * v / (v**2 * n + v * sigma**2),
            You took S for its mean, and it scatters about it.
        + v * sigma**2 → + 0
            The noise in the targets is missing: it asks for a shorter step.
        + v * sigma**2 → + v**2 * sigma**2
            You scaled the noise along with x, and it does not depend on the unit of x.
        + v * sigma**2 → + v * sigma
            The variance of the noise counts, which is the square of `sigma`.
        + v * sigma**2 → + sigma**2
            The noise comes multiplied by x, so its part in w₁ has the variance s² σ² / n.
        + v * sigma**2 → + d * v * sigma**2
            The noise counts d-fold for you. It adds η² d s² σ² / n to the squared length, and the
            error is divided by d.
        + v * sigma**2 → + v * sigma**2 / d
            You divided the noise by d once too often.
        + v * sigma**2 → + v * count * sigma**2
            The noise of n examples is averaged; for you it does not become less with n.
        v = s**2 → v = 1.0
            You left s out: that is the step for x from N(0, 1).
        v = s**2 → v = s
            The variance of x is the square of s.
        return step, v * (1 - v * step), v * (1 → return step, 1 - v * step, (1
            The error of w₁ is right, and the question is drawn like the examples: its coordinates
            have the variance s², too.
        return step, → return step / n,
            That is the factor before the sum over the examples; the layer divides by n itself.
        return step, → return n / (n + d + 1 + sigma**2),
            That is the step for s = 1.
        return step, → return n / (n + d + 1 + sigma**2) / v,
            You divided the step for s = 1 by s². Without noise that is right, but the noise does
            not grow with s.
        return step, → return n / (n + d + 1 + sigma**2) / s,
            You divided the step for s = 1 by s. The step takes x twice: in the gradient it meets x
            times a residual, and the residual is answered with x again.
        return step, v * (1 - v * step), v * (1 → return step, d * v * (1 - v * step), d * v * (1
            The error is the mean of the squares, divided by d.
        v * (1 - v * step), → np.sqrt(v * (1 - v * step)),
            That is the root of the error; the mean of the squares is asked for.
        v * (1 - v * step), → v * (1 - v * step) + sigma**2 / d,
        later / n_asked) → later / n_asked) + sigma**2 / d
            The noise of a new target is in your errors; the answer is compared with x · w.
        v * (1 - v * step), → v * (1 - v * step) + sigma**2,
        later / n_asked) → later / n_asked) + sigma**2
            A noise of σ² is added to your errors; the answer is compared with x · w, without noise.
        v * (1 - v * step), → v * (1 - v * step) ** 2,
            That would be the error if S did not scatter.
        step**2 * later / n_asked → (v * step) ** 2
            That is what many examples lead to; with `n_asked` of them S still scatters.
        step**2 * later / n_asked → step**2 * spread / n_asked
            In the last error n stands where it should be `n_asked`: above the line too.
        step**2 * later / n_asked → step**2 * (later - v * sigma**2) / n_asked
            In the last error the noise is missing.
        v * (1 - v * step), → v * (1 - v * step) - v**2 * step**2 * sigma**2 / n,
            The noise is in your step, and it is missing in the error.
        2 * v * step → $ * n_asked / n
        step**2 * later / n_asked → step**2 * later * n_asked / n**2
            In the last error the sum over `n_asked` examples is still divided by n. The layer
            divides by the number that it is given.
        step**2 * later / n_asked → step**2 * later / n
            The layer divides by the number of examples that it is given.
        (1 - 2 * v * step + step**2 * later / n_asked) → (1 - n_asked * v**2 / later)
            For the last error you took the best step for `n_asked` examples; the layer keeps the
            step that it has.
        (1 - 2 * v * step + step**2 * later / n_asked) → (1 - v * step)
            The error is the same for you with any number of examples; it depends on their scatter.
        (1 - 2 * v * step + step**2 * later / n_asked) → 0.0
            With more examples the error falls, and it does not go to 0: the step is too short.
    """,
)
def best_step(n: int, d: int, sigma: float, s: float, n_asked: int) -> tuple[float, float, float]:
    """The step of least error, that error, and the error with other numbers of examples."""
    v = s**2
    spread, later = (v**2 * (count + d + 1) + v * sigma**2 for count in (n, n_asked))
    step = n * v / spread
    return step, v * (1 - v * step), v * (1 - 2 * v * step + step**2 * later / n_asked)


def _points() -> Iterator[Case]:
    two = "XᵀX / n has the eigenvalues 1 and 4: 2 / 4, and 2 / 5."
    root = float(np.sqrt(2))
    yield case(x=[[root, 0], [0, 2 * root]], want=(0.5, 0.4), why=two)
    one = "One coordinate: the mean of x² is (1 + 4 + 4) / 3 = 3. With 1/3 one layer arrives."
    yield case(x=[[1], [2], [-2]], want=(2 / 3, 1 / 3), why=one)
    few = "One example, two coordinates: along (3, 4) the eigenvalue is 25, and the 0 is left out."
    yield case(x=[[3, 4]], want=(0.08, 0.04), why=few)
    again = "A row that repeats ties no new direction: the eigenvalues are 4, 0."
    yield case(x=[[1, 1], [1, 1], [2, 2]], want=(0.5, 0.25), why=again)
    tilted = "Coordinates that go together: the largest eigenvalue lies along neither of them."
    yield case(x=[[1, 1], [2, 1], [1, 2], [-1, 0]], why=tilted)
    off = "All x lie far from 0, and it is from 0 that their squares are measured."
    yield case(x=[[5, 1], [6, 2], [5, 3]], why=off)
    thin = "The eigenvalues stand as 1 to 10⁻⁶: the small one counts."
    yield case(x=[[1, 0], [0, 0.001]], want=(4.0, 4 / 1.000001), why=thin)
    for seed, (n, d) in enumerate(((6, 3), (3, 5), (20, 4), (4, 4))):
        x = np.round(np.random.default_rng(seed).normal(size=(n, d)), 2)
        why = f"{n} examples, d = {d}." + " Two eigenvalues are 0, but for rounding." * (n < d)
        yield case(x=x, why=why)
    x = np.round(np.random.default_rng(9).normal(size=(5, 2)) @ [[1, 2, 0.5], [0, 1, -1]], 2)
    x[:, 2] = x[:, 0] + x[:, 1]
    tied = "One coordinate is the sum of the others: an eigenvalue is 0, but for rounding."
    yield case(x=x, why=tied)
    for size in (1e4, 1e-6):
        why = "What counts as 0 goes with the largest eigenvalue, whatever the unit of x is."
        yield case(x=size * x, why=why)
    yield from promised(whole, x=integers(4, (4, 2)))


@exercise(
    "18.5",
    praise="Thin and wide sets of examples, rows that repeat, coordinates that go together.",
    hints=(
        "Along an eigenvector of XᵀX / n, by which factor does a layer change what is missing?",
        "By 1 − ηλ. For which η do all factors lie between −1 and 1?",
        "The best η gives the largest and the least λ above 0 opposite factors.",
    ),
    cases=_points,
    otherwise="Every direction with an eigenvalue λ above 0 shrinks by 1 − ηλ.",
    kind=Digits(names=("bound", "best step"), near=0.005),
    slips="""
        return 2 / top → return 1 / top
            With 1 − ηλ between 0 and 1 nothing overshoots. It still converges where the factor is
            negative, as long as it lies above −1.
        curvature = curvature[curvature > 1e-9 * curvature.max()] → curvature = np.abs(curvature)
            An eigenvalue of 0 counts for you where the examples leave a direction out. The weight
            never moves there, and need not.
        x.T @ x / len(x) → x.T @ x
            The layer divides by n, and your matrix does not.
        x.T @ x / len(x) → x.T @ x / x.shape[1]
            You divided by the width of x; n is the number of examples.
        x.T @ x / len(x) → x.T @ x / max(len(x) - 1, 1)
            You divided by n − 1, as for a variance; the layer divides by n.
        x.T @ x / len(x) → (x - x.mean(0)).T @ (x - x.mean(0)) / len(x)
            The examples were centred first, and the layer does not do that.
        x.T @ x / len(x) → (x - x.mean(0)).T @ (x - x.mean(0)) / max(len(x) - 1, 1)
            That is the covariance of the examples. The layer neither centres them nor divides by
            n − 1.
        curvature = np.linalg.eigvalsh(x.T @ x / len(x)) → curvature = np.sqrt(np.abs($))
            Those are singular values; λ is their square, divided by n.
        curvature = np.linalg.eigvalsh(x.T @ x / len(x)) → curvature = np.diag(x.T @ x / len(x))
            You took the mean squares of the coordinates. Where coordinates go together the largest
            eigenvalue is larger.
        return 2 / top → return 2 * len(x) / np.linalg.svd(x, compute_uv=False)[0]
            You divided a singular value by n; λ is its square, divided by n.
        return 2 / top → return 2 / (x * x).sum(1).max()
            You took the squared length of the longest example. The largest λ comes from all of
            them together.
        return 2 / top → return 2 / curvature.sum()
            You took the sum of the eigenvalues, the trace; no direction has as much.
        2 / (top + curvature.min()) → 1 / top
            With 1 / λ the steepest direction arrives at once, and the flattest takes longer than
            it must.
        2 / (top + curvature.min()) → 1 / (top + curvature.min())
            Half of that: the factors 1 − ηλ at both ends are opposite at twice this step.
        2 / (top + curvature.min()) → 1 / np.sqrt(top * curvature.min())
            The best step is 1 over the mean of the two ends, and their geometric mean is smaller.
        2 / (top + curvature.min()) → 1 / curvature.mean()
            The mean of all eigenvalues does not matter, only the two at the ends.
        2 / (top + curvature.min()) → 2 / (top - curvature.min())
            Set 1 − η times the least equal to η times the largest − 1: a sum comes out.
        2 / (top + curvature.min()) → 1 / curvature.min()
            That step suits the flattest direction alone; the steepest one overshoots or diverges.
        return 2 / top → return 2 / curvature.min()
            The largest eigenvalue is the first to overshoot, and not the least.
        > 1e-9 * curvature.max() → > 1e-9
            Your threshold is one number for all data; it should go with the largest eigenvalue.
        > 1e-9 * curvature.max() → > 1e-5 * curvature.max()
            You left out an eigenvalue that is small and counts: only below 10⁻⁹ of the largest
            it is 0.
    """,
)
def steps(x: Array) -> tuple[float, float]:
    """The bound of the step, and the best step for many layers."""
    curvature = np.linalg.eigvalsh(x.T @ x / len(x))
    curvature = curvature[curvature > 1e-9 * curvature.max()]
    top = curvature.max()
    return 2 / top, 2 / (top + curvature.min())
