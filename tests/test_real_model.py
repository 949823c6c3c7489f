"""The real model through the book's own functions, against another library's."""

import os
from typing import Any

import numpy as np
import pytest
import torch

from tformer import fast, reference
from tformer.models.generate import generate
from tformer.models.pretrained import PretrainedModel, from_checkpoint
from tformer.parameters import leaves, tree_map

try:
    from other_llama import theirs_of
except ImportError:
    if os.environ.get("CI"):
        raise
    pytest.skip("the package transformers is not installed", allow_module_level=True)

TEXT = "The animal did not cross the street because it was too tired. So the animal"
GREEDY = 20


def assert_same(model: PretrainedModel, theirs: Any, words: list[int]) -> None:
    """Logits to 2e-4, or 4e-6 of the largest, and the likeliest word, in both libraries."""
    with torch.no_grad():
        expected = theirs(torch.tensor([words])).logits[0].numpy()
    in_torch = tree_map(torch.from_numpy, model.parameters)
    ours = fast.decoder(torch.tensor(words), in_torch, model.configuration).numpy()
    for got in (ours, reference.decoder(np.array(words), model.parameters, model.configuration)):
        bound = max(2e-4, 4e-6 * np.abs(expected).max())
        np.testing.assert_allclose(got, expected, rtol=0, atol=bound)
        np.testing.assert_array_equal(got.argmax(-1), expected.argmax(-1))


def test_a_small_checkpoint_gives_the_logits_of_another_library(small_checkpoint: Any) -> None:
    n_vocab = small_checkpoint.architecture.n_vocab
    words = [int(x) for x in np.random.default_rng(0).integers(0, n_vocab, 9)]
    assert_same(from_checkpoint(small_checkpoint), theirs_of(small_checkpoint), words)


def test_the_real_model_gives_the_logits_and_words_of_another_library(checkpoint: Any) -> None:
    model, theirs = from_checkpoint(checkpoint), theirs_of(checkpoint)
    words = model.tokenizer.encode(TEXT)
    assert sum(x.size for x in leaves(model.parameters)) == 134_515_008
    assert_same(model, theirs, words)
    full = list(words)
    with torch.no_grad():
        for _ in range(GREEDY):
            full.append(int(theirs(torch.tensor([full])).logits[0, -1].argmax()))
    in_torch = tree_map(torch.from_numpy, model.parameters)
    given = (fast.cached_decoder, torch.tensor(words), in_torch, model.configuration, GREEDY)
    assert [*words, *generate(*given)] == full
    by_numpy = (reference.cached_decoder, np.array(words), model.parameters, model.configuration)
    assert [*words, *generate(*by_numpy, 5)] == full[: len(words) + 5]
