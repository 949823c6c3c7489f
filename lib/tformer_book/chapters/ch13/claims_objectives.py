"""The claim of chapter 13's deeper page on objectives: what each of them asks."""

from __future__ import annotations

import numpy as np

from tformer.models.objectives import masked_tokens, next_tokens, span_corruption
from tformer_book.claims.registry import claim, require

Array = np.ndarray


@claim(
    "prop-objectives",
    "statistical",
    mutants={
        "the next token is read where it is asked": {"moved": 0},
        "every masked token is hidden": {"read": 0.0},
        "as many are asked as are hidden": {"hidden": 1.0},
        "no mark ends the spans": {"ends": 0},
    },
    scope="200,000 tokens, 5 standard errors; spans of 400 texts",
)
def objectives(moved: int = 1, read: float = 0.1, hidden: float = 0.8, ends: int = 1) -> str:
    """Texts are put together again, token by token; masked tokens are counted."""
    rng, n_kinds = np.random.default_rng(13), 20
    texts = rng.integers(0, n_kinds, (1000, 200))
    given, wanted = next_tokens(texts)
    for t in range(199):
        asked = bool((wanted[:, t] == texts[:, t + moved]).all())
        require(asked, f"{int((wanted[:, t] != texts[:, t + moved]).sum())} others asked at {t}")
        require(bool((given[:, : t + 1] == texts[:, : t + 1]).all()), f"at {t} others are read")
    require(given.shape == wanted.shape == (1000, 199), f"asked are {wanted.shape}")
    _masked(texts, n_kinds, read, hidden)
    tried = 0
    for text in texts[:400]:
        size, share = int(rng.integers(2, 30)), float(rng.uniform(0.05, 0.6))
        marks = np.arange(100, 120)
        source, target = span_corruption(text[None, :size], rng, marks, share, 2.0)
        _put_together(text[:size], source[0], target[0], ends)
        tried += 1
    return (
        "199,000 next tokens, each asked once, with those before it read; of 200,000 tokens 0.15 "
        f"asked, and of these .8 hidden, .1 + .1/20 as they are; {tried} texts without spans and "
        "their spans are the texts"
    )


def _masked(texts: Array, n_kinds: int, read: float, hidden: float) -> None:
    """Count what is asked under a mask, and what then stands there."""
    given, wanted = masked_tokens(texts, np.random.default_rng(14), 99, n_kinds)
    asked = wanted >= 0
    require(bool((wanted[asked] == texts[asked]).all()), f"of {asked.sum()} others are asked")
    require(bool((given[~asked] == texts[~asked]).all()), f"{(~asked).sum()} are not asked")
    n = int(asked.sum())
    for name, got, share, of in (
        ("asked", n / texts.size, 0.15, texts.size),
        ("hidden", float((given[asked] == 99).mean()), hidden, n),
        ("read", float((given[asked] == texts[asked]).mean()), read and read + 0.1 / n_kinds, n),
    ):
        error = 5 * (share * (1 - share) / of) ** 0.5
        require(abs(got - share) <= error, f"{name}: {got:.4f}, not {share:.4f} ± {error:.4f}")


def _put_together(text: Array, source: Array, target: Array, ends: int) -> None:
    """Read the spans by their marks, and put each where its mark stands."""
    marks = [int(x) for x in source if x >= 100]
    spans = np.split(target, np.flatnonzero(target >= 100))[1:]
    found = {int(span[0]): span[1:] for span in spans}
    require(len(spans) == len(marks) + ends, f"{len(marks)} marks in the text, {len(spans)} after")
    whole = [y for x in source for y in (found[int(x)] if x >= 100 else [x])]
    require(whole == text.tolist(), f"{len(whole)} tokens come back of {len(text)}")
    taken = sum(map(len, spans)) - len(spans)
    sizes = (len(text) - taken + len(marks), taken + len(marks) + ends)
    require((len(source), len(target)) == sizes, f"{len(source)} and {len(target)}, not {sizes}")
