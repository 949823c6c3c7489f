"""What a main page may hold, and what it is told when it holds more."""

import pytest
from nbformat.v4 import new_code_cell, new_markdown_cell, new_notebook, new_output

from tformer_book.pipeline.notebook.myst import words
from tformer_book.pipeline.rules.limits import (
    IDEAS,
    OPENING_PICTURES,
    PICTURE_WORDS,
    WIDGET,
    excesses,
    limits,
    main_page,
    opening_excesses,
)

CLOSING = "## How it goes wrong\n\n## One screen\n\n## Exercises and further reading"
BOX = ":::{prf:lemma}\n:label: lem-a\nNo word.\n:::\n\n"


def shown(kind, source="show(f())"):
    return new_code_cell(source, outputs=[new_output("display_data", {kind: ""})])


def prose(count):
    return new_markdown_cell("word " * count)


def figure(caption):
    cell = shown("image/svg+xml")
    cell.metadata["mystnb"] = {"figure": {"caption": caption}}
    return cell


STRIPS = [new_code_cell(f"show(figures.strip({told}))") for told in ("told=False", "")]


def page(*cells, touch=True, waits="", strips=STRIPS):
    head = new_markdown_cell(f":::{{first-reading}}\n{waits}:::")
    touched = [shown(WIDGET)] if touch else []
    closing = [new_markdown_cell(CLOSING), strips[-1]]
    return new_notebook(cells=[head, *touched, *strips[:-1], *cells, *closing])


each_age = pytest.mark.parametrize("chapter", [7, 8])


@pytest.mark.parametrize(
    ("chapter", "most"), [(0, (2200, 3, 6, 4)), (1, (3500, 10, 12, 6)), (8, (3000, 8, 8, 4))]
)
def test_later_chapters_are_shorter(chapter, most):
    assert limits(chapter) == most
    assert limits(7) == limits(1)
    assert limits(21) == limits(8)


@each_age
def test_a_page_within_the_limits_has_none(chapter):
    words, boxes, *_ = limits(chapter)
    ideas = new_markdown_cell("## idea\n\n" * IDEAS + BOX * boxes)
    assert list(excesses(page(ideas, prose(words - 2 * boxes - 20)), chapter)) == []


@each_age
def test_too_much_is_named(chapter):
    words, boxes, *_ = limits(chapter)
    for cells, said in (
        ([prose(words + 1)], f"{words + 1} words of prose; a main page has at most {words}"),
        ([prose(words - 2), figure("**It turns.** So $x$.")], f"{words + 2} words of prose"),
        ([new_markdown_cell("## idea\n\n" * (IDEAS + 1))], f"{IDEAS + 1} ideas"),
        ([new_markdown_cell(BOX * (boxes + 1))], f"{boxes + 1} boxed claims"),
    ):
        [found] = excesses(page(*cells), chapter)
        assert found.startswith(said)


def test_what_comes_late_or_never_is_named():
    late = [prose(PICTURE_WORDS + 1), shown("image/svg+xml"), shown(WIDGET)]
    first_picture, first_touch = excesses(page(*late, touch=False), 1)
    assert first_picture == f"the first picture comes after {PICTURE_WORDS} words"
    assert first_touch == "the first figure to touch comes after the first third"
    quiz = [shown(WIDGET, 'Quiz.of_chapter(1, "a")'), prose(3), shown("image/svg+xml")]
    assert list(excesses(page(*quiz, touch=False), 1)) == [first_touch]
    sections, path, strips = len(CLOSING.split("\n\n")), 1, 1
    bare = list(excesses(new_notebook(cells=[shown(WIDGET)]), 1))
    assert len(bare) == sections + path + strips


def test_a_caption_stands_below_its_picture():
    """So its words do not come before it, and they do come before the next one."""
    caption = "word " * (PICTURE_WORDS + 1)
    assert list(excesses(page(figure(caption), prose(3 * PICTURE_WORDS)), 1)) == []
    [late] = excesses(page(figure(caption), shown(WIDGET), touch=False), 1)
    assert late == "the first figure to touch comes after the first third"


def test_a_main_page_has_a_path_of_an_hour_or_so():
    ideas = new_markdown_cell("## One\n\n## Other")
    assert list(excesses(page(ideas, waits="One\n"), 1)) == []
    bare = page(ideas)
    bare.cells[0].source = "# Title"
    assert list(excesses(bare, 1)) == ["the first cell has no {first-reading}"]
    found = excesses(page(ideas, waits="One screen\nOther\nThird\n"), 1)
    assert list(found) == [
        "'One screen' may wait, but is no section of an idea",
        "'Third' may wait, but is no section of an idea",
    ]
    figures = [shown(WIDGET) for _ in range(30)]
    long = page(new_markdown_cell("## One"), *figures, new_markdown_cell("## Other"))
    assert list(excesses(long, 1)) == ["a first reading takes 95 minutes; at most 65"]
    long.cells[0].source = ":::{first-reading}\nOne\n:::"
    assert list(excesses(long, 1)) == []


def test_the_strip_of_the_row_stands_at_both_ends():
    wrong = ["the row's strip is drawn twice, at the head and under 'One screen'"]
    third = new_code_cell("film.strip()")
    for strips, found in ((STRIPS, []), (STRIPS[:1], wrong), ([third, *STRIPS], wrong)):
        assert list(excesses(page(strips=strips), 1)) == found


@pytest.mark.parametrize(
    ("source", "count"),
    [
        ("By {prf:ref}`thm-a` and {eq}`eq-b` it holds {cite:p}`A03,B17`.", 7),
        ("The {ref}`deeper page <sec-deeper>` and {doc}`its exercises <../a_b>` wait.", 7),
        ("[Notation](00_notation.ipynb), [a box](#thm-a), [blue]{.tf-query} <br> words", 5),
        ("Let $x$ and\n$$\ny = x^2\n$$\nbe *well-known*.", 6),
        (":::{prf:proof}\n:class: dropdown\nFolded words count.\n:::", 3),
        ("| word | 3 |\n|---|---|\n| a | $b$ |", 3),
        ("# Title\n```\ncode = 1\n```\n(target)=\n% remark", 0),
    ],
)
def test_words_are_those_that_the_page_shows(source, count):
    assert words(source) == count


def test_main_pages_are_numbered_and_not_deeper():
    names = ["00_notation", "04_why_sqrt_d", "04_why_sqrt_d_deeper", "glossary", "appendix_1_x"]
    assert [main_page(name) for name in names] == [0, 4, 0, 0, 0]


def test_the_first_page_has_limits_of_its_own():
    pictures = [shown("image/svg+xml") for _ in range(OPENING_PICTURES)]
    start = [new_code_cell("import numpy"), shown(WIDGET)]
    fits = [*start, *pictures, new_markdown_cell(3 * BOX), prose(limits(0).words - 6)]
    assert list(opening_excesses(new_notebook(cells=fits))) == []
    [long] = opening_excesses(new_notebook(cells=[*fits, prose(1)]))
    assert long == "2201 words of prose; the first page has at most 2200"
    [boxes] = opening_excesses(new_notebook(cells=[*fits[:-1], new_markdown_cell(BOX)]))
    assert boxes == "4 boxed claims; the first page has at most 3"
    [more] = opening_excesses(new_notebook(cells=[*fits, shown("image/svg+xml")]))
    assert more == "11 pictures; the first page has 10"
    [touch] = opening_excesses(new_notebook(cells=[fits[0], *pictures, shown(WIDGET)]))
    assert touch == "the first page opens with a figure to touch"
