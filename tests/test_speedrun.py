"""The speed-run's check: what it refuses, what it accepts, and the table that the page prints."""

import importlib.util
import json
import math
import sys
from pathlib import Path

import numpy as np
import pytest

from tformer.models.sizes import initialise
from tformer.parameters import tree_map
from tformer_book.chapters.ch14 import speedrun
from tformer_book.storyteller import stored, training

ROOT = Path(__file__).resolve().parents[1]
HERE = ROOT / "benchmarks" / "speedrun"
HEAD = '"""A new idea."""\nfrom parts import Plan, trained\n'
LOOSE = dict.fromkeys(speedrun.LIMITS, 20.0)
ANY = 20.0, 20.0


@pytest.fixture(scope="module")
def check():
    before = [*sys.path]
    spec = importlib.util.spec_from_file_location("speedrun_check", HERE / "check.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    yield module
    sys.path[:] = before
    for name in ("machine", "parts"):
        sys.modules.pop(name, None)


@pytest.fixture
def entry(tmp_path):
    def written(body, head=HEAD):
        path = tmp_path / "05_entry.py"
        path.write_text(f"{head}\n\ndef train(seed):\n    {body}\n", "utf-8")
        return path

    return written


def first(seed, **differs):
    sizes = training.sizes(stored.tokens().n_vocab, **differs)
    drawn = initialise(sizes, training.CONFIGURATION, np.random.default_rng(seed))
    return tree_map(lambda x: x.astype(np.float32), drawn)


@pytest.fixture
def refused(check, monkeypatch, tmp_path):
    """What is said against an entry, trained in this process; all is open again afterwards."""
    for owner, name in (
        (check.Stories, "split"),
        (check.package, "load"),
        (check.teller, "load"),
    ):
        monkeypatch.setattr(owner, name, getattr(owner, name))

    def said(path):
        with pytest.raises(check.RefusedError) as error:
            check.train_here(path, 1, tmp_path / "1.safetensors")
        told = str(error.value)
        assert all(f"\n  {word}: " in told for word in ("expected", "got", "fix"))
        return told

    yield said
    check.tales.parted.cache_clear()


def test_a_tiny_run_is_accepted_and_measured(check, entry):
    path = entry("return trained(Plan(steps=101, short=0.99, rows=(1, 1)), seed)")
    record = check.checked(path, (3,), 1, LOOSE, ANY)
    (run,) = record["runs"]
    assert (record["name"], record["new"], record["missed"]) == ("05_entry", "A new idea.", [])
    assert run["seed"] == 3
    assert 0 < run["seconds"] < run["reference"]
    assert 0 < run["name again"] < 6
    assert 0 < speedrun.ratio(record) < 1


def test_an_entry_cannot_measure_itself(check, entry):
    """It trains in a process of its own, so what it does to the library stays there."""
    head = (
        f"{HEAD}from tformer_book.storyteller import training\n"
        "from tformer_book.storyteller.tales import KINDS\n"
    )
    path = entry(
        "training.losses = lambda *_: dict.fromkeys(KINDS, 0.0)\n"
        "    return trained(Plan(steps=100, rows=(1, 1)), seed)",
        head,
    )
    record = check.checked(path, (1,), 1)
    assert any(x.startswith("seed 1: cure: expected below 1e-05; got ") for x in record["missed"])
    assert any(x.startswith("seed 1: rows of 128: expected") for x in record["missed"])


@pytest.mark.parametrize(
    "use",
    [
        "from tformer_book.storyteller import load; return load().parameters",
        "from tformer_book.storyteller import stored; return stored.load().parameters",
    ],
)
def test_the_stored_weights_are_closed(refused, entry, use):
    assert "got: the stored weights" in refused(entry(use))


def test_the_held_out_tales_are_closed(refused, entry):
    use = "from tformer_book.storyteller.tales import parted; return parted()[1].texts"
    assert "got: the held-out tales" in refused(entry(use))


def test_stored_weights_read_from_their_file_are_known(check):
    several = [stored.load().parameters, first(1)]
    check.require_own(several)
    with pytest.raises(check.RefusedError, match="nearly the stored ones"):
        check.require_own([*several, check.load(stored.WEIGHTS)[0]])


def test_one_training_for_two_seeds_is_known(check):
    one, other = first(1), first(2)
    check.require_own([one, other])
    with pytest.raises(check.RefusedError, match="another seed"):
        check.require_own([one, other, tree_map(lambda x: 1.01 * x, one)])


def test_what_is_no_storyteller_is_refused(refused, entry):
    assert "got: dict" in refused(entry("return {'cure': 0.0}"))


def test_another_size_is_refused(check):
    with pytest.raises(
        check.RefusedError, match=r"the shape of embedding\n  expected: \(605, 64\)"
    ):
        check.require_storyteller(first(0, width=32))
    broken = tree_map(lambda x: math.nan * x, first(0))
    with pytest.raises(check.RefusedError, match="got: inf or NaN"):
        check.require_storyteller(broken)
    check.require_storyteller(first(0))


def test_an_entry_that_stops_is_told_where(check, entry):
    with pytest.raises(check.RefusedError, match="ZeroDivisionError"):
        check.checked(entry("return 1 / 0"), (1,), 1)


def test_seed_0_is_that_of_the_stored_weights(check, entry):
    for seeds in ((0,), (1, 1), ()):
        with pytest.raises(check.RefusedError, match="refused: the seeds"):
            check.checked(entry("return None"), seeds, 1)


def test_rows_drawn_at_once_are_tales_as_often(check):
    from parts import AtOnce, settled

    world = check.tales.parted()[0]
    several = AtOnce(stored.tokens(), world), check.tales.Tales(stored.tokens(), world)
    shares = []
    for tales in several:
        rows = tales.rows(np.random.default_rng(0), 2000, 33)
        assert rows.shape == (2000, 33)
        texts = [stored.tokens().decode(row) for row in rows.tolist()]
        assert all(text.split(".\n")[0].count(" So ") == 1 for text in texts)
        shares.append(np.bincount(rows.ravel(), minlength=605) / rows.size)
    assert np.abs(shares[0] - shares[1]).max() < 0.003
    told = stored.tokens().decode(rows[0].tolist()).split(" So ")[1].split()
    follows = rows[0, 1:][settled(rows[:1, :-1], tales.so[0])[0]].tolist()
    words = [stored.tokens().decode([x]).strip() for x in follows[:3]]
    assert words == [told[0], told[1], told[3].removesuffix(".")]


def test_a_ratio_is_of_sums_over_seeds():
    runs = [
        {"seconds": 10.0, "reference": 100.0, "name again": 1e-6, "cure": 3e-6, "patient": 1e-3},
        {"seconds": 50.0, "reference": 200.0, "name again": 2e-6, "cure": 2e-6, "patient": 2e-3},
    ]
    record = {"name": "05_entry", "runs": runs, "missed": []}
    assert speedrun.ratio(record) == pytest.approx(0.2)
    assert speedrun.worst(record) == {"name again": 2e-6, "cure": 3e-6, "patient": 2e-3}
    assert speedrun.line(record).split() == [
        "05_entry",
        "2",
        "0.20",
        "2.0e-06",
        "3.0e-06",
        "0.0020",
        "yes",
    ]
    assert speedrun.line(record | {"missed": ["cure"]}).endswith("no")


def test_other_seeds_of_an_entry_join_its_record():
    def record(name, *seeds, missed=()):
        return {"name": name, "runs": [{"seed": n} for n in seeds], "missed": [*missed]}

    old = [record("04_b", 2, 3, missed=["seed 2: cure", "seed 3: cure"])]
    both = speedrun.joined(speedrun.joined(old, record("04_b", 1, 3)), record("01_a", 1))
    assert both == [record("01_a", 1), record("04_b", 1, 2, 3, missed=["seed 2: cure"])]


def test_the_page_prints_the_table_of_the_records():
    page = json.loads((ROOT / "chapters" / "14_training_deeper.ipynb").read_text("utf-8"))
    printed = [
        "".join(output.get("text", ""))
        for cell in page["cells"]
        for output in cell.get("outputs", [])
    ]
    assert any(speedrun.table(speedrun.stored()) in text for text in printed)


def test_each_record_has_its_entry_and_was_judged_by_the_limits(check):
    for record in speedrun.stored():
        entry = HERE / "entries" / f"{record['name']}.py"
        assert check.told(entry) == record["new"]
        if not record["missed"]:
            assert all(speedrun.worst(record)[kind] < x for kind, x in speedrun.LIMITS.items())
