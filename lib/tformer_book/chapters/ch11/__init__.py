"""Chapter 11: three architectures."""
