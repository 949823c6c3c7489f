"""The map of chapters: the plan fits the pages, and what is here is a link."""

import json
import re
from itertools import combinations
from pathlib import Path

from tformer_book.pipeline.site.curriculum import HEIGHT, WIDTH, markdown, pages, planned, svg

ROOT = Path(__file__).parents[1]
HERE = pages(f"chapters/{path.stem}" for path in (ROOT / "chapters").glob("*.ipynb"))


def test_pages_are_main_pages_with_a_number() -> None:
    names = ["index", "chapters/00_notation", "chapters/03_a", "chapters/03_a_deeper", "x/04_b"]
    assert pages(names) == {3: "chapters/03_a"}


def test_every_page_that_is_here_bears_the_title_of_the_plan() -> None:
    titles = {chapter.number: chapter.title for chapter in planned()}
    for number, name in HERE.items():
        first = json.loads((ROOT / f"{name}.ipynb").read_text(encoding="utf-8"))["cells"][0]
        assert first["source"][0] == f"# {titles[number]}\n"


def test_a_chapter_builds_on_others_above_it_and_boxes_stand_apart() -> None:
    by_number = {chapter.number: chapter for chapter in planned()}
    assert list(by_number) == list(range(1, len(planned()) + 1))
    assert len(planned()) >= 21
    for chapter in planned():
        assert set(map(int, chapter.around)) <= set(chapter.builds_on)
        for n in chapter.builds_on:
            assert n < chapter.number
            assert by_number[n].at[1] < chapter.at[1]
    for one, other in combinations(planned(), 2):
        (x, y), (to_x, to_y) = one.corner, other.corner
        assert abs(x - to_x) > WIDTH or abs(y - to_y) > HEIGHT


def test_what_is_here_is_a_link_on_the_map_and_in_the_table() -> None:
    drawn = svg(planned(), {2: "chapters/02_softmax.html"})
    assert re.findall(r'<a class="here" href="([^"]*)">.*?>(\d+)<', drawn) == [
        ("chapters/02_softmax.html", "2")
    ]
    assert drawn.count('class="later"') == len(planned()) - 1
    assert drawn.count('class="edge"') == sum(len(chapter.builds_on) for chapter in planned())
    table = markdown(planned(), {2: "chapters/02_softmax"}).splitlines()
    assert "| 2 | {doc}`Softmax </chapters/02_softmax>` | 1 |" in table
    assert "| 10 | The block and the stack | 6, 7, 8, 9 |" in table


def test_an_edge_leads_from_the_foot_of_a_box_to_the_head_of_another() -> None:
    by_number, drawn = {chapter.number: chapter for chapter in planned()}, svg(planned(), {})
    for chapter in planned():
        x, y = chapter.corner
        for n in set(chapter.builds_on) - set(map(int, chapter.around)):
            from_x, from_y = by_number[n].corner
            start, end = (
                f"M{from_x + WIDTH / 2:g} {from_y + HEIGHT:g}C",
                f" {x + WIDTH / 2:g} {y - 4:g}",
            )
            assert re.search(rf'"{re.escape(start)}[\d. ]+{re.escape(end)}"', drawn), (n, chapter)
