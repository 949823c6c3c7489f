"""A reader's file in another style than the book's: torch's own functions, einsum, an optimiser.

The tests read it as text. What is not here is lent.
"""

import math
from functools import partial

import torch
from torch.nn import functional
from torch.nn.utils import clip_grad_norm_

from tformer_book.own import lend

lend(globals())


def softmax(x, axis=-1):
    return functional.softmax(x, dim=axis)


def attention_weights(q, k, mask=None):
    scores = torch.einsum("...td,...sd->...ts", q, k) * q.shape[-1] ** -0.5
    if mask is not None:
        scores = torch.where(mask, scores, float("-inf"))
    return softmax(scores)


def attention(q, k, v, mask=None):
    return torch.einsum("...ts,...se->...te", attention_weights(q, k, mask=mask), v)


def causal_mask(T, S):
    return torch.arange(S) <= torch.arange(S - T, S)[:, None]


def split_heads(x, n_heads):
    return torch.stack(x.chunk(n_heads, -1), -3)


def merge_heads(x):
    return torch.cat(x.unbind(-3), -1)


def grouped_attention(q, k, v, mask=None, attend=None):
    per_group = q.unflatten(-3, (k.shape[-3], -1)).unbind(-3)
    k, v = k.unsqueeze(-3), v.unsqueeze(-3)
    rows = [(attend or attention)(one.unsqueeze(-3), k, v, mask) for one in per_group]
    return torch.cat(rows, -3).flatten(-4, -3)


def rope(x, positions, base=10000.0):
    d = x.shape[-1]
    angles = torch.outer(positions.to(x.dtype), base ** (-torch.arange(0, d, 2).to(x.dtype) / d))
    pairs = torch.view_as_complex(x.unflatten(-1, (-1, 2)).contiguous())
    return torch.view_as_real(pairs * torch.polar(torch.ones_like(angles), angles)).flatten(-2)


def rms_norm(x, gain, eps=1e-5):
    return functional.rms_norm(x, gain.shape, gain, eps)


def layer_norm(x, gain, bias, eps=1e-5):
    return functional.layer_norm(x, gain.shape, gain, bias, eps)


def swiglu(x, w_gate, w_in, w_out):
    return (functional.silu(x @ w_gate) * (x @ w_in)) @ w_out


class Config:
    def __init__(self, n_vocab, d_model, n_layers, n_heads, n_groups, d_ff, **more):
        sizes = {"n_vocab": n_vocab, "d_model": d_model, "n_layers": n_layers}
        sizes |= {"n_heads": n_heads, "n_groups": n_groups, "d_ff": d_ff}
        vars(self).update({"base": 10000.0, "eps": 1e-5, "tied": True, "causal": True}, **sizes)
        vars(self).update(more)


def self_attention(q, k, v, c, cache=None, attend=None):
    q = split_heads(q, c.n_heads)
    k, v = split_heads(k, c.n_groups), split_heads(v, c.n_groups)
    places = torch.arange(q.shape[-2]) + (0 if cache is None else cache[0].shape[-2])
    if c.base != 0:
        q, k = (rope(x, places, base=c.base) for x in (q, k))
    if cache is not None:
        k, v = (torch.cat(pair, dim=-2) for pair in zip(cache, (k, v), strict=True))
    mask = causal_mask(len(places), k.shape[-2]) if c.causal else None
    return merge_heads(grouped_attention(q, k, v, mask=mask, attend=attend)), (k, v)


def block(x, w, c, cache=None, attend=None):
    normed = rms_norm(x, w("input_layernorm"), eps=c.eps)
    q, k, v = (normed @ w(f"self_attn.{name}_proj").T for name in ("q", "k", "v"))
    y, kept = self_attention(q, k, v, c, cache=cache, attend=attend)
    x = x + y @ w("self_attn.o_proj").T
    normed = rms_norm(x, w("post_attention_layernorm"), eps=c.eps)
    gate, up, down = (w(f"mlp.{name}_proj").T for name in ("gate", "up", "down"))
    return x + swiglu(normed, gate, up, down), kept


def of_layer(p, i, name):
    return p[f"model.layers.{i}.{name}.weight"]


def transformer(tokens, p, c, caches=None, attend=None):
    x, kept = functional.embedding(tokens, p["model.embed_tokens.weight"]), []
    for i, cache in enumerate(caches or [None] * c.n_layers):
        x, new = block(x, partial(of_layer, p, i), c, cache=cache, attend=attend)
        kept += [new]
    head = "lm_head.weight" if "lm_head.weight" in p else "model.embed_tokens.weight"
    return rms_norm(x, p["model.norm.weight"], eps=c.eps) @ p[head].T, kept


