"""Chapter 12: backpropagation through attention."""
