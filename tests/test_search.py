"""The index of the search page: which places it has, and what text is theirs."""

import json
from pathlib import Path

import pytest

from tformer_book.pipeline.site.formulas import TYPESETTER
from tformer_book.pipeline.site.search import Places, entries

PAGE = """<nav><a href="x.html">Chapters</a></nav><article class="bd-article">
<section id="softmax"><h1><span class="section-number">2. </span>Softmax<a class="headerlink"
 href="#softmax">#</a></h1><p>A row of <em>scores</em>.<br>And more.</p>
<section id="shares"><h2>From scores to shares</h2><p>Divide by {inline}, or by {stacked}.</p>
<div class="proof theorem admonition" id="thm-a"><p class="admonition-title">Theorem 2.1 (Sums)</p>
<section class="theorem-content"><p>They add up.</p></section>
<details class='tf-program'><summary>Run</summary><pre><span class="kn">import</span>
 sympy</pre></details></div>
<p>After the box.</p>
<div class="cell"><div class="cell_input"><pre><span class="kn">import</span>
<span class="nn">numpy</span>
<span class="n">ref</span><span class="o">.</span><span class="n">layer_norm</span>(<span class="n"
>x</span>) <span class="c1"># scaled</span></pre></div><div class="cell_output"><pre><span
 class="n">printed</span></pre><div class="output highlight-python"><pre><span
 class="nf">rms_norm</span>(<span class="n">x</span>)</pre></div></div></div>
<div class="exercise admonition" id="ex-1"><p class="admonition-title">Exercise (easy)</p>
<p>Write it.</p></div></section><section id="one-row"><h2>2.1 One row</h2><div
 class="exercise admonition" id="ex-2"><p class="admonition-title">Exercise (★ warm-up)</p><p>Use
 numbers.</p></div></section></section></article><footer>The foot</footer>"""
TERMS = """<article><section id="glossary"><h1>Glossary</h1><dl><dt id="term-PMI">PMI</dt>
<dt id="term-mutual">mutual information</dt><dd><p>A logarithm.</p></dd>
<dt id="term-key">key</dt><dd><p>A row.</p></dd></dl></section></article>"""


@pytest.fixture
def found(tmp_path: Path) -> dict[str, list[str]]:
    formulas = {"inline": TYPESETTER.html("q_i k"), "stacked": TYPESETTER.html(r"\sqrt{d}")}
    (tmp_path / "a.html").write_text(PAGE.format(**formulas), encoding="utf-8")
    (tmp_path / "b.html").write_text(TERMS, encoding="utf-8")
    return {entry[0]: entry[1:] for entry in entries(tmp_path, ["a.html", "b.html"])}


def test_pages_sections_and_boxes_have_titles_and_their_own_text(
    found: dict[str, list[str]],
) -> None:
    assert found["a.html"] == ["page", "2. Softmax", "2. Softmax", "A row of scores. And more.", ""]
    section = found["a.html#shares"]
    assert section[:3] == ["section", "From scores to shares", "2. Softmax"]
    assert section[3] == "Divide by qik, or by …. After the box. Exercise (easy) Write it."
    box = ["box", "Theorem 2.1 (Sums)", "2. Softmax", "They add up.", "sympy"]
    assert found["a.html#thm-a"] == box


def test_the_title_of_an_exercise_is_that_of_its_section(found: dict[str, list[str]]) -> None:
    _, title, _, text, _ = found["a.html#one-row"]
    assert (title, text) == ("2.1 One row", "Exercise (★ warm-up) Use numbers.")


def test_names_are_found_in_the_code_that_is_shown(found: dict[str, list[str]]) -> None:
    assert found["a.html#shares"][4] == "numpy ref layer_norm rms_norm"


def test_a_term_has_its_definition_and_so_has_a_second_word_for_it(
    found: dict[str, list[str]],
) -> None:
    assert found["b.html#term-key"] == ["term", "key", "Glossary", "A row.", ""]
    for name, title in (("PMI", "PMI"), ("mutual", "mutual information")):
        assert found[f"b.html#term-{name}"] == ["term", title, "Glossary", "A logarithm.", ""]
    assert found["b.html"][3:] == ["", ""]


def test_nothing_else_is_found(found: dict[str, list[str]]) -> None:
    assert len(found) == 8
    text = json.dumps(found)
    for absent in ("Chapters", "import", "scaled", "printed", "foot", "katex", '#"'):
        assert absent not in text


def test_an_element_that_html_leaves_open_does_not_swallow_the_rest() -> None:
    html = '<article><section id="a"><h1>A</h1><p>one<p>two</section></article><p>three</p>'
    (place,) = Places(html).found
    assert "".join(place.text).split() == ["one", "two"]
