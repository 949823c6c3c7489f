"""Figures to touch: with a kernel they sync with Python, without one they run in the page.

Each widget is a Python class and one module of JavaScript that does the same arithmetic; the
tests compare its numbers with `tformer.reference`.
"""

from tformer.widgets.attention_map import AttentionMap
from tformer.widgets.dot_product import DotProduct
from tformer.widgets.quiz import Quiz
from tformer.widgets.score_scale import ScoreScale
from tformer.widgets.softmax_temperature import SoftmaxTemperature

__all__ = ["AttentionMap", "DotProduct", "Quiz", "ScoreScale", "SoftmaxTemperature"]
