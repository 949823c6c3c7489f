"""The theme's style sheet keeps what a page can use, and only that."""

from pathlib import Path

import pytest

from tformer_book.pipeline.site.trim import trim, used_names


@pytest.mark.parametrize(
    ("css", "expected"),
    [
        ("p{margin:0}", "p{margin:0}"),
        (".used{a:b}.gone{a:b}", ".used{a:b}"),
        (".used,.gone{a:b}", ".used{a:b}"),
        (".used .gone,.used.gone{a:b}", ""),
        ("#here{a:b}#there{a:b}", "#here{a:b}"),
        ("p:is(.used,.gone){a:b}", "p:is(.used,.gone){a:b}"),
        ("p:not(.gone),:where(p:not(.gone)){a:b}", "p:not(.gone),:where(p:not(.gone)){a:b}"),
        ("@media print{.gone{a:b}}p{a:b}", "p{a:b}"),
        ("@media print{.gone{a:b}.used{a:b}}", "@media print{.used{a:b}}"),
        ("@supports (a:b){@media print{.used{a:b}.gone{a:b}}}", None),
        ("@keyframes turn{from{a:b}to{a:c}}", "@keyframes turn{from{a:b}to{a:c}}"),
        ('@font-face{font-family:"Font Awesome 6 Free";src:url(a)}p{a:b}', "p{a:b}"),
        (":root{--fa-x:1;--y:2}", ":root{--y:2}"),
        ("/* .used{} */p{background:url('data:a;b,c')}", 'p{background:url("data:a;b,c")}'),
        ('@charset "UTF-8";@layer a;.gone{a:b}', '@charset "UTF-8";@layer a;'),
        ("p[title='.gone']{a:b/* c */;d:e;}", 'p[title=".gone"]{a:b;d:e}'),
        (r".used\:x{a:b}.sm\:used{a:b}", r".sm\:used{a:b}"),
    ],
)
def test_a_rule_stays_if_something_can_match_it(css: str, expected: str | None) -> None:
    if expected is None:
        expected = "@supports (a:b){@media print{.used{a:b}}}"
    assert trim(css, {"used", "here", "sm:used"}) == expected
    assert trim(expected, {"used", "here", "sm:used"}) == expected


def test_names_come_from_pages_and_from_the_scripts_that_set_them(tmp_path: Path) -> None:
    (tmp_path / "_static").mkdir()
    (tmp_path / "a.html").write_text("<p class=\"one two\" id='three'>four</p>")
    (tmp_path / "_static" / "book.js").write_text('box.classList.add("five-six")')
    (tmp_path / "_static" / "book-search.js").write_text("seven")
    found = used_names(tmp_path)
    assert {"one", "two", "three", "five-six"} <= found
    assert not {"four", "seven"} & found
