"""Scaling: a source whose surprise is known, runs of many sizes, and a law fitted to them."""

from tformer.experiments.scaling.law import (
    Law,
    Runs,
    bootstrap,
    columns,
    ends,
    explained,
    fit,
    objective,
    predict,
    read,
    resampled,
)

__all__ = [
    "Law",
    "Runs",
    "bootstrap",
    "columns",
    "ends",
    "explained",
    "fit",
    "objective",
    "predict",
    "read",
    "resampled",
]
