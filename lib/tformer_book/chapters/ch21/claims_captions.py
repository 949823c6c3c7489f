"""The claim of chapter 21 on captions: what the words read in empty corners."""

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
    "empty patches of the exchanged scene": {"relation": (0.9, 0.98), "opposite": (0.02, 0.1)},
    "digits' patches of the exchanged scene": {
        "relation": (0.03, 0.09),
        "opposite": (0.91, 0.97),
    },
}
"""Between what the shares of right words of the three models lie: the table of the page."""


@claim(
    "exm-blank-corner",
    "empirical",
    mutants={
        "empty corners may be hidden without loss": {"lost": (-0.05, 0.05)},
        "hiding the digits costs the relation more": {"sign": -1},
        "the empty corners tell which digit is where": {"turned": "empty"},
    },
    scope="three trainings; 1,000 new scenes, asked eleven times",
)
def blank_corner(
    lost: tuple[float, float] = (0.5, 0.8),
    sign: int = 1,
    turned: str = "digits'",
) -> str:
    """What is stored of three models: each against the table, then hidings and exchanges."""
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
        opposite = run[f"{turned} patches of the exchanged scene"]["opposite"]
        require(opposite > 0.9, f"seed {seed}: {turned} patches turn {opposite} of the relations")
    return "three stored trainings, held to the table; hidings and exchanges against each other"
