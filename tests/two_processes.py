"""What tests of the loop start in two processes: trainings, told in JSON by the first, one a line.

Of each the losses, and how many numbers of the parameters this process holds in the end. What no
launcher has started forks once all is imported, so that the two cost one import of PyTorch.
"""

import json
import os
import sys
import tempfile
from typing import Any

import torch
from torch import distributed, nn

import test_any_module as plain
import test_loop as ours
from tformer.training import Recipe, train


def made(seed: int | None = None, cut: bool = False, **options: Any) -> tuple[Any, Any]:
    """A model and its batches; with a seed one that draws by PyTorch's generators."""
    if seed is None:
        return plain.cut() if cut else ours.module(**options), plain.batch if cut else ours.batch
    model = plain.Plain(nn.Sequential(nn.Dropout(0.3), nn.BatchNorm1d(8)))
    torch.manual_seed(seed + distributed.get_rank())
    return model, plain.batch


def work() -> None:
    """Train what is asked for, and tell of it if this is the first process."""
    for asked in json.loads(sys.argv[1]):
        (model, batch), losses = made(**asked["model"]), []
        for metrics in train(model, batch, Recipe(**asked["recipe"]), **asked["options"]):
            losses.append(metrics.loss)
            if metrics.step == asked["stop"]:
                break
        held = [getattr(x, "to_local", lambda x=x: x)() for x in model.parameters()]
        if distributed.get_rank() == 0:
            told = {"losses": losses, "held": sum(x.numel() for x in held)}
            sys.stdout.write(json.dumps(told) + "\n")
            sys.stdout.flush()
    distributed.destroy_process_group()


if __name__ == "__main__":
    torch.set_num_threads(1)
    if distributed.is_torchelastic_launched():
        distributed.init_process_group("gloo")
        work()
        sys.exit()
    with tempfile.TemporaryDirectory() as folder:
        child = os.fork()
        distributed.init_process_group(
            "gloo", init_method=f"file://{folder}/store", rank=int(child == 0), world_size=2
        )
        work()
        if child == 0:
            os._exit(0)
        sys.exit(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
