"""The sentences of chapter 17, the models that are stored, and the cuts that open them."""

import numpy as np
import pytest

from tformer import reference
from tformer.models.hooks import mean_ablation, resample_ablation, run_with_hooks
from tformer.parameters import leaves, tree_map
from tformer_book.chapters.ch17 import circuits, moved, veto, votes
from tformer_book.chapters.ch17.circuits import ADJECTIVE, IT, NOUNS, SHOWN, TASKS
from tformer_book.storyteller import load
from tformer_book.world.stories import CURES, WHO


def test_sentences_are_first_clauses_and_half_mean_either_noun() -> None:
    told, held = circuits.sentences()
    assert (len(told.p), len(held.p)) == (2376, 504)
    for part in (told, held):
        assert abs(part.p.sum() - 1) < 1e-12
        words = np.array(part.words)[part.tokens]
        assert (words[:, [2, 3, 7, IT, 10]] == ["did", "not", "because", "it", "too"]).all()
        pairs = {tuple(row) for row in part.tokens[:, [1, 4, 6]]}
        assert len(pairs) == len({tuple(row) for row in part.tokens[:, [1, 6]]})
        for pair in list(pairs)[::17]:
            chosen = (part.tokens[:, [1, 4, 6]] == pair).all(axis=1)
            first = part.p[chosen & part.first].sum() / part.p[chosen].sum()
            assert abs(first - 0.5) < 1e-12
    nouns = [
        {frozenset(row) for row in part.tokens[:, list(NOUNS)].tolist()} for part in (told, held)
    ]
    assert not nouns[0] & nouns[1]


def test_colours_are_not_learnt_by_one_layer_and_begin_alike() -> None:
    task = TASKS["one head, colour"]
    first, second = (circuits.learnt(task, 0, until=20)[0] for _ in range(2))
    for x, y in zip(leaves(first), leaves(second), strict=True):
        assert (x == y).all()
    assert max(x["right"] for x in circuits.stored()["one head, colour"]) < 0.6


@pytest.mark.parametrize("name", SHOWN)
def test_a_stored_model_is_the_one_that_was_measured(name: str) -> None:
    """Its numbers were rounded to float16, which may move a share by some sentences."""
    import torch

    task, seed = SHOWN[name]
    model = tree_map(torch.from_numpy, circuits.shown(name))
    found = circuits.measured(TASKS[task], model, np.zeros((TASKS[task].colours, circuits.WIDTH)))
    for key in ("right", "prefers", "meant", "other"):
        assert abs(found[key] - circuits.stored()[task][seed][key]) < 0.01, key
    if task == "two layers, noun":
        row = circuits.row(TASKS[task], model)
        np.testing.assert_allclose(row, circuits.stored_rows()[seed], atol=0.01)


def test_a_cut_takes_looks_of_some_words_at_others_and_nothing_else() -> None:
    weights = np.random.default_rng(0).random((3, 2, 12, 12))
    kept = weights.copy()
    (name,) = changes = circuits.looks_cut(1, [IT, 2], NOUNS)
    assert name == "blocks.1.weights"
    cut = changes[name](weights)
    assert (weights == kept).all()
    where = np.zeros((12, 12), dtype=bool)
    where[np.ix_([IT, 2], list(NOUNS))] = True
    assert (cut[..., where] == 0).all()
    assert (cut[..., ~where] == weights[..., ~where]).all()


def test_votes_are_those_of_the_two_sentences() -> None:
    text = votes.ROW.format("tired")
    found = votes.read(text, "votes")
    told = votes.votes(found, circuits.shown("votes"))
    total = (told.own + told.words.sum(axis=0)) * told.factor
    np.testing.assert_allclose(total, found["logits"][IT], atol=1e-10)
    animal, street = votes.chances(found, text)
    assert animal > 0.9 > 0.1 > street
    assert found["blocks.0.weights"][0, IT, ADJECTIVE] > 0.1


