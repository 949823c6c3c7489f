"""Training on PyTorch's own parts: a recipe, one loop, and checkpoints that survive a kill.

``import tformer.training`` loads PyTorch. The optimisers that a page derives, for both libraries,
are in `tformer_book.experiments.training`.
"""

from tformer.training.checkpoints import CheckpointError
from tformer.training.loop import StepMetrics, train
from tformer.training.recipe import Recipe, learning_rate_at

__all__ = ["CheckpointError", "Recipe", "StepMetrics", "learning_rate_at", "train"]
