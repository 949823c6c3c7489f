"""Chapter 2, softmax."""
