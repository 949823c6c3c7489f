"""Chapter 10: the block and the stack."""
