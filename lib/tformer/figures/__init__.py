"""What readers look at: one style, one call a figure."""

from tformer.figures.style import show, source

__all__ = ["show", "source"]
