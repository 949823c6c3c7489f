"""Mistakes people make in the exercises of chapter 3, and right answers unlike the book's."""

from chapters.ch03 import wrong_machines, wrong_matrices, wrong_order, wrong_rows

WRONG = wrong_rows.WRONG | wrong_order.WRONG | wrong_matrices.WRONG | wrong_machines.WRONG
RIGHT = wrong_rows.RIGHT | wrong_order.RIGHT | wrong_matrices.RIGHT | wrong_machines.RIGHT
