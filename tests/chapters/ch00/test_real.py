"""The real model on the page of one view: its runs made again, and what is said of its arrays."""

import copy
import json
import re
from base64 import b64decode
from typing import Any

import numpy as np
import pytest

from chapters.ch00.test_view import place_of
from tformer import pretrained, reference
from tformer.models.known import LLAMA, SMOL
from tformer.models.pretrained import PretrainedModel, from_checkpoint
from tformer.models.sizes import count_parameters
from tformer.parameters import named_leaves
from tformer_book.chapters.ch00 import real
from tformer_book.chapters.ch00.real_parts import MEASURED, PARTS, total
from tformer_book.chapters.ch00.real_view import RealView
from tformer_book.chapters.ch08 import real as residual
from tformer_book.chapters.ch10 import real as whole
from tformer_book.chapters.ch17 import left_out, parked, patterns
from tformer_book.chapters.ch17 import real as heads

FOUND = real.stored()
LAST = SMOL.n_layers - 1
PLACES = [(name, t) for name, rows in FOUND["texts"].items() for t in range(len(rows))]
LEAVES = {"E": "embedding", "W_Q": "heads.w_q", "W_K": "heads.w_k", "W_V": "heads.w_v"}
LEAVES |= {"W_O": "heads.w_o", "gate": "feed_forward.w_gate", "W_in": "feed_forward.w_in"}
LEAVES |= {"W_out": "feed_forward.w_out"}

# ---- what is stored -----------------------------------------------------------------------


def steps(row: dict[str, Any]) -> np.ndarray:
    """The attention weights of a row, in steps."""
    return np.frombuffer(b64decode(row["weights"]), np.uint8).astype(int)


def surely_named(run: dict[str, Any], row: dict[str, Any], sure: np.ndarray) -> list[str]:
    """The words of the lens at places that no rounding exchanges."""
    return np.array([run["words"][i] for i in row["lens"]])[sure].tolist()


def differences(again: dict[str, Any], kept: dict[str, Any], name: str) -> list[str]:
    """What differs in the tokens of a text by more than other float32 sums and rounding explain."""
    found = []
    for t, places in enumerate(zip(again["texts"][name], kept["texts"][name], strict=True)):
        one, other = (run["rows"][i] for run, i in zip((again, kept), places, strict=True))
        falls = -np.diff(np.reshape(other["p"], (-1, real.BEST)), prepend=1009, append=0)
        sure = (falls[:, :-1] > 4) & (falls[:, 1:] > 4)
        parts = {
            "token": one["token"] == other["token"],
            "norms": np.allclose(one["norms"], other["norms"], rtol=2e-3),
            "p": np.allclose(one["p"], other["p"], rtol=0, atol=2),
            "lens": surely_named(again, one, sure.ravel())
            == surely_named(kept, other, sure.ravel()),
            "weights": np.allclose(steps(one), steps(other), rtol=0, atol=1),
        }
        found += [f"{part} {t}" for part, same in parts.items() if not same]
    return found


@pytest.fixture(scope="module")
def model(checkpoint: pretrained.Checkpoint) -> PretrainedModel:
    return from_checkpoint(checkpoint)


def test_a_text_is_read_again_as_stored(model: PretrainedModel) -> None:
    assert differences(real.measured(model, ["France"]), FOUND, "France") == []


def test_the_library_without_hooks_gives_the_same_norms_and_answer(model: PretrainedModel) -> None:
    tokenizer, p, c = model
    tokens = np.array(tokenizer.encode(real.TEXTS["a repeat"]))
    waves = reference.sinusoidal(np.arange(len(tokens)), SMOL.head_width, c.base)
    x = reference.embedding(tokens, p.embedding)
    for i, block in enumerate(p.blocks):
        x = reference.block(x, block, c, sinusoids=waves, causal=True)
        norms = [real.seen("a repeat", t, i)["norms"]["after"] for t in range(len(tokens))]
        np.testing.assert_allclose(norms, np.linalg.norm(x, axis=-1), rtol=2e-3, err_msg=f"{i}")
    chances = reference.softmax(reference.decoder(tokens, p, c))
    for t, row in enumerate(chances):
        said = real.seen("a repeat", t, LAST)["lens"]
        np.testing.assert_allclose([p for _, p in said], np.sort(row)[:-6:-1], atol=1.5e-3)
        assert row[tokenizer.encode(said[0][0], control=False)].item() > row.max() - 1e-3


