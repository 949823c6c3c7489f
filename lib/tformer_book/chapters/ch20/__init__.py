"""Chapter 20: scaling laws."""
