"""What the figures of the chapter draw."""

from matplotlib.figure import Figure

from tformer_book.chapters.ch04 import figures, film
from tformer_book.figures.style import PHONE


def texts(figure: Figure) -> list[str]:
    return [text.get_text() for text in figure.axes[0].texts]


def test_the_first_strip_shows_what_is_known_and_the_last_all() -> None:
    first, last = (texts(film.strip(told).broad) for told in (False, True))
    assert "?" not in first + last
    for scale, lines in (("scale 1, d = ", (2, 2)), ("1/√d, d = ", (0, 2))):
        assert tuple(sum(x.startswith(scale) for x in said) for said in (first, last)) == lines


def test_the_walk_of_a_phone_counts_as_the_broad_one_does() -> None:
    both = figures.walks()
    assert both.narrow.get_figwidth() == PHONE
    counted = [[x for x in texts(one) if " of 40" in x] for one in (both.broad, both.narrow)]
    assert counted[0] == counted[1]
    assert [x.split(":")[0] for x in counted[0]] == ["d = 16", "d = 64", "d = 256"]
