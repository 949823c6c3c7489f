"""The claims of chapter 11 that count: guesses, lessons, vectors, and what training gave."""

from __future__ import annotations

import math
from dataclasses import replace
from fractions import Fraction
from itertools import product
from typing import Any

import numpy as np

from tformer import reference as ref
from tformer.configuration import Configuration
from tformer.models.sizes import Sizes, initialise
from tformer.parameters import EncoderDecoderParameters, ModelParameters, tree_map
from tformer_book.chapters.ch11 import counts, forms, tasks
from tformer_book.claims import plain
from tformer_book.claims.registry import claim, require
from tformer_book.claims.tools import near, profiled, stirred


@claim(
    "thm-best-guess",
    "exhaustive",
    mutants={
        "the word that follows is seen as well": {"ahead": 3},
        "every pair is a coin": {"share": Fraction(1, 2)},
        "the loss is that of a coin": {"surprise": math.log(2)},
        "an encoder has to guess as well": {"encoder": Fraction(13, 20)},
    },
    scope="all 2,880 stories; all answers to each beginning",
)
def best_guess(
    ahead: int = 0,
    share: Fraction = Fraction(13, 20),
    surprise: float = 0.642177,
    encoder: Fraction = Fraction(1),
) -> str:
    """The world's counts; then a random causal stack, whose vectors cannot tell stories apart."""
    right, loss = counts.best_guess(tasks.ALL, "decoder", tasks.IT + ahead)
    require(right == share, f"at best {right} of the stories are right at “it”")
    require(near(loss, surprise, 1e-6), f"the least mean loss at “it” is {loss:.6f}")
    sure, none = counts.best_guess(tasks.ALL, "encoder", tasks.IT)
    require(sure == encoder, f"at best {sure} are right where all words are known")
    require(none == 0, f"and the least mean loss is {none:.6f}")
    groups = counts.knowing(tasks.ALL, "decoder", tasks.IT)
    by_hand = Fraction(0)
    for who in groups.values():
        total = sum(who.values())
        shares = sorted(Fraction(n, total) for n in who.values())
        want = ([Fraction(1, 2)] * 2, [Fraction(1, 3), Fraction(2, 3)])
        require(shares in want, f"who is meant has the chances {[str(x) for x in shares]}")
        by_hand += total * shares[-1]
    require(by_hand / len(tasks.ALL) == share, f"{by_hand / len(tasks.ALL)} by hand")
    rows = tasks.ALL.tokens()[:, : tasks.READ]
    p = stirred(forms.model(0, n_vocab=len(tasks.ALL.words)))
    seen: dict[tuple[int, ...], np.ndarray] = {}
    for row, z in zip(rows, ref.decoder(rows, p, forms.PLAIN)[:, tasks.IT], strict=True):
        first = seen.setdefault(tuple(row[: tasks.IT + 1]), z)
        require((first == z).all(), "a causal stack at “it” knows a later word")
    return (
        f"{len(groups)} beginnings of 2,880 stories: 13/20 can be right, the least mean loss is "
        f"{loss:.4f} nats, and with all words known every answer is certain; a random causal "
        "stack has one vector, to the bit, for each beginning"
    )


@claim(
    "prop-lessons",
    "numeric",
    mutants={
        "each hidden word teaches all words": {"per_hidden": 2},
        "a pass always has a lesson": {"none": 0},
        "the last word of a decoder teaches nothing": {"lost": 1},
        "an encoder is judged at every word": {"all_words": True},
    },
    scope="all sets of hidden words, T ≤ 8; passes of 1 to 5 words",
)
def lessons(per_hidden: int = 1, none: int = 1, lost: int = 0, all_words: bool = False) -> str:
    """Every set of hidden words with its chance; then passes of each architecture.

    A pass can be judged at a vector whose logits do not move with the word that is asked of it.
    """
    share = Fraction(3, 20)
    for n in range(1, 9):
        mean, empty = Fraction(0), Fraction(0)
        for hidden in product((False, True), repeat=n):
            chance = share ** sum(hidden) * (1 - share) ** (n - sum(hidden))
            mean += chance * sum(hidden)
            empty += chance * (not any(hidden))
        require(mean == per_hidden * share * n, f"{n} words: {mean} lessons on average")
        require(empty == none * (1 - share) ** n, f"{n} words: no lesson with chance {empty}")
    for n in range(1, 6):
        found = _judged(n, "decoder")
        require(found == n - lost, f"a decoder's pass over {n} words has {found} lessons")
        found = _judged(n, "pair")
        require(found == n, f"a pair's pass with a target of {n} words has {found} lessons")
        for hidden in product((False, True), repeat=n):
            found = _judged(n, "encoder", hidden)
            want = n if all_words else sum(hidden)
            require(found == want, f"{n} words, {sum(hidden)} hidden: {found} lessons, not {want}")
    return (
        "with a share of 3/20 hidden, all sets of up to 8 words have 3/20 of T lessons on average "
        "and none with probability (17/20)^T; in passes over up to 5 words, as many vectors have a "
        "lesson as is stated"
    )


