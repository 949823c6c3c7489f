"""The gated delta rule and the short convolution, whose states have one size (chapter 22)."""

import numpy as np

from tformer.reference.attention import sum_to
from tformer.reference.equation import equation, recurrence

__all__ = [
    "chunked_gated_delta_rule",
    "gated_delta_rule",
    "gated_delta_rule_vjp",
    "short_convolution",
    "short_convolution_vjp",
]


@recurrence
def gated_delta_rule(
    q: np.ndarray,
    k: np.ndarray,
    v: np.ndarray,
    log_decay: np.ndarray,
    beta: np.ndarray,
    state: np.ndarray | None = None,
) -> tuple[np.ndarray, np.ndarray]:
    """Read a state that each token first lets decay and then corrects at its key.

    Parameters
    ----------
    q : (..., T, d_k) array
        Queries; no scale is applied.
    k : (..., T, d_k) array
        Keys, of norm 1 in the models that use this rule.
    v : (..., T, d_v) array
        Values, one for each key.
    log_decay : (..., T, d_k or 1) array
        Logarithm of what the state is multiplied by: at most 0, so that it decays; for each
        coordinate of the keys, or for all.
    beta : (..., T) array
        Step size: 1 replaces what is stored at a key of norm 1, 0 changes nothing.
    state : (..., d_k, d_v) real array, optional
        The state after earlier tokens; 0 if omitted.

    Returns
    -------
    y : (..., T, d_v) array
        The state after each token, read by its query.
    state_after : (..., d_k, d_v) real array
        The state after the last token: the next call's state.

    Notes
    -----
    Equation eq-gated-delta-rule; [yang2025], equation 10, and [schlag2021] without decay. The state
    is in float32 at least.
    """
    states = _states(q, k, v, log_decay, beta, state)
    q, states_after = np.broadcast_to(q, (*states.shape[:-3], *q.shape[-2:])), states[..., 1:, :, :]
    y = (q[..., np.newaxis, :] @ states_after)[..., 0, :]
    return y, states[..., -1, :, :]


@equation
def gated_delta_rule_vjp(
    q: np.ndarray,
    k: np.ndarray,
    v: np.ndarray,
    log_decay: np.ndarray,
    beta: np.ndarray,
    grad: np.ndarray,
    state: np.ndarray | None = None,
) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray, np.ndarray, np.ndarray | None]:
    """Compute the vector-Jacobian product of `gated_delta_rule`, of its first result.

    Parameters
    ----------
    q : (..., T, d_k) array
        Queries; no scale is applied.
    k : (..., T, d_k) array
        Keys.
    v : (..., T, d_v) array
        Values, one for each key.
    log_decay : (..., T, d_k or 1) array
        Logarithm of what the state is multiplied by.
    beta : (..., T) array
        Step size.
    grad : (..., T, d_v) array
        Gradient of a loss with respect to y.
    state : (..., d_k, d_v) array, optional
        The state after earlier tokens; 0 if omitted.

    Returns
    -------
    dq : (..., T, d_k) array
        Each gradient has the shape of its argument: broadcast axes are summed over.
    dk : (..., T, d_k) array
    dv : (..., T, d_v) array
    dlog_decay : (..., T, d_k or 1) array
    dbeta : (..., T) array
    dstate : (..., d_k, d_v) array, optional
        None without a state.

    Notes
    -----
    Equation eq-gated-delta-rule-vjp; the derivatives of [yang2025], equation 10. All T states are
    stored.
    """
    states = _states(q, k, v, log_decay, beta, state)
    leading = np.broadcast_shapes(states.shape[:-3], grad.shape[:-2])
    states = np.broadcast_to(states, (*leading, *states.shape[-3:]))
    parts = (q, k, v, log_decay, grad, beta[..., np.newaxis])
    rows = [np.broadcast_to(x, (*leading, *x.shape[-2:])) for x in parts]
    dq, dk, dv, dlog, _, dbeta = grads = [np.zeros_like(x) for x in rows]
    dstate = np.zeros_like(states[..., 0, :, :])
    for t in reversed(range(q.shape[-2])):
        around = states[..., t, :, :], states[..., t + 1, :, :]
        found, dstate = _step_vjp([x[..., t, :] for x in rows], *around, dstate)
        for grad_of, one in zip(grads, found, strict=True):
            grad_of[..., t, :] = one
    given = None if state is None else sum_to(state, dstate)
    dq, dk, dv, dlog = (sum_to(*pair) for pair in ((q, dq), (k, dk), (v, dv), (log_decay, dlog)))
    return dq, dk, dv, dlog, sum_to(beta, dbeta[..., 0]), given


