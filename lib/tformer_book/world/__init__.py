"""The world of the book: its corpus, its hand-made words, and examples from elsewhere."""
