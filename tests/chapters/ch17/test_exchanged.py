"""Parts of a run that are taken from another: what is stored is found again."""

import numpy as np

from tformer_book.chapters.ch17 import circuits, exchanged


def test_a_twin_has_the_same_nouns_and_verb_and_means_the_other() -> None:
    held, others = circuits.sentences()[1], exchanged.twins()
    same = [place for place in range(12) if place != circuits.ADJECTIVE]
    assert (held.tokens[others][:, same] == held.tokens[:, same]).all()
    assert (held.first[others] != held.first).all()
    assert (held.meant[others] == held.other).all()


def test_equal_weights_leave_what_the_page_says() -> None:
    assert abs(exchanged.levelled("picture") - 0.9346) < 0.01
    found = circuits.stored()["two layers, noun"][circuits.SHOWN["picture"][1]]
    assert found["last looks"] < 0.5 < exchanged.levelled("picture")


def test_eight_trainings_are_stored_and_none_follows_the_trouble_alone() -> None:
    stored = exchanged.stored()
    assert {len(rows) for rows in stored.values()} == {circuits.SEEDS}
    decided = np.array([stored["query"], stored["keys"]])
    assert (decided.max(axis=0) > 0.95).all()
    assert (decided.min(axis=0) < 0.05).all()
    assert max(stored["colour"]) < 0.95
