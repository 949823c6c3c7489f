"""The storyteller's world, learnt by models with sinks, with experts, with a sliding window.

``python -m tformer_book.chapters.ch22.story FOLDER`` trains each version from several seeds, goes
on where it was stopped, and writes `story.json`.
"""

import json
import sys
from collections.abc import Iterable, Iterator
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import torch
from safetensors.torch import load_file, save_file

from tformer import fast
from tformer.layer_configuration import LayerConfiguration, LayeredConfiguration, Rotary, Routing
from tformer.layers import AttentionParameters, ExpertParameters, LayeredParameters, LayerParameters
from tformer.models.layered import layered_decoder
from tformer.models.objectives import next_tokens
from tformer.models.sizes import initialise
from tformer.parameters import tree_map
from tformer.training import Recipe, StepMetrics, train
from tformer_book.chapters.ch22 import story_reads as reads
from tformer_book.chapters.ch22.story_kept import FILE
from tformer_book.storyteller import stored, training
from tformer_book.storyteller.tales import Tales, parted

__all__ = [
    *("EVERY", "RECIPE", "SEEDS", "VERSIONS", "WINDOW"),
    *("batch", "configuration", "measured", "run", "steps", "untrained"),
]

SEEDS, RECIPE = (1, 2, 3), Recipe(steps=1600, rate=4e-3, warmup=100, fused=True)
GUESSES, SHORT = 0.06, 0.85
"""Share of targets kept where no reader can know the next word; of steps with rows of 32 tokens."""
ROWS = {32: 24, training.CONTEXT: 8}
"""Rows of a step, by their length."""
N_EXPERTS, TOP_K, WINDOW, TOO_SHORT = 4, 2, 14, 8
VERSIONS = {
    "as it is": (None, None),
    "sinks": (None, None),
    "experts": (None, None),
    "window": (WINDOW, WINDOW),
    "window, then all": (WINDOW, None),
    "too short a window": (TOO_SHORT, TOO_SHORT),
}
"""The window of each of the two layers."""
EVERY = 200
Curve = dict[str, dict[str, dict[str, float]]]
"""By step: losses of each kind of word, on pairs of nouns that are read and on others."""


def configuration(version: str) -> LayeredConfiguration:
    """What the parameters of a version do not say."""
    routing = Routing(TOP_K, renormalise=True) if version == "experts" else None
    eps = training.CONFIGURATION.eps
    one = LayerConfiguration(eps=eps, rotary=Rotary(), routing=routing)
    return LayeredConfiguration(tuple(replace(one, window=x) for x in VERSIONS[version]), eps=eps)


