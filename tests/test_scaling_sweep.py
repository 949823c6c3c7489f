"""The source and its exact numbers; a sweep that is shared out, killed and gone on with."""

import json
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from every import every
from tformer.models.sizes import initialise
from tformer.parameters import named_leaves
from tformer_book.experiments.scaling import sweep as module
from tformer_book.experiments.scaling.law import fit, read
from tformer_book.experiments.scaling.report import report
from tformer_book.experiments.scaling.source import Source, drawn_source
from tformer_book.experiments.scaling.sweep import (
    LENGTH,
    SWEEPS,
    Plan,
    QuickPlan,
    grid,
    made,
    share,
    sweep,
)
from tformer_book.experiments.threads import one_thread

SOURCE = drawn_source()
SMALL = Source(np.array([[0.7, 0.2, 0.1], [0.1, 0.1, 0.8], [0.3, 0.3, 0.4]]))
SWEEP = SWEEPS["long"].plans
PLANS = [Plan(4, 1024), Plan(8, 512), Plan(4, 512, seed=1)]


def test_frequencies_and_entropy_are_those_of_long_texts() -> None:
    np.testing.assert_allclose(SMALL.frequencies @ SMALL.chances, SMALL.frequencies, atol=1e-12)
    text = SMALL.draw(np.random.default_rng(0), 500, 200)
    comes = np.bincount(text.ravel(), minlength=3) / text.size
    np.testing.assert_allclose(comes, SMALL.frequencies, atol=5e-3)
    pairs = np.zeros((3, 3))
    np.add.at(pairs, (text[:, :-1].ravel(), text[:, 1:].ravel()), 1)
    np.testing.assert_allclose(pairs / pairs.sum(axis=1, keepdims=True), SMALL.chances, atol=0.01)
    surprise = -np.log(SMALL.chances[text[:, :-1], text[:, 1:]]).mean()
    assert surprise == pytest.approx(SMALL.entropy, abs=5e-3)


def test_texts_begin_as_they_go_on() -> None:
    first = SMALL.draw(np.random.default_rng(1), 40000, 1)[:, 0]
    np.testing.assert_allclose(np.bincount(first) / 40000, SMALL.frequencies, atol=0.01)


def test_excess_is_what_a_model_loses() -> None:
    contexts = np.arange(3)
    right = SMALL.excess(contexts, np.log(SMALL.chances))
    np.testing.assert_allclose(right, 0, atol=1e-15)
    lost = SMALL.frequencies @ SMALL.excess(contexts, np.full((3, 3), -np.log(3)))
    assert lost == pytest.approx(np.log(3) - SMALL.entropy)


def test_the_source_is_bent_as_it_says() -> None:
    logits = np.log(SOURCE.chances) + np.log(np.arange(1, 257))
    bent = logits - logits.mean(axis=1, keepdims=True)
    values = np.linalg.svd(bent, compute_uv=False)
    assert values[:20] / values[0] == pytest.approx(np.arange(1, 21) ** -0.8, rel=0.15)
    assert (bent**2).mean() ** 0.5 == pytest.approx(1.5, rel=0.05)
    assert pytest.approx(3.5617, abs=1e-4) == SOURCE.entropy


@every(
    "chances",
    [
        np.full((2, 3), 1 / 3),
        np.array([[1.0, 0.0], [0.5, 0.5]]),
        np.array([[0.5, 0.4], [0.5, 0.5]]),
    ],
)
def test_what_is_no_source_is_refused(chances: np.ndarray) -> None:
    with pytest.raises(ValueError, match="Source: "):
        Source(chances)


def test_the_plan_counts_what_the_model_has() -> None:
    assert {plan.n for plan in SWEEP} == {384, 1536, 6144, 24576, 98304, 221184}
    for plan in SWEEP[::4]:
        drawn = initialise(plan.sizes, module.CONFIGURATION, np.random.default_rng(0))
        sizes = [x.size for name, x in named_leaves(drawn) if name.split(".")[-1][:2] == "w_"]
        assert sum(sizes) == plan.n
    wide = SWEEP[-1]
    assert wide.flops > 6 * wide.n * wide.tokens
    assert replace(wide, tokens=2 * wide.tokens).flops == 2 * wide.flops


