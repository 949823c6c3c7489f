"""Where a widget's code comes from: the file beside its module, after what all widgets share."""

import json
import re
from importlib.resources import files
from pathlib import Path

import pytest

from tformer_book.chapters.ch01.dot_product import DotProduct
from tformer_book.widgets import Quiz
from tformer_book.widgets.base import BookWidget, library_code
from tformer_book.widgets.page import without_code

LIBRARY = Path(__file__).parents[1] / "lib" / "tformer_book"


def test_a_widget_has_the_code_beside_its_module_and_the_helpers_it_names() -> None:
    common, plane, folds, own = (
        (files(package) / name).read_text(encoding="utf-8")
        for package, name in [
            ("tformer_book.widgets", "common.js"),
            ("tformer_book.widgets", "plane.js"),
            ("tformer_book.widgets", "folds.js"),
            ("tformer_book.chapters.ch01", "dot_product.js"),
        ]
    )
    assert DotProduct._esm == common + plane + folds + own


def test_a_class_made_from_a_widget_keeps_its_code() -> None:
    class Mine(Quiz):
        pass

    class Other(BookWidget):
        _esm = "export default {}"

    assert (Mine._esm, Other._esm) == (Quiz._esm, "export default {}")


def test_a_widget_without_code_is_refused_with_the_file_it_needs() -> None:
    with pytest.raises(FileNotFoundError, match=r"ch01/claims\.js"):
        type("Lost", (BookWidget,), {"__module__": "tformer_book.chapters.ch01.claims"})


def test_the_library_tells_what_a_notebook_should_store() -> None:
    stored = {"_esm": DotProduct._esm, "_css": DotProduct._css}
    assert library_code("tformer_book.chapters.ch01.dot_product.DotProduct") == stored
    assert library_code("tformer_book.chapters.ch01.dot_product.Gone") is None
    assert library_code("tformer_book.chapters.gone.dot_product.DotProduct") is None
    assert library_code("__main__.DotProduct") is None


def test_a_page_embeds_what_widgets_show_and_loads_their_code_from_files() -> None:
    models = {
        "1": {"state": Quiz.of_chapter(1).get_state()},
        "2": {"state": Quiz.of_chapter(2).get_state()},
        "3": {"state": {"_anywidget_id": "elsewhere.Widget", "_esm": "old", "_css": ""}},
        "4": {"state": {"width": "1em"}},
    }
    body, files = without_code(json.dumps({"state": models}, default=str))
    assert "</" not in body
    left = json.loads(body)["state"]
    assert left["1"]["state"]["questions"] == models["1"]["state"]["questions"]
    assert not {"_esm", "_css"} & (left["1"]["state"].keys() | left["2"]["state"].keys())
    assert [left["3"], left["4"]] == [models["3"], models["4"]]
    name = "tformer_book.widgets.quiz.Quiz"
    assert sorted(files) == ["common.js", f"{name}.css", f"{name}.js", "widgets.css"]
    assert files["widgets.css"] + files[f"{name}.css"] == Quiz._css


def test_a_page_without_widgets_of_ours_is_left_as_it_is() -> None:
    body = json.dumps({"state": {"1": {"state": {"width": "1em"}}}})
    assert without_code(body) == (body, {})


def selectors(css: str) -> list[set[str]]:
    """The classes of our own that each selector of a style asks for."""
    css = re.sub(r"/\*.*?\*/", "", css, flags=re.DOTALL)
    chosen = re.findall(r"(?:^|[{}])\s*([^{}@]+)\{", css)
    asked = [set(re.findall(r"\.(tf-[\w-]+)", part)) for part in chosen]
    return [names - {"tf-widget"} for names in asked if names - {"tf-widget"}]


def test_no_widget_styles_what_another_draws() -> None:
    own = [path for path in LIBRARY.rglob("*.css") if path.with_suffix(".js").exists()]
    assert len(own) > 6
    drawn = {
        path: set(re.findall(r"\btf-[\w-]*\w\b", path.with_suffix(".js").read_text("utf-8")))
        for path in own
    }
    for style in own:
        for names in selectors(style.read_text(encoding="utf-8")):
            reached = [path.stem for path in own if path != style and names <= drawn[path]]
            assert reached == [], f"{style.name} styles {names}, which {reached} draw too"
