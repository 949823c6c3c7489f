"""Text to the numbers of its tokens and back: bytes, characters, and pairs that are merged."""

from tformer.tokens.bpe import BPE
from tformer.tokens.plain import ByteTokenizer, CharacterTokenizer, Tokenizer
from tformer.tokens.train import Merge, train_bpe

__all__ = ["BPE", "ByteTokenizer", "CharacterTokenizer", "Merge", "Tokenizer", "train_bpe"]
