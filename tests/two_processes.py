"""What tests of the loop start in two processes: trainings, told in JSON by the first, one a line.

Of each the losses, and how many numbers of the parameters this process holds in the end.
"""

import json
import os
import sys

import torch
from torch import distributed

from test_loop import batch, module
from tformer.training import Recipe, train

if __name__ == "__main__":
    torch.set_num_threads(1)
    distributed.init_process_group("gloo")
    for asked in json.loads(sys.argv[1]):
        model, losses = module(**asked["model"]), []
        for metrics in train(model, batch, Recipe(**asked["recipe"]), **asked["options"]):
            losses.append(metrics.loss)
            if metrics.step == asked["stop"]:
                break
        held = [getattr(x, "to_local", lambda x=x: x)() for x in model.parameters()]
        if os.environ["RANK"] == "0":
            told = {"losses": losses, "held": sum(x.numel() for x in held)}
            sys.stdout.write(json.dumps(told) + "\n")
    distributed.destroy_process_group()
