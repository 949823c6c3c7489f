"""Parts 13 to 15 of a reader's own transformer: wrong ones are refused, and told why."""

import ast

import pytest

from tformer_book.own import try_out
from tformer_book.own.checking import judge
from tformer_book.own.parts import BOOK, of_the_book
from tformer_book.own.tryouts import TRYOUTS


def edited(name, old, new):
    """The book's own part with an edit made."""
    text = ast.get_source_segment(BOOK.read_text(encoding="utf-8"), of_the_book()[name].node)
    assert text.count(old) == 1
    return text.replace(old, new)


EDITS = {
    "a rate with last on its own": (
        "learning_rate",
        "peak * (last + (1 - last) * cosine)",
        "last + (peak - last) * cosine",
        "last is a share of the peak: the rate ends at last · peak.",
    ),
    "a model that is not called": (
        "train",
        "(model or transformer)",
        "transformer",
        "The argument `model` has no effect",
    ),
    "no model but the one handed over": ("train", "(model or transformer)", "model", "NoneType"),
    "a tensor for a loss": ("train", "loss.item()", "loss", "a number is asked for: loss.item()"),
    "a loss after the step": (
        "train",
        "yield step, loss.item()",
        "yield step, next_token_loss((model or transformer)(tokens, p, c)[0], tokens).item()",
        "The loss is taken after the step",
    ),
    "other tensors in p": (
        "train",
        "                x[...], mean[name], square[name] = adamw(\n"
        "                    x, clip * g, mean[name], square[name], step, rate, decay=decay\n"
        "                )\n",
        "                new, mean[name], square[name] = adamw(\n"
        "                    x, clip * g, mean[name], square[name], step, rate, decay=decay\n"
        "                )\n"
        "            p[name] = new.requires_grad_()\n",
        "change its own in place: x[...] = new",
    ),
    "steps from 0": ("train", "range(1, steps + 1)", "range(steps)", "Steps count from 1; yours"),
    "each gradient clipped": (
        "train",
        "clip * g, mean",
        "min(1, 1 / (g.norm() + 1e-6)) * g, mean",
        "Each gradient is clipped for itself; all together are one vector.",
    ),
    "a step with gradients": (
        "train",
        "with torch.no_grad():",
        "if True:",
        "belongs inside `with torch.no_grad():`",
    ),
    "the cut before the temperature": (
        "sample",
        "    p, order = softmax(logits / temperature).sort(descending=True)\n"
        "    if top_p < 1:\n"
        "        p = p * (p.cumsum(-1) - p < top_p)\n",
        "    p, order = softmax(logits).sort(descending=True)\n"
        "    if top_p < 1:\n"
        "        p = p * (p.cumsum(-1) - p < top_p)\n"
        "    p = softmax(p.log() / temperature)\n",
        "top_p cuts before the temperature",
    ),
    "a draw without rng": (
        "sample",
        ", generator=rng",
        "",
        "Two equal generators as `rng` give different tokens",
    ),
    "a tensor for a token": (
        "sample",
        "int(logits.argmax())",
        "logits.argmax()",
        "sample returns a tensor; a whole number is asked for: int(…).",
    ),
    "no bias correction": (
        "adamw",
        "    typical = (square / (1 - betas[1] ** step)) ** 0.5 + eps\n"
        "    return x - rate * mean / (1 - betas[0] ** step) / typical",
        "    typical = square**0.5 + eps\n    return x - rate * mean / typical",
        "divide mean by 1 − β₁^step and mean square by 1 − β₂^step",
    ),
    "a loss without its sign": (
        "next_token_loss",
        "(logits.logsumexp(-1) - logits[torch.arange(len(targets)), targets])",
        "(logits[torch.arange(len(targets)), targets] - logits.logsumexp(-1))",
        "The sign is missing: −log p is positive.",
    ),
}
SELECTED = "torch.log_softmax(logits, -1).gather(-1, tokens[..., None])"
WRITTEN = {
    "a list for a generator": (
        "def generate(tokens, p, c, n, *rest, **more):\n    return [1] * n",
        "generate returns a list; it yields one token after another.",
    ),
    "no shift": (
        f"def next_token_loss(logits, tokens):\n    return -{SELECTED}.mean()",
        "The logits of a position are compared with its own token",
    ),
    "no shift, and what fills up left out": (
        "def next_token_loss(logits, tokens):\n"
        "    filled, tokens = tokens < 0, tokens.clamp(0)\n"
        f"    return -{SELECTED}[..., 0][~filled].mean()",
        "The logits of a position are compared with its own token",
    ),
    "tables of targets": (
        "from torch.nn.functional import cross_entropy\n"
        "def next_token_loss(logits, tokens):\n"
        "    return cross_entropy(logits[:, :-1], tokens[:, 1:], ignore_index=-1)",
        "cross_entropy takes a table of logits and a row of targets: flatten first.",
    ),
    "merges from left to right": (
        "def apply_merges(word, ranks):\n"
        "    parts = []\n"
        "    for piece in word:\n"
        "        parts.append(piece)\n"
        "        while len(parts) > 1 and tuple(parts[-2:]) in ranks:\n"
        "            parts[-2:] = [''.join(parts[-2:])]\n"
        "    return parts",
        "With word = 'abc' and ranks = {('b', 'c'): 0, ('a', 'b'): 1}, it gives ['ab', 'c']; "
        "it should be ['a', 'bc'].",
    ),
}


@pytest.mark.parametrize("case", EDITS)
def test_a_part_with_one_mistake_is_told_which(case, write_own):
    name, old, new, words = EDITS[case]
    correct, said = judge(write_own(edited(name, old, new)), name)
    assert not correct
    assert words in said


@pytest.mark.parametrize("case", WRITTEN)
def test_a_part_that_is_written_in_another_way_is_told_its_mistake(case, write_own):
    text, words = WRITTEN[case]
    correct, said = judge(write_own(text), text.partition("def ")[2].partition("(")[0])
    assert not correct
    assert words in said


@pytest.mark.parametrize(
    "text",
    [
        "def causal_mask(T, S):\n    return torch.ones(T, S)",
        "def softmax(x, axis=-1):\n    x.exp()",
    ],
)
def test_a_run_that_stops_in_a_lent_part_names_the_part_to_mend(text, write_own, capsys):
    name = text.partition("def ")[2].partition("(")[0]
    try_out(11, write_own(f"{edited('rms_norm', 'gain * x', 'x * gain')}\n\n\n{text}"))
    said = capsys.readouterr().out
    assert "The run stopped with TypeError: " in said
    assert said.endswith(f"where a lent part uses yours: mend {name} first.\n")


def test_a_run_that_stops_for_no_part_of_the_reader_raises(write_own, monkeypatch):
    def broken(my):
        raise ZeroDivisionError
        yield

    monkeypatch.setitem(TRYOUTS, 11, (broken, False))
    with pytest.raises(ZeroDivisionError):
        try_out(11, write_own(edited("softmax", "x, axis=-1", "x, axis=-1")))
