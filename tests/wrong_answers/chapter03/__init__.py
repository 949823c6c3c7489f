"""Mistakes people make in the exercises of chapter 3, and right answers unlike the book's."""

from wrong_answers.chapter03 import machines, matrices, order, rows

WRONG = rows.WRONG | order.WRONG | matrices.WRONG | machines.WRONG
RIGHT = rows.RIGHT | order.RIGHT | matrices.RIGHT | machines.RIGHT
