"""My transformer: plain functions of PyTorch, and one dictionary of parameters.

This is the book's own version of the file that a reader grows, chapter by chapter. What a reader
has not written yet is lent from here. The number before a part is that of its chapter.
"""

import math
from dataclasses import dataclass

import torch
from torch.nn.functional import linear  # x @ w.mT: a row of w makes an output


# 2. Scores become weights: positive numbers that add up to one.
def softmax(x, axis=-1):
    terms = torch.exp(x - x.amax(axis, keepdim=True))
    return terms / terms.sum(axis, keepdim=True)


# 3, 4. Each query takes a weighted mean of the values.
def attention_weights(q, k, mask=None):
    scores = q @ k.mT / math.sqrt(q.shape[-1])
    return softmax(scores if mask is None else scores.masked_fill(~mask, -math.inf))


def attention(q, k, v, mask=None):
    return attention_weights(q, k, mask) @ v


# 5. The last T of S positions ask; none of them attends to a later one.
def causal_mask(T, S):
    return torch.ones(T, S, dtype=torch.bool).tril(S - T)


# 6. Several heads; the heads of a group share keys and values.
def split_heads(x, n_heads):
    return x.unflatten(-1, (n_heads, -1)).transpose(-3, -2)


def merge_heads(x):
    return x.transpose(-3, -2).flatten(-2)


def grouped_attention(q, k, v, mask=None, attend=None):
    q = q.unflatten(-3, (k.shape[-3], -1))  # (…, group, head of the group, T, d_k)
    return (attend or attention)(q, k.unsqueeze(-3), v.unsqueeze(-3), mask).flatten(-4, -3)


# 7. A position turns each pair of neighbouring coordinates, every pair at its own speed.
def rope(x, positions, base=10000.0):
    d = x.shape[-1]
    angles = positions[:, None] * base ** (-torch.arange(0, d, 2, dtype=x.dtype) / d)
    a, b, cos, sin = x[..., 0::2], x[..., 1::2], angles.cos(), angles.sin()
    return torch.stack([a * cos - b * sin, a * sin + b * cos], -1).flatten(-2)


# 8. Each row in a standard size.
def rms_norm(x, gain, eps=1e-5):
    return gain * x / (x.square().mean(-1, keepdim=True) + eps).sqrt()


def layer_norm(x, gain, bias, eps=1e-5):
    return rms_norm(x - x.mean(-1, keepdim=True), gain, eps) + bias


# 9. Each position by itself: hidden units with gates, as in Llama; GELU, as in GPT-2.
def swiglu(x, w_gate, w_in, w_out):
    gate = x @ w_gate
    return (gate * torch.sigmoid(gate) * (x @ w_in)) @ w_out


def gelu(x):
    return x / 2 * (1 + torch.tanh(math.sqrt(2 / math.pi) * (x + 0.044715 * x**3)))


# 10. Sizes, and parameters under the names that files of Llama use.
@dataclass
class Config:
    n_vocab: int
    d_model: int
    n_layers: int
    n_heads: int
    n_groups: int
    d_ff: int
    base: float = 10000.0  # of RoPE; 0: no RoPE
    eps: float = 1e-5
    tied: bool = True  # the unembedding is the embedding
    causal: bool = True  # 11: False makes an encoder


def parameter_shapes(c):
    d, d_ff, d_kv = c.d_model, c.d_ff, c.d_model * c.n_groups // c.n_heads
    layer = {"input_layernorm": (d,), "post_attention_layernorm": (d,)}
    layer |= {"self_attn.q_proj": (d, d), "self_attn.k_proj": (d_kv, d)}
    layer |= {"self_attn.v_proj": (d_kv, d), "self_attn.o_proj": (d, d)}
    layer |= {"mlp.gate_proj": (d_ff, d), "mlp.up_proj": (d_ff, d), "mlp.down_proj": (d, d_ff)}
    shapes = {"model.embed_tokens.weight": (c.n_vocab, d)}
    for i in range(c.n_layers):
        shapes |= {f"model.layers.{i}.{name}.weight": shape for name, shape in layer.items()}
    shapes["model.norm.weight"] = (d,)
    return shapes if c.tied else shapes | {"lm_head.weight": (c.n_vocab, d)}


