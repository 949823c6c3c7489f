"""Mistakes people make in the exercises of chapter 7, and right answers unlike the book's."""

WRONG = {}
RIGHT = {}
