"""Tests of the exercises of chapter 2, softmax."""

from tformer.check.chapter02 import weights  # noqa: F401, I001  (the order is that of the exercises)
from tformer.check.chapter02 import rows, gradients, algorithms  # noqa: F401
