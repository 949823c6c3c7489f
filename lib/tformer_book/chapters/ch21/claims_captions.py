"""The claim of chapter 21 on captions: where a model keeps what it says."""

from __future__ import annotations

from tformer_book.chapters.ch21 import captions
from tformer_book.claims.registry import claim, require

SHARES: dict[str, dict[str, tuple[float, float]]] = {}
"""Between what the shares of right words of three models lie."""


@claim(
    "exm-blank-corner",
    "empirical",
    mutants={
        "an empty corner may be hidden without loss": {"kept": 1.0},
        "hiding the digits costs the relation more": {"sign": -1},
        "the second digit is read elsewhere": {"second": 1.0},
    },
    scope="three trainings; 1,000 new scenes, nine times asked",
)
def blank_corner(kept: float = 0.0, sign: int = 1, second: float = 0.0) -> str:
    """What is stored of three models, each by itself and against the table."""
    for seed, run in enumerate(captions.stored()):
        for name, shares in SHARES.items():
            for word, (low, high) in shares.items():
                found = run[name][word]
                require(low <= found <= high, f"seed {seed}, {name}: {word} {found}")
        whole, empty = run["as it is"], run["both empty corners hidden from words"]
        digits, blank = run["both digits hidden from words"], run["second digit blanked"]
        require(empty["relation"] > kept * whole["relation"] - 0.3 * (1 - kept), str(empty))
        lost = digits["relation"] - empty["relation"]
        require(
            sign * lost > 0, f"seed {seed}: digits hidden leave {lost:.3f} more of the relation"
        )
        require(
            blank["second"] > second * whole["second"],
            f"seed {seed}: without its pixels the second digit is right in {blank['second']}",
        )
    return "three stored trainings, held to the table; the two kinds of hiding against each other"