def _judged(n: int, form: str, hidden: tuple[bool, ...] = ()) -> int:
    """At how many vectors a pass does not see the word it is asked for; what is asked is learnt."""
    p, blank, start = stirred(forms.model(n)), 11, 10
    both, source = stirred(forms.pair(n)), np.array([4, 2, 7])
    text = np.random.default_rng(n).integers(0, 9, n + 1)

    def run(text: np.ndarray) -> np.ndarray:
        if form == "decoder":
            return ref.decoder(text[:n], p, forms.PLAIN)
        if form == "pair":
            target = np.array([start, *text[: n - 1]])
            return ref.encoder_decoder(source, target, both, forms.PLAIN)
        return ref.unembed(ref.encoder(np.where(hidden, blank, text[:n]), p, forms.PLAIN), p)

    z, asked, unseen = run(text), text[1:] if form == "decoder" else text[:n], np.zeros(n, bool)
    for t in range(n):
        other = text.copy()
        other[t + (form == "decoder")] = 9
        unseen[t] = bool((run(other)[t] == z[t]).all())
    grad = ref.cross_entropy_vjp(z, np.where(unseen, asked, -1), np.ones(n))
    want = unseen[:, None] * (plain.softmax(z) - (np.arange(z.shape[1]) == asked[:, None]))
    require(near(grad, want), f"{form}, {n} words: other gradients than shares less what came")
    return int(unseen.sum())


@claim(
    "prop-rows",
    "exhaustive",
    mutants={
        "an encoder reads each word once": {"anew": 0},
        "a cache saves nothing": {"cached": False},
        "the blank is not read": {"blank": 0},
        "the start of a target has no vector": {"start": 0},
        "a cached word looks at itself alone": {"looks": False},
    },
    scope="S and n up to 6; operations by PyTorch's counter",
)
def bill(
    anew: int = 1, cached: bool = True, blank: int = 1, start: int = 1, looks: bool = True
) -> str:
    """Vectors counted while each architecture writes; operations counted by PyTorch."""
    c, sizes = Configuration(positions="rope"), Sizes(11, 8, 2, 2, 16)
    rng = np.random.default_rng(0)
    p, encoder, crossed = (
        stirred(initialise(replace(sizes, has_cross_attention=two), c, rng, std=0.5))
        for two in (False, False, True)
    )
    pair = EncoderDecoderParameters(encoder, crossed)
    for s in range(1, 7):
        words = np.random.default_rng(s).integers(0, 10, s)
        for one in (p, pair):
            fast_way, slow_way = (list(counts.writing(one, c, words, 6, x)) for x in (True, False))
            first = [word for word, _ in fast_way]
            require(first == [w for w, _ in slow_way], f"S = {s}: other words without a cache")
            said = f"S = {s}: {first}, and by PyTorch other words"
            require(first == _written(one, c, words, 6), said)
        stated = {
            "encoder": lambda n, s=s: n * s * anew + n * (n - 1) // 2 + n * blank,
            "decoder": lambda n, s=s: s + n - 1,
            "pair": lambda n, s=s: s + n - 1 + start,
        }
        written = {
            "encoder": counts.writing(p, c, words, 6, blank=10),
            "decoder": counts.writing(p, c, words, 6, cached),
            "pair": counts.writing(pair, c, words, 6, cached=True),
        }
        for form, found in written.items():
            for n, rows in enumerate(np.cumsum([took for _, took in found]), 1):
                said = f"{form}, S = {s}, n = {n}: {rows} vectors, not {stated[form](n)}"
                require(rows == stated[form](n) == counts.rows_to_write(form, s, n), said)
    for one, (s, n) in product(("encoder", "decoder"), ((3, 4), (6, 2), (1, 1))):
        got, want = _operations(one, p, c, s, n), counts.flops_to_write(one, sizes, s, n)
        if not looks and one == "decoder":
            want -= 4 * 8 * 2 * sum(range(s, s + n - 1))
        require(got == want, f"{one}, S = {s}, n = {n}: {got} operations, not {want}")
    return (
        "S, n ≤ 6: nS + n(n + 1)/2, S + n − 1 and S + n vectors, counted while writing; the same "
        "words with a cache and without; operations as the formula says by PyTorch's counter, "
        "three sizes"
    )


