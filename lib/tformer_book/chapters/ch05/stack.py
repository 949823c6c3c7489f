"""A small stack of layers with random matrices, and its exact Jacobian."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from tformer import reference as ref
from tformer_book.claims import plain

__all__ = ["Layer", "forward", "in_loops", "jacobian", "late_attention", "random_layers", "sizes"]

Array = np.ndarray


@dataclass(frozen=True, eq=False)
class Layer:
    """x + attention(x w_q, x w_k, x w_v), and then, row by row, x + tanh(x w_in) w_out.

    All matrices have shape (d_model, d_model).
    """

    w_q: Array
    w_k: Array
    w_v: Array
    w_in: Array
    w_out: Array


def random_layers(rng: np.random.Generator, n_layers: int, d_model: int) -> list[Layer]:
    """Layers whose entries are independent and normal with variance 1/d_model."""
    drawn = rng.standard_normal((n_layers, 5, d_model, d_model)) / d_model**0.5
    return [Layer(*matrices) for matrices in drawn]


def late_attention(q: Array, k: Array, v: Array, mask: Array) -> Array:
    """The mistake: weights are multiplied by the mask after the softmax."""
    return ref.attention_weights(q, k) * mask @ v


def forward(
    x: Array, layers: Sequence[Layer], mask: Array, attend: Callable[..., Array] | None = None
) -> Array:
    """Send rows (..., T, d_model) through the layers; `attend` may stand in for attention."""
    attend = attend or ref.attention
    for layer in layers:
        x = x + attend(x @ layer.w_q, x @ layer.w_k, x @ layer.w_v, mask)
        x = x + np.tanh(x @ layer.w_in) @ layer.w_out
    return x


def in_loops(x: Array, layers: Sequence[Layer], mask: Array, bias: Array | None = None) -> Array:
    """Rows (T, d_model) through the layers, with attention by loops that the library has not."""
    for layer in layers:
        q, k, v = _project(x, layer)
        x = x + plain.attention(q, k, v, mask, bias)
        x = x + np.tanh(x @ layer.w_in) @ layer.w_out
    return x


def jacobian(
    x: Array, layers: Sequence[Layer], mask: Array | Sequence[Array], late: bool = False
) -> Array:
    """Return the derivatives of every output with respect to every input, without differences.

    Parameters
    ----------
    x : (T, d_model) array
    mask : (T, T) boolean array, or one for each layer
    late : whether the weights are multiplied by the mask after the softmax.

    Returns
    -------
    (T, d_model, T, d_model) array
        Entry (t, i, s, j) is the derivative of coordinate i of row t with respect to coordinate j
        of row s.
    """
    n, back = x.size, _late_vjp if late else ref.attention_vjp
    masks = [mask] * len(layers) if isinstance(mask, Array) else list(mask)
    seen: list[tuple[Array, Array]] = []
    for layer, one in zip(layers, masks, strict=True):
        middle = x + (late_attention if late else ref.attention)(*_project(x, layer), one)
        seen.append((x, middle))
        x = middle + np.tanh(middle @ layer.w_in) @ layer.w_out
    grad = np.eye(n).reshape(n, *x.shape)
    backwards = zip(layers[::-1], seen[::-1], masks[::-1], strict=True)
    for layer, (before, middle), one in backwards:
        slope = 1 - np.tanh(middle @ layer.w_in) ** 2
        grad = grad + (grad @ layer.w_out.T * slope) @ layer.w_in.T
        q, k, v = (np.broadcast_to(a, (n, *a.shape)) for a in _project(before, layer))
        dq, dk, dv = back(q, k, v, grad, one)[:3]
        grad = grad + dq @ layer.w_q.T + dk @ layer.w_k.T + dv @ layer.w_v.T
    return grad.reshape(x.shape * 2)


def sizes(derivatives: Array) -> Array:
    """Return the (T, T) norms of the blocks of a Jacobian: how much row s can move row t."""
    return np.asarray(np.linalg.norm(derivatives, axis=(1, 3)))


def _project(x: Array, layer: Layer) -> tuple[Array, Array, Array]:
    return x @ layer.w_q, x @ layer.w_k, x @ layer.w_v


def _late_vjp(q: Array, k: Array, v: Array, grad: Array, mask: Array) -> tuple[Array, Array, Array]:
    weights, scale = ref.attention_weights(q, k), q.shape[-1] ** -0.5
    dscores = scale * ref.softmax_vjp(weights, mask * (grad @ v.mT))
    return dscores @ k, dscores.mT @ q, (weights * mask).mT @ grad
