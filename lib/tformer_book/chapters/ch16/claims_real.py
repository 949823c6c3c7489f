"""Claims of chapter 16's deeper page on the real model: what is stored, held to the statements."""

from __future__ import annotations

import numpy as np

from tformer_book.chapters.ch16 import real, scalars
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
    means = "{:.2f}, {:.2f} with the first token, {:.2f} with token 7".format(*told)
    return f"a window costs more than 0.9, with the first token less than 0.3; means {means}"


@claim(
    "exm-key-bits",
    "empirical",
    mutants={
        "values need as many bits as keys": {"cheap": "keys"},
        "a scale for each channel changes nothing": {"channel": "keys"},
        "by channel, two bits are enough": {"enough": 2},
        "ranges of values differ as those of keys": {"part": "v"},
        "with a least number a key costs no more than a value": {"mean": 0.02},
    },
    scope="the real model, eight passages, as they were measured",
)
def key_bits(
    cheap: str = "values",
    channel: str = "keys by channel",
    enough: int = 4,
    part: str = "k",
    mean: float = 0.08,
) -> str:
    """The stored losses with rounded keys and with rounded values."""
    value = real.costs(f"{cheap}, 4 bits, scale alone").max()
    key = real.costs("keys, 4 bits, scale alone").min()
    require(value < 0.03 and key > 0.14, f"a scale alone: values {value:.3f}, keys {key:.3f}")
    found = [real.costs(f"{x}, 4 bits").mean() for x in ("keys", cheap)]
    require(abs(found[0] - mean) < 5e-3, f"4 bits: keys {found[0]:.4f}")
    require(abs(found[1] - 0.01) < 5e-3, f"4 bits: values {found[1]:.4f}")
    most = real.costs(f"{channel}, {enough} bits").max()
    require(most < 0.04, f"{channel}, {enough} bits: {most:.3f}")
    pairs = real.costs("keys, 2 bits"), real.costs("values, 2 bits")
    require(pairs[0].min() > 1.8, f"2 bits: keys {pairs[0].min():.3f}")
    require(pairs[1].max() < 0.35, f"2 bits: values {pairs[1].max():.3f}")
    two = real.costs("keys by channel, 2 bits")
    require(two.min() > 0.6 and two.max() < 1.1, f"2 bits by channel: {two}")
    ranges = np.array(real.stored()[real.WHOLE]["ranges"][part])
    require(len(ranges) == 8 and ranges.min() > 2.6, f"ranges: {ranges.min():.2f}")
    even = np.array(real.stored()[real.WHOLE]["ranges"]["v"])
    require(abs(even - 1).max() < 0.05, f"ranges of values: {even}")
    return (
        "values below 0.03, keys above 0.14; with a least number 0.01, 0.08, by channel 0.04; two "
        "bits 0.35, 1.8, by channel 0.6 to 1.1; ranges of keys 2.6 times, of values 1"
    )


@claim(
    "exm-scalars",
    "empirical",
    mutants={
        "NumPy saves a tenth at most": {"arrays": (1, 10)},
        "the library is as fast as NumPy written by hand": {"library": (200, 1000)},
        "a batch does not help": {"many": (1, 100)},
        "the programs learn something else": {"apart": -1.0},
    },
    scope="one machine, 40 steps, processor time in turns",
)
def counted_in_python(
    arrays: tuple[float, float] = (200, 1000),
    library: tuple[float, float] = (40, 150),
    many: tuple[float, float] = (500, 2000),
    apart: float = 1e-9,
) -> str:
    """The stored times over those of the program of single numbers; and the losses, which agree."""
    found = scalars.stored()
    base = found["plain Python"]
    ratios = []
    for name, (least, most) in zip(list(found)[1:], (arrays, library, many), strict=True):
        ratio = float(np.median(scalars.ratios(name)))
        require(least < ratio < most, f"{name}: {ratio:.0f} times")
        ratios.append(ratio)
        if "loss" in found[name]:
            gap = float(np.abs(np.subtract(found[name]["loss"], base["loss"])).max())
            require(gap < apart, f"{name}: losses differ by {gap:.1e}")
    return "NumPy {:.0f} times, the library {:.0f}, with 32 texts a step {:.0f}".format(*ratios)
