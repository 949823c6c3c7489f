"""Train the forty lines of the opening page, and what a reader may change in them.

    python benchmarks/whole_machine.py            the page's machine: weights and stages, a minute
    python benchmarks/whole_machine.py variants   every variant with three seeds and more

Each variant is an edit of the forty lines, as a reader would make it. The page shows what stands in
`lib/tformer_book/chapters/ch00/results.json`; nothing here runs when the book is built.
"""

import json
import sys
from functools import partial
from pathlib import Path

import numpy as np
import torch

from tformer_book.chapters.ch00.engine import FILE, Machine, encode
from tformer_book.chapters.ch00.measure import circuit, cuts, shares
from tformer_book.chapters.ch00.stages import STAGES, stage

ROOM = Path(__file__).parents[1] / "lib/tformer_book/chapters/ch00"
FORTY = (ROOM / "minimal_gpt.py").read_text(encoding="utf-8")
RUN = FORTY.splitlines()[-1]
FEED_FORWARD = "        h = h + torch.relu(norm(h) @ A) @ B\n"
VARIANTS = {
    "as it is": (range(6), {}),
    "no feed-forward": (range(3), {FEED_FORWARD: ""}),
    "one layer": (range(3), {"layers = len(words), 19, 32, 2": "layers = len(words), 19, 32, 1"}),
    "no norm": (range(3), {"x / (x.pow(2).mean(-1, keepdim=True) + 1e-6).sqrt()": "x"}),
    "no positions": (range(3), {"E[x] + P[: x.shape[-1]]": "E[x]"}),
    "all can be dirty": (range(3), {"stories().split()": "stories(ambiguous=True).split()"}),
}


def made(edits: dict[str, str], seed: int = 0) -> dict:
    """The names that the edited forty lines define, before the line that runs them."""
    text = FORTY.replace(RUN, "").replace("default_rng(0)", f"default_rng({seed})")
    for old, new in edits.items():
        if text.count(old) != 1:
            raise ValueError(f"{old!r} stands {text.count(old)} times in the forty lines")
        text = text.replace(old, new)
    names: dict = {}
    exec(compile(text, "minimal_gpt.py", "exec"), names)
    return names


def tables(names: dict) -> list[np.ndarray]:
    """The parameters as arrays."""
    return [table.detach().numpy().copy() for table in names["parameters"]]


def machine(names: dict) -> Machine:
    """The same machine in NumPy, not rounded; of the plain forty lines alone."""
    E, P, U, *rest = tables(names)
    blocks = tuple(tuple(rest[i : i + 6]) for i in range(0, len(rest), 6))
    return Machine(names["words"], E, P, U, blocks)


def guesses(names: dict, tokens: np.ndarray) -> np.ndarray:
    """Probabilities of every next word, by the forty lines themselves."""
    with torch.no_grad():
        return torch.softmax(names["machine"](torch.tensor(tokens))[0], -1).numpy()


def the_page() -> None:
    """Write the weights and the stages of the page."""
    names, stages, losses = made({}), [], [float("nan")]
    stages.append(stage(0, machine(names), names["told"]))
    for step, loss in names["train"](1000):
        losses.append(loss)
        if step in STAGES:
            stages.append(stage(step, machine(names), names["told"]))
    text = json.dumps(encode(names["words"], tables(names)))
    (ROOM / FILE).write_text(text + "\n", encoding="utf-8")
    stored = {"losses": [round(x, 3) for x in losses[1:]], "stages": stages}
    text = json.dumps(stored, separators=(",", ":"))
    (ROOM / "stages.json").write_text(text + "\n", encoding="utf-8")


def variants() -> None:
    """Write what came out of every variant and seed, one after the other."""
    path = ROOM / "results.json"
    found = json.loads(path.read_text(encoding="utf-8")) if path.exists() else {}
    for name, (seeds, edits) in VARIANTS.items():
        for seed in seeds:
            if str(seed) in found.get(name, {}):
                continue
            names = made(edits, seed)
            losses = [loss for _, loss in names["train"](1000)]
            one = shares(partial(guesses, names), names["held_out"], names["told"])
            one["loss of the last 50 batches"] = float(np.mean(losses[-50:]))
            if name == "as it is":
                one |= circuit(machine(names), names["held_out"]) | cuts(
                    machine(names), names["held_out"]
                )
            found.setdefault(name, {})[str(seed)] = {k: round(v, 4) for k, v in one.items()}
            path.write_text(json.dumps(found, indent=1) + "\n", encoding="utf-8")
            print(name, seed, found[name][str(seed)], flush=True)


if __name__ == "__main__":
    variants() if sys.argv[1:] == ["variants"] else the_page()
