"""What `test_loop` starts in two processes: a training whose losses the first one prints."""

import os
import sys

import torch
from torch import distributed

from test_loop import batch, module
from tformer.training import Recipe, train

if __name__ == "__main__":
    torch.set_num_threads(1)
    distributed.init_process_group("gloo")
    recipe = Recipe(20, 0.01, accumulate=3, smoothing=0.1)
    for metrics in train(module(), batch, recipe, *sys.argv[1:]):
        if os.environ["RANK"] == "0":
            sys.stdout.write(f"{metrics.loss!r}\n")
    distributed.destroy_process_group()
