"""What is read off the inside of a model: who looks where, who writes what (chapter 17)."""

import numpy as np

from tformer.configuration import Configuration
from tformer.parameters import HeadParameters, ModelParameters
from tformer.reference.blocks import apply_norm
from tformer.reference.equation import equation
from tformer.reference.stacks import unembed

__all__ = ["head_outputs", "induction_scores", "logit_lens", "previous_token_scores"]


@equation
def head_outputs(y: np.ndarray, parameters: HeadParameters) -> np.ndarray:
    """What each head by itself adds to the words.

    Parameters
    ----------
    y : (..., H, T, d_v) array
        The output of each head.
    parameters : HeadParameters
        Only the matrix of the outputs plays a part.

    Returns
    -------
    (..., H, T, d_model) array
        Their sum over the heads is what `merge` returns, but for its bias.

    Notes
    -----
    Equation eq-head-outputs; [elhage2021], "Attention Heads are Independent and Additive".
    """
    return y @ parameters.w_o


@equation
def logit_lens(
    x: np.ndarray, parameters: ModelParameters, configuration: Configuration
) -> np.ndarray:
    """Scores of the next word as the vectors between two blocks would have them.

    Parameters
    ----------
    x : (..., d_model) array
        Vectors before, between or after blocks.
    parameters : ModelParameters
        Only the last norm and the embedding or the unembedding play a part.
    configuration : Configuration
        Its norm and eps.

    Returns
    -------
    (..., N) array
        After the last block those of the model.

    Notes
    -----
    Equation eq-logit-lens; [nostalgebraist2020].
    """
    return unembed(apply_norm(x, parameters.norm, configuration), parameters)


@equation
def previous_token_scores(weights: np.ndarray) -> np.ndarray:
    """How much each head looks at the word before: the mean weight, over all words but the first.

    Parameters
    ----------
    weights : (..., H, T, T) array
        Of each head.

    Returns
    -------
    (..., H) array
        0 if there is no second word.

    Notes
    -----
    Equation eq-previous-token-scores; [olsson2022] call such heads previous-token heads.
    """
    return _mean(np.diagonal(weights, -1, axis1=-2, axis2=-1))


@equation
def induction_scores(weights: np.ndarray, period: int) -> np.ndarray:
    """How much each head looks at the word after the same word, in a text that repeats itself.

    Parameters
    ----------
    weights : (..., H, T, T) array
        Of each head.
    period : int, at least 1
        After so many words the text begins again.

    Returns
    -------
    (..., H) array
        The mean weight of word t on word t - period + 1, over all t from `period` on; 0 if there
        is none.

    Notes
    -----
    Equation eq-induction-scores; [olsson2022], "prefix matching score".
    """
    return _mean(np.diagonal(weights, 1 - period, axis1=-2, axis2=-1)[..., 1:])


def _mean(x: np.ndarray) -> np.ndarray:
    """The mean over the last axis; 0 of nothing."""
    return np.sum(x, axis=-1) / max(x.shape[-1], 1)
