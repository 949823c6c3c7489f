"""Checks of parts 10 and 11: configuration, parameters, the block, the stack, GPT-2's form."""

from __future__ import annotations

import math
from collections.abc import Iterator
from types import ModuleType
from typing import Any

import numpy as np
import torch

from tformer_book.exercises.answer import Wrong
from tformer_book.exercises.kinds import Several
from tformer_book.exercises.table import Case, case
from tformer_book.own.checking import checked
from tformer_book.own.samples import arrays, gpt2_parameters, parameters, small

FIELDS = ("n_vocab", "d_model", "n_layers", "n_heads", "n_groups", "d_ff")
DEFAULTS = ("base", "eps", "tied", "causal")


# ---- Config, parameters -------------------------------------------------------------------


def _sizes() -> Iterator[Case]:
    yield case(sizes=(5, 8, 2, 4, 2, 16), want=[5, 8, 2, 4, 2, 16, 10000, 1e-5, 1, 1])
    yield case(sizes=(7, 6, 1, 2, 1, 9))


@checked(
    "Config",
    praise="Six sizes in their order, and the four defaults.",
    cases=_sizes,
    otherwise=f"The fields are {', '.join(FIELDS)}, and with defaults {', '.join(DEFAULTS)}.",
)
def _config(my: ModuleType, sizes: Any) -> Any:
    found = my.Config(*sizes)
    for name in (*FIELDS, *DEFAULTS):
        if not hasattr(found, name):
            raise Wrong(f"Config has no field `{name}`; the lent parts read it.")
    return np.array([float(getattr(found, name)) for name in (*FIELDS, *DEFAULTS)])


def _configurations() -> Iterator[Case]:
    for sizes in ((5, 8, 1, 4, 2, 6), (7, 6, 3, 2, 2, 9)):
        for tied in (True, False):
            yield case(sizes=sizes, tied=tied)


@checked(
    "parameter_shapes",
    praise="All names of Llama's files, for groups, and with a table of its own at the end.",
    cases=_configurations,
    slips="""
        "self_attn.k_proj": (d_kv, d) → "self_attn.k_proj": (d, d)
            Keys are as wide as their groups: n_groups heads of them, not n_heads.
        (d_ff, d), "mlp.up_proj": (d_ff, d), "mlp.down_proj": (d, d_ff) → (d, d_ff), "mlp.up_proj": (d, d_ff), "mlp.down_proj": (d_ff, d)
            The feed-forward matrices lie on their side: a row makes an output, as in (d_ff, d).
        c.d_model * c.n_groups // c.n_heads → c.d_model // c.n_heads
            That is the width of one head; there are n_groups of them in keys and values.
    """,  # noqa: E501
    otherwise="The shapes are those of the files: (outputs, inputs), and (d_model,) for a gain.",
)
def _parameter_shapes(my: ModuleType, sizes: Any, tied: bool) -> Any:
    found = my.parameter_shapes(my.Config(*sizes, tied=tied))
    n_layers = sizes[2]
    layer = [f"self_attn.{name}_proj" for name in "qkvo"]
    layer += [f"mlp.{name}_proj" for name in ("gate", "up", "down")]
    layer += ["input_layernorm", "post_attention_layernorm"]
    wanted = [f"model.layers.{i}.{name}.weight" for i in range(n_layers) for name in layer]
    wanted += ["model.embed_tokens.weight", "model.norm.weight"]
    wanted += ["lm_head.weight"] * (not tied)
    if missing := [name for name in wanted if name not in found]:
        raise Wrong(
            f"With tied = {tied}, parameter_shapes leaves out {len(missing)} of {len(wanted)} "
            f"names: {', '.join(f'`{name}`' for name in missing)}."
        )
    for name in found:
        if name not in wanted:
            raise Wrong(f"parameter_shapes has `{name}`, which no part reads (tied is {tied}).")
    rows = [(*found[name], 0)[:2] for name in wanted]
    return np.array(rows, dtype=float)


def _initial() -> Iterator[Case]:
    why = "0.1 says that numbers which add to the residual stream start too large or too small."
    yield case(sizes=(50, 64, 8, 4, 2, 100), seed=0, why=why)
    yield case(sizes=(50, 64, 2, 4, 4, 256), seed=1, why=why)


