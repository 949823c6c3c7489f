"""What is stored of the published classes is what the fixtures of the tests hold."""

from pathlib import Path

from tformer.pretrained import families
from tformer_book.chapters.ch22 import published

ROOT = Path(__file__).parents[3]


def test_stored_models_are_the_fixtures() -> None:
    assert published.fixtures() == published.packed(ROOT / "tests" / "released")


def test_all_families_of_the_library_are_compared() -> None:
    names = [published.NAMES.get(family, family) for family in published.FAMILIES]
    assert sorted(names) == sorted(families.FAMILIES)
    assert published.summary() == "24 classes, differences below 1e-13 of the largest logit"
