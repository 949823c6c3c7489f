"""The pages show a reader's own file, its training is the library's, and a module wraps it."""

import copy

import numpy as np
import torch

from own_listings import cells, listed
from tformer.training import Recipe, learning_rate_at
from tformer_book.chapters.ch14 import steps
from tformer_book.own import my_transformer as own
from tformer_book.own.samples import parameters, small


def test_the_page_shows_the_lines_of_the_file() -> None:
    assert listed("14_training") == ["adamw", "learning_rate", "train"]


def test_the_schedule_is_that_of_the_library() -> None:
    for warmup in (0, 40, 200):
        recipe = Recipe(200, 0.006, warmup=warmup)
        for step in range(1, 201):
            want = learning_rate_at(recipe, step)
            np.testing.assert_allclose(own.learning_rate(step, 200, warmup, 0.006), want)


def test_the_file_reads_what_the_library_reads() -> None:
    """The same texts, and the same logits of a model in the file's names and pairs of RoPE."""
    rows, (given, wanted) = steps.own_batches()(3), steps.batches()(3)
    assert (rows[:, :-1].numpy() == given).all()
    assert (rows[:, 1:].numpy() == wanted).all()
    p, module = steps.own_beginner(), steps.beginner()
    n_vocab, d_model = p["model.embed_tokens.weight"].shape
    c = own.Config(n_vocab, d_model, 2, 4, 4, 11 * d_model // 4, tied=False)
    assert {name: tuple(x.shape) for name, x in p.items()} == own.parameter_shapes(c)
    with torch.no_grad():
        logits = module(torch.from_numpy(given[:2]))
        torch.testing.assert_close(own.transformer(rows[:2, :-1], p, c)[0], logits)


def test_the_module_has_the_names_of_the_file_and_is_trained_in_place() -> None:
    space = {"torch": torch}
    (number,) = [i for i, x in enumerate(cells("14_training_deeper")) if "class Transformer" in x]
    for source in cells("14_training_deeper")[number - 1 : number + 1]:
        exec(source, space)
    tokens = torch.tensor([[3, 1, 4, 1, 5]])
    for tied in (True, False):
        c = small(own, tied=tied)
        p, model = parameters(own, c), space["Transformer"](c).to(torch.float64)
        model.load_state_dict(p)
        assert {*model.state_dict()} == {*own.parameter_shapes(c)}
        want, _ = own.transformer(tokens, p, c)
        first, caches = model(tokens[:, :2])
        rest, _ = copy.deepcopy(model)(tokens[:, 2:], caches)
        torch.testing.assert_close(torch.cat([first, rest], 1), want)
        named = {name: x.clone().requires_grad_() for name, x in p.items()}
        losses = [*own.train(named, c, lambda step: tokens, 3, warmup=1)]
        alike = dict(model.named_parameters())
        assert [*own.train(alike, c, lambda step: tokens, 3, warmup=1)] == losses
        for name, x in model.state_dict().items():
            torch.testing.assert_close(x, named[name].detach())
