"""Tokenizers: bytes, characters, and byte-level BPE with its training."""

from tformer.tokens.bpe import BPE
from tformer.tokens.plain import ByteTokenizer, CharacterTokenizer, Tokenizer
from tformer.tokens.train import Merge, train_bpe

__all__ = ["BPE", "ByteTokenizer", "CharacterTokenizer", "Merge", "Tokenizer", "train_bpe"]
