"""The trainings of the storyteller's world: they begin as written, and their cuts are cuts."""

import numpy as np
import pytest
import torch

from tformer import reference
from tformer.models.layered import layered_decoder
from tformer.parameters import leaves, tree_map
from tformer_book.chapters.ch22 import story, story_kept, story_reads
from tformer_book.storyteller import stored, training
from tformer_book.storyteller.tales import parted

SQUARES = {
    "as it is": 382.939013,
    "sinks": 382.963754,
    "experts": 403.563126,
    "window": 382.886927,
    "window, then all": 382.931358,
    "too short a window": 382.767693,
}
"""The sum of all parameters' squares after `EARLY` steps: any other recipe ends at another sum."""
EARLY = 12


def tales(n: int = 12) -> story_reads.Tales:
    return story_reads.tales_of(training.asked(stored.tokens(), parted()[1], n))


def tree_of(version: str, scale: float = 8.0) -> tuple[object, object]:
    """A version with larger first parameters, so that all scores matter."""
    module = story.untrained(version, 5)
    return tree_map(lambda x: (scale * x.detach()).double(), module.tree), module.fixed[
        "configuration"
    ]


@pytest.mark.parametrize("version", story.VERSIONS)
def test_a_training_begins_as_it_is_written(version: str) -> None:
    module = story.untrained(version, 1)
    for made in story.steps(module, 1):
        if made.step == EARLY:
            break
    squares = sum(float((x.detach().double() ** 2).sum()) for x in leaves(module.tree))
    assert squares == pytest.approx(SQUARES[version], rel=3e-6)


def test_versions_differ_in_what_their_table_says() -> None:
    control = story.untrained("as it is", 1)
    count = {v: sum(x.numel() for x in leaves(story.untrained(v, 1).tree)) for v in story.VERSIONS}
    assert count["as it is"] == 178112
    assert count["sinks"] - count["as it is"] == 2 * 4
    experts = story.untrained("experts", 1).tree.layers[0].experts
    active = story.TOP_K * experts.w_in.shape[-1]
    assert active == control.tree.layers[0].feed_forward.w_in.shape[-1] == 176
    assert count["experts"] - count["as it is"] == 2 * (3 * 64 * 176 + 64 * story.N_EXPERTS)
    for version in ("sinks", "window", "window, then all", "too short a window"):
        tree = story.untrained(version, 1).tree
        same = [x for x in leaves(tree) if x.shape != (4,)]
        for one, other in zip(same, leaves(control.tree), strict=True):
            assert torch.equal(one, other)


def test_targets_are_few_guesses_and_all_that_reading_settles() -> None:
    given, wanted = story.batch(1, 7)
    assert given.shape == wanted.shape == (24, 32)
    assert story.batch(1, 1500)[0].shape == (8, 128)
    so = given == stored.tokens().encode(" So")[0]
    assert (wanted[so] >= 0).all()
    assert (wanted[:, 3:][so[:, :-3]] >= 0).all()
    assert 0.1 < (wanted >= 0).mean() < 0.3


@pytest.mark.parametrize(
    ("version", "reaches"), [("as it is", True), ("window", True), ("too short a window", False)]
)
def test_two_layers_reach_twice_as_far_as_one(version: str, reaches: bool) -> None:
    """Another first noun moves the logits at the end, or not at all."""
    found, (p, c) = tales(), tree_of(version)
    rows = torch.arange(len(found.given))
    other = found.given.clone()
    other[rows, found.at["noun"]] = found.given[0, 2]
    a, b = (layered_decoder(x, p, c)[rows, found.at["end"]] for x in (found.given, other))
    assert ((a - b).abs().max(dim=-1).values > 0).all() == reaches
    if not reaches:
        assert torch.equal(a, b)


@pytest.mark.parametrize("version", story.VERSIONS)
def test_layers_one_by_one_are_the_decoder(version: str) -> None:
    found, (p, c) = tales(3), tree_of(version)
    got = story_reads.logits(p, c, found.given)
    assert torch.allclose(got, layered_decoder(found.given, p, c), atol=1e-12)