def initialise(c, seed=0):
    rng, p = torch.Generator().manual_seed(seed), {}
    for name, shape in parameter_shapes(c).items():
        adds = name.endswith(("o_proj.weight", "down_proj.weight"))  # to the residual stream
        std = (2 * c.n_layers if adds else 1) ** -0.5 * shape[-1] ** -0.5
        p[name] = torch.ones(shape) if len(shape) == 1 else std * torch.randn(shape, generator=rng)
    return {name: x.requires_grad_() for name, x in p.items()}


# 10. The block and the stack: each part reads a normed copy and adds its output.
def self_attention(q, k, v, c, cache=None, attend=None):
    q = split_heads(q, c.n_heads)
    k, v = split_heads(k, c.n_groups), split_heads(v, c.n_groups)
    start = cache[0].shape[-2] if cache else 0
    if c.base:
        positions = torch.arange(start, start + q.shape[-2])
        q, k = rope(q, positions, c.base), rope(k, positions, c.base)
    if cache:  # keys and values of the tokens before
        k, v = torch.cat([cache[0], k], -2), torch.cat([cache[1], v], -2)
    mask = causal_mask(q.shape[-2], k.shape[-2]) if c.causal else None
    return merge_heads(grouped_attention(q, k, v, mask, attend)), (k, v)


def block(x, w, c, cache=None, attend=None):
    h = rms_norm(x, w("input_layernorm"), c.eps)
    q, k, v = (linear(h, w(f"self_attn.{name}_proj")) for name in "qkv")
    y, cache = self_attention(q, k, v, c, cache, attend)
    x = x + linear(y, w("self_attn.o_proj"))
    h = rms_norm(x, w("post_attention_layernorm"), c.eps)
    gate, up, down = (w(f"mlp.{name}_proj").mT for name in ("gate", "up", "down"))
    return x + swiglu(h, gate, up, down), cache


def transformer(tokens, p, c, caches=None, attend=None):
    embedding, kept = p["model.embed_tokens.weight"], []
    x = embedding[tokens]
    for i in range(c.n_layers):

        def w(name): return p[f"model.layers.{i}.{name}.weight"]  # fmt: skip

        x, cache = block(x, w, c, caches and caches[i], attend)
        kept.append(cache)
    x = rms_norm(x, p["model.norm.weight"], c.eps)
    return linear(x, p.get("lm_head.weight", embedding)), kept


# 11. The same parts as GPT-2 has them: LayerNorm, biases, learned positions, no gates.
def gpt2(tokens, p, c, caches=None, attend=None):
    start, kept = caches[0][0].shape[-2] if caches else 0, []
    x = p["wte.weight"][tokens] + p["wpe.weight"][start : start + tokens.shape[-1]]
    for i in range(c.n_layers):

        def pair(name): return p[f"h.{i}.{name}.weight"], p[f"h.{i}.{name}.bias"]  # fmt: skip

        def affine(x, name): return x @ pair(name)[0] + pair(name)[1]  # fmt: skip

        q, k, v = affine(layer_norm(x, *pair("ln_1"), c.eps), "attn.c_attn").chunk(3, -1)
        y, cache = self_attention(q, k, v, c, caches and caches[i], attend)
        x = x + affine(y, "attn.c_proj")
        x = x + affine(gelu(affine(layer_norm(x, *pair("ln_2"), c.eps), "mlp.c_fc")), "mlp.c_proj")
        kept.append(cache)
    return linear(layer_norm(x, p["ln_f.weight"], p["ln_f.bias"], c.eps), p["wte.weight"]), kept


# 12. The derivative of a loss by one number, found by moving it: a test of backward.
def numerical_derivative(loss, x, index, step=1e-3):
    move = torch.zeros_like(x)
    move[index] = step
    return (loss(x + move) - loss(x - move)) / (2 * step)


# 13. Merges cut a word, the earliest learnt merge first; and the loss of a batch.
def apply_merges(word, ranks):
    parts = list(word)
    while len(parts) > 1:
        pairs = list(zip(parts, parts[1:]))
        first = min(pairs, key=lambda pair: ranks.get(pair, math.inf))
        if first not in ranks:
            break
        i = pairs.index(first)
        parts[i : i + 2] = ["".join(first)]
    return parts


def next_token_loss(logits, tokens):
    logits, targets = logits[:, :-1], tokens[:, 1:]
    logits, targets = logits[targets >= 0], targets[targets >= 0]  # -1 fills up a shorter text
    return (logits.logsumexp(-1) - logits[torch.arange(len(targets)), targets]).mean()


