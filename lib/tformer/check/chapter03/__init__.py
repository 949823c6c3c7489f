"""Tests of the exercises of chapter 3, queries, keys and values."""

from tformer.check.chapter03 import rows  # noqa: F401, I001  (the order is that of the exercises)
from tformer.check.chapter03 import order, matrices, machines  # noqa: F401
