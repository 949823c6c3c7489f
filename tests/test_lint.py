"""Every rule for notebooks has a page that keeps it and pages that break it."""

import tomllib
from dataclasses import replace
from pathlib import Path

import pytest

from tformer_book.pipeline.notebook.normalise import MACHINE_TAG, STATE, dump, normalise
from tformer_book.pipeline.rules.lint import CHAPTER_RULES, RULES, Page, lint, lint_file
from tiny import code, notebook, printed, raised, result, text, v4

NUMBERS = tomllib.loads(Path(__file__).with_name("lint.toml").read_text(encoding="utf-8"))
WORDS = "Words that say what the line of code below is for, and why. "
FIRST = "import numpy as np"
ALT = {"image": {"alt": "Two arrows."}, "figure": {"caption": "They meet.", "name": "fig-meet"}}
SVG = v4.new_output("display_data", {"image/svg+xml": "<svg/>", "text/plain": "<SVG>"})
PNG = v4.new_output("display_data", {"image/png": "aGk="})
THEOREM = ":::{prf:theorem} Sums\n:label: thm-sums\nOne and one are two.\n:::"


def shown(code_of_a_function: str):
    return v4.new_output("execute_result", {"text/markdown": f"```\n{code_of_a_function}\n```"})


def page(*cells, claims=()):
    return Page(notebook(*cells), claims=frozenset(claims))


def widget(name: str, esm: str):
    nb = notebook(code(FIRST))
    model = {"model_name": "AnyModel", "state": {"_anywidget_id": name, "_esm": esm, "_css": ""}}
    nb.metadata["widgets"] = {STATE: {"state": {"1": model}}}
    return Page(nb)


def unnormalised():
    nb = notebook(code(FIRST))
    return Page(nb, text=dump(nb))


def plain(*cells):
    """A main page of the plain edition."""
    return replace(page(*cells), main=8)


def with_metadata(**entries):
    nb = notebook(code(FIRST))
    nb.metadata.update(entries)
    return Page(nb)


def not_run(**change):
    nb = notebook(code(FIRST), code("1", result("1")))
    nb.cells[1].update(change)
    return Page(nb)


GOOD = {
    "imports": page(code(FIRST), code("np.pi"), code("import torch\n\nfrom tformer import fast")),
    "rng": page(code("rng = np.random.default_rng(0)"), code("rng.normal()")),
    "cell-length": page(code("\n".join("abcde")), code("# only\n# words\n" * 20 + "1")),
    "line-width": page(code("x" * 76, printed("x" * 76))),
    "prose-ratio": page(text(WORDS), code("1")),
    "stray-list": page(text("1. One.\n2. Two."), text("Below\n0.5 it is 1.")),
    "prose-number": page(text("It is 0.95."), code("f()", result("0.9512"))),
    "letters": page(text("$Q$ of shape $(T, d_k)$, $Q K^\\top / \\sqrt{d_k}$, and a number $c$.")),
    "claims": page(text(THEOREM), code('verify("thm-sums")'), claims=["thm-sums"]),
    "limits": page(text("word " * 3501)),
    "plain": replace(
        page(
            text("## One\n\nIt is 0.5, or 0.25. **In practice.** Do so."),
            *(
                code("print(1)", printed("1\n"), tags=["hide-cell"] if n > 2 else [])
                for n in range(9)
            ),
        ),
        main=8,
    ),
    "figure": page(code("draw()", SVG, mystnb=ALT)),
    "machine": page(code("timeit.timeit(f)", result("3 ms"), tags=[MACHINE_TAG])),
    "run": page(code("1"), code("2")),
    "error": page(code("1 / 0", raised(), tags=["raises-exception"])),
    "stderr": page(code("print(1)", printed("1\n"))),
    "address": page(code("f", result("<function f>"))),
    "path": page(code("p", result("lib/tformer/shapes.py and 3/4"))),
    "semicolon": page(code("x = 1; y = 2")),
    "magic": page(code("%matplotlib inline"), code("x = 7 % 2\ny = '%s'")),
    "network": page(code("from pathlib import Path")),
    "widget": widget("elsewhere.Widget", "whatever"),
    "metadata": with_metadata(mystnb={}, title="a", kernelspec={}, language_info={}, widgets={}),
    "normalised": Page(nb := normalise(notebook(code(FIRST))), text=dump(nb)),
}

