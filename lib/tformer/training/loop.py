"""The training loop: one recipe and one model, on one process or several, with checkpoints."""

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
    """The metrics of a step.

    Attributes
    ----------
    step : int
        From 1.
    loss : float
        Average cross-entropy over the targets of the batch, in nats, before the step.
    rate : float
        The learning rate.
    norm : float
        Global norm of the gradients, before clipping. In "float16" it may be infinite or NaN: that
        step is skipped, and the loss scale is reduced.
    n_targets : int
        The number of targets in the batch.
    seconds : float
        The duration of the step.
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
    """Train a model; yield the metrics of each step after it.

    Under `torchrun` every process reads its share of each batch, and the losses are those of one
    process. With a folder, training resumes from the last checkpoint in it. A batch is a function
    of its step; parameters, moments, buffers and the states of PyTorch's random generators are in
    the checkpoint. So steps after the last checkpoint are repeated, with the same numbers.

    If the configuration of a `fast.Module` has dropout, masks are sampled for each row from the
    recipe's seed, the step and the row. Random numbers that another module takes from PyTorch's
    generators depend on the number of processes.

    Parameters
    ----------
    module : nn.Module
        Such as ``fast.Module(fast.decoder, parameters, configuration=…)``: it takes the arrays of a
        batch before the targets and returns logits, (B, T, N). Its parameters are updated in place.
        Parameters of two axes or more have weight decay, except for biases and positions of a
        `fast.Module`. It may be compiled, or in a `DistributedDataParallel`; names in checkpoints
        are those without. Checkpoints hold parameters and persistent buffers, no other state.
    batch : callable
        Takes a step and returns its arrays, the targets last; a target of -1 is ignored.
    recipe : Recipe
    folder : path, optional
        For checkpoints and metrics.
    every : int
        The number of steps between checkpoints; there is one at the end too.
    bar : bool
        Whether to show a progress bar.
    sharded : bool
        Whether parameters, gradients and moments are sharded over the processes (FSDP). Losses and
        checkpoints are those of one process, which can resume from them. The module stays sharded:
        its `named_parameters` are DTensors.

    Yields
    ------
    StepMetrics

    Raises
    ------
    CheckpointError
        If a checkpoint cannot be written or read, or belongs to another run.
    ValueError
        If `every` is not above 0; if a batch has no target, or does not fit the logits; if no
        parameter requires a gradient, or none has weight decay although the recipe has some; if
        parameters share memory; if `sharded` and there are no processes; or if recomputation,
        sharding or dropout is asked of a module that does not support it.
    FloatingPointError
        If a loss, a gradient norm, or a parameter that would be saved is not finite. In the first
        two cases the parameters are those before that step; the last checkpoint is unchanged.
    """
    if every < 1:
        raise ValueError(f"train: every must be above 0; got {every}")
    run = _Run(module, recipe, sharded)
    checkpoints = CheckpointFolder(folder, recipe) if folder is not None else None
    done = 0
    if checkpoints is not None:
        if (found := checkpoints.load()) is not None:
            restore(run, found, checkpoints)
            done = found.step
        if run.rank == 0:  # the one process that writes
            checkpoints.drop_metrics_after(done)
    steps = tqdm(range(done + 1, recipe.steps + 1), initial=done, disable=not bar or run.rank > 0)
    for step in steps:
        metrics = run.step(step, batch(step))
        if checkpoints is not None:
            due = step % every == 0 or step == recipe.steps
            state = capture_state(run, step) if due else None
            if run.rank == 0:
                checkpoints.record(metrics._asdict())
                if state is not None:
                    checkpoints.save(step, state)
        steps.set_postfix_str(f"loss {metrics.loss:.3f}", refresh=False)
        yield metrics


class _Run:
    """A module with its optimiser, loss scaler and processes."""

    def __init__(self, module: nn.Module, recipe: Recipe, sharded: bool) -> None:
        self.recipe, self.sharded = recipe, sharded
        self.called, self.module = module, unwrap(module)
        if not any(x.requires_grad for x in module.parameters()):
            raise ValueError("train: no parameter of the module requires a gradient")
        require_no_shared_storage(self.module)
        self.device = next(module.parameters()).device
        several = processes.is_available() and processes.is_initialized()
        self.rank = processes.get_rank() if several else 0
        self.size = processes.get_world_size() if several else 1
        if sharded and not several:
            raise ValueError("train: sharded needs several processes, such as torchrun starts")
        for name, is_on in (("recompute", recipe.recompute), ("sharded", sharded)):
            if is_on and (not isinstance(self.module, fast.Module) or is_compiled(module)):
                kind = "one that is compiled" if is_compiled(module) else type(module).__name__
                raise ValueError(f"train: {name} needs a fast.Module; got {kind}")
        self.replicas = data_parallel_wrapper(module)
        if sharded:
            if self.replicas is not None:
                raise ValueError("train: sharded needs a module without DistributedDataParallel")
            sharding.shard(self.module, self.device)
        elif several and self.replicas is None:
            self.called = self.replicas = DistributedDataParallel(module)
        self.named = named_parameters(self.module)
        decayed = decayed_names(self.module)
        if recipe.decay and not any(self.named[name].requires_grad for name in decayed):
            raise ValueError(
                f"train: the recipe's decay is {recipe.decay}, but no parameter that requires a "
                "gradient has two axes, so none decays; give decay=0"
            )
        groups: list[list[Tensor]] = [[], []]
        for name, x in self.named.items():
            groups[name in decayed].append(x)
        self.optimiser = torch.optim.AdamW(
            [
                {"params": group, "weight_decay": decay}
                for group, decay in zip(groups, (0.0, recipe.decay), strict=True)
                if group
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
                share = self._loss(step, *part) / n_targets
                # Gradients are averaged over processes, but their shares have to be added.
                self.scaler.scale(self.size * share).backward()
            loss = loss + share.detach()
        if self.size > 1:
            processes.all_reduce(loss)
        self._require_finite(f"the loss of step {step}", loss)
        self.scaler.unscale_(self.optimiser)
        largest = float("inf") if r.clip is None else r.clip
        norm = sharding.gather(clip_grad_norm_(self.named.values(), largest))
        if self.scaler.get_scale() <= 1:  # otherwise the scaler skips such a step
            self._require_finite(f"the gradient norm of step {step}", norm)
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

    def _loss(self, step: int, rows: np.ndarray, *arrays: np.ndarray) -> Tensor:
        """The loss of some rows of a batch, summed over targets."""
        *inputs, targets = (torch.from_numpy(x).to(self.device) for x in arrays)
        dropout_masks = sample_dropout_masks(
            self.module, self.recipe.seed, step, rows, targets.shape[-1]
        )
        options = {} if dropout_masks is None else {"dropout_masks": dropout_masks}
        half = getattr(torch, self.recipe.precision)
        casting = torch.autocast(self.device.type, dtype=half, enabled=half is not torch.float32)
        with casting, self._block_call():
            logits = self.called(*inputs, **options)
        require_logits(step, logits, arrays[-1])
        wide = torch.promote_types(logits.dtype, torch.float32)
        return functional.cross_entropy(
            logits.to(wide).flatten(0, -2),
            targets.flatten(),
            ignore_index=-1,
            reduction="sum",
            label_smoothing=self.recipe.smoothing,
        )

    def _block_call(self) -> AbstractContextManager[None]:
        """A context in which blocks are recomputed, or gathered from their shards, if asked for."""
        module: Any = self.module
        block: Any = fast.block
        if self.recipe.recompute:
            from torch.utils.checkpoint import checkpoint  # takes a second

            block = partial(checkpoint, fast.block, use_reentrant=False, preserve_rng_state=False)

        def gathered_block(i: int, x: Tensor, _: Any, *rest: Any) -> Tensor:
            form = module.form.blocks[i]
            y: Tensor = module.get_submodule(f"blocks.{i}")(
                lambda x: block(x, module.branch(form), *rest), x
            )
            return y

        if self.sharded and hasattr(module, "blocks"):
            return override_block(gathered_block)
        if self.recipe.recompute:
            return override_block(lambda _, *arguments: block(*arguments))
        return nullcontext()
