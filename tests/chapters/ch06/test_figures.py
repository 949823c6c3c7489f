"""What the figures of the chapter draw."""

import pytest
from matplotlib.figure import Figure

from tformer_book.chapters.ch06 import figures, film
from tformer_book.figures.style import PHONE


def texts(figure: Figure) -> list[str]:
    return [text.get_text() for text in figure.axes[0].texts]


def test_the_first_strip_shows_what_is_known_and_the_last_all() -> None:
    first, last = (texts(film.strip(told).broad) for told in (False, True))
    assert "?" not in first + last
    for heads, lines in (("one head, ", (2, 2)), ("mean of six, ", (0, 2))):
        assert tuple(sum(x.startswith(heads) for x in said) for said in (first, last)) == lines


def test_the_six_heads_of_a_phone_have_the_weights_of_the_broad_ones() -> None:
    both = figures.six_rows()
    assert both.narrow.get_figwidth() == PHONE
    broad, narrow = (
        [float(x) for x in texts(one) if x[0] in ".1"] for one in (both.broad, both.narrow)
    )
    assert narrow == pytest.approx(broad, abs=0.0051)  # two digits for three
    assert broad.count(0.091) == 11
