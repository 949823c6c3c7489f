"""Figures to touch: with a kernel they sync with Python, without one they run in the page.

Each widget is a Python class and one module of JavaScript that does the same arithmetic; the
tests compare its numbers with `tformer.reference`.
"""

from tformer_book.widgets.quiz import Quiz

__all__ = ["Quiz"]
