"""The claim of chapter 21 on captions: where a model keeps what it says."""

from __future__ import annotations

from tformer_book.chapters.ch21 import captions
from tformer_book.claims.registry import claim, require

SHARES = {
    "as it is": {"first": (0.98, 1.0), "relation": (0.9, 0.99), "second": (0.93, 0.96)},
    "second digit blanked": {
        "first": (0.94, 0.97),
        "relation": (0.24, 0.47),
        "second": (0.09, 0.11),
    },
    "both digits hidden from words": {
        "first": (0.41, 0.51),
        "relation": (0.5, 0.6),
        "second": (0.11, 0.22),
    },
    "both empty corners hidden from words": {
        "first": (0.98, 1.0),
        "relation": (0.19, 0.4),
        "second": (0.93, 0.96),
    },
}
"""Between what the shares of right words of the three models lie: the table of the page."""


@claim(
    "exm-blank-corner",
    "empirical",
    mutants={
        "empty corners may be hidden without loss": {"lost": (-0.05, 0.05)},
        "hiding the digits costs the relation more": {"sign": -1},
        "the second digit is known without its pixels": {"blanked": (0.9, 1.0)},
    },
    scope="three trainings; 1,000 new scenes, asked nine times",
)
def blank_corner(
    lost: tuple[float, float] = (0.5, 0.8),
    sign: int = 1,
    blanked: tuple[float, float] = (0.05, 0.15),
) -> str:
    """What is stored of three models: each against the table, and the two ways of hiding."""
    for seed, run in enumerate(captions.stored()):
        for name, shares in SHARES.items():
            for word, (low, high) in shares.items():
                found = run[name][word]
                require(low <= found <= high, f"seed {seed}, {name}: {word} {found}")
        whole, empty = run["as it is"], run["both empty corners hidden from words"]
        fell = whole["relation"] - empty["relation"]
        require(lost[0] <= fell <= lost[1], f"seed {seed}: the relation loses {fell:.3f}")
        more = run["both digits hidden from words"]["relation"] - empty["relation"]
        require(sign * more > 0, f"seed {seed}: the digits hidden leave {more:.3f} more of it")
        second = run["second digit blanked"]["second"]
        inside = blanked[0] <= second <= blanked[1]
        require(inside, f"seed {seed}: without its pixels the second digit is right in {second}")
    return "three stored trainings, held to the table; the two ways of hiding, against each other"
