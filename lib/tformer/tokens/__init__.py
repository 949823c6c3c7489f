"""Text to the numbers of its tokens and back: bytes, characters, and pairs that are merged."""

from tformer.tokens.bpe import BPE
from tformer.tokens.learn import Merge, learn
from tformer.tokens.plain import Bytes, Characters, Tokenizer

__all__ = ["BPE", "Bytes", "Characters", "Merge", "Tokenizer", "learn"]
