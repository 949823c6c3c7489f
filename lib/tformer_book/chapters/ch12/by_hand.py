"""Three operations forward and backward, as the first section does them with a pencil."""

from typing import NamedTuple


class Passes(NamedTuple):
    """Values of w x, w x + x and half its square, and the derivatives of the last by all others.

    The number x is used twice: `dx_product` comes through the product, `dx_sum` through the sum.
    """

    m: float
    s: float
    loss: float
    dloss: float
    ds: float
    dm: float
    dw: float
    dx_product: float
    dx_sum: float

    @property
    def dx(self) -> float:
        """The derivative by x: both uses count."""
        return self.dx_sum + self.dx_product


def passes(x: float, w: float) -> Passes:
    """Both passes from x and w."""
    m = w * x
    s = m + x
    ds = s
    return Passes(m, s, s**2 / 2, 1, ds, dm=ds, dw=x * ds, dx_product=w * ds, dx_sum=ds)
