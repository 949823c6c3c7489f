"""Nine of ten guesses are no targets, and most steps read rows of 32 tokens.

Most words of a tale are drawn by lot, or always the same; most of a gradient comes from them, as
noise. Adam divides by the size of the whole gradient, so what follows from the text moves less. A
tale needs no other tale, so 32 tokens are enough; the last steps read 128, as the model must later.
"""

from parts import Plan, trained

from tformer.parameters import ModelParameters


def train(seed: int) -> ModelParameters:
    """The storyteller's parameters, from nothing."""
    return trained(Plan(steps=1750, guesses=0.1, short=0.85, rows=(32, 8)), seed)
