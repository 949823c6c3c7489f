"""Mutants of answers to the exercises of chapter 13, and right answers unlike the book's."""

from typing import Any

MUTANTS: dict[str, Any] = {}
RIGHT: dict[str, Any] = {}
