"""Around a model: its sizes, its first parameters, its files, and the words it writes."""
