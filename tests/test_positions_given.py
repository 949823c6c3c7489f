"""Positions that are given: rows filled up on the left, and several documents in one row.

And the tables by which a configuration's choices are computed, from which these tests are driven.
"""

from dataclasses import replace
from itertools import pairwise
from types import ModuleType
from typing import Any

import numpy as np
import pytest
import torch

from tformer import configuration, fast, reference
from tformer.configuration import CHOICES, Configuration
from tformer.models.hooks import run_with_hooks
from tformer.models.sizes import Sizes, initialise
from tformer.parameters import EncoderDecoderParameters, leaves, tree_map

N, T = 11, 9
LENGTHS = (9, 7, 4, 1)
LIBRARIES = pytest.mark.parametrize("module", [reference, fast], ids=["reference", "fast"])
POSITION_ENCODINGS = pytest.mark.parametrize("scheme", CHOICES["positions"])
SIZES = Sizes(N, 8, 2, 4, 16, n_groups=2, d_k=4, n_positions=2 * T + 1)


def model(scheme: str, sizes: Sizes = SIZES, **choices: Any) -> tuple[Any, Configuration]:
    """Parameters of which none is zero or one."""
    c = Configuration(positions=scheme, **choices)
    return initialise(sizes, c, np.random.default_rng(0), 0.3, spread=0.2), c


def of(module: ModuleType, x: Any) -> Any:
    """An array, or a tree of them, for a library."""
    return x if module is reference else tree_map(torch.from_numpy, x)


def texts(seed: int = 1) -> list[np.ndarray]:
    rng = np.random.default_rng(seed)
    return [rng.integers(0, N, n) for n in LENGTHS]


def filled(rows: list[np.ndarray]) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """The texts under each other, ending together; their mask (B, 1, T), and their positions."""
    tokens = np.stack([np.concatenate([np.full(T - len(x), 3), x]) for x in rows])
    before = T - np.array([len(x) for x in rows])[:, np.newaxis]
    at = np.arange(T) - before
    return tokens, (at >= 0)[:, np.newaxis], np.maximum(at, 0)


def assert_close(got: Any, want: Any) -> None:
    np.testing.assert_allclose(np.asarray(got), np.asarray(want), rtol=0, atol=1e-10)


@LIBRARIES
@POSITION_ENCODINGS
def test_a_text_that_is_filled_up_on_the_left_has_its_own_logits(
    module: ModuleType, scheme: str
) -> None:
    p, c = model(scheme)
    tokens, mask, positions = (of(module, x) for x in filled(texts()))
    rows, bare = texts(), replace(p, unembedding=None)
    ours, c_p = of(module, p), of(module, bare)
    whole = module.decoder(tokens, ours, c, mask=mask, positions=positions)
    read = module.encoder(tokens, c_p, c, mask, positions=positions)
    found = run_with_hooks(tokens, ours, c, library=module, mask=mask, positions=positions)
    for i, row in enumerate(rows):
        assert_close(whole[i, T - len(row) :], reference.decoder(row, p, c))
        assert_close(found["logits"][i, T - len(row) :], reference.decoder(row, p, c))
        assert_close(read[i, T - len(row) :], reference.encoder(row, p, c))


@LIBRARIES
@POSITION_ENCODINGS
@pytest.mark.parametrize("cuts", [[0, T], [0, 6, T], [0, 3, 4, 5, 6, 7, 8, T]])
def test_so_has_it_with_a_cache(module: ModuleType, scheme: str, cuts: list[int]) -> None:
    p, c = model(scheme)
    tokens, mask, positions = filled(texts())
    caches, found = None, []
    for start, end in pairwise(cuts):
        given = (of(module, tokens[:, start:end]), of(module, p), c, caches)
        seen, at = (of(module, x[..., :end]) for x in (mask, positions))
        rows, caches = module.cached_decoder(*given, mask=seen, positions=at)
        found.append(np.asarray(rows))
    whole = np.concatenate(found, axis=1)
    for i, row in enumerate(texts()):
        assert_close(whole[i, T - len(row) :], reference.decoder(row, p, c))


@LIBRARIES
@POSITION_ENCODINGS
def test_documents_in_one_row_have_their_own_logits(module: ModuleType, scheme: str) -> None:
    p, c = model(scheme)
    rows = texts()[1:]
    whole = np.concatenate(rows)
    document = np.repeat(np.arange(3), [len(x) for x in rows])
    mask = of(module, reference.packed_mask(document, document))
    at = of(module, np.concatenate([np.arange(len(x)) for x in rows]))
    want = np.concatenate([reference.decoder(x, p, c) for x in rows])
    ours = of(module, p)
    assert_close(module.decoder(of(module, whole), ours, c, mask=mask, positions=at), want)
    first, caches = module.cached_decoder(
        of(module, whole[:8]), ours, c, None, mask[:8, :8], at[:8]
    )
    second, _ = module.cached_decoder(of(module, whole[8:]), ours, c, caches, mask[8:], at)
    assert_close(np.concatenate([np.asarray(first), np.asarray(second)]), want)


@POSITION_ENCODINGS
def test_gradients_of_a_filled_row_are_those_of_the_text(scheme: str) -> None:
    """Of logits that stand where nothing is filled up; in both libraries."""
    p, c = model(scheme)
    tokens, mask, positions = filled(texts())
    grad = np.random.default_rng(2).standard_normal((len(LENGTHS), T, N)) * mask[:, 0, :, None]
    rows = [
        reference.decoder_vjp(row, p, c, grad[i, T - len(row) :])[0]
        for i, row in enumerate(texts())
    ]
    want = leaves(tree_map(lambda *each: sum(each), *rows))
    for module in (reference, fast):
        given = [of(module, x) for x in (tokens, p, grad, mask, positions)]
        got, _ = module.decoder_vjp(
            given[0], given[1], c, given[2], mask=given[3], positions=given[4]
        )
        for one, other in zip(leaves(got), want, strict=True):
            assert_close(one, other)


