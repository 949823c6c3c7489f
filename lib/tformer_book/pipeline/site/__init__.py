"""From notebooks to pages: the extensions of Sphinx, what they draw, and what is checked."""
