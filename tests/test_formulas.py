"""Formulas set at build: what the eye gets, what a screen reader gets, and what is refused."""

import json
import re
from collections.abc import Iterator
from pathlib import Path
from xml.etree import ElementTree as ET

import pytest
import sphinxcontrib.katex

from tformer_book.pipeline.site.formulas import Typesetter, mend_mathml

ROOT = Path(__file__).parents[1]
MATHML = re.compile(r"<math.*?</math>", re.DOTALL)


@pytest.fixture(scope="module")
def typesetter() -> Iterator[Typesetter]:
    setter = Typesetter()
    yield setter
    setter.close()


def mathml(html: str) -> ET.Element:
    (found,) = MATHML.findall(html)
    return ET.fromstring(found)


def shape(element: ET.Element) -> str:
    """Tags and text of MathML in short: msub(mi:p mi:max)."""
    inside = " ".join(map(shape, element))
    return f"{element.tag}({inside})" if inside else f"{element.tag}:{element.text}"


def test_formula_is_set_for_the_eye_and_for_a_screen_reader(typesetter: Typesetter) -> None:
    html = typesetter.html(r"\frac{a}{2}")
    assert '<span class="katex-html" aria-hidden="true">' in html
    assert shape(mathml(html)) == "math(mrow(mfrac(mi:a mn:2)))"
    assert "katex-display" not in html
    assert 'class="katex-display"' in typesetter.html("a", display=True)


def test_no_tex_is_left_on_the_page(typesetter: Typesetter) -> None:
    html = typesetter.html(r"\frac{q \cdot k}{\sqrt{d}}")
    assert "\\" not in html
    assert "annotation" not in html


@pytest.mark.parametrize(
    ("tex", "expected"),
    [
        (r"p_{\max}", "msub(mi:p mi:max)"),
        (r"x^{\sin}", "msup(mi:x mi:sin)"),
        (r"\frac{\max}{2}", "mfrac(mi:max mn:2)"),
        (r"p_{\operatorname{max}}", "msub(mi:p mi:max)"),
        (r"p_{\max}^{\min}", "msubsup(mi:p mi:max mi:min)"),
        (r"\overset{\max}{x}", "mrow(mover(mrow(mi:x) mi:max))"),
        (r"\max_i", "msub(mrow(mi:max mo:\u2061) mi:i)"),
    ],
)
def test_mathml_has_as_many_parts_as_it_may(
    typesetter: Typesetter, tex: str, expected: str
) -> None:
    assert shape(mathml(typesetter.html(tex))) == f"math(mrow({expected}))"


def test_what_cannot_be_mended_is_refused() -> None:
    with pytest.raises(ValueError, match="msub of 3 parts"):
        mend_mathml("<math><msub><mi>a</mi><mi>b</mi><mi>c</mi></msub></math>")


@pytest.mark.parametrize(
    ("tex", "complaint"),
    [
        (r"\frc{1}{2}", r"Undefined control sequence: \frc"),
        (r"\frac{1", "Unexpected end of input"),
        ("é", "LaTeX-incompatible input"),
    ],
)
def test_tex_that_katex_cannot_read_is_refused(
    typesetter: Typesetter, tex: str, complaint: str
) -> None:
    with pytest.raises(ValueError, match=re.escape(complaint)):
        typesetter.html(tex)


def test_a_formula_is_set_once(typesetter: Typesetter, monkeypatch: pytest.MonkeyPatch) -> None:
    first = typesetter.html("a + b")
    monkeypatch.setattr(typesetter, "_set", lambda *_: "again")
    assert typesetter.html("a + b") == first
    assert typesetter.html("a + b", display=True) == "again"


def test_katex_style_and_script_are_of_one_version() -> None:
    packages = json.loads((ROOT / "vendor" / "vendor.json").read_text())
    versions = {package["package"]: package["version"] for package in packages}
    assert versions["katex"] == sphinxcontrib.katex.katex_version


def test_queries_keys_and_values_have_their_colours(typesetter: Typesetter) -> None:
    html = typesetter.html(r"q_k \mathbf{k} V W_Q W_v / \sqrt{d_k} + x (qR)")
    found = re.findall(r'tf-(query|key|value)">(\w)<', html)
    assert [name for _, name in found] == list("qkVQq")
    assert [role for role, _ in found] == ["query", "key", "value", "query", "query"]
