"""Mistakes people make in the exercises of chapter 3, and right answers unlike the book's."""

from chapters.ch03 import wrong_machines, wrong_matrices, wrong_order, wrong_predictions, wrong_rows

PARTS = (wrong_predictions, wrong_rows, wrong_order, wrong_matrices, wrong_machines)
WRONG = {number: given for part in PARTS for number, given in part.WRONG.items()}
RIGHT = {number: given for part in PARTS for number, given in part.RIGHT.items()}
