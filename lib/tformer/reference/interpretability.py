"""Interpretability: head outputs, the logit lens, scores of attention patterns (chapter 17)."""

import numpy as np

from tformer.configuration import Configuration
from tformer.parameters import HeadParameters, ModelParameters
from tformer.reference.blocks import apply_norm
from tformer.reference.equation import equation
from tformer.reference.stacks import unembed

__all__ = ["head_outputs", "induction_scores", "logit_lens", "previous_token_scores"]


@equation
def head_outputs(y: np.ndarray, parameters: HeadParameters) -> np.ndarray:
    """Compute what each head alone adds to the residual stream.

    Parameters
    ----------
    y : (..., H, T, d_v) array
        The output of each head.
    parameters : HeadParameters
        Only w_o is used.

    Returns
    -------
    (..., H, T, d_model) array
        Their sum over the heads is what `merge` returns, less b_o.

    Notes
    -----
    Equation eq-head-outputs; [elhage2021], "Attention Heads are Independent and Additive".
    """
    return y @ parameters.w_o


@equation
def logit_lens(
    x: np.ndarray, parameters: ModelParameters, configuration: Configuration
) -> np.ndarray:
    """Compute the logits of the next token from hidden states between blocks.

    Parameters
    ----------
    x : (..., d_model) array
        Hidden states: the residual stream before, between or after blocks.
    parameters : ModelParameters
        Only the last norm, and the unembedding or the tied embedding, are used.
    configuration : Configuration
        Its norm and eps.

    Returns
    -------
    (..., N) array
        Logits; for the hidden states after the last block, those of the model.

    Notes
    -----
    Equation eq-logit-lens; [nostalgebraist2020].
    """
    return unembed(apply_norm(x, parameters.norm, configuration), parameters)


@equation
def previous_token_scores(weights: np.ndarray) -> np.ndarray:
    """Average, for each head, the attention weight from each token to the one before it.

    Parameters
    ----------
    weights : (..., H, T, T) array
        Attention weights of each head.

    Returns
    -------
    (..., H) array
        The mean over all tokens but the first; 0 if there is no second token.

    Notes
    -----
    Equation eq-previous-token-scores; [olsson2022] call such heads previous-token heads.
    """
    return _mean(np.diagonal(weights, -1, axis1=-2, axis2=-1))


@equation
def induction_scores(weights: np.ndarray, period: int) -> np.ndarray:
    """Average each head's attention weight to the token after the last copy of the current token.

    Parameters
    ----------
    weights : (..., H, T, T) array
        Attention weights of each head.
    period : int, at least 1
        Length of the sequence that the text repeats, in tokens.

    Returns
    -------
    (..., H) array
        The mean weight from token t to token t - period + 1, over all t ≥ period; 0 if there is
        none.

    Notes
    -----
    Equation eq-induction-scores; [olsson2022], "prefix matching score".
    """
    return _mean(np.diagonal(weights, 1 - period, axis1=-2, axis2=-1)[..., 1:])


def _mean(x: np.ndarray) -> np.ndarray:
    """Return the mean over the last axis, 0 if it is empty."""
    return np.sum(x, axis=-1) / max(x.shape[-1], 1)
