"""The mistakes of the page and their fingerprints."""

from tformer_book.chapters.ch09 import mistakes


def test_every_mistake_has_a_fingerprint_of_its_own() -> None:
    found = {name: tuple(mistakes.odd(x)) for name, x in mistakes.fingerprints().items()}
    assert not any(found["right"])
    assert len(set(found.values())) == len(found)
    assert found["matrices exchanged"] == (False, False, False, False, True)
    assert found["norm over words"][1]
    assert found["no activation"][0]
    assert found["dead for certain"][2]