def test_tokens_before_the_adjective_are_stored_once_as_the_mask_allows(
    model: PretrainedModel,
) -> None:
    tired, wide = FOUND["texts"]["tired"], FOUND["texts"]["wide"]
    assert tired[:-1] == wide[:-1]
    assert tired[-1] != wide[-1]
    alone = real.measured(model, ["wide"])
    assert len(alone["rows"]) == 12
    assert differences(alone, FOUND, "wide") == []


@pytest.mark.parametrize(
    ("part", "change"),
    [
        ("norms", lambda row: row["norms"].__setitem__(40, 1.01 * row["norms"][40])),
        ("p", lambda row: row["p"].__setitem__(0, row["p"][0] + 4)),
        ("lens", lambda row: row.update(lens=row["lens"][real.BEST :] + row["lens"][: real.BEST])),
        ("weights", lambda row: row.update(weights="AAAA" + row["weights"][4:])),
        ("token", lambda row: row.update(token=" was")),
    ],
)
def test_a_wrong_number_in_the_file_is_noticed(part: str, change: Any) -> None:
    broken = copy.deepcopy(FOUND)
    change(broken["rows"][FOUND["texts"]["France"][3]])
    assert differences(FOUND, FOUND, "France") == []
    assert differences(FOUND, broken, "France") == [f"{part} 3"]


def test_the_file_is_small_and_its_numbers_fit_together() -> None:
    assert real.FILE.stat().st_size < 150_000
    assert real.written(FOUND) == real.FILE.read_text("utf-8")
    assert json.loads(real.written(FOUND)) == FOUND
    for name, t in PLACES:
        row = FOUND["rows"][FOUND["texts"][name][t]]
        for block in range(SMOL.n_layers):
            here = real.seen(name, t, block)
            assert here["weights"].shape == (SMOL.n_heads, t + 1)
            np.testing.assert_allclose(here["weights"].sum(-1), 1, atol=(t + 1) / 2 / real.STEPS)
            norms = here["norms"]
            for before, added, after in (
                ("before", "attention", "between"),
                ("between", "feed_forward", "after"),
            ):
                # Norms are rounded to four digits, so those of 22,710 to 5.
                low, high = abs(norms[before] - norms[added]), norms[before] + norms[added]
                assert low - 10 <= norms[after] * (1 + 1e-3)
                assert norms[after] <= high * (1 + 1e-3)
            chances = [p for _, p in here["lens"]]
            assert chances == sorted(chances, reverse=True)
            assert sum(chances) < 1.003
        assert len(row["lens"]) == real.BEST * (SMOL.n_layers + 1)


# ---- arrays and what is said ----------------------------------------------------------------


def test_parameters_are_counted_from_the_sizes_and_are_those_of_the_model() -> None:
    assert total() == count_parameters(SMOL, LLAMA) == whole.stored()["parameters"]
    assert total(1) == (total() - total(0) - total(2)) / SMOL.n_layers


def test_shapes_of_parameters_are_those_of_the_model(model: PretrainedModel) -> None:
    leaves = {name: x.shape for name, x in named_leaves(model.parameters)}
    counted = []
    for part in PARTS:
        for key, shape in part["tables"].items():
            name = LEAVES.get(key, "norm.gain" if part["group"] == 2 else None)
            if name is None:
                name = "feed_forward_norm.gain" if "feed" in part["name"] else "heads_norm.gain"
            name = f"blocks.7.{name}" if part["group"] == 1 else name
            assert list(leaves[name]) == shape, name
            counted.append(name)
    rest = {name for name in leaves if not name.startswith("blocks.") or ".7." in name}
    assert sorted(counted) == sorted(rest)


WEIGHTS, FED, AFTER = (
    "attention weights",
    "change by feed-forward",
    "residual stream after the block",
)


def told(name: str, block: int) -> str:
    """What is said of an array in a block."""
    (part,) = (one for one in PARTS if one["name"] == name)
    here = [one for one in part["said"] if one["blocks"][0] <= block <= one["blocks"][1]]
    return " ".join(one["said"] for one in here)


def numbers(name: str, block: int) -> list[float]:
    """The decimal numbers in it."""
    return [float(number) for number in re.findall(r"\d+\.\d+", told(name, block))]


