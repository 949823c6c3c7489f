"""Configurations: one that exists is valid."""

from dataclasses import FrozenInstanceError

import pytest

from tformer.config import AttentionSizes, EmbeddingSizes


def test_sizes_cannot_be_changed() -> None:
    sizes = EmbeddingSizes(n_vocab=10, d_model=4, window=2)
    with pytest.raises(FrozenInstanceError):
        sizes.d_model = 5  # type: ignore[misc]


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ({"n_vocab": 0}, "EmbeddingSizes: n_vocab must be at least 1; got 0"),
        ({"d_model": 11}, "EmbeddingSizes: d_model must be from 1 to 10; got 11"),
        ({"window": 0}, "EmbeddingSizes: window must be at least 1; got 0"),
    ],
)
def test_embedding_sizes_out_of_range_are_refused(wrong: dict[str, int], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        EmbeddingSizes(**{"n_vocab": 10, "d_model": 4, "window": 2} | wrong)


def test_attention_has_as_many_key_value_heads_as_heads_unless_told() -> None:
    assert AttentionSizes(d_model=12, n_heads=4).n_kv_heads == 4
    assert AttentionSizes(d_model=12, n_heads=4, n_kv_heads=2).n_kv_heads == 2
    assert AttentionSizes(d_model=12, n_heads=4).d_head == 3


@pytest.mark.parametrize(
    ("sizes", "message"),
    [
        ((12, 5), "AttentionSizes: d_model must be a multiple of n_heads; got 12 and 5"),
        ((12, 4, 3), "AttentionSizes: n_heads must be a multiple of n_kv_heads; got 4 and 3"),
        ((12, 0), "AttentionSizes: n_heads must be at least 1; got 0"),
        ((12, 4, 0), "AttentionSizes: n_kv_heads must be at least 1; got 0"),
    ],
)
def test_attention_sizes_that_do_not_divide_are_refused(
    sizes: tuple[int, ...], message: str
) -> None:
    with pytest.raises(ValueError, match=message):
        AttentionSizes(*sizes)
