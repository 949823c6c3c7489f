"""Texts: beam search against all texts, and speculative decoding against the target alone."""

import dataclasses
import itertools
from collections.abc import Callable
from functools import partial
from types import ModuleType
from typing import Any, NamedTuple

import numpy as np
import pytest
import torch
from scipy import stats

from tformer import arguments, fast, reference
from tformer.configuration import Configuration
from tformer.models.beam_search import Hypothesis, beam_search
from tformer.models.generate import generate
from tformer.models.sizes import Sizes, initialise
from tformer.models.speculative import sample_probabilities, speculative_decoding
from tformer.parameters import ModelParameters, tree_map
from tformer.shapes import ShapeError

LLAMA = Configuration(norm="rms", activation="silu", positions="rope")
SIZES = Sizes(5, 8, 2, 2, 6, biased=False, gated=True, tied=False)
BEGIN = np.array([3, 1])
LIBRARIES = pytest.mark.parametrize("module", [reference, fast], ids=["reference", "fast"])


def model(seed: int, sharpness: float = 40.0) -> ModelParameters:
    p = initialise(SIZES, LLAMA, np.random.default_rng(seed))
    return tree_map(lambda x: x * (sharpness if x is p.unembedding else 4), p)


def reader(module: ModuleType, p: ModelParameters, row: Callable[..., Any]) -> Any:
    """A model of either library as what goes on with a text."""
    p = p if module is reference else tree_map(torch.from_numpy, p)

    def read(tokens: Any, caches: Any) -> tuple[Any, Any]:
        logits, caches = module.cached_decoder(tokens, p, LLAMA, caches)
        return row(logits), caches

    return read


def begin(module: ModuleType) -> Any:
    return BEGIN if module is reference else torch.from_numpy(BEGIN)


def log_probability(p: ModelParameters, words: tuple[int, ...]) -> float:
    """By one full pass."""
    text = np.array([*BEGIN, *words])
    rows = reference.log_softmax(reference.decoder(text[:-1], p, LLAMA))
    return float(rows[np.arange(len(BEGIN) - 1, len(text) - 1), text[len(BEGIN) :]].sum())


def all_texts(n_tokens: int, stop: int | None) -> set[tuple[int, ...]]:
    """Every text of so many words, cut after the first stop."""
    texts = itertools.product(range(5), repeat=n_tokens)
    return {x[: x.index(stop) + 1] if stop in x else x for x in texts}


@LIBRARIES
@pytest.mark.parametrize("stop", [None, 2])
@pytest.mark.parametrize("power", [0.0, 1.0])
def test_a_beam_that_leaves_nothing_out_finds_the_best(
    module: ModuleType, stop: int | None, power: float
) -> None:
    """Width 5^2 holds all texts of two words, so the best of three words is found."""
    p = model(1)
    texts = all_texts(3, stop)
    merit = {x: log_probability(p, x) / len(x) ** power for x in texts}
    right = sorted(texts, key=merit.__getitem__, reverse=True)
    found = beam_search(reader(module, p, module.log_softmax), begin(module), 3, 25, stop, power)
    if power == 0:
        assert [x.tokens for x in found[:5]] == right[:5]
    assert found[0].tokens == right[0]
    for x in found:
        assert x.log_probability == pytest.approx(log_probability(p, x.tokens), abs=1e-10)


@LIBRARIES
def test_a_beam_of_one_is_greedy(module: ModuleType) -> None:
    for seed in range(5):
        p = model(seed)
        q = p if module is reference else tree_map(torch.from_numpy, p)
        greedy = generate(module.cached_decoder, begin(module), q, LLAMA, 6)
        found = beam_search(reader(module, p, module.log_softmax), begin(module), 6, 1)
        assert [x.tokens for x in found] == [tuple(greedy)]


def table(rows: dict[int, list[float]]) -> Any:
    """What goes on by the last word alone."""
    full = np.log(np.array([rows[i] for i in range(len(rows))]) + 1e-300)
    full[full < -600] = -np.inf
    return rows_of(full)


def test_a_beam_of_one_may_miss_the_best_and_one_of_two_find_it() -> None:
    """Begin, a, b, end: a is likelier, and what follows b is certain."""
    read = table({0: [0, 0.6, 0.4, 0], 1: [0.5, 0, 0, 0.5], 2: [0, 0, 0, 1], 3: [0, 0, 0, 1]})
    (greedy,) = beam_search(read, np.array([0]), 2, 1)
    assert greedy == Hypothesis(pytest.approx(np.log(0.3)), (1, 0))
    assert beam_search(read, np.array([0]), 2, 2)[0] == Hypothesis(
        pytest.approx(np.log(0.4)), (2, 3)
    )


