"""Plans for lectures: each chapter has one, its routes fill the hour, what is wrong is named."""

import copy
import tomllib
from importlib.resources import files

import pytest

from tformer.book.site.teach import MINUTES, markdown, plan, read
from tformer.chapters import numbers

TABLE = tomllib.loads(
    (files("tformer.chapters") / "ch01" / "teach.toml").read_text(encoding="utf-8")
)


@pytest.mark.parametrize("chapter", numbers())
def test_every_chapter_has_a_plan_whose_routes_fill_the_hour(chapter: int) -> None:
    made = plan(chapter)
    assert all(sum(part.minutes for part in route.parts) == MINUTES for route in made.routes)
    assert len({route.name for route in made.routes}) == len(made.routes) >= 2
    text = markdown(made)
    for route in made.routes:
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
