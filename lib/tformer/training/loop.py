"""The loop: one recipe, one model, on one process or on several, killed and gone on with."""

import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, nullcontext
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import torch
from torch import Tensor, nn
from torch import distributed as processes
from torch.nn import functional
from torch.nn.parallel import DistributedDataParallel
from torch.nn.utils import clip_grad_norm_
from tqdm.auto import tqdm

from tformer import fast
from tformer.fast.stacks import override_block
from tformer.training import sharding
from tformer.training.batches import require_batch, require_logits
from tformer.training.checkpoints import CheckpointFolder
from tformer.training.dropout import sample_dropout_masks
from tformer.training.modules import (
    data_parallel_wrapper,
    decayed_names,
    is_compiled,
    named_parameters,
    require_no_shared_storage,
    unwrap,
)
from tformer.training.recipe import Recipe, learning_rate_at
from tformer.training.state import capture_state, restore

__all__ = ["StepMetrics", "train"]

Batch = Callable[[int], tuple[np.ndarray, ...]]


class StepMetrics(NamedTuple):
    """What is known of a step.

    Attributes
    ----------
    step : int
        From 1.
    loss : float
        Mean over the targets of the batch, in nats, before the step.
    rate : float
        The learning rate.
    norm : float
        Length of the gradients, as one vector, before they are clipped. In "float16" it may be
        infinite or NaN: that step is left out, and losses are scaled less from there on.
    n_targets : int
        How many targets the batch had.
    seconds : float
        What the step took.
    """

    step: int
    loss: float
    rate: float
    norm: float
    n_targets: int
    seconds: float


def train(
    module: nn.Module,
    batch: Batch,
    recipe: Recipe,
    folder: Path | str | None = None,
    every: int = 100,
    bar: bool = False,
    sharded: bool = False,
) -> Iterator[StepMetrics]:
    """Train a model; what is known of each step comes after it.

    Under `torchrun` every process reads its share of each batch, and the losses are those of one
    process. With a folder the training is gone on with where it was left, killed or not. A batch is
    a function of its step; parameters, moments, buffers and the state of PyTorch's generators are
    in the checkpoint. So a step that was made after the last one is made again, to the same
    numbers.

    If the configuration of a `fast.Module` has a share of dropout, masks are drawn for each row
    from the recipe's seed, the step and the row. What another module draws by PyTorch's generators
    depends on the number of processes.

    Parameters
    ----------
    module : nn.Module
        Such as ``fast.Module(fast.decoder, parameters, configuration=…)``: it takes what a batch
        has before its targets and gives logits, (B, T, N). Its parameters are changed. Those of two
        axes or more decay, whatever they are called, but no biases and places of a `fast.Module`.
        It may be compiled, or in a `DistributedDataParallel`; names are those without. What it
        keeps elsewhere than in parameters and buffers of its state dict, no checkpoint holds.
    batch : callable
        Takes a step and gives its arrays, the targets last; -1 is no target.
    recipe : Recipe
    folder : path, optional
        Where checkpoints and metrics go.
    every : int
        A checkpoint every so many steps, and at the end.
    bar : bool
        Whether to show how far it is.
    sharded : bool
        Whether each of several processes holds its share of parameters, gradients and moments
        alone. Losses and checkpoints are those of one process, and one may go on with them. The
        module stays parted; `named_parameters` of it are PyTorch's DTensors then.

    Yields
    ------
    Metrics

    Raises
    ------
    CheckpointError
        If a checkpoint cannot be written or read, or belongs to another training.
    ValueError
        If `every` is not above 0; if a batch has no target, or does not fit the logits; if nothing
        learns, or nothing decays and the recipe says that something does; if parameters are views
        of the same numbers; if there are no processes to shard among; or if blocks are to be
        computed again, sharded, or given masks of dropout, of a module that has none.
    FloatingPointError
        If a loss, the length of its gradients, or a parameter that would be saved is not finite.
        In the first two cases parameters are those before that step; the last checkpoint stays.
    """
    if every < 1:
        raise ValueError(f"train: every must be above 0; got {every}")
    run = _Run(module, recipe, sharded)
    place = CheckpointFolder(folder, recipe) if folder is not None else None
    done = 0
    if place is not None:
        if (found := place.load()) is not None:
            restore(run, found, place)
            done = found.step
        if run.rank == 0:  # the one process that writes
            place.forget_after(done)
    steps = tqdm(range(done + 1, recipe.steps + 1), initial=done, disable=not bar or run.rank > 0)
    for step in steps:
        metrics = run.step(step, batch(step))
        if place is not None:
            due = step % every == 0 or step == recipe.steps
            state = capture_state(run, step) if due else None
            if run.rank == 0:
                place.record(metrics._asdict())
                if state is not None:
                    place.save(step, state)
        steps.set_postfix_str(f"loss {metrics.loss:.3f}", refresh=False)
        yield metrics


