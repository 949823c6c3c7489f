"""What a sweep says: python -m tformer_book.experiments.scaling.report FOLDER [--plan NAME].

The law of the runs that a sweep has left in a folder; then a larger run, predicted before it is
made.
"""

import argparse
import sys
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import torch

from tformer_book.experiments.scaling.law import bootstrap, ends, explained, fit, predict, read
from tformer_book.experiments.scaling.source import Source, drawn_source
from tformer_book.experiments.scaling.sweep import SWEEPS, Plan, sweep

__all__ = ["report"]


def report(source: Source, folder: Path, plan: Plan, times: int = 200) -> Iterator[str]:
    """Lines: the law, its intervals, what it says of one more run, and what that run gives.

    Parameters
    ----------
    source : Source
    folder : path
        Where a sweep has written `runs.csv`. The run goes into a folder of its own in it.
    plan : Plan
        Of the run; what the law says comes before it is trained.
    times : int
        How many bootstraps.
    """
    runs = read(folder / "runs.csv")
    law = fit(runs, floor=0.0)
    laws = bootstrap(runs, times, np.random.default_rng(0), floor=0.0)
    a, b = law.a / 1e4**law.alpha, law.b / 1e6**law.beta
    yield (
        f"{len(runs.n)} runs: excess {a:.4f} (N/1e4)^-{law.alpha:.2f}"
        f" + {b:.4f} (D/1e6)^-{law.beta:.2f}"
    )
    for name in ("alpha", "beta", "share"):
        low, high = ends(laws, name)
        said = "best N grows as C to the" if name == "share" else name
        yield f"{said} {getattr(law, name):.2f}, 95 % from {low:.2f} to {high:.2f}"
    misses = abs(np.log(runs.loss / law.loss(runs.n, runs.d)))
    half, most = np.expm1([np.median(misses), misses.max()])
    square = explained(law, runs)
    yield f"R² of logarithms {square:.4f}; half within {half:.1%}, all within {most:.1%}"
    middle = float(law.loss(plan.n, plan.tokens))
    low, high = predict(laws, runs, plan.n, plan.tokens, np.random.default_rng(1))
    yield (
        f"N {plan.n}, D {plan.tokens}, not looked at yet: predicted {middle:.4f},"
        f" 95 % from {low:.4f} to {high:.4f}"
    )
    for _ in sweep(source, [plan], folder / "heldout"):
        pass
    loss = float(read(folder / "heldout" / "runs.csv").loss[0])
    where = "inside" if low < loss < high else "outside"
    yield f"measured {loss:.4f}, {loss / middle - 1:+.1%} of the prediction: {where}"


def main() -> None:
    """Print the report of a folder, line by line."""
    asked = argparse.ArgumentParser(description=__doc__)
    asked.add_argument("folder", type=Path, help="where the sweep has left its runs")
    asked.add_argument("--plan", default="long", choices=SWEEPS, help="whose run is predicted")
    given = asked.parse_args()
    torch.set_num_threads(1)
    for line in report(drawn_source(), given.folder, SWEEPS[given.plan].held_out):
        sys.stdout.write(f"{line}\n")
        sys.stdout.flush()


if __name__ == "__main__":
    main()