def _step_vjp(
    rows: list[np.ndarray], before: np.ndarray, after: np.ndarray, dstate: np.ndarray
) -> tuple[list[np.ndarray], np.ndarray]:
    """Return the gradients of one token's rows, and of the state before it."""
    q, k, v, log_decay, grad, beta = rows
    decay = np.exp(log_decay)[..., np.newaxis]
    decayed = decay * before
    wrong = v - _read(k, decayed)
    dstate = dstate + _outer(q, grad)
    corrected = _read(k, dstate)
    dv = beta * corrected
    dk = beta * _read(wrong, dstate.mT) - _read(dv, decayed.mT)
    dbeta = (corrected * wrong).sum(axis=-1, keepdims=True)
    dstate = dstate - _outer(k, dv)
    dlog_decay = sum_to(log_decay, (dstate * decayed).sum(axis=-1))
    found = [_read(grad, after.mT), dk, dv, dlog_decay, np.zeros_like(grad), dbeta]
    return found, decay * dstate


@recurrence
def chunked_gated_delta_rule(
    q: np.ndarray,
    k: np.ndarray,
    v: np.ndarray,
    log_decay: np.ndarray,
    beta: np.ndarray,
    state: np.ndarray | None = None,
    chunk: int = 64,
) -> tuple[np.ndarray, np.ndarray]:
    """Compute `gated_delta_rule` chunk by chunk: one triangular system for the tokens of each.

    Parameters
    ----------
    q : (..., T, d_k) array
        Queries; no scale is applied.
    k : (..., T, d_k) array
        Keys.
    v : (..., T, d_v) array
        Values, one for each key.
    log_decay : (..., T, d_k or 1) array
        Logarithm of what the state is multiplied by.
    beta : (..., T) array
        Step size.
    state : (..., d_k, d_v) real array, optional
        The state after earlier tokens; 0 if omitted.
    chunk : int, at least 1
        How many tokens are computed at once.

    Returns
    -------
    y : (..., T, d_v) array
        What `gated_delta_rule` returns.
    state_after : (..., d_k, d_v) real array
        The state after the last token.

    Notes
    -----
    Equation eq-chunked-gated-delta-rule; [yang2025], section 3.3, with differences of logarithms in
    place of quotients of decays, which would overflow.
    """
    leading = _leading(q, k, v, log_decay, beta, state)
    q, k, v, log_decay = (
        np.broadcast_to(x, (*leading, *x.shape[-2:])) for x in (q, k, v, log_decay)
    )
    beta = np.broadcast_to(beta, (*leading, beta.shape[-1]))[..., np.newaxis]
    table = (*leading, q.shape[-1], v.shape[-1])
    state = np.broadcast_to(np.zeros((), q.dtype) if state is None else state, table)
    rows = [np.zeros((*leading, 0, v.shape[-1]), v.dtype)]
    for start in range(0, q.shape[-2], chunk):
        part = slice(start, start + chunk)
        q_c, k_c, v_c, beta_c = (x[..., part, :] for x in (q, k, v, beta))
        total = np.cumsum(log_decay[..., part, :], axis=-2)
        past = np.exp(total)
        corrected = v_c - (k_c * past) @ state
        system = np.eye(k_c.shape[-2], dtype=k.dtype) + beta_c * _decayed(k_c, k_c, total, -1)
        changes = np.linalg.solve(system, beta_c * corrected)
        rows.append((q_c * past) @ state + _decayed(q_c, k_c, total, 0) @ changes)
        left = np.exp(total[..., -1:, :] - total)
        state = past[..., -1, :, np.newaxis] * state + (k_c * left).mT @ changes
    return np.concatenate(rows, axis=-2), state


@equation
def short_convolution(
    x: np.ndarray, kernel: np.ndarray, earlier: np.ndarray | None = None
) -> tuple[np.ndarray, np.ndarray]:
    """Compute a causal convolution of each channel by itself: its last n_taps values, weighted.

    Parameters
    ----------
    x : (..., T, d_x) array
    kernel : (..., n_taps, d_x) array
        n_taps taps for each channel; the last is that of the token itself.
    earlier : (..., n_taps, d_x) array, optional
        The last n_taps rows before x, as the call before returned them; zeros if omitted.

    Returns
    -------
    y : (..., T, d_x) array
    earlier_after : (..., n_taps, d_x) array
        The last n_taps rows of earlier and x.

    Notes
    -----
    Equation eq-short-convolution; [yang2025], section 3.4, and [gu2024], section 3.4.
    """
    padded, n_taps = _padded(x, kernel, earlier), kernel.shape[-2]
    n_rows = x.shape[-2]
    leading = np.broadcast_shapes(padded.shape[:-2], kernel.shape[:-2])
    y = np.zeros((*leading, *x.shape[-2:]), x.dtype)
    for i in range(n_taps):
        y = y + kernel[..., i : i + 1, :] * padded[..., i + 1 : i + 1 + n_rows, :]
    return y, padded[..., n_rows:, :]