def gpt2(tokens, p, c, caches=None, attend=None):
    def norm(x, name):
        return layer_norm(x, p[f"{name}.weight"], p[f"{name}.bias"], eps=c.eps)

    def affine(x, name):
        return functional.linear(x, p[f"{name}.weight"].T, p[f"{name}.bias"])

    caches, kept = caches or [None] * c.n_layers, []
    seen = 0 if caches[0] is None else caches[0][0].shape[-2]
    places = torch.arange(seen, seen + tokens.shape[-1])
    x = functional.embedding(tokens, p["wte.weight"]) + functional.embedding(
        places, p["wpe.weight"]
    )
    for i, cache in enumerate(caches):
        q, k, v = affine(norm(x, f"h.{i}.ln_1"), f"h.{i}.attn.c_attn").split(c.d_model, dim=-1)
        y, new = self_attention(q, k, v, c, cache=cache, attend=attend)
        kept += [new]
        x = x + affine(y, f"h.{i}.attn.c_proj")
        hidden = functional.gelu(
            affine(norm(x, f"h.{i}.ln_2"), f"h.{i}.mlp.c_fc"), approximate="tanh"
        )
        x = x + affine(hidden, f"h.{i}.mlp.c_proj")
    return norm(x, "ln_f") @ p["wte.weight"].T, kept


def numerical_derivative(loss, x, index, step=1e-3):
    more, less = x.clone(), x.clone()
    more[index] += step
    less[index] -= step
    return (loss(more) - loss(less)) / (2 * step)


def next_token_loss(logits, tokens):
    return functional.cross_entropy(
        logits[:, :-1].flatten(0, 1), tokens[:, 1:].flatten(), ignore_index=-1
    )


def adamw(x, grad, mean, square, step, rate, betas=(0.9, 0.95), eps=1e-8, decay=0.1):
    mean, square = mean.lerp(grad, 1 - betas[0]), square.lerp(grad.square(), 1 - betas[1])
    typical = torch.sqrt(square / (1 - betas[1] ** step)).add(eps)
    return x * (1 - rate * decay) - rate * mean / (1 - betas[0] ** step) / typical, mean, square


def learning_rate(step, steps, warmup, peak, last=0.1):
    if step < warmup:
        return step / warmup * peak
    angle = 0 if steps == warmup else math.pi * (step - warmup) / (steps - warmup)
    return peak * (last + (1 - last) * math.cos(angle / 2) ** 2)


def train(p, c, batch, steps, peak=3e-3, warmup=100, model=None):
    groups = [
        {"params": [x for x in p.values() if x.ndim > 1], "weight_decay": 0.1},
        {"params": [x for x in p.values() if x.ndim == 1], "weight_decay": 0.0},
    ]
    optimizer = torch.optim.AdamW(groups, betas=(0.9, 0.95))
    for step in range(1, steps + 1):
        tokens = batch(step)
        loss = next_token_loss((model or transformer)(tokens, p, c)[0], tokens)
        optimizer.zero_grad()
        loss.backward()
        clip_grad_norm_(list(p.values()), 1.0)
        for group in optimizer.param_groups:
            group["lr"] = learning_rate(step, steps, warmup, peak)
        optimizer.step()
        yield step, float(loss)


def generate(tokens, p, c, n, temperature=1.0, top_p=1.0, stop=None, model=None, rng=None):
    caches, new, made = None, torch.as_tensor(tokens), 0
    while made < n:
        with torch.no_grad():
            logits, caches = (model or transformer)(new, p, c, caches=caches)
        token = sample(logits[-1], temperature=temperature, top_p=top_p, rng=rng)  # noqa: F821
        yield token
        made = n if token == stop else made + 1
        new = torch.as_tensor([token])


def attention_patterns(tokens, p, c, edit=lambda layer, pattern: pattern, model=None):
    patterns = []

    def attend(q, k, v, mask):
        shape = q.shape[:-1]
        heads = attention_weights(q, k, mask).reshape(*shape[:-3], -1, shape[-1], k.shape[-2])
        patterns.append(edit(len(patterns), heads))
        return torch.einsum("...ts,...se->...te", patterns[-1].reshape(*shape, -1), v)

    logits, _ = (model or transformer)(tokens, p, c, attend=attend)
    return logits, patterns
