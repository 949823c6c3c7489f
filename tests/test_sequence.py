"""Load, train, be killed, go on, save, load, write: one after the other, for every form of model.

What a training that nobody disturbed comes to is the same to the last bit: losses, parameters and
what is written with them.
"""

import os
import signal
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from safetensors.torch import load_file, save_file
from torch import nn

from every import every
from test_any_module import Plain, compiled
from test_checkpoints import in_a_child
from tformer import fast
from tformer.configuration import CHOICES, Configuration
from tformer.models.files import load, save
from tformer.models.generate import generate
from tformer.models.objectives import masked_tokens, next_tokens
from tformer.models.sizes import Sizes, initialise
from tformer.models.state_dicts import NAMINGS, from_state_dict
from tformer.parameters import EncoderDecoderParameters, tree_map
from tformer.training import Recipe, train

N, T, BLANK = 7, 6, 6
RECIPE = Recipe(steps=5, rate=0.03, warmup=2)
SMALL = Sizes(N, 8, 1, 2, 12, n_positions=13)
LLAMA = Configuration(norm="rms", activation="silu", positions="rope")
OF_LLAMA = replace(SMALL, n_groups=1, gated=True, biased=False, tied=False, n_positions=0)
GPT = Configuration(activation="gelu_tanh")


@dataclass(frozen=True)
class Form:
    """A form of model.

    Attributes
    ----------
    store : callable
        Writes the first one into a file.
    restore : callable
        Makes a module from such a file.
    keep : callable
        Writes a module into such a file.
    batch : callable
    write : callable
        What a module says in the end.
    """

    store: Callable[[Path], None]
    restore: Callable[[Path], Any]
    keep: Callable[[Any, Path], None]
    batch: Callable[[int], tuple[np.ndarray, ...]]
    write: Callable[[Any], list[int]]


# Batches, and what is written


def texts(step: int) -> np.ndarray:
    return np.random.default_rng([9, step]).integers(0, N - 1, (3, T))


def masked(step: int) -> tuple[np.ndarray, ...]:
    return masked_tokens(texts(step), np.random.default_rng(step), BLANK, N, 0.5)


def read_and_written(step: int) -> tuple[np.ndarray, ...]:
    return texts(step)[:, :4], *next_tokens(texts(step))


def goes_on(module: Any) -> list[int]:
    """By the cache; without it the likeliest words are the same."""
    start, configuration = torch.tensor([1, 2, 3]), module.fixed["configuration"]
    tree = tree_map(torch.Tensor.detach, module.tree)
    found = [*generate(fast.cached_decoder, start, tree, configuration, 4)]
    assert found == likeliest(lambda words: fast.decoder(words, tree, configuration))
    return found


def likeliest(logits: Callable[[torch.Tensor], torch.Tensor]) -> list[int]:
    words = [1, 2, 3]
    for _ in range(4):
        with torch.no_grad():
            words.append(int(logits(torch.tensor(words))[-1].argmax()))
    return words[3:]


def filled_in(module: Any) -> list[int]:
    with torch.no_grad():
        return module(torch.tensor([[1, BLANK, 3, BLANK, 2]])).argmax(-1).flatten().tolist()


# Forms


def scores(tokens: Any, parameters: Any, configuration: Any, **given: Any) -> Any:
    """The words that an encoder's rows stand for."""
    return fast.unembed(fast.encoder(tokens, parameters, configuration, **given), parameters)


def of_files(
    make: Callable[[], Any],
    configuration: Configuration,
    function: Any,
    batch: Any,
    write: Callable[[Any], list[int]],
) -> Form:
    """A form whose file is one of ours, in float32."""

    def restore(path: Path) -> fast.Module:
        parameters, said = load(path)
        tensors = tree_map(lambda x: torch.from_numpy(x.astype(np.float32)), parameters)
        return fast.Module(function, tensors, configuration=said)

    return Form(
        lambda path: save(path, make(), configuration),
        restore,
        lambda module, path: save(path, module.tree, configuration),
        batch,
        write,
    )


def drawn(sizes: Sizes, configuration: Configuration) -> Any:
    rng = np.random.default_rng(0)
    made = initialise(sizes, configuration, rng, 0.3)
    return tree_map(lambda x: x + 0.1 * rng.standard_normal(x.shape), made)


def decoder(sizes: Sizes, configuration: Configuration) -> Form:
    make = partial(drawn, sizes, configuration)
    return of_files(
        make, configuration, fast.decoder, lambda step: next_tokens(texts(step)), goes_on
    )


def two_models() -> Any:
    parts = (drawn(replace(SMALL, has_cross_attention=crossed), GPT) for crossed in (False, True))
    return EncoderDecoderParameters(*parts)


