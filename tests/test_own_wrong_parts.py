"""Parts that a reader may well write wrongly, beside the slips of the checks: what each is told."""

import pytest

from every import try_each
from tformer_book.exercises import process
from tformer_book.own.checking import judge
from tformer_book.own.parts import BOOK, of_the_book

SOURCE = BOOK.read_text(encoding="utf-8")
MASK = "def causal_mask(T, S):\n    import numpy as np\n    return "
INITIALISE = """
def initialise(c, seed=0):
    rng, p = torch.Generator().manual_seed(seed), {}
    for name, shape in reversed(parameter_shapes(c).items()):
        if len(shape) == 1:
            p[name] = torch.ones(shape)
            continue
        p[name] = torch.randn(*shape, generator=rng) / math.sqrt(shape[1])
        if name.endswith(("o_proj.weight", "down_proj.weight")):
            p[name] /= math.sqrt(2 * c.n_layers)
    return {name: x.requires_grad_() for name, x in p.items()}
"""
WHOLE = {  # part, code, what is said
    "floats": ("causal_mask", f"{MASK}torch.ones(T, S).tril(S - T)", "a tensor of floats"),
    "integers": ("causal_mask", f"{MASK}torch.ones(T, S).tril(S - T).int()", "of whole numbers"),
    "NumPy": ("causal_mask", f"{MASK}np.tri(T, S, S - T, dtype=bool)", "ndarray"),
    "lists": (
        "causal_mask",
        f"{MASK}[[s <= S - T + t for s in range(S)] for t in range(T)]",
        "yours is a list: the next part asks for ~mask. Use dtype=torch.bool, or a comparison.",
    ),
    "rope in x": (
        "rope",
        "def rope(x, positions, base=10000.0):\n    d = x.shape[-1]\n"
        "    angles = positions[:, None] * base ** (-torch.arange(0, d, 2) / d)\n"
        "    a, b = x[..., 0::2].clone(), x[..., 1::2].clone()\n"
        "    x[..., 0::2] = a * angles.cos() - b * angles.sin()\n"
        "    x[..., 1::2] = a * angles.sin() + b * angles.cos()\n    return x",
        "rope overwrites the x it was given",
    ),
    "n/inputs": (
        "initialise",
        INITIALISE.replace("math.sqrt(shape[1])", "shape[1]"),
        "divided by the number of their inputs; its root is meant",
    ),
    "by outputs": (
        "initialise",
        INITIALISE.replace("shape[1]", "shape[0]"),
        "yours goes by its outputs",
    ),
    "rand": ("initialise", INITIALISE.replace("randn", "rand"), "torch.randn draws normal"),
    "gains": ("initialise", INITIALISE.replace("ones", "zeros"), "Gains begin at 1."),
    "too small": (
        "initialise",
        INITIALISE.replace("/ math", "/ 3 / math"),
        "Standard deviation 1/√(inputs), over √(2 n_layers)",
    ),
}
EDITED = {  # part, old and new text, what is said
    "no decorator": ("Config", "@dataclass\n", "", "put @dataclass above it"),
    "a default": ("Config", "causal: bool = True", "causal: bool = False", "`causal` is False by"),
    "order": (
        "Config",
        "    n_heads: int\n    n_groups: int\n",
        "    n_groups: int\n    n_heads: int\n",
        "`n_heads` and `n_groups` are exchanged",
    ),
    "a field": ("Config", "    tied: bool = True", "    tie: bool = True", "no field `tied`"),
    "no .weight": (
        "parameter_shapes",
        ".{name}.weight",
        ".{name}",
        "Each name ends with `.weight`; `model.layers.0.self_attn.q_proj.weight` is one.",
    ),
    "no tuple": (
        "parameter_shapes",
        '["model.norm.weight"] = (d,)',
        '["model.norm.weight"] = d',
        "a tuple",
    ),
    "caches": (
        "transformer",
        "kept.append(cache)",
        "kept.append(cache)\n        if caches:\n            caches[i] = cache",
        "put the new ones into a new list",
    ),
    "append": (
        "gpt2",
        "kept.append(cache)",
        "kept.append(cache)\n        if caches:\n            caches.append(cache)",
        "put the new ones into a new list",
    ),
    "an eps of one": ("gpt2", '*pair("ln_1"), c.eps', '*pair("ln_1")', "Every norm takes c.eps."),
    "the old cache": ("block", "y, cache = self", "y, _ = self", "and return the new one."),
    "an eps in block": (
        "block",
        'w("input_layernorm"), c.eps',
        'w("input_layernorm")',
        "Both norms take c.eps.",
    ),
}


def part(name):
    node = of_the_book()[name].node
    first = min([node.lineno, *(mark.lineno for mark in node.decorator_list)])
    return "\n".join(SOURCE.splitlines()[first - 1 : node.end_lineno])


def cases():
    for case, (name, text, words) in WHOLE.items():
        yield case, (name, text, words)
    for case, (name, old, new, words) in EDITED.items():
        assert part(name).count(old) == 1, case
        yield case, (name, part(name).replace(old, new), words)


@pytest.fixture
def judged(write_own, monkeypatch):
    monkeypatch.setattr(process, "CAN_FORK", False)

    return lambda name, text: judge(write_own(text), name)


def test_wrong_parts_are_told_why(judged):
    def told(name, text, words):
        correct, said = judged(name, text)
        assert not correct
        assert words in said

    try_each(told, cases())


@pytest.mark.parametrize("seed", range(3))
def test_parameters_drawn_in_another_order_are_right(judged, seed):
    assert judged(
        "initialise", INITIALISE.replace("manual_seed(seed", f"manual_seed({seed} + seed")
    )[0]
