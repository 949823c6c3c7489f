"""The claims of chapter 18 that rest on trainings and on the real model."""

from __future__ import annotations

from functools import cache

import numpy as np

from tformer.parameters import tree_map
from tformer_book.chapters.ch18 import figures, linear, noisy, real, wug
from tformer_book.chapters.ch18.words import DAX, NONCE_SENTENCE, WUG, read
from tformer_book.claims.registry import claim, require
from tformer_book.claims.tools import near, show

BEHIND = {
    "no introduction": ((0.52, 0.47), (0.55, 0.45)),
    "a hungry wug": ((0.93, 0.05), (0.58, 0.42)),
    "… and a deep dax": ((0.94, 0.03), (0.05, 0.92)),
    "exchanged": ((0.04, 0.93), (0.94, 0.03)),
}
"""Probabilities of wug and dax for tired and for wide, by what stands before the sentence."""
RIGHT, CHANCE = (0.95, 1.0), (0.45, 0.55)
"""The shares of right answers of three seeds, both nouns introduced and none."""
NEEDED = ("noun on adjective", "end on trouble", "end on nouns, second layer")
CONTROLS = {"noun on article": 0.15, "end on too": 0.02, "end on adjectives, second layer": 0.02}
"""The cuts that leave at most chance, and how much the others may cost."""


@claim(
    "exm-wug",
    "empirical",
    mutants={
        "introductions do not matter": {"told": False},
        "one vector of wug serves for dax": {"same": True},
        "the noun's look at the article matters as much": {"control": 0.0},
        "a parameter changes": {"moved": 1e-3},
    },
    scope="the stored model, 100 draws of vectors; three trainings",
)
def wug_and_dax(
    told: bool = True, same: bool = False, control: float = 1.0, moved: float = 0.0
) -> str:
    """The table is computed from the stored model; exchanged vectors must exchange the answers."""
    p = wug.shown()
    before = wug.fingerprint(p)
    for name, stated in BEHIND.items():
        start = figures.TEXTS[name] if told else ""
        for trouble, want in zip(("tired", "wide"), stated, strict=True):
            got = wug.asked(start + NONCE_SENTENCE.format(trouble), p)
            require(near(got, want, 6e-3), f"{name}, {trouble}: {show(got)}, not {show(want)}")
    _exchanged(same)
    for one in wug.stored()["measured"]:
        low, high = RIGHT
        require(low <= one["right"][2] <= high, f"right in {one['right'][2]}, both introduced")
        low, high = CHANCE
        require(low <= one["right"][0] <= high, f"right in {one['right'][0]}, none introduced")
        _cuts(one["cut"], control)
    after = wug.fingerprint(tree_map(lambda x: x + moved, p) if moved else p)
    require(before == after, f"the hash was {before} and is {after}")
    return (
        "eight pairs of probabilities to .006; exchanged vectors exchange them; three trainings "
        "by shares and cuts; the hash of all parameters"
    )


def _cuts(right: dict[str, float], control: float) -> None:
    """Three cuts leave nothing right beyond chance, and three controls cost little."""
    whole = right["whole"]
    for name in NEEDED:
        require(right[name] < CHANCE[1], f"without {name} {right[name]:.3f} are right")
    for name, most in CONTROLS.items():
        lost = control * (whole - right[name]) + (1 - control) * (whole - right[NEEDED[0]])
        require(lost < most, f"without {name} {lost:.3f} are lost")


def _exchanged(same: bool) -> None:
    """Exchange the two vectors and the two words of a text: the answers are exchanged, exactly."""
    p = wug.shown()
    tokens = read(figures.TEXTS["a hungry wug"] + NONCE_SENTENCE.format("tired"))[None]
    new = wug.fresh(np.random.default_rng(1), 1)
    turned = np.where(tokens == WUG, DAX, np.where(tokens == DAX, WUG, tokens))
    a = wug.logits(tokens, new, p)[0, -1, -2:]
    b = wug.logits(turned, new if same else new[:, ::-1], p)[0, -1, -2:]
    require(near(a, b[::-1], 1e-9), f"logits {show(a)}, with names exchanged {show(b[::-1])}")


@cache
def _trained() -> tuple[linear.Layers, ...]:
    """The three layers of the page."""
    return tuple(linear.learnt(seed=seed, rate=0.01) for seed in range(3))


