"""Chapter 9, feed-forward layers: its claims, figures and checks."""
