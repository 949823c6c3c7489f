"""Chapter 7, position."""
