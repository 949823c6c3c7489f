"""Mistakes people make in the exercises of chapter 4, and right answers unlike the book's."""

from wrong_answers.chapter04 import heads, laws, scores

WRONG = scores.WRONG | heads.WRONG | laws.WRONG
RIGHT = scores.RIGHT | heads.RIGHT | laws.RIGHT
