"""Released models of many families as layers, from the folders that transformers writes."""

from pathlib import Path

from tformer.layer_configuration import LayeredConfiguration
from tformer.layers import LayeredParameters
from tformer.pretrained.errors import format_error
from tformer.pretrained.families import layers_from_state_dict
from tformer.pretrained.folder import read_settings, read_tensors

__all__ = ["layers_from_pretrained", "layers_from_state_dict"]

NOT_HERE = "give the path of a folder on this machine; nothing is downloaded"


def layers_from_pretrained(path: Path | str) -> tuple[LayeredParameters, LayeredConfiguration]:
    """Load a released model of one of the families of `tformer.pretrained.families`.

    Nothing is downloaded, unpickled or run; a tokenizer is not read.

    Parameters
    ----------
    path : path
        A folder that `save_pretrained` of transformers wrote, or that a family publishes with the
        same names: config.json and model.safetensors; or that safetensors file.

    Returns
    -------
    LayeredParameters, LayeredConfiguration
        For `layered_decoder`. NumPy arrays in float32, or in float64 where the file has it.

    Raises
    ------
    PretrainedError
        If a file is missing or damaged; a key of config.json has a value that is not understood or
        is not known at all; or an array is missing, unexpected or of another shape.
    """
    path = Path(path)
    if not path.exists():
        raise format_error(path, "a folder with config.json", "none", NOT_HERE)
    settings, weights = read_settings(path)
    return layers_from_state_dict(settings, read_tensors(weights), settings.path)
