"""A reader's own transformer in tests: the book's file as a module, and a file to be written."""

from collections.abc import Callable
from pathlib import Path
from types import ModuleType

import pytest

from tformer_book.own.parts import BEGIN

HEAD = BEGIN.read_text(encoding="utf-8").partition("\n\n\n# 2.")[0]
"""What a reader's file begins with."""
SOFTMAX = """
def softmax(x, axis=-1):
    terms = torch.exp(x - x.amax(axis, keepdim=True))
    return terms / terms.sum(axis, keepdim=True)
"""


@pytest.fixture(scope="module")
def own_book() -> ModuleType:
    """The book's own file."""
    from tformer_book.own.checking import book_module

    return book_module()


@pytest.fixture
def write_own(tmp_path: Path) -> Callable[..., Path]:
    """Write a reader's file: what the desk begins with, and this."""

    def written(text: str = "", head: str = HEAD) -> Path:
        path = tmp_path / "my_transformer.py"
        path.write_text(f"{head}\n\n{text}\n", encoding="utf-8")
        return path

    return written
