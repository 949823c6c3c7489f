"""Parameters, in small dataclasses that hold the arrays of either library."""

from dataclasses import dataclass
from typing import Any

from tformer.shapes import ShapeError, axes_of, bind_all

__all__ = ["HeadWeights", "looked_at"]

SPEC = "H d_model d_k, G d_model d_k, G d_model d_v, H d_v d_model"
AXES = dict(zip(("w_q", "w_k", "w_v", "w_o"), axes_of(SPEC), strict=True))


@dataclass(frozen=True, eq=False)
class HeadWeights:
    """The four matrices of each head of a layer; heads of one group share keys and values.

    Head h looks up the keys and values of group h // (H / G): with G = H every head has its own,
    with G = 1 all share one.

    Parameters
    ----------
    w_q : (H, d_model, d_k) array
        From words to queries.
    w_k : (G, d_model, d_k) array
        From words to keys.
    w_v : (G, d_model, d_v) array
        From words to values.
    w_o : (H, d_v, d_model) array
        From what a head has read to what it adds to a word.

    Raises
    ------
    ShapeError
        If a letter stands for two sizes, or if G does not divide H.
    """

    w_q: Any
    w_k: Any
    w_v: Any
    w_o: Any

    def __post_init__(self) -> None:
        """Refuse matrices that do not belong together."""
        sizes = bind_all(
            "HeadWeights", list(zip(AXES, AXES.values(), vars(self).values(), strict=True))
        )
        if not sizes["G"] or sizes["H"] % sizes["G"]:
            raise ShapeError(
                f"HeadWeights: G must divide H; got {sizes['G']} key/value heads "
                f"(w_k) for {sizes['H']} heads (w_q)"
            )

    @property
    def group_size(self) -> int:
        """How many heads share keys and values, H / G."""
        return self.w_q.shape[0] // self.w_k.shape[0]

    @classmethod
    def from_fused(
        cls, w_q: Any, w_k: Any, w_v: Any, w_o: Any, n_heads: int, n_groups: int | None = None
    ) -> "HeadWeights":
        """Cut one matrix for all heads into one a head: they stand side by side, in w_o below.

        Parameters
        ----------
        w_q, w_k, w_v : arrays of shapes (d_model, H d_k), (d_model, G d_k), (d_model, G d_v)
            The transposes of what `torch.nn.Linear` calls weight.
        w_o : array of shape (H d_v, d_model)
        n_heads, n_groups : int
            H and G; as many groups as heads if left out.

        Raises
        ------
        ShapeError
            If the width of a matrix is not a multiple of its number of heads.
        """
        groups = n_heads if n_groups is None else n_groups
        parts = {"w_q": (w_q.mT, n_heads), "w_k": (w_k.mT, groups), "w_v": (w_v.mT, groups)}
        parts["w_o"] = (w_o, n_heads)
        for name, (rows, n) in parts.items():
            if n < 1 or rows.shape[0] % n:
                raise ShapeError(f"HeadWeights: {name} of width {rows.shape[0]} has no {n} heads")
        q, k, v, o = (x.reshape(n, x.shape[0] // n, x.shape[1]) for x, n in parts.values())
        return cls(q.mT, k.mT, v.mT, o)

    def fused(self) -> tuple[Any, Any, Any, Any]:
        """One matrix for all heads in place of each, as `from_fused` takes them."""
        rows = [self.w_q.mT, self.w_k.mT, self.w_v.mT, self.w_o]
        q, k, v, o = (x.reshape(x.shape[0] * x.shape[1], x.shape[2]) for x in rows)
        return q.mT, k.mT, v.mT, o


def looked_at(where: str, x: Any, memory: Any, mask: Any, bias: Any) -> Any:
    """What gives keys and values: the memory, or without one the words themselves.

    Raises
    ------
    ShapeError
        If mask or bias is for another number of keys than there are words.
    """
    if memory is not None:
        return memory
    n_words = x.shape[-2]
    for name, table in (("mask", mask), ("bias", bias)):
        if table is not None and table.shape[-1] not in (1, n_words):
            raise ShapeError(
                f"{where}: axis S is {n_words} in x, as there is no memory, but "
                f"{table.shape[-1]} in {name}; got shape {tuple(table.shape)}"
            )
    return x