@equation
def short_convolution_vjp(
    x: np.ndarray, kernel: np.ndarray, grad: np.ndarray, earlier: np.ndarray | None = None
) -> tuple[np.ndarray, np.ndarray, np.ndarray | None]:
    """Compute the vector-Jacobian product of `short_convolution`, of its first result.

    Parameters
    ----------
    x : (..., T, d_x) array
    kernel : (..., n_taps, d_x) array
        n_taps taps for each channel; the last is that of the token itself.
    grad : (..., T, d_x) array
        Gradient of a loss with respect to y.
    earlier : (..., n_taps, d_x) array, optional
        The last n_taps rows before x; zeros if omitted.

    Returns
    -------
    dx : (..., T, d_x) array
        Each gradient has the shape of its argument: broadcast axes are summed over.
    dkernel : (..., n_taps, d_x) array
    dearlier : (..., n_taps, d_x) array, optional
        None without earlier rows.

    Notes
    -----
    Equation eq-short-convolution-vjp; the derivatives of [yang2025], section 3.4.
    """
    padded, n_taps, n_rows = _padded(x, kernel, earlier), kernel.shape[-2], x.shape[-2]
    leading = np.broadcast_shapes(padded.shape[:-2], kernel.shape[:-2], grad.shape[:-2])
    dpadded = np.zeros((*leading, *padded.shape[-2:]), x.dtype)
    dkernel = np.zeros((*leading, *kernel.shape[-2:]), x.dtype)
    for i in range(n_taps):
        window = slice(i + 1, i + 1 + n_rows)
        dpadded[..., window, :] += kernel[..., i : i + 1, :] * grad
        dkernel[..., i, :] = (grad * padded[..., window, :]).sum(axis=-2)
    dx, dearlier = dpadded[..., n_taps:, :], dpadded[..., :n_taps, :]
    given = None if earlier is None else sum_to(earlier, dearlier)
    return sum_to(x, dx), sum_to(kernel, dkernel), given


def _padded(x: np.ndarray, kernel: np.ndarray, earlier: np.ndarray | None) -> np.ndarray:
    """Return x after n_taps earlier rows, which are zeros if there are none."""
    if earlier is None:
        earlier = np.zeros((*x.shape[:-2], *kernel.shape[-2:]), x.dtype)
    leading = np.broadcast_shapes(x.shape[:-2], earlier.shape[:-2])
    both = (np.broadcast_to(part, (*leading, *part.shape[-2:])) for part in (earlier, x))
    return np.concatenate([*both], axis=-2)


def _states(
    q: np.ndarray,
    k: np.ndarray,
    v: np.ndarray,
    log_decay: np.ndarray,
    beta: np.ndarray,
    state: np.ndarray | None,
) -> np.ndarray:
    """Return the state before the first token and after each, (..., T + 1, d_k, d_v)."""
    leading = _leading(q, k, v, log_decay, beta, state)
    states = np.zeros((*leading, q.shape[-2] + 1, q.shape[-1], v.shape[-1]), v.dtype)
    if state is not None:
        states[..., 0, :, :] = state
    for t in range(q.shape[-2]):
        decayed = np.exp(log_decay[..., t, :])[..., np.newaxis] * states[..., t, :, :]
        wrong = v[..., t, :] - _read(k[..., t, :], decayed)
        step = beta[..., t, np.newaxis] * wrong
        states[..., t + 1, :, :] = decayed + _outer(k[..., t, :], step)
    return states


def _leading(
    q: np.ndarray,
    k: np.ndarray,
    v: np.ndarray,
    log_decay: np.ndarray,
    beta: np.ndarray,
    state: np.ndarray | None,
) -> tuple[int, ...]:
    """Return the leading axes of all arguments after broadcasting."""
    others = [x.shape[:-2] for x in (q, k, v, log_decay, state) if x is not None]
    return np.broadcast_shapes(beta.shape[:-1], *others)


def _read(row: np.ndarray, table: np.ndarray) -> np.ndarray:
    """Return rows (..., n) times tables (..., n, m)."""
    return (row[..., np.newaxis, :] @ table)[..., 0, :]


def _outer(first: np.ndarray, second: np.ndarray) -> np.ndarray:
    return first[..., :, np.newaxis] * second[..., np.newaxis, :]


def _decayed(a: np.ndarray, b: np.ndarray, total: np.ndarray, diagonal: int) -> np.ndarray:
    """Return the products of rows of a and b, decayed from b's token to a's; later ones are 0."""
    past = np.tri(a.shape[-2], k=diagonal, dtype=bool)
    difference = total[..., :, np.newaxis, :] - total[..., np.newaxis, :, :]
    decays = np.exp(np.where(past[..., np.newaxis], difference, -np.inf))
    if decays.shape[-1] == 1:
        return (a @ b.mT) * decays[..., 0]
    return (a[..., :, np.newaxis, :] * b[..., np.newaxis, :, :] * decays).sum(axis=-1)
