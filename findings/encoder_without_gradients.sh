#!/usr/bin/env bash
# A layer of torch.nn.TransformerEncoder in evaluation, with gradients and without. Without them PyTorch 2.13.0 takes its "fast path", by the
# documentation of TransformerEncoderLayer only if the activation is "relu", "gelu" or the function of one of these names.
# With is_causal=True and no mask ("if specified, applies a causal mask", says the documentation) it raises an error with gradients.
# Without them it takes the word, applies no mask, and each place sees the places after it.
# With activation=nn.GELU(approximate="tanh") it computes the approximation with gradients and the exact function without them.
# Seen: is_causal=True: an error, and without gradients the numbers of no mask at all; GELU by tanh: the result without gradients
# differs by 8e-4 from that with them, and is that of nn.GELU() to 8e-7
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/env"
"$folder/env/bin/pip" install --quiet torch==2.13.0 numpy==2.4.6
"$folder/env/bin/python" - <<'EOF'
import torch
from torch import nn

x = torch.randn(2, 5, 32, generator=torch.Generator().manual_seed(0))


def encoder(activation):
    torch.manual_seed(0)
    layer = nn.TransformerEncoderLayer(32, 4, 64, activation=activation, batch_first=True)
    for weights in layer.parameters():
        nn.init.normal_(weights, std=0.5)
    return nn.TransformerEncoder(layer, 1, enable_nested_tensor=False).eval()


def both(model):
    with_gradients = model(x).detach()
    with torch.no_grad():
        return with_gradients, model(x)


model = encoder("relu")
try:
    model(x, is_causal=True)
except RuntimeError as error:
    print("with gradients:", str(error).split(".")[0])
else:
    raise AssertionError("is_causal=True without a mask is taken with gradients")
with torch.no_grad():
    causal, plain = model(x, is_causal=True), model(x)
    mask = nn.Transformer.generate_square_subsequent_mask(5)
    masked = model(x, mask=mask, is_causal=True)
print(f"without: from no mask {(causal - plain).abs().max():.0e}, from a causal mask {(causal - masked).abs().max():.1f}")
assert (causal == plain).all() and (causal - masked).abs().max() > 0.1

exact, exact_fast = both(encoder(nn.GELU()))
tanh, tanh_fast = both(encoder(nn.GELU(approximate="tanh")))
found = [float((a - b).abs().max()) for a, b in ((exact, exact_fast), (tanh, tanh_fast), (exact, tanh_fast))]
print("exact with and without, tanh with and without, exact with and tanh without:", [f"{each:.0e}" for each in found])
assert found[0] < 1e-5 and found[1] > 1e-4 and found[2] < 1e-5
EOF