@claim(
    "exm-learnt-step",
    "numeric",
    mutants={
        "the step is n / (n + d)": {"want": 10 / 15},
        "a layer of six examples": {"want": 6 / 12},
        "steps along the axes differ": {"apart": 1e-4},
    },
    scope="three trainings of 600 batches; 20,000 new tasks",
)
def learnt_step(want: float = 0.625, apart: float = 0.03) -> str:
    """The error is compared with that of a step that is written out as a product of matrices."""
    e, right = linear.drawn(np.random.default_rng(7), 20000)
    x, y, q = e[:, :-1, :-1], e[:, :-1, -1], e[:, -1, :-1]
    told = want * np.einsum("bd,bnd,bn->b", q, x, y) / 10
    exact = float(((told - right) ** 2).mean()) / 5
    for layers in _trained():
        step = linear.step_of(layers)
        mean = float(step.diagonal().mean())
        require(abs(mean - want) < 0.02, f"a step of {mean:.4f}, not {want:.4f}")
        require(near(step, want * np.eye(5), apart), f"steps of {show(step.diagonal())}")
        off = linear.error(layers) - exact
        require(abs(off) < 0.002, f"its error is {off:+.4f} off that of the step {want:.3f}")
    return "steps within .02 of .625, entries of the matrix within .03, errors within .002"


@claim(
    "exm-softmax-ridge",
    "empirical",
    mutants={
        "least squares is followed": {"penalty": 0.0},
        "one layer comes as near": {"depth": "1"},
        "the noise is 1": {"penalty": 1.0},
        "least squares is farther at seven, too": {"most": 7},
    },
    scope="six trainings; 4,000 tasks, ridge as larger least squares",
)
def softmax_ridge(penalty: float = 0.25, depth: str = "3", most: int = 5) -> str:
    """Ridge is least squares on more rows; distances from it are compared."""
    tasks = noisy.held()
    clean = tasks.clean[..., 0]
    got = noisy.by_ridge(tasks, penalty)
    for n in (1, 3, 5, 7):
        for b in range(0, 400, 20):
            x = np.vstack([tasks.x[b, :n], penalty**0.5 * np.eye(3)])
            y = np.concatenate([tasks.y[b, :n, 0], np.zeros(3)])
            want = float(tasks.x[b, n] @ np.linalg.lstsq(x, y)[0])
            require(near(got[b, n], want, 1e-6), f"task {b}: {got[b, n]:.4f}, not {want:.4f}")
    best = noisy.errors(got, clean)
    squares = noisy.errors(noisy.by_ridge(tasks, 0.0), got)
    runs, one_layer = noisy.stored()[depth], noisy.stored()["1"]
    for n in range(1, noisy.COUNT):
        far = max(one["to ridge"][n] for one in runs)
        least = min(one["to ridge"][n] for one in one_layer)
        require(far < 0.05, f"{n} examples: {far:.3f} from ridge")
        require(n == 1 or far < least / 2, f"{n} examples: {far:.3f}, one layer {least:.3f}")
        require(n > most or far < squares[n], f"{n} examples: {far:.3f}, others {squares[n]:.3f}")
    last = noisy.errors(noisy.by_ridge(tasks, 0.0), clean)[-1]
    for one in (*runs, *one_layer):
        require(one["error"][-1] > last, f"at seven {one['error'][-1]:.3f}, others {last:.3f}")
        require(bool((one["error"] > best - 0.01).all()), f"{show(one['error'])} beats ridge")
        require(bool((np.diff(one["error"]) < 0).all()), f"a peak in {show(one['error'])}")
    return (
        "ridge against least squares on more rows; three layers within .05 of it and less than "
        "half as far as one, nearer than least squares up to five examples; no peak in six errors"
    )


SHARES = {
    "capitals": (0.93, 0.94, 0.92),
    "capitals, shuffled": (0.91, 0.91, 0.88),
    "labels": (0.75, 0.62, 0.73),
    "labels, random": (0.56, 0.61, 0.58),
    "labels, flipped": (0.33, 0.48, 0.31),
    "word pairs": (0.64, 0.05, 0.52),
}
"""Right answers: whole, induction heads cut, four others cut."""
BEHIND_FEW = {"0": 0.0, "1": 0.52, "2": 0.57}
"""Right capitals behind so many examples."""


