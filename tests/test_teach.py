"""Plans for lectures: each chapter has one, its routes fill the hour, what is wrong is named."""

import copy
import re
import tomllib
from importlib.resources import files

import pytest

from tformer_book.chapters import numbers
from tformer_book.pipeline import find_root
from tformer_book.pipeline.site.teach import (
    MINUTES,
    chapter_of,
    lost,
    markdown,
    plan,
    questions,
    read,
)

TABLE = tomllib.loads(
    (files("tformer_book.chapters") / "ch01" / "teach.toml").read_text(encoding="utf-8")
)


@pytest.mark.parametrize("chapter", numbers())
def test_every_chapter_has_a_plan_whose_routes_fill_the_hour(chapter: int) -> None:
    made = plan(chapter)
    assert all(sum(part.minutes for part in route.parts) == MINUTES for route in made.routes)
    assert len({route.name for route in made.routes}) == len(made.routes) >= 2
    text = markdown(made, "page.html")
    asked = questions(chapter)
    for number, route in enumerate(made.routes, start=1):
        assert all(part.places(asked) for part in route.parts)
        assert f'href="page.html#lecture=route-{number}"' in text
        last = route.parts[-1]
        assert f"| {MINUTES - last.minutes} | {last.minutes} | *{last.how}* |" in text


@pytest.mark.parametrize(
    ("spoil", "said"),
    [
        (lambda t: t["route"][0]["part"][0].update(minutes=6), "takes 51 minutes, not 50"),
        (lambda t: t["route"].pop(), "1 routes; there must be at least 2"),
        (lambda t: t["discuss"].pop(), "4 questions to discuss"),
        (lambda t: t["misconception"].pop(), "2 misconceptions"),
        (lambda t: t["route"][0]["part"][0].update(how="sleep"), "'sleep' is not one of"),
        (lambda t: t["route"][0].pop("skips"), "'skips' is missing"),
        (lambda t: t["route"][0]["part"][0].update(why=1), "why"),
    ],
)
def test_what_is_wrong_with_a_plan_is_named(spoil, said) -> None:
    table = copy.deepcopy(TABLE)
    spoil(table)
    with pytest.raises(ValueError, match="plan of chapter 1") as raised:
        read(table, "chapter 1")
    assert said in str(raised.value)


def test_a_place_that_a_route_names_and_the_page_lacks_is_told() -> None:
    table = copy.deepcopy(TABLE)
    first, second, third, fourth = table["route"][0]["part"][:4]
    first["at"], second["at"] = ["fig-gone"], ["section/touch", "thm-there+"]
    fourth.pop("at", None)
    third |= {"at": [], "how": "ask"}
    third["what"] = "{numref}`fig-here`, {eq}`eq-here`, *late*, *it* and {prf:ref}`a`."
    fourth |= {"how": "board", "what": "{prf:ref}`thm-there`, *and nothing more*."}
    made = read(table, "chapter 1")
    parts = made.routes[0].parts
    assert parts[2].places(["late"]) == ["fig-here", "equation-eq-here", "late", "a"]
    assert parts[3].places(["late"]) == ["thm-there+"]
    known = [place for route in made.routes for part in route.parts for place in part.places([])]
    body = " ".join(
        f'<p id="{place.partition("/")[0].rstrip("+")}">' for place in known if place != "fig-gone"
    )
    assert list(lost(made, ["late"], body)) == [
        f"the route '{made.routes[0].name}' names 'fig-gone', which is not on this page"
    ]
    third["what"] = "Nothing."
    told = list(lost(read(table, "chapter 1"), ["late"], body))
    assert f"a part of '{made.routes[0].name}' shows nothing: {third['how']}, 9 minutes" in told


@pytest.mark.parametrize(
    ("page", "chapter"),
    [
        ("chapters/05_masking", 5),
        ("chapters/05_masking_deeper", None),
        ("chapters/00_whole_machine", 0),
        ("chapters/00_notation", None),
        ("exercises/solutions/05_masking", None),
        ("index", None),
    ],
)
def test_a_plan_belongs_to_the_main_page_of_its_chapter(page: str, chapter: int | None) -> None:
    assert chapter_of(page) == chapter


def test_every_plan_is_shown_on_the_page_for_instructors() -> None:
    page = (find_root() / "chapters" / "teach.md").read_text(encoding="utf-8")
    shown = [int(number) for number in re.findall(r"^:::\{teach\} (\d+)$", page, re.MULTILINE)]
    folder = files("tformer_book.chapters")
    there = [n for n in numbers() if (folder / f"ch{n:02d}" / "teach.toml").is_file()]
    assert shown == there == numbers()
    heads = re.findall(r"^## Chapter (\d+): ", page, re.MULTILINE)
    assert list(map(int, heads)) == there[1:]
