"""The page before chapter 1 introduces no function of the library: nothing of its own to break."""

MISTAKES: dict = {}
"""What is wrong -> the library function, and the mistaken one in its place."""

NOTICED: dict = {}
"""What is wrong, here or in another chapter -> the claims of this page that must fail."""