class _Run:
    """The parts of PyTorch that one training needs."""

    def __init__(self, module: nn.Module, recipe: Recipe, sharded: bool) -> None:
        self.recipe, self.sharded = recipe, sharded
        self.called, self.module = module, unwrap(module)
        if not any(x.requires_grad for x in module.parameters()):
            raise ValueError("train: no parameter of the module learns")
        require_no_shared_storage(self.module)
        self.device = next(module.parameters()).device
        several = processes.is_available() and processes.is_initialized()
        self.rank = processes.get_rank() if several else 0
        self.size = processes.get_world_size() if several else 1
        if sharded and not several:
            raise ValueError("train: sharded needs several processes, such as torchrun starts")
        for name, wanted in (("recompute", recipe.recompute), ("sharded", sharded)):
            if wanted and (not isinstance(self.module, fast.Module) or is_compiled(module)):
                kind = "one that is compiled" if is_compiled(module) else type(module).__name__
                raise ValueError(f"train: {name} needs a fast.Module; got {kind}")
        self.replicas = data_parallel_wrapper(module)
        if sharded:
            if self.replicas is not None:
                raise ValueError("train: sharded needs a module that is not yet in replicas")
            sharding.shard(self.module, self.device)
        elif several and self.replicas is None:
            self.called = self.replicas = DistributedDataParallel(module)
        self.named = named_parameters(self.module)
        some = decayed_names(self.module)
        if recipe.decay and not any(self.named[name].requires_grad for name in some):
            raise ValueError(
                f"train: the recipe's decay is {recipe.decay}, but of the parameters that learn "
                "none decays, as none has two axes; decay=0 says so"
            )
        groups: list[list[Tensor]] = [[], []]
        for name, x in self.named.items():
            groups[name in some].append(x)
        self.optimiser = torch.optim.AdamW(
            [
                {"params": some, "weight_decay": decay}
                for some, decay in zip(groups, (0.0, recipe.decay), strict=True)
                if some
            ],
            lr=0.0,
            betas=recipe.betas,
            eps=recipe.eps,
            fused=recipe.fused or None,
        )
        self.scaler = torch.amp.GradScaler(self.device.type, enabled=recipe.precision == "float16")

    def step(self, step: int, arrays: tuple[np.ndarray, ...]) -> StepMetrics:
        """One step on one batch."""
        start, r, rate = time.perf_counter(), self.recipe, learning_rate_at(self.recipe, step)
        n_targets = require_batch(step, arrays)
        loss = torch.zeros((), device=self.device)
        arrays = (np.arange(len(arrays[-1])), *arrays)
        parts = [
            [part[self.rank :: self.size] for part in parts]
            for parts in zip(*(np.array_split(x, r.accumulate) for x in arrays), strict=True)
        ]
        for i, part in enumerate(parts):
            last = i == len(parts) - 1
            with nullcontext() if last or self.replicas is None else self.replicas.no_sync():
                share = self._surprise(step, *part) / n_targets
                # The gradients of several processes are averaged; their shares are to be added.
                self.scaler.scale(self.size * share).backward()
            loss = loss + share.detach()
        if self.size > 1:
            processes.all_reduce(loss)
        self._require_finite(f"the loss of step {step}", loss)
        self.scaler.unscale_(self.optimiser)
        largest = float("inf") if r.clip is None else r.clip
        norm = sharding.gather(clip_grad_norm_(self.named.values(), largest))
        if self.scaler.get_scale() <= 1:  # otherwise the scaler leaves such a step out
            self._require_finite(f"the length of the gradients of step {step}", norm)
        for group in self.optimiser.param_groups:
            group["lr"] = rate
        self.scaler.step(self.optimiser)
        self.scaler.update()
        self.optimiser.zero_grad()
        seconds = time.perf_counter() - start
        return StepMetrics(step, loss.item(), rate, norm.item(), n_targets, seconds)

    def _require_finite(self, what: str, x: Tensor) -> None:
        if not torch.isfinite(x):
            self.optimiser.zero_grad()
            raise FloatingPointError(f"train: {what} is {x.item()}")

    def _surprise(self, step: int, rows: np.ndarray, *arrays: np.ndarray) -> Tensor:
        """The summed loss of some rows of a batch."""
        *given, wanted = (torch.from_numpy(x).to(self.device) for x in arrays)
        dropout_masks = sample_dropout_masks(
            self.module, self.recipe.seed, step, rows, wanted.shape[-1]
        )
        options = {} if dropout_masks is None else {"dropout_masks": dropout_masks}
        half = getattr(torch, self.recipe.precision)
        casting = torch.autocast(self.device.type, dtype=half, enabled=half is not torch.float32)
        with casting, self._way():
            logits = self.called(*given, **options)
        require_logits(step, logits, arrays[-1])
        wide = torch.promote_types(logits.dtype, torch.float32)
        return functional.cross_entropy(
            logits.to(wide).flatten(0, -2),
            wanted.flatten(),
            ignore_index=-1,
            reduction="sum",
            label_smoothing=self.recipe.smoothing,
        )

    def _way(self) -> AbstractContextManager[None]:
        """How blocks are called, where it is not as they are."""
        module: Any = self.module
        again: Any = fast.block
        if self.recipe.recompute:
            from torch.utils.checkpoint import checkpoint  # takes a second

            again = partial(checkpoint, fast.block, use_reentrant=False, preserve_rng_state=False)

        def gathering(i: int, x: Tensor, _: Any, *rest: Any) -> Tensor:
            form = module.form.blocks[i]
            whole: Tensor = module.get_submodule(f"blocks.{i}")(
                lambda x: again(x, module.branch(form), *rest), x
            )
            return whole

        if self.sharded and hasattr(module, "blocks"):
            return override_block(gathering)
        if self.recipe.recompute:
            return override_block(lambda _, *arguments: again(*arguments))
        return nullcontext()
