"""Other libraries agree about the real model: its tokens, its tensors' names and shapes."""

import os
import random
import unicodedata
from pathlib import Path

import pytest

from tformer.pretrained import Checkpoint
from tformer.tokens.pretokenizer import pretokenize

try:
    from transformers.models.llama import LlamaForCausalLM

    from other_llama import settings_of
    from other_tokenizer import other_tokenizer
except ImportError:
    if os.environ.get("CI"):
        raise
    pytest.skip("the packages transformers or tokenizers are absent", allow_module_level=True)

ROOT = Path(__file__).parents[1]
ASSIGNED = [chr(x) for x in range(0x30000) if unicodedata.category(chr(x)) not in ("Cn", "Cs")]


def test_tokens_are_those_of_the_other_library(checkpoint: Checkpoint) -> None:
    """On prose, on random strings of all assigned characters, and on what is decoded from noise."""
    other, ours = other_tokenizer(checkpoint.metadata), checkpoint.tokenizer
    rng = random.Random(0)
    pages = (ROOT / name for name in ("README.md", "ARCHITECTURE.md", "CONTRIBUTING.md"))
    texts = [page.read_text(encoding="utf-8") for page in pages]
    for pool in (
        ASSIGNED,
        [*map(chr, range(128))],
        [*" \n\t'aAs1٣Ⅷ½中", "<|im_end|>", "'ll", "  "],
    ):
        texts += ["".join(rng.choices(pool, k=rng.randrange(1, 60))) for _ in range(400)]
    texts += ["a" * 3000, " " * 3000, "".join(rng.choices("abcdefgh", k=3000))]
    for text in texts:
        assert ours.encode(text) == other.encode(text, add_special_tokens=False).ids
        pieces = [text[i:j] for _, (i, j) in other.pre_tokenizer.pre_tokenize_str(text)]
        assert list(pretokenize(text)) == pieces
    for _ in range(400):
        numbers = rng.choices(range(len(ours.tokens)), k=rng.randrange(1, 12))
        assert ours.decode(numbers) == other.decode(numbers, skip_special_tokens=False)


def test_common_names_and_shapes_are_those_of_the_other_library(
    small_checkpoint: Checkpoint,
) -> None:
    theirs = LlamaForCausalLM(settings_of(small_checkpoint.architecture)).state_dict()
    theirs.pop("lm_head.weight")
    ours = small_checkpoint.common()
    assert {x: tuple(y.shape) for x, y in theirs.items()} == {x: y.shape for x, y in ours.items()}