FIGURE = "tformer_book.chapters.ch01.dot_product.Dot"
BAD = [
    ("imports", page(code(FIRST), code("import math")), "only what loads PyTorch"),
    ("imports", page(code(FIRST), code("import torch\nx = 1")), "in a cell of their own"),
    ("imports", page(code("1"), code("2")), "the first code cell imports"),
    ("rng", page(code("rng = np.random.default_rng(1)")), "one generator"),
    ("rng", page(code("np.random.normal(3)")), "one generator"),
    ("rng", page(code("random.random()")), "one generator"),
    ("rng", page(*[code("rng = np.random.default_rng(0)") for _ in range(2)]), "spelled 2 times"),
    ("cell-length", page(code("\n".join(["a"] * 21)), code("1"), code("2")), "21 lines"),
    ("cell-length", page(code("\n".join("abcdef"))), "half of the code cells"),
    ("line-width", page(code("1\n" + "x" * 77)), "shows 76"),
    ("line-width", page(code("f()", printed("x" * 77))), "shows 76"),
    ("line-width", page(code("source(f)", shown("x" * 77))), "shows 76"),
    ("prose-ratio", page(text("Few words."), code("1")), "2 words to 1 lines"),
    ("prose-ratio", page(text("```\n" + WORDS + "\n```"), code("1")), "0 words"),
    ("stray-list", page(text("Their deviation is\n1. Divide by it.")), "list of one"),
    ("prose-number", page(text("It is 0.96."), code("f()", result("0.9512"))), "0.96"),
    ("letters", page(code(FIRST), text("$Q K^\\top / \\sqrt{K}$")), "cell 1: K, a table on every"),
    ("letters", page(text("$S = Q K^\\top$")), "S, a size by the legend, is a table in 'S = Q"),
    ("letters", page(text("$R R^\\top = I$"), text("rank at most $R$")), "cell 1: R is a size in"),
    ("letters", page(text("a number $c$"), text("a function $c$")), "c is a function in"),
    ("claims", page(text(THEOREM)), "no claim of this chapter has that label"),
    ("claims", page(claims=["thm-sums"]), "is not stated here"),
    ("claims", page(text(THEOREM), claims=["thm-sums"]), "never calls verify"),
    ("claims", page(text(THEOREM), code("# verify('thm-sums')"), claims=["thm-sums"]), "never"),
    ("claims", page(text(THEOREM + "\n\n" + THEOREM), claims=["thm-sums"]), "more than once"),
    ("claims", page(text(":::{prf:lemma}\nOne.\n:::")), "a lemma without a label"),
    ("claims", replace(page(text(THEOREM)), elsewhere=frozenset(["thm-sums"])), "more than once"),
    ("plain", plain(*(code("print(1)", printed("1\n")) for _ in range(4))), "4 cells that print"),
    ("plain", plain(text("It is 0.5, then 0.25 and 7 %.")), "0.5, 0.25, 7 %"),
    ("plain", plain(text("It falls in the mean.")), "'in the mean' is not plain"),
    ("plain", plain(text("Word " + "word " * 40 + "end.")), "at most 40 words"),
    ("plain", plain(text("Word " + "word " * 20 + "end.")), "more than 17 words"),
    ("plain", plain(text("## One\n\nText.")), "'One' does not end with what to do"),
    ("limits", replace(page(text("word " * 3501)), main=7), "3501 words of prose"),
    ("limits", replace(page(text("word " * 3001)), main=8), "3001 words of prose"),
    ("figure", page(code("draw()", SVG)), "alt text"),
    ("figure", page(code("draw()", SVG, mystnb={"image": ALT["image"]})), "a caption"),
    ("figure", page(code("draw()", SVG, mystnb=ALT | {"figure": {"name": "a"}})), "fig-"),
    ("figure", page(code("draw()", PNG, mystnb=ALT)), "as SVG"),
    ("machine", page(code("f()", printed("took 3.1 ms"))), "prints times"),
    ("machine", page(code("time.time()", result("17"))), "measures the machine"),
    ("machine", page(*[code("t", tags=[MACHINE_TAG]) for _ in range(4)]), "4 cells are tagged"),
    ("run", not_run(execution_count=None), "has not been run"),
    ("run", not_run(execution_count=7), "top to bottom"),
    ("run", not_run(source=""), "is empty"),
    ("error", page(code("1 / 0", raised())), "raises"),
    ("stderr", page(code("warn()", printed("Warning: no", "stderr"))), "Warning: no"),
    ("address", page(code("f", result("<function f at 0x7f3a2b1c9d>"))), "address"),
    ("path", page(code("p", result("'/home/me/a.txt'"))), "one machine"),
    ("path", page(code("open('C:\\\\data')")), "one machine"),
    ("semicolon", page(code("plot();")), "semicolon"),
    ("magic", page(code("1"), code("%timeit f()")), "%timeit"),
    ("magic", page(code("!ls")), "calls no shell"),
    ("magic", page(code("%pip install numpy")), "installs nothing"),
    ("network", page(code("import urllib.request")), "network"),
    ("network", page(code("read('https://example.org')")), "network"),
    (
        "widget",
        widget(f"{FIGURE}Product", "old"),
        "pipeline normalise` w",
    ),
    ("widget", widget(FIGURE, "old"), "has no tformer"),
    ("widget", widget("tformer_book.nowhere.Widget", "old"), "has no tformer_book.nowhere.Widget"),
    ("metadata", with_metadata(jupytext={"formats": "ipynb"}), "metadata.jupytext is"),
    ("metadata", with_metadata(toc={}, title="a"), "metadata.toc is"),
    ("normalised", unnormalised(), "make run"),
]


