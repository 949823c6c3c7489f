"""Tokens learnt and not learnt: what goes in comes out, and merges are those of another library."""

import json
import random
from typing import Any

import pytest
from tokenizers import Tokenizer as Other
from tokenizers import models, pre_tokenizers, trainers

from every import every
from tformer.tokens import BPE, ByteTokenizer, CharacterTokenizer, Tokenizer, train_bpe
from tformer_book.world import corpus

TEXT = "\n".join(corpus.sentences())
HARD = [
    "",
    " ",
    "\n \n",
    "naïve 中文 한국 e\u0301",
    "\U0001f44d\U0001f3fd\u200d",
    "\x00\x1c\u3000\ufffd",
    "aaa aaaa 12",
]


def of_text(text: str, n_merges: int) -> BPE:
    return BPE.from_merges([str(merge) for merge in train_bpe(text, n_merges)], ["<end>"])


def others(text: str, n_merges: int) -> dict[str, Any]:
    """What the package tokenizers learns from the same text, cut as here."""
    made = Other(models.BPE())
    digits = pre_tokenizers.Digits(individual_digits=True)
    made.pre_tokenizer = pre_tokenizers.Sequence(
        [digits, pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=True)]
    )
    alphabet = pre_tokenizers.ByteLevel.alphabet()
    trainer = trainers.BpeTrainer(
        vocab_size=256 + n_merges, initial_alphabet=alphabet, show_progress=False
    )
    made.train_from_iterator([text], trainer)
    found: dict[str, Any] = json.loads(made.to_str())["model"]
    return found


def test_merges_are_those_of_the_other_library() -> None:
    """Its merges and the numbers of its tokens, ties included; runs of one letter too."""
    rng = random.Random(0)
    texts = [TEXT, *("".join(rng.choices("aab  \n", k=200)) for _ in range(100)), "abc ab bc abc"]
    for text in texts:
        found, theirs = [*train_bpe(text, 60)], others(text, 60)
        assert [[merge.left, merge.right] for merge in found] == theirs["merges"][: len(found)]
        tokens = sorted(theirs["vocab"], key=theirs["vocab"].get)
        ours = BPE.from_merges([str(merge) for merge in found]).tokens
        assert tokens[: len(ours)] == list(ours)
    assert len(found) < 60  # every word of the last is one token


def test_counts_are_those_of_the_moment() -> None:
    found = [*train_bpe("abab abab ab", 3)]
    assert [(str(x), x.times) for x in found] == [("a b", 5), ("Ġ ab", 2), ("ab ab", 1)]
    assert [str(x) for x in train_bpe("a b c", 9)] == ["Ġ b", "Ġ c"]
    assert [*train_bpe("", 5)] == [*train_bpe("abc", 0)] == []


def test_a_token_that_two_merges_make_has_one_number() -> None:
    merges = ["b c", "a b", "a bc", "ab c"]
    made = BPE.from_merges(merges)
    assert made.n_vocab == 256 + 3
    assert [made.tokens[i] for i in made.encode("abc")] == ["abc"]


@every("kind", ["bytes", "characters", "bpe", "bpe without merges"])
def test_what_goes_in_comes_out(kind: str) -> None:
    """Any text, also one that no merge has seen."""
    rng = random.Random(1)
    assigned = [*range(0xD800), *range(0xE000, 0x110000)]
    texts = [*HARD, *("".join(map(chr, rng.choices(assigned, k=20))) for _ in range(500)), TEXT]
    made: dict[str, Tokenizer] = {
        "bytes": ByteTokenizer(),
        "characters": CharacterTokenizer("".join(texts)),
        "bpe": of_text(TEXT, 200),
        "bpe without merges": of_text("", 9),
    }
    tokenizer = made[kind]
    for text in texts:
        numbers = tokenizer.encode(text)
        assert tokenizer.decode(numbers) == text
        assert all(0 <= number < tokenizer.n_vocab for number in numbers)


def test_merges_make_a_text_shorter() -> None:
    sizes = [len(of_text(TEXT, n).encode(TEXT)) for n in (0, 1, 50, 500)]
    assert sizes == sorted(sizes, reverse=True)
    assert sizes[0] == len(TEXT.encode()) > 3 * sizes[-1]


def test_control_is_no_text() -> None:
    made = of_text(TEXT, 5)
    assert made.encode("a<end>b") == [*made.encode("a"), made.n_vocab - 1, *made.encode("b")]


def test_what_looks_like_control_is_text_if_asked() -> None:
    """Whatever the control tokens are: of one letter, inside one another, or at the end of text."""
    for control in (["<end>"], ["<end>", "<<end>>"], ["中"], ["<|im_start|>", "<|im_end|>"]):
        made = BPE.from_merges(["< e", "e n"], control)
        text = f"hi{control[0]}<{control[-1]}"
        assert max(made.encode(text)) >= made.n_vocab - len(control)
        numbers = made.encode(text, control=False)
        assert max(numbers) < made.n_vocab - len(control)
        assert made.decode(numbers) == text


def test_no_byte_and_no_merge_is_a_token_of_control() -> None:
    with pytest.raises(ValueError, match=r"expected merges of two tokens into one, found '< >'"):
        BPE(["<", ">", "<>"], ["< >"], [2])
    made = BPE(["a", "b"], [], [1])
    assert made.encode("ab", control=False) == [0]
    assert b"b" in made.dropped


@every("tokenizer", [ByteTokenizer(), CharacterTokenizer("ab"), BPE.from_merges([])])
def test_numbers_of_no_token_are_refused(tokenizer: Tokenizer) -> None:
    for number in (-1, tokenizer.n_vocab, 2**70):
        with pytest.raises(ValueError, match=rf"decode: tokens are 0 to \d+; got {number}$"):
            tokenizer.decode([0, number])
    with pytest.raises(TypeError):
        tokenizer.decode([0.5])  # type: ignore[list-item]


def test_what_cannot_be_encoded_is_refused() -> None:
    with pytest.raises(ValueError, match="encode: 'c' is none of the 2 characters"):
        CharacterTokenizer("abba").encode("abc")
    with pytest.raises(UnicodeEncodeError):
        ByteTokenizer().encode("\ud83d")
    with pytest.raises(ValueError, match="n_merges must be 0 or more; got -1"):
        next(train_bpe("ab", -1))
    with pytest.raises(ValueError, match=r"expected merges of two tokens into one, found 'ab c'"):
        BPE.from_merges(["ab c"])
    with pytest.raises(ValueError, match="each token once"):
        BPE.from_merges(["a b"], ["ab"])
    assert ByteTokenizer().decode([0xC3]) == BPE.from_merges([]).decode(
        [BPE.from_merges([]).encode("é")[0]]
    )
