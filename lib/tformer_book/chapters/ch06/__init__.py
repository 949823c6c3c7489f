"""Chapter 6, many heads."""