def untrained(version: str, seed: int) -> fast.Module:
    """A version with its first parameters: all but experts start from the same numbers."""
    sizes = training.sizes(stored.tokens().n_vocab)
    if version == "experts":  # each is half as wide as the dense part, and two are active
        sizes = replace(sizes, d_ff=N_EXPERTS * sizes.d_ff // TOP_K)
    drawn = initialise(sizes, training.CONFIGURATION, np.random.default_rng(seed))
    rng = np.random.default_rng((seed, 22))
    layers = []
    for block in drawn.blocks:
        sinks = np.zeros(sizes.n_heads) if version == "sinks" else None
        experts = _experts(block.feed_forward, rng) if version == "experts" else None
        layers.append(
            LayerParameters(
                attention=AttentionParameters(block.heads, sinks=sinks),
                feed_forward=None if experts else block.feed_forward,
                experts=experts,
                mixer_norm=block.heads_norm,
                feed_forward_norm=block.feed_forward_norm,
            )
        )
    made = LayeredParameters(drawn.embedding, tuple(layers), drawn.norm, drawn.unembedding)
    parameters = tree_map(lambda x: torch.from_numpy(x.astype(np.float32)), made)
    return fast.Module(layered_decoder, parameters, configuration=configuration(version))


def _experts(wide: Any, rng: np.random.Generator) -> ExpertParameters:
    """A wide feed-forward part, cut into experts, with a router drawn as its matrices are."""
    into = [np.stack(np.split(x, N_EXPERTS, axis=1)) for x in (wide.w_in, np.asarray(wide.w_gate))]
    out = np.stack(np.split(wide.w_out, N_EXPERTS))
    router = rng.normal(0, 0.02, (len(wide.w_in), N_EXPERTS))
    return ExpertParameters(router, into[0], into[1], out)


@cache
def batch(seed: int, step: int) -> tuple[np.ndarray, np.ndarray]:
    """Rows of tales and the words to tell, the same for every version of a seed.

    Most words of a tale are guesses; few of those are targets, and most steps read short rows
    (chapter 14's speed-run).
    """
    rng = np.random.default_rng((seed, step))
    length = 32 if step <= SHORT * RECIPE.steps else training.CONTEXT
    tales = _tales()
    given, wanted = next_tokens(tales.rows(rng, ROWS[length], length + 1))
    settled = np.zeros(given.shape, bool)
    for later in (0, 1, 3):  # name, cure and patient, after " So"
        settled[:, later:] |= given[:, : length - later] == tales.so[0]
    dropped = ~settled & (rng.random(wanted.shape) >= GUESSES)
    return given, np.where(dropped, -1, wanted)


@cache
def _tales() -> Tales:
    return Tales(stored.tokens(), parted()[0])


def steps(module: fast.Module, seed: int, folder: Path | None = None) -> Iterator[StepMetrics]:
    """Train a version; with a folder, on from its last checkpoint."""
    return train(module, lambda step: batch(seed, step), RECIPE, folder, EVERY, bar=bool(folder))


def run(folder: Path, version: str, seed: int) -> tuple[fast.Module, Curve]:
    """The trained model: read from the folder, or trained, from its last checkpoint on.

    Also returns the losses in nats every `EVERY` steps, on 128 tales of each world.
    """
    module, home = untrained(version, seed), folder / f"{version}, seed {seed}"
    weights, curve = home / "weights.safetensors", home / "curve.json"
    found: Curve = json.loads(curve.read_text("utf-8")) if curve.exists() else {}
    if weights.exists():
        module.load_state_dict(load_file(weights))
        return module, found
    bpe = stored.tokens()
    worlds = [training.asked(bpe, world, 128) for world in parted()]
    for made in steps(module, seed, home):
        if made.step % EVERY == 0:
            read, unread = (training.losses(module, world) for world in worlds)
            found[str(made.step)] = {"read": read, "unread": unread}
            curve.write_text(json.dumps(found) + "\n", "utf-8")
    save_file(module.state_dict(), weights)
    return module, found


def measured(module: fast.Module, curve: Curve, version: str) -> dict[str, Any]:
    """What is stored of a trained model: all held-out tales, and as many with pairs it has read."""
    p, c, bpe = module.tree, module.fixed["configuration"], stored.tokens()
    read, unread = (reads.tales_of(training.asked(bpe, world, 504)) for world in parted())
    cuts = {name: reads.answers(p, c, unread, of(unread)) for name, of in reads.CUTS.items()}
    found: dict[str, Any] = {
        "curve": {step: row["unread"]["patient"] for step, row in curve.items()},
        "read": reads.answers(p, c, read),
        "unread": reads.answers(p, c, unread),
        "cuts": {name: one["right"]["patient"] for name, one in cuts.items()},
        "sinks": reads.sinks(p, c, unread),
    }
    return found | ({"experts": reads.experts(p, c, unread)} if version == "experts" else {})


def main(folder: Path, seeds: Iterable[int] = SEEDS) -> None:
    """Train all, and write what is measured when all seeds are there."""
    torch.set_num_threads(1)
    models = {(seed, version): run(folder, version, seed) for seed in seeds for version in VERSIONS}
    if tuple(seeds) == SEEDS:
        found = {
            version: [measured(*models[seed, version], version) for seed in seeds]
            for version in VERSIONS
        }
        FILE.write_text(written(found), "utf-8")


def written(found: dict[str, list[dict[str, Any]]]) -> str:
    """JSON with a line for each model, numbers to four digits."""
    short = json.loads(json.dumps(found), parse_float=_short)
    versions = [
        f"{json.dumps(version)}: [\n" + ",\n".join(map(json.dumps, several)) + "\n]"
        for version, several in short.items()
    ]
    return "{\n" + ",\n".join(versions) + "\n}\n"


def _short(number: str) -> float:
    return float(f"{float(number):.4g}")


if __name__ == "__main__":
    main(Path(sys.argv[1]), [int(x) for x in sys.argv[2:]] or SEEDS)
