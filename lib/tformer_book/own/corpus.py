"""A text of the reader's own as lessons: read, split, cut into tokens, and compared with."""

from __future__ import annotations

import json
import lzma
import math
import zlib
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType

import numpy as np
import torch

from tformer.tokens import BPE, train_bpe
from tformer.tokens.bpe import LETTERS
from tformer.tokens.pretokenizer import pretokenize

CHAPTERS = Path(__file__).resolve().parents[3] / "chapters"
LEAST = 5_000
"""Bytes that a text must have: about two pages."""
MOST = 10_000_000
"""Bytes that are read of a text; a quarter of an hour on two cores hardly reads more."""
LONGEST = 24
"""Characters of a word; longer ones, as in a text without spaces, are cut before any merge."""
HELD_OUT = 40_000
"""Characters at the end of a text that are held out at most; of a short text they are a tenth."""


class TextError(ValueError):
    """A text, or a folder, that cannot be trained on; the message says what would do."""


@dataclass(frozen=True)
class Corpus:
    """A text in two parts, in words and in tokens.

    Attributes
    ----------
    text, held_out : str
        What is trained on, and the end of the text, which is not.
    tokens, asked : (n,) integer tensor
        The token ids of the two.
    merges : list of str
        Two tokens each, learnt on `text`; earlier ones have priority.
    tokenizer : BPE
        Byte-level BPE with these merges.
    """

    text: str
    held_out: str
    tokens: torch.Tensor
    asked: torch.Tensor
    merges: list[str]
    tokenizer: BPE

    @property
    def n_bytes(self) -> int:
        """Bytes of the part that is held out."""
        return len(self.held_out.encode())

    def bits_per_byte(self, nats: float) -> float:
        """Return nats for the whole part that is held out as bits for one of its bytes."""
        return nats / math.log(2) / self.n_bytes

    def loss_in_bits(self, loss: float) -> float:
        """Return a loss in nats a token as bits a byte of what is trained on, on average."""
        return loss / math.log(2) * len(self.tokens) / len(self.text.encode())


# ---- reading ------------------------------------------------------------------------------


def read_text(source: Path | str | None) -> str:
    """Return the text of a file in UTF-8, a text itself, or, if None, the prose of this book.

    Raises
    ------
    TextError
        If it is no UTF-8 or too short; or if it is None, and no chapters are here.
    FileNotFoundError
        If there is no such file.
    """
    name = f"{source}" if isinstance(source, Path) else "The text"
    try:
        if source is None:
            text = book_prose()
        else:
            text = source.read_bytes().decode() if isinstance(source, Path) else source
        data = text.encode()
    except UnicodeDecodeError as error:
        raise TextError(
            f"{name} is not UTF-8: its byte {error.start:,} is 0x{error.object[error.start]:02x}. "
            "Save it as UTF-8 in an editor, or take another file."
        ) from error
    except UnicodeEncodeError as error:
        raise TextError(f"{name} has half a character at place {error.start:,}.") from error
    if not data:
        raise TextError(f"{name} is empty. It needs {LEAST:,} bytes or more.")
    if len(data) < LEAST:
        raise TextError(
            f"{name} has {len(data):,} bytes and needs {LEAST:,} or more, about two pages; "
            "a hundred times as many are better."
        )
    return text if len(data) <= MOST else data[:MOST].decode(errors="ignore")


def book_prose() -> str:
    """Return the Markdown of all pages of this book, in the order of their names.

    Raises
    ------
    TextError
        If the package was installed without the chapters.
    """
    pages = sorted(CHAPTERS.glob("*.ipynb"))
    if not pages:
        raise TextError(
            "The pages of the book are not here, only its package. Name a text: "
            "`python -m tformer_book.own train TEXT.txt`."
        )
    cells = (cell for page in pages for cell in json.loads(page.read_text("utf-8"))["cells"])
    return "\n\n".join("".join(x["source"]) for x in cells if x["cell_type"] == "markdown")


