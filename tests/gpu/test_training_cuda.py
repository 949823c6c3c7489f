"""A training on a CUDA device is gone on with to the last bit: its generator is another one."""

from pathlib import Path

import pytest
import torch
from torch import nn

from test_any_module import STEPS, Plain, ran
from tformer.training import Recipe

if not torch.cuda.is_available():  # nothing is collected then, and the summary says why
    pytest.skip("torch finds no CUDA device on this machine", allow_module_level=True)


@pytest.mark.parametrize("fused", [False, True])
def test_what_the_device_draws_goes_on(fused: bool, tmp_path: Path) -> None:
    def made(seed: int) -> nn.Module:
        model = Plain(nn.Dropout(0.3)).cuda()
        torch.manual_seed(seed)
        return model

    recipe = Recipe(STEPS, 0.05, fused=fused)
    right = ran(made(1), recipe)
    assert ran(made(1), recipe, tmp_path, stop=5) == right[:5]
    assert ran(made(2), recipe, tmp_path) == right[4:]
