"""Training: two optimisers and one loop, for trees of parameters in either library."""

from collections.abc import Callable, Iterator
from typing import Any

from tformer.parameters import leaves

__all__ = ["Adam", "Descent", "linear_schedule", "training"]


class Descent:
    """Gradient descent: each step goes against the gradients, and changes the parameters in place.

    Parameters
    ----------
    parameters : tree of arrays, or of tensors
    """

    def __init__(self, parameters: Any) -> None:
        # In-place steps are no part of what PyTorch differentiates.
        self.leaves = [x if not hasattr(x, "detach") else x.detach() for x in leaves(parameters)]

    def step(self, gradients: Any, rate: Any) -> None:
        """Make one step.

        Parameters
        ----------
        gradients : tree like the parameters
        rate : float, or an array that broadcasts with every leaf
        """
        for x, move in zip(self.leaves, self.moves(leaves(gradients)), strict=True):
            x -= rate * move

    def moves(self, gradients: list[Any]) -> list[Any]:
        """Where to go for each leaf, before the learning rate."""
        return gradients


class Adam(Descent):
    """Adam [kingma2015]: each number moves by its mean gradient over the gradient's typical size.

    With a decay it is AdamW [loshchilov2019]. Torch's own takes over a second to import, and knows
    no NumPy.

    Parameters
    ----------
    parameters : tree of arrays, or of tensors
    betas : pair of floats
        Decay of the mean of the gradients and of that of their squares, each step.
    eps : float
        Added to the typical size.
    decay : float
        The share of each number, times the rate, that every step takes off.
    """

    def __init__(
        self,
        parameters: Any,
        betas: tuple[float, float] = (0.9, 0.99),
        eps: float = 1e-8,
        decay: float = 0.0,
    ) -> None:
        super().__init__(parameters)
        self.betas, self.eps, self.decay, self.steps = betas, eps, decay, 0
        self.means, self.squares = ([0 * x for x in self.leaves] for _ in range(2))

    def moves(self, gradients: list[Any]) -> list[Any]:
        """Mean over size, both freed of the zeros that they began with."""
        self.steps += 1
        (first, second), found = self.betas, []
        moments = zip(self.leaves, self.means, self.squares, gradients, strict=True)
        for x, mean, square, grad in moments:
            mean += (1 - first) * (grad - mean)
            square += (1 - second) * (grad * grad - square)
            size = (square / (1 - second**self.steps)) ** 0.5 + self.eps
            found.append(mean / (1 - first**self.steps) / size + self.decay * x)
        return found


def linear_schedule(rate: float, steps: int) -> Callable[[int], float]:
    """A learning rate that rises to `rate` in 20 steps and falls along a line, 0 after `steps`."""
    return lambda step: rate * min(step / 20, 1 - (step - 1) / steps)


def training(
    optimiser: Descent, gradients: Callable[[], Any], steps: int, rate: Any
) -> Iterator[int]:
    """Train; the number of steps made so far comes after each.

    Parameters
    ----------
    optimiser : Descent or Adam
        It holds the parameters.
    gradients : callable
        Returns those of a loss on new examples, as a tree like the parameters.
    steps : int
    rate : float, array, or a function of the step, which counts from 1
    """
    for step in range(1, steps + 1):
        optimiser.step(gradients(), rate(step) if callable(rate) else rate)
        yield step
