"""The arrays of the machine, from tokens to probabilities: what each is called, made of, known for.

What is said of a part is one of three: it is built so, it was measured on the first page, or it is
not known. A test computes every number of these texts again.
"""

from __future__ import annotations

from typing import Any

__all__ = ["GROUPS", "PARTS", "Part"]

Part = dict[str, Any]
GROUPS = (
    "Text",
    *(f"Block {n}, {part}" for n in (1, 2) for part in ("attention", "feed-forward")),
    "Next word",
)
FIRST = "00_whole_machine"
VECTORS = f"{FIRST}.html#vectors-every-word-has-a-row-of-numbers"
VARIANTS = f"{FIRST}.html#change-a-line"
CUTS, TOLD = f"{FIRST}.html#exm-cuts", f"{FIRST}.html#exm-never-told"
BUILT, MEASURED, UNKNOWN = "Built so", "Measured", "Not known"

ADDED = (BUILT, "A change is added to each vector; nothing that was there is overwritten.", "")
NORM = (
    MEASURED,
    "Each row gets a root mean square of 1. Three trainings without this had losses of 7.87 to "
    "7.89, with it 7.95 to 8.00: here norm does not lower the loss.",
    VARIANTS,
)
SINGLE = (UNKNOWN, "What one of the 32 numbers says. Only dot products of q and k are used.", "")
VALUE = (UNKNOWN, "What one of the 32 numbers says. The book only cut weights, not values.", "")
WRITTEN = (UNKNOWN, "What is written into which number. The book only cut weights.", "")
UNITS = (
    MEASURED,
    "Without all feed-forward parts, three trainings found 0.79, 0.89 and 0.92 of the patients; "
    "with them 1.00, 0.97 and 0.74. These runs do not show that the part is needed, and what one "
    "unit does is not known.",
    VARIANTS,
)
SCORES = (BUILT, "Of two words that may be seen, the larger score gets the larger weight.", "")
MASK = (
    BUILT,
    "A later word gets −∞, so its weight is 0 and the machine cannot read the word that it has to "
    "guess.",
    "",
)
WEIGHTS = (
    (
        MEASURED,
        "On 504 held-out stories “it” gives the second noun 0.80 on average, and “not” gives the "
        "first noun 0.92. Cut the weight of “it”: right second nouns fall from 1 to 0.246. Cut "
        "that of “not”: right first nouns fall from 1 to 0.246. Five other trainings lost at most "
        "0.27 by such cuts.",
        CUTS,
    ),
    (
        MEASURED,
        "On 504 held-out stories the last “the” gives “it” 0.81 if the second noun is meant, and "
        "“not” 0.77 if the first is. Cut its weight of “it”: right second nouns fall from 1 to "
        "0.198. Cut that of “not”: right first nouns fall from 1 to 0.266. Five other trainings "
        "lost at most 0.27 by such cuts.",
        CUTS,
    ),
)


def _part(
    group: int, key: str, caption: str, formula: str, how: str, *of: str, **more: Any
) -> Part:
    shown = more.pop("shown")
    about = {"columns": "numbers", "colour": "signed", "name": caption, **more}
    said = dict(zip(("status", "said", "source"), shown, strict=True))
    return {"id": key, "group": group, "caption": caption, "formula": formula, "how": how,
            "of": list(of), **about, **said}  # fmt: skip


def _start() -> list[Part]:
    kinds = (
        MEASURED,
        "Training raised the mean cosine of two nouns of one kind from 0.01 to 0.17. What one of "
        "the 32 numbers means is not known.",
        VECTORS,
    )
    places = (
        MEASURED,
        "Without P, three trainings found 1.00, 0.93 and 0.85 of the patients; with it 1.00, 0.97 "
        "and 0.74. These runs do not show that P is needed.",
        VARIANTS,
    )
    name = (BUILT, "A token is only a name: 73 is not more than 2.", VECTORS)
    return [
        _part(0, "tokens", "tokens", "x = numbers of the words", "token", colour="count",
              columns="token", code="tokens(text)", page="13_language_modelling", shown=name),
        _part(0, "E[x]", "E[x]", "row x of the table E", "row", "tokens", "E", code="E[x]",
              page="01_dot_products", shown=kinds),
        _part(0, "P", "P", "row t of the table P", "place", "P", code="P[: x.shape[-1]]",
              page="07_position", shown=places),
        _part(0, "h 0", "h", "h = E[x] + P", "sum", "E[x]", "P", code="h = E[x] + P[…]",
              page="08_residual_stream", shown=(BUILT, "Word and position are added.", ""),
              lens=True),
    ]  # fmt: skip


