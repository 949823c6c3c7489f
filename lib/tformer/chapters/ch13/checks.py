"""Exercises 13.1, 13.2, 13.5 and 13.6: uncertainty, what a window leaves, losses and reports."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from tformer.exercises.kinds import Number, Several
from tformer.exercises.promises import promised, single, whole
from tformer.exercises.registry import exercise
from tformer.exercises.table import Case, case

Array = np.ndarray


# ---- 13.1 ---------------------------------------------------------------------------------


def _chances() -> Iterator[Case]:
    yield case(p=[0.5, 0.25, 0.25], want=(1.5, 2**1.5), why="½ · 1 + ¼ · 2 + ¼ · 2 = 1.5 bits.")
    yield case(p=[0.5, 0.5, 0], want=(1, 2), why="What never comes adds nothing: a fair coin.")
    yield case(p=[[1.0, 0, 0], [0.25, 0.25, 0.5]], want=([0, 1.5], [1, 2**1.5]))
    yield case(p=[0, 0, 1.0, 0], want=(0, 1), why="A certain word: as a choice among one.")
    yield case(p=[[1.0]], want=([0], [1]), why="There may be one word alone.")
    for shape in ((3, 5), (2, 4), (2, 3, 4), (5,)):
        p = np.random.default_rng(len(shape)).gamma(0.7, size=shape) + 1e-3
        yield case(p=p / p.sum(axis=-1, keepdims=True))
    some = np.array([[3.0, 0, 1, 4], [0, 0, 2, 6]])
    yield case(p=some / some.sum(axis=-1, keepdims=True))
    yield case(p=np.full(1000, 1e-3), want=(np.log2(1000), 1000), why="1000 words, all alike.")
    yield from promised(whole, p=np.eye(3)[[1, 1, 0]])
    yield from promised(single, p=some / some.sum(axis=-1, keepdims=True))


@exercise(
    "13.1",
    praise="Fair choices, certain words and words that never come, in tables of any shape.",
    hints=(
        "How many bits does a word of probability ¼ cost? And one of probability ½?",
        "The entropy is the mean of these costs. What does the logarithm of 0 do in a mean?",
        "Put 1 in the place of each 0 inside the logarithm. Then undo a logarithm to base 2.",
    ),
    cases=_chances,
    kind=Several(names=("entropy", "perplexity")),
    slips="""
        np.log2(sure) → np.log(sure) ;; 2**bits → np.exp(bits)
            The entropy is in nats; bits need logarithms to base 2.
        np.log2(sure) → np.log(sure)
            The entropy is in nats, and then 2 was raised to it: base and power have to fit.
        2**bits → np.exp(bits)
            The entropy in bits is undone by powers of 2, not of e.
        np.where(p > 0, p, 1) → p
            0 · log 0 was computed, which is nan; a word that never comes adds 0.
        .sum(axis=-1) → .sum()
            Everything was added up; each row of probabilities has an entropy of its own.
        .sum(axis=-1) → .sum(axis=0)
            The sum runs over the first axis; the words stand along the last.
        .sum(axis=-1) → .mean(axis=-1)
            It is divided by the number of words; the probabilities already make it a mean.
        p * np.log2(sure) → np.log2(sure)
            The costs of all words were added; each comes only as often as p says.
        (p * np.log2(sure)).sum(axis=-1) → np.log2(sure).mean(axis=-1)
            All words were given the same share in the mean; each comes as often as p says.
        -(p * np.log2(sure)) → (p * np.log2(sure))
            The logarithm of a probability is below 0: the minus sign is missing.
        = -np.log2(p.max(axis=-1)), 1 / p.max(axis=-1)
            That is the cost of the likeliest word alone; take the mean over all.
        = np.log2((p > 0).sum(axis=-1)), (p > 0).sum(axis=-1)
            You counted the words that can come; unequal chances leave less open.
        = -np.log2((p * p).sum(axis=-1)), 1 / (p * p).sum(axis=-1)
            That is another count, one over the sum of p²; perplexity undoes the entropy.
        bits, 2**bits → 2**bits, bits
            The two are exchanged: entropy first.
        2**bits → 2**-bits
            That is below 1; a perplexity counts words, and there is at least one.
        2**bits → bits**2
            The entropy was squared; 2 is to be raised to it.
        2**bits → 2 ** (bits / p.shape[-1])
            The entropy was divided by the number of words; it is that of one word already.
    """,
    otherwise="The entropy is the mean of −log₂ p, and the perplexity 2 to its power.",
)
def uncertain(p: Array) -> tuple[Array, Array]:
    """Entropy in bits, and perplexity."""
    sure = np.where(p > 0, p, 1)
    bits = -(p * np.log2(sure)).sum(axis=-1)
    return bits, 2**bits


# ---- 13.2 ---------------------------------------------------------------------------------


def _worlds() -> Iterator[Case]:
    small = np.array([[1, 8, 5], [2, 8, 6], [1, 9, 5], [2, 9, 5]])
    want = [np.log(4) - 0.75 * np.log(3), np.log(2) / 2, 0]
    why = "Half of the stories end in 8 and then 5 or 6; after 9 the patient is 5."
    yield case(stories=small, want=want, why=why)
    both = np.array([[1, 2, 0, 7], [2, 1, 0, 6], [1, 1, 0, 6], [2, 2, 0, 7]])
    why = "The word 0 tells nothing, and the one before it everything."
    yield case(stories=both, want=[np.log(2), np.log(2), 0, 0], why=why)
    turned = np.array([[1, 2, 7], [2, 1, 8], [3, 2, 8], [3, 1, 7]])
    why = "Neither word tells anything alone; both together, in their order, tell all."
    yield case(stories=turned, want=[np.log(2), np.log(2), 0], why=why)
    yield case(stories=np.array([[4], [4], [9]]), why="T may be 1: nothing stands before it.")
    yield case(stories=np.array([[3, 1, 2]]), want=[0, 0, 0], why="One story leaves nothing open.")
    twice = np.array([[1, 5], [1, 5], [1, 5], [1, 6], [2, 6]])
    yield case(stories=twice, why="A story that stands three times is three times as likely.")
    for seed, (n, length, size) in enumerate(((6, 3, 2), (9, 4, 3), (20, 5, 2), (40, 4, 4))):
        rng = np.random.default_rng(seed)
        yield case(stories=rng.integers(0, size, (n, length)))
    far = np.array([[1, 10, 500_000], [11, 0, 1], [1, 10, 7], [0, 110, 1], [999_999, 10, 7]])
    yield case(stories=far, why="The numbers of the words may be large.")


@exercise(
    "13.2",
    praise="Worlds of one story to forty, with words that tell nothing alone, and one word each.",
    hints=(
        "Fix k, and sort the stories by their last k words before the patient. What is left open "
        "inside such a group?",
        "Inside a group: the entropy of the shares of its patients. How much does a group weigh?",
        "A story that is one of n in its group, c of them with its patient, adds ln(n / c). Take "
        "the mean over all stories; with k = 0 all are one group.",
    ),
    cases=_worlds,
    slips="""
        T - 1 - k : T - 1 → 0 : k
            The first k words are known here; those just before the patient should be.
        T - 1 - k : T - 1 → T - 1 - k : T
            The patient is among what is known: then nothing is ever left open.
        T - 1 - k : T - 1 → min(T - k, T - 1) : T - 1
            One word too few is known: for k = 1 it is the word before the patient.
        T - 1 - k : T - 1 → max(T - 2 - k, 0) : T - 1
            One word too many is known: for k = 0 it is none.
        T - 1 - k : T - 1 → T - 1 - k : min(T - k, T - 1)
            Only the word k places before the patient is known; those after it are as well.
        stories[:, T - 1 - k : T - 1] → np.sort($, axis=1)
            The known words were sorted; a model knows where each of them stands.
        np.log(counts / counts.sum()) → np.log2(counts / counts.sum())
            That is in bits; nats are asked for.
        np.log(counts / counts.sum()) → np.log(counts / n)
            Chances are those given what is known: divide by the stories of the group.
        total / n → total
            That is the sum over the stories; take the mean.
        total / n → total / len(np.unique(known, axis=0))
            It is divided by the number of groups; take the mean over the stories.
        counts * np.log(counts / counts.sum()) → $ / counts.sum()
        total / n → total / len(np.unique(known, axis=0))
            All groups weigh the same here; a group of more stories weighs more.
        total / n → np.exp(total / n)
            That is the perplexity; the uncertainty in nats is asked for.
        (counts * np.log(counts / counts.sum())).sum() → -counts.sum() * np.log(len(counts))
            The patients of a group were taken as equally likely; some stand in more stories.
        (counts * np.log(counts / counts.sum())).sum() → n * np.log(counts.max() / n) / T
            The likeliest patient alone was counted; take the mean over all.
        n, T = stories.shape → stories = np.unique(stories, axis=0); n, T = stories.shape
            Equal stories were counted once; each row counts.
        in range(T) → in reversed(range(T))
            The order is turned round: k = 0 comes first.
        = np.full(len(stories.T), (lambda c: -(c / c.sum() * np.log(c / c.sum())).sum())(
        np.unique(stories[:, -1], return_counts=True)[1]))
            That is the uncertainty if nothing is known, for every k.
    """,
    otherwise="The entropy of the patients in each group, in the mean over the stories.",
)
def left(stories: Array) -> Array:
    """What the last k words leave open, for each k."""
    n, T = stories.shape
    found = []
    for k in range(T):
        known = stories[:, T - 1 - k : T - 1]
        total = 0.0
        for one in {tuple(row) for row in known.tolist()}:
            group = (known == one).all(axis=1)
            _, counts = np.unique(stories[group, -1], return_counts=True)
            total -= (counts * np.log(counts / counts.sum())).sum()
        found.append(total / n)
    return np.array(found)


# ---- 13.5 ---------------------------------------------------------------------------------


def _batches() -> Iterator[Case]:
    third = np.log(3)
    yield case(
        z=[[[0, third], [0, 0]]],
        tokens=np.array([[0, 1]]),
        want=np.log(4 / 3),
        why="One place is asked: word 1 has the probability 3/4 there.",
    )
    yield case(
        z=[[[0, third], [third, 0], [2, 0]], [[0, 0], [5, 0], [0, 9]]],
        tokens=np.array([[0, 1, 1], [1, 0, -1]]),
        want=(np.log(4 / 3) + np.log(4) + np.log(2)) / 3,
        why="Three places are asked: probabilities 3/4, 1/4 and 1/2.",
    )
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
    for row in ([1, 2, 0], [0, 0, 1]):
        far = 2000 * np.eye(3)[[row, row[::-1]]]
        why = "A probability may be e to the power of −2000; its loss is 2000."
        yield case(z=far, tokens=np.array([[0, 0, 1], [2, 2, -1]]), why=why)


@exercise(
    "13.5",
    kind=Number(relative=1e-9, within=1e-9, near=0.0),
    praise="Texts of one token and more, filled up and full, and logits of thousands.",
    hints=(
        "Which place is asked for which token? Write it down for a text of three tokens.",
        "The logits of all places but the last belong to all tokens but the first. Which of these "
        "tokens are there?",
        "Take the logarithms of the softmax at the places that are asked, pick the token that came "
        "in each, and take one mean over all of them. Mind large logits.",
    ),
    cases=_batches,
    slips="""
        costs.mean() → _mean_of_means(costs, asked)
            Each text got a mean and then the texts; all tokens that are asked weigh the same.
        asked = wanted >= 0 → asked = wanted >= -1
            Where nothing comes, −1 is read as an index: the last word of the vocabulary is asked.
        asked = wanted >= 0 → asked = wanted > 0
            Word 0 is a word: only −1 asks nothing.
        costs.mean() → costs.sum() / asked.size
            It is divided by all places but the last, also by those that ask nothing.
        costs.mean() → costs.sum() / (tokens >= 0).sum()
            It is divided by all tokens; the first of each text is not asked.
        costs.mean() → costs.sum() / tokens.size
            It is divided by the size of the whole table; only what is asked counts.
        costs.mean() → costs.sum()
            That is the sum; take the mean over what is asked.
        costs.mean() → costs.sum() / len(tokens)
            That is the mean loss of a text; take the mean over what is asked.
        z[:, :-1], tokens[:, 1:] → z, tokens
            The targets are not moved: each place is asked for the token that it reads.
        z[:, :-1], tokens[:, 1:] → z[:, 1:], tokens[:, :-1]
            They are moved the wrong way: each place is asked for the token before it.
        z[:, :-1], tokens[:, 1:] → z, np.roll(tokens, -1, axis=1)
            The last place of the table is asked for the first token; nothing comes after it.
        z.max(axis=-1, keepdims=True) → np.zeros(1)
            Logits of thousands overflow: take the largest of a row off first.
        z.max(axis=-1, keepdims=True) → z.max()
            One number is taken off all rows, and rows far below it become the logarithm of 0.
        z - top - np.log(e.sum(axis=-1, keepdims=True)) → np.log(e / e.sum(axis=-1, keepdims=True))
            Small probabilities became 0 before their logarithm was taken: take logits less log-sum.
        e.sum(axis=-1, keepdims=True) → e.sum(axis=1, keepdims=True)
            The softmax runs over the places; it should run over the words.
        costs.mean() → np.exp(costs.mean())
            That is the perplexity; the loss is its logarithm.
        costs.mean() → costs.mean() / np.log(2)
            That is in bits; nats are asked for.
        costs.mean() → (1 - np.exp(-costs)).mean()
            That is the mean of 1 − p; the loss is −log p.
        costs.mean() → -np.log(np.exp(-costs).mean())
            The mean was taken before the logarithm; each place has a loss of its own.
        -logs[asked, wanted[asked]] → logs[asked, wanted[asked]]
            Logarithms of probabilities are below 0: the minus sign is missing.
        z - top - np.log(e.sum(axis=-1, keepdims=True)) → z
            The logits are no logarithms of probabilities yet: the softmax is missing.
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


