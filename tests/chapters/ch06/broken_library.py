"""What the claims of chapter 6 notice of mistakes in the library."""

from typing import Any

MISTAKES: dict[str, Any] = {}
"""What is wrong -> the library function, and the mistaken one in its place."""

NOTICED: dict[str, list[str]] = {}
"""What is wrong, here or in another chapter -> the claims of this chapter that must fail."""
