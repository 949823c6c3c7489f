"""The storyteller's steps: floors counted another way, stored lengths, and its answers."""

import math
from collections import defaultdict

import numpy as np
import pytest

from tformer_book.chapters.ch14 import steps
from tformer_book.storyteller.stored import tokens
from tformer_book.storyteller.tales import parted
from tformer_book.storyteller.training import RECIPE, asked
from tformer_book.world.stories import patient


def test_what_the_cure_leaves_open_is_counted_again() -> None:
    told = parted()[0].texts
    patients: defaultdict[str, list[str]] = defaultdict(list)
    for text in told:
        patients[text.split()[-4]].append(patient(text))
    surprises = [
        -math.log(patients[text.split()[-4]].count(patient(text)) / len(patients[text.split()[-4]]))
        for text in told
    ]
    assert steps.surprise("patient", ("cure",))[0] == pytest.approx(np.mean(surprises))
    some = np.random.default_rng(1).permutation(len(told))[:256]
    assert steps.floor("patient, cure known") == pytest.approx(np.mean(np.array(surprises)[some]))


def test_floors_are_of_the_tales_that_were_measured() -> None:
    given, _, _ = asked(tokens(), parted()[0], 2)
    every, some = steps._stories()
    assert len(every) == 2376
    for row, words in zip(given, some[:2], strict=True):
        text = tokens().decode(row.tolist())
        assert all(f" {word}" in text for word in words)


def test_knowing_more_leaves_less() -> None:
    names = [("noun",), ("noun", "verb"), ("noun", "verb", "trouble")]
    left = [steps.surprise("second noun", known)[0] for known in names]
    assert left == sorted(left, reverse=True)
    assert steps.surprise("patient", ("noun", "second noun", "trouble")) == pytest.approx((0, 0))
    assert steps.surprise("name again") == pytest.approx((math.log(24), math.log(24)))


def test_lengths_of_all_steps_are_stored() -> None:
    assert len(steps.norms()) == RECIPE.steps
    assert steps.norms().argmax() + 1 == 505


def test_the_first_length_is_that_of_the_first_step() -> None:
    """The gradient of the first batch, before training."""
    import torch
    from torch.nn.functional import cross_entropy

    from tformer_book.storyteller.training import batches

    model = steps.beginner()
    given, wanted = (torch.from_numpy(x) for x in batches(tokens())(1))
    cross_entropy(model(given).flatten(0, 1), wanted.flatten()).backward()
    norm = math.sqrt(sum(float(x.grad.square().sum()) for x in model.parameters()))
    assert norm == pytest.approx(steps.norms()[0], rel=1e-3)


def test_the_row_turns_with_training() -> None:
    for animal, street in steps.patients(False):
        assert max(animal, street) < 0.01
    (tired, _), (_, wide) = steps.patients()
    assert min(tired, wide) > 0.99
