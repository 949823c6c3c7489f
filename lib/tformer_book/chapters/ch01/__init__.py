"""Chapter 1, dot products."""
