"""A class is given by pages or by figures to touch, never by both."""

from pathlib import Path

from tformer_book.pipeline.rules.names import shared

ROOT = Path(__file__).parents[1]
FILES = {
    "assets/a.js": 'make("p", { class: "tf-one" }); find(".tf-two")',
    "chapters/a.ipynb": '["[wrong]{.tf-three}", ":class: tf-four"]',
    "lib/tformer_book/pipeline/site/a.py": "classes=['tf-five']",
    "lib/tformer_book/widgets/a.js": 'h("p", { class: "tf-one tf-two" }); `tf-three`; '
    'reading("five")',
    "lib/tformer_book/chapters/ch01/b.js": 'h("p", { class: "tf-four" })',
}


def test_the_book_shares_no_class_with_its_figures() -> None:
    assert shared(ROOT) == []


def test_a_class_of_both_is_found(tmp_path: Path) -> None:
    for name, text in FILES.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(text, encoding="utf-8")
    assert shared(tmp_path) == [
        "tf-five: given by a.py and by a.js",
        "tf-four: given by a.ipynb and by b.js",
        "tf-one: given by a.js and by a.js",
        "tf-three: given by a.ipynb and by a.js",
    ]
