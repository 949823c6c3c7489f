"""Chapter 13: language modelling."""
