"""One view of the machine, in Python: its arrays by another way, and what is said of them."""

import re

import numpy as np
import pytest

import tformer.reference as ref
from browsing import ROOT
from tformer_book.chapters.ch00.claims import EXPECTED
from tformer_book.chapters.ch00.engine import trained, untrained
from tformer_book.chapters.ch00.figures import kinship
from tformer_book.chapters.ch00.listing import results, worst_cut
from tformer_book.chapters.ch00.measure import CUTS, circuit, shares
from tformer_book.chapters.ch00.stages import PROMPTS
from tformer_book.chapters.ch00.typed import EXAMPLES
from tformer_book.chapters.ch00.view import MachineView, arrays
from tformer_book.chapters.ch00.view_parts import GROUPS, PARTS
from tformer_book.world.stories import stories

BY_ID = {part["id"]: part for part in PARTS}
ENGINE = {"h 0": "word and position", "h 1a": "attention 1", "h 1b": "feed-forward 1"}
ENGINE |= {"E[x]": "word", "h 2a": "attention 2", "h 2b": "feed-forward 2"}

# ---- numbers ----------------------------------------------------------------------------


@pytest.mark.parametrize("cut", [(), (CUTS["second noun to it"], CUTS["not to the last the"])])
@pytest.mark.parametrize("text", [*EXAMPLES.values(), "the the"])
def test_the_arrays_are_those_of_the_engine(text: str, cut: tuple) -> None:
    cut = tuple(place for place in cut if place[1] < len(text.split()))
    found, read = arrays(text, cut), trained().read(text, cut)
    ours = {name: read.vectors[other] for name, other in ENGINE.items()}
    ours |= {"tokens": read.tokens[:, None], "logits": read.logits, "p": read.p}
    for i in (0, 1):
        ours |= {f"masked {i + 1}": read.scores[i], f"weights {i + 1}": read.weights[i]}
        ours |= {f"units {i + 1}": read.lamps[i]}
    for name, array in ours.items():
        np.testing.assert_allclose(found[name], array, atol=1e-10, err_msg=name)


def test_attention_of_the_library_gives_the_output_of_the_head() -> None:
    found = arrays(PROMPTS["wide"])
    mask = ref.causal_mask(18, 18)
    for i in (1, 2):
        q, k, v = (found[f"{letter} {i}"] for letter in "qkv")
        np.testing.assert_allclose(ref.attention(q, k, v, mask), found[f"mixed {i}"], atol=1e-12)


def test_each_part_is_an_array_and_is_made_of_those_before_it() -> None:
    found, before = arrays("the animal"), {"E", "P", "U"}
    before |= {f"{letter} {n}" for letter in "QKVOAB" for n in (1, 2)}
    assert list(found) == [part["id"] for part in PARTS]
    for part in PARTS:
        assert set(part["of"]) <= before, part["id"]
        before.add(part["id"])
        assert part["group"] < len(GROUPS)
    assert [part["group"] for part in PARTS] == sorted(part["group"] for part in PARTS)


def test_code_of_each_part_stands_in_the_forty_lines() -> None:
    lines = (ROOT / "lib/tformer_book/chapters/ch00/minimal_gpt.py").read_text("utf-8")
    for part in PARTS:
        for piece in part["code"].split("…"):
            assert piece in lines, part["code"]


# ---- what is said -------------------------------------------------------------------------


def said(name: str) -> list[float]:
    """The decimal numbers in what is said of a part."""
    return [float(number) for number in re.findall(r"\d+\.\d+", BY_ID[name]["said"])]


def three(variant: str, what: str = "patient") -> list[float]:
    return [results()[variant][seed][what] for seed in "012"]


def test_numbers_that_are_said_to_be_measured_were_measured() -> None:
    rows = circuit(trained(), stories().split()[1])
    cut = {name: EXPECTED[name] for name in CUTS}
    kin = [kinship(one)[0] for one in (untrained(), trained())]
    asked = {
        "E[x]": kin,
        "P": three("no positions") + three("as it is"),
        "units 1": three("no feed-forward") + three("as it is"),
        "weights 1": [
            rows["it keeps the second noun"],
            rows["not keeps the first noun"],
            cut["second noun to it"][1],
            cut["first noun to not"][0],
            worst_cut(),
        ],
        "weights 2": [
            rows["asks it, of second nouns"],
            rows["asks not, of first nouns"],
            cut["it to the last the"][1],
            cut["not to the last the"][0],
            worst_cut(),
        ],
    }
    for name, numbers in asked.items():
        assert said(name) == pytest.approx(numbers, abs=5.001e-3), name
    losses = [f(three(v, "loss")) for v in ("no norm", "as it is") for f in (min, max)]
    assert said("norm(h) 1a") == pytest.approx([losses[0], losses[1], *losses[2:]], abs=5.001e-3)
    held = stories().split()[1]
    found = shares(lambda rows: trained().guesses(rows)[0], held, held)
    assert (len(held), found["cure"], found["patient"]) == (504, 1, 1)
    assert "504" in BY_ID["p"]["said"]


def place_of(source: str) -> bool:
    """Whether there is such a page of the book, and the statement, figure or section on it."""
    page, _, anchor = source.partition(".html#")
    path = ROOT / "chapters" / f"{page.removesuffix('.html')}.ipynb"
    text = path.read_text("utf-8") if path.is_file() else ""
    heads = [re.sub(r"[^a-z]+", "-", h.lower()) for h in re.findall(r'"## ([^"\\]+)', text)]
    named = f":label: {anchor}" in text or f'"name": "{anchor}"' in text
    return bool(text) and (not anchor or named or anchor in heads)


def test_what_is_measured_has_a_source_and_links_lead_somewhere() -> None:
    for part in PARTS:
        assert place_of(f"{part['page']}.html")
        assert bool(part["source"]) or part["status"] != "Measured"
        assert not part["source"] or place_of(part["source"]), part["source"]
    assert not place_of("17_heads_deeper.html#exm-nowhere")
    assert not place_of("23_nowhere.html")


# ---- the figure ---------------------------------------------------------------------------


def test_it_says_in_words_what_it_shows() -> None:
    assert repr(MachineView()).endswith("35 arrays, next street 0.913, field 0.025, river 0.019")
    opened = MachineView(part="scores 1", row=9, column=7)
    assert repr(opened).endswith("scores 1, row 9, column 7: 4.089")
    assert repr(MachineView(part="p")).endswith(": 0.913")
    assert "street 0.098" in repr(MachineView(cut=[[0, 9, 7]]))
    assert MachineView().fallback().count("<li>") == 35


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (lambda: MachineView(text="the wug"), "does not know the word 'wug'"),
        (lambda: MachineView(part="Q"), "part must be one of .*; got 'Q'"),
        (lambda: MachineView(row=19), "row must be -1 to 18; got 19"),
        (lambda: MachineView(column=128), "column must be -1 to 127; got 128"),
        (lambda: MachineView(cut=[[0, 3, 4]]), "no word 3 looks at word 4 in layer 0"),
        (lambda: MachineView(cut=[[2, 4, 3]]), "no word 4 looks at word 3 in layer 2"),
        (lambda: MachineView(cut=[[1, 0, 0]]), "word 0 must see one word in layer 1"),
    ],
)
def test_it_refuses_in_words(make, words: str) -> None:
    with pytest.raises(ValueError, match=words):
        make()