def _block(n: int, before: str) -> list[Part]:
    """The arrays of block n, which reads the vectors `before`."""
    at, x, y = 2 * n - 1, f"norm(h) {n}a", f"norm(h) {n}b"
    code = "scores = (q @ k.mT / d**0.5).masked_fill(later, -torch.inf)"
    vectors = [
        _part(at, f"{letter} {n}", letter, f"{letter} = norm(h) {table}", "product", x,
              f"{table} {n}", colour=colour, code=f"norm(h) @ {table}", page="03_attention",
              shown=shown)
        for letter, table, colour, shown in (
            ("q", "Q", "query", SINGLE), ("k", "K", "key", SINGLE), ("v", "V", "value", VALUE))
    ]  # fmt: skip
    return [
        _part(at, x, "norm(h)", "h ÷ root mean square of its row", "norm", before,
              code="norm(h)", page="08_residual_stream", shown=NORM),
        *vectors,
        _part(at, f"scores {n}", "scores", "q kᵀ ÷ √32", "dot", f"q {n}", f"k {n}",
              columns="asked", code=code, page="04_why_sqrt_d", shown=SCORES),
        _part(at, f"masked {n}", "masked", "scores; −∞ for later words", "mask", f"scores {n}",
              columns="asked", code=code, page="05_masking", shown=MASK),
        _part(at, f"weights {n}", "weights", "softmax of each row", "softmax", f"masked {n}",
              columns="asked", colour="weight", code="torch.softmax(scores, -1)",
              page="02_softmax", shown=WEIGHTS[n - 1]),
        _part(at, f"mixed {n}", "head", "weights v", "mix", f"weights {n}", f"v {n}",
              code="weights[-1] @ v", name="output of the head", page="03_attention",
              shown=WRITTEN),
        _part(at, f"change {n}a", "change", "weights v O", "product", f"mixed {n}", f"O {n}",
              code="weights[-1] @ v @ O", name="change by attention", page="06_many_heads",
              shown=WRITTEN),
        _part(at, f"h {n}a", "h", "h + weights v O", "sum", before, f"change {n}a",
              code="h = h + weights[-1] @ v @ O", page="08_residual_stream", shown=ADDED,
              lens=True),
        _part(at + 1, y, "norm(h)", "h ÷ root mean square of its row", "norm", f"h {n}a",
              code="norm(h)", page="08_residual_stream", shown=NORM),
        _part(at + 1, f"units {n}", "hidden units", "max(0, norm(h) A)", "relu", y, f"A {n}",
              columns="units", code="torch.relu(norm(h) @ A)", page="09_feed_forward",
              shown=UNITS),
        _part(at + 1, f"change {n}b", "change", "hidden units × B", "product", f"units {n}",
              f"B {n}", code="torch.relu(norm(h) @ A) @ B", name="change by feed-forward",
              page="09_feed_forward", shown=WRITTEN),
        _part(at + 1, f"h {n}b", "h", "h + hidden units × B", "sum", f"h {n}a", f"change {n}b",
              code="h = h + torch.relu(norm(h) @ A) @ B", page="10_block", shown=ADDED,
              lens=True),
    ]  # fmt: skip


def _end() -> list[Part]:
    heard = (
        MEASURED,
        "In all 504 held-out stories the likeliest cure and patient are right. Each row adds up to "
        "1 by construction.",
        TOLD,
    )
    columns = (BUILT, "A dot product of the last vector with one column of U for each word.", "")
    return [
        _part(5, "norm(h) 3", "norm(h)", "h ÷ root mean square of its row", "norm", "h 2b",
              code="norm(h)", page="08_residual_stream", shown=NORM),
        _part(5, "logits", "logits", "norm(h) U", "product", "norm(h) 3", "U", columns="words",
              code="norm(h) @ U", page="13_language_modelling", shown=columns),
        _part(5, "p", "probabilities", "softmax of each row", "softmax", "logits",
              columns="words", colour="chance", code="torch.softmax(machine(…)[0][-1], -1)",
              page="15_generation", shown=heard),
    ]  # fmt: skip


PARTS: tuple[Part, ...] = (*_start(), *_block(1, "h 0"), *_block(2, "h 1b"), *_end())
"""All arrays in the order in which they are computed."""
