"""Over half as many steps again, and a tenth of the guesses as targets."""

from parts import Plan, trained

from tformer.parameters import ModelParameters


def train(seed: int) -> ModelParameters:
    """The storyteller's parameters, from nothing."""
    plan = Plan(
        steps=4400,
        rate=4e-3,
        guesses=0.1,
        short=0.85,
        rows=(24, 8),
        fused=True,
        at_once=True,
    )
    return trained(plan, seed)
