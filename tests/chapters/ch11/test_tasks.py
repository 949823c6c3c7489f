"""The three tasks: their examples, a run trained again, and the counts of the world."""

from fractions import Fraction
from itertools import product

import numpy as np
import pytest
import torch

from tformer.models.sizes import initialise
from tformer.parameters import leaves
from tformer_book.chapters.ch11 import counts, tasks, train
from tformer_book.world.stories import CURES, WHO


def words(numbers: np.ndarray) -> list[str]:
    return ["-" if i < 0 else tasks.WORDS[i] for i in numbers]


def test_every_noun_has_a_pronoun_and_every_trouble_a_word() -> None:
    assert sorted(tasks.PRONOUNS) == sorted(noun for nouns in WHO.values() for noun in nouns)
    troubles = [trouble for cures in CURES.values() for trouble in cures]
    assert sorted(tasks.ADJECTIVES) == sorted(troubles)
    assert len(set(tasks.WORDS)) == len(tasks.WORDS)


def test_examples_ask_for_what_comes_next() -> None:
    story = tasks.STORIES[1]
    one = tasks.Stories((story,), np.ones(1), tasks.ALL.words)
    refer, remedy, pair, row = (
        tasks.examples(task, one, paired)
        for task, paired in (("refer", 0), ("remedy", 0), ("german", 1), ("german", 0))
    )
    assert words(refer.asked[0]) == ["-"] * 9 + ["street"] * 4
    assert words(refer.words[0])[9:] == ["it", "was", "too", "wide"]
    assert words(remedy.asked[0])[14:] == ["-", "narrowed", "the", "street", "."]
    assert words(pair.source[0]) == story.split()[:12]
    assert words(pair.words[0]) == [".", "weil", "sie", "zu", "breit", "war"]
    assert words(pair.asked[0]) == ["weil", "sie", "zu", "breit", "war", "."]
    assert words(row.words[0]) == story.split()[:12] + words(pair.words[0])
    assert words(row.asked[0]) == ["-"] * 12 + words(pair.asked[0])
    assert row.n_prefix == 13


@pytest.mark.parametrize(("task", "form"), [("refer", "encoder")])
def test_a_run_trained_again_gives_what_is_stored(task: str, form: str) -> None:
    again = train.tried(task, form, train.trained(task, form))
    np.testing.assert_allclose(
        again["given"], tasks.stored()[f"{task} {form}"][0]["given"], atol=0.02
    )


def test_an_answer_that_is_copied_is_not_written() -> None:
    """What is written is fed back; the right words are never shown."""
    given = tasks.examples("remedy", tasks.ALL.split()[1])
    few = tasks.Examples(given.source[:3], given.words[:3], given.asked[:3])
    p = train.trained("remedy", "decoder", steps=2)
    shown = few._replace(words=np.where(few.asked >= 0, 0, few.words))
    shown.words[:, tasks.THEY] = few.words[:, tasks.THEY]
    found = [train.written("decoder", p, one) for one in (few, shown)]
    np.testing.assert_array_equal(*found)


def test_the_best_guess_is_the_best_of_all_functions() -> None:
    world = tasks.Stories(tasks.ALL.texts[:6], np.full(6, 1 / 6), tasks.ALL.words)
    groups = list(counts.knowing(world, "decoder", tasks.IT).values())
    best = max(
        sum(who[answer] for who, answer in zip(groups, answers, strict=True))
        for answers in product(*groups)
    )
    assert counts.best_guess(world, "decoder", tasks.IT)[0] == Fraction(best, 6)


def test_every_run_is_stored_for_every_seed() -> None:
    stored = tasks.stored()
    assert list(stored) == [f"{task} {form}" for task, form in tasks.RUNS]
    assert all(len(runs) == tasks.SEEDS for runs in stored.values())


def test_a_blank_is_asked_for_the_next_word_alone() -> None:
    """Its scores after so many words are those of a shorter text, and none are asked before."""
    given = tasks.examples("remedy", tasks.ALL.split()[1])
    source, words = (torch.from_numpy(x[:3]) for x in given[:2])
    p = train.trained("remedy", "blank", steps=2)
    z = train.scores("blank", p, source, words, given.n_prefix)
    assert z.shape == (*words.shape, len(tasks.WORDS))
    assert not z[:, : tasks.THEY].any()
    for t in range(tasks.THEY, words.shape[1]):
        short = train.scores("blank", p, source, words[:, : t + 1], given.n_prefix)
        torch.testing.assert_close(short[:, -1], z[:, t])


def test_an_encoder_copies_that_says_the_word_on_its_right() -> None:
    """One that says the last word whatever is shown copies only where that was shown."""

    def last(*_: object) -> torch.Tensor:
        return torch.nn.functional.one_hot(_[3][:, 1:], len(tasks.WORDS)).double()

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(train, "scores", last)
        assert train.copied(None) == 1
        patch.setattr(train, "scores", lambda *_: last(*_).flip(1))
        assert train.copied(None) == 0


def test_a_pair_counts_both_sides() -> None:
    assert tasks.n_parameters("pair") == sum(
        sum(x.size for x in leaves(initialise(one, tasks.CONFIGURATION, np.random.default_rng(0))))
        for one in tasks.sizes("pair")
    )
    assert tasks.sizes("pair")[1].has_cross_attention
    assert tasks.n_parameters("decoder") == tasks.n_parameters("encoder") < 30_000
