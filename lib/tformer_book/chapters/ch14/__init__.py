"""Chapter 14: training."""
