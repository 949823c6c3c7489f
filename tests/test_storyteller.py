"""The storyteller is what its recipe makes, and its tales are what they are said to be."""

import csv
import itertools

import numpy as np
import pytest
import torch

from tformer import fast, reference
from tformer.models.files import WeightsError
from tformer.parameters import leaves, tree_map
from tformer_book.storyteller import load, stored, tales, training
from tformer_book.world.stories import Stories

MEASURED = stored.HERE / "measured.csv"


def measured():
    with MEASURED.open(encoding="utf-8") as file:
        return [{name: float(x) for name, x in row.items()} for row in csv.DictReader(file)]


def story_of(text):
    """The story that a tale tells, and its name."""
    for idle in tales.IDLE:
        text = text.replace(idle, "")
    name, rest = text.split(" came by. The ")
    trouble, cure = rest.removesuffix(".").split(f". So {name} ")
    return f"the {trouble} . so they {cure} .", name


def test_merges_are_those_that_its_stories_give():
    assert training.learnt() == stored.MERGES.read_text("utf-8").splitlines()


def test_every_piece_of_a_tale_is_one_token():
    bpe, (learnt_from, held_out) = stored.tokens(), tales.parted()
    for i, story in enumerate((*learnt_from, *held_out)):
        idle = (*tales.IDLE, "")
        told = tales.tale(story, tales.NAMES[i % 24], idle[i % 6], idle[i // 6 % 6])
        assert [len(bpe.encode(piece)) for piece in told.pieces] == [1] * len(told.pieces)
        assert bpe.encode(str(told)) == [n for piece in told.pieces for n in bpe.encode(piece)]
        assert len(told.kinds) == len(told.pieces)


def test_a_tale_says_of_each_word_what_is_asked():
    told = tales.tale(
        "the dog did not cross the river because it was too wide . so they narrowed the river .",
        "Mia",
        *tales.IDLE[:2],
    )
    asked = [
        (kind, piece)
        for kind, piece in zip(told.kinds, told.pieces, strict=True)
        if kind != "grammar"
    ]
    words = ["Mia", "dog", "cross", "river", "wide", "Mia", "narrowed", "river"]
    assert [piece.strip() for _, piece in asked] == words
    assert [kind for kind, _ in asked] == [
        *("name", "noun", "verb", "second noun", "trouble"),
        *("name again", "cure", "patient"),
    ]
    assert str(told) == (
        "Mia came by. The sun shone. The dog did not cross the river because it was too wide."
        " A bird sang. So Mia narrowed the river.\n"
    )


def test_rows_are_tales_of_the_world_that_is_given():
    world = tales.parted()[0]
    rows = tales.Tales(stored.tokens(), world).rows(np.random.default_rng(3), 200, 129)
    found = "".join(stored.tokens().decode(row) for row in rows)
    whole = [line for line in found.split("\n") if line.endswith(".") and " So " in line]
    assert rows.shape == (200, 129)
    assert len(whole) > 500
    told = [story_of(line) for line in whole]
    assert {story for story, _ in told} <= set(world.texts)
    assert {name for _, name in told} == set(tales.NAMES)
    idle = sum(line.count(one) for line in whole for one in tales.IDLE) / len(whole)
    assert abs(idle - 2 * tales.IDLE_SHARE) < 4 * (2 * 0.2 * 0.8 / len(whole)) ** 0.5


def test_entropy_is_that_of_all_tales_listed():
    some = tales.parted()[0]
    for p_of_story in ([0.5, 0.25, 0.25], [1 / 3, 1 / 3, 1 / 3]):
        world = Stories(some.texts[:3], np.array(p_of_story))
        share = {**dict.fromkeys(tales.IDLE, tales.IDLE_SHARE / 5), "": 1 - tales.IDLE_SHARE}
        p: dict[str, float] = {}
        choices = zip(world.texts, world.p, strict=True)
        for (story, q), name, a, b in itertools.product(choices, tales.NAMES, share, share):
            text = str(tales.tale(story, name, a, b))
            p[text] = p.get(text, 0) + q / 24 * share[a] * share[b]
        found = -sum(x * np.log(x) for x in p.values())
        assert len(p) == 3 * 24 * 36
        assert tales.entropy(world) == pytest.approx(found, abs=1e-12)


def test_weights_with_another_checksum_are_refused(monkeypatch):
    monkeypatch.setattr(stored, "SHA256", "0" * 64)
    with pytest.raises(WeightsError, match=r"weights.safetensors has the checksum [0-9a-f]{64}"):
        stored.load.__wrapped__()


def test_weights_are_those_that_were_measured():
    """Float16 on disk: the losses of the last step come again to a few thousandths."""
    teller = load()
    last = measured()[-1]
    module = fast.Module(
        fast.decoder,
        tree_map(torch.from_numpy, teller.parameters),
        configuration=teller.configuration,
    )
    read, unread = (
        training.losses(module, training.asked(teller.tokens, world)) for world in tales.parted()
    )
    assert last["step"] == training.RECIPE.steps
    for name, nats in read.items():
        assert nats == pytest.approx(last[name], abs=0.005), name
    for name in training.UNREAD:
        assert unread[name] == pytest.approx(last[f"{name}, unread"], abs=0.005), name


def test_trained_again_it_begins_as_it_was_measured(tmp_path):
    row = next(training.trained(tmp_path, bar=False))
    for name, x in measured()[1].items():
        assert row[name] == pytest.approx(x, abs=0.01), name


def test_both_libraries_read_alike():
    teller = load()
    tokens = tales.Tales(teller.tokens, tales.parted()[1]).rows(np.random.default_rng(0), 4, 128)
    one = reference.decoder(tokens, teller.parameters, teller.configuration)
    given = torch.from_numpy(tokens), tree_map(torch.from_numpy, teller.parameters)
    other = fast.decoder(*given, teller.configuration)
    assert np.abs(one - other.numpy()).max() < 5e-5


def test_it_helps_whom_it_should_nearly_always():
    """Of pairs of nouns that it never read, 12 of 504 stories go wrong, all of a table."""
    teller, world = load(), tales.parted()[1]
    parameters = tree_map(torch.from_numpy, teller.parameters)
    wrong = []
    for story in world:
        told = tales.tale(story, "Mia")
        row = teller.tokens.encode(f"\n{told}")
        place = told.kinds.index("patient")
        logits = fast.decoder(torch.tensor(row), parameters, teller.configuration)
        if int(logits[place].argmax()) != row[place + 1]:
            wrong.append(story)
    assert 0 < len(wrong) <= 20
    assert all("table" in story for story in wrong)


def test_its_file_is_half_precision_and_small():
    assert {x.dtype for x in leaves(stored.read(stored.WEIGHTS)[0])} == {np.dtype("float16")}
    assert stored.WEIGHTS.stat().st_size < 400_000
