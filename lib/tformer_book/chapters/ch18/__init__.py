"""Chapter 18, learning in context."""
