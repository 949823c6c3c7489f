"""The figure of the page "Your own text": a training on the prose of this book."""

from matplotlib.figure import Figure

from tformer_book.chapters.ch00 import own_text
from tformer_book.figures.style import COLUMN, INK, KEY, QUERY, QUIET, panel


def curve() -> Figure:
    """Bits a byte while the model is trained, and what it is compared with."""
    figure, ax = panel(COLUMN, 3.4)
    found = own_text.bits()
    last = found["held out"][-1][0]
    for name, value in own_text.record()["baselines"].items():
        ax.plot((0, last), (value, value), ":", color=QUIET, linewidth=1.2)
        below = name == "lzma"  # close to "bigram"
        place = ("top", -0.03) if below else ("bottom", 0.02)
        ax.text(last, value + place[1], name, ha="right", va=place[0], color=INK)
    for (name, line), color in zip(found.items(), (KEY, QUERY), strict=True):
        ax.plot(*zip(*line, strict=True), color=color, label=name)
    ax.set(xlabel="step", ylabel="bits a byte", xlim=(0, last), ylim=(1, 4.2))
    ax.legend()
    return figure