def test_with_a_power_a_longer_text_may_win() -> None:
    """Begin 0, stop 2: ending at once .4 against .6 · .6, of which each word is likelier."""
    read = table({0: [0, 0.6, 0.4], 1: [0.4, 0, 0.6], 2: [0, 0, 1]})
    found = {
        power: beam_search(read, np.array([0]), 2, 2, 2, power)[0].tokens for power in (0.0, 1.0)
    }
    assert found == {0.0: (2,), 1.0: (1, 2)}


def test_what_cannot_come_is_in_no_beam() -> None:
    read = table({0: [0, 1, 0], 1: [0, 0, 1], 2: [0, 0, 1]})
    assert [x.tokens for x in beam_search(read, np.array([0]), 3, 9)] == [(1, 2, 2)]


@pytest.mark.parametrize(("n_begin", "n_tokens", "width"), [(0, 1, 1), (1, 0, 1), (1, 1, 0)])
def test_a_beam_of_nothing_is_refused(n_begin: int, n_tokens: int, width: int) -> None:
    with pytest.raises(ValueError, match=r"^beam_search: tokens, width and n_tokens must be"):
        beam_search(table({0: [1.0]}), np.zeros(n_begin, dtype=int), n_tokens, width)


def probabilities(module: ModuleType) -> Callable[..., Any]:
    return lambda logits: module.softmax(module.top_k(module.temperature(logits, tau=1.5), k=4))


TARGET = np.random.default_rng(3).dirichlet([0.6] * 5, 5)
DRAFT = np.random.default_rng(4).dirichlet([0.6] * 5, 5)


@pytest.mark.parametrize("length", [0, 1, 2, 5])
def test_every_text_is_as_likely_as_by_the_target_alone(length: int) -> None:
    """Chi-squared over all texts of three words; the level is 1e-4, and the seed is fixed."""
    n, rng = 5000, np.random.default_rng(5)
    expected = {
        x: n * TARGET[1, x[0]] * TARGET[x[0], x[1]] * TARGET[x[1], x[2]] for x in all_texts(3, None)
    }
    counts = dict.fromkeys(expected, 0)
    for _ in range(n):
        parts = speculative_decoding(rows_of(TARGET), rows_of(DRAFT), BEGIN, 3, length, rng.random)
        counts[tuple(itertools.chain(*parts))] += 1
    assert chi_squared(counts, expected) > 1e-4


def rows_of(table: Any) -> Any:
    """What goes on by the last word alone."""
    return lambda tokens, cache: (table[tokens], ())


@LIBRARIES
@pytest.mark.parametrize("length", [1, 3])
def test_a_greedy_target_writes_its_text_whatever_is_proposed(
    module: ModuleType, length: int
) -> None:
    """So the caches are taken back to the words that stand."""
    sharp, blunt = model(1), model(2)
    greedy = list(generate(reference.cached_decoder, BEGIN, sharp, LLAMA, 9))
    target = reader(module, sharp, lambda logits: module.softmax(module.top_k(logits, k=1)))
    for seed in range(3):
        draft, rng = reader(module, blunt, module.softmax), np.random.default_rng(seed)
        parts = list(speculative_decoding(target, draft, begin(module), 9, length, rng.random))
        assert list(itertools.chain(*parts)) == greedy
        assert len(parts) > 1


def chi_squared(counts: dict[Any, int], expected: dict[Any, float]) -> float:
    """The p-value; what is expected less than 5 times is taken together."""
    often = [x for x in expected if expected[x] >= 5]
    seen = np.array(
        [*(counts[x] for x in often), sum(counts.values()) - sum(counts[x] for x in often)]
    )
    right = np.array([expected[x] for x in often])
    right = np.append(right, max(seen.sum() - right.sum(), 1e-9))
    keep = right > 1e-6
    assert not seen[~keep].any()
    return float(stats.chisquare(seen[keep], right[keep], sum_check=False).pvalue)


@LIBRARIES
def test_a_draft_that_is_the_target_is_always_accepted(module: ModuleType) -> None:
    read = reader(module, model(1), probabilities(module))
    rng = np.random.default_rng(0)
    parts = list(speculative_decoding(read, read, begin(module), 11, 3, rng.random))
    assert [len(x) for x in parts] == [4, 4, 3]


