"""The storyteller: the small model that chapter 14 trains, and that runs inside pages after it.

Two layers of four heads read and write tales of a small world (`tales`), by tokens of BPE. `load`
reads the committed weights; ``python -m tformer_book.storyteller FOLDER`` trains them again.
"""

from tformer_book.storyteller.stored import Storyteller, load, named

__all__ = ["Storyteller", "load", "named"]
