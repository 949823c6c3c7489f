"""Text to tokens and back: as by hand for a small vocabulary, as elsewhere for the real one."""

import json
import random
import time
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import pretrained_files as made
from every import every, try_each
from tformer.pretrained import Checkpoint, PretrainedError, tokenizer_from_metadata
from tformer.tokens import BPE
from tformer.tokens.bpe import LETTERS
from tformer.tokens.pretokenizer import pretokenize

HARD = Path(__file__).parent / "pretrained" / "hard_texts.json"


@pytest.fixture(scope="module")
def small() -> BPE:
    return BPE(made.TOKENS, made.MERGES, [0, 1])


@every(
    "cut",
    [
        [],
        ["hello", " world"],
        ["It", "'s", " Tom", "'", "S", " he", "'ll", " '", "tis", " I", "'ve"],
        ["a", " ", "1", "2", "x", " ", "3", "."],
        ["a", "  ", " b", "\t", "\n", "c", "\n "],
        ["x", " \n ", "7"],
        ["f", "(", "x", ")!", " =", " y", "²", " ", "½", "Ⅷ", "٣"],
        ["naïve", " 中文", "。", "한국", "\u3000", "x", "\x1c", "a", "\xa0", "b", "\u200b", "c"],
        ["e", "\u0301", " _", "a", "_"],
        ["a", "\xa0", "\u2003", "b", "\u3000", " x", " \x1c", "y", " \u200b"],
    ],
)
def test_words_are_cut_as_by_hand(cut: list[str]) -> None:
    assert list(pretokenize("".join(cut))) == cut


def test_merges_told_first_come_first(small: BPE) -> None:
    def pieces(text: str) -> list[str]:
        return [small.tokens[number] for number in small.encode(text)]

    assert pieces("hello world") == ["hello", "Ġworld"]
    assert pieces("hellhe wor old") == ["hell", "he", "Ġwor", "Ġ", "o", "ld"]
    assert pieces("lll llll") == ["ll", "l", "Ġ", "ll", "ll"]
    assert pieces("12") == ["1", "2"]
    assert pieces("<|start|>hello<|end|><|end") == ["<|start|>", "hello", "<|end|>", "e", "n", "d"]
    nested = BPE(["a", "<a", "<a>", "<", "中"], [], [1, 2, 4])
    assert nested.encode("<a><a<中") == [2, 1, 3, 4]
    assert nested.decode([2, 1, 3, 4]) == "<a><a<中"
    assert pieces("é") == ["Ã", "©"]
    assert small.encode("") == []


def test_bytes_without_a_token_are_left_out_and_told(small: BPE) -> None:
    """What stands on both sides of them meets."""
    letters = {x for token in made.TOKENS[2:] for x in token}
    assert small.dropped == bytes(byte for byte in range(256) if LETTERS[byte] not in letters)
    assert small.encode("heZZlloZ worldZ") == small.encode("hello world")
    assert small.encode("hezzllo") != small.encode("hello")


def test_what_is_put_in_comes_out(small: BPE) -> None:
    assert small.decode(small.encode("<|start|>hello world, 7é\n<|end|>")) == (
        "<|start|>hello world 7é\n<|end|>"
    )
    assert small.decode([made.TOKENS.index("Ã")]) == "\ufffd"
    assert small.decode(np.array([2, 3])) == "ab"


@every("number", [-1, made.N_VOCAB, 2**70])
def test_a_number_of_no_token_is_refused(small: BPE, number: int) -> None:
    with pytest.raises(ValueError, match=rf"decode: tokens are 0 to \d+; got {number}"):
        small.decode([0, number])


def test_half_a_surrogate_pair_is_refused(small: BPE) -> None:
    with pytest.raises(UnicodeEncodeError, match="surrogates not allowed"):
        small.encode("hello \ud83d")


