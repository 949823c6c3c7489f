"""Chapter 21, beyond text."""
