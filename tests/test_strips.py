"""The row's strips, and the film of all chapters."""

import numpy as np
import pytest
from matplotlib.patches import Rectangle

from tformer_book.chapters import numbers
from tformer_book.figures.strips import Frame, Line, strip
from tformer_book.figures.style import QUIET, Fitting
from tformer_book.pipeline.site.film import frames, html

WORDS = ("the", "animal", "it")
PAIR = (("animal", 0.764), ("street", 0.116))


def texts(strip: Fitting) -> list[str]:
    return [text.get_text() for text in strip.broad.axes[0].texts]


def test_what_is_asked_for_is_hidden_until_it_is_told() -> None:
    lines = [Line("before", np.array([0.2, 0.5, 0.3])), Line("after", np.ones(3), asked=True)]
    asked, told = (texts(strip(WORDS, lines, known)) for known in (False, True))
    assert asked.count("?") == 1
    assert told.count("?") == 0
    assert [text for text in told if text.startswith("1")] == ["1.00"] * 3
    assert [text for text in asked if text.startswith(".")] == [".20", ".50", ".30"]


def test_numbers_are_written_with_their_digits_and_none_where_all_are_zero() -> None:
    line = Line("scores", np.array([-16.06, 0.04, 41.26]), False, QUIET, 42.0, 1)
    said = [text for text in texts(strip(WORDS, [line])) if text not in (*WORDS, "scores")]
    assert said == ["−16.1", "", "41.3"]


def test_both_shapes_say_the_same() -> None:
    lines = [Line("scores, too tired", np.arange(3.0)), Line("weights", np.ones(3), asked=True)]
    for told in (False, True):
        shapes = strip(WORDS, lines, told)
        narrow = [text.get_text().replace("\n", ", ") for text in shapes.narrow.axes[0].texts]
        assert {*narrow} == {*texts(shapes)}
        assert [name for name in narrow if name in WORDS] == [*WORDS]
        assert narrow.count("?") == 2 * (not told)  # two of three words, and one below


def test_the_word_that_asks_is_bold() -> None:
    for asks, bold in ((None, "it"), (1, "animal")):
        figure = strip(WORDS, [Line("a", np.zeros(3))], asks=asks)
        heavy = [x.get_text() for x in figure.broad.axes[0].texts if x.get_fontweight() == "bold"]
        assert heavy == [bold]


def test_a_square_is_as_full_as_its_number() -> None:
    figure = strip(WORDS, [Line("a", np.array([0.0, 0.5, 3.0]), most=2.0)])
    shades = [
        p.get_facecolor()[3] for p in figure.broad.axes[0].patches if isinstance(p, Rectangle)
    ]
    assert [round(x, 3) for x in shades if x != pytest.approx(0.12)] == [0.25, 1.0]


def test_the_film_has_a_frame_for_each_chapter_but_those_that_the_sentence_does_not_serve() -> None:
    film = frames()
    assert {*numbers()} - {*film} == {0, 19, 20, 21}
    assert [*film] == sorted(film)


def test_frames_tell_the_story() -> None:
    """What the landing page says of them: a tie, then the ending decides."""
    film = frames()
    for number, frame in film.items():
        (_, one), (_, other) = frame.ends
        assert [name for name, _ in one] == [name for name, _ in other], number
    tied = {number for number, frame in film.items() if _tied(frame)}
    assert {1, 2, 4, 8} <= tied
    assert {3, 5, 6, 7, 9, 10, 11, 12, 13, 14, 17} <= {*film} - tied
    for number in (3, 5, 6, 9, 10, 11, 13, 14, 17):
        (_, tired), (_, wide) = film[number].ends
        assert tired[0][1] > tired[1][1], number
        assert wide[1][1] > wide[0][1], number


def _tied(frame: Frame) -> bool:
    """Whether what an ending gives the first name differs by less than a tenth of full colour."""
    (_, one), (_, other) = frame.ends
    return abs(one[0][1] - other[0][1]) < 0.1 * frame.most


def test_the_film_is_a_list_of_links_with_its_numbers_in_words() -> None:
    ends = (("too tired", PAIR), ("too <wide>", (("animal", -2.0), ("street", 0.004))))
    text = html({3: Frame("lexicon", "weights", ends)}, {3: ("a.html", "Queries & keys")})
    assert '<a href="a.html"><span>3</span> Queries &amp; keys</a>' in text
    assert '<span class="weight" style="--share: 76.4%">animal <b>.76</b></span>' in text
    assert '<span class="weight below" style="--share: 100%">animal <b>−2.00</b></span>' in text
    assert '<span class="weight" style="--share: 0.4%">street <b>0</b></span>' in text
    assert "too &lt;wide&gt;" in text
    twice = html(
        dict.fromkeys((3, 4), Frame("lexicon", "weights", ends)), dict.fromkeys((3, 4), ("", ""))
    )
    assert twice.count('class="end"') == twice.count('class="end again"') == 2
