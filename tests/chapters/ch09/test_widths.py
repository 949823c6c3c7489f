"""The sweep over widths, and the mistakes with their fingerprints."""

from tformer.chapters.ch09 import measured, mistakes, widths
from tformer.models.sizes import count_parameters
from tformer.world.stories import stories


def test_stored_models_are_of_one_size_and_those_of_the_program() -> None:
    n_vocab, found = len(stories().words), measured.widths()
    assert [one["d_model"] for one in found] == list(widths.D_MODEL)
    counts = [one["parameters"] for one in found]
    assert max(counts) < 1.01 * min(counts)
    for one in found:
        model = widths.sizes(one["d_model"], n_vocab)
        assert model.d_ff == one["d_ff"]
        assert count_parameters(model, widths.CONFIGURATION) == one["parameters"]
        assert len(one["excess"]) == len(widths.REPORTED)
        assert one["rate"] in widths.RATES
        assert widths.CHOOSING not in widths.REPORTED


def test_training_comes_nearer_to_the_entropy_and_repeats_itself() -> None:
    world = stories()
    model = widths.sizes(16, len(world.words))
    none, some, again = (widths.excess(world, model, 0.01, 1, steps) for steps in (0, 8, 8))
    assert 0 < some < none
    assert some == again


def test_every_mistake_has_a_fingerprint_of_its_own() -> None:
    found = {name: tuple(mistakes.odd(x)) for name, x in mistakes.fingerprints().items()}
    assert not any(found["right"])
    assert len(set(found.values())) == len(found)
    assert found["matrices exchanged"] == (False, False, False, False, True)
    assert found["norm over words"][1]
    assert found["no activation"][0]
    assert found["dead for certain"][2]
