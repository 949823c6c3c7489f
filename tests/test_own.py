"""A reader's own transformer: the book's file against the library, and its checks."""

import ast
import re

import numpy as np
import pytest
import torch

from every import try_each
from own_fixtures import SOFTMAX
from tformer import reference
from tformer.parameters import NormParameters
from tformer_book.exercises import CheckFailed, process, verdict
from tformer_book.own import check
from tformer_book.own.checking import checks, judge
from tformer_book.own.parts import BOOK, PARTS, definitions, of_the_book
from tformer_book.own.samples import gpt2_parameters, parameters, small
from tformer_book.own.tryouts import TRYOUTS

NAMES = list(of_the_book())
# ---- the table of parts -------------------------------------------------------------------


def test_every_name_of_the_book_is_in_one_part_and_has_a_check_and_each_part_a_run():
    named = [name for part in PARTS for name in part.names]
    assert named == NAMES == list(checks())
    assert [part.chapter for part in PARTS] == sorted(TRYOUTS)
    comments = re.findall(r"^# (\d+)(?:, (\d+))?\. ", BOOK.read_text(encoding="utf-8"), re.M)
    assert {int(b or a) for a, b in comments} == {part.chapter for part in PARTS}


def test_lines_of_code_leave_out_comments_empty_lines_and_docstrings():
    source = '@mark\ndef f(x):\n    """One.\n\n    Two."""\n\n    # three\n    return x  # four\n'
    assert definitions(source)["f"].n_lines == 3


# ---- the book's file against the library --------------------------------------------------


def test_attention_rope_norms_and_units_are_those_of_the_library(own_book):
    rng = np.random.default_rng(0)
    q, k, v = (rng.normal(size=(2, n, 6, 4)) for n in (4, 2, 2))
    mask = np.asarray(own_book.causal_mask(6, 6))
    assert (mask == reference.causal_mask(6, 6)).all()
    x, w1, w2, w3 = rng.normal(size=(6, 8)), *rng.normal(size=(2, 8, 5)), rng.normal(size=(5, 8))
    gain, bias = rng.normal(size=(2, 8))
    t = torch.from_numpy
    pairs = [
        (own_book.softmax(t(x), 0), reference.softmax(x, axis=0)),
        (
            own_book.grouped_attention(t(q), t(k), t(v), t(mask)),
            reference.grouped_attention(q, k, v, mask),
        ),
        (
            own_book.blockwise_attention(t(q), t(q), t(q), t(mask), 4),
            reference.attention(q, q, q, mask),
        ),
        (
            own_book.rope(t(q), torch.arange(3, 9), 500.0),
            reference.rope(q, reference.sinusoidal(np.arange(3, 9), 4, base=500.0)),
        ),
        (own_book.rms_norm(t(x), t(gain)), reference.rms_norm(x, NormParameters(gain))),
        (
            own_book.layer_norm(t(x), t(gain), t(bias)),
            reference.layer_norm(x, NormParameters(gain, bias)),
        ),
        (
            own_book.swiglu(t(x), t(w1), t(w2), t(w3)),
            (reference.silu(x @ w1) * (x @ w2)) @ w3,
        ),
        (own_book.gelu(t(x)), reference.gelu_tanh(x)),
    ]
    for got, want in pairs:
        np.testing.assert_allclose(got, want, rtol=1e-12, atol=1e-12)


def test_llama_and_gpt2_are_those_of_transformers(own_book):
    from transformers import GPT2Config, GPT2LMHeadModel, LlamaConfig, LlamaForCausalLM

    sizes = {"vocab_size": 11, "bos_token_id": None, "eos_token_id": None}
    tokens = torch.tensor([[3, 1, 4, 1, 5, 9], [2, 6, 5, 3, 5, 8]])
    c = small(own_book, n_groups=4, d_ff=12, base=0.0)
    published = GPT2LMHeadModel(
        GPT2Config(n_positions=32, n_embd=8, n_layer=2, n_head=4, n_inner=12, **sizes)
    )
    p = gpt2_parameters(c)
    published.double().eval().load_state_dict(
        {f"transformer.{name}": x for name, x in p.items()} | {"lm_head.weight": p["wte.weight"]}
    )
    with torch.no_grad():
        got, _ = own_book.gpt2(tokens, p, c)
        np.testing.assert_allclose(got, published(tokens).logits, rtol=1e-9, atol=1e-9)

    c = small(own_book, d_model=16, tied=False)
    published = LlamaForCausalLM(
        LlamaConfig(
            **sizes,
            hidden_size=16,
            intermediate_size=6,
            num_hidden_layers=2,
            num_attention_heads=4,
            num_key_value_heads=2,
            rms_norm_eps=1e-5,
            tie_word_embeddings=False,
        )
    )
    p = parameters(own_book, c)

    def half(x):  # the published class pairs coordinate i with i + d/2
        return x.unflatten(0, (-1, 2, 2)).transpose(1, 2).flatten(0, 2)

    turned = ("q_proj.weight", "k_proj.weight")
    published.double().eval().load_state_dict(
        {name: half(x) if name.endswith(turned) else x for name, x in p.items()}
    )
    with torch.no_grad():
        got, _ = own_book.transformer(tokens, p, c)
        np.testing.assert_allclose(got, published(tokens).logits, rtol=1e-5, atol=1e-6)


