"""The bench of recipes: what is stored begins like a training, and rates are what they say."""

import math

import pytest

from tformer.training import Recipe, learning_rate_at
from tformer_book.chapters.ch14.bench import (
    PLANS,
    SEEDS,
    STEPS,
    WARM,
    WIDTH,
    Run,
    floor,
    stored,
    trained,
)

LOOKED_AT = [
    ("warm-up", Run(rate=0.06, warmup=0, seed=1)),
    ("warm-up", Run(rate=0.1, order="post")),
    ("before", Run(rate=0.1, warmup=0, before=WARM)),
    ("start", Run(std=0.2, seed=2)),
    ("smoothing", Run(smoothing=0.1)),
    ("muon", Run(rate=0.03, muon=True, seed=1)),
    ("plateau", Run(rate=0.03, plateau=0.8)),
    ("batch", Run(batch=64, steps=50, warmup=10)),
]


@pytest.mark.parametrize(("plan", "run"), LOOKED_AT, ids=str)
def test_what_is_stored_begins_like_a_training(plan: str, run: Run) -> None:
    losses = trained(run)
    first = [next(losses) for _ in range(3)]
    losses.close()  # type: ignore[attr-defined]
    assert first == pytest.approx(stored()[plan][str(run)][:3], abs=5e-3)


def test_every_plan_is_stored_and_no_run_is_below_the_floor() -> None:
    found = stored()
    assert {plan: [*runs] for plan, runs in found.items()} == {
        plan: list(map(str, runs)) for plan, runs in PLANS.items()
    }
    assert all(len(runs) % SEEDS == 0 for runs in PLANS.values())
    lowest = {plan: min(row[-1] for row in runs.values()) for plan, runs in found.items()}
    assert lowest.pop("muon") > floor()
    assert min(lowest.values()) > floor() + 1
    assert floor() == pytest.approx(math.log(2880))


def test_a_short_training_ends_below_where_it_began() -> None:
    *losses, last = trained(Run(steps=12))
    assert len(losses) == 12
    assert last < losses[0] - 5


def test_rates_are_those_of_the_loop() -> None:
    run, recipe = Run(rate=0.01), Recipe(STEPS, 0.01, warmup=WARM)
    for step in (1, 7, WARM, WARM + 1, 120, STEPS):
        assert run.learning_rate_at(step) == pytest.approx(learning_rate_at(recipe, step))
    later = Run(rate=0.01, warmup=0, before=WARM)
    assert later.learning_rate_at(WARM) == 0
    assert later.learning_rate_at(WARM + 1) == pytest.approx(
        Run(rate=0.01, warmup=0).learning_rate_at(1)
    )
    assert max(Run(schedule=40).learning_rate_at(n) for n in range(1, 201)) == (WIDTH * 40) ** -0.5