def _written(model: Any, c: Configuration, words: np.ndarray, n: int) -> list[int]:
    """The likeliest words by PyTorch, each from a full pass over all before it."""
    import torch

    from tformer import fast

    p, given, found = tree_map(torch.from_numpy, model), torch.from_numpy(words), []
    two = isinstance(model, EncoderDecoderParameters)
    text = torch.zeros(1, dtype=torch.long) if two else given
    for _ in range(n):
        z = fast.encoder_decoder(given, text, p, c) if two else fast.decoder(text, p, c)
        found.append(int(z[-1].argmax()))
        text = torch.cat([text, z[-1].argmax()[None]])
    return found


def _operations(form: str, p: ModelParameters, c: Configuration, s: int, n: int) -> int:
    """PyTorch's count of the products: of the passes, and of unembedding what is read."""
    import torch

    from tformer import fast

    q = tree_map(lambda x: torch.tensor(x, dtype=torch.float32), p)

    def passes() -> None:
        caches, given = None, torch.zeros(s, dtype=torch.long)
        for i in range(n):
            if form == "encoder":
                fast.encoder(torch.zeros(s + i + 1, dtype=torch.long), q, c)
            else:
                _, caches = fast.cached_decoder(given, q, c, caches)
                given = given[:1]

    def unembedding(n_rows: int) -> int:
        return profiled(lambda: fast.unembed(torch.zeros(n_rows, 8), q))

    unembedded = 0 if form == "encoder" else s + n - 1
    return profiled(passes) - unembedding(unembedded) + n * unembedding(1)


@claim(
    "exm-three-tasks",
    "empirical",
    mutants={
        "a decoder knows at “it”": {"at_it": 1.0},
        "an encoder without a mask can write": {"writes": 1.0},
        "it does not copy": {"copies": False},
        "with a blank at the end it cannot write": {"at_blank": 0.0},
        "only a pair can translate": {"alone": 0.5},
    },
    scope="held-out pairs of nouns, five stored runs each",
)
def three_tasks(
    at_it: float = 0.6587,
    writes: float = 0.0,
    copies: bool = True,
    at_blank: float = 0.95,
    alone: float = 1.0,
) -> str:
    """The stored runs, which a test trains again in part; means of five against the bounds."""
    held_out = tasks.ALL.split()[1]
    bound = float(counts.best_guess(held_out, "decoder", tasks.IT)[0])
    require(near(bound, at_it, 5e-5), f"the bound at “it” is {bound:.4f}")
    most = float(tasks.shares("refer", "decoder", 0).max())
    require(most <= bound, f"a decoder is right at “it” in {most}")
    shares = [
        _right("refer encoder", "at “it”", 0),
        _right("refer decoder", "at the last word", 3),
        _right("remedy decoder", "writing"),
        _right("german pair", "writing"),
        _right("german prefix", "writing"),
        _right("german decoder", "writing", most=alone),
        _right("remedy blank", "writing", at_least=at_blank, most=at_blank + 0.05),
    ]
    for place in range(3):
        _right("remedy encoder", "the right words in view", place)
    wrote, copied = (tasks.shares("remedy", "encoder", what) for what in ("wrote", "copied"))
    require(abs(wrote.mean() - writes) < 0.1, f"encoders without a mask write {wrote.mean():.3f}")
    require((copied.min() > 0.5) == copies, f"{copied.min():.3f} at least copy a wrong cure")
    return (
        f"means of five runs: {min(shares):.3f} or more right of each kind, {wrote.mean():.3f} "
        "where an encoder trained on next words writes; that says a wrong cure on its right in "
        f"{copied.min():.3f} to {copied.max():.3f} of the trials"
    )


def _right(
    run: str, where: str, what: int | str = "wrote", at_least: float = 0.95, most: float = 1.0
) -> float:
    """Require a mean share of right answers, and return it."""
    task, form = run.split()
    mean = float(tasks.shares(task, form, what).mean())
    require(at_least <= mean <= most, f"{run} {where}: {mean:.3f} right")
    return mean
