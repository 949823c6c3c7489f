"""Families of released models: from their published names to layers of `tformer.layers`.

Each family is a table (`Family`); a new one is a new table. Source of names and of what is
computed: the classes of transformers 5.24.0, to whose logits the tests hold every family.
"""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from tformer.layer_configuration import LayeredConfiguration
from tformer.layers import LayeredParameters
from tformer.pretrained.families.arrays import read_parameters
from tformer.pretrained.families.family import Family, Split
from tformer.pretrained.families.keys import Keys
from tformer.pretrained.families.settings import read_configuration
from tformer.pretrained.families.tables import TABLES
from tformer.pretrained.families.tables_2026 import TABLES_2026

__all__ = ["FAMILIES", "Family", "Split", "layers_from_state_dict"]

FAMILIES: dict[str, Family] = TABLES | TABLES_2026
"""The table of each family by the `model_type` of its config.json."""


def layers_from_state_dict(
    config: Mapping[str, Any], state: Mapping[str, Any], where: Path | str = "config.json"
) -> tuple[LayeredParameters, LayeredConfiguration]:
    """The layers of a released model, from its config.json and its arrays.

    Parameters
    ----------
    config : dict
        The values of config.json; `model_type` must be one of `FAMILIES`.
    state : dict of arrays
        NumPy arrays under the names of the model's files, or those of its class in transformers.
        They are not copied where their strides allow it.
    where : path, optional
        Of config.json, for error messages.

    Returns
    -------
    LayeredParameters, LayeredConfiguration

    Raises
    ------
    PretrainedError
        If a key of config.json is missing, or has no known effect or a value that is not
        understood; or if an array is missing, unexpected or of another shape.
    """
    keys = Keys(Path(where), dict(config))
    family = FAMILIES[keys.choice("model_type", tuple(FAMILIES))]
    configuration, layout = read_configuration(keys, family)
    parameters = read_parameters(Path(where).parent, state, family, layout)
    wanted = (keys.number("vocab_size"), keys.number("hidden_size"))
    if (found := tuple(parameters.embedding.shape)) != wanted:
        raise keys.error(f"vocab_size and hidden_size {found}, as the embedding has them", wanted)
    if keys.choice("tie_word_embeddings", (True, False), parameters.unembedding is None):
        if parameters.unembedding is not None:
            raise keys.error("tie_word_embeddings False", "True, and lm_head.weight differs")
    elif not any(name.endswith("head.weight") for name in state):
        raise keys.error("lm_head.weight, as tie_word_embeddings is False", "none")
    return parameters, configuration
