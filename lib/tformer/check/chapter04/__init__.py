"""Tests of the exercises of chapter 4, why the scores are divided by √d."""

from tformer.check.chapter04 import scores  # noqa: F401, I001  (the order is that of the exercises)
from tformer.check.chapter04 import heads, laws  # noqa: F401