def test_a_text_read_in_two_parts_gives_the_same_logits(own_book):
    c = small(own_book)
    p, tokens = parameters(own_book, c), torch.tensor([3, 1, 4, 1, 5, 9])
    whole, caches = own_book.transformer(tokens, p, c)
    _, first = own_book.transformer(tokens[:2], p, c)
    later, both = own_book.transformer(tokens[2:], p, c, first)
    torch.testing.assert_close(later, whole[2:], rtol=1e-12, atol=1e-12)
    torch.testing.assert_close(both[1][0], caches[1][0], rtol=1e-12, atol=1e-12)


def test_training_takes_the_steps_of_torch(own_book):
    """AdamW with clipping, by PyTorch's own optimiser."""
    c = small(own_book, n_layers=1)
    p = {name: x.requires_grad_() for name, x in parameters(own_book, c).items()}
    q = {name: x.detach().clone().requires_grad_() for name, x in p.items()}
    groups = [[x for x in q.values() if (x.ndim > 1) is wide] for wide in (True, False)]
    adam = torch.optim.AdamW(
        [{"params": xs, "weight_decay": d} for xs, d in zip(groups, (0.1, 0.0), strict=True)],
        betas=(0.9, 0.95),
    )
    rows = torch.tensor([[1, 2, 3, 4], [5, 6, 7, -1]])
    for step, loss in own_book.train(p, c, lambda step: rows, 6, peak=0.5, warmup=2):
        want = torch.nn.functional.cross_entropy(
            own_book.transformer(rows[:, :-1].clamp(min=0), q, c)[0].mT,
            rows[:, 1:],
            ignore_index=-1,
        )
        assert loss == pytest.approx(want.item(), rel=1e-9)
        adam.zero_grad()
        want.backward()
        torch.nn.utils.clip_grad_norm_(list(q.values()), 1.0)
        for group in adam.param_groups:
            group["lr"] = own_book.learning_rate(step, 6, 2, 0.5)
        adam.step()
    for name in p:
        torch.testing.assert_close(p[name], q[name], rtol=1e-9, atol=1e-9)


# ---- checks -------------------------------------------------------------------------------


@pytest.mark.parametrize("name", NAMES)
def test_the_book_is_right_and_each_slip_is_told_in_its_own_words(name, monkeypatch):
    monkeypatch.setattr(process, "CAN_FORK", False)
    assert judge(BOOK, name)[0]
    entry = checks()[name]
    assert entry.mutants or name == "Config"

    def told(sentence):
        correct, text = verdict(entry, entry.mutants[sentence], 30.0)
        assert not correct
        assert [other for other in entry.mutants if other in text] == [sentence]

    try_each(told, ((sentence, (sentence,)) for sentence in entry.mutants))


