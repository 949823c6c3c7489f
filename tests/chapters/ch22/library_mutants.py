"""Mutants of library functions that only claims of chapter 22 speak of: there are none."""

MUTANTS: dict[str, object] = {}
KILLED_BY: dict[str, list[str]] = {}