@LIBRARIES
@POSITION_ENCODINGS
def test_an_encoder_and_a_decoder_read_filled_rows(module: ModuleType, scheme: str) -> None:
    encoder, c = model(scheme)
    p = EncoderDecoderParameters(
        encoder, model(scheme, replace(SIZES, has_cross_attention=True))[0]
    )
    sources, targets = texts(3), texts(4)[::-1]
    source, source_mask, source_at = filled(sources)
    target, target_mask, target_at = filled(targets)
    masks = of(module, (source_mask[:, 0], target_mask[:, 0], source_at, target_at))
    whole = module.encoder_decoder(of(module, source), of(module, target), of(module, p), c, *masks)
    for i, (one, other) in enumerate(zip(sources, targets, strict=True)):
        assert_close(whole[i, T - len(other) :], reference.encoder_decoder(one, other, p, c))


@LIBRARIES
@POSITION_ENCODINGS
def test_positions_that_are_left_out_are_counted_from_0(module: ModuleType, scheme: str) -> None:
    p, c = model(scheme)
    row, at, ours = of(module, texts()[0]), of(module, np.arange(T)), of(module, p)
    given = module.decoder(row, ours, c, positions=at)
    np.testing.assert_array_equal(given, module.decoder(row, ours, c))
    for kind in (np.int8, np.uint8):
        narrow = of(module, np.arange(T).astype(kind))
        np.testing.assert_array_equal(module.decoder(row, ours, c, positions=narrow), given)
    moved = module.decoder(row, ours, c, positions=at * 2)
    assert (np.abs(np.asarray(moved - given)).max() > 1e-3) == (scheme != "none")


@LIBRARIES
def test_positions_that_do_not_fit_are_refused(module: ModuleType) -> None:
    p, c = model("learned")
    ours, row = of(module, p), of(module, texts()[0])
    _, caches = module.cached_decoder(row, ours, c)
    late = of(module, np.arange(T) + SIZES.n_positions)
    with pytest.raises(ValueError, match=r"^decoder: positions must be from 0 to 18; got 19 to 27"):
        module.decoder(row, ours, c, positions=late)
    with pytest.raises(ValueError, match=r"^decoder: axis T is 9 in tokens but 1 in positions"):
        module.decoder(row, ours, c, positions=late[:1])
    one = of(module, np.array([3]))
    for name, x in (("positions", late[:1]), ("mask", of(module, np.ones((1, T), dtype=bool)))):
        said = rf"^cached_decoder: axis S \+ T must be 10 in {name}; got shape"
        with pytest.raises(ValueError, match=said):
            module.cached_decoder(one, ours, c, caches, **{name: x})
    with pytest.raises(TypeError, match=r"^decoder: positions must hold integers"):
        module.decoder(row, ours, c, positions=of(module, np.zeros(T)))
    longer = of(module, np.zeros(30, dtype=int))
    rows = module.decoder(longer, ours, c, positions=longer)
    assert rows.shape == (30, N)


# A choice without its functions


@LIBRARIES
def test_every_choice_has_its_functions_and_none_has_two_names(module: ModuleType) -> None:
    assert tuple(module.stacks.POSITION_ENCODINGS) == CHOICES["positions"]
    assert tuple(module.blocks.NORMS) == CHOICES["norm"]
    assert tuple(module.blocks.NORM_FIRST) == CHOICES["order"]
    empty = [name for name, each in module.stacks.POSITION_ENCODINGS.items() if not any(each)]
    assert empty == ["none"]


@LIBRARIES
@pytest.mark.parametrize("choice", CHOICES)
def test_every_choice_computes_something_of_its_own(module: ModuleType, choice: str) -> None:
    row, found = texts()[0], []
    for name in CHOICES[choice]:
        kind = "rope" if choice == "pairing" else "learned"
        c = replace(Configuration(positions=kind), **{choice: name})
        p = initialise(SIZES, Configuration(positions=kind), np.random.default_rng(0), 0.3)
        rng = np.random.default_rng(1)
        learned = {x: 0.3 * rng.standard_normal((4, 2 * T + 1)) for x in ("distances",)}
        gains = replace(p.norm, gain=rng.random(8)) if p.norm else None
        p = replace(p, **learned, norm=gains)
        found.append(np.asarray(module.decoder(of(module, row), of(module, p), c)))
    for i, one in enumerate(found):
        for other in found[:i]:
            assert np.abs(one - other).max() > 1e-6


@LIBRARIES
@pytest.mark.parametrize("choice", CHOICES)
def test_a_choice_without_functions_fails(
    module: ModuleType, choice: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A name that is added to the choices alone once computed another of them, silently."""
    more = CHOICES | {choice: (*CHOICES[choice], "new")}
    monkeypatch.setattr(configuration, "CHOICES", more)
    p, _ = model("rope" if choice == "pairing" else "learned")
    c = replace(Configuration(positions="rope"), **{choice: "new"})
    row, ours = of(module, texts()[0]), of(module, p)
    with pytest.raises((KeyError, AttributeError, ValueError), match="new"):
        module.decoder(row, ours, c)
    with pytest.raises((KeyError, AttributeError, ValueError), match="new"):
        module.cached_decoder(row, ours, c)
    with pytest.raises((KeyError, AttributeError, ValueError), match="new"):
        module.decoder_vjp(row, ours, c, of(module, np.zeros((T, N))))