def test_what_is_said_of_blocks_and_norms_was_measured() -> None:
    for block, cost in enumerate(left_out.costs().mean(axis=0)):
        assert numbers(AFTER, block)[0] == pytest.approx(cost, abs=5.001e-3)
    renamed = left_out.stored()["renamed"]
    low, high = numbers(AFTER, LAST)[1:]
    assert low < min(renamed) <= max(renamed) <= high
    losses = residual.stored()["mistakes"]
    for name in ("normed vectors, for attention", "normed vectors, for feed-forward"):
        want = [losses["as it is"], losses["LayerNorm"]]
        assert numbers(name, 3) == pytest.approx(want, abs=5.001e-3)
    lens = np.array(heads.stored()["lens"]["real"][1:])
    assert sum(lens > np.log(SMOL.n_vocab)) > 20


def test_what_is_said_of_patterns_was_measured() -> None:
    (mean, even) = (
        [patterns.costs(kind, f"blocks {at}") for at in ("0 to 9", "10 to 19", "20 to 29")]
        for kind in patterns.KINDS
    )
    (least,) = numbers(WEIGHTS, 5)
    assert min(mean[0].min(), even[0].min()) > least
    most, least = numbers(WEIGHTS, 10)
    assert mean[1].max() < most < least < even[1].min()
    low, high, least, sink = numbers(WEIGHTS, LAST)
    assert low < mean[2].min() < mean[2].max() < high < least < even[2].min()
    assert min(min(row[12:]) for row in heads.stored()["sinks"]["first"]) > sink


def test_what_is_said_of_heads_was_measured() -> None:
    found = heads.stored()["induction"]
    ranked = {(block, head): score for block, head, score in found["found"]["previous"]}
    repeat = np.mean(found["whole"]["repeat"])
    saved = np.mean(found["whole"]["first"]) - repeat
    for one in found["previous"]:
        ((block, head),) = one["heads"]
        said, more = told(WEIGHTS, block), np.mean(one["repeat"]) - repeat
        assert f"Head {head} attends to the previous token" in said
        assert f"score {ranked[block, head]:.2f}." in said
        assert "most of what" in said if more > saved / 2 else f"only {more:.2f} nats" in said
    four = sorted(f"{block}.{head}" for block, head in found["induction"]["heads"])
    for block in (17, 18):
        assert re.findall(r"1[78]\.\d", told(WEIGHTS, block)) == four
    lost = np.mean(found["induction"]["repeat"]) - repeat
    assert lost / saved == pytest.approx(0.8, abs=0.05)


def test_what_is_said_of_the_sink_was_measured() -> None:
    assert numbers(FED, 10) == [0.02]
    assert abs(parked.costs(parked.CHANGES[3])).max() < 0.02
    least, most = numbers(FED, 11)
    assert parked.costs(parked.UNWRITTEN).min() > least
    assert max(parked.stored()[parked.UNWRITTEN]["0"]) < most
    assert "below 900 up to block 10, and above 17,000" in told(AFTER, 11)
    norms = np.array(parked.stored()[parked.WHOLE]["norms"])[:, :, 0]
    assert norms[:, :11].max() < 900 < 17_000 < norms[:, 11].min()


def test_what_is_measured_has_a_source_and_links_lead_somewhere() -> None:
    for part in PARTS:
        assert place_of(f"{part['page']}.html")
        for one in part["said"]:
            assert bool(one["source"]) or one["status"] != MEASURED
            assert not one["source"] or place_of(one["source"]), one["source"]


def test_each_block_has_something_said_of_each_of_its_arrays() -> None:
    for part in PARTS:
        for block in range(SMOL.n_layers if part["group"] == 1 else 1):
            assert told(part["name"], block), (part["name"], block)


# ---- the figure -----------------------------------------------------------------------------


def test_it_says_in_words_what_it_shows() -> None:
    assert repr(RealView(block=LAST)).endswith("' Paris' 0.773; in the end ' Paris' 0.773")
    later = RealView(text="France", token=11)
    assert repr(later) == repr(RealView())
    assert RealView().fallback().count("<li>") == len(PARTS)


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"text": "Spain"}, "text must be one of France, tired, .*; got 'Spain'"),
        ({"token": 12}, "token must be -1 to 11; got 12"),
        ({"block": -1}, "block must be 0 to 29; got -1"),
        ({"part": 16}, "part must be -1 to 15; got 16"),
    ],
)
def test_it_refuses_in_words(change: dict, words: str) -> None:
    with pytest.raises(ValueError, match=words):
        RealView(**change)