# 14. Training: every parameter moves a little, so that the right tokens become likelier.
def adamw(x, grad, mean, square, step, rate, betas=(0.9, 0.95), eps=1e-8, decay=0.1):
    mean = betas[0] * mean + (1 - betas[0]) * grad
    square = betas[1] * square + (1 - betas[1]) * grad**2
    typical = (square / (1 - betas[1] ** step)) ** 0.5 + eps
    return x - rate * mean / (1 - betas[0] ** step) / typical - rate * decay * x, mean, square


def learning_rate(step, steps, warmup, peak, last=0.1):
    if step < warmup:
        return peak * step / warmup
    cosine = (1 + math.cos(math.pi * (step - warmup) / max(steps - warmup, 1))) / 2
    return peak * (last + (1 - last) * cosine)


def train(p, c, batch, steps, peak=3e-3, warmup=100, model=None):
    mean = {name: torch.zeros_like(x) for name, x in p.items()}
    square = {name: torch.zeros_like(x) for name, x in p.items()}
    for step in range(1, steps + 1):
        tokens, rate = batch(step), learning_rate(step, steps, warmup, peak)
        logits, _ = (model or transformer)(tokens, p, c)
        loss = next_token_loss(logits, tokens)
        grads = torch.autograd.grad(loss, list(p.values()))
        length = math.sqrt(sum(g.square().sum() for g in grads))
        clip = min(1, 1 / (length + 1e-6))
        for (name, x), g in zip(p.items(), grads):
            decay = 0.1 if x.ndim > 1 else 0  # matrices alone
            with torch.no_grad():
                x[...], mean[name], square[name] = adamw(
                    x, clip * g, mean[name], square[name], step, rate, decay=decay
                )
        yield step, loss.item()


# 15. Generation: sample a token, keep keys and values, read on.
def sample(logits, temperature=1.0, top_p=1.0, rng=None):
    if temperature == 0:
        return int(logits.argmax())
    p, order = softmax(logits / temperature).sort(descending=True)
    if top_p < 1:
        p = p * (p.cumsum(-1) - p < top_p)
    return int(order[torch.multinomial(p, 1, generator=rng)])


@torch.inference_mode()
def generate(tokens, p, c, n, temperature=1.0, top_p=1.0, stop=None, model=None, rng=None):
    tokens, caches = torch.as_tensor(tokens), None
    for _ in range(n):
        logits, caches = (model or transformer)(tokens, p, c, caches)
        token = sample(logits[-1], temperature, top_p, rng)
        yield token
        if token == stop:
            return
        tokens = torch.tensor([token])


# 16. The same attention, some keys at a time: no table of all scores is ever kept.
def blockwise_attention(q, k, v, mask=None, size=256):
    top, total, y = torch.full((*q.shape[:-1], 1), -math.inf, dtype=q.dtype), 0, 0
    for s in range(0, k.shape[-2], size):
        scores = q @ k[..., s : s + size, :].mT / math.sqrt(q.shape[-1])
        if mask is not None:
            scores = scores.masked_fill(~mask[..., s : s + size], -math.inf)
        new = torch.maximum(top, scores.amax(-1, keepdim=True))
        safe = new.where(new > -math.inf, 0)  # a query that has met no key yet
        shrink, terms, top = torch.exp(top - safe), torch.exp(scores - safe), new
        total = shrink * total + terms.sum(-1, keepdim=True)
        y = shrink * y + terms @ v[..., s : s + size, :]
    return y / total


# 17. Where does each head attend, and what if it may not?
def attention_patterns(tokens, p, c, edit=lambda layer, pattern: pattern, model=None):
    patterns = []

    def attend(q, k, v, mask):
        pattern = edit(len(patterns), attention_weights(q, k, mask).flatten(-4, -3))
        patterns.append(pattern)
        return pattern.unflatten(-3, (k.shape[-4], -1)) @ v

    return (model or transformer)(torch.as_tensor(tokens), p, c, attend=attend)[0], patterns


# 20. What training costs, before it begins.
def n_parameters(c):
    return sum(math.prod(shape) for shape in parameter_shapes(c).values())


def training_flops(c, n_tokens, T):
    return n_tokens * (6 * n_parameters(c) + 12 * c.n_layers * c.d_model * T)
