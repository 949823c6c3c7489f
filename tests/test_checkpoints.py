"""A training that is killed, that finds no room or another's file: it goes on, or says why not."""

import itertools
import json
import os
import random
import resource
import shutil
import signal
import threading
import time
from collections.abc import Callable
from dataclasses import asdict
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from safetensors.torch import load_file, save_file
from safetensors.torch import save as as_bytes
from tqdm.auto import tqdm

from tformer import checksums, fast
from tformer.configuration import Configuration
from tformer.models.objectives import next_tokens
from tformer.models.sizes import Sizes, initialise
from tformer.parameters import tree_map
from tformer.training import CheckpointError, Recipe, train
from tformer.training.checkpoints import CheckpointFolder

LLAMA = Configuration(norm="rms", activation="silu", positions="rope")
RECIPE = Recipe(steps=12, rate=0.02, warmup=5, smoothing=0.1)
KILLS = 30


def module(n_vocab: int = 11) -> fast.Module:
    sizes = Sizes(n_vocab, 16, 1, 2, 32, gated=True, biased=False)
    first = initialise(sizes, LLAMA, np.random.default_rng(0), 0.1)
    tensors = tree_map(lambda x: torch.from_numpy(x.astype(np.float32)), first)
    return fast.Module(fast.decoder, tensors, configuration=LLAMA)


def batch(step: int) -> tuple[np.ndarray, ...]:
    tokens = np.random.default_rng([7, step]).integers(0, 11, (4, 9))
    tokens[:, 4:] = tokens[:, :-4]  # something to learn
    return next_tokens(tokens)


def losses(folder: Path, recipe: Recipe = RECIPE, every: int = 1) -> list[float]:
    return [metrics.loss for metrics in train(module(), batch, recipe, folder, every)]


def recorded(folder: Path) -> list[dict[str, Any]]:
    lines = (folder / "metrics.jsonl").read_text(encoding="utf-8").splitlines()
    return [json.loads(line) for line in lines]