def test_silence_is_a_matrix_of_outputs_that_is_zero_for_the_last_word() -> None:
    whole, cut = veto.read("wide"), veto.read("wide", veto.silent(0, 2))
    assert (cut["blocks.0.heads"][[0, 2], -1] == 0).all()
    assert (cut["blocks.0.heads"][:, :-1] == whole["blocks.0.heads"][:, :-1]).all()
    assert (cut["blocks.0.heads"][[1, 3]] == whole["blocks.0.heads"][[1, 3]]).all()


def test_other_tales_are_all_that_are_held_out_and_end_where_the_noun_is_wanted() -> None:
    from tformer_book.storyteller.tales import parted

    assert len(veto.tales()) == len(parted()[1])
    assert {trouble for trouble, _ in veto.tales()} > set(veto.TALES)
    for head in (0, 2):
        left = veto.left("wide", head)
        at = np.s_[..., head, -1, :]
        runs = [run for _, run in veto.tales()]
        assert left.zeros == veto.odds(veto.read("wide", veto.silent(head)))
        drawn = resample_ablation(runs, "blocks.0.heads", at, np.random.default_rng(3))
        assert veto.odds(veto.read("wide", drawn)) in left.others


def test_each_tale_is_read_with_its_own_nouns_and_ablated_at_its_last_word_alone() -> None:
    told = veto.told()
    assert sum(len(kinds) for kinds in veto.FITS.values()) == len(CURES)
    assert {tale.fits for tale in told} == {*veto.FITS}
    for tale in told[:: len(told) // 7]:
        words = [load().tokens.decode([token]).strip() for token in tale.tokens]
        story = " ".join(words).partition(" . ")[2]
        nouns = [load().tokens.decode([token]).strip() for token in tale.nouns]
        assert all(f" {noun} " in story for noun in nouns)
        kind = next(kind for kind, cures in CURES.items() if tale.trouble in cures)
        assert [noun in WHO[kind] for noun in nouns] == [True, False]
        assert kind in veto.FITS[tale.fits]
    at = np.s_[..., 2, -1, :]
    for i in (0, 250, 503):
        tale = told[i]

        def silenced(y: np.ndarray) -> np.ndarray:
            kept = y.copy()
            kept[2, -1] = 0
            return kept

        for way, changes in (("whole", {}), ("zero", {"blocks.0.heads": silenced})):
            run = run_with_hooks(tale.tokens, veto.parameters(), load()[2], changes)
            right, other = run["logits"][-1, tale.nouns]
            np.testing.assert_allclose(veto.ablated(way)[i], right - other, atol=1e-9)
    means = mean_ablation([tale.run for tale in told], "blocks.0.heads", at)
    run = run_with_hooks(told[9].tokens, veto.parameters(), load()[2], means)
    right, other = run["logits"][-1, told[9].nouns]
    np.testing.assert_allclose(veto.ablated("mean")[9], right - other, atol=1e-9)


def test_the_decoder_is_that_of_chapter_10_and_patches_of_all_places_bring_all() -> None:
    from tformer_book.chapters.ch10.learn import PROMPTS, stored

    for name in moved.STORIES:
        assert moved.STORIES[name][0] == PROMPTS[name]
        runs = moved.runs(name)
        p = reference.softmax(runs.clean["logits"][-1])
        noun = moved.STORIES[name][1][0]
        wanted = stored()["free"][0][name]["p"][noun]
        assert abs(p[runs.nouns[0]] - wanted) < 0.01
        tokens = moved.numbers(moved.STORIES[name][0])
        every = run_with_hooks(
            tokens,
            *moved.decoder(),
            {"blocks.0.after": lambda x, runs=runs: runs.other["blocks.0.after"]},
        )
        np.testing.assert_allclose(every["logits"], runs.other["logits"], atol=1e-12)
        before = moved.recovered(name, "embedded")
        place = runs.words.index(noun)
        assert before[place] == pytest.approx(1)
        assert (before[:place] == 0).all()
