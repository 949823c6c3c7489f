"""A model's tensors under the names of transformers, which other libraries share."""

from collections.abc import Iterator, Mapping

from tformer.pretrained.architecture import Architecture
from tformer.pretrained.blocks import Float32

__all__ = ["CommonNames"]

PAIRINGS = ("half", "adjacent")


class CommonNames(Mapping[str, Float32]):
    """The tensors by their names in transformers, each decoded into a new array on access.

    Parameters
    ----------
    architecture : Architecture
    tensors : mapping
        Arrays by their names in GGUF, the coordinates of queries and keys in adjacent pairs.
    pairing : str
        "half" permutes the rows of the query and key matrices into the order of transformers,
        "adjacent" leaves them as they are. See `tformer.reference.rope_permutation`.

    Raises
    ------
    ValueError
        If pairing is neither of the two.
    """

    def __init__(
        self, architecture: Architecture, tensors: Mapping[str, Float32], pairing: str = "half"
    ) -> None:
        if pairing not in PAIRINGS:
            raise ValueError(f"CommonNames: pairing must be one of {PAIRINGS}; got {pairing!r}")
        self._names = {common: name for name, common in architecture.common_names().items()}
        self._tensors, self._width, self._pairing = tensors, architecture.d_k, pairing

    def __iter__(self) -> Iterator[str]:
        return iter(self._names)

    def __len__(self) -> int:
        return len(self._names)

    def __getitem__(self, name: str) -> Float32:
        """A tensor in float32."""
        found = self._tensors[self._names[name]]
        if self._pairing == "half" and name.endswith(("q_proj.weight", "k_proj.weight")):
            pairs = found.reshape(-1, self._width // 2, 2, found.shape[-1])
            return pairs.swapaxes(1, 2).reshape(found.shape)
        return found
