"""What a page of the library makes of a docstring."""

from collections.abc import Callable
from typing import Any

import pytest
from docutils import nodes

from tformer import reference
from tformer.models import hooks
from tformer.parameters import HeadParameters, ModelParameters
from tformer_book.pipeline.site.docstring import Docstring, entries, signature

TEXT = """A row of `softmax`, as ``x = 1`` says; see [ba2016].

More of it.

Parameters
----------
x : (..., T) array
    Scores.

    Finite.
parameters : NormParameters, optional

Returns
-------
(...) array
    Numbers.

Raises
------
ValueError
    If x is odd.

Notes
-----
Equation eq-softmax-vjp, and a*b_c_.

Examples
--------
>>> 1 + 1
2
"""


def link(name: str, around: nodes.Node) -> nodes.Node | None:
    known = {"softmax", "NormParameters"}
    return nodes.reference("", "", around, refuri=f"#{name}") if name in known else None


def role(name: str, text: str) -> nodes.Node:
    return nodes.emphasis("", f"{name}:{text}")


@pytest.fixture
def said() -> Docstring:
    return Docstring(TEXT, link, role)


def test_a_summary_has_links_code_and_works_cited(said: Docstring) -> None:
    first, second = said.summary
    assert [node.astext() for node in first.findall(nodes.reference)] == ["softmax"]
    assert [node.astext() for node in first.findall(nodes.literal)][:2] == ["softmax", "x = 1"]
    assert [node.astext() for node in first.findall(nodes.emphasis)] == ["cite:ba2016"]
    assert second.astext() == "More of it."


def test_sections_come_in_the_order_of_a_reference(said: Docstring) -> None:
    body = [*said.body()]
    found = [node.astext() for node in body if "tf-heading" in node.get("classes", ())]
    assert found == ["Parameters", "Returns", "Raises", "Notes", "Examples"]
    assert [node["language"] for node in body if node.tagname == "literal_block"] == ["pycon"]


def test_an_entry_has_a_name_a_type_and_text(said: Docstring) -> None:
    parameters, returns, raises = (x for x in said.body() if x.tagname == "definition_list")
    terms = [term.astext() for term in parameters.findall(nodes.term)]
    assert terms == ["x (..., T) array", "parameters NormParameters, optional"]
    assert [x["refuri"] for x in parameters.findall(nodes.reference)] == ["#NormParameters"]
    assert [x.astext() for x in parameters.findall(nodes.paragraph)] == ["Scores.", "Finite."]
    assert [x.astext() for x in returns.findall(nodes.term)] == ["(...) array"]
    assert [x.astext() for x in raises.findall(nodes.literal)] == ["ValueError"]


def test_what_is_markup_elsewhere_stays_as_it_is(said: Docstring) -> None:
    *_, notes, _, _ = said.body()
    assert notes.astext() == "Equation eq:eq-softmax-vjp, and a*b_c_."


def test_entries_end_where_the_next_begins() -> None:
    assert [*entries("a : int\n    One.\n\n    Two.\nb : int\nc : int\n    Three.")] == [
        ("a : int", "One.\n\nTwo."),
        ("b : int", ""),
        ("c : int", "Three."),
    ]


@pytest.mark.parametrize(
    ("thing", "lines"),
    [
        (reference.entropy, ["entropy(p: (..., S), axis=-1) → (...)"]),
        (reference.unembed, [") → (..., N)", "    parameters: ModelParameters,"]),
        (reference.rms_norm, ["    eps=1e-5,"]),
        (reference.causal_mask, ["causal_mask(n_queries, n_keys, offset=0) → (T, S)"]),
        (
            reference.project,
            ["    memory: (..., S, d_model) = None,", "    q (..., H, T, d_k),", ") → ("],
        ),
        (hooks.run_with_hooks, ["    library=reference,"]),
        (hooks.zero_ablation, ["zero_ablation(name, at=...) → dict"]),
        (ModelParameters, ["    blocks: tuple of BlockParameters,"]),
        (HeadParameters.from_fused, ["    *,", "    n_heads,", "    n_groups=None,"]),
    ],
)
def test_a_signature_has_shapes(thing: Callable[..., Any], lines: list[str]) -> None:
    found = signature(thing.__name__, thing).splitlines()
    assert [line for line in lines if line not in found] == []
