"""Mistakes people make in the exercises of chapter 4, and right answers unlike the book's."""

from chapters.ch04 import wrong_distributions, wrong_heads, wrong_scores

WRONG = wrong_scores.WRONG | wrong_heads.WRONG | wrong_distributions.WRONG
RIGHT = wrong_scores.RIGHT | wrong_heads.RIGHT | wrong_distributions.RIGHT
