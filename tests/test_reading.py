"""The path of a first reading: which sections wait, and how minutes are counted."""

import pytest
from nbformat.v4 import new_code_cell, new_markdown_cell, new_notebook, new_output

from tformer_book.pipeline.notebook.myst import words
from tformer_book.pipeline.notebook.reading import (
    FORMULA,
    PICTURE,
    QUESTION,
    STATEMENT,
    TOUCHED,
    WORDS_A_MINUTE,
    in_words,
    parts,
    path,
    rounded,
    waiting,
)

WIDGET = "application/vnd.jupyter.widget-view+json"
PATH = ":::{first-reading}\nSecond\n:::"


def shown(kind: str, source: str = "show(f())") -> object:
    return new_code_cell(source, outputs=[new_output("display_data", {kind: ""})])


def page(*cells: object) -> object:
    return new_notebook(cells=[new_markdown_cell(f"# Title\n\n{PATH}"), *cells])


def minutes(*cells: object) -> list[float]:
    return [part.minutes for part in parts(page(*cells))]


def test_what_waits_is_named_in_the_first_cell_and_is_no_prose() -> None:
    assert waiting(page()) == ["Second"]
    assert waiting(new_notebook(cells=[new_markdown_cell("# Title")])) is None
    assert words(f"before\n\n{PATH}\n\nafter") == 2


def test_sections_are_those_of_level_two_and_not_lines_of_listings() -> None:
    text = "## First\n\n```\n## no heading\n```\n\n### Below\n\n## Second"
    found = parts(page(new_markdown_cell(text)))
    assert [(part.title, part.waits) for part in found] == [
        ("", False),
        ("First", False),
        ("Second", True),
    ]


@pytest.mark.parametrize(
    ("cell", "cost"),
    [
        (new_markdown_cell("word " * WORDS_A_MINUTE), 1.0),
        (new_markdown_cell("$$\nx\n$$\n\n$$\ny\n$$"), 2 * FORMULA + 2 / WORDS_A_MINUTE),
        (new_markdown_cell(":::{prf:lemma}\n:label: lem-a\n:::"), STATEMENT),
        (new_markdown_cell(":::{prf:definition}\n:label: def-a\n:::"), 0.0),
        (new_markdown_cell(":::{prf:proof}\n:class: dropdown\nlong words\n:::"), 0.0),
        (new_markdown_cell(":::{prf:proof}\nword\n:::"), 1 / WORDS_A_MINUTE),
        (shown("image/svg+xml"), PICTURE),
        (shown(WIDGET), TOUCHED),
        (shown(WIDGET, 'Quiz.of_chapter(4, "a")'), QUESTION),
        (shown("text/plain"), 0.0),
    ],
)
def test_minutes_of_a_section(cell: object, cost: float) -> None:
    opening, section = minutes(new_markdown_cell("## First"), cell)
    assert opening == 0
    assert section == pytest.approx(cost)


def test_captions_are_read_with_their_figures() -> None:
    figure = shown("image/svg+xml")
    figure["metadata"] = {"mystnb": {"figure": {"caption": "word " * WORDS_A_MINUTE}}}
    assert minutes(figure)[0] == pytest.approx(PICTURE + 1)


def test_a_path_parts_what_waits_and_rounds_to_fives() -> None:
    nb = page(
        new_markdown_cell(f"## First\n\n{'word ' * 9 * WORDS_A_MINUTE}"),
        new_markdown_cell(f"## Second\n\n{'word ' * 22 * WORDS_A_MINUTE}"),
    )
    core, rest, found = path(nb)
    assert (core, rest, [part.title for part in found]) == (10, 25, ["First", "Second"])
    assert in_words(nb) == (
        "**A first reading takes about 10 minutes.** What may wait, 25 minutes more: *Second*."
    )
    assert [rounded(x) for x in (0, 1, 6, 7, 51.4, 52)] == [5, 5, 5, 10, 50, 55]
