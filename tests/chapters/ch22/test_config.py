"""The config.json on the page is that of the pretrained model, and its sums are the library's."""

from typing import Any

import pytest

from own_listings import cells
from tformer.models.known import LLAMA, SMOL
from tformer.models.sizes import count_parameters
from tformer.pretrained import available, open_checkpoint, path

LINES = ("config = {", 'd, n_layers = config["hidden_size"]')
"""How the two cells begin: the entries, and what is counted from them."""


def page() -> dict[str, Any]:
    """What the two cells of the page define."""
    names: dict[str, Any] = {}
    for source in cells("22_released"):
        if source.startswith(LINES):
            exec(source, names)
    return names


def test_the_lines_of_the_page_count_as_the_library_does() -> None:
    names = page()
    assert names["total"] == count_parameters(SMOL, LLAMA)
    assert names["cached"] == 30 * 2 * 3 * 64


@pytest.mark.skipif(not available(), reason="the real model is not on this machine: make model")
def test_the_entries_on_the_page_are_those_of_the_model() -> None:
    config, found = page()["config"], open_checkpoint(path()).architecture
    pairs = {
        "hidden_size": found.d_model,
        "num_hidden_layers": found.n_layers,
        "num_attention_heads": found.n_heads,
        "num_key_value_heads": found.n_groups,
        "intermediate_size": found.d_ff,
        "rope_theta": found.base,
        "vocab_size": found.n_vocab,
        "tie_word_embeddings": found.tied,
    }
    assert {key: config[key] for key in pairs} == pairs
    assert found.eps == pytest.approx(config["rms_norm_eps"])
    assert found.d_k == config["hidden_size"] // config["num_attention_heads"]
