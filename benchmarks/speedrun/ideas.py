"""What each idea of entry 02 gains: python benchmarks/speedrun/ideas.py

Short trainings from one seed, each with one idea left out, or another one tried.
"""

import json
import sys
import time
from dataclasses import replace
from pathlib import Path

import torch

sys.path.insert(0, str(Path(__file__).parent))

from check import losses
from parts import Plan, trained

from tformer_book.chapters.ch14 import speedrun

STEPS, SEED = 400, 1
BEST = Plan(STEPS, 4e-3, 0.06, 0.85, (24, 8), fused=True, at_once=True)
IDEAS = {
    "the plan": BEST,
    "all guesses are targets": replace(BEST, guesses=1.0),
    "rows of 128, as many tokens": replace(BEST, short=0.0, rows=(6, 6)),
    "half the steps, twice the rows": replace(BEST, steps=STEPS // 2, rows=(48, 16)),
    "rate 0.01": replace(BEST, rate=1e-2),
    "plain AdamW, drawn one by one": replace(BEST, fused=False, at_once=False),
    "bfloat16": replace(BEST, precision="bfloat16"),
    "the plan again": BEST,
}


def main() -> None:
    """Train each plan, and write what came out."""
    torch.set_num_threads(1)
    found = []
    for name, plan in IDEAS.items():
        start = time.process_time()
        parameters = trained(plan, SEED)
        seconds = time.process_time() - start
        nats = {kind: float(f"{losses(parameters)[kind]:.3g}") for kind in speedrun.LIMITS}
        found.append({"idea": name, "steps": plan.steps, "seconds": round(seconds, 1), **nats})
        print(found[-1], flush=True)
    speedrun.IDEAS.write_text(json.dumps(found, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
