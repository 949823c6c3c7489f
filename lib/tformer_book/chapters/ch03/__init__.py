"""Chapter 3, queries, keys and values."""
