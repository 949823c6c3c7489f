"""Claims of chapter 16's deeper page on the real model: what is stored, held to the statements."""

from __future__ import annotations

import numpy as np

from tformer_book.chapters.ch16 import real
from tformer_book.claims.registry import claim, require


@claim(
    "exm-sliding",
    "empirical",
    mutants={
        "any far token helps as much as the first": {"name": "window and token 7"},
        "the window itself does most of the harm": {"name": "window"},
        "the first token mends it all": {"most": 0.05},
    },
    scope="the real model, eight passages, as they were measured",
)
def sliding(name: str = "window and the first token", most: float = 0.3) -> str:
    """The stored losses at late positions under three masks."""
    require(len(real.costs(name)) == 8, f"{len(real.costs(name))} passages")
    for without in ("window", "window and token 7"):
        least = real.costs(without, "late").min()
        require(least > 0.9, f"{without}: {least:.3f}")
    dearest = real.costs(name, "late").max()
    require(dearest < most, f"{name}: {dearest:.3f}")
    told = [real.costs(one, "late").mean() for one in real.WINDOWS]
    return "costs {:.2f} nats, with the first token {:.2f}, with token 7 {:.2f}".format(*told)


@claim(
    "exm-key-bits",
    "empirical",
    mutants={
        "values cost as much as keys": {"keys": "values"},
        "a scale for each channel changes nothing": {"channel": "keys"},
        "four bits by channel are enough at two bits, too": {"enough": 2},
        "channels of values differ as those of keys": {"part": "v"},
    },
    scope="the real model, eight passages, as they were measured",
)
def key_bits(
    keys: str = "keys", channel: str = "keys by channel", enough: int = 4, part: str = "k"
) -> str:
    """The stored losses with rounded keys and with rounded values."""
    for bits, times in ((4, 3), (2, 5)):
        value, key = (real.costs(f"{x}, {bits} bits") for x in ("values", keys))
        require(len(value) == 8, f"{len(value)} passages")
        least = (key / value).min()
        require(least > times, f"{bits} bits: a key costs {least:.2f} times a value at least")
    cost = abs(real.costs(f"{channel}, {enough} bits")).max()
    require(cost < 0.05, f"{channel}, {enough} bits: {cost:.3f}")
    least = real.costs("keys by channel, 2 bits").min()
    require(least > 0.5, f"2 bits by channel: {least:.3f}")
    alone = real.costs("keys, 4 bits, scale alone").min()
    require(alone > real.costs("keys, 4 bits").max(), f"a scale alone: {alone:.3f}")
    ranges = np.array(real.stored()[real.WHOLE]["ranges"][part])
    require(ranges.min() > 1.5, f"ranges of tokens over channels: {ranges.min():.2f}")
    told = [real.costs(f"{x}, 4 bits").mean() for x in ("keys", "values", "keys by channel")]
    return "four bits cost keys {:.3f} nats, values {:.3f}, keys by channel {:.3f}".format(*told)
