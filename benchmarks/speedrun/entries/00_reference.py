"""The recipe of `make storyteller`, without its measurements on the way."""

from parts import Plan, trained

from tformer.parameters import ModelParameters


def train(seed: int) -> ModelParameters:
    """The storyteller's parameters, from nothing."""
    return trained(Plan(), seed)
