"""A PDF and an EPUB of the book, made from its built pages."""
