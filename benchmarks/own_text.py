"""Train the book's own file on the book's prose: the record that the page "Your own text" shows.

python benchmarks/own_text.py [minutes] [folder]: one thread; goes on if the folder holds a part.
"""

import json
import sys
import time
from dataclasses import asdict
from datetime import date

import torch
from machine import describe

from tformer_book.chapters.ch00.own_text import FILE
from tformer_book.own.parts import BOOK
from tformer_book.own.text import TEMPERATURES, train_on_text

START = "The attention weights"


def main(minutes: float = 15.0, folder: str = "trained_book") -> None:
    """Train, and store the record."""
    torch.set_num_threads(1)
    began = time.process_time()
    trained = train_on_text(None, folder, file=BOOK, minutes=minutes, say=_say)
    planned, counted = trained.flops()
    losses = trained.losses
    group = max(1, len(losses) // 100)
    record = {
        "date": date.today().isoformat(),
        "machine": describe(("numpy", "torch")),
        "plan": asdict(trained.plan),
        "config": vars(trained.c),
        "parameters": trained.my.n_parameters(trained.c),
        "tokens": len(trained.corpus.tokens),
        "tokens_read": trained.plan.n_tokens,
        "bytes": len(trained.corpus.text.encode()),
        "bytes_held_out": trained.corpus.n_bytes,
        "tokens_held_out": len(trained.corpus.asked),
        "flops_planned": planned,
        "flops_counted": counted,
        "processor_seconds": round(time.process_time() - began),
        "seconds": round(sum(line["seconds"] for line in trained.lines)),
        "losses": {
            i + group: round(sum(losses[i : i + group]) / group, 4)
            for i in range(0, len(losses) - group + 1, group)
        },
        "held_out": {step: round(bits, 4) for step, bits in trained.held_out.items()},
        "baselines": {name: round(bits, 4) for name, bits in trained.baselines.items()},
        "start": START,
        "samples": {f"{t:g}": trained.write(t, 90, START) for t in TEMPERATURES},
    }
    FILE.write_text(json.dumps(record, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")


def _say(line: str) -> None:
    print(line, flush=True)


if __name__ == "__main__":
    main(*(kind(x) for kind, x in zip((float, str), sys.argv[1:], strict=False)))