# ---- tokens -------------------------------------------------------------------------------


def words(text: str) -> Iterator[str]:
    """Return the pre-tokens of a text, those that are too long in parts."""
    for word in pretokenize(text):
        yield from (word[i : i + LONGEST] for i in range(0, len(word), LONGEST))


def learn_merges(text: str, n: int) -> list[str]:
    """Return merges learnt on the words of a text, n at most.

    Digits between the words keep them apart: a digit is a pre-token by itself, and has no pairs.
    """
    return [str(merge) for merge in train_bpe("0".join(words(text)), n)]


def read_corpus(text: str, my: ModuleType) -> Corpus:
    """Split a text, learn merges on its first part, and cut both parts by `my.apply_merges`.

    Raises
    ------
    TextError
        If `apply_merges` returns something else than a word's own pieces.
    """
    held = min(len(text) // 10, HELD_OUT)
    line = text.find("\n", len(text) - held, len(text) - held // 2) + 1
    cut = line or len(text) - held
    merges = learn_merges(text[:cut], min(1792, len(text[:cut].encode()) // 800))
    tokenizer = BPE.from_merges(merges)
    ids = {token: i for i, token in enumerate(tokenizer.tokens)}
    ranks = {tuple(merge.split(" ")): rank for rank, merge in enumerate(merges)}
    known: dict[str, list[int]] = {}

    def encode(part: str) -> torch.Tensor:
        found: list[int] = []
        for word in words(part):
            if word not in known:
                letters = "".join(LETTERS[byte] for byte in word.encode())
                pieces = my.apply_merges(letters, ranks)
                if "".join(pieces) != letters or not all(piece in ids for piece in pieces):
                    raise TextError(
                        f"Your apply_merges cuts {letters!r} into {pieces!r}. "
                        "`python -m tformer_book.own 13` checks it."
                    )
                known[word] = [ids[piece] for piece in pieces]
            found += known[word]
        return torch.tensor(found)

    first, last = text[:cut], text[cut:]
    return Corpus(first, last, encode(first), encode(last), merges, tokenizer)


# ---- what a model is compared with --------------------------------------------------------


def baselines(corpus: Corpus) -> dict[str, float]:
    """Return what simpler predictions of the part held out cost, in bits a byte.

    "unigram" counts tokens, and adds one to each count. "bigram" counts pairs of tokens, and mixes
    in single ones as [witten1991] does. "zlib" and "lzma" are what the compressed text
    grows by when the part held out is appended; zlib sees 32 kilobytes back.
    """
    a, b = corpus.tokens.numpy(), corpus.asked.numpy()
    n, before = corpus.tokenizer.n_vocab, np.concatenate([a[-1:], b[:-1]])
    single = (np.bincount(a, minlength=n) + 1) / (len(a) + n)
    pairs, times = np.unique(a[:-1] * n + a[1:], return_counts=True)
    places = np.searchsorted(pairs, asked := before * n + b).clip(max=len(pairs) - 1)
    seen = np.where(pairs[places] == asked, times[places], 0)
    total = np.bincount(a[:-1], minlength=n)[before]
    kinds = np.bincount(pairs // n, minlength=n)[before]
    pair = (seen + kinds * single[b]) / np.maximum(total + kinds, 1)
    pair = np.where(total > 0, pair, single[b])
    found = {
        "unigram": corpus.bits_per_byte(-np.log(single[b]).sum()),
        "bigram": corpus.bits_per_byte(-np.log(pair).sum()),
    }
    first, whole = corpus.text.encode(), (corpus.text + corpus.held_out).encode()
    for name, compress in (("zlib", _zlib), ("lzma", lzma.compress)):
        found[name] = 8 * (len(compress(whole)) - len(compress(first))) / corpus.n_bytes
    return found


def _zlib(data: bytes) -> bytes:
    return zlib.compress(data, 9)
