"""The claims of chapter 13 on tokens: what a merge saves, what it spoils, and what compares."""

from __future__ import annotations

import numpy as np

from tformer.tokens import BPE, train_bpe
from tformer.tokens.bpe import ALPHABET
from tformer_book.chapters.ch13.cut import (
    GREEDY,
    by_counting,
    cuts,
    floor,
    lists_of_two,
    saved,
)
from tformer_book.chapters.ch13.known import world
from tformer_book.claims.registry import claim, require
from tformer_book.claims.tools import near, show

LETTERS = "aab cß猫1'\n"


def _texts(n: int) -> list[str]:
    """Random texts of few letters, in which a letter often follows itself."""
    rng = np.random.default_rng(13)
    return ["".join(rng.choice(list(LETTERS), size=rng.integers(1, 60))) for _ in range(n)]


@claim(
    "prop-merge",
    "numeric",
    mutants={
        "as many also where a token follows itself": {"half": 1.0},
        "a pair saves half": {"share": 0.5},
        "the bytes that the text lacks need no token": {"all_bytes": False},
    },
    scope="80 random texts, up to 12 merges each",
)
def merge(half: float = 0.5, share: float = 1.0, all_bytes: bool = True) -> str:
    """Random texts of few letters; what was cut is put together again, other texts as well."""
    twins = 0
    for text in _texts(80):
        for one, shorter in saved(text, 12):
            if one.left != one.right:
                require(shorter == share * one.times, f"{one}: {one.times} pairs, saves {shorter}")
                continue
            twins += 1
            require(half * one.times <= shorter <= one.times, f"{one}: saves {shorter}")
        tokens = [str(one) for one in train_bpe(text, 12)]
        tokenizer = BPE.from_merges(tokens) if all_bytes else _of(text)
        for other in (text, "Wug, 道は!"):
            back = tokenizer.decode(tokenizer.encode(other))
            require(back == other, f"{len(other)} letters come back as {len(back)}")
    require(twins > 0, "no token was merged with itself")
    return f"every merge of 80 texts, {twins} of them of a token with itself; every text comes back"


def _of(text: str) -> BPE:
    """A tokenizer without the bytes that a text lacks."""
    whole = BPE.from_merges([])
    seen = {ALPHABET[number] for number in whole.encode(text)}
    return BPE(sorted(seen), [])


@claim(
    "exm-greedy",
    "exhaustive",
    mutants={
        "the commonest pair is the best beginning": {"greedy": 22},
        "it leaves two tokens more": {"apart": 2},
    },
    scope="every list of two merges of four letters",
)
def greedy(greedy: int = 23, apart: int = 1) -> str:
    """All lists, each used by the library to cut the text."""
    found = lists_of_two(GREEDY)
    learnt = [one for one, _ in saved(GREEDY, 2)]
    require([one.times for one in learnt] == [5, 2], f"learnt are {learnt}")
    both = (str(learnt[0]), str(learnt[1]))
    require(found[both] == greedy, f"{both}: {found[both]} tokens")
    best = min(found.values())
    require(best == greedy - apart, f"the best lists leave {best} tokens, greedy {greedy}")
    firsts = {list_ for list_, n in found.items() if n == best}
    require(firsts == {("a b", "c d"), ("c d", "a b")}, f"the best are {sorted(firsts)}")
    return f"{len(found)} lists of two merges; the best two leave {best} tokens, greedy {greedy}"


@claim(
    "thm-bits",
    "numeric",
    mutants={
        "the floor of a token is the same": {"each": "token"},
        "with tokens that lose the nouns": {"lossy": True},
        "the smaller perplexity is the better model": {"ordered": True},
    },
    scope="four ways to cut; 9 models that count, all stories",
)
def bits(each: str = "text", lossy: bool = False, ordered: bool = False) -> str:
    """Exact entropies, token by token, for four ways; models that count the last 0, 2, 4 tokens."""
    want = float(np.log(len(world())))
    found = []
    for name, tokenizer in cuts().items():
        encode = _without_nouns if lossy and name == "words" else tokenizer.encode
        by_token = floor(encode)
        total = by_token.sum() if each == "text" else by_token.sum() / len(by_token)
        require(near(total, want, 1e-9), f"{name}: the floor is {total:.4f}, not {want:.4f}")
        for k in (0, 2, 4) if name != "bytes" else ():  # the stories have no other
            told = by_counting(encode, k)
            require(told.nats >= want - 1e-9, f"{name}, {k}: {told.nats:.4f} is below the floor")
            found.append((told.perplexity, told.bits_a_byte))
        back = tokenizer.decode(tokenizer.encode(world().texts[0]))
        require(back == world().texts[0], f"{name}: {back!r} comes back")
    perplexity, best = zip(*found, strict=True)
    by_perplexity = [best[i] for i in np.argsort(perplexity)]
    if ordered:
        require(by_perplexity == sorted(best), f"bits a byte by perplexity: {show(by_perplexity)}")
    characters, words = by_counting(cuts()["characters"].encode, 4), floor(cuts()["words"].encode)
    require(characters.perplexity < np.exp(words.sum() / 19), "the words have less")
    require(characters.nats > 2.9 * want, f"{characters.nats:.2f} against {want:.2f}")
    return (
        "the floor of a story is log 2880 by words, merges, characters and bytes; 9 models are "
        "above it; one of them has the smaller perplexity with 3.0 times the loss"
    )


def _without_nouns(text: str) -> list[int]:
    """The words of a story but its two nouns."""
    numbers = cuts()["words"].encode(text)
    return [number for place, number in enumerate(numbers) if place not in (1, 6)]