@claim(
    "exm-three-kinds",
    "empirical",
    mutants={
        "induction heads are cut everywhere in vain": {"looked": "others 1"},
        "shuffled capitals do harm": {"harm": 0.3},
        "flipped labels do none": {"flipped": "labels"},
        "without an example capitals come, too": {"none": "2"},
    },
    scope="24 prompts of six kinds, four cuts, few lines; stored",
)
def three_kinds(
    looked: str = "induction", harm: float = 0.0, flipped: str = "", none: str = "0"
) -> str:
    """The table, and what is concluded, in standard errors of the differences, prompt by prompt."""
    found, summary = real.stored(), real.summary()
    for kind, stated in SHARES.items():
        three = [summary[kind][name][0] for name in ("whole", "induction", "others")]
        require(near(three, stated, 5.1e-3), f"{kind}: {show(three)}")
    worst = max(off for row in summary.values() for _, off in row.values())
    require(worst < 0.06, f"a standard error of {worst:.3f}")
    pairs = _lower(found["word pairs"]["others 0"], found["word pairs"][looked])
    require(pairs > 4, f"word pairs fall by {pairs:.1f} standard errors below other heads")
    shuffled = summary["capitals, shuffled"]["whole"][0] - harm
    require(shuffled > summary["capitals"]["whole"][0] - 0.1, f"shuffled: {shuffled:.2f}")
    turned = _lower(found["labels"]["whole"], found[flipped or "labels, flipped"]["whole"])
    require(turned > 4, f"flipped labels: lower by {turned:.1f} standard errors")
    behind = real.stored_few()["capitals"]
    few = {number: float(np.mean(row)) for number, row in behind.items()}
    for number, share in BEHIND_FEW.items():
        require(near(few[number], share, 5.1e-3), f"behind {number} examples {few[number]:.3f}")
    require(few[none] < 0.05, f"behind {none} examples {few[none]:.3f} are right")
    more = _lower(found["capitals, shuffled"]["whole"], behind["2"])
    require(more > 4, f"two right lines: lower by {more:.1f} standard errors than shuffled ones")
    return "the table to .005; what is concluded holds by four standard errors or more"


FEW_LINES = {
    "capitals": (0.00, 0.52, 0.57),
    "capitals, shuffled": (0.00, 0.51, 0.75),
    "labels": (0.58, 0.50, 0.52),
    "labels, random": (0.58, 0.57, 0.62),
    "labels, flipped": (0.56, 0.60, 0.60),
}
"""Right answers behind 0, 1 and 2 lines."""


@claim(
    "exm-few-lines",
    "empirical",
    mutants={
        "one shuffled line helps less than a right one": {"harm": 0.2},
        "two right labels tell the groups": {"ahead": 0.2},
        "eight right labels do not": {"many": "labels, random"},
    },
    scope="24 prompts of five kinds, 0, 1 and 2 lines; stored",
)
def few_lines(harm: float = 0.0, ahead: float = 0.0, many: str = "labels") -> str:
    """The table; then gaps between kinds, in standard errors of the difference."""
    few, whole = real.stored_few(), {kind: row["whole"] for kind, row in real.stored().items()}
    for kind, stated in FEW_LINES.items():
        shares = [float(np.mean(few[kind][str(number)])) for number in real.FEW]
        require(near(shares, stated, 5.1e-3), f"{kind}: {show(shares)}")
    for number in ("1", "2"):
        wrong = [share - harm for share in few["capitals, shuffled"][number]]
        lost = _lower(few["capitals"][number], wrong)
        require(lost < 2, f"{number} shuffled: lower by {lost:.1f} standard errors")
        right = [share + ahead for share in few["labels"][number]]
        gain = _lower(right, few["labels, flipped"][number])
        require(gain < 2, f"{number} right labels: ahead by {gain:.1f} standard errors")
    gain = _lower(whole[many], whole["labels, flipped"])
    require(gain > 6, f"eight right labels: ahead by {gain:.1f} standard errors")
    return "the table to .005; gaps below two standard errors behind 1 and 2 lines, above six later"


def _lower(first: list[float], second: list[float]) -> float:
    """How far the second mean is below the first, in standard errors of the difference."""
    gap = np.subtract(first, second)
    spread = (np.var(first, ddof=1) + np.var(second, ddof=1)) / len(gap)
    return float(gap.mean() / np.sqrt(spread + 1e-9))