def findings(checked: Page, name: str) -> list[str]:
    return [line for line in lint(checked) if f"[{name}]" in line]


def test_every_rule_is_tried_both_ways():
    assert set(GOOD) == set(RULES)
    assert {name for name, _, _ in BAD} == set(RULES)
    assert set(RULES) >= CHAPTER_RULES


@pytest.mark.parametrize("name", GOOD)
def test_a_page_that_keeps_the_rule(name):
    assert findings(GOOD[name], name) == []


@pytest.mark.parametrize(("name", "checked", "says"), BAD)
def test_a_page_that_breaks_the_rule(name, checked, says):
    assert says in "\n".join(findings(checked, name))


def test_a_finding_names_the_cell_and_the_rule():
    assert "code cell 1: [semicolon] ends with" in lint(page(code(FIRST), code("f();")))[-1]


def test_exercises_keep_fewer_rules(tmp_path):
    nb = normalise(notebook(code("1"), code("import math"), code("f();")))
    for folder, rules in (
        ("chapters", {"imports", "prose-ratio", "semicolon"}),
        ("solutions", {"semicolon"}),
    ):
        (tmp_path / folder).mkdir()
        path = tmp_path / folder / "03_keys_deeper.ipynb"
        path.write_text(dump(nb), encoding="utf-8")
        found = {line.split("[")[1].split("]")[0] for line in lint_file(path, {})}
        assert found == rules


def test_claims_belong_to_their_chapter(tmp_path):
    path = tmp_path / "03_keys_deeper.ipynb"
    path.write_text(dump(normalise(notebook(text("a")))), encoding="utf-8")
    assert lint_file(path, {"thm-a": "02"}) == []
    assert "thm-a is a claim of this chapter" in lint_file(path, {"thm-a": "03"})[0]


def test_an_appendix_may_state_claims_of_any_chapter(tmp_path):
    chapter, appendix = tmp_path / "03_keys.ipynb", tmp_path / "appendix_examples.ipynb"
    stated = notebook(text(THEOREM), code('verify("thm-sums")'))
    appendix.write_text(dump(normalise(stated)), encoding="utf-8")
    chapter.write_text(dump(normalise(notebook(text("a")))), encoding="utf-8")

    def said(path):
        found = lint_file(path, {"thm-sums": "03", "thm-other": "04"})
        return [line for line in found if "[claims]" in line]

    assert said(chapter) == []
    [missing] = said(appendix)
    assert "thm-other is a claim of this chapter" in missing
    other = tmp_path / "04_other.ipynb"
    other.write_text(dump(normalise(notebook(text(THEOREM.replace("sums", "other"))))), "utf-8")
    assert said(appendix) == []


@pytest.mark.parametrize(("prose", "source"), NUMBERS["backed"])
def test_numbers_that_need_no_more_backing(prose, source):
    assert findings(page(text(prose), code(source)), "prose-number") == []


@pytest.mark.parametrize(("prose", "source"), NUMBERS["unbacked"])
def test_numbers_typed_by_hand(prose, source):
    assert len(findings(page(text(prose), code(source)), "prose-number")) == 1


def test_a_number_is_backed_in_its_own_section():
    first, second = text("## One\n\nIt is 0.5."), text("## Two\n\nIt is 0.5.")
    lines = findings(page(first, code("0.5"), second, code("1")), "prose-number")
    assert len(lines) == 1
    assert "'Two'" in lines[0]
    under = text("### Deeper\n\nIt is 0.5.")
    assert findings(page(first, code("0.5"), under, code("1")), "prose-number") == []


def test_a_section_without_code_is_backed_by_the_page():
    cells = text("## One"), code("f()", result("0.25")), text("## Summary\n\n0.25, not 0.4.")
    assert [line.split()[1] for line in findings(page(*cells), "prose-number")] == ["0.4"]


def test_numbers_of_others_can_be_quoted():
    quoted = text("They report 28.4.", tags=["quoted-numbers"])
    assert findings(page(quoted, code("1")), "prose-number") == []
