"""Scaling: a source whose surprise is known, runs of many sizes, and a law fitted to them."""

from tformer_book.experiments.scaling.law import (
    Law,
    Runs,
    bootstrap,
    columns,
    draws,
    ends,
    explained,
    fit,
    fit_each,
    objective,
    predict,
    read,
)

__all__ = [
    "Law",
    "Runs",
    "bootstrap",
    "columns",
    "draws",
    "ends",
    "explained",
    "fit",
    "fit_each",
    "objective",
    "predict",
    "read",
]
