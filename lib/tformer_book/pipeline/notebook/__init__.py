"""What a notebook is: its Markdown, its one way of being written, its numbers."""
