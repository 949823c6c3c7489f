"""Write hard_texts.json, the tokens that the package tokenizers gives: python make_hard_texts.py.

Run in the book's environment, where `make model` has been; tokenizers 0.23.3 wrote what is here.
"""

import json
import random
import sys
import unicodedata
from pathlib import Path

HERE = Path(__file__).parent
sys.path.insert(0, str(HERE.parent))

from other_tokenizer import other_tokenizer  # noqa: E402
from tformer import pretrained  # noqa: E402

TEXTS = [
    "",
    " ",
    "hello world",
    " hello  world   again",
    "The animal didn't cross the street because it was too tired.",
    "I'll we've they're he'd it's I'm DON'T 'tis 'LL 's's''s",
    "In 1984 there were 12,345.678 of them; x2=3y4 5 6 77",
    "trailing spaces   ",
    "\n\n\tdef f(x):\n\t\treturn x ** 2  # square\r\n    pass\n",
    "  7",
    "a  7 b\t8\n9",
    "<|im_start|>user\nHi<|im_end|>\n<|im_start|>assistant\n",
    " <|endoftext|> <|endoftext|>x<|im_end",
    "spaces before   <|im_end|>  and behind",
    "<repo_name><reponame><file_sep>",
    "naïve café — “quotes” … ½ ² Ⅷ ٣ ৪",
    "e\u0301 é ﬁ İi ß ẞ",
    "中文字符和日本語テキスト、한국어",
    "مرحبا بالعالم שלום עולם हिन्दी ไทย",
    "👩‍👩‍👧‍👦 🏳️‍🌈 👍🏽 😀😀",
    "no\xa0break\u2003em\u3000wide\u200bzero\ufeffbom\u2028line\u0085next",
    "\x00\x01\x04\x06\x13\x14\x16\x1c\x1d\x1e\x1f\x7f",
    "a\x04b \x1d x\x1cy \x1c \x1c\n",
    "\U00040000a\U000b0000\U000f0000\U0010ffff",
    "https://example.org/a_b?c=%20&d=1#e",
    "AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA" * 3,
    "!?!?!?...---===***///" * 4,
    "antidisestablishmentarianism pneumonoultramicroscopicsilicovolcanoconiosis",
    '{"key": [1, 2.5e-3, null], "b": "\\u00e9\\n"}',
    "$$\\sum_{i=1}^{n} x_i^2 \\le \\|x\\|_1^2$$",
]


def drawn(rng: random.Random) -> str:
    """Assigned characters, a third of them ASCII, a third white space, digits and apostrophes."""
    while True:
        code = rng.randrange(0x30000)
        if unicodedata.category(chr(code)) not in ("Cn", "Cs"):
            return rng.choice((chr(code), chr(rng.randrange(128)), rng.choice(" \n\t'059 ")))


rng = random.Random(0)
texts = TEXTS + ["".join(drawn(rng) for _ in range(rng.randrange(1, 40))) for _ in range(100)]
other = other_tokenizer(pretrained.checkpoint().metadata)
rows = [json.dumps([x, other.encode(x, add_special_tokens=False).ids]) for x in texts]
(HERE / "hard_texts.json").write_text("[\n" + ",\n".join(rows) + "\n]\n", encoding="utf-8")
