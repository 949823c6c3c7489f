"""The page before chapter 1 introduces no function of the library: there is none to mutate."""

MUTANTS: dict = {}
"""What is wrong -> the library function, and the mutant in its place."""

KILLED_BY: dict = {}
"""What is wrong, here or in another chapter -> the claims of this page that must fail."""