@every("size", [1, 2, 3, 30])
def test_processes_share_the_runs_out(size: int) -> None:
    for plans, _ in SWEEPS.values():
        shares = [share(plans, rank, size) for rank in range(size)]
        assert sorted(p.name for one in shares for p in one) == sorted(p.name for p in plans)
        loads = [sum(plan.cost for plan in one) for one in shares]
        assert max(loads) <= 4 / 3 * max(sum(loads) / size, *(plan.cost for plan in plans))


def test_the_quick_sweep_makes_as_many_steps_in_each_run() -> None:
    plans, out = SWEEPS["quick"]
    assert len(plans) == len({(plan.n, plan.tokens) for plan in plans}) == 24
    assert len({plan.n for plan in plans}) == 6
    for plan in (*plans, out):
        assert plan.steps == 512
        assert plan.steps * plan.batch * LENGTH == plan.tokens
        assert plan.recipe.fused
    assert sum(plan.flops for plan in plans) < sum(plan.flops for plan in SWEEP) / 5
    assert out.n > max(plan.n for plan in plans)
    assert out.flops > max(plan.flops for plan in plans)
    assert not {plan.name for plan in plans} & {plan.name for plan in grid((4, 8), (2**16, 2**18))}


def test_texts_that_are_drawn_ahead_are_those_of_their_step() -> None:
    plan = Plan(4, 2**18)
    batch = module._batches(SMALL, plan)
    for step in (1, 15, 16, 17, 40, 16):
        rng = np.random.default_rng([plan.seed, step])
        text = SMALL.draw(rng, plan.batch, LENGTH + 1)
        for found, stated in zip(batch(step), (text[:, :-1], text[:, 1:]), strict=True):
            np.testing.assert_array_equal(found, stated)


def test_who_has_the_dearest_run_has_no_other() -> None:
    plans = [*grid((4, 8), (512, 1024)), Plan(96, 2**20)]
    assert [plan.width for plan in share(plans, 0, 2)] == [96]
    assert len(share(plans, 1, 2)) == 4


