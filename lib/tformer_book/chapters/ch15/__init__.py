"""Chapter 15: generation."""
