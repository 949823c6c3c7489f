"""Reading a model, in Python: lines, guesses, caches, what is refused and what is said."""

import pytest

from tformer_book.chapters.ch22 import counting, guesses, listing
from tformer_book.chapters.ch22.read_model import GUESSES, NAMES, ReadModel


@pytest.mark.parametrize("family", listing.FAMILIES)
def test_a_diff_leads_from_llama_to_each_family(family: str) -> None:
    changes = listing.changes(family)
    plain = [line for sign, line in changes if sign != "+"]
    block = [line for sign, line in changes if sign != "-"]
    assert plain == list(listing.lines("llama"))
    assert block == list(listing.lines(family))


def test_the_plain_block_has_seven_lines_and_changes_none() -> None:
    assert len(listing.lines("llama")) == 7
    assert listing.counts("llama") == (0, 0)
    assert listing.counts("qwen3") == (1, 0)


def test_what_the_page_has_is_what_is_measured() -> None:
    for family, one in zip(NAMES, ReadModel().models, strict=True):
        wrong = [x for x in guesses.GUESSES if x.family == family][:GUESSES]
        assert [x["says"] for x in one["guesses"]] == [x.says for x in wrong]
        for shown, guess in zip(one["guesses"], wrong, strict=True):
            assert shown["moved"] == pytest.approx(guesses.moved(guess), rel=0.05, abs=1e-12)
            assert any(sign == "+" for sign, _ in shown["lines"])


def test_a_cache_is_the_sum_of_its_layers() -> None:
    found = ReadModel(length=3.0).caches()
    assert found["Llama"] == 2 * 32 * 2 * 32 * 128 * 1000
    assert found["DeepSeek-V3"] == 2 * 61 * (512 + 64) * 1000
    gpt_oss = 2 * 18 * 2 * 8 * 64 * (1000 + 127)
    assert found["gpt-oss"] == gpt_oss
    assert ReadModel(length=1.0).caches()["gpt-oss"] == 2 * 36 * 2 * 8 * 64 * 10
    assert counting.kept("gpt_oss").besides() == 2 * 18 * 2 * 8 * 64 * 127


def test_pooled_windows_are_kept_as_tokens_come_and_go() -> None:
    """Of each token two numbers wait for their window, and two more are pooled into the next."""
    pools = counting.Pools(size=3, row=5, token=4, last=6)
    rows, waiting, before = 0, 0, 0
    for n in range(1, 12):
        waiting += 4
        if n % 3 == 0:
            rows, waiting, before = rows + 5, 0, 3 * 2
        assert pools.numbers(n) == rows + waiting + before
    kept = counting.Kept(pooled=(pools, pools))
    assert kept.total(11) == 2 * 2 * (3 * 5 + 2 * 4 + 6)
    assert kept.besides() == max(kept.total(n) - 2 * 2 * (n // 3) * 5 for n in range(99))


def test_it_says_what_it_shows() -> None:
    assert repr(ReadModel()) == "ReadModel, Qwen3: 1 line added to Llama's, 0 gone"
    llama4 = [*NAMES].index("llama4")
    assert "logits move by rounding errors only" in repr(ReadModel(llama4, 0))
    assert "<th>Mixtral</th><td>+2 −1</td>" in ReadModel().fallback()


@pytest.mark.parametrize(
    ("wrong", "said"),
    [
        ({"model": 9}, "model must be 0 to 8; got 9"),
        ({"guess": -2}, "guess must be -1 to 2; got -2"),
        ({"length": 0.5}, "length must be 1 to 6; got 0.5"),
    ],
)
def test_what_is_out_of_range_is_refused(wrong: dict[str, float], said: str) -> None:
    with pytest.raises(ValueError, match=f"ReadModel: {said}"):
        ReadModel(**wrong)  # type: ignore[arg-type]


def test_a_guess_that_no_block_has_is_refused() -> None:
    with pytest.raises(ValueError, match="qwen3 has no line with 'sigmoid'"):
        guesses.changed(guesses.Guess("qwen3", "a gate", "sigmoid", "tanh"))