GENERATE = (
    "def generate(tokens, p, c, n, temperature=1.0, top_p=1.0, stop=None, model=None, rng=None):"
)
WRONG = {
    "a stub": ("def softmax(x, axis=-1):\n    raise NotImplementedError()", "empty template"),
    "nothing returned": ("def softmax(x, axis=-1):\n    x.exp()", "returned nothing"),
    "an argument less": ("def softmax(x):\n    return x", "takes"),
    "a line that fails": ("def softmax(x, axis=-1):\n    return x @ None", "`return x @ None`"),
    "no Python": ("def softmax(x, axis=-1)\n    return x", "Python cannot read the file"),
    "a top level that fails": (f"{SOFTMAX}\n1 / 0", "ZeroDivisionError"),
    "too few fields": (
        "@dataclass\nclass Config:\n    n_vocab: int",
        "takes 2 positional arguments",
    ),
    "another name": (
        "def parameter_shapes(c):\n    return {'wte': (c.n_vocab, c.d_model)}",
        "leaves out 11 of 11 names: `model.layers.0.self_attn.q_proj.weight`",
    ),
    "one thing returned": ("def block(x, w, c, cache=None, attend=None):\n    return x", "two"),
    "no gradient asked": (
        "def initialise(c, seed=0):\n"
        "    return {n: torch.ones(s) for n, s in parameter_shapes(c).items()}",
        "does not ask for a gradient",
    ),
    "no seed": (
        "def initialise(c, seed=0):\n    rng = torch.Generator().manual_seed(0)\n"
        "    return {n: torch.randn(s, generator=rng).requires_grad_()\n"
        "            for n, s in parameter_shapes(c).items()}",
        "the argument seed has no effect",
    ),
    "everything read again": (
        f"{GENERATE}\n    tokens = list(tokens)\n"
        "    for _ in range(n):\n"
        "        token = int((model or transformer)(torch.tensor(tokens), p, c)[0][-1].argmax())\n"
        "        yield token\n"
        "        tokens.append(token)",
        "After the first call hand over the new token alone",
    ),
    "another model": (
        f"{GENERATE}\n    yield from [1] * n",
        "`model` has no effect",
    ),
    "no generator": (
        f"{GENERATE}\n    caches, tokens = None, torch.as_tensor(tokens)\n"
        "    for _ in range(n):\n"
        "        logits, caches = (model or transformer)(tokens, p, c, caches)\n"
        "        yield (token := sample(logits[-1], temperature, top_p))\n"
        "        tokens = torch.tensor([token])\n"
        "        if token == stop:\n            return",
        "hand rng on to sample",
    ),
    "no blocks": (
        "def blockwise_attention(q, k, v, mask=None, size=256):\n"
        "    return attention(q, k, v, mask)",
        "a table of all 2 by 3 scores",
    ),
    "unequal seeds": (
        "def initialise(c, seed=0):\n"
        "    return {n: torch.randn(s).requires_grad_() for n, s in parameter_shapes(c).items()}",
        "other numbers the second time",
    ),
    "numbers for texts": ("def apply_merges(word, ranks):\n    return [1]", "list of texts"),
    "losses alone": (
        "def train(p, c, batch, steps, peak=3e-3, warmup=100, model=None):\n"
        "    yield from (0.1 for _ in range(steps))",
        "two numbers at each step",
    ),
    "a missing key": (
        "def transformer(tokens, p, c, caches=None, attend=None):\n"
        "    return p['model.embed_tokens.weight'][tokens]",
        "A model returns two things",
    ),
}


@pytest.mark.parametrize("case", WRONG)
def test_answers_that_misbehave_are_told_why(case, write_own):
    text, words = WRONG[case]
    name = re.search(r"(?:def|class) (\w+)", text)[1]
    correct, said = judge(write_own(text), name)
    assert not correct
    assert words in said


def test_a_part_is_judged_with_the_parts_of_the_book_around_it(write_own):
    wrong = "def softmax(x, axis=-1):\n    return x\n\n\n"
    attention = ast.get_source_segment(
        BOOK.read_text(encoding="utf-8"), of_the_book()["attention_weights"].node
    )
    path = write_own(wrong + attention)
    assert judge(path, "attention_weights")[0]
    assert not judge(path, "softmax")[0]


def test_check_raises_what_is_wrong_and_prints_what_is_right(write_own, capsys):
    check("softmax", write_own(SOFTMAX))
    assert capsys.readouterr().out.startswith("✓ softmax, correct. Along any axis")
    with pytest.raises(CheckFailed, match=r"softmax, not yet\."):
        check("softmax", write_own("def softmax(x, axis=-1):\n    return x"))
    with pytest.raises(CheckFailed, match="has no rope yet"):
        check("rope", write_own(SOFTMAX))
    with pytest.raises(CheckFailed, match="no part rotary"):
        check("rotary", write_own(SOFTMAX))


def test_clipping_without_the_small_number_is_right_too(write_own):
    node = of_the_book()["train"].node
    text = ast.get_source_segment(BOOK.read_text(encoding="utf-8"), node)
    assert " + 1e-6)" in text
    assert judge(write_own(text.replace(" + 1e-6)", ")")), "train")[0]


# ---- lending ------------------------------------------------------------------------------
