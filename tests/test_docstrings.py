"""Docstrings tell the truth: their shapes are bound on real arrays, their sources exist."""

import inspect
import re
from collections.abc import Callable, Iterator, Sequence
from functools import cache
from itertools import groupby
from pathlib import Path
from types import FunctionType, ModuleType
from typing import Any

import pytest
from torch import Tensor

from cases import (
    FUNCTIONS,
    SETTINGS,
    SIZE_OF_ARGUMENT,
    Case,
    arguments,
    make,
    parts,
    to_torch,
)
from every import every
from tformer import fast, reference
from tformer.arguments import checked
from tformer.configuration import Configuration
from tformer.docstrings import documented, sections
from tformer.fast import checks
from tformer.fast.twins import twin
from tformer.layer_configuration import LayerConfiguration
from tformer.shapes import ShapeError, axes_of, bind_all, result_shape

ROOT = Path(__file__).parents[1]
SIZES = {"B": 11, "T": 2, "S": 3, "d_k": 8, "d_v": 6, "N": 7, "d_model": 4, "G": 3, "H": 3}
SIZES |= {"d_ff": 5, "n_ctx": 9, "n_experts": 6, "d_e": 5, "d_c": 4, "d_q": 4, "d_r": 2}
SIZES |= {"n_taps": 3, "d_x": 5, "n_streams": 2, "n_groups": 3, "n_series": 2, "n_window": 2}
SIZES |= {"n_index": 2, "d_i": 4, "n_chosen": 2}
MODULES = {"reference": reference, "fast": fast}
CHECKED = {reference: checked, fast: checks.checked}
OF_TWO_ARRAYS = [x for x in FUNCTIONS if len(documented(getattr(reference, x)).names) == 2]
both = pytest.mark.parametrize("module", MODULES.values(), ids=MODULES)
all_functions = every("name", FUNCTIONS)


def settings_for(function: Callable[..., Any]) -> dict[str, Any]:
    """Values of the arguments that state a size, such as d_model, and a configuration."""
    names = inspect.signature(function).parameters
    settings: dict[str, Any] = {
        name: SIZES[axis] for name, axis in SIZE_OF_ARGUMENT.items() if name in names
    }
    settings |= {"configuration": Configuration()} if "configuration" in names else {}
    known = SETTINGS.get(function.__name__, [{}])[0]
    given = {"routing", "cap", "streams"} & names.keys()
    if given or isinstance(known.get("configuration"), LayerConfiguration):
        settings |= known
    settings |= {"p": 0.5} if function.__name__ in ("top_p", "min_p") else {}
    return settings | {
        name: 2
        for name in ("window", "n_prefix", "k", "block", "period", "capacity")
        if name in documented(function).ranges
    }


def arrays_for(module: ModuleType, case: Case) -> dict[str, Any]:
    if module is reference:
        return case.arrays
    return {key: to_torch(value, "float64") for key, value in case.arrays.items()}


def check_shapes(module: ModuleType, function: Callable[..., Any], name: str) -> None:
    """Call `function` on arrays of the documented shapes; its results must have the stated ones."""
    names, spec, *_ = documented(function)
    leading = [(13,) if axes.dots else () for axes in axes_of(spec)]
    case_settings = settings_for(function)
    case = make(name, SIZES, leading, case_settings, spec)
    arrays = arrays_for(module, case)
    first = {name: x for name, x in arrays.items() if ".1." not in name}
    left_out = tuple(f"{key}." for key in case_settings if "." in key)
    axes = {x: y for x, y in zip(names, axes_of(spec), strict=True) if not left(x, left_out)}
    assert [name.replace(".0.", ".*.") for name in first] == list(axes)
    bound = bind_all(name, list(zip(first, axes.values(), first.values(), strict=True)))
    sizes = {x: SIZES[x] for x in SIZE_OF_ARGUMENT.values()} | bound
    found = parts(function(**arguments(arrays), **case.settings))
    results = documented(function).results
    places = [i for i, x in enumerate(results) if not left(x, tuple(f"d{y}" for y in left_out))]
    shown = [places[i] for i in in_turn([results[i] for i in places])]
    for i, result in zip(shown, found, strict=True):
        assert tuple(result.shape) == result_shape(spec, sizes, i)


def left(name: str, left_out: tuple[str, ...]) -> bool:
    """Whether an array is among those that a case leaves out."""
    return f"{name}.".startswith(left_out)