def _mean_of_means(costs: Array, asked: Array) -> float:
    texts = np.split(costs, asked.sum(axis=1).cumsum()[:-1])
    return float(np.mean([text.mean() for text in texts if text.size]))


# ---- 13.6 ---------------------------------------------------------------------------------


def _reports() -> Iterator[Case]:
    bit = np.log(2)
    yield case(losses=[7 * bit, 3 * bit], text="so it", want=(2, 4), why="10 bits, 5 bytes.")
    yield case(losses=[4 * bit, 10 * bit], text="Straße", want=(2, 4), why="ß has two bytes.")
    yield case(losses=[3 * bit], text="道は", want=(0.5, 2**0.5), why="Three bytes for each sign.")
    yield case(losses=[0.0, 0, 0], text="it was", want=(0, 1), why="A model that is always sure.")
    yield case(losses=[5.0, 1], text="wide \n", why="Spaces and line ends are bytes too.")
    yield case(losses=[2.5], text="a", why="One token of one byte.")
    yield case(losses=[1.5, 0.25, 4, 2], text="🙂 ok")
    yield case(losses=[1.0, 2, 6], text="l’été", whole=True)
    yield from promised(single, losses=np.array([1.5, 0.25, 4]), text="größer")
    far = 10 * np.random.default_rng(0).random(600)
    yield case(losses=far, text="zwölf " * 300, said="600 losses and 300 times the text 'zwölf '")


@exercise(
    "13.6",
    kind=Several(names=("bits a byte", "perplexity of a byte")),
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
        len(text.encode()) → len(losses)
            That is a token's, not a byte's: divide by the bytes.
        len(text.encode()) → len(text.split())
            You counted words.
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
            The two are exchanged: bits a byte first.
    """,
    otherwise="The loss of the text in bits, over its bytes in UTF-8; and e to its nats a byte.",
)
def report(losses: Array, text: str) -> tuple[float, float]:
    """Bits a byte, and the perplexity of a byte."""
    nats = losses.sum() / len(text.encode())
    return nats / np.log(2), np.exp(nats)
