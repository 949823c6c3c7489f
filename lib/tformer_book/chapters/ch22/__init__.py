"""Chapter 22, released."""