def test_a_tokenizer_that_is_none_is_refused() -> None:
    cases = {
        "another model": (
            {"model": "llama"},
            "byte-level BPE, gpt2, with the pre-tokenizer smollm",
        ),
        "other words": ({"pre": "gpt-2"}, "'pre': 'gpt-2'"),
        "no tokens": ({"tokens": None}, "a list of strings as tokens, found NoneType"),
        "numbers": ({"merges": np.arange(3)}, "a list of strings as merges, found ndarray"),
        "twice": ({"tokens": [*made.TOKENS[:-1], "a"]}, "each token once, found 1 again"),
        "empty": ({"tokens": [*made.TOKENS[:-1], ""], "merges": []}, "not empty"),
        "no bytes": ({"tokens": [*made.TOKENS[:-1], "中"], "merges": []}, "written as letters"),
        "merge of one": ({"merges": ["he"]}, "merges of two tokens into one, found 'he'"),
        "merge of strangers": ({"merges": ["h Z"]}, "found 'h Z'"),
        "merge into none": ({"merges": ["h h"]}, "found 'h h'"),
        "no types": ({"token_type": None}, f"{made.N_VOCAB} types of tokens, each 1 or 3"),
        "few types": ({"token_type": np.ones(3, np.int32)}, "types of tokens, each 1 or 3"),
        "bytes": ({"token_type": np.full(made.N_VOCAB, 6)}, "types of tokens, each 1 or 3"),
    }
    right = made.metadata() | {"tokenizer.ggml.token_type": np.ones(made.N_VOCAB, np.int32)}
    tokenizer_from_metadata(right)

    def check(changed: dict[str, Any], said: str) -> None:
        with pytest.raises(PretrainedError, match=said):
            tokenizer_from_metadata(
                right | {f"tokenizer.ggml.{key}": x for key, x in changed.items()}
            )

    try_each(check, cases.items())


def test_hard_texts_give_the_tokens_of_the_other_library(checkpoint: Checkpoint) -> None:
    """Those that `tests/pretrained/make_hard_texts.py` wrote with the package tokenizers."""
    rows = json.loads(HARD.read_text(encoding="utf-8"))
    assert len(rows) == 130
    tokenizer = checkpoint.tokenizer
    assert [text for text, tokens in rows if tokenizer.encode(text) != tokens] == []
    dropped = tokenizer.dropped.decode("latin-1")
    for text, tokens in rows:
        kept = "".join(x for x in text if x not in dropped and not 0x40000 <= ord(x) < 0xC0000)
        if not any(0x40000 <= ord(x) < 0xC0000 for x in text):
            assert tokenizer.decode(tokens) == kept


def test_bytes_without_a_token_of_the_real_model(checkpoint: Checkpoint) -> None:
    """Eight can stand in a text: signs of control, and the first bytes of empty planes."""
    dropped = checkpoint.tokenizer.dropped
    assert dropped == bytes.fromhex(
        "04 06 13 14 16 1d c0 c1 f1 f2 f5 f6 f7 f8 f9 fa fb fc fd fe ff"
    )
    there = {
        byte for code in (4, 6, 19, 20, 22, 29, 0x40000, 0x80000) for byte in chr(code).encode()
    }
    assert len(there & {*dropped}) == 8
    encode, tokens = checkpoint.tokenizer.encode, checkpoint.tokenizer.tokens
    assert encode("!\x04!\U00080000") == encode("!!") + 3 * [tokens.index(LETTERS[0x80])]


def test_time_grows_with_the_length_of_a_word(checkpoint: Checkpoint) -> None:
    """A word of 20,000 letters, ten times as long, takes ten times as long; squared, a hundred."""

    def seconds(size: int) -> float:
        word = "".join(random.Random(size).choices("abcdefghij", k=size))
        start = time.process_time()
        checkpoint.tokenizer.encode(word)
        return time.process_time() - start

    seconds(1000)
    assert seconds(20_000) < 40 * max(seconds(2000), 1e-3)