@checked(
    "initialise",
    praise="Gains of 1, matrices by their inputs, and less for what adds to the residual stream.",
    cases=_initial,
    kind=Several(names=("sizes of the matrices, each times √(its inputs)", "gains")),
    slips="""
        2 * c.n_layers if adds else 1 → 1
            o_proj and down_proj add to the residual stream 2 n_layers times: divide them by √(2 n_layers).
        * shape[-1] ** -0.5 → * shape[0] ** -0.5
            The size goes by the inputs of a matrix, its second axis; yours goes by its outputs.
        torch.ones(shape) if → torch.zeros(shape) if
            A gain of 0 lets nothing through. Gains begin at 1.
        2 * c.n_layers if adds else 1 → c.n_layers if adds else 1
            Each layer adds to the residual stream twice, so it is √(2 n_layers).
        2 * c.n_layers if adds else 1) ** -0.5 * shape[-1] ** -0.5 → 2 * c.n_layers if adds else 1) ** -0.5
            The matrices are not divided by the root of the number of their inputs.
    """,  # noqa: E501
    otherwise="Standard deviation 1/√(inputs), over √(2 n_layers) where a part adds to the stream.",
)
def _initialise(my: ModuleType, sizes: Any, seed: int) -> Any:
    found = my.initialise(my.Config(*sizes), seed)
    shapes = my.parameter_shapes(my.Config(*sizes))
    for name, shape in shapes.items():
        if name not in found or tuple(found[name].shape) != shape:
            raise Wrong(f"initialise should return `{name}` with the shape {shape}.")
        if not found[name].requires_grad:
            raise Wrong(f"`{name}` does not ask for a gradient: end with .requires_grad_().")
    again = my.initialise(my.Config(*sizes), seed)
    if any((found[name] != again[name]).any() for name in shapes):
        raise Wrong("The same seed gives other numbers the second time.")
    other = my.initialise(my.Config(*sizes), seed + 1)
    if all((found[name] == other[name]).all() for name in shapes):
        raise Wrong("Another seed gives the same numbers: the argument seed has no effect.")
    matrices = [x for x in found.values() if x.ndim == 2]
    spread = torch.stack([x.std() * math.sqrt(x.shape[-1]) for x in matrices])
    gains = torch.stack([x.mean() for x in found.values() if x.ndim == 1])
    return spread.round(decimals=1), gains


# ---- self-attention, block, stack ---------------------------------------------------------

THREE = Several(names=("output", "keys of all tokens", "values of all tokens"))


def _projected() -> Iterator[Case]:
    q, k, v = arrays(1, (5, 16), (5, 8), (5, 8))
    yield case(q=q, k=k, v=v, base=0.0, causal=True, cached=0)
    yield case(q=q, k=k, v=v, base=100.0, causal=True, cached=0)
    yield case(q=q, k=k, v=v, base=100.0, causal=False, cached=0)
    yield case(q=q, k=k, v=v, base=100.0, causal=True, cached=2)
    yield case(q=q, k=k, v=v, base=0.0, causal=True, cached=4)
    q, k, v = arrays(2, (2, 3, 16), (2, 3, 8), (2, 3, 8))
    yield case(q=q, k=k, v=v, base=100.0, causal=True, cached=0)


