"""The random stack and its exact Jacobian, and the fills."""

import numpy as np
import pytest

from tformer import reference
from tformer_book.chapters.ch05 import figures_deeper, fills, stack


@pytest.mark.parametrize("late", [False, True])
def test_the_jacobian_is_that_of_central_differences(late: bool) -> None:
    rng = np.random.default_rng(0)
    layers, x = stack.random_layers(rng, 2, 3), rng.standard_normal((4, 3))
    mask = np.array([[1, 0, 0, 1], [1, 1, 0, 0], [0, 0, 0, 0], [1, 1, 1, 1]], dtype=bool)
    attend = stack.late_attention if late else reference.attention
    found, step = stack.jacobian(x, layers, mask, late=late), 1e-6
    for s, j in np.ndindex(4, 3):
        nudge = np.zeros((4, 3))
        nudge[s, j] = step
        up, down = (stack.forward(x + sign * nudge, layers, mask, attend) for sign in (1, -1))
        np.testing.assert_allclose(found[:, :, s, j], (up - down) / (2 * step), atol=1e-8)


def test_sizes_are_norms_of_blocks() -> None:
    derivatives = np.random.default_rng(1).standard_normal((3, 2, 3, 2))
    assert stack.sizes(derivatives)[2, 0] == pytest.approx(np.linalg.norm(derivatives[2, :, 0]))


def test_a_fill_is_added_in_the_precision_that_is_asked_for() -> None:
    scores, mask = np.array([[1.0, 2.0], [3.0, 4.0]]), np.array([[True, False], [False, False]])
    for dtype in ("float16", "float32", "float64"):
        got = fills.filled(scores, mask, dtype, fill=-100.0)
        assert got.dtype == dtype
        np.testing.assert_allclose(got[0], [1, 0], atol=1e-6)
        np.testing.assert_allclose(got[1], reference.softmax(scores[1]), rtol=2e-2)


def test_bfloat16_is_rounded_as_torch_rounds_it() -> None:
    import torch

    x = np.random.default_rng(0).standard_normal(500) * np.logspace(-3, 9, 500)
    x = np.append(x, [0, -1e9, 1 + 2**-8, 1 + 3 * 2**-8])
    ours = fills.bfloat16(x)
    theirs = torch.from_numpy(x.astype(np.float32)).bfloat16().float().numpy()
    np.testing.assert_array_equal(ours, theirs)


@pytest.mark.parametrize("dtype", figures_deeper.FORMATS)
def test_verdicts_on_fills_are_those_of_torch(dtype: str) -> None:
    import torch

    kind = getattr(torch, dtype)
    for fill in (-10.0, -1000.0, -1e5, -1e9, -np.inf):
        scores = torch.tensor([2.0, 1.0, 0.0]).to(kind) + torch.tensor(fill).to(kind)
        got = torch.softmax(scores.float() if dtype != "float64" else scores, -1)
        said = figures_deeper.verdict(fill, dtype)
        if got.isnan().any():
            assert said == "nan"
        else:
            plain = torch.softmax(torch.tensor([2.0, 1.0, 0.0]), -1)
            assert (said == "even") == bool(
                torch.allclose(got, torch.full_like(got, 1 / 3), atol=2e-3)
            )
            if said == "unmasked":
                assert torch.allclose(got.float(), plain, atol=2e-3)
