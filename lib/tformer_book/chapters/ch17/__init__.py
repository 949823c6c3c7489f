"""Chapter 17: what heads learn."""
