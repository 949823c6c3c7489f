"""Checks of parts 10 and 11: self-attention, the block, the stack, GPT-2's form."""

from __future__ import annotations

from collections.abc import Iterator
from types import ModuleType
from typing import Any

import numpy as np
import torch

from tformer_book.exercises.answer import Wrong
from tformer_book.exercises.answer import arrays as arrays_in
from tformer_book.exercises.kinds import Several
from tformer_book.exercises.table import Case, case
from tformer_book.own.checking import checked, to_arrays
from tformer_book.own.samples import arrays, gpt2_parameters, parameters, small

# ---- self-attention, block, stack ---------------------------------------------------------

THREE = Several(names=("output", "keys of all tokens", "values of all tokens"))
ATTEND = "attend takes the place of attention; here it doubles what attention gives."


def _doubled(my: ModuleType, double: bool) -> Any:
    """Return what the cases hand over as attend."""
    return (lambda q, k, v, mask: 2 * my.attention(q, k, v, mask)) if double else None


def _projected() -> Iterator[Case]:
    q, k, v = arrays(1, (5, 16), (5, 8), (5, 8))
    yield case(q=q, k=k, v=v, base=0.0, causal=True, cached=0, double=False)
    yield case(q=q, k=k, v=v, base=100.0, causal=True, cached=0, double=False)
    yield case(q=q, k=k, v=v, base=100.0, causal=False, cached=0, double=False)
    yield case(q=q, k=k, v=v, base=100.0, causal=True, cached=2, double=False)
    yield case(q=q, k=k, v=v, base=0.0, causal=True, cached=4, double=False)
    yield case(q=q, k=k, v=v, base=0.0, causal=True, cached=0, double=True, why=ATTEND)
    q, k, v = arrays(2, (2, 3, 16), (2, 3, 8), (2, 3, 8))
    yield case(q=q, k=k, v=v, base=100.0, causal=True, cached=0, double=False)
    yield case(q=q, k=k, v=v, base=100.0, causal=True, cached=0, double=True, why=ATTEND)


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
        mask, attend) → mask)
            attend has no effect: hand it on to grouped_attention.
        rope(k, positions, c.base) → k ;; mask = → positions = torch.arange(k.shape[-2]); k = rope(k, positions, c.base) if c.base else k; mask =
            The keys of the cache are turned once more; they are turned already. Turn the new ones alone.
        rope(k, positions, c.base) → k ;; mask = → kept = k, v; positions = torch.arange(k.shape[-2]); k = rope(k, positions, c.base) if c.base else k; mask = ;; attend)), (k, v) → attend)), kept
            The keys are kept as they were before RoPE; keep the turned ones, and turn the new ones alone.
        q = split_heads(q, c.n_heads) → start = cache[0].shape[-2] if cache else 0; positions = torch.arange(start, start + q.shape[-2]); q, k = (rope(x, positions, c.base) if c.base else x for x in (q, k)); q = split_heads(q, c.n_heads) ;; if c.base: → if False:
            RoPE comes before the split into heads; each head is turned by itself, after it.
        split_heads(k, c.n_groups), split_heads(v, c.n_groups) → split_heads(k, c.n_heads), split_heads(v, c.n_heads)
            Keys and values are split into n_heads; they have n_groups heads.
    """,  # noqa: E501
    otherwise="Split into heads, turn, take the cache in front, mask, attend, merge.",
    hints=(
        "Six steps: split_heads, rope, the cache in front, causal_mask, grouped_attention, "
        "merge_heads. Which of them need to know that there is a cache?",
        "Queries have n_heads heads, keys and values n_groups. The first new token has the "
        "position S, if S keys are in the cache. Only new keys are turned; those of the cache are "
        "turned already.",
        "After the cache is put in front with torch.cat(…, -2), T queries ask S keys, and "
        "causal_mask(T, S) fits if c.causal. Hand attend on to grouped_attention. "
        "Return the merged heads and the pair of all keys and values.",
    ),
)
def _self_attention(
    my: ModuleType, q: Any, k: Any, v: Any, base: float, causal: bool, cached: int, double: bool
) -> Any:
    c = small(my, d_model=16, base=base, causal=causal)
    cache = None
    if cached:
        _, cache = my.self_attention(*(x[..., :cached, :] for x in (q, k, v)), c)
    y, (k, v) = my.self_attention(
        *(x[..., cached:, :] for x in (q, k, v)), c, cache, _doubled(my, double)
    )
    return y, k, v


def _streams() -> Iterator[Case]:
    yield case(x=arrays(1, (1, 8))[0], eps=1e-5, seed=1, cached=0, double=False)
    yield case(x=arrays(2, (5, 8))[0], eps=1e-5, seed=2, cached=0, double=False)
    for seed in (3, 4):
        x = arrays(seed, (2, 4, 8))[0]
        why = "Both norms take c.eps."
        yield case(x=x, eps=0.1, seed=seed, cached=0, double=False, why=why)
        yield case(x=x, eps=1e-5, seed=seed, cached=0, double=True, why=ATTEND)
        why = "A first call has read some of the rows, and its cache is handed over."
        yield case(x=x, eps=1e-5, seed=seed, cached=seed - 1, double=False, why=why)


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
        c, cache, attend) → c, cache)
            attend has no effect: hand it on to self_attention.
        c, cache, attend) → c, None, attend)
            The cache has no effect: hand it on to self_attention, and return the new one.
        h = rms_norm(x, w("input_layernorm"), c.eps) → h = x = $
            The first norm's output replaces x, and what was in x is lost. Call the normed copy h.
        h = rms_norm(x, w("post_attention_layernorm"), c.eps) → h = x = $
            The second norm's output replaces x, and what was in x is lost. Call the normed copy h.
        h = rms_norm(x, w("input_layernorm"), c.eps) → h = x = $ ;; h = rms_norm(x, w("post_attention_layernorm"), c.eps) → h = x = $
            The output of both norms replaces x, and what was in x is lost. Call the normed copy h.
        w("input_layernorm"), c.eps) → w("input_layernorm")) ;; w("post_attention_layernorm"), c.eps) → w("post_attention_layernorm"))
            c.eps has no effect: hand it to both norms.
    """,  # noqa: E501
    otherwise="x + attention(norm(x)), and to that + swiglu(norm of it).",
    hints=(
        "Two sublayers of the same form: take a normed copy of x, compute with it, add the result "
        "to x.",
        "First sublayer: linear with q_proj, k_proj and v_proj, then self_attention, then linear "
        "with o_proj. Second: swiglu with gate_proj, up_proj and down_proj.",
        "linear takes matrices as (outputs, inputs), swiglu takes them as (inputs, outputs): hand "
        "over w(…).mT there. Hand cache and attend on to self_attention. The second norm reads x "
        "after the first sum. Return x and the cache that self_attention returned.",
    ),
)
def _block(my: ModuleType, x: Any, eps: float, seed: int, cached: int, double: bool) -> Any:
    c = small(my, eps=eps)
    p, cache = parameters(my, c, seed), None

    def w(name: str) -> torch.Tensor:
        return p[f"model.layers.0.{name}.weight"]

    for rows, attend in ((x[..., :cached, :], None), (x[..., cached:, :], _doubled(my, double))):
        if rows.shape[-2]:
            found = my.block(rows, w, c, cache, attend)
            if not isinstance(found, tuple) or len(found) != 2:
                raise Wrong("block returns two things: the residual stream, and the cache.")
            y, cache = found
    return y


