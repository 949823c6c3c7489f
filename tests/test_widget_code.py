"""Where a widget's code comes from: the file beside its module, behind what all widgets share."""

from importlib.resources import files

import pytest

from tformer.chapters.ch01.dot_product import DotProduct
from tformer.widgets import Quiz
from tformer.widgets.base import BookWidget, library_code


def test_a_widget_has_the_code_beside_its_module() -> None:
    common, own = (
        (files(package) / name).read_text(encoding="utf-8")
        for package, name in [
            ("tformer.widgets", "common.js"),
            ("tformer.chapters.ch01", "dot_product.js"),
        ]
    )
    assert DotProduct._esm == common + own


def test_a_class_made_from_a_widget_keeps_its_code() -> None:
    class Mine(Quiz):
        pass

    class Other(BookWidget):
        _esm = "export default {}"

    assert (Mine._esm, Other._esm) == (Quiz._esm, "export default {}")


def test_a_widget_without_code_is_refused_with_the_file_it_needs() -> None:
    with pytest.raises(FileNotFoundError, match=r"ch01/claims\.js"):
        type("Lost", (BookWidget,), {"__module__": "tformer.chapters.ch01.claims"})


def test_the_library_tells_what_a_notebook_should_store() -> None:
    stored = {"_esm": DotProduct._esm, "_css": DotProduct._css}
    assert library_code("tformer.chapters.ch01.dot_product.DotProduct") == stored
    assert library_code("tformer.chapters.ch01.dot_product.Gone") is None
    assert library_code("tformer.chapters.gone.dot_product.DotProduct") is None
    assert library_code("__main__.DotProduct") is None
