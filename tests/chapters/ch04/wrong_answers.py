"""Mistakes people make in the exercises of chapter 4, and right answers unlike the book's."""

from chapters.ch04 import wrong_distributions, wrong_gradients, wrong_heads, wrong_scores

PARTS = (wrong_scores, wrong_heads, wrong_distributions, wrong_gradients)
WRONG = {name: answers for part in PARTS for name, answers in part.WRONG.items()}
RIGHT = {name: answers for part in PARTS for name, answers in part.RIGHT.items()}
