"""Difference quotients: what the page draws is found again."""

import numpy as np

from tformer_book.chapters.ch12 import differences


def test_errors_of_quotients_are_those_of_the_page_up_to_rounding() -> None:
    """Where the curve bends, to a hundredth; where rounding decides, within ten times."""
    for told, found in zip(differences.stored(), differences.curves(), strict=True):
        assert told.name == found.name
        ratio = np.log10(found.error / told.error)
        bent = np.arange(len(ratio)) < told.error.argmin() - 6
        assert np.abs(ratio[bent]).max() < 0.005, told.name
        assert np.abs(ratio).max() < 1, told.name