def of_state(make: Callable[[], nn.Module], write: Callable[[Any], list[int]]) -> Form:
    """A module of PyTorch, whose file is its state dict."""

    def restore(path: Path) -> nn.Module:
        module = make()
        module.load_state_dict(load_file(path))
        return module

    return Form(
        lambda path: save_file(make().state_dict(), path),
        restore,
        lambda module, path: save_file(module.state_dict(), path),
        lambda step: next_tokens(texts(step)),
        write,
    )


def foreign(naming: str) -> Form:
    """A state dict under the names of another library, its matrices those of linear layers."""
    table, d = NAMINGS[naming], 8
    widths = {"w_qkv": (3 * d, d), "b_qkv": (3 * d,), "w_in": (12, d), "w_gate": (12, d)}
    widths |= {"w_out": (d, 12), "b_in": (12,)}
    rng = np.random.default_rng(0)

    def of(our: str) -> tuple[int, ...]:
        last = our.split(".")[-1]
        return widths.get(last, (d, d) if last.startswith("w_") else (d,))

    shapes = {their.format(i=0): of(our) for our, their in table.block.items()}
    outer = {"embedding": (N, d), "positions": (13, d), "unembedding": (N, d)}
    shapes |= {their: outer.get(our, (d,)) for our, their in table.model.items()}
    state = {k: torch.from_numpy(rng.normal(0, 0.3, s)).float() for k, s in shapes.items()}
    configuration = GPT if naming == "gpt2" else LLAMA

    def restore(path: Path) -> fast.Module:
        given = load_file(path)
        if "module.wte.weight" in given or "module.model.norm.weight" in given:
            parameters: Any = from_state_dict(naming, given, n_heads=2)
        else:
            parameters = tree_map(torch.from_numpy, load(path)[0])
        return fast.Module(fast.decoder, parameters, configuration=configuration)

    return replace(
        decoder(SMALL, configuration),
        store=lambda path: save_file({f"module.{k}": x for k, x in state.items()}, path),
        restore=restore,
    )


FORMS: dict[str, Form] = {
    **{
        f"positions {kind}": decoder(SMALL, Configuration(positions=kind))
        for kind in CHOICES["positions"]
    },
    "as GPT-2": decoder(SMALL, GPT),
    "as Llama": decoder(OF_LLAMA, LLAMA),
    "as Llama, tied": decoder(replace(OF_LLAMA, tied=True), replace(LLAMA, pairing="adjacent")),
    "norms after": decoder(SMALL, replace(GPT, order="post", scale_embedding=True)),
    "dropout": decoder(OF_LLAMA, replace(LLAMA, dropout=0.3)),
    "encoder": of_files(partial(drawn, SMALL, GPT), GPT, scores, masked, filled_in),
    "encoder, dropout": of_files(
        partial(drawn, SMALL, GPT), replace(GPT, dropout=0.3), scores, masked, filled_in
    ),
    "encoder-decoder": of_files(
        two_models,
        GPT,
        fast.encoder_decoder,
        read_and_written,
        lambda module: likeliest(lambda words: module(torch.tensor([1, 2, 3, 4]), words)),
    ),
    "names of gpt2": foreign("gpt2"),
    "names of llama": foreign("llama"),
    "plain": of_state(
        lambda: Plain(nn.Sequential(nn.Dropout(0.2), nn.BatchNorm1d(8))),
        lambda module: filled_in(module.eval()),
    ),
    "compiled": of_state(lambda: compiled(Plain()), filled_in),
}


def ran(form: Form, module: Any, folder: Path, stop: int | None = None) -> list[float]:
    """Losses; a stop is the kill of this process after that step, one after the last checkpoint."""
    found = []
    for made in train(module, form.batch, RECIPE, folder, every=2):
        found.append(made.loss)
        if made.step == stop:
            os.kill(os.getpid(), signal.SIGKILL)
    return found


@every("name", FORMS)
def test_one_after_the_other_they_come_to_the_same_end(
    name: str, tmp_path_factory: pytest.TempPathFactory
) -> None:
    torch.set_num_threads(1)
    form, place = FORMS[name], tmp_path_factory.mktemp("form")
    torch.manual_seed(0)
    form.store(place / "first")
    torch.manual_seed(1)
    undisturbed = form.restore(place / "first")
    torch.manual_seed(2)
    losses = ran(form, undisturbed, place / "whole")

    def killed() -> None:
        torch.manual_seed(1)
        module = form.restore(place / "first")
        torch.manual_seed(2)
        ran(form, module, place / "left", stop=3)

    assert in_a_child(killed) == signal.SIGKILL
    module = form.restore(place / "first")
    assert ran(form, module, place / "left") == losses[2:]
    assert losses[0] != losses[1]
    for key, x in undisturbed.state_dict().items():
        assert torch.equal(x, module.state_dict()[key]), key
    form.keep(module, place / "last")
    again = form.restore(place / "last")
    assert form.write(again) == form.write(undisturbed)
    for key, x in undisturbed.state_dict().items():
        assert torch.equal(x, again.state_dict()[key]), key
