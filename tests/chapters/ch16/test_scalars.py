"""One small GPT three times: the programs take the same steps, and are timed in turns."""

import numpy as np

from tformer_book.chapters.ch16 import scalars


def test_three_programs_take_the_same_steps() -> None:
    texts = [np.array([3, 1, 4, 1, 5, 9]), np.array([2, 7, 1, 8]), np.array([3, 1, 4, 4, 0, 26])]
    programs = [program() for program in scalars.PROGRAMS.values()]
    losses = np.array([[program.step(text) for text in texts] for program in programs])
    np.testing.assert_allclose(losses[1:], losses[[0, 0]], rtol=1e-12)
    again = scalars.Arrays()
    unmoved = [again.step(texts[2])]
    assert abs(unmoved[0] - losses[0, 2]) > 1e-3  # steps before it have changed the loss


def test_a_graph_of_numbers_has_the_slopes_of_small_changes() -> None:
    def formula(a: float, b: float) -> tuple[scalars.Value, scalars.Value, scalars.Value]:
        x, y = scalars.Value(a), scalars.Value(b)
        twice = x * y + x
        return x, y, (twice.exp() + y.relu()).power(0.5) * twice.log().times(3.0)

    x, y, z = formula(0.7, 0.4)
    z.backward()
    for value, (da, db) in ((x, (1e-6, 0.0)), (y, (0.0, 1e-6))):
        more, less = (formula(0.7 + s * da, 0.4 + s * db)[2].number for s in (1, -1))
        np.testing.assert_allclose(value.grad, (more - less) / 2e-6, rtol=1e-6)


def test_texts_of_one_length_are_one_step_of_their_mean() -> None:
    one, many = scalars.Library(), scalars.Library()
    text = scalars.texts(1)[0]
    for _ in range(2):
        np.testing.assert_allclose(many.step(np.stack([text] * 3)), one.step(text), rtol=1e-12)


def test_the_command_stores_a_time_for_each_step() -> None:
    found, stored = scalars.measured(2), scalars.stored()
    assert found.keys() == stored.keys()
    for name, row in stored.items():
        assert row.keys() == found[name].keys()
        assert {len(column) for column in row.values()} == {40}
        assert min(row["seconds"]) > 0
    for name in scalars.PROGRAMS:
        np.testing.assert_allclose(found[name]["loss"], stored[name]["loss"][:2], rtol=1e-8)
    assert np.median(scalars.ratios("NumPy")) > 200
