"""Chapter 19, what transformers can compute."""