def in_turn(names: Sequence[str]) -> Iterator[int]:
    """The places of names where there are two blocks: those of a block in turn, then again."""
    for several, group in groupby(range(len(names)), lambda i: names[i].partition("*")[:2]):
        yield from [*group] * (2 if several[1] else 1)


@both
@all_functions
def test_documented_shapes_hold_on_real_arrays(module: ModuleType, name: str) -> None:
    check_shapes(module, getattr(module, name), name)


WRONG = [
    ("pairwise_dot", "k : (..., S, d_k)", "k : (..., d_k, S)"),
    ("pairwise_dot", "(..., T, S) array", "(..., S, T) array"),
    ("pairwise_cosine", "q : (..., T, d_k)", "q : (..., d_k)"),
    ("dot", "(...) array", "(..., d_k) array"),
    ("projection", "-------\n(..., d_k) array", "-------\n(...) array"),
    ("softmax_jacobian", "(..., S, S) array", "(..., S) array"),
    ("svd_embeddings", "(..., N, d_model) array", "(..., d_model, N) array"),
    ("attention_weights", "(..., T or 1, S or 1) boolean array", "(..., S, T) boolean array"),
    ("attention", "(..., T, d_v) array", "(..., T, d_k) array"),
    ("attention_vjp", "dk : (..., S, d_k) array", "dk : (..., T, d_k) array"),
    ("cooccurrence", "(N, N) array", "(T, T) array"),
    ("causal_mask", "(T, S) boolean array", "(S, T) boolean array"),
    ("padding_mask", "(..., 1, S) boolean array", "(..., S, 1) boolean array"),
    ("count_leaks", "(...) integer array", "(..., T) integer array"),
    ("multi_head_attention", "memory : (..., S, d_model)", "memory : (..., T, d_model)"),
    ("multi_head_attention_vjp", "dmemory : (..., S, d_model)", "dmemory : (..., T, d_model)"),
    ("multi_head_weights", "(..., H, T, S) array", "(..., T, H, S) array"),
    ("sinusoidal", "(..., T, d_model) array", "(..., d_model, T) array"),
    ("relative_bias", "(H, T, S) array", "(T, S, H) array"),
    ("embedding", "table : (N, d_model)", "table : (d_model, N)"),
    ("qk_circuit", "(H, d_model, d_model) array", "(G, d_model, d_model) array"),
]


@pytest.mark.parametrize(("name", "right", "wrong"), WRONG)
@both
def test_a_wrong_shape_in_a_docstring_is_found(
    module: ModuleType, name: str, right: str, wrong: str
) -> None:
    body = inspect.unwrap(getattr(module, name))
    assert isinstance(body, FunctionType)
    told = inspect.cleandoc(body.__doc__ or "")
    assert right in told
    liar = FunctionType(body.__code__, body.__globals__, body.__name__, body.__defaults__)
    liar.__annotations__, liar.__doc__ = body.__annotations__, told.replace(right, wrong)
    with pytest.raises((AssertionError, ValueError, RuntimeError)):
        check_shapes(module, CHECKED[module](liar), name)


@both
@every("name", OF_TWO_ARRAYS)
def test_arrays_that_disagree_about_a_letter_are_refused(module: ModuleType, name: str) -> None:
    function = getattr(module, name)
    names, spec, *_ = documented(function)
    axes = [part.split() for part in spec.split("->")[0].split(",")]
    case = make(name, SIZES, [()] * 2, settings_for(function))
    for letter in set(axes[0]) & set(axes[1]) - {"..."}:
        wrong = make(name, SIZES | {letter: 1}, [()] * 2, case.settings).arrays[names[1]]
        arrays = arrays_for(module, case._replace(arrays=case.arrays | {names[1]: wrong}))
        with pytest.raises(ShapeError, match=rf"^{name}: axis {letter} is {SIZES[letter]} in "):
            function(**arrays, **case.settings)


def section(function: Callable[..., Any], title: str) -> str:
    """The text under one heading of a NumPy-doc docstring."""
    text = inspect.getdoc(function) or ""
    found = re.search(rf"^{title}\n-+\n(.*?)(?=^\w+\n-+$|\Z)", text, re.MULTILINE | re.DOTALL)
    return found[1] if found else ""


@both
@all_functions
def test_every_argument_is_described_in_order(module: ModuleType, name: str) -> None:
    function = getattr(module, name)
    described = re.findall(r"^(\w+) : ", section(function, "Parameters"), re.MULTILINE)
    assert described == list(inspect.signature(function).parameters)


