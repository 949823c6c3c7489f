"""The page shows a reader's own file, whose weights and ablations are those of the library."""

import numpy as np
import torch

from own_listings import listed
from tformer.models import hooks
from tformer_book.chapters.ch17 import veto
from tformer_book.own import my_transformer as own
from tformer_book.storyteller import load, named


def test_the_page_shows_the_lines_of_the_file() -> None:
    assert listed("17_heads") == ["attention_patterns"]


def test_patterns_and_a_head_without_weights_are_those_of_the_library() -> None:
    tokens, _, configuration = load()
    p = {name: torch.tensor(x) for name, x in named(veto.parameters()).items()}
    c = own.Config(605, 64, 2, 4, 4, 176, tied=False)
    row = np.array(tokens.encode("\n" + veto.TALES["tired"]))
    for layer in range(2):
        for head in range(4):

            def silent(i, pattern, layer=layer, head=head):
                if i == layer:
                    pattern[head, -1] = 0
                return pattern

            logits, patterns = own.attention_patterns(row, p, c, silent)
            hook = hooks.zero_ablation(f"blocks.{layer}.heads", np.s_[..., head, -1, :])
            want = hooks.run_with_hooks(row, veto.parameters(), configuration, hook)
            np.testing.assert_allclose(logits, want["logits"], rtol=1e-9, atol=1e-9)
            other = 1 - layer
            np.testing.assert_allclose(
                patterns[other], want[f"blocks.{other}.weights"], rtol=1e-9, atol=1e-9
            )
            assert not patterns[layer][head, -1].any()