def _texts() -> Iterator[Case]:
    text, texts, eps = np.array([3, 1, 4, 1, 5]), np.array([[0, 10, 2], [9, 9, 9]]), 1e-5
    for tokens, tied, cached in (
        (text[:1], True, 0),
        (text, True, 0),
        (text, False, 0),
        (texts, True, 0),
        (text, True, 3),
    ):
        yield case(tokens=tokens, tied=tied, cached=cached, eps=eps, double=False)
    for tokens in (text, texts):
        why = "Every norm takes c.eps."
        yield case(tokens=tokens, tied=True, cached=0, eps=0.5, double=False, why=why)
        yield case(tokens=tokens, tied=True, cached=0, eps=eps, double=True, why=ATTEND)


CHANGED = "The caller still needs the caches that it hands over: put the new ones into a new list."
STACK_SLIPS = f"""
        kept.append(cache) → $; caches and caches.__setitem__(i, cache)
            {CHANGED}
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
        caches[i], attend) → caches[i])
            attend has no effect: hand it on to block.
        p["model.norm.weight"], c.eps) → p["model.norm.weight"])
            c.eps has no effect on the last norm.
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
        "there are no caches, and attend.",
        "Keep the cache that each block returns in a list. After the last block come "
        "rms_norm with model.norm.weight and c.eps, and linear with lm_head.weight if p has it, "
        "else with the embedding.",
    ),
)
def _transformer(
    my: ModuleType, tokens: Any, tied: bool, cached: int, eps: float, double: bool
) -> Any:
    c = small(my, tied=tied, eps=eps)
    return _read(my.transformer, tokens, parameters(my, c), c, cached, _doubled(my, double))


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
        gelu(affine → torch.nn.functional.gelu(affine
            That is the exact GELU, with the normal distribution; GPT-2 takes the tanh form, your gelu.
        layer_norm(x, *pair("ln_2"), c.eps) → layer_norm(x, *pair("ln_1"), c.eps)
            Both norms of a layer are `ln_1`; the second has gain and bias of its own.
        layer_norm(x, *pair("ln_1"), c.eps) → x
            Attention reads the residual stream itself; it reads the copy normed by `ln_1`.
        x = x + affine(y, "attn.c_proj") → x = affine(y, "attn.c_proj")
            The output of attention replaces the residual stream; it is added to it.
        caches[i], attend) → caches[i])
            attend has no effect: hand it on to self_attention.
        *pair("ln_1"), c.eps) → *pair("ln_1")) ;; *pair("ln_2"), c.eps) → *pair("ln_2")) ;; p["ln_f.bias"], c.eps) → p["ln_f.bias"])
            c.eps has no effect: hand it to every norm.
        x @ pair(name)[0] + → linear(x, pair(name)[0]) +
            GPT-2's matrices are (inputs, outputs), so x @ w; linear(x, w) wants (outputs, inputs).
        {STACK_SLIPS.strip()}
    """,  # noqa: E501
    otherwise="Tokens and positions, all blocks with a bias at each matrix, the last norm, the "
    "embedding as unembedding.",
    hints=(
        "It is transformer again, with other names: where do positions come in, and which layers "
        "have a bias now?",
        "The first vectors are wte[tokens] plus rows of wpe, from the number of keys in the cache "
        "on. A small function affine(x, name) for x @ weight + bias saves many lines.",
        "affine(…, 'attn.c_attn').chunk(3, -1) gives q, k and v for self_attention, which gets "
        "attend too. After it comes 'attn.c_proj', then ln_2, 'mlp.c_fc', gelu and 'mlp.c_proj'; "
        "both results are added to x. At the end ln_f and linear with wte.",
    ),
)
def _gpt2(my: ModuleType, tokens: Any, tied: bool, cached: int, eps: float, double: bool) -> Any:
    c = small(my, n_groups=4, d_ff=12, base=0.0, eps=eps)
    return _read(my.gpt2, tokens, gpt2_parameters(c), c, cached, _doubled(my, double))


def _read(model: Any, tokens: Any, p: Any, c: Any, cached: int, attend: Any) -> Any:
    """The logits of a text; of a cached one, those of what comes after the cache."""
    caches = model(tokens[..., :cached], p, c)[1] if cached else None
    before = [x.copy() for x in arrays_in(to_arrays(caches))]
    found = model(tokens[..., cached:], p, c, caches, attend=attend)
    now = list(arrays_in(to_arrays(caches)))
    if len(now) != len(before) or not all(map(np.array_equal, now, before)):
        raise Wrong(CHANGED)
    if not isinstance(found, tuple) or len(found) != 2 or len(found[1]) != c.n_layers:
        raise Wrong("A model returns two things: the logits, and a list of one cache a layer.")
    return found[0]
