"""What the page says of the real model, measured again where it is installed."""

import numpy as np
import pytest

from tformer import pretrained
from tformer.models.pretrained import from_checkpoint
from tformer_book.chapters.ch08 import real

FOUND = real.stored()


def test_the_real_model_still_gives_what_is_stored(checkpoint: pretrained.Checkpoint) -> None:
    again = real.measured(from_checkpoint(checkpoint))
    assert again.keys() == FOUND.keys()
    again, stored = ({**one, **one["mistakes"]} for one in (again, FOUND))
    for name in stored.keys() - {"mistakes"}:
        np.testing.assert_allclose(again[name], stored[name], rtol=1e-3, err_msg=name)


def test_what_is_stored_bears_what_the_page_says() -> None:
    assert len(FOUND["first"]) == len(FOUND["others"]) == 31
    assert FOUND["first"][real.AFTER] > 100 * FOUND["others"][real.AFTER]
    assert FOUND["share"] > 0.98
    assert abs(FOUND["value"]) > 256  # so its square is no number of float16
    assert FOUND["changed"] > np.log(49152) > FOUND["loss"]
    assert max(FOUND["controls"]) < FOUND["loss"] + 0.1
    assert len(FOUND["controls"]) == real.CONTROLS


def test_the_word_matters_more_than_the_coordinate() -> None:
    whole = FOUND["loss"]
    assert len(FOUND["other words"]) == len(real.OTHER_WORDS)
    assert max(FOUND["other words"]) < whole + 0.26
    assert whole + 0.4 < min(FOUND["as large"]) < max(FOUND["as large"]) < FOUND["changed"]
    assert max(FOUND["moved"]) < FOUND["changed"] - 4
    assert FOUND["turned"] < whole + 1


def test_some_mistakes_cost_nothing_and_some_all() -> None:
    loss = FOUND["mistakes"]
    right = loss["as it is"]
    assert right == FOUND["loss"]
    assert abs(loss["d − 1"] - right) < 0.01 < loss["LayerNorm"] - right < 0.1
    assert min(loss[name] for name in ("no gains", "norms after", "none at the end")) > 10.8


def test_rows_become_alike_and_three_coordinates_are_most_of_it_but_at_the_end() -> None:
    assert len(FOUND["alike"]) == len(FOUND["alike_less"]) == 31
    assert FOUND["alike"][0] < 0.15 < 0.6 < FOUND["alike"][-1] < 0.8
    assert FOUND["alike_less"][real.AFTER] < 0.15 < 0.55 < FOUND["alike"][real.AFTER]
    assert FOUND["alike_less"][-1] > 0.5


def test_the_number_must_be_large_and_its_value_matters_little() -> None:
    half, tenth = FOUND["shrunk"]
    assert half - FOUND["loss"] < 0.2
    assert tenth - FOUND["loss"] > 7.5


def test_one_divisor_for_all_rows_does_nearly_as_well_as_the_last_norm() -> None:
    assert FOUND["loss"] < FOUND["common"] < FOUND["loss"] + 0.7
    assert FOUND["mistakes"]["none at the end"] > 80


def test_later_tokens_look_at_the_first_from_the_block_on_after_which_its_row_is_long() -> None:
    assert len(FOUND["looked_at"]) == 30
    evenly = np.mean(1 / np.arange(2, real.WORDS + 1))
    assert FOUND["looked_at"][real.AFTER - 1] < evenly < min(FOUND["looked_at"][real.AFTER :]) / 7
    assert np.mean(FOUND["looked_at"][real.AFTER :]) == pytest.approx(0.47, abs=0.005)


@pytest.mark.parametrize("name", ["first", "others"])
def test_rows_have_a_length(name: str) -> None:
    assert np.all(np.array(FOUND[name]) > 0)