def same_end(folder: Path, whole: Path) -> bool:
    """Whether two trainings left the same tensors and metrics, but for the time they took."""
    found, right = (load_file(x / "checkpoint.safetensors") for x in (folder, whole))
    lines = ([{**line, "seconds": 0} for line in recorded(x)] for x in (folder, whole))
    same = found.keys() == right.keys() and next(lines) == next(lines)
    return same and all(torch.equal(found[name], right[name]) for name in right)


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A training that nothing has disturbed."""
    folder = tmp_path_factory.mktemp("whole")
    losses(folder)
    return folder


def in_a_child(work: Callable[[], object], wait: Callable[[], object] | None = None) -> int:
    """Run work in a process of its own, killed after a wait; its exit status.

    It has a lock of its own for its bar: one that is shared would stay closed, for those who come
    after it and for this process, if it were killed while it holds it.
    """
    torch.set_num_threads(1)  # a pool of threads does not outlive a fork
    child = os.fork()
    if not child:
        try:
            tqdm.set_lock(threading.RLock())
            work()
            os._exit(0)
        except BaseException:
            os._exit(1)
    if wait is not None:
        wait()
        os.kill(child, signal.SIGKILL)
    return os.waitpid(child, 0)[1]


def timed(folder: Path) -> float:
    """How many seconds a whole training takes that nobody kills."""
    start = time.perf_counter()
    assert in_a_child(lambda: losses(folder)) == 0
    return time.perf_counter() - start


def reached(folder: Path, steps: int, more: float) -> None:
    """Wait until a training has recorded so many steps, and some seconds more."""
    file, late = folder / "metrics.jsonl", time.monotonic() + 60
    while steps and not (file.exists() and file.read_bytes().count(b"\n") >= steps):
        assert time.monotonic() < late, f"no {steps} steps in a minute"
    time.sleep(more)


def test_killed_at_any_instant_it_comes_to_the_same_end(whole: Path, tmp_path: Path) -> None:
    """To the last bit: parameters, moments, and the losses of all steps."""
    torch.set_num_threads(1)
    seconds, rng = min(timed(tmp_path / f"timed {i}") for i in range(3)), random.Random(0)
    halfway = 0  # how many had a checkpoint when they were killed
    for i in range(KILLS):
        folder, more = tmp_path / str(i), rng.random() * seconds / RECIPE.steps
        wait = partial(reached, folder, i * RECIPE.steps // KILLS, more)
        killed = in_a_child(lambda folder=folder: losses(folder), wait)
        halfway += killed == signal.SIGKILL and (folder / "checkpoint.safetensors").exists()
        assert in_a_child(lambda folder=folder: losses(folder)) == 0
        assert same_end(folder, whole), i
        shutil.rmtree(folder)
    assert halfway > KILLS / 3


@pytest.mark.parametrize(
    ("name", "share"), [("_write", 0.5), ("_write", 1.0), ("_sync_folder", 1.0)]
)
def test_killed_while_a_checkpoint_is_written(
    name: str, share: float, whole: Path, tmp_path: Path
) -> None:
    """The fifth: with half of its part written, with all of it, and with the part renamed."""
    torch.set_num_threads(1)
    function, calls = getattr(checksums, name), itertools.count(1)

    def dies(path: Path, *data: bytes) -> None:
        if next(calls) < 5:
            return function(path, *data)
        for some in data:
            path.write_bytes(some[: int(share * len(some))])
        return os.kill(os.getpid(), signal.SIGKILL)

    def killed() -> None:
        setattr(checksums, name, dies)
        losses(tmp_path)

    assert in_a_child(killed) == signal.SIGKILL
    assert (tmp_path / "checkpoint.safetensors.part").exists() == (name == "_write")
    assert in_a_child(lambda: losses(tmp_path)) == 0
    assert same_end(tmp_path, whole)


def test_what_is_recorded_is_what_was_yielded(tmp_path: Path) -> None:
    found = losses(tmp_path)
    assert [line["loss"] for line in recorded(tmp_path)] == found
    assert [line["step"] for line in recorded(tmp_path)] == [*range(1, 13)]
    assert losses(tmp_path) == []  # all its steps have been made


def test_a_line_that_was_cut_short_is_written_again(tmp_path: Path, whole: Path) -> None:
    training = train(module(), batch, RECIPE, tmp_path, every=4)
    assert next(m for m in training if m.step == 10)
    with (tmp_path / "metrics.jsonl").open("a", encoding="utf-8") as file:
        file.write('{"step": 11, "lo')
    assert losses(tmp_path)[0] == recorded(whole)[8]["loss"]  # from step 9 on
    assert [line["step"] for line in recorded(tmp_path)] == [*range(1, 13)]


def test_without_room_the_checkpoint_before_stays(tmp_path: Path, whole: Path) -> None:
    """Files may have no more than so many bytes: writing stops in the middle, as on a full disk."""
    size = (whole / "checkpoint.safetensors").stat().st_size
    training = train(module(), batch, RECIPE, tmp_path, every=3)
    next(m for m in training if m.step == 4)
    before = (tmp_path / "checkpoint.safetensors").read_bytes()

    def full() -> None:
        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
        resource.setrlimit(resource.RLIMIT_FSIZE, (size // 2, size // 2))
        with pytest.raises(
            CheckpointError, match=r"step 6 was not written: .*the last is that of step 3$"
        ):
            [*train(module(), batch, RECIPE, tmp_path, every=3)]

    assert in_a_child(full) == 0
    assert (tmp_path / "checkpoint.safetensors").read_bytes() == before
    assert not (tmp_path / "checkpoint.safetensors.part").exists()
    assert losses(tmp_path) == [line["loss"] for line in recorded(whole)[3:]]


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write anywhere")
def test_a_folder_that_cannot_be_written_is_named(tmp_path: Path) -> None:
    tmp_path.chmod(0o500)
    with pytest.raises(CheckpointError, match="no folder for checkpoints"):
        losses(tmp_path / "inner")


def test_a_file_in_the_place_of_a_folder_is_named(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(CheckpointError, match="no folder for checkpoints"):
        losses(tmp_path / "file")


DAMAGE: dict[str, tuple[Callable[[bytes], bytes], str]] = {
    "empty": (lambda data: b"", "cannot be read"),
    "cut": (lambda data: data[:-9], "cannot be read"),
    "longer": (lambda data: data + b"0", "cannot be read"),
    "another kind": (lambda data: b"PK\x03\x04" + data, "cannot be read"),
    "one bit": (lambda data: data[:-1] + bytes([data[-1] ^ 1]), "it is damaged"),
}


@pytest.mark.parametrize("kind", DAMAGE)
def test_a_damaged_checkpoint_is_refused_and_left(kind: str, tmp_path: Path, whole: Path) -> None:
    harm, said = DAMAGE[kind]
    shutil.copytree(whole, tmp_path, dirs_exist_ok=True)
    file = tmp_path / "checkpoint.safetensors"
    file.write_bytes(harm(file.read_bytes()))
    before = {path.name: path.read_bytes() for path in tmp_path.iterdir()}
    with pytest.raises(CheckpointError, match=f"{said}.*take another folder"):
        losses(tmp_path)
    assert before == {path.name: path.read_bytes() for path in tmp_path.iterdir()}


def test_a_checkpoint_of_another_training_is_refused(tmp_path: Path, whole: Path) -> None:
    with pytest.raises(CheckpointError, match=r"another recipe: rate is 0\.02 there, 0\.03 here"):
        losses(whole, Recipe(12, 0.03, warmup=5, smoothing=0.1))
    for other, said in [
        (module(n_vocab=9), r"embedding is \(11, 16\) there, \(9, 16\) here"),
        (torch.nn.Linear(3, 3), r"bias is absent there, \(3,\) here"),
    ]:
        before = [x.clone() for x in other.parameters()]
        with pytest.raises(CheckpointError, match=f"is of another model: .*{said}"):
            [*train(other, batch, RECIPE, whole)]
        assert all(map(torch.equal, before, other.parameters()))
    save_file({"x": torch.zeros(2)}, tmp_path / "checkpoint.safetensors")
    with pytest.raises(CheckpointError, match="cannot be read: it has no checksum"):
        losses(tmp_path)


def test_no_flipped_bit_is_gone_on_from(tmp_path: Path, whole: Path) -> None:
    """In the length of the header, in every eleventh byte of it and in some of the numbers."""
    file, rng = tmp_path / "checkpoint.safetensors", random.Random(0)
    data = (whole / "checkpoint.safetensors").read_bytes()
    head = 8 + int.from_bytes(data[:8], "little")
    folder = CheckpointFolder(tmp_path, RECIPE)
    for place in [*range(8), *range(8, head, 11), *rng.choices(range(head, len(data)), k=50)]:
        damaged = bytearray(data)
        damaged[place] ^= 1 << rng.randrange(8)
        file.write_bytes(damaged)
        with pytest.raises(CheckpointError, match=r"cannot be read: .*take another folder"):
            folder.load()
        assert file.read_bytes() == damaged


def forged(folder: Path, file: Path, **about: str) -> None:
    """A checkpoint with other metadata, whose checksum is right."""
    tensors = load_file(file)
    (folder / "checkpoint.safetensors").write_bytes(
        checksums.with_checksum(as_bytes(tensors), about)
    )


def test_metadata_are_under_the_checksum_and_of_their_type(tmp_path: Path, whole: Path) -> None:
    """A step that was changed by hand trained on to another end."""
    file = whole / "checkpoint.safetensors"
    copy = tmp_path / file.name
    data = file.read_bytes()
    assert data.count(b'"step":"12"') == 1
    copy.write_bytes(data.replace(b'"step":"12"', b'"step":"11"'))
    with pytest.raises(CheckpointError, match="it is damaged: its bytes do not match its checksum"):
        losses(tmp_path)
    recipe = json.dumps(asdict(RECIPE))
    forged(tmp_path, file, step="12", recipe=recipe)
    assert losses(tmp_path) == []
    longer = json.dumps(asdict(RECIPE) | {"more": 1})
    for about, words in [
        ({"step": "twelve", "recipe": recipe}, "has no step"),
        ({"step": "-1", "recipe": recipe}, "has no step"),
        ({"step": "13", "recipe": recipe}, "is of step 13 of 12"),
        ({"step": "12", "recipe": "{"}, "cannot be read: JSONDecodeError"),
        ({"step": "12", "recipe": "[]"}, "or no recipe"),
        ({"step": "12", "recipe": "7"}, "or no recipe"),
        ({"step": "12", "recipe": "{}"}, "another recipe: accumulate is 'no choice' there"),
        ({"step": "12", "recipe": longer}, "more is 1 there, 'no choice' here"),
        ({"step": "12"}, "cannot be read: KeyError: 'recipe'"),
        ({"recipe": recipe}, "cannot be read: KeyError: 'step'"),
    ]:
        forged(tmp_path, file, **about)
        with pytest.raises(CheckpointError, match=f"{words}.*take another folder"):
            losses(tmp_path)


def test_tensors_of_another_kind_or_name_are_refused_and_nothing_is_changed(
    tmp_path: Path, whole: Path
) -> None:
    folder = CheckpointFolder(tmp_path, RECIPE)
    there = load_file(whole / "checkpoint.safetensors")
    name = "optimiser.exp_avg.embedding"
    for changed, words in [
        ({**there, "more": torch.zeros(2)}, r"more is \(2,\) there, absent here"),
        ({**there, "optimiser.step.other": torch.zeros(())}, "optimiser.step.other is"),
        ({k: x for k, x in there.items() if k != name}, f"{name} is absent there"),
        ({**there, name: there[name][1:]}, rf"{name} is \(10, 16\) there, \(11, 16\) here"),
        ({**there, name: there[name].double()}, f"{name} is float64 there, float32 here"),
        (
            {**there, "parameters.embedding": there["parameters.embedding"].int()},
            "embedding is int32 there, float32 here",
        ),
        ({**there, "generator.cpu.0": torch.zeros(3, dtype=torch.uint8)}, "another generator"),
        ({**there, "generator.cpu.0": torch.zeros(3)}, "another generator"),
    ]:
        folder.save(12, changed)
        model = module()
        before = [x.clone() for x in model.parameters()]
        with pytest.raises(CheckpointError, match=words):
            [*train(model, batch, RECIPE, tmp_path)]
        assert all(map(torch.equal, before, model.parameters()))


@pytest.mark.parametrize("line", ["nonsense", "[]", '{"loss": 1}', '{"step": "1"}', "\udcff"])
def test_metrics_that_cannot_be_read_are_named_and_left(
    line: str, tmp_path: Path, whole: Path
) -> None:
    shutil.copytree(whole, tmp_path, dirs_exist_ok=True)
    file = tmp_path / "metrics.jsonl"
    file.write_bytes(line.encode("utf-8", "surrogateescape") + b"\n" + file.read_bytes())
    before = file.read_bytes()
    with pytest.raises(CheckpointError, match=r"metrics.jsonl cannot be read: .*move this file"):
        losses(tmp_path)
    assert file.read_bytes() == before