def test_a_draft_of_other_words_is_never_accepted_and_nothing_is_lost() -> None:
    target = np.array([[0.5, 0.5, 0, 0]] * 4)
    draft = np.array([[0, 0, 0.5, 0.5]] * 4)
    rng = np.random.default_rng(0)
    parts = list(
        speculative_decoding(
            lambda t, c: (target[t], ()), lambda t, c: (draft[t], ()), BEGIN, 50, 4, rng.random
        )
    )
    assert [len(x) for x in parts] == [1] * 50
    assert {x for (x,) in parts} == {0, 1}


def test_nothing_is_written_after_the_stop() -> None:
    sure = np.roll(np.eye(5), 1, axis=1)
    parts = list(
        speculative_decoding(rows_of(sure), rows_of(sure), BEGIN, 9, 3, lambda: 0.5, stop=4)
    )
    assert parts == [[2, 3, 4]]


def test_each_pass_reads_only_what_is_new() -> None:
    """With a draft that always agrees: the words before, then one and `length` at a time."""
    read, asked = reader(reference, model(1), probabilities(reference)), []

    def noting(tokens: Any, caches: Any) -> tuple[Any, Any]:
        asked.append(len(tokens))
        return read(tokens, caches)

    rng = np.random.default_rng(0)
    list(speculative_decoding(noting, read, BEGIN, 9, 2, rng.random))
    assert asked == [4, 3, 3]


def test_a_speculation_about_nothing_is_refused() -> None:
    with pytest.raises(ValueError, match=r"^speculative_decoding: tokens must have at least 1"):
        next(speculative_decoding(None, None, BEGIN[:0], 1, 1, lambda: 0.5))  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="and length be at least 0"):
        next(speculative_decoding(None, None, BEGIN, 1, -1, lambda: 0.5))  # type: ignore[arg-type]


@pytest.mark.parametrize("who", ["target", "draft"])
@pytest.mark.parametrize("length", [1, 3])
@pytest.mark.parametrize(
    "row", [[np.nan] * 3, [0.5, np.nan, 0.5], [0, 0, 0], [-1, 1, 1], [0, np.inf, 0]]
)
def test_what_are_no_probabilities_is_never_written(
    who: str, length: int, row: list[float]
) -> None:
    """In float32 tensors too; NaN must fail the comparison that accepts a word."""
    rows = {"target": [[0.0, 0.5, 0.5]] * 3, "draft": [[0.0, 0.5, 0.5]] * 3, who: [row] * 3}
    for make in (np.array, torch.tensor):
        target, draft = (rows_of(make(rows[x])) for x in ("target", "draft"))
        with pytest.raises(ValueError, match=f"^speculative_decoding: {who} must return"):
            next(speculative_decoding(target, draft, make([1]), 6, length, lambda: 0.5))


def test_a_row_that_is_not_used_may_be_anything() -> None:
    """Of the words before only the last is asked what comes next."""
    table = np.array([[np.nan, np.nan], [0.0, 1.0]])
    parts = speculative_decoding(
        rows_of(table), rows_of(table), np.array([0, 1]), 3, 1, lambda: 0.5
    )
    assert list(itertools.chain(*parts)) == [1, 1, 1]


@pytest.mark.parametrize(("n_target", "n_draft"), [(4, 3), (3, 4)])
def test_models_of_different_words_write_nothing_together(n_target: int, n_draft: int) -> None:
    rows = (rows_of(np.full((4, n), 1 / n)) for n in (n_target, n_draft))
    with pytest.raises(ValueError, match=f"must have one vocabulary; got {n_target} and {n_draft}"):
        next(speculative_decoding(*rows, np.array([1]), 6, 2, lambda: 0.0))


@pytest.mark.parametrize("u", [np.nan, -0.1, 1.0])
def test_a_number_that_is_not_uniform_is_refused(u: float) -> None:
    with pytest.raises(ValueError, match="uniform must give numbers in"):
        next(speculative_decoding(rows_of(TARGET), rows_of(DRAFT), BEGIN, 6, 2, lambda: u))


class Read(NamedTuple):
    """A cache that says what it has read."""

    words: tuple[int, ...] = ()

    def first(self, n_tokens: int) -> "Read":
        return Read(self.words[:n_tokens])