@checked(
    "self_attention",
    praise="With RoPE and without, causal and not, from the start and from a cache.",
    cases=_projected,
    kind=THREE,
    slips="""
        torch.arange(start, start + q.shape[-2]) → torch.arange(q.shape[-2])
            With a cache the positions go on: the first new token stands behind those of the cache.
        torch.cat([cache[0], k], -2), torch.cat([cache[1], v], -2) → k, v
            The keys and values of the cache are not used.
        start = cache[0].shape[-2] if cache else 0 → start = 0 ;; if cache: → if False:
            The cache has no effect: its keys and values come first, and the positions go on.
        torch.cat([cache[0], k], -2), torch.cat([cache[1], v], -2) → torch.cat([k, cache[0]], -2), torch.cat([v, cache[1]], -2)
            The cache belongs in front: its tokens come earlier.
        if c.causal else None → if True else None
            c.causal has no effect: where it is False, every position sees all.
        causal_mask(q.shape[-2], k.shape[-2]) if c.causal else None → None
            Nothing is masked: where c.causal is True, no position may see a later one.
        q, k = rope(q, positions, c.base), rope(k, positions, c.base) → q = rope(q, positions, c.base)
            The keys are not turned by RoPE; queries and keys both are.
        rope(q, positions, c.base), rope(k, positions, c.base) → rope(q, positions), rope(k, positions)
            c.base has no effect on RoPE.
        if c.base: → if True:
            A base of 0 says that there is no RoPE.
    """,  # noqa: E501
    otherwise="Split into heads, turn, take the cache in front, mask, attend, merge.",
    hints=(
        "Six steps: split_heads, rope, the cache in front, causal_mask, grouped_attention, "
        "merge_heads. Which of them need to know that there is a cache?",
        "Queries have n_heads heads, keys and values n_groups. The first new token has the "
        "position S, if S keys are in the cache. Only new keys are turned; those of the cache are "
        "turned already.",
        "After the cache is put in front with torch.cat(…, -2), T queries ask S keys, and "
        "causal_mask(T, S) fits if c.causal. Return the merged heads and the pair of all keys and "
        "values.",
    ),
)
def _self_attention(
    my: ModuleType, q: Any, k: Any, v: Any, base: float, causal: bool, cached: int
) -> Any:
    c = small(my, d_model=16, base=base, causal=causal)
    cache = None
    if cached:
        _, cache = my.self_attention(*(x[..., :cached, :] for x in (q, k, v)), c)
    y, (k, v) = my.self_attention(*(x[..., cached:, :] for x in (q, k, v)), c, cache)
    return y, k, v


def _streams() -> Iterator[Case]:
    yield case(x=arrays(1, (1, 8))[0], eps=1e-5, seed=1)
    yield case(x=arrays(2, (5, 8))[0], eps=1e-5, seed=2)
    yield case(x=arrays(3, (2, 4, 8))[0], eps=0.1, seed=3)


@checked(
    "block",
    praise="Two parts, each behind a norm of its own, each added to the residual stream.",
    cases=_streams,
    slips="""
        x = x + linear(y, → x = linear(y,
            The output of attention replaces the residual stream; it is added to it.
        return x + swiglu → return swiglu
            The output of the feed-forward layer replaces the residual stream; it is added to it.
        linear(h, w(f"self_attn → linear(x, w(f"self_attn
            Queries, keys and values read the residual stream itself; they read the normed copy.
        h = rms_norm(x, w("post_attention_layernorm"), c.eps) → h = h
            The feed-forward layer reads what attention read; it reads a new normed copy.
        rms_norm(x, w("post_attention_layernorm"), c.eps) → rms_norm(x, w("input_layernorm"), c.eps)
            Both norms have the gain `input_layernorm`; the second has its own.
        ("gate", "up", "down") → ("up", "gate", "down")
            Gate and up are exchanged: swiglu takes gate, up, down.
        linear(y, w("self_attn.o_proj")) → y
            The output matrix o_proj is missing.
    """,
    otherwise="x + attention(norm(x)), and to that + swiglu(norm of it).",
    hints=(
        "Two sublayers of the same form: take a normed copy of x, compute with it, add the result "
        "to x.",
        "First sublayer: linear with q_proj, k_proj and v_proj, then self_attention, then linear "
        "with o_proj. Second: swiglu with gate_proj, up_proj and down_proj.",
        "linear takes matrices as (outputs, inputs), swiglu takes them as (inputs, outputs): hand "
        "over w(…).mT there. The second norm reads x after the first sum. Return x and the cache "
        "that self_attention returned.",
    ),
)
def _block(my: ModuleType, x: Any, eps: float, seed: int) -> Any:
    c = small(my, eps=eps)
    p = parameters(my, c, seed)
    found = my.block(x, lambda name: p[f"model.layers.0.{name}.weight"], c)
    if not isinstance(found, tuple) or len(found) != 2:
        raise Wrong("block returns two things: the residual stream, and the cache.")
    return found[0]


def _texts() -> Iterator[Case]:
    yield case(tokens=np.array([3]), tied=True, cached=0)
    yield case(tokens=np.array([3, 1, 4, 1, 5]), tied=True, cached=0)
    yield case(tokens=np.array([3, 1, 4, 1, 5]), tied=False, cached=0)
    yield case(tokens=np.array([[0, 10, 2], [9, 9, 9]]), tied=True, cached=0)
    yield case(tokens=np.array([3, 1, 4, 1, 5]), tied=True, cached=3)


STACK_SLIPS = """
        caches and caches[i] → None
            The caches have no effect.
"""


