"""Training with PyTorch: a recipe, one loop for one process or several, and checkpoints.

``import tformer.training`` loads PyTorch. A run that was killed resumes from its last checkpoint,
to the same numbers as a run that was not.
"""

from tformer.training.checkpoints import CheckpointError
from tformer.training.loop import StepMetrics, train
from tformer.training.recipe import Recipe, learning_rate_at

__all__ = ["CheckpointError", "Recipe", "StepMetrics", "learning_rate_at", "train"]
