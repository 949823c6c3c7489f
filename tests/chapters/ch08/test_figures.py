"""What the figures of the chapter draw."""

from tformer_book.chapters.ch08 import figures
from tformer_book.figures.style import PHONE


def test_the_first_strip_shows_what_is_known_and_the_last_all() -> None:
    first, last = (
        [text.get_text() for text in figures.strip(told).broad.axes[0].texts]
        for told in (False, True)
    )
    assert "?" not in first + last
    assert "no norm" in first
    assert "no norm" in last
    assert ("RMSNorm before" in first, "RMSNorm before" in last) == (False, True)


def test_the_stream_of_a_phone_says_what_the_broad_one_does_one_part_below_the_other() -> None:
    both = figures.stream()
    assert both.narrow.get_figwidth() == PHONE
    broad, narrow = (
        [[text.get_text() for text in ax.texts] for ax in one.axes]
        for one in (both.broad, both.narrow)
    )
    assert broad == narrow
    assert "402" in broad[0]
    both.narrow.draw_without_rendering()
    upper, lower = (ax.get_position() for ax in both.narrow.axes)
    assert upper.y0 > lower.y1
