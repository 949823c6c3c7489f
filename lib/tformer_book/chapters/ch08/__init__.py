"""Chapter 8, residual stream and normalisation."""
