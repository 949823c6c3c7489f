"""One curve: what is forgotten, and what differs if a mean is taken wrongly."""

from pathlib import Path

import numpy as np

from tformer_book.chapters.ch14 import curve


def test_a_batch_is_a_function_of_its_step() -> None:
    for one, other in zip(curve.batch(3), curve.batch(3), strict=True):
        assert (one == other).all()
    assert (curve.batch(3)[1] != curve.batch(4)[1]).any()


def test_forgetting_shows_after_the_stop_and_not_before(tmp_path: Path) -> None:
    whole = curve.losses(curve.RECIPE)
    kept = curve.resumed(tmp_path / "kept", 8)
    lost = curve.resumed(tmp_path / "lost", 8, forgotten="moments")
    assert kept == whole
    assert lost[:9] == whole[:9]
    assert lost[9:] != whole[9:]


def test_means_of_one_part_are_the_loss() -> None:
    np.testing.assert_allclose(curve.by_means(1), curve.losses(curve.RECIPE), atol=1e-12)
