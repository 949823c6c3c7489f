"""The list of chapters beside the text, and the order of the pages."""

from pathlib import Path

import pytest

from browsing import ROOT, toc_pages
from tformer_book.pipeline.site.menu import neighbours, parts

TOC = """\
format: jb-book
root: index
parts:
- caption: Start
  chapters: [{file: chapters/00_words}]
- caption: One
  chapters:
  - file: chapters/01_dot
    sections: [{file: chapters/01_dot_deeper}]
  - file: chapters/02_softmax
- caption: Exercises
  chapters: [{file: exercises/solutions/01_dot}]
- caption: Appendices
  chapters:
  - file: chapters/teach
    sections: [{file: chapters/teach_course}]
"""
DOT = ("chapters/01_dot", "chapters/01_dot_deeper", "exercises/solutions/01_dot")


def test_a_chapter_is_one_line_and_exercises_are_no_part(tmp_path: Path) -> None:
    (tmp_path / "_toc.yml").write_text(TOC)
    assert parts(tmp_path) == (
        ("Start", (("chapters/00_words",),)),
        ("One", (DOT, ("chapters/02_softmax",))),
        ("Appendices", (("chapters/teach",), ("chapters/teach_course",))),
    )


def test_every_page_of_the_book_has_its_place_once() -> None:
    listed = [page for _, lines in parts(ROOT) for line in lines for page in line]
    assert sorted(["index", *listed]) == sorted(name.removesuffix(".html") for name in toc_pages())


@pytest.mark.parametrize(
    ("page", "expected"),
    [
        ("index", (None, DOT[0], None)),
        (DOT[0], ("index", DOT[1], "chapters/02_softmax")),
        (DOT[1], (DOT[0], DOT[2], "chapters/02_softmax")),
        (DOT[2], (DOT[1], "chapters/02_softmax", None)),
        ("chapters/02_softmax", (DOT[2], None, None)),
    ],
)
def test_neighbours_stand_on_the_line_before_the_next_begins(
    page: str, expected: tuple[str | None, ...]
) -> None:
    assert neighbours((("index",), DOT, ("chapters/02_softmax",)), page) == expected
