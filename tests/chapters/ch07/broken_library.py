"""Mistakes in the library functions of chapter 7, and what the chapter's claims notice."""

from typing import Any

MISTAKES: dict[str, Any] = {}
"""What is wrong -> the library function, and the mistaken one in its place."""

NOTICED: dict[str, list[str]] = {}
"""What is wrong, here or in another chapter -> the claims of this chapter that must fail."""
