"""Exercises 13.5 and 13.6: the loss of a batch, and what is reported of a text."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from tformer_book.exercises.kinds import Number, Several
from tformer_book.exercises.promises import promised, single
from tformer_book.exercises.registry import exercise
from tformer_book.exercises.table import Case, case

Array = np.ndarray


# ---- 13.5 ---------------------------------------------------------------------------------


def _batches() -> Iterator[Case]:
    third = np.log(3)
    yield case(
        z=[[[0, third], [0, 0]]],
        tokens=np.array([[0, 1]]),
        want=np.log(4 / 3),
        why="One position is asked: word 1 has the probability 3/4 there.",
    )
    yield case(
        z=[[[0, third], [third, 0], [2, 0]], [[0, 0], [5, 0], [0, 9]]],
        tokens=np.array([[0, 1, 1], [1, 0, -1]]),
        want=(np.log(4 / 3) + np.log(4) + np.log(2)) / 3,
        why="Three positions are asked: probabilities 3/4, 1/4 and 1/2.",
    )
    alone = [[third, 0], [0, 0]]
    for few, logits, want in (
        ([[0, 1], [1, -1]], [[[0, third], [0, 0]], alone], np.log(4 / 3)),
        ([[1, -1], [0, 0], [1, 0]], [alone, alone, [[0, 0], [4, 0]]], np.log(8 / 3) / 2),
    ):
        why = "Nothing is asked of a text of one token."
        yield case(z=logits, tokens=np.array(few), want=want, why=why)
    short = "Nothing is asked of a text of one token, nor at the last token of a text."
    lengths = ((3, 1), (2, 4, 1), (5, 2), (1, 6, 3, 3), (4,))
    for seed, some in enumerate(lengths):
        rng = np.random.default_rng(seed)
        size, most = 3 + seed, max(some) + (seed == 2)
        tokens = rng.integers(0, size, (len(some), most))
        tokens[np.arange(most) >= np.array(some)[:, None]] = -1
        z = np.round(3 * rng.standard_normal((len(some), most, size)), 1)
        yield case(z=z, tokens=tokens, why=short)
    large = np.array([[[2000.0, 1999, 0], [-3000, -2999, -3001], [0, 0, 1]]])
    yield case(z=large, tokens=np.array([[1, 1, 2]]), why="Logits may be thousands.")
    for words in ([[1, 0], [0, 2]], [[2, 2], [0, 1]]):
        far = 2000 * np.eye(3)[words]
        why = "A probability may be e to the power of −2000; its loss is 2000."
        yield case(z=far, tokens=np.array([[0, 0], [2, 2]]), why=why)


@exercise(
    "13.5",
    kind=Number(relative=1e-9, within=1e-9, near=0.0),
    praise="Texts of one token and more, filled up and full, and logits of thousands.",
    hints=(
        "Which position is asked for which token? Write it down for a text of three tokens.",
        "The logits of all positions but the last belong to all tokens but the first. Which of "
        "these tokens are there?",
        "Take the logarithms of the softmax at the positions that are asked, pick the token that "
        "came in each, and take one mean over all of them. Mind large logits.",
    ),
    cases=_batches,
    otherwise="One mean of −log softmax over all positions that are asked.",
    slips="""
        costs.mean() → _mean_of_means(costs, asked)
            Each text got a mean and then the texts; all tokens that are asked weigh the same.
        costs.mean() → _mean_of_means(costs, asked, np.nan)
            Each text got a mean of its own, which is nan where nothing is asked; take one mean
            over all tokens that are asked.
        costs.mean() → _mean_of_means(costs, asked, 0)
            Each text got a mean of its own, 0 where nothing is asked; take one mean over all
            tokens that are asked.
        asked = wanted >= 0 → asked = wanted >= -1
            Where nothing comes, −1 is read as an index: the last word of the vocabulary is asked.
        tokens[:, 1:] → np.maximum(tokens[:, 1:], 0)
            Where nothing comes, word 0 is asked; nothing should be.
        asked = wanted >= 0 → asked = tokens[:, :-1] >= 0
            A position is asked where a token is read; it should be where a token comes next.
        asked = wanted >= 0 → asked = wanted != 0
            You took 0 for the sign that fills up; it is a word, and −1 fills up.
        asked = wanted >= 0 → asked = (wanted >= 0) & (tokens >= 0).all(axis=1)[:, None]
            Texts that are filled up were left out; the tokens that they have are asked.
        asked = wanted >= 0 → asked = wanted > 0
            Word 0 is a word: only −1 asks nothing.
        costs.mean() → costs.sum() / asked.size
            It is divided by all positions but the last, also by those that ask nothing.
        costs.mean() → costs.sum() / (tokens >= 0).sum()
            It is divided by all tokens; the first of each text is not asked.
        costs.mean() → costs.sum() / tokens.size
            It is divided by the size of the whole table; only what is asked counts.
        costs.mean() → costs.mean() / z.shape[-1]
            It is divided by the number of words as well; one word comes at each position.
        costs.mean() → costs.sum()
            That is the sum; take the mean over what is asked.
        costs.mean() → costs.sum() / len(tokens)
            That is the mean loss of a text; take the mean over what is asked.
        z[:, :-1], tokens[:, 1:] → z, tokens
            The targets are not moved: each position is asked for the token that it reads.
        z[:, :-1], tokens[:, 1:] → z[:, 1:], tokens[:, :-1]
            They are moved the wrong way: each position is asked for the token before it.
        z[:, :-1], tokens[:, 1:] → z[:, 1:], tokens[:, 1:]
            The logits moved with the targets: a token is asked of the position that reads it.
        z[:, :-1], tokens[:, 1:] → _in_a_row(z, tokens)
            The texts were put in one row: the end of a text is asked for the beginning of the next.
        z[:, :-1], tokens[:, 1:] → z, np.roll(tokens, -1, axis=1)
            The last position of the table is asked for the first token; nothing comes after it.
        z.max(axis=-1, keepdims=True) → np.zeros(1)
            Logits of thousands overflow: take the largest of a row off first.
        z.max(axis=-1, keepdims=True) → z.max()
            One number is taken off all rows, and rows far below it become the logarithm of 0.
        z - top - np.log(e.sum(axis=-1, keepdims=True)) → np.log(e / e.sum(axis=-1, keepdims=True))
            Small probabilities became 0 before their logarithm was taken: take logits less log-sum.
        e.sum(axis=-1, keepdims=True) → e.sum(axis=1, keepdims=True)
            The softmax runs over the positions; it should run over the words.
        costs.mean() → np.exp(costs.mean())
            That is the perplexity; the loss is its logarithm.
        costs.mean() → costs.mean() / np.log(2)
            That is in bits; nats are asked for.
        -logs[asked, wanted[asked]] → -np.log(np.exp($ * -1) + 1e-12)
            Is something small added inside the logarithm? Then every loss is a little too small.
        costs.mean() → (1 - np.exp(-costs)).mean()
            That is the mean of 1 − p; the loss is −log p.
        costs.mean() → -np.log(np.exp(-costs).mean())
            The mean was taken before the logarithm; each position has a loss of its own.
        -logs[asked, wanted[asked]] → logs[asked, wanted[asked]]
            Logarithms of probabilities are below 0: the minus sign is missing.
        z - top - np.log(e.sum(axis=-1, keepdims=True)) → z
            The logits are no logarithms of probabilities yet: the softmax is missing.
        wanted >= 0 → (wanted > 0 if (wanted > 0).any() else wanted >= 0)
            Token 0 is a token like the others; −1 alone is filling.
        wanted >= 0 → tokens[:, :-1] >= 0 ;; wanted[asked]] → np.maximum(wanted[asked], 0)]
            Positions were chosen by the token that is read, and where none comes next token 0 was
            scored.
    """,
)
def next_loss(z: Array, tokens: Array) -> float:
    """Mean loss over all tokens that are asked."""
    z, wanted = z[:, :-1], tokens[:, 1:]
    top = z.max(axis=-1, keepdims=True)
    e = np.exp(z - top)
    logs = z - top - np.log(e.sum(axis=-1, keepdims=True))
    asked = wanted >= 0
    costs = -logs[asked, wanted[asked]]
    return float(costs.mean())


def _in_a_row(z: Array, tokens: Array) -> tuple[Array, Array]:
    return z.reshape(1, -1, z.shape[-1])[:, :-1], tokens.reshape(1, -1)[:, 1:]


def _mean_of_means(costs: Array, asked: Array, empty: float | None = None) -> float:
    texts = np.split(costs, asked.sum(axis=1).cumsum()[:-1])
    means = [text.mean() if text.size else empty for text in texts]
    return float(np.mean([mean for mean in means if mean is not None]))


# ---- 13.6 ---------------------------------------------------------------------------------


def _reports() -> Iterator[Case]:
    bit = np.log(2)
    yield case(losses=[7 * bit, 3 * bit], text="so it", want=(2.0, 4.0), why="10 bits, 5 bytes.")
    yield case(losses=[4 * bit, 10 * bit], text="Straße", want=(2.0, 4.0), why="ß has two bytes.")
    yield case(losses=[3 * bit], text="道は", want=(0.5, 2**0.5), why="Three bytes for each sign.")
    yield case(
        losses=[0.0, 0, 0], text="it was", want=(0.0, 1.0), why="A model that is always sure."
    )
    yield case(losses=[5.0, 1], text="wide \n", why="Spaces and line ends are bytes too.")
    yield case(losses=[2.5], text="a", why="One token of one byte.")
    yield case(losses=[1.5, 0.25, 4, 2], text="🙂 ok")
    yield case(losses=[1.0, 2, 6], text="l’été", whole=True)
    yield from promised(single, losses=np.array([1.5, 0.25, 4]), text="größer")
    far = 10 * np.random.default_rng(0).random(600)
    for n in (600, 500):
        said = f"{n} losses and {n // 2} times the text 'zwölf '"
        yield case(losses=far[:n], text="zwölf " * (n // 2), said=said)


@exercise(
    "13.6",
    kind=Several(names=("bits per byte", "perplexity of a byte"), scalars=True),
    praise="English, German, Japanese, sure models and long texts.",
    hints=(
        "What is the loss of the whole text, and what changes in it if the tokens do?",
        "Nothing changes in it. How many questions would there be, if each byte were one?",
        "Divide the sum of the losses by the number of bytes. One of the two results wants this "
        "in bits, the other one is e to its power.",
    ),
    cases=_reports,
    slips="""
        len(text.encode()) → len(text)
            You counted characters; some of them have two bytes in UTF-8, or three or four.
        len(text.encode()) → (8 * len(text.encode()))
            You divided by the bits of the file; bits per byte are up to eight times as many.
        len(text.encode()) → len(losses)
            That is a token's, not a byte's: divide by the bytes.
        len(text.encode()) → len(text.split())
            You counted words.
        losses.sum() → losses[1:].sum()
            The first loss was left out; all tokens have one here.
        nats / np.log(2) → nats / np.log(10)
            Logarithms to base 10 count decimal places; bits need base 2.
        np.exp(nats) → np.exp(losses.sum())
            That is the perplexity of the whole text, taken as one token.
        losses.sum() → losses.mean()
            The mean was divided once more; the loss of the text is the sum.
        nats / np.log(2) → nats
            The first number is in nats; a bit is ln 2 of them.
        nats / np.log(2) → nats * np.log(2)
            A bit is ln 2 nats, about 0.69, so there are more bits than nats: divide.
        nats / np.log(2) → losses.mean() / np.log(2)
            Those are bits a token.
        np.exp(nats) → np.exp(losses.mean())
            That is the perplexity of a token as the text is cut now; each byte is to be one.
        np.exp(nats) → 2**nats
            Nats are undone by powers of e, not of 2.
        np.exp(nats) → np.exp(nats / np.log(2))
            Bits are undone by powers of 2, not of e.
        np.exp(nats) → np.exp(losses.mean()) * len(losses) / len(text.encode())
            A perplexity does not shrink by a factor: its logarithm does.
        np.exp(nats) → np.exp(losses.mean()) ** (len(text.encode()) / len(losses))
            The power is upside down: of more tokens each is easier.
        np.exp(nats) → np.exp(losses).mean()
            You took the mean of the perplexities of single tokens; take the mean of losses.
        np.exp(nats) → nats
            The second number is the loss of a byte; its perplexity is asked for.
        np.exp(nats) → np.exp(-nats)
            That is the mean probability of a byte; the perplexity is one over it.
        losses.sum() → -np.log(np.prod(np.exp(-losses.astype(float))))
            The probability of a long text is too small for a float: add up logarithms.
        nats / np.log(2), np.exp(nats) → np.exp(nats), nats / np.log(2)
            The two are exchanged: bits per byte first.
        text.encode() → text.encode("utf-16")
            The bytes were counted in UTF-16; UTF-8 is asked for.
        losses.sum() → float(np.cumsum(losses.astype(np.float32))[-1])
            The losses were added up in float32, and a long sum loses digits there.
    """,
    otherwise="The loss of the text in bits, over its bytes in UTF-8; and e to its nats a byte.",
)
def report(losses: Array, text: str) -> tuple[float, float]:
    """Bits per byte, and the perplexity of a byte."""
    nats = losses.sum() / len(text.encode())
    return nats / np.log(2), np.exp(nats)