def test_a_tale_is_read_word_by_word() -> None:
    found, bpe = tales(), stored.tokens()
    words = {
        name: {bpe.decode([int(found.given[i, t])]) for i, t in enumerate(at)}
        for name, at in found.at.items()
    }
    assert words["because"] == {" because"}
    assert words["it"] == {" it"}
    assert words["stop"] == {"."}
    assert words["So"] == {" So"}
    assert words["end"] == {" the"}
    rows = torch.arange(len(found.given))
    patient = found.wanted[rows, found.at["end"]]
    nouns = torch.stack([found.given[rows, found.at[x]] for x in story_reads.NOUNS])
    assert (patient == nouns[torch.where(found.first, 0, 1), rows]).all()


def test_a_cut_takes_these_looks_and_no_other() -> None:
    found = tales(3)
    mask = story_reads.CUTS["all others, on the nouns"](found)[0]
    assert mask is not None
    hidden = {(int(i), int(t), int(s)) for i, t, s in (~mask).nonzero()}
    want = set()
    for i in range(3):
        for word in story_reads.NOUNS:
            s, end = int(found.at[word][i]), int(found.at["end"][i])
            want |= {(i, t, s) for t in range(found.given.shape[-1]) if t not in (s, end)}
    assert hidden == want
    assert story_reads.CUTS["the end, on the nouns"](found)[1][0, found.at["end"][0]].sum() == (
        found.given.shape[-1] - 2
    )


def test_losses_are_those_of_the_storytellers_own_measure() -> None:
    module = story.untrained("as it is", 2)
    asked = training.asked(stored.tokens(), parted()[1], 12)
    want = training.losses(module, asked)
    got = story_reads.answers(
        module.tree, module.fixed["configuration"], story_reads.tales_of(asked)
    )
    assert got["nats"] == pytest.approx(want, rel=1e-6)


def test_what_a_sink_takes_is_counted_in_loops() -> None:
    found, (p, c) = tales(2), tree_of("sinks", 3.0)
    p = tree_map(lambda x: x + 0.5 if x.shape == (4,) else x, p)
    layers = story_reads.sinks(p, c, found)
    one = tree_map(lambda x: x.numpy(), p.layers[0])
    x = reference.rms_norm(p.embedding.numpy()[found.given.numpy()], one.mixer_norm, c.eps)
    heads = one.attention.heads
    turns = reference.sinusoidal(np.arange(x.shape[1]), heads.w_q.shape[-1])
    taken = []
    for i in range(2):
        for h in range(4):
            q, k = (reference.rope(x[i] @ w[h], turns, "half") for w in (heads.w_q, heads.w_k))
            end = int(found.at["end"][i])
            scores = k[: end + 1] @ q[end] / 4
            z = one.attention.sinks[h]
            total = np.exp(z) + np.exp(scores).sum()
            taken.append((h, np.exp(z) / total, np.exp(scores[0]) / total))
    for h in range(4):
        sink, first = (np.mean([x[i] for x in taken if x[0] == h]) for i in (1, 2))
        assert layers[0]["at the end"][h] == pytest.approx(sink, rel=1e-9)
        assert layers[0]["first token at the end"][h] == pytest.approx(first, rel=1e-6)


def test_every_word_chooses_two_experts() -> None:
    found, (p, c) = tales(4), tree_of("experts")
    for layer in story_reads.experts(p, c, found):
        assert sum(layer["all"]) == pytest.approx(2)
        for shares in layer["kinds"].values():
            assert sum(shares) == pytest.approx(2)


def test_stored_runs_are_those_of_the_recipe() -> None:
    assert list(story_kept.kept()) == list(story.VERSIONS)
    for several in story_kept.kept().values():
        assert len(several) == len(story.SEEDS)
        for one in several:
            assert max(map(int, one["curve"])) == story.RECIPE.steps
            assert set(one["cuts"]) == set(story_reads.CUTS)


def test_intervals_of_three_seeds_carry_no_ranking() -> None:
    for version in ("sinks", "experts", "window", "window, then all"):
        mean, low, high = story_kept.ratio(version)
        assert low < 1 < high
        assert low < mean < high
