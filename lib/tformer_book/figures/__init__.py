"""What readers look at: one style, one call a figure."""

from tformer_book.figures.style import show, source

__all__ = ["show", "source"]
