"""Tests of the exercises of chapter 1, dot products."""

from tformer.check.chapter01 import vectors  # noqa: F401, I001  (the order is that of the exercises)
from tformer.check.chapter01 import tables, statistics, embeddings  # noqa: F401
