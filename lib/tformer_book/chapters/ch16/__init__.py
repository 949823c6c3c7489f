"""Chapter 16: cost, and attention without the matrix."""
