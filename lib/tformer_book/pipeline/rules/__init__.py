"""What the lint asks of every notebook, by rule."""
