"""Planted answers to the exercises of chapter 16, wrong and right."""

from typing import Any

MUTANTS: dict[str, Any] = {}
RIGHT: dict[str, Any] = {}
