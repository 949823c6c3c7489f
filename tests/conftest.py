"""Settings for all tests: generated examples are the same on every run and every machine."""

from hypothesis import settings

settings.register_profile("book", derandomize=True, deadline=None, max_examples=30, database=None)
settings.load_profile("book")
