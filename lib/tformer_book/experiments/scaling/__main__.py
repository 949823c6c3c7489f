"""The sweep: python -m tformer_book.experiments.scaling FOLDER, alone or under torchrun."""

import argparse
import sys
from pathlib import Path

import torch

from tformer_book.experiments.scaling.source import drawn_source
from tformer_book.experiments.scaling.sweep import SWEEPS, grid, sweep


def main() -> None:
    """Make the runs that are missing, and say what each gave."""
    asked = argparse.ArgumentParser(description=__doc__)
    asked.add_argument("folder", type=Path, help="where results go; what is there is kept")
    asked.add_argument("--plan", default="long", choices=SWEEPS, help="which runs, and how made")
    asked.add_argument("--widths", type=int, nargs="+", help="d_model of models, if others")
    asked.add_argument("--tokens", type=int, nargs="+", help="read by each of them, if others")
    asked.add_argument("--device", default="cpu", choices=("cpu", "cuda"))
    given = asked.parse_args()
    torch.set_num_threads(1)
    plans = SWEEPS[given.plan].plans
    widths = given.widths or dict.fromkeys(plan.width for plan in plans)
    tokens = given.tokens or dict.fromkeys(plan.tokens for plan in plans)
    plans = grid([*widths], [*tokens], type(plans[0]))
    for one in sweep(drawn_source(), plans, given.folder, given.device):
        sys.stdout.write(
            f"N {one.n:7d}  D {one.tokens:8d}  excess {one.excess:.4f} ± {one.error:.4f}"
            f"  {one.seconds:.1f} s\n"
        )
        sys.stdout.flush()


if __name__ == "__main__":
    main()