@pytest.mark.parametrize("length", [1, 2, 4])
def test_both_models_have_read_the_text_that_stands(length: int) -> None:
    """Whatever was rejected: what each has read begins with the words that have been written."""
    rng, text, reads = np.random.default_rng(6), [*BEGIN.tolist()], []

    def reading(table: np.ndarray) -> Any:
        def read(tokens: np.ndarray, caches: Any) -> Any:
            words = (caches[0].words if caches else ()) + tuple(tokens.tolist())
            reads.append((len(text), list(words[: len(text)]) == text))
            return table[tokens], (Read(words),)

        return read

    parts = speculative_decoding(reading(TARGET), reading(DRAFT), BEGIN, 40, length, rng.random)
    for part in parts:
        text += part
    assert len({n for n, _ in reads}) < 40  # some were accepted
    assert len(text) == 42
    assert all(stands for _, stands in reads)


@LIBRARIES
def test_a_model_of_nan_writes_nothing(module: ModuleType) -> None:
    """Its words were once the first whose logit is NaN, and of a beam's none."""
    p = tree_map(lambda x: x * np.nan, model(1))
    q = p if module is reference else tree_map(torch.from_numpy, p)
    with pytest.raises(ValueError, match=r"^generate: the largest logit must be finite; got nan"):
        next(generate(module.cached_decoder, begin(module), q, LLAMA, 1))
    with pytest.raises(
        ValueError, match=r"^beam_search: log-probabilities must be below inf; got nan"
    ):
        beam_search(reader(module, p, module.log_softmax), begin(module), 1, 1)


def test_a_choice_of_no_word_is_refused() -> None:
    for word in (-1, 5):
        go_on = partial(generate, reference.cached_decoder, BEGIN, model(1), LLAMA, 1)
        with pytest.raises(
            ValueError, match=rf"choose must return a token from 0 to 4; got {word}"
        ):
            next(go_on(lambda _, word=word: word))


def test_a_beam_is_ordered_by_a_power_that_is_a_number() -> None:
    with pytest.raises(ValueError, match="beam_search: power must be finite; got nan"):
        beam_search(rows_of(np.zeros((1, 1))), np.array([0]), 1, 1, power=np.nan)


@LIBRARIES
def test_picking_is_drawing(module: ModuleType) -> None:
    rng = np.random.default_rng(0)
    row = rng.standard_normal(20)
    row[[0, 7, 19]] = -np.inf
    for u in [0.0, 1 - 2.0**-53, *rng.random(50)]:
        logits, number = np.array(row), np.array(u)
        p = reference.softmax(logits)
        if module is fast:
            logits, number, p = (torch.from_numpy(x) for x in (logits, number, p))
        assert sample_probabilities(p, u) == int(module.sample(logits, number))


@LIBRARIES
def test_a_cache_that_is_cut_is_the_one_before(module: ModuleType) -> None:
    p = model(1) if module is reference else tree_map(torch.from_numpy, model(1))
    go_on = partial(module.cached_decoder, parameters=p, configuration=LLAMA)
    words = 0 * begin(module)[:1].repeat(7) + 2
    _, caches = go_on(words)
    cut = tuple(cache.first(4) for cache in caches)
    assert cut[0].length == 4
    np.testing.assert_allclose(
        go_on(words[4:], caches=cut)[0], go_on(words)[0][4:], rtol=0, atol=1e-12
    )


@LIBRARIES
def test_a_text_is_checked_once(module: ModuleType, monkeypatch: pytest.MonkeyPatch) -> None:
    """With its prompt; a reader of another kind is called as it is, and half precision too."""
    p, checks = model(3), []
    binds = arguments.bind_all

    def counted(where: str, arrays: Any) -> Any:
        checks.append(where)
        return binds(where, arrays)

    monkeypatch.setattr(arguments, "bind_all", counted)
    tensors = p if module is reference else tree_map(torch.from_numpy, p)
    given = (begin(module), tensors, LLAMA, 5)
    words = [*generate(module.cached_decoder, *given)]
    assert checks == ["cached_decoder"]
    assert [*generate(lambda *args: module.cached_decoder(*args), *given)] == words
    assert checks == ["cached_decoder"] * 6
    half = tree_map(lambda x: x.astype(np.float16), p)
    tensors = half if module is reference else tree_map(torch.from_numpy, half)
    assert len([*generate(module.cached_decoder, begin(module), tensors, LLAMA, 5)]) == 5
    assert checks == ["cached_decoder"] * 11
    short = dataclasses.replace(p, embedding=p.embedding[:3, :5])
    tensors = short if module is reference else tree_map(torch.from_numpy, short)
    with pytest.raises(ShapeError, match=r"^cached_decoder: "):
        next(generate(module.cached_decoder, begin(module), tensors, LLAMA, 5))