@both
@all_functions
def test_docstring_has_a_summary_a_result_and_an_equation(module: ModuleType, name: str) -> None:
    function = getattr(module, name)
    summary = (inspect.getdoc(function) or "").split("\n\n")[0]
    assert summary.endswith(".")
    assert "\n" not in summary
    assert "array" in section(function, "Returns")
    assert f"eq-{name.replace('_', '-')}" in section(function, "Notes")


@all_functions
def test_twins_document_the_same_shapes(name: str) -> None:
    assert documented(getattr(fast, name)) == documented(getattr(reference, name))


REFUSED = {
    "softmax": {
        "ShapeError": "If x has too few axes, or if axis does not exist.",
        "ValueError": "If beta is not finite and above 0.",
        "TypeError": "If x is not an array of floating-point numbers, if axis is not an integer, "
        "or if beta is not a number.",
    },
    "ppmi": {
        "ShapeError": "If counts has too few axes, or if an axis letter has two sizes.",
        "TypeError": "If counts is not an array of floating-point numbers.",
    },
    "attention_weights": {
        "ShapeError": "If an array has too few axes, if an axis letter has two sizes, or if "
        "leading axes do not broadcast.",
        "ValueError": "If scale is not finite and above 0.",
        "TypeError": "If q, k or bias is not an array of floating-point numbers, if two of these "
        "differ in dtype, if mask is not an array of booleans, or if scale is not a number.",
    },
    "cooccurrence": {
        "ShapeError": "If tokens has too few axes.",
        "ValueError": "If n_vocab is not from 1 to 65536, if window is not at least 1, if a "
        "count is above 2147483647, or if a token is below -1 or not below n_vocab.",
        "TypeError": "If tokens is not an array of integers, if n_vocab is not an integer, or if "
        "window is not an integer.",
    },
}
"""What `help` says. Only the last case of a ValueError of `cooccurrence` is typed anywhere."""


@every("name", REFUSED)
@both
def test_help_tells_what_is_refused(module: ModuleType, name: str) -> None:
    told = section(getattr(module, name), "Raises")
    assert all(len(line) <= 96 for line in told.splitlines())
    entries = re.findall(r"^(\w+)\n((?: {4}.*\n)+)", told, re.MULTILINE)
    assert {error: " ".join(words.split()) for error, words in entries} == REFUSED[name]


@all_functions
def test_a_twin_says_what_its_definition_says_but_for_its_notes(name: str) -> None:
    ours, theirs = (sections(getattr(m, name).__doc__ or "") for m in (fast, reference))
    assert ours.pop("Notes") != theirs.pop("Notes")
    assert ours == theirs
    assert list(theirs) == ["", "Parameters", "Returns", "Raises"]
    notes = section(getattr(fast, name), "Notes")
    written = inspect.getsource(getattr(fast, name)).partition('"""')[2].partition('"""')[0]
    assert " ".join(notes.split()).endswith(" ".join(written.split()))
    assert f"`tformer.reference.{name}`" in " ".join(notes.split())


def dot(q: Tensor, k: Tensor) -> Tensor:
    """Own words."""
    return q


def test_a_twin_has_the_parameters_of_its_definition() -> None:
    twin(dot)

    def softmax(x: Tensor, axis: int = 0, beta: float = 1.0) -> Tensor:
        return x

    def norm(y: Tensor) -> Tensor:
        return y

    for other in (softmax, norm):
        with pytest.raises(TypeError, match=f"^{other.__name__}: the definition takes "):
            twin(other)


@all_functions
def test_every_source_is_in_the_bibliography(name: str) -> None:
    entries = set(
        re.findall(r"^@\w+\{([^,]+),", (ROOT / "references.bib").read_text("utf-8"), re.M)
    )
    cited = set(re.findall(r"\[([a-z]+\d{4}[a-z]?)\]", section(getattr(reference, name), "Notes")))
    assert cited
    assert cited <= entries


@both
@all_functions
def test_every_equation_is_on_a_page(module: ModuleType, name: str) -> None:
    cited = re.findall(r"\beq-[a-z-]*[a-z]", section(getattr(module, name), "Notes"))
    assert cited
    assert [label for label in cited if f"$$ ({label})" not in all_pages()] == []


@cache
def all_pages() -> str:
    """The text of all chapters' notebooks."""
    return "".join(page.read_text("utf-8") for page in (ROOT / "chapters").glob("*.ipynb"))


@all_functions
def test_reference_bodies_are_short(name: str) -> None:
    source = inspect.getsource(getattr(reference, name))
    body = source.split('"""')[2].strip().splitlines()
    assert len(body) <= 25