@checked(
    "transformer",
    praise="Tied and with a table of its own, in batches, from the start and from caches.",
    cases=_texts,
    slips=f"""
        p[f"model.layers.{{i}}.{{name}}.weight"] → p[f"model.layers.0.{{name}}.weight"]
            Every layer has the parameters of layer 0.
        x = rms_norm(x, p["model.norm.weight"], c.eps) → x = x
            The norm behind the last layer is missing.
        p.get("lm_head.weight", embedding) → embedding
            `lm_head.weight` has no effect. Where it is there, it is the unembedding.
        range(c.n_layers) → reversed(range(c.n_layers))
            The last layer comes first: begin with layer 0.
        linear(x, p.get("lm_head.weight", embedding)) → softmax($)
            Those are probabilities; logits are asked for, without a softmax.
        x, cache = block( → y, cache = block( ;; kept.append(cache) → kept.append(cache); x = x + y
            The vectors are added to what block returns, and it has added them already.
        {STACK_SLIPS.strip()}
    """,
    otherwise="Embed, all blocks, the last norm, and a row of logits for each position.",
    hints=(
        "Rows of the embedding are the first vectors; each block takes the vectors that the block "
        "before has returned.",
        "block asks for a function w: for layer i, w(name) is "
        "p[f'model.layers.{i}.{name}.weight']. It also gets the cache of its layer, or None if "
        "there are no caches.",
        "Keep the cache that each block returns in a list. After the last block come "
        "rms_norm with model.norm.weight and c.eps, and linear with lm_head.weight if p has it, "
        "else with the embedding.",
    ),
)
def _transformer(my: ModuleType, tokens: Any, tied: bool, cached: int) -> Any:
    c = small(my, tied=tied)
    return _read(my.transformer, tokens, parameters(my, c), c, cached)


@checked(
    "gpt2",
    praise="LayerNorm, biases, learned positions, GELU; from the start and from caches.",
    cases=_texts,
    slips=f"""
        p["wpe.weight"][start : start + tokens.shape[-1]] → p["wpe.weight"][: tokens.shape[-1]]
            With a cache the positions go on: the first new one is the number of keys in the cache.
        @ pair(name)[0] + pair(name)[1] → @ pair(name)[0]
            The biases of the matrices are missing.
        layer_norm(x, p["ln_f.weight"], p["ln_f.bias"], c.eps) → x
            The norm behind the last layer is missing.
        gelu(affine → torch.relu(affine
            The hidden units are GELU's, not ReLU's.
        layer_norm(x, *pair("ln_2"), c.eps) → layer_norm(x, *pair("ln_1"), c.eps)
            Both norms of a layer are `ln_1`; the second has gain and bias of its own.
        layer_norm(x, *pair("ln_1"), c.eps) → x
            Attention reads the residual stream itself; it reads the copy normed by `ln_1`.
        x = x + affine(y, "attn.c_proj") → x = affine(y, "attn.c_proj")
            The output of attention replaces the residual stream; it is added to it.
        {STACK_SLIPS.strip()}
    """,
    otherwise="Tokens and positions, all blocks, the last norm, the embedding as unembedding.",
    hints=(
        "It is transformer again, with other names: where do positions come in, and which layers "
        "have a bias now?",
        "The first vectors are wte[tokens] plus rows of wpe, from the number of keys in the cache "
        "on. A small function affine(x, name) for x @ weight + bias saves many lines.",
        "affine(…, 'attn.c_attn').chunk(3, -1) gives q, k and v for self_attention. After it comes "
        "'attn.c_proj', then ln_2, 'mlp.c_fc', gelu and 'mlp.c_proj'; both results are added to x. "
        "At the end ln_f and linear with wte.",
    ),
)
def _gpt2(my: ModuleType, tokens: Any, tied: bool, cached: int) -> Any:
    c = small(my, n_groups=4, d_ff=12, base=0.0)
    return _read(my.gpt2, tokens, gpt2_parameters(c), c, cached)


def _read(model: Any, tokens: Any, p: Any, c: Any, cached: int) -> Any:
    """The logits of a text; of a cached one, those of what comes after the cache."""
    caches = model(tokens[..., :cached], p, c)[1] if cached else None
    found = model(tokens[..., cached:], p, c, caches)
    if not isinstance(found, tuple) or len(found) != 2 or len(found[1]) != c.n_layers:
        raise Wrong("A model returns two things: the logits, and a list of one cache a layer.")
    return found[0]
