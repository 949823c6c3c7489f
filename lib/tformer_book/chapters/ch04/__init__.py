"""Chapter 4, why divide by √d."""