def test_a_process_that_ends_first_writes_no_table(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("WORLD_SIZE", "2")
    for rank in ("1", "0"):
        assert not (tmp_path / "runs.csv").exists()
        monkeypatch.setenv("RANK", rank)
        assert [*sweep(SOURCE, PLANS, tmp_path)]
    assert len(read(tmp_path / "runs.csv").n) == 3


def test_a_sweep_goes_on_where_it_was_left(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("RANK", "WORLD_SIZE"):
        monkeypatch.delenv(name, raising=False)
    whole = [*sweep(SOURCE, PLANS, tmp_path / "whole")]
    assert len(whole) == 3
    left = sweep(SOURCE, PLANS, tmp_path / "left")
    next(left)
    left.close()
    assert not (tmp_path / "left" / "runs.csv").exists()
    assert len([*sweep(SOURCE, PLANS, tmp_path / "left")]) == 2
    assert [*sweep(SOURCE, PLANS, tmp_path / "left")] == []
    runs, again = (read(tmp_path / name / "runs.csv") for name in ("whole", "left"))
    assert [list(x) for x in runs] == [list(x) for x in again]
    assert [*runs.d] == [1024, 512, 512]
    assert not [*(tmp_path / "left").glob("w*/")]


def test_a_quick_run_that_was_killed_goes_on_to_the_same_numbers(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    plan = QuickPlan(4, 2**14)
    whole = made(SOURCE, plan, tmp_path / "whole")
    steps = module.train

    def killed(*arguments: object, **options: object) -> Iterator[object]:
        for one in steps(*arguments, **options):  # type: ignore[arg-type]
            if one.step == 300:
                raise KeyboardInterrupt
            yield one

    monkeypatch.setattr(module, "train", killed)
    with pytest.raises(KeyboardInterrupt):
        made(SOURCE, plan, tmp_path / "killed")
    monkeypatch.setattr(module, "train", steps)
    again = made(SOURCE, plan, tmp_path / "killed")
    lines = (tmp_path / "killed" / "metrics.jsonl").read_text("utf-8").splitlines()
    assert [json.loads(line)["step"] for line in lines] == [*range(1, 513)]
    assert replace(again, seconds=0) == replace(whole, seconds=0)


def test_two_processes_make_the_runs_of_one(tmp_path: Path) -> None:
    """By PyTorch's own launcher."""
    command = [sys.executable, "-m", "torch.distributed.run", "--standalone", "--nproc-per-node=2"]
    asked = ["-m", "tformer_book.experiments.scaling", tmp_path / "two", "--widths", "4", "8"]
    ran = subprocess.run(
        [*command, *asked, "--tokens", "512", "2048"], capture_output=True, text=True, timeout=300
    )
    assert ran.returncode == 0, ran.stderr[-3000:]
    assert len(ran.stdout.splitlines()) == 4
    with one_thread():
        assert len([*sweep(SOURCE, grid((4, 8), (512, 2048)), tmp_path / "one")]) == 4
    one, two = (read(tmp_path / name / "runs.csv") for name in ("one", "two"))
    assert [list(x) for x in one] == [list(x) for x in two]


def test_a_run_learns_and_says_how_far_it_is(tmp_path: Path) -> None:
    short, long = (made(SOURCE, Plan(8, n), tmp_path / str(n)) for n in (512, 16384))
    assert short.excess > long.excess > 10 * long.error
    assert long.n == 2 * 12 * 64
    assert json.dumps(long.__dict__)


def test_the_table_is_what_a_fit_takes(tmp_path: Path) -> None:
    n, d = np.meshgrid([384.0, 6144.0, 98304.0], [2.0**16, 2.0**18, 2.0**20])
    excess = 20 * n**-0.7 + 300 * d**-0.65
    rows = zip(n.flat, d.flat, excess.flat, strict=True)
    lines = [",".join(map(str, row)) for row in rows]
    (tmp_path / "runs.csv").write_text("# by hand\nn,tokens,excess\n" + "\n".join(lines))
    law = fit(read(tmp_path / "runs.csv"), floor=0.0)
    assert (law.alpha, law.beta) == pytest.approx((0.7, 0.65), rel=1e-4)


def test_what_is_reported_is_the_law_and_a_run_after_its_prediction(tmp_path: Path) -> None:
    """Runs that miss a law by a twentieth; the one that is held out is trained."""
    n, d = np.meshgrid([384.0, 1536.0, 6144.0], [2.0**10, 2.0**11, 2.0**12])
    excess = 0.03 * (n / 1e4) ** -0.7 + 0.05 * (d / 1e6) ** -0.4
    excess *= 1.05 ** np.array([[0, 1, -1], [-1, 0, 1], [1, -1, 0]])
    rows = zip(n.flat, d.flat, excess.flat, strict=True)
    lines = [",".join(map(str, row)) for row in rows]
    (tmp_path / "runs.csv").write_text("# by hand\nn,tokens,excess\n" + "\n".join(lines))
    runs = read(tmp_path / "runs.csv")
    law, plan = fit(runs, floor=0.0), Plan(4, 512)
    said = report(SOURCE, tmp_path, plan, times=20)
    before = [next(said) for _ in range(6)]
    assert f"^-{law.alpha:.2f}" in before[0]
    assert f"^-{law.beta:.2f}" in before[0]
    assert before[1].startswith(f"alpha {law.alpha:.2f}, 95 % from ")
    assert before[2].startswith(f"beta {law.beta:.2f}, 95 % from ")
    logs, off = np.log(runs.loss), np.log(runs.loss / law.loss(runs.n, runs.d))
    square = 1 - (off**2).mean() / logs.var()
    assert f"R² of logarithms {square:.4f}" in before[4]
    assert f"all within {np.expm1(abs(off).max()):.1%}" in before[4]
    assert f"not looked at yet: predicted {law.loss(384, 512):.4f}" in before[5]
    assert not (tmp_path / "heldout").exists()
    (after,) = said
    found = read(tmp_path / "heldout" / "runs.csv").loss[0]
    low, high = (float(x) for x in before[5].split("from ")[1].split(" to "))
    assert after.startswith(f"measured {found:.4f}, {found / law.loss(384, 512) - 1:+.1%}")
    assert after.endswith("inside" if low < found < high else "outside")
