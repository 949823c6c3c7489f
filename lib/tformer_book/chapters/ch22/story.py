"""The storyteller's world, learnt by models with sinks, with experts, with a sliding window.

``python -m tformer_book.chapters.ch22.story FOLDER`` trains each version from several seeds, goes on
where it was stopped, and writes `story.json`.
"""

import json
import sys
from collections.abc import Iterable
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
from tformer.parameters import FeedForwardParameters, tree_map
from tformer.training import Recipe, train
from tformer_book.storyteller import stored, training
from tformer_book.storyteller.tales import Tales, parted

__all__ = ["RECIPE", "SEEDS", "VERSIONS", "WINDOW", "configuration", "run", "untrained"]

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


def _experts(wide: FeedForwardParameters, rng: np.random.Generator) -> ExpertParameters:
    """A wide feed-forward part, cut into experts, with a router drawn as its matrices are."""
    into = [
        np.stack(np.split(x, N_EXPERTS, axis=1)) for x in (wide.w_in, np.asarray(wide.w_gate))
    ]
    out = np.stack(np.split(wide.w_out, N_EXPERTS))
    router = rng.normal(0, 0.02, (len(wide.w_in), N_EXPERTS))
    return ExpertParameters(router, *into, out)


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


def run(folder: Path, version: str, seed: int) -> fast.Module:
    """The trained model: read from the folder, or trained, from its last checkpoint on."""
    module, home = untrained(version, seed), folder / f"{version}, seed {seed}"
    weights, curve = home / "weights.safetensors", home / "curve.json"
    if weights.exists():
        module.load_state_dict(load_file(weights))
        return module
    bpe = stored.tokens()
    worlds = [training.asked(bpe, world, 128) for world in parted()]
    found = json.loads(curve.read_text("utf-8")) if curve.exists() else {}
    for made in train(module, lambda step: batch(seed, step), RECIPE, home, every=EVERY):
        if made.step % EVERY == 0:
            read, unread = (training.losses(module, world) for world in worlds)
            found[str(made.step)] = {"read": read, "unread": unread}
            curve.write_text(json.dumps(found) + "\n", "utf-8")
            told = " ".join(f"{x['patient']:.4f}" for x in (read, unread))
            print(f"{version}, seed {seed}, step {made.step}: patient {told}", flush=True)
    save_file(module.state_dict(), weights)
    return module


def main(folder: Path, seeds: Iterable[int] = SEEDS) -> None:
    """Train all."""
    torch.set_num_threads(1)
    for seed in seeds:
        for version in VERSIONS:
            run(folder, version, seed)


if __name__ == "__main__":
    main(Path(sys.argv[1]), [int(x) for x in sys.argv[2:]] or SEEDS)
