"""Chapter 5: masking."""
