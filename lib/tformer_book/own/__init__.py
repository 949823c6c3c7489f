"""Your own transformer: a file that a reader grows, and that the book checks, lends to and tries.

A reader writes `my_transformer.py`, plain functions of PyTorch. `lend` puts the parts of the book
in the place of those that are not written yet, and they call the reader's. `check` judges a part,
`progress` the whole file, and `try_out` runs what a chapter's part makes possible, in a small
world and in a real model. `mine` hands the functions of the file to the exercises of the book.
`train_on_text` trains the whole file on any text, and `open_trained` lets the trained model write
later. From a terminal: ``python -m tformer_book.own``.
"""

from tformer_book.own.bridge import mine
from tformer_book.own.corpus import TextError
from tformer_book.own.lending import Unfit, lend, load
from tformer_book.own.progress import check, find_file, hint, progress
from tformer_book.own.text import open_trained, train_on_text
from tformer_book.own.trying import try_out
from tformer_book.own.tryouts import smollm2
from tformer_book.own.world import small_world

__all__ = [
    "TextError",
    "Unfit",
    "check",
    "find_file",
    "hint",
    "lend",
    "load",
    "mine",
    "open_trained",
    "progress",
    "small_world",
    "smollm2",
    "train_on_text",
    "try_out",
]
